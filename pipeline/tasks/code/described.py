"""Finds the function that a question describes: what the words say, done to lists, against what functions return."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.caches import cache
from pipeline.streams import stream
from pipeline.tasks.code.interpreter import Machine
from pipeline.tasks.code.reading import File, Name, Repository
from pipeline.tasks.solving import ReadError

ASKED = re.compile(r"Which function takes a list of whole numbers and does this: it (.+)\?")
LISTS, LISTED = 32, "of lists"
"""How many lists functions are run on; where a file keeps which functions take one."""
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
    (r"divides each of them by #|how many whole times # goes", _making(int.__floordiv__)),
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
        r"each #-th one after it|keeps one in #",
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
"""Sentences, with ``#`` for a number, and what they mean."""
PATTERNS = tuple((re.compile(said.replace("#", r"(\d)")), act) for said, act in MEANINGS)


@cache
def lists() -> Sequence[list[int]]:
    """Return the lists that functions are run on: other ones than the writer tries."""
    rng = stream("code.find", "proof")
    return [[rng.randrange(-5, 31) for _ in range(size)] for size in (0, 1, 3, *rng.choices(range(6, 17), k=LISTS - 3))]


def wanted(question: str) -> Sequence[Any]:
    """Return what the function that is asked for makes of each list.

    Raises:
        ReadError: for words that mean no step, or several.
    """
    asked = ASKED.fullmatch(question)
    if not asked:
        raise ReadError(f"no question about a function: {question!r}")
    found: list[Any] = [[*some] for some in lists()]
    for said in asked[1].split(", then "):
        meant = [(act, match) for pattern, act in PATTERNS if (match := pattern.search(said))]
        if len(meant) != 1:
            raise ReadError(f"{len(meant)} meanings: {said!r}")
        act, match = meant[0]
        number = next((int(one) for one in match.groups() if one), 0)
        found = [act(some, number) for some in found]
    return found


def candidates(repository: Repository) -> Sequence[Name]:
    """Return all functions that take one list of numbers."""
    return [Name(module, name) for module, file in repository.files.items() for name in of_lists(file)]


def of_lists(file: File) -> Sequence[str]:
    """Return the functions of a file that take one list of numbers; they are looked for once."""
    if LISTED not in file.compiled:
        file.compiled[LISTED] = [name for name, node in file.functions.items() if _takes(node) == ["list[int]"]]
    found: Sequence[str] = file.compiled[LISTED]
    return found


def _takes(node: ast.FunctionDef) -> Sequence[str]:
    return [ast.unparse(one.annotation) if one.annotation else "" for one in node.args.args]


def matching(repository: Repository) -> Sequence[Name]:
    """Return the functions that do what the question says, as far as all lists tell."""
    results, found = wanted(repository.question), list[Name]()
    order = sorted(range(LISTS), key=lambda at: -len(lists()[at]))
    for name in candidates(repository):
        file = repository.files[name.module]
        if returned(repository, file, name, order[0]) == results[order[0]] and all(
            returned(repository, file, name, at) == results[at] for at in order[1:]
        ):
            found.append(name)
    return found


def returned(repository: Repository, file: File, name: Name, at: int) -> Any:
    """Return what a function makes of one of the lists; it is kept where its file alone tells."""
    known: dict[int, Any] = file.compiled.setdefault(f"{name.own} returns", {})
    if at not in known:
        alone = Repository({file.module: file}, {}, "")
        try:
            known[at] = Machine(alone).call(name, [*lists()[at]])
        except ReadError:
            return Machine(repository).call(name, [*lists()[at]])
    return known[at]
