"""Finds who calls a function: every call of every file, followed through imports to what it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.tasks.base import Published
from pipeline.tasks.code.reading import Name, Repository, called_names, calls, read
from pipeline.tasks.solving import ReadError, times

ASKED = re.compile(
    r"Which functions call ([\w.]+)\.(\w+), by whatever name it is imported(, or call a function that calls it)?\? "
    r"Functions that call another function of the same name do not count\."
)


def answers(repository: Repository) -> tuple[str, ...]:
    """Return the functions that call what a question asks about, in alphabetical order.

    Raises:
        ReadError: if it asks something else, the function is not there, or two callers have the same name.
    """
    asked = ASKED.fullmatch(repository.question)
    if not asked:
        raise ReadError(f"no question about callers: {repository.question!r}")
    target = Name(asked[1], asked[2])
    if repository.defined(target) != target:
        raise ReadError(f"{target.module} has no function {target.own}")
    found = {*callers(repository, target)}
    if asked[3]:
        found |= {further for one in found for further in callers(repository, one)}
    names = sorted(one.own for one in found)
    if not names or len({*names}) < len(names):
        raise ReadError(f"the callers are {names}")
    return (", ".join(names),)


def callers(repository: Repository, target: Name) -> Iterator[Name]:
    """Yield the functions that call a function."""
    names = known_as(repository, target.own)
    for module, file in repository.files.items():
        if not names.isdisjoint(called_names(file)):
            for name in file.functions:
                if any(repository.called(file, node) == target for node in calls(file, name)):
                    yield Name(module, name)


def known_as(repository: Repository, own: str) -> frozenset[str]:
    """Return the names that functions of a name have in these files: its own, and those of imports of it."""
    names = frozenset({own})
    while True:
        more = names.union(
            alias for file in repository.files.values() for alias, one in file.imports.items() if one.own in names
        )
        if more == names:
            return names
        names = more


def named_elsewhere(row: Published) -> Iterator[str]:
    """Yield files that name what is asked about and are not marked."""
    repository = read(row.text)
    asked = ASKED.fullmatch(row.question)
    marked = {start for start, _ in row.spans("relevant", "decoy")}
    for module, file in repository.files.items():
        if asked and times(asked[2], file.text) and repository.starts[module] not in marked:
            yield f"{module} is not marked, but names {asked[2]}"
