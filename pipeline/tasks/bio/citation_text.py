"""The words of `citation`: labelled biographies, and replies that cite them. All wording is Carrara's own.

Running numbers are written once it is known which biographies stand where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, zip_longest

from pipeline.streams import Streams
from pipeline.tasks.base import Key
from pipeline.tasks.bio.reader import END, START
from pipeline.tasks.bio.text import accepted, biography, question
from pipeline.worlds.people import Person

LABELS = ("opaque", "running")
LEAST, MOST = 10_000, 99_999
"""Opaque labels have five digits, so that none looks like a place in the text."""
PAIRS = {"32k": 2, "128k": 2, "1m": 3}
"""Pairs of digits of a running number: a prompt of a million tokens has more than 9,999 biographies.

Pairs, because then every number has as many tokens as any other in every shipped profile. Without the dots that holds
in all but glm4, where 17,700 of the numbers 00000 to 99999 have one token less.
"""

LEADS = {
    "opaque": (
        "Every paragraph begins with a label of five digits in square brackets, which belongs to that biography alone."
    ),
    "running": (
        "Every paragraph begins with its number in square brackets. Numbers count the paragraphs in the order of the "
        "text, in pairs of digits: the first is {first}, and {last} is followed by {next}."
    ),
}
INTRODUCTION = """\
Below are short biographies of many people, one paragraph for each person. {lead} No two people have the same full \
name. Read all of them carefully. At the end you will be asked what they say, and which biography says it.

Biographies:
"""

NOUNS = {"opaque": "label", "running": "number"}
INSTRUCTIONS = {
    1: """\
This is the end of the biographies. Use them to answer the question below. Reply with the answer alone, worded as in \
the biography, followed by the {noun} of the biography that states it, in square brackets, in this form: answer [{noun}]
""",
    2: """\
This is the end of the biographies. Use them to answer both questions below. Reply with the two answers alone, in the \
order of the questions, worded as in the biographies, each followed by the {noun} of the biography that states it, \
in square brackets, in this form: answer [{noun}]; answer [{noun}]
""",
}


@lru_cache(maxsize=4)
def labels_of(world: Streams, size: int) -> tuple[str, ...]:
    """Return the opaque label of each of `size` people, no two equal."""
    return tuple(map(str, world.of("labels").sample(range(LEAST, MOST + 1), size)))


def running(number: int, tier: str) -> str:
    """Return a running number as prompts of a tier write it; 0 is the mark that stands where a number will.

    >>> running(1249, "128k")
    '12.49'
    """
    digits = f"{number:0{2 * PAIRS[tier]}}"
    return ".".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def introduction(labels: str, tier: str) -> str:
    """Return the text before the biographies."""
    return INTRODUCTION.format(
        lead=LEADS[labels].format(first=running(1, tier), last=running(99, tier), next=running(100, tier))
    )


def cited(person: Person, label: str, without: str = "") -> str:
    """Return the paragraph of a person behind its label."""
    return f"[{label}] {biography(person, without)}"


def asks(people: Sequence[Person], attribute: str) -> str:
    """Return the question about one attribute of one person, or the questions about several, in one line."""
    return " ".join(question(person, attribute) for person in people)


def replies(values: Sequence[str], labels: Sequence[str], attribute: str) -> tuple[str, ...]:
    """Return the accepted replies, the one in the words of the biographies first.

    >>> replies(["Oslo", "Lima"], ["48213", "70554"], "city")
    ('Oslo [48213]; Lima [70554]', 'Oslo, Norway [48213]; Lima, Peru [70554]')
    """
    forms = [accepted(value, attribute) for value in values]
    rows = zip_longest(*forms)
    filled = [[said or forms[place][0] for place, said in enumerate(row)] for row in rows]
    return tuple("; ".join(f"{said} [{label}]" for said, label in zip(row, labels, strict=True)) for row in filled)


@dataclass(frozen=True, slots=True)
class Running:
    """Counts the biographies of a prompt, and cites some of them.

    `shown` and `asked` are the places, among the placed units, of the people whom demonstrations and key cite, in the
    order in which their marks stand there.
    """

    tier: str
    shown: tuple[int, ...]
    asked: tuple[int, ...]

    def prompt(self, text: str, places: Sequence[int]) -> str:
        """Return a prompt whose biographies are numbered, and its demonstrations cite these numbers."""
        start, end = text.index(START) + len(START), text.rindex("\n" + END) + 1
        body = self._filled(text[start:end], count(1))
        return text[:start] + body + self._filled(text[end:], iter(self._numbers(self.shown, places)))

    def key(self, key: Key, places: Sequence[int]) -> Key:
        """Return a key that cites the numbers of the asked."""
        numbers = self._numbers(self.asked, places)
        answers = tuple(self._filled(answer, iter(numbers)) for answer in key.answers)
        return replace(key, target=answers[0], answers=answers)

    def _numbers(self, cited: Sequence[int], places: Sequence[int]) -> list[int]:
        return [places[one] + 1 for one in cited]

    def _filled(self, text: str, numbers: Iterator[int]) -> str:
        """Return a text with a number in place of each mark."""
        first, *rest = text.split(f"[{running(0, self.tier)}]")
        return first + "".join(f"[{running(next(numbers), self.tier)}]{part}" for part in rest)
