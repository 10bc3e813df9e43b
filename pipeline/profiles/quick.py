"""A quick counter for vocabularies that are lists of ranks: toktok, which another counter vouches for.

It has no regular expressions but a scanner written by hand for each way to split a text, so it shares no code with the
other engines. Here it is given the profile's own vocabulary, and classes of characters for ASCII alone, in which
several patterns split alike. Loading a vocabulary is not among what the package promises to keep: its version is pinned
to one minor release, it counts only where its ids are tiktoken's, and nothing depends on it being installed.
"""

from __future__ import annotations

import base64
import struct
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.errors import ProfileError
from pipeline.profiles.counters import BaseCounter
from pipeline.profiles.spec import QUICK, Vocabulary
from pipeline.profiles.vocabulary import optional_module, vocabulary_bytes

UPPER, LOWER = (ord("A"), ord("Z")), (ord("a"), ord("z"))
CLASSES = ((UPPER, LOWER), ((ord("0"), ord("9")),), ((9, 13), (32, 32)), (UPPER,), (LOWER,))
"""Ranges of letters, digits and whitespace in ASCII, and of the letters that are large and small."""
KINDS = "aAsT'1. \n\r\t/<\x00\x0b"
"""A character or more of every kind that patterns tell apart in ASCII."""
JOINTS = "".join(chain.from_iterable(product(KINDS, repeat=3)))
"""A text in which every three of them stand together."""


class ToktokCounter(BaseCounter):
    """toktok on a profile's ranks, with the scanner of one of its encodings; it counts in one thread.

    A text that is not ASCII raises a `ProfileError`.
    """

    def __init__(self, vocabulary: Vocabulary, encoding: str) -> None:
        super().__init__("toktok-rs")
        optional_module("toktok", "quick")
        with TemporaryDirectory(prefix="carrara-") as folder:
            _write(Path(folder), vocabulary, encoding)
            self._tokenizer: Any = import_module("toktok._toktok").Tokenizer(encoding, folder)
        self._first = vocabulary.first_id

    def _encode(self, text: str) -> list[int]:
        return [self._first + rank for rank in self._tokenizer.encode_ordinary(_ascii(text))]

    def _count(self, text: str) -> int:
        found: int = self._tokenizer.count(_ascii(text))
        return found


def _ascii(text: str) -> str:
    if not text.isascii():
        raise ProfileError("toktok counts ASCII alone: count this text with another engine")
    return text


def _write(folder: Path, vocabulary: Vocabulary, encoding: str) -> None:
    """Write what toktok reads: the number of tokens, length, bytes and rank of each; then classes of characters."""
    tokens, classes, count = QUICK["toktok"][encoding]
    lines = [line for line in vocabulary_bytes(vocabulary).splitlines() if line]
    with (folder / tokens).open("wb") as file:
        file.write(struct.pack("<I", len(lines)))
        for line in lines:  # one at a time: a process that opens several vocabularies keeps what it once had to take
            spelled, rank = line.split()
            token = base64.b64decode(spelled)
            file.write(struct.pack(f"<H{len(token)}sI", len(token), token, int(rank)))
    told = (struct.pack(f"<{1 + 2 * len(ranges)}I", len(ranges), *chain(*ranges)) for ranges in CLASSES[:count])
    (folder / classes).write_bytes(b"".join(told))
