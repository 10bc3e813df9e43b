"""What must hold for a published row, judged from its text and marks alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.tasks.base import Needle, Published
from pipeline.tasks.latent_list.effective import effective
from pipeline.tasks.latent_list.neighbours import betrayed
from pipeline.tasks.latent_list.solver import PRINTS, STEPS, Session, Step, advanced, demonstrations, read
from pipeline.worlds.programs import Operation, View

REVERSES, SORTS = ">> a.reverse()", ">> a.sort()"


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
    yield from betrayed(session.lines, places)
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
    try:
        return session.ask.shows(advanced(session.initial, steps))
    except ValueError:
        return None


def _not_idle(session: Session, places: Sequence[int]) -> Iterator[str]:
    """Look at each stretch between relevant operations: it must leave the list as it was."""
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
