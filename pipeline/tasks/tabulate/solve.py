"""Writes the tables from a prompt's text alone, and proves their decoys.

The patterns of notes are not independent of the writer: `pipeline.worlds.wording` compiles them from the wordings that
it fills. All that follows from them, lines of the log and the rules are read by this module's own code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.caches import cache
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError
from pipeline.worlds.survey import SMALL, TENS, kinds, wordings
from pipeline.worlds.wording import Slot, parse, pattern

NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
BUILDER = r"[A-Z][a-z]+ [A-Z][A-Za-z'-]+"
REGION = "[A-Z][a-z]+"
VALUES = {"builder": BUILDER, "year": r"[12]\d{3}", "cost": r"\d{3}|[a-z]+ hundred(?: and [a-z-]+)?"}
"""What notes state, and its pattern."""
ASKED_NOTES = re.compile(
    rf"\nQuestion: Which ([a-z]+) stand in ({REGION})\? Give a row for each of them, in the order of their "
    r"(notes|costs, the (?:lowest|highest) first)\.\nAnswer:\Z"
)
ASKED_LOG = re.compile(
    r"\nQuestion: What are the lines of host ([a-z]+) in the new form\? Give a row for each of them, in the order of "
    r"the log\.\nAnswer:\Z"
)
ASKED_COLUMNS = re.compile(
    r"\nThis is the end of the log\. .* Its columns are (\w+), (\w+), (\w+) and (\w+), with a tab "
)
LOGGED = re.compile(r"(\d\d):(\d\d):(\d\d) ([a-z]+) ([a-z]+) ([a-z]+) (.+)")
QUOTING = re.compile(r'[^"\d]+ "\d\d:\d\d:\d\d ([a-z]+) [^"]+"')
RULE = re.compile(r"^([1-5])\. (.+)$", re.MULTILINE)
HOURS = {
    name: number for number, name in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine"), 2)
}
MARK = "@"
"""Replaces a predicate in a note that is taken apart."""


class Note(NamedTuple):
    """What a note states, and what else it mentions: a region, a kind, or nothing."""

    name: str
    kind: str
    region: str
    builder: str
    year: int
    cost: int
    mentioned: str

    @property
    def row(self) -> str:
        """The row of its building."""
        return f"{self.name}\t{self.builder}\t{self.year}\t{self.cost}"


def read_note(line: str) -> Note:
    """Return what a note states.

    Raises:
        ReadError: if it cannot be read, or does not state each value once.
    """
    values, text = list[str](), line
    for predicate in _predicates():
        stated = list(predicate.finditer(text))
        if len(stated) != 1:
            raise ReadError(f"a note states a value {len(stated)} times: {line[:80]!r}")
        values.append(_first_group(stated[0]))
        text = text[: stated[0].start()] + MARK + text[stated[0].end() :]
    mentioned, (before, after) = "", _mentions()
    if led := before.match(text):
        mentioned, text = _first_group(led), text[led.end() :]
    elif ended := after.search(text):
        mentioned, text = _first_group(ended), text[: ended.start()]
    frame = next((match for wording in _frames() if (match := wording.fullmatch(text))), None)
    if not frame:
        raise ReadError(f"a note that cannot be read: {line[:80]!r}")
    slots, of_plural = frame.groupdict(), {plural: one for one, plural in kinds().items()}
    kind, (builder, year, cost) = slots.get("kind") or of_plural[slots["kinds"]], values
    return Note(slots["name"], kind, slots["region"], builder, int(year), _number(cost), mentioned)


notes_of = LINES.cached_map(read_note)


def _first_group(match: re.Match[str]) -> str:
    return next(value for value in match.groups() if value)


def _number(text: str) -> int:
    """Return a number of three digits, given in digits or in words."""
    if text.isdigit():
        return int(text)
    total = 0
    for word in re.findall("[a-z]+", text):
        if word == "hundred":
            total *= 100
        elif word != "and":
            total += SMALL.index(word) if word in SMALL else 10 * TENS.index(word)
    return total


def _any(name: str, slots: Mapping[str, str]) -> str:
    """Return a pattern of all wordings of something, given the patterns of their slots."""

    def takes(slot: Slot) -> str:
        return slots[slot.name]

    return "|".join(f"(?:{pattern(parse(wording), takes, articles=True)})" for wording in wordings()[name])


@cache
def _predicates() -> tuple[re.Pattern[str], ...]:
    """Return for each value a pattern of all that states it."""
    return tuple(re.compile(_any(name, {name: f"({value})"})) for name, value in VALUES.items())


@cache
def _mentions() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a pattern of what may precede a note, and one of what may follow it."""
    kind = "|".join(kinds())
    both = (
        "|".join(
            _any(f"{sort}_{place}", {"other": f"({value})"}) for sort, value in (("region", REGION), ("kind", kind))
        )
        for place in ("before", "after")
    )
    before, after = both
    return re.compile(f"(?:{before}) "), re.compile(f" (?:{after})$")


