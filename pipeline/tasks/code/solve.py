"""Answers questions about files from a prompt's text alone, and checks rows.

There is a part for each subtask: functions are run over lists, a call is interpreted, and calls are followed through
imports to their functions. The solver for commits is in log.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pipeline.caches import cache
from pipeline.streams import stream
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.code.interpreter import Machine
from pipeline.tasks.code.reading import File, Name, Repository, called_names, calls, read
from pipeline.tasks.solving import ReadError, count_words

DESCRIBED = re.compile(r"Which function takes a list of whole numbers and does this: it (.+)\?")
LISTS_TRIED, LIST_FUNCTIONS = 32, "of lists"
"""How many lists functions are run on; the cache key for the functions of a file that take one."""
Act = Callable[[list[int], int], Any]


def _keeping(test: Callable[[int, int], bool]) -> Act:
    return lambda some, n: [one for one in some if test(one, n)]


def _making(change: Callable[[int, int], int]) -> Act:
    return lambda some, n: [change(one, n) for one in some]


MEANINGS: Sequence[tuple[str, Act]] = (
    (r"keeps only those greater than #|leaves out all that are # or smaller|whatever exceeds #", _keeping(int.__gt__)),
    (r"keeps only those smaller than #|leaves out all that are # or greater|whatever is under #", _keeping(int.__lt__)),
    (
        r"keeps only those that # divides evenly|leaves out all that # does not divide|retains the multiples of #",
        _keeping(lambda one, n: one == n * (one // n)),
    ),
    (
        r"keeps only those that # does not divide|leaves out the multiples of #|whatever leaves a remainder .* by #",
        _keeping(lambda one, n: one != n * (one // n)),
    ),
    (r"multiplies each of them by #|makes each of them # times as large", _making(int.__mul__)),
    (r"adds # to each|raises each of them by #", _making(int.__add__)),
    (r"subtracts # from each|lowers each of them by #", _making(int.__sub__)),
    (r"divides each of them by #|whole times (?:that )?# goes", _making(int.__floordiv__)),
    (r"its remainder on division by #|modulo #", _making(int.__mod__)),
    (r"lowers to # each|replaces all that exceed # by", _making(lambda one, n: n if one > n else one)),
    (r"raises to # each|replaces all that fall short of # by", _making(lambda one, n: n if one < n else one)),
    (r"ascending order|from smallest to largest", lambda some, _: sorted(some)),
    (r"descending order|from largest to smallest", lambda some, _: [-one for one in sorted(-one for one in some)]),
    (r"reverses their order|back to front", lambda some, _: [*reversed(some)]),
    (r"keeps the # at the front|everything behind the first #", lambda some, n: some[0:n]),
    (r"keeps the # at the back|everything but the final #", lambda some, n: some[max(0, len(some) - n) :]),
    (r"discards the # at the front|skips the initial #", lambda some, n: some[n:]),
    (
        r"the first of every #|keeps one in #",
        lambda some, n: [one for place, one in enumerate(some) if not place % n],
    ),
    (r"adds them all up|returns their sum", lambda some, _: sum(some)),
    (r"the greatest of them, or 0|finds the maximum", lambda some, _: sorted([*some] or [0])[-1]),
    (r"the least of them, or 0|finds the minimum", lambda some, _: sorted([*some] or [0])[0]),
    (r"how many there are|counts them", lambda some, _: sum(1 for _one in some)),
    (
        r"exceeds the least|between maximum and minimum",
        lambda some, _: max(some or [0]) - min(some or [0]),
    ),
)
"""Wordings of steps, with ``#`` for a number, and what they mean."""
PATTERNS = tuple((re.compile(wording.replace("#", r"(\d)")), act) for wording, act in MEANINGS)


@cache
def lists() -> Sequence[list[int]]:
    """Return the lists that functions are run on, which are not those that the writer tries."""
    rng = stream("code.find", "proof")
    return [
        [rng.randrange(-5, 31) for _ in range(size)]
        for size in (0, 1, 3, *rng.choices(range(6, 17), k=LISTS_TRIED - 3))
    ]


def wanted(question: str) -> Sequence[Any]:
    """Return the results of the described function for all lists.

    Raises:
        ReadError: for words that do not mean exactly one step.
    """
    asked = DESCRIBED.fullmatch(question)
    if not asked:
        raise ReadError(f"no question about a function: {question!r}")
    found: list[Any] = [[*some] for some in lists()]
    for step in asked[1].split(", then "):
        meant = [(act, match) for pattern, act in PATTERNS if (match := pattern.search(step))]
        if len(meant) != 1:
            raise ReadError(f"{len(meant)} meanings: {step!r}")
        act, match = meant[0]
        number = next((int(one) for one in match.groups() if one), 0)
        found = [act(some, number) for some in found]
    return found


