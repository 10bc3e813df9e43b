"""Heat maps of scores: depth of the needle by length, with how sure each cell is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.figures.builds import bare, cell, shade
from pipeline.figures.style import INK, PAPER, SOFT, Picture, panel, styled
from pipeline.rows import kilo
from pipeline.terminal.numbers import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, CELL = 470, 34
UNSURE, FEW = 0.4, 5
"""A cell whose interval is so wide, or whose units are fewer, has no colour: it would say more than is known."""


@dataclass(frozen=True, slots=True)
class Heat:
    """A mean score of the rows of one length whose needle lies in one bin of depth, its interval, and its units."""

    length: int
    depth: int
    mean: float
    low: float
    high: float
    units: int

    @property
    def unsure(self) -> bool:
        """Tell whether there are too few units, or too wide an interval, for a colour."""
        return self.units < FEW or self.high - self.low >= UNSURE


def heat_picture(name: str, title: str, caption: str, cells: Sequence[Heat], bins: Sequence[str]) -> Picture:
    """Draw mean scores by depth of the needle (down) and length (across), in percent, each above its interval.

    Where units are few, their number stands in its place. Unsure cells are framed, not filled; a dash stands where no
    row is.
    """
    lengths = sorted({each.length for each in cells})
    means = {(each.length, each.depth): each for each in cells}
    with styled():
        figure, axes = panel(WIDTH, 76 + CELL * len(bins), (80, 42, 12, 34))
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