@cache
def _frames() -> tuple[re.Pattern[str], ...]:
    """Return a pattern of each frame of a note, with marks for predicates."""
    slots = {
        "name": f"(?P<name>{NAME})",
        "region": f"(?P<region>{REGION})",
        "kind": f"(?P<kind>{'|'.join(kinds())})",
        "kinds": f"(?P<kinds>{'|'.join(kinds().values())})",
    }

    def takes(slot: Slot) -> str:
        return slots.get(slot.name, MARK)

    return tuple(
        re.compile(pattern(parse(wording), takes, articles=True))
        for wording in (*wordings()["named"], *wordings()["free"])
    )


class AskedNotes(NamedTuple):
    """What is asked about notes: a kind, a region, and the order of the rows."""

    kind: str
    region: str
    order: str


@PROMPT.cached
def asked_of_notes(text: str) -> AskedNotes:
    """Return what a prompt asks."""
    match = ASKED_NOTES.search(text, max(0, text.rfind("\nQuestion: ")))
    of_plural = {plural: one for one, plural in kinds().items()}
    if not match or match[1] not in of_plural:
        raise ReadError("the prompt does not end in a question about buildings")
    return AskedNotes(of_plural[match[1]], match[2], match[3])


@PROMPT.cached
def read_notes(text: str) -> tuple[Lines, list[Note]]:
    """Return the lines of a survey, and what each note states."""
    lines = lines_between(text, "Survey:\n", "This is the end of the survey.")
    return lines, notes_of(lines.texts)


def lines_between(text: str, opening: str, closing: str) -> Lines:
    """Return the lines of a prompt between an opening and a closing line."""
    start, end = text.find(f"\n{opening}") + 1 + len(opening), text.rfind(f"\n{closing}") + 1
    if start <= len(opening) or end < start:
        raise ReadError(f"the prompt has no lines behind {opening.strip()!r}")
    return Lines(text, start, end)


def table_of_notes(text: str) -> str:
    """Return the table that is asked for."""
    asked, (_, notes) = asked_of_notes(text), read_notes(text)
    listed = [one for one in notes if (one.kind, one.region) == (asked.kind, asked.region)]
    if asked.order != "notes":
        listed.sort(key=lambda one: one.cost, reverse="highest" in asked.order)
    if not listed:
        raise ReadError(f"no {asked.kind} stands in {asked.region}")
    return "\n".join(["name\tbuilder\tyear\tcost", *(one.row for one in listed)])