def candidates(repository: Repository) -> Sequence[Name]:
    """Return all functions that take only a list of numbers."""
    return [Name(module, name) for module, file in repository.files.items() for name in of_lists(file)]


def of_lists(file: File) -> Sequence[str]:
    """Return the functions of a file that take only a list of numbers; cached."""
    if LIST_FUNCTIONS not in file.compiled:
        file.compiled[LIST_FUNCTIONS] = [name for name, node in file.functions.items() if _takes(node) == ["list[int]"]]
    found: Sequence[str] = file.compiled[LIST_FUNCTIONS]
    return found


def _takes(node: ast.FunctionDef) -> Sequence[str]:
    return [ast.unparse(one.annotation) if one.annotation else "" for one in node.args.args]


def matching(repository: Repository) -> Sequence[Name]:
    """Return the functions that give the described result for all lists."""
    results, found = wanted(repository.question), list[Name]()
    order = sorted(range(LISTS_TRIED), key=lambda at: -len(lists()[at]))
    for name in candidates(repository):
        file = repository.files[name.module]
        if returned(repository, file, name, order[0]) == results[order[0]] and all(
            returned(repository, file, name, at) == results[at] for at in order[1:]
        ):
            found.append(name)
    return found


def returned(repository: Repository, file: File, name: Name, at: int) -> Any:
    """Return a function's result for one of the lists; it is cached if it depends only on the function's file."""
    known: dict[int, Any] = file.compiled.setdefault(f"{name.own} returns", {})
    if at not in known:
        alone = Repository({file.module: file}, {}, "")
        try:
            known[at] = Machine(alone).call(name, [*lists()[at]])
        except ReadError:
            return Machine(repository).call(name, [*lists()[at]])
    return known[at]


CALL_ASKED = re.compile(r"What does ([\w.]+)\.(\w+)\((\d+)\) return\?")


def asked_call(question: str) -> tuple[Name, int]:
    """Return the function and the number that a question is about.

    Raises:
        ReadError: if it asks something else.
    """
    found = CALL_ASKED.fullmatch(question)
    if not found:
        raise ReadError(f"no question about a call: {question!r}")
    return Name(found[1], found[2]), int(found[3])


def same_named(row: PublishedRow, path: Sequence[str], solve: Callable[[Repository], tuple[str, ...]]) -> Iterator[str]:
    """Yield what is wrong with the path of a call: two others share the name of each function, and change the value."""
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


CALLERS_ASKED = re.compile(
    r"Which functions call ([\w.]+)\.(\w+), by whatever name it is imported(, or call a function that calls it)?\? "
    r"A call of another function with the same name does not count\."
)


def callers_asked(repository: Repository) -> tuple[str, ...]:
    """Return the functions that call the one that a question is about, in alphabetical order.

    Raises:
        ReadError: if it asks something else, the function does not exist, or callers do not have distinct names.
    """
    asked = CALLERS_ASKED.fullmatch(repository.question)
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
    """Return the names under which functions called `own` may be known in these files, through imports."""
    names = frozenset({own})
    while True:
        more = names.union(
            alias for file in repository.files.values() for alias, one in file.imports.items() if one.own in names
        )
        if more == names:
            return names
        names = more


def named_elsewhere(row: PublishedRow) -> Iterator[str]:
    """Yield unmarked files that contain the name of the function that is asked about."""
    repository = read(row.text)
    asked = CALLERS_ASKED.fullmatch(row.question)
    marked = {start for start, _ in row.spans("relevant", "decoy")}
    for module, file in repository.files.items():
        if asked and count_words(asked[2], file.text) and repository.starts[module] not in marked:
            yield f"{module} is not marked, but names {asked[2]}"


Solve = Callable[[Repository], tuple[str, ...]]


def faults(row: PublishedRow, solve: Solve) -> Iterator[str]:
    """Yield what is wrong with a row: its question, unresolved imports, and wrong marks."""
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
    """Yield imports that cannot be resolved in these files."""
    for file in repository.files.values():
        for alias, name in file.imports.items():
            module = name.module if not name.own else f"{name.module}.{name.own}"
            if module not in repository.files and repository.defined(Name(file.module, alias)) is None:
                yield f"{file.module} imports {alias}, which is not there"


def answers_of(repository: Repository, solve: Solve) -> tuple[str, ...]:
    """Return the answers from some files; empty if there are none."""
    try:
        return solve(repository)
    except ReadError:
        return ()
