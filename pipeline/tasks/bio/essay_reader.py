"""A reader of biographies among essays: parts a prompt into prose and the rest, by how its lines look.

It shares no code with the worlds. Prose never names anybody: no line of it has a digit, or a capital letter within a
sentence. Every other line is left for the readers of biographies, who take nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pipeline.tasks.bio.memory import MEMORY

HEADING = "\nEssays and biographies:\n"
PLAIN_HEADING = "\nBiographies:\n"
END = "This is the end of the biographies."
TELLS = re.compile(r"[0-9]|[A-Za-z,;] [A-Z][a-z]")
"""What biographies have and prose has not: numbers, and names within sentences."""


@dataclass(frozen=True, slots=True)
class Parted:
    """A prompt in parts: its text without the prose, and the paragraphs of that.

    `places` tells for each line of the body that is no prose, by its start and end in the prompt, where it now starts.
    """

    text: str
    prose: tuple[str, ...]
    places: Mapping[tuple[int, int], int]


@lru_cache(maxsize=1)
def part(text: str) -> Parted:
    """Part a prompt; remembers the last one.

    Raises:
        ValueError: if it has no body.
    """
    at = text.find(HEADING)
    end = text.rfind("\n" + END) + 1
    if at < 0 or end <= at:
        raise ValueError("the prompt has no body of essays and biographies")
    start, now = at + len(HEADING), at + len(PLAIN_HEADING)
    kept, prose, places = [text[:at], PLAIN_HEADING], [], {}
    for line in text[start:end].splitlines(keepends=True):
        if _is_prose(line):
            prose.append(line)
        else:
            kept.append(line)
            places[start, start + len(line)] = now
            now += len(line)
        start += len(line)
    return Parted("".join([*kept, text[end:]]), tuple(prose), places)


@MEMORY.of
def _is_prose(line: str) -> bool:
    return not TELLS.search(line)
