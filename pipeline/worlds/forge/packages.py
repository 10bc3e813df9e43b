"""Packages of the pool: modules that import one another, each file a unit, ordered so that any prefix runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeVar

import numpy as np

from pipeline.caches import lru_cache
from pipeline.streams import Indices, Streams
from pipeline.typed import TIERS
from pipeline.worlds.forge.bodies import list_function
from pipeline.worlds.forge.modules import HEAD, TAIL, Module, fitting, import_line
from pipeline.worlds.forge.names import (
    FITS,
    WORLD,
    Domain,
    Namer,
    domains,
    package_name,
    package_words,
    short_names,
    words,
)
from pipeline.worlds.forge.plain import plain_function
from pipeline.worlds.forge.scalars import Called, scalar_function
from pipeline.worlds.forge.steps import draw_steps, told_in_doc

T = TypeVar("T")
TOKENS_PER_UNIT = 80
"""Tokens of the tier per file of the pool: about twice what a prompt can hold."""
LONE, FILES_PER_LONE = 48, 16
"""Standalone files of the smallest world, which import nothing; files of packages per further one."""
ALONE = 0.4
"""The share of packages that show one file only, like packages of rows."""
MOST = 860
"""The most characters of a file: larger units leave gaps in short prompts."""
COMMENTED, DESCRIBED = 0.45, 0.45
"""The shares of modules with a comment that names a similar function, if there is one, and with a docstring."""
DOCS = ("none", "true", "misleading")
LAST = ("report", "summary", "overview", "results", "checks")
"""Modules that use the package's exports."""


class Outline(NamedTuple):
    """A package before it is written: its name, what it is about, and its files, in order of writing."""

    name: str
    domain: Domain
    files: Sequence[str]


@dataclass(frozen=True, eq=False)
class Forge:
    """The packages of a tier, the number of each one's first unit, and how many standalone files follow them."""

    outlines: Sequence[Outline]
    starts: Sequence[int]
    lone: int

    @property
    def units(self) -> int:
        """How many files packages have."""
        return self.starts[-1]

    def order(self, rng: Random) -> Indices:
        """Return the files of all packages: packages in random order, each file after what it imports."""
        places = rng.sample(range(len(self.outlines)), len(self.outlines))
        return np.concatenate([np.arange(self.starts[at], self.starts[at + 1]) for at in places])


def forge(streams: Streams, tier: str) -> Forge:
    """Return the packages of a tier; `streams` are any below the same seed."""
    return _forge(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_UNIT)


@lru_cache(maxsize=2)
def _forge(world: Streams, units: int) -> Forge:
    rng, taken = world.of("packages"), set[str]()
    outlines, starts = list[Outline](), [0]
    while starts[-1] < units:
        outlines.append(_outline(rng, taken))
        starts.append(starts[-1] + len(outlines[-1].files))
    return Forge(outlines, starts, LONE + units // FILES_PER_LONE)


def _outline(rng: Random, taken: set[str]) -> Outline:
    domain = rng.choice(domains())
    while (name := package_name(rng, domain, of_row=False)) in taken:
        domain = rng.choice(domains())
    taken.add(name)
    if rng.random() < ALONE:
        return Outline(name, domain, [rng.choice(domain.modules)])
    files = [*rng.sample(domain.modules, rng.randrange(2, len(domain.modules) + 1)), "__init__"]
    return Outline(name, domain, [*files, rng.choice(LAST)] if rng.random() < 0.6 else files)


def pool_texts(streams: Streams, tier: str, docs: str) -> Iterator[str]:
    """Yield the files of a tier's pool: those of packages, then standalone ones."""
    world = forge(streams, tier)
    texts = streams.world("forge files", tier, docs)
    for at, outline in enumerate(world.outlines):
        yield from package(texts.of("package", at), outline, docs)
    rng, taken = texts.of("lone"), {outline.name for outline in world.outlines}
    for _ in range(world.lone):
        outline = _outline(rng, taken)
        yield from package(rng, outline._replace(files=outline.files[:1]), docs)


def package(rng: Random, outline: Outline, docs: str) -> Iterator[str]:
    """Yield the files of a package."""
    namer = Namer(rng, outline.domain)
    exports: dict[str, Sequence[str]] = {}
    for name in outline.files:
        if name == "__init__":
            shown = {
                module: rng.sample(names, rng.randrange(1, len(names) + 1))
                for module, names in exports.items()
                if names
            }
            yield initial(outline.name, shown)
            exports = {"__init__": [one for names in shown.values() for one in names]}
            continue
        module = module_of(outline.name, name, namer, exports, docs)
        exports[name] = [one for one in module.callable if one]
        yield module.text


def initial(package: str, shown: Mapping[str, Sequence[str]]) -> str:
    """Return the ``__init__.py`` of a package, which exports functions of its modules."""
    rows = [import_line(f"{package}.{module}", names) for module, names in sorted(shown.items())]
    names = sorted(name for exported in shown.values() for name in exported)
    line = "__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]"
    if len(line) > FITS:
        line = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]"
    code = [*rows, "", line] if rows else ["VERSION = 1"]
    return fitting("\n".join([f"{HEAD}{package}/__init__.py{TAIL}", *code, ""]))


