"""The depth of a single answer: on a grid of six depths (HELMET, section 2.2 and appendix B), or anywhere.

With the knob ``crossed``, six consecutive rows ask the same question about the same text, and differ only in the depth
of the answer, as in HELMET. This separates the effect of depth from that of the question. The six draw everything but
the depth from the streams that `shared_by_six` returns.
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
    """Return whether six consecutive rows ask the same question."""
    return bool(stratum.knob("crossed", CROSSED["crossed"][0]))


def question(stratum: Stratum, index: int) -> int:
    """Return the number of a row's question in its stratum."""
    return index // POINTS if is_crossed(stratum) else index


def shared_by_six(stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Streams:
    """Return the streams for a row's question and haystack: its own, or with ``crossed`` those of six rows."""
    return Streams((*stratum_streams.path, "crossed", question(stratum, index))) if is_crossed(stratum) else row_streams


def point(stratum: Stratum, index: int, stratum_streams: Streams) -> int:
    """Return which point of the grid a row is dealt; rows that share a question cover all points."""
    return deal(stratum_streams.of("point"), _block(stratum), index, POINTS)


def depth(stratum: Stratum, index: int, stratum_streams: Streams) -> float:
    """Return the depth of a row's answer, according to the knob ``depth``."""
    if stratum.knob("depth", DEPTH["depth"][0]) == "grid":
        return point(stratum, index, stratum_streams) / (POINTS - 1)
    return spread(stratum_streams.of("depth"), _block(stratum), index)


def dealt(depth: object, stratum: Stratum) -> dict[str, tuple[object, int]]:
    """Return what a task with these depths deals: points of the grid, or nothing without one."""
    return {"point": (depth, POINTS)} if stratum.knob("depth", DEPTH["depth"][0]) == "grid" else {}


def first_line(depth: float) -> float:
    """Return the score of the first line of the body: on the grid it is the answer in one of six rows."""
    return float(depth == 0)


def _block(stratum: Stratum) -> int:
    """Return the number of consecutive rows over which depths are even."""
    return POINTS if is_crossed(stratum) else stratum.rows
