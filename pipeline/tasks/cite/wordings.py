"""What can be asked of the gazetteer in one breath: clauses on single facts, and questions for all that share one.

Clauses are data, in ``pools/cite``, and questions for all are those of the forms: writers fill them in, and the reader
takes questions apart with them. Clauses name the thing by ``{it}``, ``{him}`` or ``{its}``: in full in the first clause
of a question, by a pronoun in the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pipeline.tasks.rag.asking import Place, places
from pipeline.worlds.gazetteer import forms
from pipeline.worlds.words import pool

CLAUSES = "cite/clauses"
OPENINGS = ("Tell {clauses}.", "Say {clauses}.", "Find out {clauses}.", "I should like to know {clauses}.")
"""How a question begins that asks for several facts."""
LAST = ", and "
"""What stands before the last clause; before the others stands a comma."""


@cache
def clauses() -> Mapping[Place, tuple[str, ...]]:
    """Return the clauses that ask for each fact."""
    found: dict[Place, tuple[str, ...]] = {}
    form = ""
    for line in filter(None, pool(CLAUSES)):
        if line.startswith("["):
            form = line.strip("[]")
        else:
            relation, _, said = line.partition(": ")
            found[form, relation] = tuple(said.split(" | "))
    return found


@cache
def lists() -> Mapping[Place, tuple[str, ...]]:
    """Return the questions for all things with one value of a relation."""
    return {(form, one): forms()[form].relation(one).lines["*"] for form, one in places("list")}
