"""Draw the pictures of the README from a split: ``python tools/draw_front.py outputs/v3.0.0/o200k``.

The left shows the window of a real row of 32K tokens, with all parts to scale, and the right the scores of simulated
readers on the row's family. Predictions of that split in the folder of a second argument are reused.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import log2
from pathlib import Path

from carrara import open_scores, open_split
from pipeline.artifacts.split import Selection, Split
from pipeline.baselines.files import write_readings
from pipeline.executors import processes
from pipeline.rows import Row

ROOT = Path(__file__).resolve().parents[1]
PICTURE, NARROW = Path("docs/images/front.svg"), Path("docs/images/front-narrow.svg")
"""The halves of the picture beside each other, and one below the other for a telephone."""
FAMILY, SUBTASK, COMPLEXITY, LENGTH = "bio", "multi_standard", 5, 32_768
LINES = {"all": "reads all of it", "forgets": "forgets", "last32k": "reads the last 32K", "no-context": "reads nothing"}
"""The readers whose curves are drawn, and the curves' labels."""

WIDTH, HEIGHT, TOP, TALL = 820, 440, 76, 312
HALF = 404
"""The width of the left half."""
BAR, BROAD = 104, 62
LEFT, RIGHT = 466, 644
K, APART = 1024, 20
STYLE = """
  text { font: 17px system-ui, sans-serif; fill: #1f2328 }
  text.head { font-weight: 600; font-size: 19px } text.soft { fill: #59636e; font-size: 16px }
  .right { text-anchor: end } .middle { text-anchor: middle }
  .filler { fill: #d5dae0 } .needle { fill: #c04a00 } .decoy { fill: #0067a8 } .frame { fill: #59636e }
  .reply { fill: #fefefe; stroke: #59636e }
  path { fill: none; stroke: #8c959f } path.grid { stroke: #d5dae0 } path.line { stroke-width: 3 }
  .c0 { stroke: #0067a8 } .c1 { stroke: #007a5a; stroke-dasharray: 3 4 } .c2 { stroke: #c04a00; stroke-dasharray: 9 4 }
  .c3 { stroke: #4d4d4d } .chance { stroke: #59636e; stroke-dasharray: 5 5 }
  text.t0 { fill: #0067a8 } text.t1 { fill: #007a5a } text.t2, text.needle { fill: #c04a00 } text.t3 { fill: #4d4d4d }
  text.decoy { fill: #0067a8 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } text.soft { fill: #9198a1 }
    .filler { fill: #3d444d } .needle, text.t2, text.needle { fill: #ff9a5c }
    .decoy, text.decoy, text.t0 { fill: #6cb0f5 }
    .frame { fill: #9198a1 } .reply { fill: #0d1117; stroke: #9198a1 } path { stroke: #656c76 }
    path.grid { stroke: #3d444d } .c0 { stroke: #6cb0f5 } .c1 { stroke: #4fc99a } .c2 { stroke: #ff9a5c }
    .c3 { stroke: #b6bec8 } .chance { stroke: #9198a1 } text.t1 { fill: #4fc99a } text.t3 { fill: #b6bec8 }
  }
"""


def pictures(split: Split, folder: Path, length: int = LENGTH) -> tuple[str, str]:
    """Return two SVGs, wide and narrow, for a split with predictions in a folder, and a row of the given length."""
    choice = Selection((FAMILY,), (SUBTASK,), lengths=(length,), complexities=(COMPLEXITY,), limit=1)
    row = next(split.rows(selection=choice))
    window, chart = "\n".join(_window(row)), "\n".join(_chart(*_curves(split, folder)))
    label = (
        f"A window of {row['context_tokens']:,} tokens, filled to the last one, with needles at their depths, "
        f"and scores of {len(LINES)} simulated readers over length."
    )

    def drawn(width: int, height: int, chart: str) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(label, quote=True)}">'
        )
        return "\n".join([head, f"<style>{STYLE}</style>", window, chart, "</svg>"]) + "\n"

    below = f'<g transform="translate({-HALF} {HEIGHT})">\n{chart}\n</g>'
    return drawn(WIDTH, HEIGHT, chart), drawn(WIDTH - HALF, 2 * HEIGHT, below)


