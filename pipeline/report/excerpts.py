"""A prompt in parts for reading: marked segments with a note, and the filler between them folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.rows import Row


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a prompt.

    `kind` is the role of a marked segment, or ``filler``, ``question``, or ``folded`` for text that is left out;
    `note` says what a person should know of it, for ``folded`` how much it is. Filler needs no note.
    """

    kind: str
    text: str
    note: str = ""


def parts_of(row: Row, kept: int | None) -> Iterator[Part]:
    """Yield a row's prompt from first to last; `kept` characters on either side of what is folded, None folds nothing.

    Stretches of filler up to three times `kept` stay whole. What follows the start of the question is one part.
    Where keys are withheld, all the rest is filler: nothing says where what matters is.
    """
    prompt, at = row["prompt"], 0
    for needle in sorted(row.get("needles", ()), key=lambda needle: int(needle["char_start"])):
        yield from _between(prompt[at : needle["char_start"]], kept)
        tokens = needle["token_end"] - needle["token_start"]
        depth = "" if needle["depth"] is None else f", depth {needle['depth']:.4f}"
        text = prompt[needle["char_start"] : needle["char_end"]].rstrip("\n")
        yield Part(needle["role"], text, f"{needle['role']}{depth}, {tokens} tokens")
        at = needle["char_end"]
    yield from _between(prompt[at : row["question_start"]], kept)
    yield Part("question", prompt[row["question_start"] :], "question")


def _between(text: str, kept: int | None) -> Iterator[Part]:
    text = text.rstrip("\n")
    if not text:
        return
    if kept is None or len(text) <= 3 * kept:
        yield Part("filler", text)
        return
    start = text.rfind("\n", 0, kept) + 1 or kept
    end = text.find("\n", len(text) - kept) + 1 or len(text) - kept
    folded = text[start:end]
    yield Part("filler", text[:start].rstrip("\n"))
    yield Part("folded", "", f"{folded.count(chr(10)):,} lines, {len(folded):,} characters")
    yield Part("filler", text[end:])
