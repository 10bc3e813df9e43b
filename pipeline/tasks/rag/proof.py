"""What must hold of a prompt of `rag`, judged from the published row alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.finding import stands, whole_lines
from pipeline.tasks.line_cache import PROMPT
from pipeline.tasks.rag.asked import Answer, Table, answers, given
from pipeline.tasks.rag.reader import Entry, entries, plain, read

ASKED = re.compile(r"\nQuestion: ([^\n]+)\nAnswer:\Z")
MENTIONS = 2
"""How often a near miss names what is asked about."""
SHOWN = re.compile(
    r"^Example \d+, with documents of its own:\n((?:Document.+\n)+)Question: (.+)\nAnswer: (.+)\n", re.MULTILINE
)


def demonstrations(text: str) -> list[tuple[str, str, str]]:
    """Return the documents of each demonstration in a prompt, its question and its answer."""
    return [(found[1], found[2], found[3]) for found in whole_lines(SHOWN, "Example ", text)]


@PROMPT.of
def question(text: str) -> str:
    """Return the question that a prompt ends in.

    Raises:
        ValueError: if it ends in none.
    """
    found = ASKED.search(text, max(0, text.rfind("\nQuestion: ")))
    if not found:
        raise ValueError("the prompt does not end in a question")
    return found[1]


@PROMPT.of
def table_of(text: str) -> Table:
    """Return the documents of a prompt as a table.

    Raises:
        ValueError: if it cannot be read.
    """
    return Table(read(text))


def answered(table: Table, asked: str) -> Answer:
    """Return the one answer to a question.

    Raises:
        ValueError: if there is none, or two.
    """
    given = answers(table, asked)
    if len(given) != 1:
        raise ValueError(f"the documents give {len(given)} answers to {asked!r}: {[one for one, _ in given][:3]}")
    return given[0]


def solved(text: str) -> Answer:
    """Return the answer to a prompt's question, and the documents that it needs.

    Raises:
        ValueError: if the prompt cannot be read, or does not answer just once.
    """
    return answered(table_of(text), question(text))


def faults(row: Published, decoys: int) -> Iterator[str]:
    """Yield what is wrong with a row that promises so many near misses.

    Raises:
        ValueError: if the prompt cannot be read, or does not answer just once.
    """
    found, table, asked = read(row.text), table_of(row.text), question(row.text)
    answer, needed = answered(table, asked)
    yield from _double_faults(found)
    if asked != row.question:
        yield f"the prompt asks {asked!r}"
    if len(needed) != row.stratum.complexity:
        yield f"the answer needs {len(needed)} documents in place of {row.stratum.complexity}"
    yield from _mark_faults(row, "relevant", needed)
    for one in needed:
        if [each for each, _ in answers(table.without(one), asked)] == [answer]:
            yield f"the answer is the same without the document about {one.name}"
    yield from _near_faults(row, found, needed, asked, decoys)
    yield from _elsewhere_faults(row, found, needed, answer, asked)
    yield from _example_faults(row)


def _double_faults(found: Sequence[Entry]) -> Iterator[str]:
    """Hold documents to be of different things, or of different forms, and to state nothing twice."""
    twice = [key for key, times in Counter((one.form.name, one.name) for one in found).items() if times > 1]
    if twice:
        yield f"two documents are about {twice[0][1]!r}"
    kinds: dict[str, set[str]] = {}
    for one in found:
        kinds.setdefault(one.name, set()).add(one.form.kind)
    if mixed := [name for name, each in kinds.items() if len(each) > 1]:
        yield f"{mixed[0]!r} is the name of two things"


def _mark_faults(row: Published, role: str, wanted: Sequence[Entry]) -> Iterator[str]:
    marked = sorted((n.char_start, n.char_end) for n in row.needles if n.role == role)
    if marked != sorted((one.start, one.end) for one in wanted):
        yield f"the marks of role {role} are not its documents"


def _near_faults(
    row: Published, found: Sequence[Entry], needed: Sequence[Entry], asked: str, decoys: int
) -> Iterator[str]:
    """Hold near misses to their number, and each to share what it has to share."""
    starts = {n.char_start for n in row.needles if n.role == "decoy"}
    near = [one for one in found if one.start in starts]
    if len(near) != decoys or len(starts) != decoys:
        yield f"{len(near)} near misses in place of {decoys}"
    named, facts = [one for one in needed if one.name in asked], given(asked)
    for one in near:
        if one.form.name not in {each.form.name for each in needed}:
            yield f"the near miss {one.name!r} is of another kind than what is asked about"
        if facts and not any(_half(one, each) for each in facts):
            yield f"the near miss {one.name!r} does not share half of what is asked"
        if not facts and max(one.text.count(each.name) for each in named) < MENTIONS:
            yield f"the near miss {one.name!r} does not name twice what is asked about"


def _half(one: Entry, facts: Mapping[tuple[str, str], str]) -> bool:
    """Tell whether a document has all but one of some facts, and names the value of that one otherwise."""
    wrong = [value for (form, name), value in facts.items() if one.form.name != form or one.facts.get(name) != value]
    return len(wrong) == 1 and stands(wrong[0], one.text)


def _elsewhere_faults(
    row: Published, found: Sequence[Entry], needed: Sequence[Entry], answer: str, asked: str
) -> Iterator[str]:
    """Hold the answer to stand in other documents too, or in none, by the knob."""
    if row.stratum.subtask == "list":
        return
    others = any(stands(answer, one.text) for one in found if one not in needed)
    if others != bool(row.stratum.knob("answer_elsewhere", True)):
        yield f"the answer {answer!r} stands {'too' if others else 'nowhere'} in other documents"


def _example_faults(row: Published) -> Iterator[str]:
    """Hold demonstrations to be right, and to show no document that is needed."""
    shown = demonstrations(row.text)
    if len(shown) != sum(n.role == "demo" for n in row.needles):
        yield "the demonstrations are not those marked"
    for documents, asked, reply in shown:
        if plain(answered(Table(list(entries(documents))), asked)[0]) != plain(reply):
            yield f"the demonstration {asked!r} is wrong"
