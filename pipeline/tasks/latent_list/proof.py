"""What must hold for a published row, judged from its text and marks alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb

from pipeline.tasks.base import Needle, Published
from pipeline.tasks.latent_list.effective import effective
from pipeline.tasks.latent_list.solver import MEMO, PRINTS, STEPS, Session, Step, advance, demonstrations, read
from pipeline.worlds.programs import Operation, View

REVERSES, SORTS = ">> a.reverse()", ">> a.sort()"
IDLE, SORTED = "idle", "sort"
Between = tuple[str, str, str]
CLASSES = {"append": "addition", "insert": "addition", "pop": "removal", "remove": "removal", "reverse": "reverse"}
BETRAYS = 1e-9
"""Chance below which neighbours betray what is relevant: a release of a million rows is wrongly refused once in 250."""


def faults(row: Published, subtask: str, shots: int) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    text = row.text
    session = read(text)
    if session.ask.name != subtask or row.question != session.ask.line:
        yield f"the last line is {session.ask.line!r}, the question {row.question!r}"
    yield from _wrong_demonstrations(text, subtask, shots)
    marked = [needle for needle in row.needles if needle.role == "relevant"]
    if len(marked) != row.stratum.complexity:
        yield f"{len(marked)} operations are marked as relevant in place of {row.stratum.complexity}"
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
    yield from _betrayed(session, places)
    yield from _touching(text, session, marked)


def _wrong_demonstrations(text: str, subtask: str, shots: int) -> Iterator[str]:
    demos = demonstrations(text)
    if len(demos) != shots:
        yield f"{len(demos)} demonstrations in place of {shots}"
    for number, (demo, shown) in enumerate(demos, 1):
        if demo.ask.name != subtask or demo.runs() != shown:
            yield f"demonstration {number} shows {shown!r} for {demo.ask.line!r}"


def _is_line(text: str, needle: Needle, session: Session) -> bool:
    """Tell whether a mark is exactly one operation of the program, its newline with it."""
    start, end = needle.char_start, needle.char_end
    line = text[start : end - 1]
    known = "\n" not in line and text[end - 1 : end] == "\n" and start >= session.begins and text[start - 1] == "\n"
    return known and line in STEPS and STEPS[line] is not None


def _places(text: str, marked: Sequence[Needle], session: Session) -> list[int]:
    """Return the number of the line of each mark in the program."""
    places, line, here = [], 0, session.begins
    for needle in marked:
        line += text.count("\n", here, needle.char_start)
        here = max(here, needle.char_start)
        places.append(line)
    return places


def _irrelevant(row: Published, session: Session, steps: Sequence[Step | None]) -> Iterator[str]:
    """Run the relevant operations alone, then without each of them."""
    alone = _outcome(session, steps)
    if alone != row.key.target:
        yield f"the relevant operations alone give {alone!r}, the key {row.key.target!r}"
    for number in range(len(steps)):
        if _outcome(session, [*steps[:number], *steps[number + 1 :]]) == row.key.target:
            yield f"relevant operation {number + 1} can be left out"


def _outcome(session: Session, steps: Sequence[Step | None]) -> str | None:
    items = list(session.initial)
    try:
        advance(items, steps)
        return session.ask.shows(items)
    except ValueError:
        return None


def _not_idle(session: Session, places: Sequence[int]) -> Iterator[str]:
    """Run each stretch between relevant operations: it must leave the list as it was."""
    items, begin = list(session.initial), 0
    for place in (*places, len(session.steps)):
        before = items[:]
        try:
            advance(items, session.steps[begin:place])
            idle = items == before
            advance(items, session.steps[place : place + 1])
        except ValueError as fault:
            yield f"line {begin + 1} to {place + 1} of the program: {fault}"
            return
        if not idle:
            yield f"the filler in lines {begin + 1} to {place} of the program changes the list"
        begin = place + 1


def _touching(text: str, session: Session, marked: Sequence[Needle]) -> Iterator[str]:
    """Find reverses next to a relevant one, with which filler could not be told from it, and filler that sorts."""
    lines = [text[needle.char_start : needle.char_end - 1] for needle in marked]
    for line, needle in zip(lines, marked, strict=True):
        if line == REVERSES and REVERSES in _beside(text, needle):
            yield f"a reverse touches the relevant one at character {needle.char_start}"
    if text.count(f"\n{SORTS}\n", session.begins - 1) > lines.count(SORTS):
        yield "filler sorts the list"


def _beside(text: str, needle: Needle) -> tuple[str, str]:
    """Return the nearest lines before and behind a mark that do something."""
    start, end = needle.char_start, needle.char_end
    while text.endswith(f"\n{PRINTS}\n", 0, start):
        start -= len(PRINTS) + 1
    while text.startswith(f"{PRINTS}\n", end):
        end += len(PRINTS) + 1
    return text[text.rfind("\n", 0, start - 1) + 1 : start - 1], text[end : text.find("\n", end)]


def _overstated(row: Published, session: Session, steps: Sequence[Step | None]) -> Iterator[str]:
    """Search for the smallest answer-preserving part anew."""
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


def _betrayed(session: Session, places: Sequence[int]) -> Iterator[str]:
    """Find neighbours that tell relevant operations from filler, by the kinds of the lines before and behind.

    Behind an addition and before a removal nothing can tell, as a line that does nothing stands there, always. Of the
    rest, the number of relevant operations of a kind between lines of two kinds is binomial where neighbours tell
    nothing; the share of filler is smoothed by one operation more of either sort.
    """
    kinds = ["", *map(KINDS.__getitem__, session.lines), ""]
    every = Counter(zip(kinds, kinds[1:], kinds[2:], strict=False))
    wrong = {between for between in every if not _parted(*between)}
    if wrong:
        place = next(place for place in range(len(session.lines)) if tuple(kinds[place : place + 3]) in wrong)
        found = f"parts the {kinds[place + 1]} in line {place + 1} of the program from its neighbour"
        yield f"no line that does nothing {found}"
        return
    relevant: Counter[Between] = Counter((kinds[place], kinds[place + 1], kinds[place + 2]) for place in places)
    filler = every - relevant
    for between in sorted(relevant):
        before, kind, behind = between
        of, lines = (sum(counts[seen] for seen in counts if seen[1] == kind) for counts in (relevant, filler))
        share = (1 + filler[between]) / (2 + lines)
        if kind in CLASSES.values() and _tail(relevant[between], of, share) < BETRAYS:
            found = f"{relevant[between]} of {of} relevant lines of kind {kind} stand between {before!r} and {behind!r}"
            yield f"{found}, and a share of {share:.3f} of filler"


def _parted(before: str, kind: str, behind: str) -> bool:
    """Tell whether a line that does nothing stands behind an addition, and before a removal."""
    return behind == IDLE if kind == "addition" else before == IDLE if kind == "removal" else True


class Kinds(dict[str, str]):
    """Remembers of what kind each distinct line is."""

    def __missing__(self, line: str) -> str:
        """Tell the kind of a line that is new."""
        if len(self) > MEMO:
            self.clear()
        step = STEPS[line]
        self[line] = kind = CLASSES.get(step[0].__name__, SORTED) if step else IDLE
        return kind


KINDS = Kinds()


def _tail(seen: int, of: int, share: float) -> float:
    """Return the chance of at least so many successes."""
    return sum(comb(of, count) * share**count * (1 - share) ** (of - count) for count in range(seen, of + 1))
