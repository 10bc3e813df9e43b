"""One row of each family, shortened so that a person can read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from pipeline.publish.card.facts import Facts
from pipeline.rows import Row
from pipeline.store.parquet import read_rows

HEAD, AROUND, MOST, ANSWER = 420, 90, 420, 280
"""Characters that are shown of a prompt's start, on either side of a needle, of a needle, and of an answer."""

WIDTH = 110
FOLDED = "\n[...]\n"


@dataclass(frozen=True, slots=True)
class Example:
    """A row as the card shows it; `target` is empty where answers are withheld."""

    row: Row
    prompt: str
    target: str


def examples_of(facts: Facts) -> dict[str, Example]:
    """Return the first row of each family, of the shortest tier that has it."""
    found: dict[str, Example] = {}
    for path in facts.split.shards("data"):
        family = path.parts[-3]
        if family not in found:
            found[family] = _example(path, withheld=facts.withheld)
    return {family: found[family] for family in facts.all_families}


def _example(path: Path, *, withheld: bool) -> Example:
    row = next(read_rows(path))
    if withheld:
        return Example(row, _wrapped(_shortened(row, [])), "")
    spans = [
        (needle["char_start"], needle["char_end"])
        for needle in row["needles"]
        if needle["role"] in ("relevant", "match")
    ]
    return Example(row, _wrapped(_shortened(row, spans[:1])), _wrapped(_cut(str(row["target"]), ANSWER)))


def _shortened(row: Row, spans: list[tuple[int, int]]) -> str:
    """Return the start of a prompt, its first needle with what stands around it, and its question."""
    prompt, start = row["prompt"], row["question_start"]
    parts = [(0, min(HEAD, start))]
    for first, last in spans:
        parts.append((max(0, first - AROUND), min(start, last + AROUND, first + MOST)))
    parts.append((max(0, start - AROUND), len(prompt)))
    text, at = "", 0
    for first, last in parts:
        text += (FOLDED if first > at else "") + prompt[max(first, at) : max(last, at)]
        at = max(at, last)
    return text


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + " [...]"


def _wrapped(text: str) -> str:
    """Break long lines at their spaces: pages scroll code to the side."""
    return "\n".join("\n".join(wrap(line, WIDTH, break_long_words=False) or [""]) for line in text.splitlines())
