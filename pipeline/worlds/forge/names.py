"""What packages are about, and names: of packages, modules, functions, values and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from zlib import crc32

from pipeline.caches import cache
from pipeline.worlds.wording import sections
from pipeline.worlds.words import pool_digest

WORLD = "forge@1"
SHARE = 8
"""One in this many names, and behaviours, is reserved for rows: no file of the pool has it."""
FITS = 88
"""The most characters of a line, as Python formatters leave it."""


@dataclass(frozen=True, slots=True)
class Domain:
    """What a package is about: stems of its name, its modules, things as (one, many), amounts, labels and verbs."""

    stems: Sequence[str]
    modules: Sequence[str]
    things: Sequence[tuple[str, str]]
    amounts: Sequence[str]
    labels: Sequence[str]
    verbs: Sequence[str]


def source_digest() -> str:
    """Return the digest of the words that the world is made from."""
    return pool_digest("forge/words")


@cache
def words() -> Mapping[str, Sequence[str]]:
    """Return the lists of words by name."""
    return sections("forge/words")


@cache
def domains() -> Sequence[Domain]:
    """Return the domains that packages may be about."""
    return [*trades(), *shared()]


@cache
def trades() -> Sequence[Domain]:
    """Return the domains of packages that may use packages of others."""
    return [_domain(line) for line in words()["trade"]]


@cache
def shared() -> Sequence[Domain]:
    """Return the domains of packages that those of any other may use: rates, rounding, units and the like."""
    return [_domain(line) for line in words()["shared"]]


def _domain(line: str) -> Domain:
    stems, modules, things, amounts, labels, verbs = (part.split() for part in line.split(";"))
    pairs = [(one, many) for one, _, many in (thing.partition("/") for thing in things)]
    return Domain(stems, modules, pairs, amounts, labels, verbs)


def is_of_row(name: str) -> bool:
    """Return whether a name or behaviour is reserved for rows."""
    return crc32(name.encode()) % SHARE == 0


class Namer:
    """Draws names for a package: those reserved for rows, or those of the pool."""

    def __init__(self, rng: Random, domain: Domain, *, of_row: bool = False) -> None:
        self.rng, self.domain, self.of_row = rng, domain, of_row
        self.taken: set[str] = set()
        """Names of functions and docstrings of modules that were drawn: none occurs twice in a package."""
        self.drawn: list[str] = []
        """Those that this namer drew, if several packages of a row share `taken`."""

    def function(self, label: str = "", verbs: Sequence[str] = ()) -> str:
        """Draw the name of a function; `label` is the thing that it names and `verbs` what it does, else any."""
        rng, domain, lists = self.rng, self.domain, words()
        while True:
            thing = label or rng.choice(rng.choice(domain.things))
            form = rng.randrange(3 if verbs else 5)
            if form < 3:
                parts = [rng.choice(verbs or domain.verbs), thing]
                if form:
                    parts.insert(form, rng.choice(lists["adjective" if form == 1 else "qualifier"]))
            elif form == 3:
                parts = [rng.choice(lists["adjective"]), thing, rng.choice(domain.amounts)]
            else:
                parts = [thing, rng.choice(domain.amounts), rng.choice(lists["qualifier"])]
            name = "_".join(parts)
            heads = [part[:4] for part in name.split("_")]
            if name not in self.taken and is_of_row(name) == self.of_row and len({*heads}) == len(heads):
                self.taken.add(name)
                self.drawn.append(name)
                return name

    @property
    def values(self) -> frozenset[str]:
        """Single words that may name values in functions."""
        return frozenset([*self.domain.labels, *(f"{one}s" for one in self.domain.labels), *chain(*self.domain.things)])

    def thing(self) -> tuple[str, str]:
        """Draw a thing, in singular and plural."""
        return self.rng.choice(self.domain.things)

    def amount(self) -> str:
        """Draw the name of a number."""
        if self.rng.random() < 0.4:
            return self.rng.choice(self.domain.things)[1]
        amount = self.rng.choice(self.domain.amounts)
        return f"{self.rng.choice([one for one in words()['adjective'] if one != amount])}_{amount}"

    def constant(self, amount: str = "", *, of_row: bool | None = None) -> str:
        """Draw the name of a constant, for an amount or any.

        For one that commits change, `of_row` is whether it is reserved for rows.
        """
        rng = self.rng
        while True:
            ahead = rng.choice((*self.domain.verbs, *words()["adjective"]))
            parts = [ahead, rng.choice(self.domain.things)[0], amount or rng.choice(self.domain.amounts)]
            name = "_".join(parts).upper()
            if len({part[:4] for part in parts}) == len(parts) and of_row in (None, is_of_row(name)):
                return name


def short_names(package: str, function: str) -> list[str]:
    """Return names under which a function of another module may be imported, none of which a value may have.

    >>> short_names("mintlab", "fresh_dilution_factor_at_start")
    ['fresh_dilution_factor', 'dilution_factor', 'lab_factor']
    """
    name = next((function.removesuffix(f"_{one}") for one in words()["qualifier"] if function.endswith(one)), function)
    parts, ahead = name.split("_"), {*words()["adjective"], *words()["kept"], *words()["mapped"], "total"}
    stem = package_words(package)[1]
    rest = ["_".join(parts[1:])] if parts[0] in ahead else [f"{parts[0]}_{parts[-1]}", f"{stem}_{parts[0]}"]
    able = [name, *rest, f"{stem}_{parts[-1]}"]
    return [one for one in dict.fromkeys(able) if one != function and "_" in one]


def package_words(package: str) -> list[str]:
    """Return the two words of a package's name.

    >>> package_words("skykerbside")
    ['sky', 'kerbside']
    """
    stems = {stem for domain in domains() for stem in domain.stems if package.endswith(stem)}
    stem = next(stem for stem in sorted(stems) if package.removesuffix(stem) in words()["brand"])
    return [package.removesuffix(stem), stem]


def package_name(rng: Random, domain: Domain, *, of_row: bool) -> str:
    """Draw the name of a package, which is one word."""
    while True:
        name = rng.choice(words()["brand"]) + rng.choice(domain.stems)
        if is_of_row(name) == of_row:
            return name