def note_faults(row: PublishedRow, decoys: float) -> Iterator[str]:
    """Yield what is wrong with a row of notes that promises decoys for a share of what is asked."""
    asked, (lines, notes) = asked_of_notes(row.text), read_notes(row.text)
    if row.question not in row.text[row.text.rfind("\nQuestion: ") :]:
        yield "the prompt does not end in the question"
    if len({one.name for one in notes}) < len(notes):
        yield "two notes are about one building"
    right = [at for at, one in enumerate(notes) if (one.kind, one.region) == (asked.kind, asked.region)]
    misses = [at for at, one in enumerate(notes) if (one.kind == asked.kind) != (one.region == asked.region)]
    yield from mark_faults(row, lines, right, misses)
    if len(right) != row.stratum.complexity:
        yield f"{len(right)} buildings are asked for, expected {row.stratum.complexity}"
    for sort in ("kind", "region"):
        alike = sum(getattr(notes[at], sort) == getattr(asked, sort) for at in misses)
        if alike != round(decoys * len(right)):
            yield f"{alike} decoys have the {sort}, expected {round(decoys * len(right))}"
    if wrong := [at for at in misses if notes[at].mentioned not in ("", asked.kind, asked.region)]:
        yield f"the decoy {notes[wrong[0]].name!r} speaks of {notes[wrong[0]].mentioned}, which is not asked for"
    known = {*right, *misses}
    idle = [at for at, one in enumerate(notes) if at not in known and one.mentioned in (asked.kind, asked.region)]
    if idle:
        yield f"the filler about {notes[idle[0]].name!r} speaks of what is asked for"
    if len({notes[at].cost for at in right}) < len(right):
        yield "two buildings have the same cost"


def mark_faults(row: PublishedRow, lines: Lines, relevant: Sequence[int], decoys: Sequence[int]) -> Iterator[str]:
    """Check that the marks of a row are those of some lines, given by number."""
    for role, wanted in (("relevant", relevant), ("decoy", decoys)):
        if row.spans(role) != [lines.span(at) for at in wanted]:
            yield f"the marks of role {role} are not its lines"


class Logged(NamedTuple):
    """A line of the log: its time as three texts of two digits, and the host that it quotes, if any."""

    time: tuple[str, str, str]
    host: str
    unit: str
    level: str
    message: str
    quoted: str


def read_line(line: str) -> Logged:
    """Return what a line of the log says.

    Raises:
        ReadError: if it cannot be read.
    """
    match = LOGGED.fullmatch(line)
    if not match:
        raise ReadError(f"no line of a log: {line[:80]!r}")
    hour, minute, second, host, unit, level, message = match.groups()
    quoting = QUOTING.fullmatch(message)
    return Logged((hour, minute, second), host, unit, level, message, quoting[1] if quoting else "")


lines_of = LINES.cached_map(read_line)


@PROMPT.cached
def read_log(text: str) -> tuple[Lines, list[Logged]]:
    """Return the lines of a log, and what each says."""
    lines = lines_between(text, "Host log:\n", "This is the end of the log.")
    return lines, lines_of(lines.texts)


@PROMPT.cached
def host_asked(text: str) -> str:
    """Return the host that a prompt asks about."""
    match = ASKED_LOG.search(text, max(0, text.rfind("\nQuestion: ")))
    if not match:
        raise ReadError("the prompt does not end in a question about a host")
    return match[1]


class Form(NamedTuple):
    """The new form of lines, as a prompt states it.

    `spared` are the units for which a column stays as it is, or for which `left_out`, unless None, replaces a number.
    """

    columns: tuple[str, ...]
    hours: int | None
    codes: Mapping[str, str]
    doubled: bool
    spared: Mapping[str, Sequence[str]]
    left_out: str | None

    def cells(self, line: Logged) -> dict[str, str]:
        """Return the cells of a line by column."""
        hour, minute, second = line.time
        time = hour + minute if self.hours is None else f"{(int(hour) + self.hours) % 24:02}:{minute}:{second}"
        (number,) = re.findall(r"\d+", line.message)
        told = {
            "time": time,
            "unit": line.unit,
            "level": self.codes[line.level],
            "number": str(int(number) * 2) if self.doubled else number.zfill(4),
        }
        kept = {"time": ":".join(line.time), "level": line.level, "number": self.left_out or number}
        return told | {column: kept[column] for column, units in self.spared.items() if line.unit in units}

    def row(self, line: Logged) -> str:
        """Return a line in the new form."""
        cells = self.cells(line)
        return "\t".join(cells[column] for column in self.columns)


