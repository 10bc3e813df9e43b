"""A quick counter for vocabularies that are lists of ranks: quicktok, which another counter vouches for.

It has no regular expressions but a scanner written by hand for each of five ways to split a text, so it shares no code
with the other engines. It is given the profile's own vocabulary. Its tables of Unicode are older than tiktoken's, and
its one author has made few releases: it counts ASCII alone, only where its ids are tiktoken's, and nothing depends on
it being installed.
"""

from __future__ import annotations

import shutil
import struct
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.errors import ProfileError
from pipeline.profiles.counters import BaseCounter
from pipeline.profiles.spec import Vocabulary
from pipeline.profiles.vocabulary import optional_module, ranks_of

TABLES = ("uniclass.bin", "uniclass_o200k.bin")
KINDS = "aAsT'1. \n\r\t/<\x00\x0b"
"""A character or more of every kind that patterns tell apart in ASCII."""
JOINTS = "".join(chain.from_iterable(product(KINDS, repeat=3)))
"""A text in which every three of them stand together."""


class QuicktokCounter(BaseCounter):
    """quicktok on a profile's ranks, with its scanner for the pattern of the profile.

    A text that is not ASCII raises a `ProfileError`.
    """

    def __init__(self, vocabulary: Vocabulary, scanner: str) -> None:
        super().__init__("quicktok-v1")
        module = optional_module("quicktok", "quick")
        with TemporaryDirectory(prefix="carrara-") as folder:
            _write(Path(folder), vocabulary, scanner, Path(str(module.__file__)).parent / "data")
            self._tokenizer: Any = module.Tokenizer("profile", folder)
        self._first = vocabulary.first_id

    def _encode(self, text: str) -> list[int]:
        return [self._first + rank for rank in self._tokenizer.encode_ordinary(_ascii(text))]

    def _count(self, text: str) -> int:
        found: int = self._tokenizer.count(_ascii(text))
        return found


def _ascii(text: str) -> str:
    if not text.isascii():
        raise ProfileError("quicktok counts ASCII alone: count this text with another engine")
    return text


def _write(folder: Path, vocabulary: Vocabulary, scanner: str, tables: Path) -> None:
    """Write a vocabulary as quicktok reads one: the number of tokens, then length, bytes and rank of each."""
    ranks = ranks_of(vocabulary)
    records = ((struct.pack("<H", len(token)), token, struct.pack("<I", rank)) for token, rank in ranks.items())
    whole = b"".join((struct.pack("<I", len(ranks)), *chain.from_iterable(records)))
    (folder / "profile.vocab").write_bytes(whole)
    (folder / "profile.special").write_bytes(struct.pack("<I", 0))
    (folder / "profile.enc").write_text(f"scanner={scanner}\n", encoding="ascii")
    for name in TABLES:
        shutil.copyfile(tables / name, folder / name)
