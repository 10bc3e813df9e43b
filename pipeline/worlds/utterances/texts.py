"""The utterances of a tier, and the intents that a set of labels stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from pipeline.recipe import TIERS
from pipeline.streams import Streams
from pipeline.worlds.utterances.grammar import OTHER, Intent, domain
from pipeline.worlds.utterances.writing import write

WORLD = "utterances@1"
RESERVE = 48
"""Utterances of each intent that stand in no pool: they are asked about."""
TOKENS = {"request": 1496, "question": 1100}
"""Of so many tokens of a tier there is an utterance of each intent."""


def texts(streams: Streams, tier: str, name: str) -> Mapping[Intent, Sequence[str]]:
    """Return all utterances of a domain by intent, equally many of each; the last `RESERVE` stand in no pool.

    Args:
        streams: any streams below the seed.
        tier: decides how many there are.
        name: the domain.
    """
    return _texts(streams.world(WORLD, tier, name), tier, name)


@lru_cache(maxsize=4)
def _texts(own: Streams, tier: str, name: str) -> Mapping[Intent, Sequence[str]]:
    of, count = domain(name), -(-TIERS[tier] // TOKENS[name]) + RESERVE
    every = (*of.intents, *([OTHER] if name == "request" else []))
    return {intent: write(of, intent, own.of(*intent), count) for intent in every}


def chosen(streams: Streams, tier: str, name: str, which: int, count: int) -> tuple[Intent, ...]:
    """Return the intents of a numbered set of labels, in the order of their labels.

    Acts and things are mixed anew for each set, so that pairs take turns where there are more of them than labels;
    `OTHER` belongs to a set that is larger than all pairs.
    """
    rng, of = streams.world(WORLD, tier, name).of("labels", count, which), domain(name)
    acts, things = (
        dict(zip(names, rng.sample(names, len(names)), strict=True)) for names in (list(of.acts), list(of.things))
    )
    found = [Intent(acts[act], things[thing]) for act, thing in of.intents[:count]]
    return tuple(rng.sample([*found, OTHER][:count], count))
