"""The pictures of results/: each model's score by length and by subtask, beside guessing and naive baselines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import log2
from typing import NamedTuple

from pipeline.rows import kilo

WIDTH, LEFT, RIGHT = 400, 138, 376
HEAD, LINE, BETWEEN = 30, 20, 9
"""Heights of the first line, of a line of the legend, and of a model's line within a subtask."""
CURVES, EDGE, ASIDE = 420, 52, 5
"""The height of the picture by length, the place of its axis, and the pixels between points of two models."""
MARKS = (
    '<circle r="4"/>',
    '<rect x="-3.5" y="-3.5" width="7" height="7"/>',
    '<path d="M0 -4.5 l4.5 8 h-9 z"/>',
    '<path d="M0 -5 l5 5 l-5 5 l-5 -5 z"/>',
)
"""The marks of models, the smallest model first."""
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2328 } text.head { font-weight: 600; font-size: 16px }
  text.soft { fill: #59636e } .right { text-anchor: end } .middle { text-anchor: middle }
  path.grid { stroke: #d5dae0 } path.guess { stroke: #6e7781; stroke-width: 2 }
  path.naive { stroke: #6e7781; stroke-width: 2; stroke-dasharray: 3 3 }
  .m0 { fill: #8250df; stroke: #8250df } .m1 { fill: #c04a00; stroke: #c04a00 }
  .m2 { fill: #007a5a; stroke: #007a5a } .m3 { fill: #0067a8; stroke: #0067a8 }
  path.ends { stroke-width: 1.5; opacity: 0.5 } path.curve { fill: none; stroke-width: 2 }
  path.faint { fill: none; opacity: 0.7 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } text.soft { fill: #9198a1 } path.grid { stroke: #3d444d }
    path.guess, path.naive { stroke: #9198a1 } .m0 { fill: #bc9bff; stroke: #bc9bff }
    .m1 { fill: #ff9a5c; stroke: #ff9a5c } .m2 { fill: #4fc99a; stroke: #4fc99a } .m3 { fill: #6cb0f5; stroke: #6cb0f5 }
  }
"""


class Point(NamedTuple):
    """A score with its interval."""

    mean: float
    low: float
    high: float


Curve = Sequence[tuple[int, Point]]
"""Scores by length in tokens."""
Level = Sequence[tuple[int, float]]
"""What needs no model, by length in tokens."""


class Subtask(NamedTuple):
    """A line of the picture: a point for each model, or None, then guessing and the best naive baseline."""

    name: str
    points: Sequence[Point | None]
    guessing: float
    naive: float | None


def by_length(title: str, models: Sequence[tuple[str, Curve]], guessing: Level, naive: Level) -> str:
    """Return an SVG of scores over length, 400 wide so that it can be read on a telephone.

    Raises:
        ValueError: if there are more models than marks.
    """
    top, bottom = HEAD + LINE * (len(models) + 2) + 22, CURVES - 32
    lengths = [length for length, _ in guessing]
    first, last = log2(lengths[0]), log2(lengths[-1])

    def x(length: int) -> float:
        return EDGE + 20 + (RIGHT - EDGE - 40) * (log2(length) - first) / ((last - first) or 1)

    def y(score: float) -> float:
        return bottom - (bottom - top) * score

    parts = [*_legend([name for name, _ in models], "m-8 0 h16")]
    for score in (0, 0.25, 0.5, 0.75, 1):
        parts += [f'<path class="grid" d="M{EDGE} {y(score):g} H{RIGHT}"/>']
        parts += [_text(EDGE - 8, y(score) + 5, f"{score:.0%}", "soft right")]
    parts += [_text(x(length), CURVES - 10, kilo(length), "soft middle") for length in lengths]
    for kind, level in (("guess", guessing), ("naive", naive)):
        parts.append(f'<path class="{kind} faint" d="{_joined([(x(at), y(score)) for at, score in level])}"/>')
    for place, (_, curve) in enumerate(models):
        aside = ASIDE * (place - (len(models) - 1) / 2)
        at = [(x(length) + aside, y(point.mean)) for length, point in curve]
        parts.append(f'<path class="curve m{place}" d="{_joined(at)}"/>')
        for (left, middle), (_, point) in zip(at, curve, strict=True):
            parts.append(f'<path class="ends m{place}" d="M{left:.1f} {y(point.low):.1f} V{y(point.high):.1f}"/>')
            parts.append(_mark(place, left, middle))
    return _svg(title, f"{title}: scores of {len(models)} models over length", CURVES, parts)


def _joined(points: Iterable[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def by_subtask(title: str, models: Sequence[str], subtasks: Sequence[Subtask]) -> str:
    """Return an SVG of scores by subtask, 400 wide so that it can be read on a telephone.

    Raises:
        ValueError: if there are more models than marks.
    """
    top = HEAD + LINE * (len(models) + 2) + 14
    tall = BETWEEN * len(models) + 12
    height = top + tall * len(subtasks) + 26
    label = f"{title}: scores of {len(models)} models in {len(subtasks)} subtasks, with guessing and naive baselines"
    parts = [*_legend(models, "m0 -8 v15"), *_axis(top, height - 26)]
    for place, subtask in enumerate(subtasks):
        parts += _line(subtask, top + tall * place, tall)
    return _svg(title, label, height, parts)


def _svg(title: str, label: str, height: float, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(label, quote=True)}">'
    )
    drawn = [head, f"<style>{STYLE}</style>", _text(10, 20, title, "head"), *parts, "</svg>"]
    return "\n".join(drawn) + "\n"


def _x(score: float) -> float:
    return LEFT + (RIGHT - LEFT) * score


def _legend(models: Sequence[str], stroke: str) -> Iterable[str]:
    """Yield the names of models beside their marks, then guessing and the baseline beside a stroke."""
    if len(models) > len(MARKS):
        raise ValueError(f"{len(models)} models, and marks for {len(MARKS)}: add some to MARKS and STYLE")
    at = HEAD
    for place, name in enumerate(models):
        at += LINE
        yield _mark(place, 20, at - 5)
        yield _text(36, at, name, "")
    for kind, name in (("guess", "guessing"), ("naive", "best naive baseline")):
        at += LINE
        yield f'<path class="{kind}" d="M20 {at - 5} {stroke}"/>'
        yield _text(36, at, name, "soft")


def _axis(top: float, bottom: float) -> Iterable[str]:
    for score in (0, 0.25, 0.5, 0.75, 1):
        yield f'<path class="grid" d="M{_x(score):g} {top} V{bottom}"/>'
        yield _text(_x(score), bottom + 18, f"{score:.0%}", "soft middle")


def _line(subtask: Subtask, top: float, tall: float) -> Iterable[str]:
    yield f'<path class="grid" d="M10 {top} H{RIGHT}"/>'
    yield _text(LEFT - 8, top + tall / 2 + 5, subtask.name, "right")
    for kind, score in (("guess", subtask.guessing), ("naive", subtask.naive)):
        if score is not None:
            yield f'<path class="{kind}" d="M{_x(score):.1f} {top + 2:g} V{top + tall - 2:g}"/>'
    for place, point in enumerate(subtask.points):
        if point is not None:
            y = top + 6 + BETWEEN * (place + 0.5)
            yield f'<path class="ends m{place}" d="M{_x(point.low):.1f} {y:.1f} H{_x(point.high):.1f}"/>'
            yield _mark(place, _x(point.mean), y)


def _mark(place: int, x: float, y: float) -> str:
    return f'<g class="m{place}" transform="translate({x:.1f} {y:.1f})">{MARKS[place]}</g>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'
