"""Finds the line that is to be copied in a prompt's text alone, and proves that it is the only one of its kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.solving import PROMPT, Lines, ReadError
from pipeline.tasks.tabulate.solve import lines_between

ASKED = re.compile(
    r'\nQuestion: Which line repeats the word "([A-Za-z]+)" many times, with one word in one place that '
    r"differs, if only in a letter or a capital\? Copy this line exactly\.\nAnswer:\Z"
)


@PROMPT.cached
def read_lines(text: str) -> Lines:
    """Return the lines of the survey, the one that is to be copied among them."""
    return lines_between(text, "Survey:\n", "This is the end of the survey.")


@PROMPT.cached
def places_asked(text: str) -> list[int]:
    """Return which lines have one other word, and besides only the word that the question names."""
    asked = ASKED.search(text, max(0, text.rfind("\nQuestion: ")))
    if not asked:
        raise ReadError("the prompt does not end in a question about a repeated word")
    word, found = asked[1], list[int]()
    for number, line in enumerate(read_lines(text).texts):
        if line.startswith(word):
            counts = Counter(line.split(" "))
            if len(counts) == 2 and counts[word] == counts.total() - 1:
                found.append(number)
    return found


def line_asked(text: str) -> str:
    """Return the line that is to be copied.

    Raises:
        ReadError: unless there is just one.
    """
    places = places_asked(text)
    if len(places) != 1:
        raise ReadError(f"{len(places)} lines repeat the word that the question names")
    return read_lines(text).texts[places[0]]


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row."""
    lines, places = read_lines(row.text), places_asked(row.text)
    if row.question not in row.text[row.text.rfind("\nQuestion: ") :]:
        yield "the prompt does not end in the question"
    if row.spans("relevant", "decoy") != [lines.span(at) for at in places]:
        yield "the marked line is not the one that is to be copied"
    words = [len(lines.texts[at].split(" ")) for at in places]
    if words != [row.stratum.complexity]:
        yield f"lines of {words} words are to be copied, expected one of {row.stratum.complexity}"
