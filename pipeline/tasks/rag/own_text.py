"""What prompts about a user's own passages say around them, and how they are read again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.corpora.gathering import forms_of
from pipeline.corpora.reading import holds, plain, rarest, searched, with_words
from pipeline.corpora.records import Passage
from pipeline.tasks.base import Published
from pipeline.tasks.documents.solve import question
from pipeline.tasks.documents.text import START

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


TITLE_OPENING = len("Document ")


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    found, forms = read(row.text), forms_of([row.key.answers])
    if question(row.text) != row.question:
        yield f"the prompt asks {question(row.text)!r}"
    twice = [said for said, times in Counter(one.text for one in found).items() if times > 1]
    if twice:
        yield f"the document {twice[0][:80]!r} stands twice"
    marked = {(n.char_start, n.char_end) for n in row.needles if n.role == "relevant"}
    needed = [one for one in found if (one.start, one.end) in marked]
    if len(needed) != len(marked) or len(needed) != row.stratum.complexity:
        yield f"{len(needed)} marked documents are needed in place of {row.stratum.complexity}"
    said = [one.text[TITLE_OPENING:] for one in found]
    likely = with_words(plain("\n".join(said)).split("\n"), rarest(forms))
    answering = [found[place] for place in likely if holds(searched(said[place]), forms)]
    if not any(one in needed for one in answering):
        yield "no document that is needed holds an accepted answer"
    if others := [one for one in answering if one not in needed]:
        yield f"the document {others[0].text[:80]!r} holds an accepted answer too"
    told = row.metadata.get("filler")
    if told and told.get("documents") != len(found) - len(needed):
        yield f"{len(found) - len(needed)} documents are filler in place of {told.get('documents')}"
