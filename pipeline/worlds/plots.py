"""Plots of everyday life: what stories say, as plain text in ``pools/plots``, one file for each kind of detail.

A plot has two openings, two closings, and six slots: things or people whose detail may be stated or left out. A slot is
one line, its parts divided by bars: the noun, and two clauses that mention it without the detail. A line ``pair`` is a
sentence about two slots, ``{x}`` and ``{y}``, that states the detail ``{v}`` of one of them. Square brackets hold what
tells of which: ``[and|which]`` is ``and`` where the detail is of ``{x}``, ``which`` where it is of ``{y}``. The words
in brackets are as many in both, and all others the same: only who understands the sentence can tell whose detail it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pipeline.worlds.words import pool, pool_digest

KINDS = ("colour", "animal", "object", "place", "time", "number", "person")
"""The kinds of details that are asked, each with a file of plots."""
POOLS = ("first", "last", "cities")


@dataclass(frozen=True, slots=True)
class Slot:
    """A thing or a person of a plot, with clauses that mention it and do not state its detail."""

    noun: str
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot whose slots all have details of one kind, drawn from the `values` of that name."""

    title: str
    kind: str
    values: str
    ask: str
    openings: tuple[str, ...]
    closings: tuple[str, ...]
    slots: tuple[Slot, ...]
    pairs: tuple[str, ...]

    def slot(self, noun: str) -> Slot:
        """Return the slot of a noun."""
        return next(slot for slot in self.slots if slot.noun == noun)


@cache
def plots() -> tuple[Plot, ...]:
    """Return all plots, so ordered that each run of `len(KINDS)` holds every kind once."""
    by_kind = [_plots_of(kind) for kind in KINDS]
    return tuple(plot for row in zip(*by_kind, strict=True) for plot in row)


@cache
def plot_named(title: str) -> Plot:
    """Return the plot of a title."""
    return next(plot for plot in plots() if plot.title == title)


def _plots_of(kind: str) -> list[Plot]:
    return [_plot(kind, block) for block in _text(kind).strip().split("\n\n")]


def _plot(kind: str, block: str) -> Plot:
    said: dict[str, list[str]] = {}
    for line in block.splitlines():
        name, _, rest = line.partition(": ")
        said.setdefault(name, []).append(rest)
    (title,), (values,), (ask,) = said["plot"], said["values"], said["ask"]
    openings, closings, pairs = (tuple(said[name]) for name in ("open", "close", "pair"))
    return Plot(title, kind, values, ask, openings, closings, tuple(map(_slot, said["slot"])), pairs)


def _slot(line: str) -> Slot:
    noun, *clauses = line.split(" | ")
    return Slot(noun, tuple(clauses))


@cache
def values_of(name: str) -> tuple[str, ...]:
    """Return the values of a name: a line of ``values.txt``, a pool of words, clock times or numbers.

    No value is part of another, so that each is stated or not, whatever else is.
    """
    if name == "clock":
        return tuple(f"{hour}:{minute:02d}" for hour in range(10, 22) for minute in range(0, 60, 5))
    if name == "number":
        return tuple(str(number) for number in range(11, 99))
    if name in ("first", "city", "friend", "town"):
        return pool("cities" if name in ("city", "town") else "first")
    return _listed()[name]


@cache
def _listed() -> dict[str, tuple[str, ...]]:
    lines = (line.partition(": ") for line in _text("values").splitlines() if not line.startswith("#"))
    return {name: tuple(rest.split(", ")) for name, _, rest in lines}


@cache
def source_digest() -> str:
    """Return the digest of all texts and pools that stories are drawn from."""
    texts = "\0".join(_text(name) for name in (*KINDS, "values"))
    return hashlib.sha256((texts + pool_digest(*POOLS)).encode()).hexdigest()


@cache
def _text(name: str) -> str:
    return (resources.files("pipeline.worlds") / "pools" / "plots" / f"{name}.txt").read_text(encoding="ascii")
