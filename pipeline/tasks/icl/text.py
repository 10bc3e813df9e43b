"""The text of a prompt: an instruction, examples of two lines each, and a last message without its label."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.tasks.base import Piece

INTRODUCTION = {
    "question": (
        "Below are questions that people have put to an information desk. Each is followed by a label. "
        "There are {count} labels, {form}. A label stands for one kind of question: questions of the same kind always "
        "have the same label, and questions of different kinds never do. You are not told what the kinds are. Work out "
        "from the examples what each label stands for. The last question has no label yet, and it is not among the "
        "examples."
    ),
    "request": (
        "Below are messages that customers have sent to a company that looks after their contracts and memberships. "
        "Each is followed by a label. There are {count} labels, {form}. A label stands for one kind of message: "
        "messages of the same kind always have the same label, and messages of different kinds never do. You are "
        "not told what the kinds are. Work out from the examples what each label stands for. The last message has no "
        "label yet, and it is not among the examples."
    ),
    "text": (
        "Below are texts. Each is followed by a label. There are {count} labels, {form}. Work out from the examples "
        "which texts have which label. The last text has no label yet, and it is not among the examples."
    ),
}
FORMS = {
    "integers": "the whole numbers from 0 to {last}, given out at random",
    "words": "all of them words joined by hyphens",
    "own-integers": "the whole numbers from 0 to {last}, given out at random",
    "own-words": "all of them in words",
}
WHAT = {"question": "question", "request": "message", "text": "text"}
START = "Examples:\n"
END = "This is the end of the examples. Give the label of the last {what}. Reply with the label alone.\n\n{name}:\n"
CUE = "label:"


def head(domain: str, form: str, count: int) -> tuple[Piece, ...]:
    """Return the text before the examples."""
    introduction = INTRODUCTION[domain].format(count=count, form=FORMS[form].format(last=count - 1))
    return (Piece(f"{introduction}\n\n{START}", "instruction"),)


def tail(domain: str, message: str) -> tuple[Piece, ...]:
    """Return the text after the examples."""
    what = WHAT[domain]
    end = END.format(what=what, name=f"Last {what}")
    return (Piece(end, "instruction"), Piece(f"{message}\n", "relevant"), Piece(CUE, "question"))


def example(message: str, label: str) -> str:
    """Return an example: a message and its label."""
    return f"{message}\n{CUE} {label}\n"


def label_words(label: Sequence[str]) -> str:
    """Return a label in words: an act, and a thing if the label is about one.

    >>> label_words(("renew", "gym")), label_words(("price",))
    ('renew-gym', 'asks-price')
    """
    return "-".join(label) if len(label) > 1 else f"asks-{label[0]}"
