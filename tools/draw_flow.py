"""Draw the data flow for `docs/concepts.md`: ``python tools/draw_flow.py``."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from pipeline.export import EXPORTS

ROOT = Path(__file__).resolve().parents[1]
PICTURE = Path("docs/images/flow.svg")

BUILD = (
    ("recipe", "one TOML"),
    ("plan", "strata, jobs"),
    ("render", "pools of filler"),
    ("sample", "structures, keys"),
    ("count", "tokens of units"),
    ("pack", "exact rows"),
    ("prove", "from the bytes"),
    ("seal", "manifest.json"),
)
USE = (
    ("freeze", "a lock"),
    ("publish", "the Hub"),
    ("export", f"{len(EXPORTS)} harnesses"),
    ("run", "your server"),
    ("score", "intervals, chance"),
    ("report", "one page"),
)
SHARED = 4
"""How many of the first stages do not depend on the tokenizer."""

WIDTH, BOX, TALL, STEP, LEFT = 1080, 112, 50, 132, 22
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
  text.small { font-size: 11px; fill: #59636e } text.note { font-size: 12px; fill: #59636e; text-anchor: start }
  rect { fill: #dbe9f6; stroke: #2f6fab }
  rect.use { fill: #f6f8fa; stroke: #59636e } rect.split { fill: #fff3d6; stroke: #9a6700 }
  path { fill: none; stroke: #59636e; stroke-width: 1.5 } path.band { stroke-dasharray: 4 4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } text.small, text.note { fill: #9198a1 }
    rect { fill: #16324f; stroke: #6cb0f5 }
    rect.use { fill: #21262d; stroke: #9198a1 } rect.split { fill: #3d2e00; stroke: #d4a72c }
    path { stroke: #9198a1 }
  }
"""


def picture() -> str:
    """Return the SVG: the build in the first row, the sealed split in the second, and its uses in the last."""
    parts = [_box(LEFT + at * STEP, 40, *stage, "") for at, stage in enumerate(BUILD)]
    parts += [_line(LEFT + at * STEP + BOX, 65, LEFT + (at + 1) * STEP, 65) for at in range(len(BUILD) - 1)]
    edge = LEFT + SHARED * STEP - (STEP - BOX) / 2
    parts.append(f'<path class="band" d="M{edge:g} 14 V112"/>')
    parts.append(f'<text class="note" x="{LEFT}" y="24">the same for every tokenizer</text>')
    parts.append(f'<text class="note" x="{edge + 10:g}" y="24">once for each tokenizer profile</text>')
    middle = (WIDTH - 300) / 2
    parts.append(f'<rect class="split" x="{middle:g}" y="140" width="300" height="{TALL}" rx="6"/>')
    parts.append('<text x="540" y="161">split</text>')
    parts.append('<text class="small" x="540" y="178">data, keys, proofs and their manifest</text>')
    end = LEFT + (len(BUILD) - 1) * STEP + BOX / 2
    parts.append(f'<path d="M{end:g} 90 V165 H{middle + 308:g}" marker-end="url(#tip)"/>')
    start = (WIDTH - (len(USE) - 1) * STEP - BOX) / 2
    for at, stage in enumerate(USE):
        x = start + at * STEP
        parts.append(_box(x, 248, *stage, "use"))
        if stage[0] in ("freeze", "publish", "export", "run"):
            parts.append(f'<path d="M540 190 V219 H{x + BOX / 2:g} V240" marker-end="url(#tip)"/>')
    for at in (3, 4):
        parts.append(_line(start + at * STEP + BOX, 273, start + (at + 1) * STEP, 273))
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" style="fill:#59636e;stroke:none"/></marker></defs>'
    )
    label = ", ".join(name for name, _ in (*BUILD, *USE))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 310" role="img" aria-label="{label}">'
    return "\n".join([head, f"<style>{STYLE}</style>", tip, *parts, "</svg>"]) + "\n"


def _box(x: float, y: float, name: str, says: str, kind: str) -> str:
    middle = x + BOX / 2
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{BOX}" height="{TALL}" rx="6"/>'
        f'<text x="{middle:g}" y="{y + 21:g}">{escape(name)}</text>'
        f'<text class="small" x="{middle:g}" y="{y + 38:g}">{escape(says)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:g} {y1:g} L{x2 - 4:g} {y2:g}" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    (ROOT / PICTURE).write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE}", file=sys.stderr)
