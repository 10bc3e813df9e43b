"""Every task, by family and subtask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

from pipeline import languages
from pipeline.caches import cache
from pipeline.errors import LISTED, RecipeError, unknown
from pipeline.metrics.registry import SCORERS
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
"""Modules of this package. Each has the `TASKS` of the family it is named after, and `NOTES` on it. If some of them can
be asked in several languages, `FORMS` maps each such subtask to a function of the text's and question's languages."""

TASKS: dict[tuple[str, str], Task]
"""Every task, by family and subtask."""
NOTES: dict[str, str]
"""What readers of a data card should know about each family, in Markdown."""

_imported: dict[tuple[str, str], Task] = {}


def __getattr__(name: str) -> object:
    """Import every family and return `TASKS` or `NOTES`. It is lazy so that workers that need one family start faster.

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
    """Import a family and register its tasks.

    Raises:
        RecipeError: if a task names another family, and would never be found.
    """
    module = import_module(f"{__name__}.{name}")
    for task in module.TASKS:
        if task.family != name:
            raise RecipeError(f"{task.subtask} in {module.__name__} has family {task.family!r}: give {name!r}")
        _imported.setdefault((task.family, task.subtask), task)
    return module


def families() -> tuple[str, ...]:
    """Return the known families in registry order."""
    return tuple(dict.fromkeys((*FAMILIES, *(family for family, _ in _imported))))


def task_of(stratum: Stratum) -> Task:
    """Return the task of a stratum, which may depend on its knobs.

    Raises:
        RecipeError: for an unknown family or subtask; it suggests the nearest known name.
    """
    if stratum.family not in FAMILIES and stratum.family not in families():
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
    """Return a task or its form in other languages (``niah_s1-de``); None for an unknown name.

    Raises:
        RecipeError: if the name has two languages, but the task's text has none.
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
    """Return a function for each task that can be asked in several languages: see `FAMILIES`."""
    found = {family: getattr(_family(family), "FORMS", {}) for family in FAMILIES}
    return {(family, subtask): form for family, forms in found.items() for subtask, form in forms.items()}


def check_stratum(stratum: Stratum) -> None:
    """Check that a stratum's task allows its complexity, shots and knobs, and has a known scorer.

    Raises:
        RecipeError: with the value and what is allowed.
    """
    task = task_of(stratum)
    if stratum.complexity not in task.complexities:
        raise RecipeError(f"{stratum}: give {_range(task.complexities)}")
    if (scorer := task.scorer_of(stratum)) not in SCORERS:
        raise RecipeError(unknown(f"scorer of {task.family}.{task.subtask}:", scorer, SCORERS))
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
    """Return the allowed numbers in words: all of them, or the first and last of a long range."""
    first, last = numbers[0], numbers[-1]
    many = len(numbers) > LISTED and [*numbers] == [*range(first, last + 1)]
    return f"one from {first} to {last}" if many else f"one of {list(numbers)}"