def _window(row: Row) -> Iterable[str]:
    """Yield the bar of a row, with labels of its parts on the right and its decoys on the left."""
    window = row["context_tokens"]

    def at(tokens: float) -> float:
        return TOP + TALL * tokens / window

    needles = [needle for needle in row["needles"] if needle["role"] == "relevant"]
    decoys = [needle for needle in row["needles"] if needle["role"] == "decoy"]
    sent = row["prompt_tokens"] + row["template_tokens"]
    share = len(row["prompt"][: row["question_start"]]) / len(row["prompt"])
    question = sent - (1 - share) * row["prompt_tokens"]
    yield _text(28, 32, "One window, filled to the token", "head")
    yield _text(28, 54, f"{window:,} tokens = prompt + template + reply", "soft")
    yield _rect("filler", BAR, TOP, BROAD, TALL)
    yield _rect("frame", BAR, TOP, BROAD, max(at(_opening(row)) - TOP, 1))
    yield _rect("frame", BAR, at(question), BROAD, max(at(sent) - at(question), 1))
    yield _rect("reply", BAR, at(sent), BROAD, TOP + TALL - at(sent))
    for needle in decoys:
        yield _rect("decoy", BAR - 8, at(needle["token_start"]) - 0.5, 8, 2)
    for needle in needles:
        yield _rect("needle", BAR, at(needle["token_start"]) - 1, BROAD, 3)
    if decoys:
        yield _text(BAR - 14, TOP + TALL / 2 - 10, f"{len(decoys)}", "decoy right")
        yield _text(BAR - 14, TOP + TALL / 2 + 9, "decoys", "decoy right")
    labels = [(at(0), "instructions", "soft"), (at(question), "questions", "soft")]
    labels += [(at(one["token_start"]), f"needle at depth {one['depth']:.2f}", "needle") for one in needles]
    labels.append(
        (at(_widest([needle["token_start"] for needle in needles], question)), "filler: other people", "soft")
    )
    labels.append((at((sent + window) / 2), f"room for the reply: {row['max_new_tokens']}", "soft"))
    for (y, label, kind), shown in _spread(sorted(labels)):
        edge = BAR + BROAD
        yield f'<path d="M{edge + 2:g} {y:.1f} L{edge + 20:g} {shown:.1f} H{edge + 26:g}"/>'
        yield _text(edge + 32, shown + 5, label, kind)


def _opening(row: Row) -> float:
    """Estimate the tokens before the body from the share of characters."""
    start = min(needle["char_start"] for needle in row["needles"])
    heading = row["prompt"].rfind(":\n", 0, start) + 2
    return float(row["prompt_tokens"] * heading / len(row["prompt"]))


def _widest(marks: Sequence[int], end: float) -> float:
    """Return the middle of the longest gap between marks, in tokens."""
    gaps = [(after - before, (after + before) / 2) for before, after in pairwise([0, *sorted(marks), end])]
    return max(gaps)[1]


def _spread(labels: Sequence[tuple[float, str, str]]) -> list[tuple[tuple[float, str, str], float]]:
    """Return labels with heights at least APART from each other, and as near as possible to their own."""
    heights = [label[0] for label in labels]
    heights[0] = max(heights[0], TOP)
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + APART)
    heights[-1] = min(heights[-1], TOP + TALL + 12)
    for place in range(len(heights) - 2, -1, -1):
        heights[place] = min(heights[place], heights[place + 1] - APART)
    return list(zip(labels, heights, strict=True))


def _curves(split: Split, folder: Path) -> tuple[dict[str, list[tuple[int, float]]], list[tuple[int, float]]]:
    """Return the scores of each reader and chance, by length."""
    curves: dict[str, list[tuple[int, float]]] = {}
    chance: list[tuple[int, float]] = []
    for name in LINES:
        cells = open_scores(split, folder / f"{name}.jsonl").frame("family", "length").to_dict("records")
        own = [cell for cell in cells if cell["family"] == FAMILY]
        curves[name] = [(cell["length"], cell["mean"]) for cell in own]
        chance = [(cell["length"], cell["chance"]) for cell in own]
    return curves, chance


def _chart(curves: Mapping[str, Sequence[tuple[int, float]]], chance: Sequence[tuple[int, float]]) -> Iterable[str]:
    """Yield axes, curves and their labels."""
    lengths = [length for length, _ in chance]
    first, last = log2(lengths[0]), log2(lengths[-1])

    def x(length: int) -> float:
        return LEFT + (RIGHT - LEFT) * (log2(length) - first) / ((last - first) or 1)

    def y(score: float) -> float:
        return TOP + TALL * (1 - score)

    yield _text(LEFT - 48, 32, "Readers with stated weaknesses", "head")
    yield _text(LEFT - 48, 54, f"score on {FAMILY} by length in tokens", "soft")
    for score in (0, 0.25, 0.5, 0.75, 1):
        yield f'<path class="grid" d="M{LEFT} {y(score):g} H{RIGHT}"/>'
        yield _text(LEFT - 8, y(score) + 5, f"{score:.0%}", "soft right")
    for length in lengths[:: 2 if len(lengths) > 4 else 1]:
        yield _text(x(length), TOP + TALL + 27, f"{length // K}K", "soft middle")
    ends = []
    for place, (name, points) in enumerate([*curves.items(), ("chance", chance)]):
        kind = f"line c{place}" if name in LINES else "line chance"
        yield f'<path class="{kind}" d="M{" L".join(f"{x(at):.1f} {y(score):.1f}" for at, score in points)}"/>'
        ends.append((y(points[-1][1]), LINES.get(name, "chance"), f"t{place}" if name in LINES else "soft"))
    for (_, label, kind), shown in _spread(sorted(ends)):
        yield _text(RIGHT + 8, shown + 5, label, kind)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:.1f}">{escape(text)}</text>'


def _rect(kind: str, x: float, y: float, wide: float, tall: float) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:.1f}" width="{wide:g}" height="{tall:.1f}"/>'


def main(arguments: Sequence[str]) -> None:
    """Draw the picture from a split."""
    split = open_split(Path(arguments[0]))
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(arguments[1] if arguments[1:] else empty)
        owed = [name for name in LINES if not (folder / f"{name}.jsonl").exists()]
        write_readings(split, Selection((FAMILY,)), owed, folder, processes(os.cpu_count() or 1))
        for path, drawn in zip((PICTURE, NARROW), pictures(split, folder), strict=True):
            (ROOT / path).write_text(drawn, encoding="ascii")
            print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
