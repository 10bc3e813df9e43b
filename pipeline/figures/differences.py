"""Figures of differences between two models: a mark with its interval for each family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.figures.style import INK, PAPER, SOFT, Picture, panel, styled

WIDTH, LINE = 470, 24


@dataclass(frozen=True, slots=True)
class Gap:
    """How much better the second of two models is, from -1 to 1, with its interval; `label` is what of."""

    label: str
    mean: float
    low: float
    high: float

    @property
    def told(self) -> bool:
        """Tell whether the interval leaves out 0."""
        return not self.low <= 0 <= self.high


def difference_picture(name: str, title: str, caption: str, gaps: Sequence[Gap]) -> Picture:
    """Draw differences as marks with their intervals, first above last; filled where the interval leaves out 0."""
    least, most = min(-0.05, *(gap.low for gap in gaps)), max(0.05, *(gap.high for gap in gaps))
    with styled():
        figure, axes = panel(WIDTH, 76 + LINE * len(gaps), (104, 42, 92, 34))
        axes.axvline(0, color=SOFT, linewidth=1.2)
        for at, gap in enumerate(gaps):
            axes.hlines(at, 100 * gap.low, 100 * gap.high, color=INK, linewidth=1.4)
            axes.plot(
                [100 * gap.mean], [at], marker="D" if not at else "o", markersize=6, color=INK if gap.told else PAPER,
                markeredgecolor=INK, markeredgewidth=1.2,
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
