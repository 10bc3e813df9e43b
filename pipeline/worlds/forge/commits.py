"""Commits as a log shows them: who, why, and a hunk; some set a constant, some revert others, some do neither."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from pipeline.caches import lru_cache
from pipeline.streams import Permutation, Streams
from pipeline.typed import TIERS
from pipeline.worlds.forge.names import WORLD, Domain, Namer, domains, package_name, words

TOKENS_PER_UNIT = 60
"""Tokens of the tier per unit of the pool of commits: about twice what a prompt can hold."""
PER_UNIT = 4
"""How many codes a unit of the pool may use: those of rows begin after them."""
CODES = 16**10
VALUES = range(2, 90)
BODIES = range(34, 90)
"""Lines on which bodies of functions begin: below the constants of a file."""
SLOT = re.compile(r"\b(?:MODULE|NAME|OLD|NEW|MANY|AMOUNT)\b")
"""What is filled in subjects."""


class Codes:
    """Distinct codes of commits, each with a digit, in a fixed order: a pool takes the first ones."""

    def __init__(self, order: Permutation, first: int) -> None:
        self._order, self._next = order, first

    def new(self) -> str:
        """Return the next code."""
        while True:
            self._next += 1
            code = f"{self._order[self._next - 1]:010x}"
            if not code.isalpha():
                return code


class Setting(NamedTuple):
    """A constant in a file, with the lines around it, which never change."""

    path: str
    name: str
    line: int
    before: str
    after: str
    namer: Namer


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its code and subject, the values of a constant before and after, and its text."""

    code: str
    subject: str
    old: int
    new: int
    text: str


def setting(rng: Random, package: str, namer: Namer, name: str, module: str = "") -> Setting:
    """Draw the place of a constant."""
    names = dict.fromkeys(namer.constant(of_row=False) for _ in range(9))
    before, after = (f"{one} = {rng.choice(VALUES)}" for one in [one for one in names if one != name][:2])
    path = f"{package}/{module or rng.choice(namer.domain.modules)}.py"
    return Setting(path, name, rng.randrange(3, 30), before, after, namer)


def written(rng: Random, code: str, path: str, message: Sequence[str], line: int, hunk: Sequence[str]) -> str:
    """Return a commit as the log shows it."""
    first, last = rng.choice(words()["first_name"]), rng.choice(words()["last_name"])
    counts = (sum(row[0] != mark for row in hunk) for mark in "+-")
    old, new = (f"{line},{count}" if count > 1 else f"{line}" for count in counts)
    return "\n".join(
        [
            f"commit {code}",
            f"Author: {first} {last}",
            "",
            *(f"    {row}" if row else "" for row in message),
            "",
            f"--- a/{path}",
            f"+++ b/{path}",
            f"@@ -{old} +{new} @@",
            *hunk,
            "",
        ]
    )


def _hunk(place: Setting, old: int, new: int) -> Sequence[str]:
    return [f" {place.before}", f"-{place.name} = {old}", f"+{place.name} = {new}", f" {place.after}"]


def set_to(rng: Random, codes: Codes, place: Setting, old: int, new: int) -> Commit:
    """Write a commit that sets a constant."""
    subject = _filled(rng, place, rng.choice(words()["subject"]), {"OLD": str(old), "NEW": str(new)})
    code = codes.new()
    return Commit(
        code, subject, old, new, written(rng, code, place.path, [subject], place.line, _hunk(place, old, new))
    )


def taken_back(rng: Random, codes: Codes, place: Setting, commit: Commit) -> Commit:
    """Write a commit that reverts another, or reapplies what a revert took back."""
    if commit.subject.startswith('Revert "'):
        subject = f"Reapply {commit.subject.removeprefix('Revert ')}"
    else:
        subject = f'Revert "{commit.subject}"'
    code, old, new = codes.new(), commit.new, commit.old
    message = [subject, "", f"This reverts commit {commit.code}."]
    return Commit(code, subject, old, new, written(rng, code, place.path, message, place.line, _hunk(place, old, new)))


def named_only(rng: Random, codes: Codes, place: Setting, thing: tuple[str, str], line: int) -> Commit:
    """Write a commit that changes a line with a constant, but not the constant."""
    (one, many), name, shift = thing, place.name, rng.randrange(1, 9)
    mark, new_mark = rng.choice(((">", ">="), ("<", "<="), (">=", ">"), ("<=", "<")))
    hunks = {
        "check": [
            f"     for {one} in {many}:",
            f"-        if {one} {mark} {name}:",
            f"+        if {one} {new_mark} {name}:",
            "             continue",
        ],
        "less": [
            f"     {many} = sorted({many})",
            f"-    lowest = {many}[0] + {name}",
            f"+    lowest = {many}[0] + {name} - {shift}",
            f"     return max(lowest, {shift})",
        ],
        "limit": [
            f"     # at most {name}",
            f"-    {one} = max({one}, {name})",
            f"+    {one} = min({one}, {name})",
            f"     return {one} + {shift}",
        ],
    }
    kind = rng.choice([*hunks])
    return _plain(rng, codes, place, many, kind, line, hunks[kind])


