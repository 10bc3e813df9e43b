"""Reads annals from a prompt's text alone: entries by their dates, then sentences.

`pipeline.worlds.wording` compiles the patterns of sentences from the writer's own wordings. What follows from the
events is worked out by separate code in this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.tasks.solving import LINES, PROMPT, ReadError, is_letter
from pipeline.worlds.chronicle.entries import ASKED, lines, words_of
from pipeline.worlds.wording import core, parse, pattern

BODY, END = "\nAnnals:\n", "\nThis is the end of the annals."
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DATE = rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})"
LINE = re.compile(rf"{DATE}\. (.+)")
ASKS = re.compile(r"\nQuestion: ([^\n]+)((?:\n\([A-D]\) [^\n]+)*)\nAnswer:\Z")
OPTION = re.compile(r"\n\(([A-D])\) ([^\n]+)")
OWNER = re.compile(
    rf"(?:Who owned|To whom did|Who was the owner of|Whose property was) (the \w+ \w+)(?: belong)? "
    rf"(?:on {DATE}|at the end of (\d{{4}}))\?"
)
SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z])")
NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
CACHED_SENTENCES = 1 << 14
"""Sentences whose meaning is cached, as those of a shard's rows are read again in every profile."""


class Line(NamedTuple):
    """An entry as read: its span, its day, and its text after the date."""

    start: int
    end: int
    day: int
    text: str


@dataclass(frozen=True, slots=True)
class Event:
    """What a sentence states (its kind and the values of its slots), and the entry that it is in."""

    line: Line
    kind: str
    values: dict[str, str]


@PROMPT.cached
def read(text: str) -> Sequence[Line]:
    """Return every entry of a prompt."""
    start, end = text.find(BODY) + len(BODY), text.rfind(END) + 1
    if start < len(BODY) or end <= start:
        raise ReadError("the prompt has no annals")
    lines = text[start : end - 1].split("\n")
    edges = list(accumulate(map(len, lines), lambda edge, size: edge + size + 1, initial=start))
    return list(map(Line, edges, edges[1:], *zip(*_entries(lines), strict=True)))


@LINES.cached_map
def _entries(line: str) -> tuple[int, str]:
    """Return the day of an entry, and its text after the date."""
    found = LINE.fullmatch(line)
    if not found:
        raise ReadError(f"no entry: {line[:80]!r}")
    return day_of(found[1], found[2], found[3]), found[4]


@cache
def _month(year: str, month: str) -> int:
    return date(int(year), MONTHS.index(month) + 1, 1).toordinal() - 1


def day_of(day: str, month: str, year: str) -> int:
    """Return a day from its written form."""
    return _month(year, month) + int(day)


def parse_question(text: str) -> tuple[str, dict[str, str]]:
    """Return the question that a prompt ends in, and its options by their letters."""
    found = ASKS.search(text, max(0, text.rfind("\nQuestion: ")))
    if not found:
        raise ReadError("the prompt does not end in a question")
    return found[1], dict(OPTION.findall(found[2]))


def owner_asked(question: str) -> tuple[str, int]:
    """Return the property that a question is about, and the last day that counts."""
    found = OWNER.fullmatch(question)
    if not found:
        raise ReadError(f"no question about an owner: {question!r}")
    prop, day, month, year, end = found.groups()
    return prop, day_of(day, month, year) if day else day_of("31", "December", end)


def about(found: Sequence[Line], name: str) -> list[Line]:
    """Return the entries that contain a name."""
    rest = name[1:]
    return [one for one in found if rest in one.text and _names(one.text, name)]


def _names(text: str, name: str) -> bool:
    """Return whether a text contains a name, as given or capitalized, and not inside a longer word."""
    first, rest, at = {name[0], name[0].upper()}, name[1:], 0
    while (at := text.find(rest, at + 1)) > 0:
        end = at + len(rest)
        if (
            text[at - 1] in first
            and not is_letter(text[max(at - 2, 0) : at - 1])
            and not is_letter(text[end : end + 1])
        ):
            return True
    return False


def events(line: Line, name: str, kinds: Sequence[str]) -> Iterator[Event]:
    """Yield what an entry's sentences with a name state; each sentence must be of one of `kinds`."""
    for sentence in SENTENCE.split(line.text):
        if name[1:] in sentence and _names(sentence, name):
            statement = _parsed(sentence, tuple(kinds))
            if statement is None:
                raise ReadError(f"what is said of {name} cannot be read: {sentence!r}")
            yield Event(line, *statement)


