"""A reader of prompts in prose: parts a body of lines into prose and the rest, by how they look.

It shares no code with the worlds. Prose never names anybody: no line of it has a digit, or a capital letter within a
sentence. Every other line is left for the readers of what is hidden there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.tasks.line_cache import LINES, PROMPT

TELLS = re.compile(r"[0-9]|[A-Za-z,;] [A-Z][a-z]")
"""What prose never has: numbers, and names within sentences."""


@dataclass(frozen=True, slots=True)
class Parted:
    """A prompt in parts: its text without the prose, and the paragraphs of that.

    `places` tells for each line of the body that is no prose, by its start and end in the prompt, where it now starts.
    """

    text: str
    prose: tuple[str, ...]
    places: Mapping[tuple[int, int], int]


@PROMPT.of
def part(text: str, heading: str, end: str, plain: str) -> Parted:
    """Part a prompt whose body stands between `heading` and `end`; without prose, `plain` is its heading.

    Remembers the last one.

    Raises:
        ValueError: if it has no body.
    """
    at, stop = text.find(heading), text.rfind("\n" + end) + 1
    if at < 0 or stop <= at:
        raise ValueError(f"the prompt has no body between {heading.strip()!r} and {end!r}")
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
    """Tell whether a line is prose, by its looks."""
    return not TELLS.search(line)


are_prose = LINES.of_each(is_prose)
"""The same of many lines, most of which were read before."""
