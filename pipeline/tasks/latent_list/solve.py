"""Reads a prompt's last program and runs it on a real list, with code that shares nothing with what drew it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np

from pipeline.tasks.base import Needle, PublishedRow
from pipeline.tasks.latent_list.effective import effective
from pipeline.tasks.solving import PROMPT, ReadError
from pipeline.worlds.programs import Operation, View

NUMBER = r"-?(?:0|[1-9][0-9]{0,5})"
OPENING = ">> a = ["
STARTS = re.compile(rf">> a = \[({NUMBER}(?:, {NUMBER}){{0,63}})\]")
CALL = re.compile(rf">> a\.(append|insert|pop|remove|sort|reverse)\(({NUMBER}(?:, {NUMBER})?)?\)")
ARGUMENTS = {"append": (1,), "insert": (2,), "pop": (0, 1), "remove": (1,), "sort": (0,), "reverse": (0,)}
ASKED = re.compile(r">> (?:(print|sum|min|max)\(a\[([0-9]{1,4}):([0-9]{1,4})\]\)|(len)\(a\))")
PRINTS = '>> print("Do nothing.")'
MOST_REMEMBERED = 200_000
COPY_EVERY = 64
"""Steps between copies of the list, from which a program is run again instead of from its first line."""
Step = tuple[Callable[..., object], tuple[int, ...]]


class Steps(dict[str, Step | None]):
    """Remembers what each distinct line does: a list method with its arguments, or None for nothing."""

    def __missing__(self, line: str) -> Step | None:
        """Read a new line."""
        if len(self) > MOST_REMEMBERED:
            self.clear()
        self[line] = step = _step(line)
        return step


def _step(line: str) -> Step | None:
    if line == PRINTS:
        return None
    found = CALL.fullmatch(line)
    args = tuple(map(int, found[2].split(", "))) if found and found[2] else ()
    if not found or len(args) not in ARGUMENTS[found[1]]:
        raise ReadError(f"line {line[:80]!r} is not an operation on the list")
    return getattr(list, found[1]), args


STEPS = Steps()


@dataclass(frozen=True, slots=True)
class Ask:
    """A program's last line: what it shows of the list."""

    line: str
    name: str
    start: int = 0
    stop: int = 0

    def shows(self, items: list[Any]) -> str:
        """Return what Python prints."""
        if self.name == "len":
            return repr(len(items))
        part = items[self.start : self.stop]
        if self.name == "print":
            return repr(part)
        return repr(sum(part) if self.name == "sum" else min(part) if self.name == "min" else max(part))


