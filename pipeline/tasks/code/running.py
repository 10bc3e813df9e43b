"""What is asked of a call, and whether another function of a name on the way would return the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.code.interpreter import Machine
from pipeline.tasks.code.reading import File, Name, Repository, read
from pipeline.tasks.solving import ReadError

ASKED = re.compile(r"What does ([\w.]+)\.(\w+)\((\d+)\) return\?")


def asked_call(question: str) -> tuple[Name, int]:
    """Return the function and the number that a question is about.

    Raises:
        ReadError: if it asks something else.
    """
    found = ASKED.fullmatch(question)
    if not found:
        raise ReadError(f"no question about a call: {question!r}")
    return Name(found[1], found[2]), int(found[3])


def same_named(row: Published, path: Sequence[str], solve: Callable[[Repository], tuple[str, ...]]) -> Iterator[str]:
    """Yield what is wrong with the way that a call takes: each function on it has two others of its name."""
    repository = read(row.text)
    name, number = asked_call(repository.question)
    machine = Machine(repository)
    right = machine.call(name, number)
    if [f"{one.module}.{one.own}" for one in machine.path] != [*path]:
        yield f"the call goes through {machine.path}"
    for one in machine.path:
        others = [
            Name(module, one.own)
            for module, file in repository.files.items()
            if one.own in file.functions and module != one.module
        ]
        if len(others) != 2:
            yield f"{len(others)} other functions are called {one.own}"
        for other in others:
            instead = File(one.module, "", {}, {}, {one.own: other})
            try:
                value = Machine(repository.without(one.module, instead)).call(name, number)
            except ReadError:
                continue
            if value == right:
                yield f"{other.module}.{one.own} in place of {one.module}.{one.own} gives the same"
