"""Figures of scores over length: a line for each model, with gaps where replies are missing, and guessers in grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counted
from math import nan
from typing import TYPE_CHECKING, Any

from pipeline.figures.builds import bare, cell, shade
from pipeline.figures.style import (
    ABOVE,
    BELOW,
    DASHES,
    INK,
    LEFT,
    MARKERS,
    PANEL,
    PAPER,
    SERIES,
    SOFT,
    Picture,
    Size,
    fitted,
    panel,
    spaced,
    styled,
)
from pipeline.rows import kilo
from pipeline.terminal.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GUESSES: tuple[Any, ...] = (
    (0, (1, 2)), (0, (7, 2, 1, 2)), (0, (3, 2)), (0, (9, 3)), (0, (1, 1, 5, 1)), (0, (2, 4)), (0, (5, 1, 5, 4)),
    (0, (1, 5)), (0, (12, 2, 2, 2)),
)  # fmt: skip
"""Dashes of the grey lines: chance, the best constant, and simulated readers."""


@dataclass(frozen=True, slots=True)
class Point:
    """A mean score at a length with its interval, all from 0 to 1; the mean is None if too few rows have a reply.

    `rows` is the number of rows asked, `answered` the number of those with a reply; None means all.
    """

    length: int
    mean: float | None
    low: float | None
    high: float | None
    rows: int
    answered: int | None = None

    @property
    def replies(self) -> int:
        """The number of rows with a reply."""
        return self.rows if self.answered is None else self.answered


@dataclass(frozen=True, slots=True)
class Line:
    """A model's points in order of length.

    `style` is the index of its colour, dash and marker in every figure, `reach` the effective length (ringed) or 0.
    """

    label: str
    style: int
    points: Sequence[Point]
    reach: int = 0

    @property
    def means(self) -> dict[int, float]:
        """The mean at each length that has one."""
        return {point.length: point.mean for point in self.points if point.mean is not None}


@dataclass(frozen=True, slots=True)
class Guess:
    """The scores of a guesser or simulated reader by length: a thin grey line; `style` is the index of its dash."""

    label: str
    style: int
    means: Mapping[int, float]


def curve_picture(
    name: str,
    title: str,
    caption: str,
    lines: Sequence[Line],
    guesses: Sequence[Guess] = (),
    across: str = "length",
    size: Size = PANEL,
) -> Picture:
    """Draw scores over length: a line with a confidence band for each model, and the scores of guessers.

    `across` is the name of the horizontal axis.
    """
    guesses = [guess for guess in guesses if guess.means]
    lengths = {point.length for line in lines for point in line.points}
    lengths |= {length for guess in guesses for length in guess.means}
    with styled():
        figure, axes = panel(size.width, size.height, (LEFT, BELOW, size.right, ABOVE))
        for guess in guesses:
            _guess(axes, guess)
        for line in lines:
            _line(axes, line)
        _gaps(axes, lines)
        _frame(axes, title, sorted(lengths), f"{across}, tokens")
        _labels(axes, lines, guesses, size)
    return Picture(name, caption, _curve_words(title, lines, guesses), figure)


def _line(axes: Axes, line: Line) -> None:
    """Draw a line with its band, broken where there is no score; markers are hollow where some replies are missing."""
    color, marker = SERIES[line.style % 6], MARKERS[line.style % 6]
    at = [point.length for point in line.points]
    low, mean, high = (
        [nan if value is None else 100 * value for value in values]
        for values in zip(*((point.low, point.mean, point.high) for point in line.points), strict=True)
    )
    if len(line.means) > 1:
        axes.fill_between(at, low, high, color=color, alpha=0.13, linewidth=0)
    axes.vlines(at, low, high, color=color, linewidth=1, alpha=0.55)
    axes.plot(at, mean, color=color, linestyle=DASHES[line.style % 6], marker=marker, markeredgecolor="none")
    hollow = [point for point in line.points if point.mean is not None and point.replies < point.rows]
    for point in hollow:
        axes.plot(
            [point.length], [100 * (point.mean or 0.0)], marker=marker, color=PAPER, markeredgecolor=color,
            linestyle="none",
        )  # fmt: skip
    if line.reach in line.means:
        axes.plot(
            [line.reach], [100 * line.means[line.reach]], marker="o", markersize=13, markerfacecolor="none",
            markeredgecolor=color, markeredgewidth=1.4, linestyle="none", clip_on=False,
        )  # fmt: skip


def _gaps(axes: Axes, lines: Sequence[Line]) -> None:
    """Write the number of replies where they are too few for a point, one model above the other.

    A line just ends at the last length that its model was asked.
    """
    free: dict[int, counted[int]] = {}
    last = max((point.length for line in lines for point in line.points), default=0)
    room = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}
    for line in lines:
        end = max((point.length for point in line.points if point.rows), default=last)
        for point in line.points:
            if point.mean is None and point.length <= end:
                at, side = (1.16 * point.length, "right") if point.length == last else (point.length, "center")
                height = 2 + 8 * next(free.setdefault(point.length, counted()))
                count = f"{point.replies}/{point.rows}" if point.rows else "not asked"
                text = f"{MARKS[line.style % 6]} {count}"
                axes.text(at, height, text, ha=side, color=SERIES[line.style % 6], fontsize=8.5, bbox=room)


def _guess(axes: Axes, guess: Guess) -> None:
    """Draw a guesser's line from one edge of the plot to the other."""
    lengths = sorted(guess.means)
    ends = [lengths[0], *lengths, lengths[-1]]
    at = [lengths[0] / 2, *lengths, lengths[-1] * 2]
    dash = GUESSES[guess.style % len(GUESSES)]
    axes.plot(
        at,
        [100 * guess.means[length] for length in ends],
        color=SOFT,
        linewidth=1.1 if guess.style < 2 else 0.8,
        linestyle=dash,
    )


