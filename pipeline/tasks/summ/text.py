"""The text of `summ` prompts around their annals, and the form of keys. All wording is Carrara's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

INTRODUCTION = """\
Below are the annals of a town, entry by entry in order of date, each with a number of five digits in square brackets. \
A request for a summary follows at the end. Everybody keeps one name for life. A sale that is set aside, undone, \
annulled or struck out counts as never made, so that the owner before it is the owner again; a sale that is then \
restored counts again as before. If several are undone, the one undone last is restored first.
"""
START = "Annals:\n"
TAIL = """\
This is the end of the annals. Use them to write the summary that is asked for below. Give every event that belongs in \
it a sentence of its own, with the full name of the person and the year, and end the sentence with the number of the \
entry that tells of it, in square brackets before the full stop. A purchase stands unless it was set aside, even if \
the property was sold again later. Leave out purchases that no longer stood at the end of the time asked about, offers \
and wishes that came to nothing, and everything else. A purchase that was set aside and then restored has the year and \
the number of the entry in which it was made.

Question: {question}
Answer:"""
NUMBERED = "[{number}] {entry}"
ASKED: Mapping[str, str] = {
    "sale": "who bought it",
    "lease": "who took it on lease",
    "repairs": "who paid for repairs to it",
    "keeper": "who became its keeper",
    "loan": "who lent money on it",
}
"""Kinds of deeds that may be asked for, and the words for them."""
QUESTIONS = (
    "Summarise what the annals tell of {prop} up to the end of {year}: {asked}.",
    "Sum up the history of {prop} up to the end of {year}: {asked}.",
    "Give a summary of what became of {prop} up to the end of {year}: {asked}.",
)
LEFT_OUT = "Left out: "
Named = tuple[str, int]
"""A person and a year."""


def question(form: str, prop: str, year: int, kinds: Iterable[str]) -> str:
    """Return a question about three kinds of deeds.

    >>> question(QUESTIONS[1], "the Elm Inn", 1780, ("sale", "keeper", "loan")).partition(": ")[2]
    'who bought it, who became its keeper, and who lent money on it.'
    """
    first, second, third = (ASKED[kind] for kind in kinds)
    return form.format(prop=prop, year=year, asked=f"{first}, {second}, and {third}")


def accepted(points: Mapping[Named, Iterable[str]], others: Iterable[Named]) -> tuple[str, ...]:
    """Return the answers: every key point with the numbers of its entries, and the same with those to be left out.

    The second tells scorers who else is named with the property, so that they are known by their surnames too.

    >>> accepted({("Ann Tuck", 1749): ["24404"]}, [("Job Fry", 1760)])
    ('Ann Tuck, 1749 [24404].', 'Ann Tuck, 1749 [24404]. Left out: Job Fry, 1760.')
    """
    summary = " ".join(
        f"{name}, {year} {''.join(f'[{number}]' for number in numbers)}." for (name, year), numbers in points.items()
    )
    left = "; ".join(f"{name}, {year}" for name, year in others)
    return summary, f"{summary} {LEFT_OUT}{left}."