def _plain(rng: Random, codes: Codes, place: Setting, many: str, kind: str, line: int, hunk: Sequence[str]) -> Commit:
    """Write a commit that sets no constant; its subject says what kind of change the hunk is, and to what."""
    code, subject = codes.new(), _filled(rng, place, rng.choice(words()[f"subject_{kind}"]), {"MANY": many})
    return Commit(code, subject, 0, 0, written(rng, code, place.path, [subject], line, hunk))


def changed_code(rng: Random, codes: Codes, place: Setting) -> Commit:
    """Write a commit that changes code without a constant that any commit sets."""
    (one, many), amount, namer = place.namer.thing(), rng.choice(place.namer.domain.amounts), place.namer
    (number, other), times = rng.sample(range(2, 60), 2), rng.randrange(2, 9)
    hunks = {
        "fewer": [
            f" def {namer.function(many, ('total', 'sum'))}({many}: list[int]) -> int:",
            f"-    {amount} = sum({many})",
            f"+    {amount} = sum({many}[{times}:])",
            f"     return {amount} + {number}",
        ],
        "order": [
            f"     kept = [{one} for {one} in {many} if {one} > {number}]",
            f"-    first = kept[:{times}]",
            f"+    first = sorted(kept)[:{times}]",
            "     return sum(first)",
        ],
        "bound": [
            f"     {amount} = len({many}) * {times}",
            f"-    if {amount} > {number}:",
            f"+    if {amount} > {other}:",
            f"         return {amount}",
        ],
        "new": [
            f"     return {amount} % {number}",
            "+",
            "+",
            f"+def {namer.function(many, ('highest', 'largest'))}({many}: list[int]) -> int:",
            f"+    return max({many}, default={other})",
        ],
        "comment": [
            f"     {many} = sorted({many})",
            f"-    # {many} count from {times} on",
            f"+    # {many} count from {times} on, whatever their {amount}",
            f"     return sum({many}[{times}:])",
        ],
    }
    kind = rng.choice([*hunks])
    return _plain(rng, codes, place, many, kind, rng.choice(BODIES), hunks[kind])


def _filled(rng: Random, place: Setting, wording: str, values: Mapping[str, str]) -> str:
    """Fill a subject; slots within a name are left alone, such as the OLD of HOLD."""
    by_slot = {
        "MODULE": place.path.split("/")[1].removesuffix(".py"),
        "NAME": place.name,
        "MANY": rng.choice(place.namer.domain.things)[1],
        "AMOUNT": place.name.split("_")[-1].lower(),
        **values,
    }
    return SLOT.sub(lambda match: by_slot[match[0]], wording)


@dataclass(frozen=True, eq=False)
class History:
    """The log of a tier: how many units its pool has, and the order of codes."""

    units: int
    order: Permutation

    def codes(self, first: int) -> Codes:
        """Return codes from a place in their order."""
        return Codes(self.order, first)


def history(streams: Streams, tier: str) -> History:
    """Return the log of a tier; `streams` are any below the same seed."""
    return _history(streams.world(WORLD, "commits", tier), TIERS[tier] // TOKENS_PER_UNIT)


@lru_cache(maxsize=2)
def _history(world: Streams, units: int) -> History:
    return History(units, Permutation(world.of("codes"), CODES))


def log_texts(streams: Streams, tier: str) -> Iterator[str]:
    """Yield the units of a tier's log: a commit, or one with its revert, in a file that no other unit changes."""
    world, rng = history(streams, tier), streams.world("forge commits", tier).of("texts")
    known = set[str]()
    for unit in range(world.units):
        codes, domain = world.codes(unit * PER_UNIT), rng.choice(domains())
        place = _place(rng, domain)
        while place.path in known:
            place = _place(rng, domain)
        known.add(place.path)
        yield from ("".join(commit.text for commit in _unit(rng, codes, place)),)


def _place(rng: Random, domain: Domain) -> Setting:
    namer = Namer(rng, domain)
    return setting(rng, package_name(rng, domain, of_row=False), namer, namer.constant(of_row=False))


def _unit(rng: Random, codes: Codes, place: Setting) -> Iterator[Commit]:
    kind = rng.random()
    if kind < 0.45:
        old, new = rng.sample(VALUES, 2)
        yield (first := set_to(rng, codes, place, old, new))
        if kind < 0.15:
            yield taken_back(rng, codes, place, first)
    elif kind < 0.65:
        yield named_only(rng, codes, place, place.namer.thing(), rng.choice(BODIES))
    else:
        yield changed_code(rng, codes, place)
