"""The registry: every task that Carrara knows, by family and subtask."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from pipeline.errors import LISTED, RecipeError, unknown
from pipeline.recipe import Stratum
from pipeline.tasks import corpus
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
)
"""Modules of this package, each with the `TASKS` of the family of its name and `NOTES` on it."""

MODULES = {name: import_module(f"{__name__}.{name}") for name in FAMILIES}
TASKS: dict[tuple[str, str], Task] = {
    (task.family, task.subtask): task for module in MODULES.values() for task in module.TASKS
}
NOTES: dict[str, str] = {name: module.NOTES.strip() for name, module in MODULES.items()}
"""What the reader of a data card should know of each family, in Markdown."""


def families() -> tuple[str, ...]:
    """Return the known families in registry order."""
    return tuple(dict.fromkeys(family for family, _ in TASKS))


def task_of(stratum: Stratum) -> Task:
    """Return the task of a stratum, by its knobs too.

    Raises:
        RecipeError: for an unknown family or subtask, with the nearest right name.
    """
    if stratum.family not in families():
        raise RecipeError(unknown("family", stratum.family, families()))
    if (stratum.family, stratum.subtask) not in TASKS:
        known = [subtask for family, subtask in TASKS if family == stratum.family]
        raise RecipeError(unknown(f"subtask of {stratum.family}:", stratum.subtask, known))
    name = (stratum.family, stratum.subtask)
    task = (stratum.knob("corpus", "") and corpus.TASKS.get(name)) or TASKS[name]
    return task.for_stratum(stratum)


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
