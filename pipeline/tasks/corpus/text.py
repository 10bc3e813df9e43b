"""The text around a user's own passages in prompts. All wording is Carrara's own."""

from __future__ import annotations

from pipeline.corpora.records import Passage

INTRODUCTION = """\
Below are documents, one paragraph each. A question about them follows at the end, and everything needed to answer it \
is in the documents.
"""
RUNNING = "Below is the text of one or more documents, one after another. A question about it follows at the end.\n"
START_OF_TEXT = "Text:\n"
RUNNING_TAIL = """\
This is the end of the text. Use it to answer the question below. Reply with the answer alone, worded as in the text, \
and not as a full sentence.

Question: {question}
Answer:"""
RELEVANT = """\
This is the end of the documents. Which of them are relevant to the question below? Reply with their numbers alone, \
separated by commas.

Question: {question}
Answer:"""
CITED = """\
Below are documents, one paragraph each, with a number in square brackets, which is the id of the document. A question \
about them follows at the end. It may be meant in several ways, or have several answers. Everything needed is in \
the documents, and the answer has to say in which.
"""
EVERY = """\
Give every answer that the documents hold in a sentence of its own, which may be the answer alone, and end each \
sentence with the id of a document that says so, in square brackets before the full stop. Where several documents say \
the same, the id of one of them is enough."""
RANKED = """\
Below are documents, one paragraph each, in no particular order. Each has its number in brackets. A question follows \
at the end, and some documents answer it better than others.
"""
BEST_ANSWERS = """\
Give the numbers of the ten documents that answer it best, the best first, and nothing else, in this form: \
number > number > number.\
"""


def document(passage: Passage, number: int | None = None) -> str:
    """Return a passage as a line of a prompt. Its first word is fixed, so that no user's text can begin a line."""
    opening = "Document" if number is None else f"Document [{number}]"
    return f"{opening} (title: {passage.title}) {passage.text}\n" if passage.title else f"{opening}: {passage.text}\n"
