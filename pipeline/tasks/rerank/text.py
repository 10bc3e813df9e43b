"""The text of prompts that ask for a ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pipeline.metrics import RANKED, TIED
from pipeline.tasks.base import Key

GRADES = """\
Below are documents about an invented land, one paragraph each, in no particular order. Each has its number in \
brackets. The question at the end names a kind of thing and three conditions, by which every document is graded: one \
about a thing of that kind gets a point for each condition that, as it says, the thing meets. To name what a condition \
asks for in another role earns no point, and a document about anything else has grade 0.
"""
ORDERS = """\
Below are documents about an invented land, one paragraph each, in no particular order. Each has its number in \
brackets. The question at the end names a kind of thing and a condition, and asks for those that meet it in a certain \
order. A document that names what the condition asks for in another role does not meet it, and a document about \
anything else does not count.
"""
EXAMPLE = "Example {number}, with documents of its own:\n{documents}Question: {question}\nAnswer: {answer}\n"
START = "Documents:\n"
TAIL = """\
This is the end of the documents. Rank them for the question below. {reply}

Question: {question}
Answer:"""
BEST = """\
Give the numbers of the ten documents with the highest grades, the best first, and nothing else, in this form: \
number > number > number. Documents of the same grade may come in any order among themselves.\
"""
IN_ORDER = """\
Give the numbers of the ten documents that it asks for, in order, and nothing else, in this form: \
number > number > number.\
"""
TEN = 10


def example(number: int, documents: Iterable[str], question: str, answer: str) -> str:
    """Return a demonstration with its own documents."""
    return EXAMPLE.format(number=number, documents="".join(documents), question=question, answer=answer)


def key_of(worth: Mapping[str, int]) -> Key:
    """Return the key of a ranking: the ten best, and all documents worth anything, with those of one rank tied.

    Within a rank they are sorted by number; any other order is as right.
    """
    ranks = [sorted(one for one in worth if worth[one] == value) for value in sorted({*worth.values()} - {0})[::-1]]
    target = f" {RANKED} ".join(best(ranks))
    full = RANKED.join(TIED.join(rank) for rank in ranks)
    return Key.accepting(target, full)


def best(ranks: Sequence[Sequence[str]]) -> list[str]:
    """Return the ten best documents of some ranks, the best first."""
    return [one for rank in ranks for one in rank][:TEN]
