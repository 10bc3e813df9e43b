"""Every task, by family and subtask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

from pipeline import languages
from pipeline.caches import cache
from pipeline.errors import LISTED, RecipeError, unknown
from pipeline.recipe import Stratum
from pipeline.tasks.base import CorpusKnob, Task

FAMILIES = (
    "latent_list",
    "mrcr",
    "idk",
    "bio",
    "graph",
    "recall",
    "rag",
    "cite",
    "rerank",
    "icl",
    "tally",
    "longqa",
    "summ",
    "trace",
    "code",
    "tabulate",
)
"""Modules of this package, each with the `TASKS` of the family of its name and `NOTES` on it; and with `FORMS` of those
that can be asked in several languages: by subtask, what returns one by the languages of its text and its question."""

TASKS: dict[tuple[str, str], Task]
"""Every task, by family and subtask."""
NOTES: dict[str, str]
"""What the reader of a data card should know of each family, in Markdown."""

_imported: dict[tuple[str, str], Task] = {}


def __getattr__(name: str) -> object:
    """Return `TASKS` or `NOTES`, for which all families are imported: the tasks of one take a worker less time.

    Raises:
        AttributeError: for any other name.
    """
    if name not in ("TASKS", "NOTES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = {family: _family(family) for family in FAMILIES}
    if name == "NOTES":
        return {family: module.NOTES.strip() for family, module in modules.items()}
    for place in sorted(_imported, key=lambda place: families().index(place[0])):
        _imported[place] = _imported.pop(place)
    return _imported


def _family(name: str) -> ModuleType:
    """Import a family and register its tasks."""
    module = import_module(f"{__name__}.{name}")
    for task in module.TASKS:
        _imported.setdefault((task.family, task.subtask), task)
    return module


def families() -> tuple[str, ...]:
    """Return the known families in registry order."""
    return tuple(dict.fromkeys((*FAMILIES, *(family for family, _ in _imported))))


def task_of(stratum: Stratum) -> Task:
    """Return the task of a stratum, by its knobs too.

    Raises:
        RecipeError: for an unknown family or subtask, with the nearest right name.
    """
    if stratum.family not in families():
        raise RecipeError(unknown("family", stratum.family, families()))
    name = (stratum.family, stratum.subtask)
    task = known_task(*name)
    if task is None:
        known = [subtask for family, subtask in _imported if family == stratum.family]
        raise RecipeError(unknown(f"subtask of {stratum.family}:", stratum.subtask, known))
    if stratum.knob("corpus", ""):
        task = import_module(f"{__name__}.corpus").TASKS.get(name, task)
    return task.for_stratum(stratum)


def known_task(family: str, subtask: str) -> Task | None:
    """Return a task, also the form of one in other languages (``niah_s1-de``); None for an unknown name.

    Raises:
        RecipeError: if the text of a task has no language, and two are named.
    """
    if family in FAMILIES and (family, subtask) not in _imported:
        _family(family)
    return _imported.get((family, subtask)) or _in_languages(family, subtask)


@cache
def _in_languages(family: str, subtask: str) -> Task | None:
    named = languages.asking(subtask)
    forms = getattr(_family(family), "FORMS", {}) if named and family in FAMILIES else {}
    return forms[named[0]](*named[1:]) if named and named[0] in forms else None


def in_languages() -> dict[tuple[str, str], Callable[[str, str], Task]]:
    """Return every task that can be asked in several languages, with what returns it in two: see `FAMILIES`."""
    found = {family: getattr(_family(family), "FORMS", {}) for family in FAMILIES}
    return {(family, subtask): form for family, forms in found.items() for subtask, form in forms.items()}


def check_stratum(stratum: Stratum) -> None:
    """Check that a stratum's task takes its complexity, shots and knobs.

    Raises:
        RecipeError: naming the value and what would be right.
    """
    task = task_of(stratum)
    if stratum.complexity not in task.complexities:
        raise RecipeError(f"{stratum}: give {_range(task.complexities)}")
    if stratum.shots is not None and stratum.shots > task.most_shots:
        raise RecipeError(f"{stratum}: shots = {stratum.shots}: give {task.most_shots} at the most")
    for name, value in stratum.knobs:
        if name not in task.knobs:
            raise RecipeError(unknown(f"knob of {task.family}.{task.subtask}:", name, task.knobs))
        allowed = task.knobs[name]
        if isinstance(allowed, CorpusKnob):
            if not allowed.allows(value):
                raise RecipeError(f"{stratum}: knob {name} = {value!r}: give {allowed.what}, 64 digits and letters a-f")
        elif value not in allowed or type(value) is not type(allowed[0]):
            raise RecipeError(f"{stratum}: knob {name} = {value!r}: give one of {list(allowed)}")


def _range(numbers: Sequence[int]) -> str:
    """Return which numbers may be given, in words: all of them, or where they are many the first and the last."""
    first, last = numbers[0], numbers[-1]
    many = len(numbers) > LISTED and [*numbers] == [*range(first, last + 1)]
    return f"one from {first} to {last}" if many else f"one of {list(numbers)}"