def initial_of(module: Module, names: Sequence[str]) -> str:
    """Return the ``__init__.py`` of a package, which exports functions of one module."""
    return initial(module.package, {module.name: names})


def module_of(package: str, name: str, namer: Namer, exports: Mapping[str, Sequence[str]], docs: str) -> Module:
    """Write a module of a package, which may use the functions of one number in `exports`, by module."""
    rng = namer.rng
    while True:
        taken, drawn = {*namer.taken}, [*namer.drawn]
        module = Module(package, name, namer)
        callees = imported(module, exports)
        for _ in range(rng.choice((1, 2, 2, 2, 3, 3))):
            any_function(module, callees, docs)
        finish(module)
        if len(module.text) <= MOST:
            return module
        namer.taken.clear()
        namer.taken.update(taken)
        namer.drawn[:] = drawn


def imported(module: Module, exports: Mapping[str, Sequence[str]]) -> list[str]:
    """Import functions of other modules of the package in various ways, and return how they are called."""
    rng = module.namer.rng
    able = [(other, name) for other, names in exports.items() for name in names]
    wanted = 2 if module.name in LAST else rng.choice((0, 1, 1, 2))
    return [import_one(module, *one) for one in rng.sample(able, min(len(able), wanted))]


def import_one(module: Module, of_module: str, function: str, package: str = "") -> str:
    """Import a function of a module, or of a package itself, and return how it is called.

    No name means two things: where one is taken, the function gets another. No source is imported in two ways.
    """
    rng, package = module.namer.rng, package or module.package
    source = package if of_module == "__init__" else f"{package}.{of_module}"
    for line in module.imports:
        if line.startswith(f"import {source} as ") or line == f"from {package} import {of_module}":
            return f"{line.split()[-1]}.{function}"
    draw = rng.random()
    if any(line.startswith(f"from {source} import ") for line in module.imports):
        draw *= 0.6
    if draw < 0.4 and function not in module.bound:
        module.imports.append(f"from {source} import {function}")
        return function
    aliases = [one for one in short_names(package, function) if one not in module.bound]
    if draw < 0.6 and aliases:
        alias = rng.choice(aliases)
        module.namer.taken.add(alias)  # for functions that follow
        module.imports.append(f"from {source} import {function} as {alias}")
        return alias
    if draw < 0.8 and of_module != "__init__" and of_module not in module.bound | module.namer.values:
        module.imports.append(f"from {package} import {of_module}")
        return f"{of_module}.{function}"
    aliases = [name if of_module == "__init__" else f"{name}_{of_module}" for name in package_words(package)]
    rng.shuffle(aliases)
    aliases += [f"{alias}_api" for alias in aliases]  # if a value of the package has the same name
    alias = next(alias for alias in aliases if alias not in module.bound | module.namer.values)
    module.imports.append(f"import {source} as {alias}")
    return f"{alias}.{function}"


def any_function(module: Module, callees: list[str], docs: str) -> None:
    """Write a function of any kind into a module; those of one number can be called from then on."""
    rng, namer = module.namer.rng, module.namer
    kind = rng.random()
    if kind < 0.33:
        name = namer.function()
        steps = draw_steps(rng, rng.choice((2, 3, 3, 4, 5)), of_row=False)
        list_function(module, name, steps, told_in_doc(rng, steps, docs))
    elif kind < 0.66:
        name = namer.function()
        doc = function_doc(namer, name) if rng.random() < 0.3 else ""
        called = Called(rng.choice(callees), abs) if callees and rng.random() < 0.8 else None
        scalar_function(module, name, called, doc)
        module.callable.append(name)
        callees.append(name)
    else:
        plain_function(module, callees)


