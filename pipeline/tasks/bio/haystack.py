"""The haystack: a pool of the biographies of everybody in a tier, from which a prompt takes other people's.

If the knob `density` is below 1, the pool is sparse: after the full biographies of everybody come everybody's without
the first attribute, then without the second, and so on. A prompt takes each person once, in one of these forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, deal, spread, words
from pipeline.tasks.base import Filler, PoolSpec, Unit
from pipeline.tasks.haystacks import SPARES

GRID = 6
"""Depths of the policy `grid`: 0, 0.2, 0.4, 0.6, 0.8 and 1."""
BLOCK = 4
"""People per block, in the order in which they are taken; the density is the share who state the attribute in each."""

DEPTH, DENSITY = ("uniform", "grid", "first", "last"), (1.0, 0.75, 0.5, 0.25, 0.0)
KNOBS: dict[str, tuple[Any, ...]] = {"depth": DEPTH, "density": DENSITY}
"""The knobs of every task of the family."""


def density(stratum: Stratum) -> float:
    """Return the share of other people whose biographies state the asked attribute."""
    return float(stratum.knob("density", DENSITY[0]))


def depths(stratum: Stratum, index: int, stratum_streams: Streams, count: int) -> list[float]:
    """Return the depths of `count` relevant passages in order, by the policy of the knob `depth`.

    ``uniform`` and ``grid`` put the n-th passage into the n-th section of the text. Within a section, depths are
    stratified over the rows, or one of six that are dealt evenly. ``first`` and ``last`` put all passages at one end.
    """
    policy = stratum.knob("depth", DEPTH[0])
    if policy in ("first", "last"):
        return [float(policy == "last")] * count
    return [(place + _within(stratum, index, stratum_streams, place)) / count for place in range(count)]


def _within(stratum: Stratum, index: int, stratum_streams: Streams, place: int) -> float:
    rng = stratum_streams.of("depth", place) if place else stratum_streams.of("depth")
    if stratum.knob("depth", DEPTH[0]) == "grid":
        return deal(rng, stratum.rows, index, GRID) / (GRID - 1)
    return spread(rng, stratum.rows, index)


def pool_name(stratum: Stratum, pool: str) -> str:
    """Return the name of a stratum's pool, which is sparse if its density is below 1."""
    return f"{pool}-sparse-{stratum.tier}" if density(stratum) < 1 else f"{pool}-{stratum.tier}"


def units_of(
    spec: PoolSpec, people: int, attributes: Sequence[str], render: Callable[[int, str], Unit]
) -> Iterator[Unit]:
    """Yield the units of a pool, for its `make`.

    `render` takes the number of one of the `people`, and the attribute left out or "".
    """
    lacking = ("", *attributes) if spec.name.endswith(f"-sparse-{spec.tier}") else ("",)
    return (render(number, attribute) for attribute in lacking for number in range(people))


def others(
    row_streams: Streams, stratum: Stratum, pool: str, people: int, taken: Iterable[int], asked: int | None = None
) -> Filler:
    """Return filler of people in random order from a pool of all `people`, without those who are `taken`.

    `asked` is the index of the asked attribute among those given to `units_of`. A density below 1 needs it.
    """
    order = Shuffled(row_streams.of("filler"), people, frozenset(taken))
    forms = _Forms(row_streams, density(stratum), people, asked)
    return Filler(pool_name(stratum, pool), _Rest(order, SPARES, forms), forms.of(order.take(SPARES)))


class _Forms:
    """The form of each biography, full or without the asked attribute, dealt in blocks along the order of people.

    A lower density changes some people's form, but nobody's place.
    """

    def __init__(self, row_streams: Streams, share: float, people: int, asked: int | None) -> None:
        self._row, self._share, self._people, self._asked = row_streams, share, people, asked

    def of(self, order: Indices) -> Indices:
        """Return the pool indices of the first people of an order."""
        if self._share == 1:
            return order
        if self._asked is None:
            raise ValueError("a density below 1 needs an asked attribute")
        blocks = -(-len(order) // BLOCK)
        drawn = words(self._row.of("density"), blocks * BLOCK).reshape(blocks, BLOCK)
        ranks = drawn.argsort(axis=1, kind="stable").argsort(axis=1).reshape(-1)[: len(order)]
        return np.where(ranks < BLOCK * self._share, order, order + (1 + self._asked) * self._people)


class _Rest:
    """An order without its first `skip` people, who are spares."""

    def __init__(self, order: Shuffled, skip: int, forms: _Forms) -> None:
        self._order, self._skip, self._forms = order, skip, forms

    def take(self, count: int) -> Indices:
        """Return the first `count` indices after the spares."""
        return self._forms.of(self._order.take(count + self._skip))[self._skip :]
