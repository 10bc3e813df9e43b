"""The world of addresses: the State of the Union addresses from 1790 to 2021, real prose that fills a million tokens.

They lie compressed in one file, made by ``tools/make_addresses.py``: for each address a line with year and speaker,
then its paragraphs, one a line. They are the same whatever the seed, and every tier draws on all of them.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain

WORLD = "addresses@1"
FILE = "addresses.txt.xz"


@dataclass(frozen=True, slots=True)
class Address:
    """Which paragraphs are one address: one for each of `sizes`, its characters, from index `start` on."""

    title: str
    start: int
    sizes: tuple[int, ...]


def paragraphs() -> Sequence[str]:
    """Return all paragraphs in order and without line ends; no two of them are the same."""
    return tuple(chain.from_iterable(lines[1:] for lines in _blocks()))


@cache
def addresses() -> Sequence[Address]:
    """Return all addresses in the order of their paragraphs, by year."""
    found, start = list[Address](), 0
    for title, *lines in _blocks():
        found.append(Address(title, start, tuple(map(len, lines))))
        start += len(lines)
    return tuple(found)


@cache
def source_digest() -> str:
    """Return the digest of the file."""
    return hashlib.sha256(_file()).hexdigest()


def _blocks() -> list[list[str]]:
    """Return the lines of every address, the title first."""
    return [block.splitlines() for block in lzma.decompress(_file()).decode("ascii").split("\n\n")]


def _file() -> bytes:
    return (resources.files("pipeline.worlds") / "pools" / FILE).read_bytes()
