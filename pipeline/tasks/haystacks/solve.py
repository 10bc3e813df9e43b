"""Readers that tell the lines of a haystack from all others, with code that shares nothing with the writers."""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import resources
from itertools import accumulate, compress, pairwise
from operator import not_
from types import MappingProxyType

from pipeline.caches import cache
from pipeline.tasks.haystacks.filler import SENTENCES
from pipeline.tasks.solving import LINES, PROMPT, ReadError

TELLS = re.compile(r"[0-9]|[A-Za-z,;] [A-Z][a-z]")
"""What prose never contains: digits, and names within sentences."""


@dataclass(frozen=True, slots=True)
class Parted:
    """A prompt in two parts: its text without the prose, and the paragraphs of prose.

    `places` maps the span of each body line that is not prose, in the prompt, to its start in `text`.
    """

    text: str
    prose: tuple[str, ...]
    places: Mapping[tuple[int, int], int]


@PROMPT.cached
def part(text: str, heading: str, end: str, plain: str) -> Parted:
    """Split a prompt whose body is between `heading` and `end`; in the text without prose, `plain` is the heading."""
    at, stop = text.find(heading), text.rfind("\n" + end) + 1
    if at < 0 or stop <= at:
        raise ReadError(f"the prompt has no body between {heading.strip()!r} and {end!r}")
    start, now = at + len(heading), at + len(plain)
    kept, prose, places = [text[:at], plain], [], {}
    lines = text[start:stop].splitlines(keepends=True)
    for line, plainly in zip(lines, are_prose(lines), strict=True):
        if plainly:
            prose.append(line)
        else:
            kept.append(line)
            places[start, start + len(line)] = now
            now += len(line)
        start += len(line)
    return Parted("".join([*kept, text[stop:]]), tuple(prose), places)


def is_prose(line: str) -> bool:
    """Return whether a line looks like prose."""
    return not TELLS.search(line)


are_prose = LINES.cached_map(is_prose)
"""The same for many lines, most of which were read before."""


Span = tuple[int, int]
FILED = re.compile(r"(?:The|One) [a-z]+ (?:code|number) filed under .+ is [0-9a-f-]+\.\n")
"""A form that no line of a user's documents may have."""


def foreign_spans(text: str, start: int, stop: int, haystack: str) -> list[Span]:
    """Return the spans of lines between `start` and `stop` that do not belong to a haystack, newlines included.

    `haystack` is a name in HAYSTACKS.
    """
    lines = text[start:stop].splitlines(keepends=True)
    edges = accumulate(map(len, lines), initial=start)
    return list(compress(pairwise(edges), map(not_, LINE_TESTS[haystack](lines))))


def is_noise(line: str) -> bool:
    """Return whether a line is the noise, or its first sentences."""
    return line.endswith(".\n") and f"{' '.join(SENTENCES)} ".startswith(line.replace("\n", " "))


def is_own(line: str) -> bool:
    """Return whether a line may come from a user's documents: anything but a statement of what is filed where."""
    return not FILED.fullmatch(line)


def is_address(line: str) -> bool:
    """Return whether a line is exactly a paragraph of an address."""
    return _digest(line) in _address_lines()


@cache
def _address_lines() -> frozenset[bytes]:
    """Return digests of all lines of the file except titles, which are first or follow an empty line."""
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
"""The haystacks by name, each with a test for single lines."""

LINE_TESTS: Mapping[str, Callable[[Sequence[str]], list[bool]]] = MappingProxyType(
    {
        "essay": are_prose,
        **{name: LINES.cached_map(test) for name, test in HAYSTACKS.items() if test is not is_prose},
    }
)
"""The same tests for many lines, most of which were read before."""