def started(package: str, namer: Namer) -> Module:
    """Return an empty module of a row's own package."""
    return Module(package, namer.rng.choice(namer.domain.modules), namer)


def among_others(module: Module, write: Callable[[], object], *, most: int = 2) -> None:
    """Write a function among at most `most` others of any kind, all of which the pool has too."""
    rng = module.namer.rng
    count = rng.randrange(most + 1)
    place = rng.randrange(count + 1)
    for at in range(count + 1):
        if at == place:
            write()
        else:
            any_function(module, [], DOCS[0])


def finish(module: Module) -> None:
    """Drop unused imports and constants, describe the module, and let a comment name another function."""
    rng, code = module.namer.rng, "\n".join(module.functions)
    module.imports = [line for line in module.imports if f"{line.split()[-1]}" in code]
    module.constants = {name: value for name, value in module.constants.items() if name in code}
    if rng.random() < DESCRIBED:
        module.doc = module_doc(module)
    similar = [
        (at, name)
        for at, text in enumerate(module.functions)
        for name in module.namer.drawn
        if f"{name}(" not in text and are_similar(name, text[text.index("def ") + 4 : text.index("(")])
    ]
    if similar and rng.random() < COMMENTED:
        at, name = rng.choice(similar)
        module.functions[at] = commented(rng, module.functions[at], name)


def are_similar(name: str, other: str) -> bool:
    """Return whether the names of two functions have a thing or an amount in common."""
    some, others = ({part.removesuffix("s") for part in one.split("_")} for one in (name, other))
    return not some.isdisjoint(others - {*words()["adjective"], *"_".join(words()["qualifier"]).split("_")})


def commented(rng: Random, function: str, name: str) -> str:
    """Put a comment that names a function above another."""
    return f"# {rng.choice(words()['comment']).replace('NAME', name)}\n{function}"


def module_doc(module: Module) -> str:
    """Draw the docstring of a module from what its functions and constants are called and take.

    None occurs twice in a package: a module has none if others have all of those that are about its code.
    """
    namer, heads = module.namer, re.findall(r"^def ([^)]*)", "\n".join(module.functions), re.MULTILINE)
    named, domain = {*re.findall("[a-z]+", "\n".join([*module.constants, *heads]).lower())}, module.namer.domain
    things = sum(not {*pair}.isdisjoint(named) for pair in domain.things)
    amounts = sum(amount in named for amount in domain.amounts)
    labels = sum(not {label, f"{label}s"}.isdisjoint(named) for label in domain.labels)
    able = {"MANY": things, "OTHERS": things - 1, "AMOUNT": amounts, "SECOND": amounts - 1, "LABEL": labels}
    wordings = [
        wording for wording in words()["module_doc"] if all(able[word] > 0 for word in re.findall("[A-Z]+", wording))
    ]
    docs = [doc for doc in (_filled(namer, wording, named) for wording in wordings) if doc not in namer.taken]
    if not docs:
        return ""
    namer.taken.add(doc := namer.rng.choice(docs))
    return doc


def function_doc(namer: Namer, name: str) -> str:
    """Draw the docstring of a function: it is about the thing and the amount in its name."""
    return _filled(namer, namer.rng.choice(words()["function_doc"]), {*name.split("_")})


def _filled(namer: Namer, wording: str, named: Collection[str]) -> str:
    """Fill a wording with words of the domain, first of all with those that are named."""
    domain = namer.domain
    (one, many), (_, others), *_ = _named_first(namer.rng, domain.things, lambda pair: not {*pair}.isdisjoint(named))
    first, second, *_ = _named_first(namer.rng, domain.amounts, lambda amount: amount in named)
    label, *_ = _named_first(namer.rng, domain.labels, lambda label: not {label, f"{label}s"}.isdisjoint(named))
    filled = (
        wording.replace("ONE", one)
        .replace("MANY", many)
        .replace("OTHERS", others)
        .replace("AMOUNT", first)
        .replace("SECOND", second)
        .replace("LABEL", label)
    )
    return filled[0].upper() + filled[1:]


def _named_first(rng: Random, some: Sequence[T], is_named: Callable[[T], bool]) -> Sequence[T]:
    """Return words in random order, the named ones first."""
    return sorted(rng.sample(some, len(some)), key=is_named, reverse=True)
