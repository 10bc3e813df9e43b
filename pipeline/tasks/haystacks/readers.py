"""Readers that tell lines of a haystack from all others, by code that shares nothing with what writes them."""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib import resources
from itertools import accumulate, compress, pairwise
from operator import not_
from types import MappingProxyType

from pipeline.tasks.haystacks.noise import SENTENCES
from pipeline.tasks.haystacks.prose_reader import are_prose, is_prose
from pipeline.tasks.line_cache import LINES

Span = tuple[int, int]
FILED = re.compile(r"(?:The|One) [a-z]+ (?:code|number) filed under .+ is [0-9a-f-]+\.\n")
"""What no line of a user's documents may look like."""


def strangers(text: str, start: int, stop: int, haystack: str) -> list[Span]:
    """Return where in a text, from `start` to `stop`, lines stand that are none of a haystack's: start and end of each.

    `haystack` is a name in HAYSTACKS; the end of a line is behind its newline.
    """
    lines = text[start:stop].splitlines(keepends=True)
    edges = accumulate(map(len, lines), initial=start)
    return list(compress(pairwise(edges), map(not_, EACH[haystack](lines))))


def is_noise(line: str) -> bool:
    """Tell whether a line is the first sentences of the noise, or all of them."""
    return line.endswith(".\n") and f"{' '.join(SENTENCES)} ".startswith(line.replace("\n", " "))


def is_own(line: str) -> bool:
    """Tell whether a line may be of a user's own documents: it does not state what is filed under something."""
    return not FILED.fullmatch(line)


def is_address(line: str) -> bool:
    """Tell whether a line is a paragraph of an address, letter by letter."""
    return _digest(line) in _address_lines()


@cache
def _address_lines() -> frozenset[bytes]:
    """Return digests of all lines of the file but titles, which stand first and behind empty lines."""
    packed = (resources.files("pipeline.worlds") / "pools" / "addresses.txt.xz").read_bytes()
    found, title = set[bytes](), True
    for line in lzma.decompress(packed).decode("ascii").splitlines(keepends=True):
        if not title and line != "\n":
            found.add(_digest(line))
        title = line == "\n"
    return frozenset(found)


def _digest(line: str) -> bytes:
    return blake2b(line.encode(), digest_size=16).digest()


HAYSTACKS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {"noise": is_noise, "essay": is_prose, "addresses": is_address, "own": is_own}
)
"""The haystacks by name, each with a test of single lines."""

EACH: Mapping[str, Callable[[Sequence[str]], list[bool]]] = MappingProxyType(
    {
        "essay": are_prose,
        **{name: LINES.of_each(test) for name, test in HAYSTACKS.items() if test is not is_prose},
    }
)
"""The same tests of many lines, most of which were read before."""
