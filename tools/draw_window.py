"""Draw a window for the README: ``python tools/draw_window.py outputs/v3.0.0/o200k``.

The picture shows a real row of 32K tokens with all parts to scale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from carrara import open_split
from pipeline.artifacts.split import Selection, Split
from pipeline.rows import Row

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "window.svg"
FAMILY, SUBTASK, COMPLEXITY, LENGTH = "bio", "multi_standard", 5, 32_768

WIDTH, HEIGHT, TOP, TALL = 400, 420, 76, 312
BAR, BROAD, APART = 104, 62, 20
STYLE = """
  text { font: 17px system-ui, sans-serif; fill: #1f2328 }
  text.head { font-weight: 600; font-size: 19px } text.soft { fill: #59636e; font-size: 16px }
  .right { text-anchor: end }
  .filler { fill: #d5dae0 } .needle, text.needle { fill: #c04a00 } .decoy, text.decoy { fill: #0067a8 }
  .frame { fill: #59636e } .reply { fill: #fefefe; stroke: #59636e } path { fill: none; stroke: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } text.soft { fill: #9198a1 } .filler { fill: #3d444d } .frame { fill: #9198a1 }
    .needle, text.needle { fill: #ff9a5c } .decoy, text.decoy { fill: #6cb0f5 }
    .reply { fill: #0d1117; stroke: #9198a1 } path { stroke: #656c76 }
  }
"""


def picture(split: Split, length: int = LENGTH) -> str:
    """Return an SVG of the first row of the given length, 400 wide so that it can be read on a telephone."""
    choice = Selection((FAMILY,), (SUBTASK,), lengths=(length,), complexities=(COMPLEXITY,), limit=1)
    row = next(split.rows(selection=choice))
    label = f"A window of {row['context_tokens']:,} tokens, filled to the last one, with needles at their depths"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(label, quote=True)}">',
        f"<style>{STYLE}</style>",
        *_window(row),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _window(row: Row) -> Iterable[str]:
    """Yield the bar of a row, with labels of its parts on the right and its decoys on the left."""
    window: int = row["context_tokens"]

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


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:.1f}">{escape(text)}</text>'


def _rect(kind: str, x: float, y: float, wide: float, tall: float) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:.1f}" width="{wide:g}" height="{tall:.1f}"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(open_split(Path(sys.argv[1]))), encoding="ascii")
    print(f"wrote {PICTURE}", file=sys.stderr)
