"""Where a single answer stands: on a grid of six depths (HELMET, section 2.2 and appendix B), or anywhere.

By the knob ``crossed`` six rows in turn ask the same question about the same text, and differ only in where the answer
stands, as HELMET has it: what depth does is then seen apart from what the question does. They draw all but the depth
from the streams that `shared_by_six` returns.
"""

from __future__ import annotations

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread

POINTS = 6
"""Depths of the grid: from the first line of the body to its last."""
DEPTH = {"depth": ("grid", "uniform")}
CROSSED = {"crossed": (False, True)}
"""The knobs, their defaults first."""


def is_crossed(stratum: Stratum) -> bool:
    """Return whether six rows in turn ask the same question."""
    return bool(stratum.knob("crossed", CROSSED["crossed"][0]))


def question(stratum: Stratum, index: int) -> int:
    """Return the number of a row's question in its stratum: with ``crossed`` six rows share one."""
    return index // POINTS if is_crossed(stratum) else index


def shared_by_six(stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Streams:
    """Return the streams that a row's question and haystack are drawn from: its own, or those of six rows."""
    return Streams((*stratum_streams.path, "crossed", question(stratum, index))) if is_crossed(stratum) else row_streams


def point(stratum: Stratum, index: int, stratum_streams: Streams) -> int:
    """Return which point of the grid a row is dealt; rows that share a question have all of them."""
    return deal(stratum_streams.of("point"), _block(stratum), index, POINTS)


def depth(stratum: Stratum, index: int, stratum_streams: Streams) -> float:
    """Return the depth that a row is dealt, by the knob ``depth``."""
    if stratum.knob("depth", DEPTH["depth"][0]) == "grid":
        return point(stratum, index, stratum_streams) / (POINTS - 1)
    return spread(stratum_streams.of("depth"), _block(stratum), index)


def dealt(depth: object, stratum: Stratum) -> dict[str, tuple[object, int]]:
    """Return what a task with these depths deals: points of the grid, if that is what it has."""
    return {"point": (depth, POINTS)} if stratum.knob("depth", DEPTH["depth"][0]) == "grid" else {}


def first_line(depth: float) -> float:
    """Return what the first line of the body scores: on a grid it answers in one of six rows."""
    return float(depth == 0)


def _block(stratum: Stratum) -> int:
    """Return over how many rows in turn depths are even."""
    return POINTS if is_crossed(stratum) else stratum.rows
