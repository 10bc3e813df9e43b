"""The haystacks that needles may stand in, by name."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Filler, PoolSpec
from pipeline.tasks.haystacks.addresses import addresses, addresses_spec
from pipeline.tasks.haystacks.noise import noise, noise_spec
from pipeline.tasks.haystacks.prose import essays_spec, prose
from pipeline.tasks.recall import pairs
from pipeline.worlds import needles

SPECS = {"essay": essays_spec, "addresses": addresses_spec, "noise": noise_spec}
PROSE = {"essay": prose, "addresses": addresses}
ORDER = ("coherent", "shuffled")
"""The paragraphs of prose as they were written, or in any order (Hong et al. 2025, Context rot)."""


def spec(name: str, stratum: Stratum) -> PoolSpec:
    """Return the pool of a haystack: of prose, noise, or needles of ``words`` or ``uuids``."""
    return SPECS[name](stratum) if name in SPECS else pairs.spec(name, stratum.tier)


def filler(name: str, stratum: Stratum, own: Streams, keys: Iterable[str] = ()) -> Filler:
    """Return a row's filler from a haystack, without the entries of some keys."""
    if name in PROSE:
        return PROSE[name](own, stratum, shuffled=stratum.knob("haystack_order", ORDER[0]) == "shuffled")
    if name == "noise":
        return noise(own, stratum)
    return pairs.filler(name, stratum.tier, own, needles.places(own, keys) if name == "words" else frozenset())
