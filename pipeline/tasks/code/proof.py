"""What must hold of a prompt of `code` that shows files, judged from the published row alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipeline.tasks.base import Published
from pipeline.tasks.code.reading import Name, Repository, read
from pipeline.tasks.solving import ReadError

Solve = Callable[[Repository], tuple[str, ...]]


def faults(row: Published, solve: Solve) -> Iterator[str]:
    """Yield what is wrong with a row: its question, marks, imports that lead nowhere, and what is needed."""
    repository = read(row.text)
    if repository.question != row.question:
        yield f"the prompt asks {repository.question!r}"
    yield from lost(repository)
    at = {start: module for module, start in repository.starts.items()}
    right = solve(repository)
    for role in ("relevant", "decoy"):
        for start, end in row.spans(role):
            module = at.get(start)
            if module is None or row.prompt[start:end] != repository.files[module].text:
                yield f"no file is marked at {start}"
                continue
            without = answers_of(repository.without(module), solve)
            if (without == right) == (role == "relevant"):
                yield f"{module} is marked as {role}, but the answer without it is " + (
                    "another" if role == "decoy" else "the same"
                )


def lost(repository: Repository) -> Iterator[str]:
    """Yield imports that lead to nothing in these files."""
    for file in repository.files.values():
        for alias, name in file.imports.items():
            module = name.module if not name.own else f"{name.module}.{name.own}"
            if module not in repository.files and repository.defined(Name(file.module, alias)) is None:
                yield f"{file.module} imports {alias}, which is not there"


def answers_of(repository: Repository, solve: Solve) -> tuple[str, ...]:
    """Return the answers from some files, none if they do not answer."""
    try:
        return solve(repository)
    except ReadError:
        return ()
