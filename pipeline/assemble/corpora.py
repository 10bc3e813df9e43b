"""Assigns the corpora that a user gives to strata of a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline import tasks
from pipeline.corpora.records import FrozenCorpus
from pipeline.errors import RecipeError
from pipeline.recipe import Recipe, Stratum
from pipeline.tasks import task_of
from pipeline.tasks.base import CorpusKnob, Task


def with_corpora(recipe: Recipe, corpora: Sequence[FrozenCorpus]) -> Recipe:
    """Return a recipe whose strata use the given corpora wherever a task can.

    A stratum that names one of them by its digest keeps it.

    Raises:
        RecipeError: if no stratum uses a corpus, if two fit one, or if a stratum names another than the one that fits.
    """
    strata = tuple(_with_one(cell, corpora) for cell in recipe.strata)
    used = {cell.knob("corpus", "") for cell in strata}
    for one in corpora:
        if one.digest not in used:
            raise RecipeError(
                f"no family of {recipe.release} uses a corpus of {_joined(sorted(one.tables), 'and')}: leave out "
                f"--corpus {str(one.path)!r}{_takers(one)}"
            )
    return replace(recipe, strata=strata)


def _with_one(cell: Stratum, corpora: Sequence[FrozenCorpus]) -> Stratum:
    """Return a stratum with the corpus that fits it, if any."""
    fit = [one for one in corpora if one.fits(_tables(task_of(cell)), cell.complexity)]
    named = str(cell.knob("corpus", ""))
    if not fit or named in {one.digest for one in fit}:
        return cell
    if named:
        raise RecipeError(
            f"{cell}: the recipe names the corpus {named[:12]}..., but {str(fit[0].path)!r} is {fit[0].digest}: "
            "give the file that was meant, or put this digest into the recipe"
        )
    if len(fit) > 1:
        raise RecipeError(
            f"{cell}: {str(fit[0].path)!r} and {str(fit[1].path)!r} both fit: give one, or name a digest by the knob "
            "corpus"
        )
    return replace(cell, knobs=tuple(sorted({**dict(cell.knobs), "corpus": fit[0].digest}.items())))


def _tables(task: Task) -> frozenset[str]:
    """Return the tables that a task needs in a corpus; if it takes no corpus, a table that none has."""
    knob = task.knobs.get("corpus")
    return knob.tables if isinstance(knob, CorpusKnob) else frozenset({"none"})


def _takers(one: FrozenCorpus) -> str:
    """Return which tasks can use a corpus, as advice for a message."""
    names = [f"{task.family}.{task.subtask}" for task in tasks.TASKS.values() if _tables(task) <= one.tables]
    if not names:
        return ", since no task takes one"
    if one.labels:
        known = one.labels in tasks.TASKS["icl", "intents"].complexities
        named = "" if known else f" and the knob corpus = '{one.digest}'"
        return f", or add icl.intents with complexity {one.labels}, the number of its labels{named}"
    needs = sorted({count for count, _ in one.needed})
    asked = f" with complexity {_joined([*map(str, needs)], 'or')}" if needs else ""
    return f", or add {_joined(names, 'or')}{asked}"


def _joined(names: Sequence[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
