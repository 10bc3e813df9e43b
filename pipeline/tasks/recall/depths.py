"""Where a single answer stands: on a grid of six depths (HELMET, section 2.2 and appendix B), or anywhere."""

from __future__ import annotations

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread

POINTS = 6
"""Depths of the grid: from the first line of the body to its last."""
DEPTH = {"depth": ("grid", "uniform")}
"""The knob, its default first."""


def point(stratum: Stratum, index: int, shared: Streams) -> int:
    """Return which point of the grid a row is dealt."""
    return deal(shared.of("point"), stratum.rows, index, POINTS)


def depth(stratum: Stratum, index: int, shared: Streams) -> float:
    """Return the depth that a row is dealt, by the knob ``depth``."""
    if stratum.knob("depth", DEPTH["depth"][0]) == "grid":
        return point(stratum, index, shared) / (POINTS - 1)
    return spread(shared.of("depth"), stratum.rows, index)


def dealt(depth: object, stratum: Stratum) -> dict[str, tuple[object, int]]:
    """Return what a task with these depths deals: points of the grid, if that is what it has."""
    return {"point": (depth, POINTS)} if stratum.knob("depth", DEPTH["depth"][0]) == "grid" else {}
