"""A reader of families: follows a phrase such as "the mother of the husband of Ann Tuck" from entry to entry."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.tasks.longqa.reader import Event, Line, about, asked, events, happening_kinds, read
from pipeline.worlds.chronicle.wording import lines

WORDS = {
    "father": ("father",), "mother": ("mother",), "husband": ("husband",), "wife": ("wife",),
    "father-in-law": ("spouse", "father"), "mother-in-law": ("spouse", "mother"),
    "paternal grandfather": ("father", "father"), "paternal grandmother": ("father", "mother"),
    "maternal grandfather": ("mother", "father"), "maternal grandmother": ("mother", "mother"),
}  # fmt: skip
STEP = re.compile(rf"the (?P<word>{'|'.join(WORDS)}) of ")
CHILD = {"birth": "child", "bride": "wife", "groom": "husband", "burial": "person"}
"""Whose parents an event of a kind tells."""
PHRASE = re.compile(r"(?:Who was|What was the name of|Who, by these annals, was) (the .+)\?")


def steps_of(question: str) -> tuple[str, list[str]]:
    """Return from whom a question starts, and its steps in order.

    Raises:
        ValueError: if it asks for no relative.
    """
    found = PHRASE.fullmatch(question)
    if not found:
        raise ValueError(f"no question about a relative: {question!r}")
    left, steps = found[1], list[str]()
    while match := STEP.match(left):
        steps = [*WORDS[match["word"]], *steps]
        left = left[match.end() :]
    return left, steps


def told_of(found: Sequence[Line], name: str) -> list[Event]:
    """Return all that is told of somebody."""
    kinds = (*lines("events"), *happening_kinds())
    return [event for line in about(found, name) for event in events(line, name, kinds)]


def follow(found: Sequence[Line], name: str, steps: Sequence[str]) -> tuple[str, list[Line]]:
    """Return the relative at the end of some steps, and the entries that tell of them.

    Raises:
        ValueError: if a step is not told just once.
    """
    used = []
    for step in steps:
        ways = [
            (other, event.line) for event in told_of(found, name) if (other := _reached(event, name, step)) is not None
        ]
        if len({other for other, _ in ways}) != 1:
            raise ValueError(f"the {step} of {name} is told in {len(ways)} ways")
        used.append(ways[0][1])
        if len(ways) > 1:
            raise ValueError(f"the {step} of {name} is told twice")
        name = ways[0][0]
    return name, used


def _reached(event: Event, name: str, step: str) -> str | None:
    """Return whom an event tells to be a relative of somebody, if it does."""
    values = event.values
    if step in ("father", "mother"):
        return values[step] if values.get(CHILD.get(event.kind, "")) == name else None
    if event.kind not in ("bride", "groom", "wedding") or name not in (values["husband"], values["wife"]):
        return None
    other = "wife" if values["husband"] == name else "husband"
    return values[other] if step in ("spouse", other) else None


def relative(text: str) -> tuple[str, list[Line]]:
    """Return the answer to a prompt's question, and the entries that it needs.

    Raises:
        ValueError: if the text cannot be read, or a step is not told.
    """
    return follow(read(text), *steps_of(asked(text)[0]))
