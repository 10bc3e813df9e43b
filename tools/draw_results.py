"""The picture of results/: each model's score by subtask, with guessing and the best naive baseline beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, LEFT, RIGHT = 400, 138, 376
HEAD, LINE, BETWEEN = 30, 20, 9
"""Heights of the first line, of a line of the legend, and of a model's line within a subtask."""
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
  path.ends { stroke-width: 1.5; opacity: 0.5 }
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


class Subtask(NamedTuple):
    """A line of the picture: a point for each model, or None, then guessing and the best naive baseline."""

    name: str
    points: Sequence[Point | None]
    guessing: float
    naive: float | None


def picture(title: str, models: Sequence[str], subtasks: Sequence[Subtask]) -> str:
    """Return an SVG, 400 wide so that it can be read on a telephone.

    Raises:
        ValueError: if there are more models than marks.
    """
    if len(models) > len(MARKS):
        raise ValueError(f"{len(models)} models, and marks for {len(MARKS)}: add some to MARKS and STYLE")
    top = HEAD + LINE * (len(models) + 2) + 14
    tall = BETWEEN * len(models) + 12
    height = top + tall * len(subtasks) + 26
    label = f"{title}: scores of {len(models)} models in {len(subtasks)} subtasks, with guessing and naive baselines"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(label, quote=True)}">',
        f"<style>{STYLE}</style>",
        _text(10, 20, title, "head"),
        *_legend(models),
        *_axis(top, height - 26),
    ]
    for place, subtask in enumerate(subtasks):
        parts += _line(subtask, top + tall * place, tall)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(score: float) -> float:
    return LEFT + (RIGHT - LEFT) * score


def _legend(models: Sequence[str]) -> Iterable[str]:
    at = HEAD
    for place, name in enumerate(models):
        at += LINE
        yield _mark(place, 20, at - 5)
        yield _text(36, at, name, "")
    for kind, name in (("guess", "guessing"), ("naive", "best naive baseline")):
        at += LINE
        yield f'<path class="{kind}" d="M20 {at - 13} V{at + 2}"/>'
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