@PROMPT.cached
def form_of(text: str) -> Form:
    """Return the form that a prompt states by its rules and exceptions.

    Raises:
        ReadError: if it does not state all of it.
    """
    end = text.find("\nHost log:\n")
    rules, columns = " ".join(rule for _, rule in RULE.findall(text[:end])), ASKED_COLUMNS.search(text, end)
    hours = re.search(r"The time is put (\w+) hours ahead", rules)
    codes = re.findall(r"\b([A-Z]|\d) for (\w+)", rules)
    exceptions = {
        kept: re.search(rf"In lines of the units ([a-z ]+) the {kept} (?:stays|is left out)", rules)
        for kept in ("time", "level", "number")
    }
    stated = [
        hours or "without seconds and colons" in rules,
        len(codes) == 4,
        "doubled" in rules or "four digits" in rules,
    ]
    if not (columns and all(stated) and sum(map(bool, exceptions.values())) == 2):
        raise ReadError("the prompt does not state three rules and two exceptions")
    spared = {column: match[1].split(" and ") for column, match in exceptions.items() if match}
    return Form(
        columns.groups(),
        HOURS[hours[1]] if hours else None,
        {level: code for code, level in codes},
        "doubled" in rules,
        spared,
        left_out="none",
    )


class AskedLog(NamedTuple):
    """What a prompt with a log asks: a host, the lines of the log and what each says, and the new form."""

    host: str
    lines: Lines
    logged: list[Logged]
    form: Form

    @property
    def rows(self) -> list[str]:
        """The rows that are asked for."""
        found = [self.form.row(one) for one in self.logged if one.host == self.host]
        if not found:
            raise ReadError(f"the log has no line of host {self.host}")
        return found


@PROMPT.cached
def asked_of_log(text: str) -> AskedLog:
    """Return what a prompt asks."""
    host, (lines, logged) = host_asked(text), read_log(text)
    return AskedLog(host, lines, logged, form_of(text))


def table_of_log(text: str) -> str:
    """Return the table that is asked for."""
    asked = asked_of_log(text)
    return "\n".join(["\t".join(asked.form.columns), *asked.rows])


def log_faults(row: PublishedRow, asked: AskedLog, decoys: float, twins: int) -> Iterator[str]:
    """Yield what is wrong with a row of a log that promises decoys for a share of the lines asked for."""
    host, lines, logged, form = asked
    if not row.text.removesuffix("\nAnswer:").endswith(row.question):
        yield "the prompt does not end in the question"
    if [one.time for one in logged] != sorted(one.time for one in logged):
        yield "the log is not in order of time"
    of_host = [at for at, one in enumerate(logged) if one.host == host]
    alike = [at for at, one in enumerate(logged) if _differ(one.host, host) == 1]
    quoting = [at for at, one in enumerate(logged) if one.quoted == host and one.host != host]
    yield from mark_faults(row, lines, of_host, sorted(alike + quoting))
    if len(of_host) != row.stratum.complexity:
        yield f"{len(of_host)} lines are asked for, expected {row.stratum.complexity}"
    for what, places in (("of hosts with like names", alike), ("that quote the host", quoting)):
        if len(places) != round(decoys * len(of_host)):
            yield f"{len(places)} lines {what}, expected {round(decoys * len(of_host))}"
    if len({logged[at].host for at in alike}) > twins:
        yield f"more than {twins} hosts have like names"
    if any(logged[at].quoted for at in (*of_host, *alike)):
        yield "a line of the host, or of one with a like name, quotes another"
    if len({*form.codes.values()}) < len(form.codes):
        yield "two levels have the same code"


def _differ(left: str, right: str) -> int:
    return sum(mine != yours for mine, yours in zip(left, right, strict=True)) if len(left) == len(right) else len(left)
