"""The text of documents and around them. All wording is Carrara's own."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.worlds.gazetteer import Passage

DOCUMENT = {True: "Document (title: {title}) {text}\n", False: "Document: {text}\n"}
"""A passage in a prompt, with and without its title."""
NUMBERED = "Document [{number}] (title: {title}) {text}\n"
"""A passage with its id, for replies that name documents."""
EXAMPLE = "Example {number}, with documents of its own:\n{documents}Question: {question}\nAnswer: {answer}\n"
START = "Documents:\n"
TAIL = """\
This is the end of the documents. Use them to answer the question below. {reply}

Question: {question}
Answer:"""


def document(passage: Passage, *, titled: bool) -> str:
    """Return a passage as a prompt's document."""
    return DOCUMENT[titled].format(title=passage.title, text=passage.text)


def numbered(passage: Passage, number: str) -> str:
    """Return a passage as a document with an id."""
    return NUMBERED.format(number=number, title=passage.title, text=passage.text)


def example(number: int, documents: Iterable[str], question: str, answer: str) -> str:
    """Return a demonstration with its own documents."""
    return EXAMPLE.format(number=number, documents="".join(documents), question=question, answer=answer)


def plain(value: str) -> str:
    """Return a value without its article, as in the key, since replies may have it or not.

    >>> plain("the Breck")
    'Breck'
    """
    return value[4:] if value[:4] in ("the ", "The ") else value


def accepted(value: str) -> tuple[str, ...]:
    """Return every accepted form of a value, the target first: "&" may be written as "and".

    >>> accepted("Walton & Sons")
    ('Walton & Sons', 'Walton and Sons')
    """
    return (plain(value), plain(value).replace(" & ", " and ")) if " & " in value else (plain(value),)
