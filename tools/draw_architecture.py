"""Draw `docs/architecture.md`'s picture and table of rooms from the imports: ``python tools/draw_architecture.py``.

A room is a module or a folder of `pipeline`. A test draws both again and compares, so that they stay true.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = Path("docs/images/rooms.svg")
PAGE = Path("docs/architecture.md")
START, STOP = "<!-- rooms -->\n", "<!-- end of rooms -->\n"

WIDTH, BOX, GAP, ROW, TOP = 1080, 118, 14, 84, 20
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
  text.floor { text-anchor: start; fill: #59636e; font-size: 12px }
  rect { fill: #f6f8fa; stroke: #59636e } rect.folder { fill: #dbe9f6; stroke: #2f6fab }
  path { fill: none; stroke: #59636e; stroke-width: 1; opacity: .55 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } text.floor { fill: #9198a1 }
    rect { fill: #21262d; stroke: #9198a1 } rect.folder { fill: #16324f; stroke: #6cb0f5 }
    path { stroke: #9198a1 }
  }
"""


@dataclass(frozen=True)
class Room:
    """A module or folder at the root of the package: its name, first docstring line, and the rooms it imports."""

    name: str
    is_folder: bool
    says: str
    imports: frozenset[str]


def rooms(root: Path = ROOT) -> dict[str, Room]:
    """Return every room of the package by name; templates that run inside other programs are none of it."""
    found = {}
    for path in sorted((root / "pipeline").iterdir()):
        files = [p for p in sorted(path.rglob("*.py")) if "templates" not in p.parts] if path.is_dir() else [path]
        face = path / "__init__.py" if path.is_dir() else path
        if path.suffix not in ("", ".py") or not files or path.name == "__init__.py":
            continue
        tree = ast.parse(face.read_text(encoding="utf-8"))
        imported = frozenset(name for file in files for name in _imports(file)) - {path.stem}
        found[path.stem] = Room(path.stem, path.is_dir(), (ast.get_docstring(tree) or "").split("\n")[0], imported)
    return {name: Room(r.name, r.is_folder, r.says, r.imports & found.keys()) for name, r in found.items()}


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("pipeline.")}
        elif isinstance(node, ast.ImportFrom) and node.module == "pipeline":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pipeline."):
            names.add((node.module or "").split(".")[1])
    return names


def floors(found: dict[str, Room]) -> dict[str, int]:
    """Return the floor of every room: one above the highest room that it imports.

    Raises:
        ValueError: naming a room that imports itself over others.
    """
    known: dict[str, int] = {}

    def floor(name: str, above: tuple[str, ...]) -> int:
        if name in above:
            raise ValueError(f"imports run in a circle: {' > '.join((*above, name))}")
        if name not in known:
            known[name] = 1 + max((floor(below, (*above, name)) for below in sorted(found[name].imports)), default=0)
        return known[name]

    for name in found:
        floor(name, ())
    return known


def direct(found: dict[str, Room]) -> list[tuple[str, str]]:
    """Return the imports that no longer way implies: what an arrow is drawn for."""
    reach: dict[str, frozenset[str]] = {}

    def below(name: str) -> frozenset[str]:
        if name not in reach:
            own = found[name].imports
            reach[name] = own.union(*(below(each) for each in own)) if own else own
        return reach[name]

    return [
        (name, other)
        for name, room in found.items()
        for other in sorted(room.imports)
        if not any(other in below(between) for between in room.imports)
    ]


def picture(found: dict[str, Room]) -> str:
    """Return the SVG: a row for each floor, the top one first, and an arrow down for every direct import."""
    at = floors(found)
    highest = max(at.values())
    places: dict[str, tuple[float, float]] = {}
    boxes = []
    for level in range(highest, 0, -1):
        row = sorted(name for name in found if at[name] == level)
        y = TOP + (highest - level) * ROW
        left = (WIDTH - len(row) * (BOX + GAP) + GAP) / 2
        boxes.append(f'<text class="floor" x="4" y="{y + 21}">{level}</text>')
        for place, name in enumerate(row):
            x = left + place * (BOX + GAP)
            places[name] = (x + BOX / 2, y)
            kind = ' class="folder"' if found[name].is_folder else ""
            boxes.append(f'<rect{kind} x="{x:g}" y="{y}" width="{BOX}" height="32" rx="5"/>')
            boxes.append(
                f'<text x="{x + BOX / 2:g}" y="{y + 21}">{escape(name)}{"/" if found[name].is_folder else ""}</text>'
            )
    lines = [_arrow(places[start], places[end]) for start, end in direct(found)]
    height = TOP + highest * ROW
    title = "The rooms of the package by floor; arrows point from a room to the rooms that it imports"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *lines, *boxes, "</svg>"]) + "\n"


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    bend = (y2 - y1 - 32) / 2
    return f'<path d="M{x1:g} {y1 + 32} C{x1:g} {y1 + 32 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2}"/>'


def table(found: dict[str, Room]) -> str:
    """Return the table of rooms in Markdown, from the top floor down."""
    at = floors(found)
    lines = ["| floor | room | what it holds | imports |", "|---|---|---|---|"]
    for name in sorted(found, key=lambda each: (-at[each], each)):
        room = found[name]
        shown = f"`{name}/`" if room.is_folder else f"`{name}.py`"
        lines.append(f"| {at[name]} | {shown} | {room.says} | {', '.join(sorted(room.imports)) or '-'} |")
    return "\n".join(lines) + "\n"


def drawn(root: Path = ROOT) -> dict[Path, str]:
    """Return the files that this script writes, as they should be."""
    found = rooms(root)
    page = (root / PAGE).read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(STOP)
    return {PICTURE: picture(found), PAGE: f"{before}{START}\n{table(found)}\n{STOP}{after}"}


if __name__ == "__main__":
    for written, text in drawn().items():
        (ROOT / written).write_text(text, encoding="utf-8")
        print(f"wrote {written}", file=sys.stderr)
