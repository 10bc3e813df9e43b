"""The world of addresses: the State of the Union addresses from 1790 to 2021, real prose that fills a million tokens.

They are compressed in one file, made by ``tools/make_addresses.py``: for each address a line with year and speaker,
then its paragraphs, one per line. They are the same for every seed, and every tier draws on all of them.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain

from pipeline.caches import cache

WORLD = "addresses@1"
FILE = "addresses.txt.xz"
DIGIT = 5


@dataclass(frozen=True, slots=True)
class Address:
    """The paragraphs of one address: one for each of `sizes`, from index `start` on.

    A size is in characters, where a digit counts as DIGIT of them: many vocabularies have no numbers of two digits.
    """

    title: str
    start: int
    sizes: tuple[int, ...]


def paragraphs() -> Sequence[str]:
    """Return all paragraphs in order, without line ends and all distinct."""
    return tuple(line.decode("ascii") for line in chain.from_iterable(lines[1:] for lines in _blocks()))


@cache
def addresses() -> Sequence[Address]:
    """Return all addresses in the order of their paragraphs, by year."""
    listed, start = list[Address](), 0
    for title, *lines in _blocks():
        listed.append(Address(title.decode("ascii"), start, tuple(map(_size, lines))))
        start += len(lines)
    return tuple(listed)


@cache
def source_digest() -> str:
    """Return the digest of the file."""
    return hashlib.sha256(_file()).hexdigest()


def _blocks() -> list[list[bytes]]:
    """Return the lines of every address, the title first."""
    return [block.splitlines() for block in lzma.decompress(_file()).split(b"\n\n")]


def _size(line: bytes) -> int:
    digits = len(line) - len(line.translate(None, b"0123456789"))
    return len(line) + (DIGIT - 1) * digits


def _file() -> bytes:
    return (resources.files("pipeline.worlds") / "pools" / FILE).read_bytes()
