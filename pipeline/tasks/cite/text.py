"""What prompts of `cite` say around their documents, and how keys are written. All wording is Carrara's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.tasks.rag.text import EXAMPLE, START, TAIL, accepted, numbered, plain

__all__ = [
    "EVERY",
    "EXAMPLE",
    "INTRODUCTION",
    "ITEMS",
    "OWN",
    "SENTENCES",
    "START",
    "TAIL",
    "accepted",
    "numbered",
    "plain",
]

INTRODUCTION = """\
Below are documents about an invented land, one paragraph each, with an id of five digits in square brackets. A \
question about them follows at the end. Everything that is needed to answer it stands in the documents, and the answer \
has to say in which.
"""
OWN = """\
Below are documents, one paragraph each, with a number in square brackets, which is the id of the document. A question \
about them follows at the end. It may be meant in several ways, or have several answers. Everything that is needed \
stands in the documents, and the answer has to say in which.
"""
EVERY = """\
Give every answer that the documents hold in a sentence of its own, which may be the answer alone, and end each \
sentence with the id of a document that says so, in square brackets before the full stop. Where several documents say \
the same, the id of one of them is enough."""
SENTENCES = """\
Answer in one sentence for each thing that is asked, in the order of the question, and end each sentence with the id \
of a document that says so, in square brackets before the full stop. Where several documents say the same, the id of \
one of them is enough."""
ITEMS = """\
Name all that fit, separated by commas, each followed by the id of the document that says so, in square brackets. Add \
nothing else."""


def label(*ids: str) -> str:
    """Return ids as replies give them.

    >>> label("48213", "11223")
    '[48213][11223]'
    """
    return "".join(f"[{one}]" for one in ids)


def as_sentences(facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the accepted answers that state facts: each value with the ids of all documents that state it.

    >>> as_sentences({"the Breck": ["48213"], "1803": ["11223", "33344"]})
    ('Breck [48213]. 1803 [11223][33344].',)
    """
    return _worded(facts, ". ", ".")


def as_items(facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the accepted answers that list things, each with the id of its document.

    >>> as_items({"Walton & Sons": ["48213"], "Ames Brothers": ["11223"]})[1]
    'Walton and Sons [48213], Ames Brothers [11223]'
    """
    return _worded(facts, ", ", "")


def _worded(facts: Mapping[str, Sequence[str]], between: str, end: str) -> tuple[str, ...]:
    """Join the wordings of all facts: in the first answer as the documents have them, in another one in words."""
    forms = [accepted(value) for value in facts]
    answers = (
        between.join(f"{words[min(at, len(words) - 1)]} {label(*ids)}" for words, ids in zip(forms, some, strict=True))
        for some in [list(facts.values())]
        for at in range(max(map(len, forms)))
    )
    return tuple(f"{answer}{end}" for answer in answers)
