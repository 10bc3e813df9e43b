"""What prompts of icl say. All wording is Carrara's own."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.tasks.bio.text import biography
from pipeline.worlds.people import Person

INTRODUCTION = """\
Every university belongs to one of ten categories, which are called Category 1 to Category 10. A rule decides which, \
and nobody tells you the rule. Below are many examples. Each of them holds the biographies of two people, a question \
about one of them, and the right answer. Find out from the examples how universities are sorted. At the end the same \
is asked about two more people, and the university in question is in none of the examples.

Examples:
"""

INSTRUCTION = """\
This is the end of the examples. Answer the last question by the same rule. Reply with the category alone, worded as \
in the examples.

"""

START = "Biographies:\n"


def label(number: int) -> str:
    """Return a category as answers name it."""
    return f"Category {number}"


def accepted(number: int) -> tuple[str, ...]:
    """Return every accepted form of a category.

    >>> accepted(7)
    ('Category 7', '7')
    """
    return label(number), str(number)


def question(person: Person) -> str:
    """Return the question for the category of a person's university."""
    return f"Which category of university did {person.name} graduate from?"


def example(pair: Sequence[Person], asked: int, number: int) -> str:
    """Return one finished example: the biographies of some people, the question about one of them, and the answer."""
    said = "".join(map(biography, pair))
    return f"{START}{said}Question: {question(pair[asked])}\nAnswer: {label(number)}\n"
