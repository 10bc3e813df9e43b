"""Figures of scores: curves over length, one line for each model, and heat maps of depth by length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.figures.builds import bare, cell
from pipeline.figures.style import DASHES, MARKERS, SERIES, SOFT, Picture, kilo, panel, percent, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 470, 300
"""CSS pixels of one panel: three stand beside each other on a desk, one fits a phone."""

LABEL = 15
"""Letters of a label beside its line; longer ones lose their middle."""

APART = 0.062
"""Least distance of two labels, as a share of the height."""


GUESSES: tuple[Any, ...] = ((0, (1, 2)), (0, (7, 2, 1, 2)))
"""Dashes of guessers' lines."""


@dataclass(frozen=True, slots=True)
class Point:
    """A mean score at a length with its interval, all from 0 to 1, and how many units it is the mean of."""

    length: int
    mean: float
    low: float
    high: float
    units: int


@dataclass(frozen=True, slots=True)
class Line:
    """A model's points in order of length; `style` is which color, dash and marker it has on every figure."""

    label: str
    style: int
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Guess:
    """What a guesser scores at each length, drawn as a thin grey line; `style` is which dash it has."""

    label: str
    style: int
    means: Mapping[int, float]


def curve_picture(
    name: str, title: str, caption: str, lines: Sequence[Line], guesses: Sequence[Guess] = (), across: str = "length"
) -> Picture:
    """Draw scores over length with bands of confidence, one line for each model, and what guessers score.

    `across` is what the axis of lengths is called.
    """
    guesses = [guess for guess in guesses if guess.means]
    lengths = {point.length for line in lines for point in line.points}
    lengths |= {length for guess in guesses for length in guess.means}
    with styled():
        figure, axes = panel(WIDTH, HEIGHT, (54, 42, 128, 34))
        for guess in guesses:
            _guess(axes, guess)
        for line in lines:
            _line(axes, line)
        _frame(axes, title, sorted(lengths), f"{across}, tokens")
        _labels(axes, lines, guesses)
    return Picture(name, caption, _curve_words(title, lines, guesses), figure)


def _line(axes: Axes, line: Line) -> None:
    """Draw a line with its band; a single point gets a bar in place of a band."""
    color, dash = SERIES[line.style % 6], DASHES[line.style % 6]
    marker = MARKERS[line.style % 6]
    at = [point.length for point in line.points]
    low, high = ([100 * value for value in ends] for ends in zip(*((p.low, p.high) for p in line.points), strict=True))
    if len(at) > 1:
        axes.fill_between(at, low, high, color=color, alpha=0.13, linewidth=0)
    axes.vlines(at, low, high, color=color, linewidth=1, alpha=0.55)
    means = [100 * point.mean for point in line.points]
    axes.plot(at, means, color=color, linestyle=dash, marker=marker, markeredgecolor="none")


def _guess(axes: Axes, guess: Guess) -> None:
    """Draw a guesser's line from one edge of the plot to the other."""
    lengths = sorted(guess.means)
    ends = [lengths[0], *lengths, lengths[-1]]
    at = [lengths[0] / 2, *lengths, lengths[-1] * 2]
    dash = GUESSES[guess.style % len(GUESSES)]
    axes.plot(at, [100 * guess.means[length] for length in ends], color=SOFT, linewidth=1.1, linestyle=dash)


