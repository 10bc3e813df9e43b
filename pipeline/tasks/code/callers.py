"""code.callers: all functions that call a given one, by whatever name it is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.tasks.base import CorpusKnob, Key, PublishedRow
from pipeline.tasks.code import solve, text
from pipeline.tasks.code.base import Drawn, FilesTask, Packages, Written
from pipeline.tasks.code.reading import Repository
from pipeline.tasks.lines import Dealer
from pipeline.worlds.forge import (
    NONE,
    Called,
    Module,
    among_others,
    any_function,
    commented,
    finish,
    import_one,
    initial_of,
    scalar_function,
    shared,
    started,
    trades,
    words,
)

FUNCTIONS_PER_NAME, NO_ROOT = 3, -1
"""Functions of one name, each in a package of its own."""
RE_EXPORTED_SHARE = 0.35
"""The share of packages that re-export the function."""
WITHIN = (1, 2)


@dataclass(frozen=True, eq=False)
class Target:
    """A function that others call, also through its package if `re_exported`; `root` is the target that it leads to."""

    module: Module
    name: str
    root: int
    re_exported: bool = False


@dataclass(frozen=True, eq=False)
class Caller(Target):
    """A function that calls another by the name `spelled`, imported from its package if `by_package`."""

    by_package: bool = False
    spelled: str = ""


class Callers(FilesTask):
    """The functions that call a given one. `complexity` is their number."""

    __slots__ = ()

    subtask = "callers"
    title = "all functions that call a given one, under whatever name they import it"
    scorer = "members"
    complexities = (1, 4, 16)
    max_new_tokens = 256
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({"within": WITHIN})
    reply = text.NAMES
    fits = MappingProxyType({4: 8192, 16: 16384})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw a function and its callers, as many callers of two others of its name, and files that only name it."""
        rng, size, within = dealer.rng("functions"), dealer.stratum.complexity, self.knob(dealer.stratum, "within")
        packages = Packages(rng)
        targets = same_named(packages)
        sibling, *_ = [Target(one.module, sibling_of(one.module), NO_ROOT) for one in targets]
        name, further = targets[0].name, size // 2 if within > 1 else 0
        callers = call_all(packages, targets * (size - further))
        callers += call_all(
            packages, [one for root in range(FUNCTIONS_PER_NAME) for one in of_root(rng, callers, root, further)]
        )
        callers += call_all(packages, [sibling] * (size // 2 + 1))
        mentions = [mention(packages, targets[0]) for _ in range(size // 2 + 1)]
        own = [one for one in callers if one.root == 0]
        needed = {id(one.module) for one in (targets[0], *own)}
        files = [
            Written(finished(module).text, "relevant" if id(module) in needed else "decoy")
            for module in {
                id(one): one for one in [*(some.module for some in (*targets, *callers)), *mentions]
            }.values()
        ]
        for target in targets:
            if target.re_exported:
                used = target is targets[0] and any(one.by_package for one in own)
                files.append(Written(initial_of(target.module, [name]), "relevant" if used else "decoy"))
        key = sorted(one.name for one in own)
        same = [one for one in callers if one.root != NO_ROOT]
        grep = [one for one in same if name in one.spelled]
        right = sum(one.root == 0 for one in grep)
        shown = {
            "asked": "callers",
            "name": name,
            "dealt": dealer.dealt,
            "guesses": {
                "uniform": 0.0,
                "grep": 2 * right / (len(key) + len(grep) + len(mentions)),
                "any_of_the_name": 2 * len(key) / (len(key) + len(same)),
            },
        }
        wording = text.REACHED if within > 1 else text.CALLED
        question = wording.format(module=targets[0].module.dotted, function=name)
        return Drawn(question, Key.accepting(", ".join(key)), files, shown)

    def solved(self, repository: Repository) -> tuple[str, ...]:
        """Return the callers, found among all calls; order does not matter."""
        return solve.callers_asked(repository)

    def faults(self, row: PublishedRow) -> Iterator[str]:
        """Prove also that no other file names the function."""
        yield from super().faults(row)
        yield from solve.named_elsewhere(row)


def same_named(packages: Packages) -> list[Target]:
    """Write functions of one name, each in a package of its own; the first is the one asked about."""
    _, namer = packages.new(packages.rng.choice(shared()))
    name, found = namer.function(), list[Target]()
    for root in range(FUNCTIONS_PER_NAME):
        module = started(*packages.new(namer.domain))
        among_others(module, partial(scalar_function, module, name), most=1)
        found.append(Target(module, name, root, packages.rng.random() < RE_EXPORTED_SHARE))
    return found


def sibling_of(module: Module) -> str:
    """Write another function into a module, for other files to import."""
    name = module.namer.function()
    scalar_function(module, name)
    return name


def of_root(rng: Random, callers: Sequence[Caller], root: int, count: int) -> Sequence[Caller]:
    """Draw `count` callers of one root, to be called in turn."""
    return rng.choices([one for one in callers if one.root == root], k=count)


def call_all(packages: Packages, targets: Sequence[Target]) -> list[Caller]:
    """Write a caller of each function, in modules of one to three callers, which import what they call."""
    rng, found = packages.rng, list[Caller]()
    left = rng.sample(targets, len(targets))
    while left:
        module = started(*packages.new(rng.choice(trades())))
        some, left = left[: (count := rng.randrange(1, 4))], left[count:]
        known: dict[int, tuple[str, bool]] = {}
        for target in some:
            if id(target) not in known:
                by_package = target.re_exported and rng.random() < 0.5
                source = "__init__" if by_package else target.module.name
                known[id(target)] = import_one(module, source, target.name, target.module.package), by_package
            spelled, by_package = known[id(target)]
            name = module.namer.function()
            scalar_function(module, name, Called(spelled, abs))
            found.append(Caller(module, name, target.root, False, by_package, spelled))
        if count < 3 and rng.random() < 0.5:
            any_function(module, [], NONE)
        rng.shuffle(module.functions)
    return found


def mention(packages: Packages, target: Target) -> Module:
    """Write a module that names a function but does not call it."""
    module, name = started(*packages.new(target.module.namer.domain)), target.name
    if packages.rng.random() < 0.5:
        any_function(module, [], NONE)
        module.functions[-1] = commented(packages.rng, module.functions[-1], name)
    else:
        wording = packages.rng.choice(words()["mention"])
        scalar_function(
            module, module.namer.function(), None, f"{wording[0].upper()}{wording[1:]}".replace("NAME", name)
        )
    if packages.rng.random() < 0.5:
        any_function(module, [], NONE)
    return module


def finished(module: Module) -> Module:
    """Remove from a module what it does not use, and return it."""
    finish(module)
    return module
