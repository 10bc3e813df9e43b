"""What prompts of multihop say: links from one biography to another, and replies that follow them.

All wording is Carrara's own. A link keeps the words of the sentence that it replaces, so that only its end differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.tasks.bio.text import SENTENCES, question
from pipeline.worlds.people import Person

LINKS = {
    "birthdate": "{name} was born on the same date as {other}.",
    "birthplace": "The birthplace of {name} is the same as that of {other}.",
    "hobby": "The favourite hobby of {name} is the same as that of {other}.",
    "university": "{name} graduated from the same university as {other}.",
    "major": "The university major of {name} was the same as that of {other}.",
    "city": "{name} now lives and works in the same city as {other}.",
}

INTRODUCTION = """\
Below are short biographies of many people, one paragraph for each person. No two people have the same full name. Some \
biographies give a fact only by naming another person of whom the same is true; that person has a biography here too. \
Read all of them carefully. At the end you will be asked about one person.

Biographies:
"""

INSTRUCTION = """\
This is the end of the biographies. Use them to answer the question below. Where a biography names another person in \
place of the fact, go on to the biography of that person, until one states the fact itself. Write down the sentence \
that you use at each step. Then end your reply with a line that says "Final answer:" and the fact alone, worded as in \
the biography.
"""


def told(person: Person, attribute: str, other: Person | None) -> str:
    """Return the sentence about an attribute: its value, or a link to another person."""
    if other is None:
        return SENTENCES[attribute].format(name=person.name, value=person.value(attribute))
    return LINKS[attribute].format(name=person.name, other=other.name)


def linked_biography(person: Person, attribute: str, other: Person | None) -> str:
    """Return the paragraph of a person whose `attribute` is told by a link; a plain one without `other`."""
    return " ".join(told(person, key, other if key == attribute else None) for key in SENTENCES) + "\n"


def biographies_of(chain: Sequence[Person], attribute: str) -> list[str]:
    """Return the paragraphs of a chain, each of which names the next person and the last of which states the value."""
    return [linked_biography(one, attribute, other) for one, other in _links(chain)]


def example(chain: Sequence[Person], attribute: str) -> tuple[str, str]:
    """Return a question about the first person of a chain, and a reply step by step."""
    steps = " ".join(told(one, attribute, other) for one, other in _links(chain))
    return question(chain[0], attribute), f"{steps}\nFinal answer: {chain[-1].value(attribute)}"


def _links(chain: Sequence[Person]) -> list[tuple[Person, Person | None]]:
    return list(zip(chain, [*chain[1:], None], strict=True))