def _frame(axes: Axes, title: str, lengths: Sequence[int], across: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set(title=title, ylim=(-2, 102), xlabel=across, ylabel="score, %")
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_xticks(lengths, [kilo(length) for length in lengths])
    axes.minorticks_off()
    if lengths:
        axes.set_xlim(lengths[0] / 1.19, lengths[-1] * 1.19)


def _labels(axes: Axes, lines: Sequence[Line], guesses: Sequence[Guess]) -> None:
    """Write each line's name beside its end, in its color, pushed apart where ends are close."""
    ends = [
        (line.points[-1].mean, f"{MARKS[line.style % 6]} {short(line.label)}", SERIES[line.style % 6])
        for line in lines
        if line.points
    ]
    ends += [(guess.means[max(guess.means)], guess.label, SOFT) for guess in guesses]
    ends.sort(key=lambda end: end[:2])
    for (_, text, color), place in zip(ends, spaced([mean for mean, _, _ in ends]), strict=True):
        where = (1.02, (2 + 100 * place) / 104)
        axes.text(*where, text, transform=axes.transAxes, va="center", color=color, fontsize=9.5)


MARKS = ("\u25cf", "\u25a0", "\u25b2", "\u25c6", "\u25bc", "\u271a")
"""The signs of MARKERS in running text."""


def short(label: str) -> str:
    """Return a label that fits beside a line: the last part of a path, without its middle where it is long.

    >>> short("org/a-model-with-a-very-long-name-8b")
    'a-mode...ame-8b'
    """
    name = label.rstrip("/").rpartition("/")[2] or label
    half = (LABEL - 3) // 2
    return name if len(name) <= LABEL else f"{name[: LABEL - 3 - half]}...{name[-half:]}".replace("\n", " ")


def spaced(places: Sequence[float]) -> list[float]:
    """Return ascending places at least APART from each other, as near as may be to where they were, within 0 to 1.

    >>> spaced([0.1, 0.5, 0.5])
    [0.1, 0.5, 0.562]
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + APART) if moved else place)
    top = 1.0
    for at in range(len(moved) - 1, -1, -1):
        moved[at] = min(moved[at], top)
        top = moved[at] - APART
    return [round(place, 6) for place in moved]


def _curve_words(title: str, lines: Sequence[Line], guesses: Sequence[Guess]) -> str:
    ends = [(line.label, {point.length: point.mean for point in line.points}) for line in lines]
    ends += [(guess.label, dict(guess.means)) for guess in guesses]
    parts = [f"{label}: {_ends(means)}." for label, means in ends if means]
    return " ".join([f"Curves of score over length: {title}.", *parts])


def _ends(means: Mapping[int, float]) -> str:
    lengths = sorted({min(means), max(means)})
    return ", ".join(f"{percent(means[length])} at {kilo(length)}" for length in lengths)


@dataclass(frozen=True, slots=True)
class Heat:
    """A mean score of the rows of one length whose needle lies in one bin of depth, and how many they are."""

    length: int
    depth: int
    mean: float
    units: int


def heat_picture(name: str, title: str, caption: str, cells: Sequence[Heat], bins: Sequence[str]) -> Picture:
    """Draw mean scores by depth of the needle (down) and length (across), in percent; a dash where no row is."""
    lengths = sorted({each.length for each in cells})
    means = {(each.length, each.depth): each for each in cells}
    with styled():
        figure, axes = panel(WIDTH, 76 + 26 * len(bins), (80, 42, 12, 34))
        axes.set(title=title, xlim=(0, len(lengths)), ylim=(len(bins), 0), xlabel="length, tokens", ylabel="depth")
        for column, length in enumerate(lengths):
            for row in range(len(bins)):
                found = means.get((length, row))
                words = f"{100 * found.mean:.0f}" if found else "-"
                cell(axes, (column, row), found.mean if found else 0, 1, words if found else None)
        axes.set_xticks([at + 0.5 for at in range(len(lengths))], [kilo(length) for length in lengths])
        axes.set_yticks([at + 0.5 for at in range(len(bins))], bins)
        bare(axes)
    return Picture(name, caption, _heat_words(title, cells, bins), figure)


def _heat_words(title: str, cells: Sequence[Heat], bins: Sequence[str]) -> str:
    best, worst = max(cells, key=lambda each: each.mean), min(cells, key=lambda each: each.mean)
    ends = (
        f"{word} {percent(each.mean)} at {kilo(each.length)} and depth {bins[each.depth]}"
        for word, each in (("highest", best), ("lowest", worst))
    )
    return (
        f"Heat map of score by depth and length: {title}; {', '.join(ends)}. The higher the score, the darker the cell."
    )
