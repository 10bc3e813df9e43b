"""What passages of each form say: their facts, the wordings of these, the questions about them, and colour.

The forms are data, in ``pools/gazetteer/*.txt``: writers fill them in, readers take passages apart with them. A file
has a head of ``name: value`` lines, a block for each relation, and lines of colour. A block begins with its relation
and the type of its values, ``[teacher] person 12-45``; the first letter of each of its lines tells what it is:

- ``-`` a sentence that states the fact, with ``{value}`` in it;
- ``?`` a question for the value, about ``{name}``;
- ``=`` the thing that is the value, as a phrase: ``the designer of {name}``;
- ``~`` what is said of a thing that has the value: ``was designed by {value}``;
- ``<`` and ``>`` which of ``{a}`` and ``{b}`` has the smaller or the larger value;
- ``*`` a question for all things that have the value.

A sentence names its subject by ``{Name}`` (in full, in the first sentence of a passage alone), ``{It}``, ``{it}``,
``{him}``, ``{Its}`` or ``{its}``. Any other word in braces is a slot: filled with a word of that list, or with a name
of that kind; ``{other}`` is another thing of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pipeline.worlds.words import pool, pool_digest, pool_text, pools_in

FOLDER = "gazetteer"
WORDS = f"{FOLDER}/words"
NAMES = (f"{FOLDER}/towns", f"{FOLDER}/rivers")
SLOT = re.compile(r"\{(\w+)\}")
SUBJECT = frozenset({"Name", "It", "it", "him", "Its", "its"})
"""Slots that name the subject."""
BLOCK = re.compile(r"\[(\w+)\] (\w+)(?:@(\w+))?(?: (\+?)(-?\d+)-(-?\d+))?")
MARKS = "-?=~<>*"


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A relation of a kind of thing: the type of its values, and the lines on it by mark.

    Numbers and years lie in `span`, which for years that are `later` counts from the thing's first year. The first year
    of a thing that is a value lies so many years before it, or after it if they are negative. Where `of` is given, the
    value is that of this kind of the thing in relation `of`: the river of the town.
    """

    name: str
    type: str
    of: str
    span: tuple[int, int] | None
    later: bool
    lines: Mapping[str, tuple[str, ...]]

    @property
    def wordings(self) -> tuple[str, ...]:
        """The sentences that state it."""
        return self.lines["-"]

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers, years among them."""
        return self.type in ("year", "number")


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One kind of passage about one kind of thing; `weight` is its share of all passages, its first relation leads."""

    name: str
    kind: str
    noun: str
    subject: str
    weight: int
    relations: tuple[Relation, ...]
    colour: tuple[str, ...]

    @property
    def lead(self) -> Relation:
        """The relation that the first sentence states."""
        return self.relations[0]

    def relation(self, name: str) -> Relation:
        """Return a relation by its name.

        Raises:
            KeyError: if the form has none of this name.
        """
        return next_of(self.relations, name)


def next_of(relations: Sequence[Relation], name: str) -> Relation:
    """Return the relation of a name.

    Raises:
        KeyError: if there is none.
    """
    for one in relations:
        if one.name == name:
            return one
    raise KeyError(name)


@cache
def forms() -> Mapping[str, Form]:
    """Return every form by its name, in the order of the files."""
    found = [name for name in pools_in(FOLDER) if name not in (WORDS, *NAMES)]
    return {form.name: form for form in (parse(name.split("/")[1], pool_text(name)) for name in found)}


@cache
def kinds() -> Mapping[str, tuple[Form, ...]]:
    """Return the forms of passages about each kind of thing; no two of one kind share a relation."""
    found: dict[str, tuple[Form, ...]] = {}
    for form in forms().values():
        found[form.kind] = (*found.get(form.kind, ()), form)
    return found


@cache
def words_of() -> Mapping[str, tuple[str, ...]]:
    """Return the lists of words that values and slots are drawn from."""
    lines = [line for line in pool(WORDS) if line]
    return {name[1:-1]: tuple(said.split(", ")) for name, said in zip(lines[::2], lines[1::2], strict=True)}


@cache
def source_digest() -> str:
    """Return the digest of all files that the world is made of."""
    return pool_digest("first", "last", *pools_in(FOLDER))


def parse(name: str, text: str) -> Form:
    """Parse the file of a form.

    Raises:
        ValueError: naming the file and the line that cannot be read.
    """
    head, relations, colour = dict[str, str](), list[Relation](), list[str]()
    for block in text.strip().split("\n\n"):
        first, *lines = block.split("\n")
        if found := BLOCK.fullmatch(first):
            span = (int(found[5]), int(found[6])) if found[5] else None
            lined = dict(_sorted(name, lines))
            relations.append(Relation(found[1], found[2], found[3] or "", span, found[4] == "+", lined))
        elif first == "colour:":
            colour = [line.removeprefix("- ") for line in lines]
        else:
            head |= dict(line.split(": ") for line in block.split("\n"))
    leads = [one for one in relations if one.name == head["lead"]]
    rest = [one for one in relations if one.name != head["lead"]]
    if len(leads) != 1 or not colour:
        raise ValueError(f"{name}.txt has no colour, or no lead {head['lead']!r}")
    return Form(name, head["kind"], head["noun"], head["subject"], int(head["weight"]), (*leads, *rest), tuple(colour))


def _sorted(name: str, lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the lines of a block by their marks."""
    if wrong := [line for line in lines if line[0] not in MARKS or line[1] != " "]:
        raise ValueError(f"{name}.txt: {wrong[0]!r} begins with none of {MARKS}")
    for mark in MARKS:
        yield mark, tuple(line[2:] for line in lines if line[0] == mark)


def slots(sentence: str) -> list[str]:
    """Return the slots of a sentence that do not name its subject, in order.

    >>> slots("{It} was sold to {person} for {count} pounds.")
    ['person', 'count']
    """
    return [slot for slot in SLOT.findall(sentence) if slot not in SUBJECT]