@lru_cache(maxsize=CACHED_SENTENCES)
def _parsed(sentence: str, kinds: tuple[str, ...]) -> tuple[str, dict[str, str]] | None:
    """Return which of `kinds` a sentence is, and the values of its slots; None if it is none of them."""
    for kind, words, form in _patterns():
        if words in sentence and kind in kinds and (match := form.fullmatch(sentence)):
            return kind, {slot.lower(): value for slot, value in match.groupdict().items()}
    return None


@cache
def happening_kinds() -> tuple[str, ...]:
    """Return the kinds of happenings, which do not change the owner."""
    return tuple(lines("happenings"))


@cache
def deed_kinds() -> tuple[str, ...]:
    """Return the kinds of deeds: what people do for a property, or try to do, other than buying it."""
    return tuple(lines("deeds"))


@cache
def _patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    """Return the kind, the longest fixed part and the pattern of every wording."""
    wordings = [*lines("events").items(), *lines("happenings").items(), *lines("deeds").items()]
    return [
        (kind, core(parse(one)), _pattern(one)) for kind, some in wordings for one in some if not one.startswith(ASKED)
    ]


def _pattern(wording: str) -> re.Pattern[str]:
    """Return a sentence's pattern: alternatives become a group, and slots what may fill them."""
    return re.compile(pattern(parse(wording), lambda slot: f"(?P<{slot.name}>{_form(slot.name)})"))


def _form(slot: str) -> str:
    if slot in ("prop", "Prop"):
        return rf"[Tt]he \w+ (?:{'|'.join(words_of('kinds'))})"
    if slot in ("sum", "price", "goods", "Goods", "street", "street2", "num"):
        return r"[\w ]+?"
    if slot == "names":
        return ".+"
    return "son|daughter" if slot == "son" else NAME


@cache
def _happened() -> list[tuple[str, re.Pattern[str]]]:
    """Return the kind and the pattern of every question about a happening."""
    found = []
    for kind, some in lines("happenings").items():
        for one in (each.removeprefix(ASKED) for each in some if each.startswith(ASKED)):
            form = pattern(parse(f"In which year {one}?"), lambda _: r"(the \w+ \w+)")
            found.append((kind, re.compile(form)))
    return found


def happening_asked(question: str) -> tuple[str, str]:
    """Return the property and the kind of happening that a question is about."""
    for kind, asked in _happened():
        if found := asked.fullmatch(question):
            return found[1], kind
    raise ReadError(f"no question about a year: {question!r}")


SALES = ("sale", "unnamed")
"""Kinds of sentences about the sale of a property; the second names no buyer."""
OWNERSHIP_KINDS = (*SALES, "undo", "undo2", "redo")
"""Kinds of sentences that determine the owner of a property."""


@dataclass(slots=True)
class Sale:
    """A sale as read; `out` is the number of the event that set it aside, or 0 while it is valid."""

    event: Event
    out: int = 0


def last_valid_sale(statements: Sequence[Event]) -> Event | None:
    """Return the latest sale that is still valid after some events in order, or None."""
    left = valid_sales(statements)
    return left[-1] if left else None


def valid_sales(statements: Sequence[Event]) -> list[Event]:
    """Return all sales that are still valid after some events in order."""
    sales: list[Sale] = []
    since: list[Sale] = []
    for step, event in enumerate(statements, start=1):
        good = [one for one in sales if not one.out]
        if event.kind in SALES:
            sales.append(Sale(event))
            since = []
        elif event.kind in ("undo", "undo2"):
            count = 1 if event.kind == "undo" else 2
            if len(good) < count:
                raise ReadError("a sale is set aside, and none stands")
            for one in good[-count:]:
                one.out = step
            since = [*since, good[-1]] if count == 1 else []
        elif event.kind == "redo":
            if not since:
                raise ReadError("a sale is restored, and none was set aside since the last")
            since.pop().out = 0
    return [one.event for one in sales if not one.out]


def history(found: Sequence[Line], prop: str, kinds: Sequence[str] = ()) -> list[Event]:
    """Return the events of a property; its sentences must be of some kinds, by default all that are allowed."""
    kinds = kinds or (*OWNERSHIP_KINDS, *deed_kinds(), *happening_kinds())
    return [event for line in about(found, prop) for event in events(line, prop, kinds)]