def _frame(axes: Axes, title: str, lengths: Sequence[int], across: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set(title=title, ylim=(-2, 102), xlabel=across, ylabel="score, %")
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_xticks(lengths, [kilo(length) for length in lengths])
    axes.minorticks_off()
    if lengths:
        axes.set_xlim(lengths[0] / 1.19, lengths[-1] * 1.19)


def _labels(axes: Axes, lines: Sequence[Line], guesses: Sequence[Guess], size: Size) -> None:
    """Write each line's label beside its end, in its colour, and separate labels that would overlap."""
    ends = [
        (line.means[max(line.means)], f"{MARKS[line.style % 6]} {fitted(line.label, size)}", line.style % 6)
        for line in lines
        if line.means
    ]
    colors = [SERIES[style] for _, _, style in ends] + [SOFT] * len(guesses)
    found = [(mean, text) for mean, text, _ in ends]
    found += [(guess.means[max(guess.means)], fitted(guess.label, size)) for guess in guesses]
    placed = sorted(zip(found, colors, strict=True), key=lambda end: end[0])
    for ((_, text), color), place in zip(placed, spaced([end[0][0] for end in placed], size.apart), strict=True):
        where = (1.02, (2 + 100 * place) / 104)
        axes.text(*where, text, transform=axes.transAxes, va="center", color=color, fontsize=9.5)


MARKS = ("\u25cf", "\u25a0", "\u25b2", "\u25c6", "\u25bc", "\u271a")
"""MARKERS as characters, for text."""


def _curve_words(title: str, lines: Sequence[Line], guesses: Sequence[Guess]) -> str:
    ends = [(line.label, line.means) for line in lines] + [(guess.label, dict(guess.means)) for guess in guesses]
    parts = [f"{label}: {_ends(means)}." for label, means in ends if means]
    parts += [
        f"{line.label}: at {kilo(point.length)} {point.replies} of {point.rows} rows have a reply."
        for line in lines
        for point in line.points
        if point.mean is None
    ]
    return " ".join([f"Curves of score over length: {title}.", *parts])


def _ends(means: Mapping[int, float]) -> str:
    lengths = sorted({min(means), max(means)})
    return ", ".join(f"{percent(means[length], 1)} at {kilo(length)}" for length in lengths)


WIDTH, LINE = 470, 24


@dataclass(frozen=True, slots=True)
class Gap:
    """How much better the second of two models is, from -1 to 1, with its interval; `label` names the rows."""

    label: str
    mean: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes 0."""
        return not self.low <= 0 <= self.high


def difference_picture(name: str, title: str, caption: str, gaps: Sequence[Gap]) -> Picture:
    """Draw differences with their intervals from top to bottom; a marker is filled if its interval excludes 0."""
    least, most = min(-0.05, *(gap.low for gap in gaps)), max(0.05, *(gap.high for gap in gaps))
    with styled():
        figure, axes = panel(WIDTH, 76 + LINE * len(gaps), (104, 42, 92, 34))
        axes.axvline(0, color=SOFT, linewidth=1.2)
        for at, gap in enumerate(gaps):
            axes.hlines(at, 100 * gap.low, 100 * gap.high, color=INK, linewidth=1.4)
            axes.plot(
                [100 * gap.mean], [at], marker="D" if not at else "o", markersize=6,
                color=INK if gap.is_significant else PAPER, markeredgecolor=INK, markeredgewidth=1.2,
            )  # fmt: skip
            axes.text(1.03, at, signed(gap.mean), transform=axes.get_yaxis_transform(), va="center", fontsize=9.5)
        axes.set(title=title, xlabel="difference, points", ylim=(len(gaps) - 0.5, -0.6))
        axes.set_xlim(102 * least, 102 * most)
        axes.set_yticks(range(len(gaps)), [gap.label for gap in gaps])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
    return Picture(name, caption, _words(title, gaps), figure)


def signed(share: float) -> str:
    """Return a difference in points, with its sign.

    >>> [signed(0.0625), signed(-0.5), signed(0.0)]
    ['+6.2', '-50.0', '0.0']
    """
    text = f"{100 * share:+.1f}"
    return text[1:] if float(text) == 0 else text


def _words(title: str, gaps: Sequence[Gap]) -> str:
    each = (f"{gap.label} {signed(gap.mean)} ({signed(gap.low)} to {signed(gap.high)})" for gap in gaps)
    return f"Differences with intervals, in points: {title}. {'; '.join(each)}."


HEAT_WIDTH, CELL = 470, 34
UNSURE, FEW = 0.4, 5
"""A cell with an interval at least this wide, or with fewer units, has no colour, which would claim too much."""


@dataclass(frozen=True, slots=True)
class Heat:
    """The mean score of the rows of one length with a needle in one bin of depth, its interval, and its units."""

    length: int
    depth: int
    mean: float
    low: float
    high: float
    units: int

    @property
    def unsure(self) -> bool:
        """Whether there are too few units, or the interval is too wide, for a colour."""
        return self.units < FEW or self.high - self.low >= UNSURE


def heat_picture(name: str, title: str, caption: str, cells: Sequence[Heat], bins: Sequence[str]) -> Picture:
    """Draw mean scores by depth of the needle (down) and length (across), in percent, each above its interval.

    If units are few, their number replaces the interval. Unsure cells are framed, not filled; cells without rows have a
    dash.
    """
    lengths = sorted({each.length for each in cells})
    means = {(each.length, each.depth): each for each in cells}
    with styled():
        figure, axes = panel(HEAT_WIDTH, 76 + CELL * len(bins), (80, 42, 12, 34))
        axes.set(title=title, xlim=(0, len(lengths)), ylim=(len(bins), 0), xlabel="length, tokens", ylabel="depth")
        for column, length in enumerate(lengths):
            for row in range(len(bins)):
                _cell(axes, (column, row), means.get((length, row)))
        axes.set_xticks([at + 0.5 for at in range(len(lengths))], [kilo(length) for length in lengths])
        axes.set_yticks([at + 0.5 for at in range(len(bins))], bins)
        bare(axes)
    return Picture(name, caption, _heat_words(title, cells, bins), figure)


def _cell(axes: Axes, place: tuple[int, int], found: Heat | None) -> None:
    from matplotlib.patches import Rectangle

    if found is None:
        cell(axes, place, 0, 1)
        return
    left, top = place
    fill = PAPER if found.unsure else shade(found.mean)
    edge, inset = (SOFT, 0.06) if found.unsure else (PAPER, 0.0)
    ink = INK if found.unsure else "#000000" if found.mean < 0.66 else "#ffffff"
    axes.add_patch(Rectangle((left + inset, top + inset), 1 - 2 * inset, 1 - 2 * inset, facecolor=fill, edgecolor=edge))
    axes.text(left + 0.5, top + 0.37, f"{100 * found.mean:.0f}", ha="center", va="center", fontsize=9.5, color=ink)
    span = f"n={found.units}" if found.units < FEW else f"{100 * found.low:.0f}-{100 * found.high:.0f}"
    axes.text(left + 0.5, top + 0.75, span, ha="center", va="center", fontsize=7.5, color=ink)


def _heat_words(title: str, cells: Sequence[Heat], bins: Sequence[str]) -> str:
    best, worst = max(cells, key=lambda each: each.mean), min(cells, key=lambda each: each.mean)
    ends = (
        f"{word} {percent(each.mean, 1)} at {kilo(each.length)} and depth {bins[each.depth]}"
        for word, each in (("highest", best), ("lowest", worst))
    )
    doubt = f"fewer than {FEW} rows or an interval of {100 * UNSURE:.0f} points"
    unsure = f"{sum(each.unsure for each in cells)} of {len(cells)} cells have {doubt}"
    shown = f"{', '.join(ends)}. The higher the score, the darker the cell; {unsure}."
    return f"Heat map of score by depth and length: {title}; {shown}"
