"""code.call: what a call returns, through functions in several files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product
from random import Random
from types import MappingProxyType

from pipeline.tasks.base import Key, PublishedRow, Role
from pipeline.tasks.code import text
from pipeline.tasks.code.base import Drawn, FilesTask, Packages, Written
from pipeline.tasks.code.interpreter import Machine
from pipeline.tasks.code.reading import Repository
from pipeline.tasks.code.solve import asked_call, same_named
from pipeline.tasks.lines import Dealer
from pipeline.worlds.forge import (
    Called,
    IntFunction,
    Module,
    among_others,
    finish,
    import_one,
    initial_of,
    scalar_function,
    shared,
    started,
    trades,
)

FUNCTIONS_PER_NAME = 3
"""Functions of each name, each in a package of its own."""
RE_EXPORTED_SHARE = 0.35
"""The share of packages that re-export the function."""
ARGUMENTS = range(3, 60)
SMALLEST_VALUE, LARGEST_VALUE = 2, 600
COMBINATIONS_TRIED = 243
"""The most combinations of functions with the right names to try."""


@dataclass(eq=False)
class Link:
    """A function on the path of a call, or another of the same name.

    `calls` contains at most one function, which can be exchanged for another.
    """

    module: Module
    name: str
    re_exported: bool
    value: IntFunction = abs
    calls: list[Link] = field(default_factory=list)


class Call(FilesTask):
    """A value computed by functions in several files. `complexity` is the number of functions."""

    __slots__ = ()

    subtask = "call"
    title = "what a call returns, through functions in different files and the imports between them"
    scorer = "last_integer"
    complexities = (1, 4, 8)
    max_new_tokens = 512
    reply = text.NUMBER
    fits = MappingProxyType({8: 8192})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw functions that call one another, and two others with the name of each."""
        rng = dealer.rng("functions")
        while True:
            levels, number = chain(rng, dealer.stratum.complexity), rng.choice(ARGUMENTS)
            own = [*_path(levels)]
            if is_sound(levels, own, number):
                break
        value = own[0].value(number)
        files = [one for level in levels for link in level for one in written(link, own)]
        shown = {
            "asked": "value",
            "path": [f"{link.module.dotted}.{link.name}" for link in own],
            "dealt": dealer.dealt,
            "guesses": {"uniform": 0.0, "first_of_the_name": by_name_alone(rng, levels, own, number)},
        }
        question = text.VALUE.format(module=own[0].module.dotted, function=own[0].name, number=number)
        return Drawn(question, Key.accepting(str(value)), files, shown)

    def solved(self, repository: Repository) -> tuple[str, ...]:
        """Interpret the call."""
        name, number = asked_call(repository.question)
        return (str(Machine(repository).call(name, number)),)

    def faults(self, row: PublishedRow) -> Iterator[str]:
        """Prove also that each function on the path matters: with another of its name the answer changes."""
        yield from super().faults(row)
        yield from same_named(row, row.metadata["latent"]["path"], self.solved)


def chain(rng: Random, size: int) -> list[list[Link]]:
    """Write functions that call one another, the last level first; the first of each level is on the path.

    All but the first function are of packages that others share.
    """
    packages, levels = Packages(rng), list[list[Link]]()
    for below_it in reversed(range(size)):
        _, namer = packages.new(rng.choice(shared() if below_it else trades()))
        name = namer.function()
        level = list[Link]()
        for number in range(FUNCTIONS_PER_NAME):
            module = started(*packages.new(namer.domain))
            below = levels[0][0 if not number else rng.randrange(FUNCTIONS_PER_NAME)] if levels else None
            link = Link(module, name, rng.random() < RE_EXPORTED_SHARE)
            among_others(module, partial(_write, link, below), most=1)
            finish(module)
            level.append(link)
        levels.insert(0, level)
    return levels


def _write(link: Link, below: Link | None) -> None:
    called = None
    if below:
        link.calls.append(below)
        source = "__init__" if below.re_exported else below.module.name
        spelled = import_one(link.module, source, below.name, below.module.package)
        called = Called(spelled, lambda one: link.calls[0].value(one))
    link.value = scalar_function(link.module, link.name, called)


def _path(levels: Sequence[Sequence[Link]]) -> Iterator[Link]:
    link = levels[0][0]
    yield link
    while link.calls:
        link = link.calls[0]
        yield link


def is_sound(levels: Sequence[Sequence[Link]], own: Sequence[Link], number: int) -> bool:
    """Return whether numbers stay small, and no other function with a name on the path leads to the same value."""
    at = number
    for link in reversed(own):
        if not SMALLEST_VALUE <= abs(link.value(at)) <= LARGEST_VALUE:
            return False
    right = own[0].value(number)
    if any(link.value(number) == right for link in levels[0][1:]):
        return False
    for before, level in zip(own, levels[1:], strict=False):
        held = before.calls[0]
        for other in level:
            if other is not held:
                before.calls[0] = other
                same = own[0].value(number) == right
                before.calls[0] = held
                if same:
                    return False
    return True


def by_name_alone(rng: Random, levels: Sequence[Sequence[Link]], own: Sequence[Link], number: int) -> float:
    """Return how often the value is right if every function is drawn at random from those with its name."""
    right, hits = own[0].value(number), 0
    every = (
        [*product(range(FUNCTIONS_PER_NAME), repeat=len(levels))]
        if FUNCTIONS_PER_NAME ** len(levels) <= COMBINATIONS_TRIED
        else None
    )
    tried = every or [tuple(rng.choices(range(FUNCTIONS_PER_NAME), k=len(levels))) for _ in range(COMBINATIONS_TRIED)]
    for choice in tried:
        links = [level[at] for level, at in zip(levels, choice, strict=True)]
        held = [(link, link.calls[0]) for link in links if link.calls]
        for link, below in pairwise(links):
            link.calls[0] = below
        hits += links[0].value(number) == right
        for link, below in held:
            link.calls[0] = below
    return hits / len(tried)


def written(link: Link, own: Sequence[Link]) -> Iterator[Written]:
    """Yield the file of a function, and the package's own file if it re-exports the function."""
    role: Role = "relevant" if link in own else "decoy"
    yield Written(link.module.text, role)
    if link.re_exported:
        needed = role == "relevant" and link is not own[0]
        yield Written(initial_of(link.module, [link.name]), "relevant" if needed else "decoy")
