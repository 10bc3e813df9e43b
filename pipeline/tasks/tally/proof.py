"""What must hold for a published row, judged from its text and marks alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.tally.reader import (
    Asked,
    Book,
    Entry,
    Intent,
    answer,
    counted_of,
    entries_of,
    leading,
    phrases,
    read,
    times_of,
)

GAP = 0.1
"""By how much of its own number the act that is the answer leads in a packed prompt, at least."""
OWN, OTHERS = {5: 6, 20: 12, 80: 48}, {5: 3, 20: 10, 80: 40}
"""How many other messages the asked clerk received, and other clerks of the kind, at least."""


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    book = read(row.text)
    if book.asked.subtask != row.stratum.subtask or not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
        yield f"{row.question!r} is not the question of the text"
    if row.key.answers != (row.key.target,):
        yield "the key accepts another answer than its target"
    if len({*book.lines}) < len(book.lines):
        yield "a line is there twice"
    yield from _stated(row, book)
    marked = {role: list(_marked(row, role)) for role in ("relevant", "decoy")}
    if sum(map(len, marked.values())) != len(row.needles):
        yield "a mark is no line"
    if row.stratum.subtask in ("most", "compare"):
        yield from _shares(book, marked["relevant"])
    else:
        yield from _needed(row, book, marked["relevant"])
        yield from _misses(row, book)


def _marked(row: Published, role: str) -> Iterator[Entry]:
    """Yield the lines of a row that are marked as a whole."""
    for needle in row.needles:
        said = row.prompt[needle.char_start - 1 : needle.char_end]
        if needle.role == role and said.startswith("\n") and said.find("\n", 1) == len(said) - 1:
            yield from entries_of(said[1:])


def _stated(row: Published, book: Book) -> Iterator[str]:
    """Hold what lines state to what their messages ask."""
    stated = bool(row.stratum.knob("stated", False))
    if any(bool(entry.stated) != stated for entry in book.entries):
        yield "a line states what it asks, or does not, as the knob has it"
    elif stated and any(phrases()[entry.stated] != entry.intent for entry in book.entries):
        yield "a line states something else than its message asks"


def _shares(book: Book, relevant: Sequence[Entry]) -> Iterator[str]:
    """Hold the lead of the answer to its gap, in the whole text."""
    times = times_of(book.entries)
    first, most, following = leading(times, book.asked.options)
    if most - following < GAP * most:
        yield f"the answer is asked for {most} times and another {following} times: they are too near"
    marked = [entry.intent[0] for entry in relevant]
    if marked.count(first) != 1 or len({*marked}) != 2 or len(marked) != 2:
        yield "the marked lines are not one of the answer and one of another act"


def _needed(row: Published, book: Book, relevant: Sequence[Entry]) -> Iterator[str]:
    """Take each line away that could matter: without a relevant one the answer is another, without others the same."""
    asked, right = book.asked, row.key.target
    could = list(_that_could_matter(book))
    if answer(could, asked) != right:
        yield "lines that cannot matter change the answer"
    marked = {*relevant}
    for at, entry in enumerate(could):
        same = _answered([*could[:at], *could[at + 1 :]], asked) == right
        if same == (entry in marked):
            yield f"without line {entry.message[:40]!r} the answer is {'the same' if same else 'another'}"
    if len(marked) != len(relevant) or not marked <= {*could}:
        yield "a marked line does not matter"
    wanted = {"count": len(counted_of(could, asked)) if "clerk" in asked.named else 0, "when": row.stratum.complexity}
    if len(relevant) != wanted.get(asked.subtask, 2 * row.stratum.complexity):
        yield f"{len(relevant)} lines are marked"


def _that_could_matter(book: Book) -> Iterator[Entry]:
    """Yield the lines of the asked kinds, of one clerk where one is asked about."""
    clerk, kinds = book.asked.named.get("clerk"), book.asked.kinds
    mine = [entry for entry in book.entries if entry.clerk == clerk] if clerk else book.entries
    return (entry for entry in mine if entry.intent in kinds)


def _answered(entries: Sequence[Entry], asked: Asked) -> str:
    try:
        return answer(entries, asked)
    except ValueError:
        return ""


def _misses(row: Published, book: Book) -> Iterator[str]:
    """Count the near misses that every prompt has."""
    asked, size = book.asked, row.stratum.complexity
    kind = asked.kinds[0]
    if clerk := asked.named.get("clerk"):
        mine = [entry.intent for entry in book.entries if entry.clerk == clerk and entry.intent != kind]
        others = sum(entry.clerk != clerk for entry in book.entries if entry.intent == kind)
        if len(mine) < OWN[size] or others < OTHERS[size]:
            yield f"{len(mine)} other messages of the clerk and {others} of other clerks are too few"
        if not any(one[0] == kind[0] for one in mine) or not any(one[1] == kind[1] for one in mine):
            yield "no other message of the clerk shares the act, or none the thing"
        return
    whose: dict[str, list[Intent]] = {}
    for entry in book.entries:
        if entry.intent in asked.kinds:
            whose.setdefault(entry.clerk, []).append(entry.intent)
    half = [clerk for clerk, found in whose.items() if len({*found}) == 1]
    if len(half) < 3 * size:
        yield f"{len(half)} clerks received messages of one kind alone, where {3 * size} should have"