@PROMPT.cached
def stated_in(text: str, prop: str) -> list[Event]:
    """Return all that a prompt states about a property."""
    return history(read(text), prop)


def owned(text: str, *, known: bool = True) -> str:
    """Return the owner of the property that a prompt asks about; "" for no owner, unless one must be `known`."""
    prop, day = owner_asked(parse_question(text)[0])
    sale = last_valid_sale([event for event in stated_in(text, prop) if event.line.day <= day])
    name = sale.values.get("buyer", "") if sale else ""
    if known and not name:
        raise ReadError(f"nobody owns {prop}")
    return name


def year_of(text: str) -> str:
    """Return the year that a prompt asks for."""
    prop, kind = happening_asked(parse_question(text)[0])
    found = [event.line for event in stated_in(text, prop) if event.kind == kind]
    if len(found) != 1:
        raise ReadError(f"{len(found)} times is told of {prop} what is asked")
    return str(date.fromordinal(found[0].day).year)


def lettered(text: str) -> tuple[str, str]:
    """Return the owner's letter among the options, and the owner."""
    name = owned(text)
    found = [letter for letter, option in parse_question(text)[1].items() if option == name]
    if len(found) != 1:
        raise ReadError(f"{name} is {len(found)} of the options")
    return found[0], name


RELATIVE_STEPS = {
    "father": ("father",), "mother": ("mother",), "husband": ("husband",), "wife": ("wife",),
    "father-in-law": ("spouse", "father"), "mother-in-law": ("spouse", "mother"),
    "paternal grandfather": ("father", "father"), "paternal grandmother": ("father", "mother"),
    "maternal grandfather": ("mother", "father"), "maternal grandmother": ("mother", "mother"),
}  # fmt: skip
STEP = re.compile(rf"the (?P<word>{'|'.join(RELATIVE_STEPS)}) of ")
CHILD = {"birth": "child", "bride": "wife", "groom": "husband", "burial": "person"}
"""For each kind of event, whose parents it names."""
PHRASE = re.compile(r"(?:Who was|What was the name of|Who, by these annals, was) (the .+)\?")


def steps_of(question: str) -> tuple[str, list[str]]:
    """Return the person that a question starts from, and its steps in order."""
    found = PHRASE.fullmatch(question)
    if not found:
        raise ReadError(f"no question about a relative: {question!r}")
    left, steps = found[1], list[str]()
    while match := STEP.match(left):
        steps = [*RELATIVE_STEPS[match["word"]], *steps]
        left = left[match.end() :]
    return left, steps


def statements_about(found: Sequence[Line], name: str) -> list[Event]:
    """Return all that is stated about a person."""
    kinds = (*lines("events"), *happening_kinds())
    return [event for line in about(found, name) for event in events(line, name, kinds)]


def follow(found: Sequence[Line], name: str, steps: Sequence[str]) -> tuple[str, list[Line]]:
    """Return the relative at the end of some steps, and the entry that states each step."""
    used = []
    for step in steps:
        ways = [
            (other, event.line)
            for event in statements_about(found, name)
            if (other := _reached(event, name, step)) is not None
        ]
        if len({other for other, _ in ways}) != 1:
            raise ReadError(f"the {step} of {name} is told in {len(ways)} ways")
        used.append(ways[0][1])
        if len(ways) > 1:
            raise ReadError(f"the {step} of {name} is told twice")
        name = ways[0][0]
    return name, used


def _reached(event: Event, name: str, step: str) -> str | None:
    """Return a person's relative according to an event, or None."""
    values = event.values
    if step in ("father", "mother"):
        return values[step] if values.get(CHILD.get(event.kind, "")) == name else None
    if event.kind not in ("bride", "groom", "wedding") or name not in (values["husband"], values["wife"]):
        return None
    other = "wife" if values["husband"] == name else "husband"
    return values[other] if step in ("spouse", other) else None


def relative(text: str) -> tuple[str, list[Line]]:
    """Return the answer to a prompt's question, and the entries that it needs."""
    return follow(read(text), *steps_of(parse_question(text)[0]))


Spans = list[tuple[int, int]]


def spans(some: Sequence[Line]) -> Spans:
    """Return the sorted spans of entries, each once."""
    return sorted({(one.start, one.end) for one in some})
