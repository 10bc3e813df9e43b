"""rag.bridge, rag.compare and rag.list: several documents answer together (HELMET, section 2.1; RULER, qa_2).

After HotpotQA (Yang et al. 2018) and QAMPARI (Amouyal et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Digest, Key, Sample, Task
from pipeline.tasks.rag import own, own_listed, text
from pipeline.tasks.rag.asking import Asked, Place, places
from pipeline.tasks.rag.frame import ELSEWHERE, KNOBS, Rag
from pipeline.worlds.gazetteer import Gazetteer, Passage, forms

TOGETHER = (2, 3)
"""How many things are in the list of a demonstration."""


class Bridge(Rag):
    """A fact about a thing that is reached from a named one, a document for each step."""

    subtask = "bridge"
    title = "a fact that is reached from a named thing, through documents that each name the next thing"
    complexities = (2, 3, 4)
    knobs: Mapping[str, tuple[Any, ...] | Digest] = MappingProxyType({**KNOBS, "corpus": own.CORPUS})

    def of(self, stratum: Stratum) -> Task:
        """Return the task about a user's own passages, where a knob names them."""
        return own.BRIDGE if stratum.knob("corpus", "") else self


class Compare(Rag):
    """A fact about that one of two named things which has the smaller or the larger number or year."""

    subtask = "compare"
    title = "a fact about that one of two named things which is older, longer or larger"
    complexities = (2,)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of a guess, and of taking either of the two things."""
        return {"uniform": 0.0, "either": 0.5}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the relation that is asked for, and whether the right one is named first."""
        return {**super().dealt(sample), "first": (sample.latent["first"], 2)}


class Listed(Rag):
    """All things that have one value of a relation. They are written for the row, and no other document is of one."""

    subtask = "list"
    title = "all things that have something in common"
    scorer = "members"
    complexities = (3, 5, 8)
    max_new_tokens = 128
    reply = text.ALL
    knobs: Mapping[str, tuple[Any, ...] | Digest] = MappingProxyType({**KNOBS, "corpus": own.JUDGED})

    def of(self, stratum: Stratum) -> Task:
        """Return the task about a user's own passages, where a knob names them."""
        return own_listed.LISTED if stratum.knob("corpus", "") else self

    def golds(self, world: Gazetteer, asked: Asked, own: Streams, stratum: Stratum) -> list[Passage]:
        """Write the documents of the things that have the value; without near misses each names the next one."""
        rng, form, found = own.of("golds"), forms()[asked.form], list[Any]()
        for _ in range(stratum.complexity):
            taken = [one.name for one in found]
            found.append(world.invent(rng, form.kind, dict(asked.given), taken))
        alone = not int(stratum.knob("decoys", 4)) and stratum.knob("answer_elsewhere", ELSEWHERE[0])
        after = [*found[1:], found[0]]
        wanted = [[("other", next_one.name)] if alone else [] for next_one in after]
        return [world.write(rng, one, form.name, naming) for one, naming in zip(found, wanted, strict=True)]

    def keyed(self, asked: Asked, golds: Sequence[Passage]) -> Key:
        """Return the names of the things, in alphabetical order."""
        target = ", ".join(sorted(text.plain(one.thing.name) for one in golds))
        return Key(target, self.forms(target))

    def forms(self, answer: str) -> tuple[str, ...]:
        """Return the names as they are: who says them in other words is graded alike."""
        return (answer,)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a guess, and of the thing of the first hit of a search."""
        return {"uniform": 0.0, "first_hit": sample.latent["first_hit"] * 2 / (1 + sample.stratum.complexity)}

    def example(self, world: Gazetteer, rng: Random, stratum: Stratum) -> dict[str, Any]:
        """Draw a demonstration: what two or three things of the world have in common."""
        (form, relation), value, numbers = rng.choice(_together(world))
        question = rng.choice(forms()[form].relation(relation).lines["*"]).format(value=value)
        names = sorted(text.plain(world.passages[one].thing.name) for one in numbers)
        return self.with_documents(world, rng, question, ", ".join(names), numbers, numbers)


@lru_cache(maxsize=2)
def _together(world: Gazetteer) -> Sequence[tuple[Place, str, tuple[int, ...]]]:
    """Return what few things of a world have in common, and their passages."""
    found: dict[tuple[Place, str], list[int]] = {}
    for number, passage in enumerate(world.passages):
        for relation, value in passage.facts.items():
            if (passage.form, relation) in places("list"):
                found.setdefault(((passage.form, relation), value), []).append(number)
    return [(place, value, tuple(some)) for (place, value), some in found.items() if len(some) in TOGETHER]
