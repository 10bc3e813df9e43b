"""What prompts about a user's own passages say around them, and how they are read again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.tasks.rag.text import START
from pipeline.worlds.corpora.records import Passage

INTRODUCTION = """\
Below are documents, one paragraph each. A question about them follows at the end, and everything that is needed to \
answer it stands in the documents.
"""
END = "This is the end of the documents."
RUNNING = "Below is the text of one or more documents, one after another. A question about it follows at the end.\n"
TEXT = "Text:\n"
TAIL = """\
This is the end of the text. Use it to answer the question below. Reply with the answer alone, worded as in the text, \
and not as a full sentence.

Question: {question}
Answer:"""
OPENING = re.compile(r"Document(?: \[(\d+)\])?(?: \(title: |: )")
NUMBER = re.compile(r"^Document \[(\d+)\]", re.MULTILINE)
RELEVANT = """\
This is the end of the documents. Which of them are relevant to the question below? Reply with their numbers alone, \
separated by commas.

Question: {question}
Answer:"""


@dataclass(frozen=True, slots=True)
class Line:
    """A document of a prompt: where its line stands, and what it says."""

    start: int
    end: int
    text: str
    number: str = ""


def document(passage: Passage, number: int | None = None) -> str:
    """Return a passage as prompts have it: a line whose first word is fixed, so that no text can begin one."""
    opening = "Document" if number is None else f"Document [{number}]"
    return f"{opening} (title: {passage.title}) {passage.text}\n" if passage.title else f"{opening}: {passage.text}\n"


def read(text: str) -> list[Line]:
    """Return the documents of a prompt, in order, without those of demonstrations.

    Raises:
        ValueError: if there are none, or a line is none.
    """
    start, stop = text.find(f"\n{START}") + 1 + len(START), text.rfind(f"\n{END}") + 1
    if start <= len(START) or stop <= start:
        raise ValueError("the prompt has no documents")
    return list(_lines(text[start:stop], start))


def _lines(body: str, start: int) -> Iterator[Line]:
    for said in body.split("\n")[:-1]:
        found = OPENING.match(said)
        if not found:
            raise ValueError(f"no document: {said[:80]!r}")
        yield Line(start, start + len(said) + 1, said, found[1] or "")
        start += len(said) + 1