@dataclass(frozen=True, slots=True)
class Session:
    """A program as read: where its operations begin in the prompt, their lines and steps, and what is asked."""

    begins: int
    initial: tuple[int, ...]
    lines: Sequence[str]
    steps: Sequence[Step | None]
    ask: Ask
    kept: list[list[int]] = field(default_factory=list, compare=False, repr=False)
    """The list before every `COPY_EVERY`-th step, as far as the program was run."""

    def at(self, place: int) -> list[int]:
        """Return the list before a step (from 0), or after the last, starting from the nearest kept copy."""
        if not self.kept:
            self.kept.append(list(self.initial))
        for begin in range((len(self.kept) - 1) * COPY_EVERY, place // COPY_EVERY * COPY_EVERY, COPY_EVERY):
            self.kept.append(advanced(self.kept[-1], self.steps[begin : begin + COPY_EVERY]))
        return advanced(self.kept[place // COPY_EVERY], self.steps[place // COPY_EVERY * COPY_EVERY : place])

    def runs(self) -> str:
        """Return the program's final output."""
        return self.ask.shows(self.at(len(self.steps)))


def advanced(items: Iterable[int], steps: Iterable[Step | None]) -> list[int]:
    """Return a copy of a list after some steps."""
    left = list(items)
    try:
        for method, args in filter(None, steps):
            if args:
                method(left, *args)
            else:
                method(left)
    except IndexError as fault:
        raise ReadError(f"the program fails: {fault}") from None
    return left


@PROMPT.cached
def read(text: str) -> Session:
    """Read the last program of a prompt."""
    opening = text.rfind(f"\n{OPENING}") + 1
    body, _, rest = text[opening:].rpartition("\nOutput:")
    if not opening or rest:
        raise ReadError("the prompt does not end in a program and 'Output:'")
    return _session(body, opening)


def demonstrations(text: str) -> list[tuple[Session, str]]:
    """Return the programs before the last one, each with its stated output."""
    before = text[: text.rfind(f"\n{OPENING}") + 1]
    found = []
    for program in before.split(f"\n{OPENING}")[1:]:
        body, _, shown = program.partition("\nOutput: ")
        found.append((_session(OPENING + body, 0), shown.partition("\n")[0]))
    return found


def _session(body: str, begins: int) -> Session:
    first, *lines = body.split("\n")
    start = STARTS.fullmatch(first)
    if not start or not lines:
        raise ReadError(f"line {first[:80]!r} does not start a list")
    initial = tuple(map(int, start[1].split(", ")))
    asked = lines.pop()
    return Session(begins + len(first) + 1, initial, lines, list(map(STEPS.__getitem__, lines)), _ask(asked))


def _ask(line: str) -> Ask:
    found = ASKED.fullmatch(line)
    if not found:
        raise ReadError(f"line {line[:80]!r} asks nothing of the list")
    if found[4]:
        return Ask(line, "len")
    return Ask(line, found[1], int(found[2]), int(found[3]))


def solve(text: str) -> tuple[str, ...]:
    """Return the one answer of a prompt."""
    return (read(text).runs(),)


Between = tuple[str, str, str]
IDLE = "idle"
CLASSES = {"append": "addition", "insert": "addition", "pop": "removal", "remove": "removal", "reverse": "reverse"}
KINDS = ("", "sort", "addition", "removal", "reverse", IDLE)
"""Kinds of lines by their number; the first stands for no line, beyond either end of a program."""
BETRAYING_CHANCE = 1e-9
"""Chance below which neighbours betray what is relevant. A release of a million rows is wrongly refused once in 250."""


def betrayed(lines: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    """Find neighbours that distinguish the relevant operations, at `places` among a program's lines, from filler.

    The lines after an addition and before a removal cannot, as they always do nothing. Otherwise, if neighbours betray
    nothing, the number of relevant operations of a kind between lines of two kinds is binomial. Its probability is the
    share among filler, smoothed by one more operation of either sort.
    """
    kinds = bytes([0, *map(NUMBERS.__getitem__, lines), 0])
    every = _counted(kinds)
    if any(not _parted(*between) for between in every):
        place = next(place for place in range(len(lines)) if not _parted(*_between(kinds, place)))
        found = f"parts the {KINDS[kinds[place + 1]]} in line {place + 1} of the program from its neighbour"
        yield f"no line that does nothing {found}"
        return
    relevant = Counter(_between(kinds, place) for place in places)
    filler = every - relevant
    for between in sorted(relevant):
        before, kind, after = between
        of, others = (sum(counts[seen] for seen in counts if seen[1] == kind) for counts in (relevant, filler))
        share = (1 + filler[between]) / (2 + others)
        if kind in CLASSES.values() and _tail(relevant[between], of, share) < BETRAYING_CHANCE:
            found = f"{relevant[between]} of {of} relevant lines of kind {kind} stand between {before!r} and {after!r}"
            yield f"{found}, and a share of {share:.3f} of filler"


class Numbers(dict[str, int]):
    """Remembers the number of the kind of each distinct line."""

    def __missing__(self, line: str) -> int:
        """Return the number of the kind of a new line."""
        if len(self) > MOST_REMEMBERED:
            self.clear()
        step = STEPS[line]
        self[line] = number = KINDS.index(CLASSES.get(step[0].__name__, "sort") if step else IDLE)
        return number


NUMBERS = Numbers()


def _between(kinds: bytes, place: int) -> Between:
    """Return the kinds of the lines before, at and after a place; `kinds` begins one before the first line."""
    before, kind, after = kinds[place : place + 3]
    return KINDS[before], KINDS[kind], KINDS[after]


def _counted(kinds: bytes) -> Counter[Between]:
    """Count lines by their own kind and those of their neighbours."""
    size, numbers = len(KINDS), np.frombuffer(kinds, dtype=np.uint8).astype(np.intp)
    counts = np.bincount((numbers[:-2] * size + numbers[1:-1]) * size + numbers[2:])
    found = Counter[Between]()
    for place in np.flatnonzero(counts).tolist():
        rest, after = divmod(place, size)
        before, kind = divmod(rest, size)
        found[KINDS[before], KINDS[kind], KINDS[after]] = int(counts[place])
    return found


def _parted(before: str, kind: str, after: str) -> bool:
    """Return whether a line that does nothing follows an addition, and precedes a removal."""
    return after == IDLE if kind == "addition" else before == IDLE if kind == "removal" else True


def _tail(seen: int, of: int, share: float) -> float:
    """Return the chance of at least `seen` successes."""
    return sum(comb(of, count) * share**count * (1 - share) ** (of - count) for count in range(seen, of + 1))


REVERSES, SORTS = ">> a.reverse()", ">> a.sort()"


def faults(row: PublishedRow, subtask: str, shots: int) -> Iterator[str]:
    """Yield what is wrong with a row."""
    text = row.text
    session = read(text)
    if session.ask.name != subtask or row.question != session.ask.line:
        yield f"the last line is {session.ask.line!r}, the question {row.question!r}"
    yield from _wrong_demonstrations(text, subtask, shots)
    marked = [needle for needle in row.needles if needle.role == "relevant"]
    if len(marked) != row.stratum.complexity:
        yield f"expected {row.stratum.complexity} operations marked as relevant, found {len(marked)}"
    misplaced = [needle.char_start for needle in marked if not _is_line(text, needle, session)]
    if misplaced:
        yield f"the mark at character {misplaced[0]} is not a line of the program"
        return
    places = _places(text, marked, session)
    if places != sorted(set(places)):
        yield "the marks are out of order"
        return
    yield from _irrelevant(row, session, [session.steps[place] for place in places])
    yield from _overstated(row, session, [session.steps[place] for place in places])
    yield from _not_idle(session, places)
    yield from betrayed(session.lines, places)
    yield from _touching(text, session, marked)


def _wrong_demonstrations(text: str, subtask: str, shots: int) -> Iterator[str]:
    demos = demonstrations(text)
    if len(demos) != shots:
        yield f"expected {shots} demonstrations, found {len(demos)}"
    for number, (demo, shown) in enumerate(demos, 1):
        if demo.ask.name != subtask or demo.runs() != shown:
            yield f"demonstration {number} shows {shown!r} for {demo.ask.line!r}"


def _is_line(text: str, needle: Needle, session: Session) -> bool:
    """Return whether a mark is exactly one operation of the program, newline included."""
    start, end = needle.char_start, needle.char_end
    line = text[start : end - 1]
    known = "\n" not in line and text[end - 1 : end] == "\n" and start >= session.begins and text[start - 1] == "\n"
    return known and line in STEPS and STEPS[line] is not None


def _places(text: str, marked: Sequence[Needle], session: Session) -> list[int]:
    """Return the line number in the program of each mark."""
    places, line, here = [], 0, session.begins
    for needle in marked:
        line += text.count("\n", here, needle.char_start)
        here = max(here, needle.char_start)
        places.append(line)
    return places


def _irrelevant(row: PublishedRow, session: Session, steps: Sequence[Step | None]) -> Iterator[str]:
    """Run the relevant operations alone, then without each of them."""
    alone = _outcome(session, steps)
    if alone != row.key.target:
        yield f"the relevant operations alone give {alone!r}, the key {row.key.target!r}"
    for number in range(len(steps)):
        if _outcome(session, [*steps[:number], *steps[number + 1 :]]) == row.key.target:
            yield f"relevant operation {number + 1} can be left out"


def _outcome(session: Session, steps: Sequence[Step | None]) -> str | None:
    try:
        return session.ask.shows(advanced(session.initial, steps))
    except ValueError:
        return None


def _not_idle(session: Session, places: Sequence[int]) -> Iterator[str]:
    """Find stretches between relevant operations that do not leave the list as it was."""
    before, begin = list(session.initial), 0
    for place in (*places, len(session.steps)):
        try:
            idle = session.at(place) == before
            before = session.at(min(place + 1, len(session.steps)))
        except ValueError as fault:
            yield f"line {begin + 1} to {place + 1} of the program: {fault}"
            return
        if not idle:
            yield f"the filler in lines {begin + 1} to {place} of the program changes the list"
        begin = place + 1


def _touching(text: str, session: Session, marked: Sequence[Needle]) -> Iterator[str]:
    """Find reverses next to a relevant one, which could not be told from it, and filler that sorts."""
    lines = [text[needle.char_start : needle.char_end - 1] for needle in marked]
    for line, needle in zip(lines, marked, strict=True):
        if line == REVERSES and REVERSES in _beside(text, needle):
            yield f"a reverse touches the relevant one at character {needle.char_start}"
    if text.count(f"\n{SORTS}\n", session.begins - 1) > lines.count(SORTS):
        yield "filler sorts the list"


def _beside(text: str, needle: Needle) -> tuple[str, str]:
    """Return the nearest lines before and after a mark that do something."""
    start, end = needle.char_start, needle.char_end
    while text.endswith(f"\n{PRINTS}\n", 0, start):
        start -= len(PRINTS) + 1
    while text.startswith(f"{PRINTS}\n", end):
        end += len(PRINTS) + 1
    return text[text.rfind("\n", 0, start - 1) + 1 : start - 1], text[end : text.find("\n", end)]


def _overstated(row: PublishedRow, session: Session, steps: Sequence[Step | None]) -> Iterator[str]:
    """Compare the stated effective complexity with that of the marked operations."""
    ask = session.ask
    view = View(ask.name, None if ask.name == "len" else (ask.start, ask.stop))
    operations = tuple(Operation(method.__name__, args) for method, args in filter(None, steps))
    stated = row.metadata.get("latent", {}).get("effective_complexity")
    try:
        found = effective(operations, view)
    except (IndexError, ValueError) as fault:
        yield f"the relevant operations alone fail: {fault}"
        return
    if stated != found:
        yield f"the effective complexity is {found}, not {stated}"
