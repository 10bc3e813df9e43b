"""Write the tables of the docs from the registries: ``python tools/write_tables.py``.

A table is between ``<!-- table: NAME -->`` and ``<!-- end of table -->`` in a page. A test checks that all of them are
up to date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from math import sqrt
from pathlib import Path
from string import Formatter

from pipeline import tasks as registry
from pipeline.artifacts.lite import lite_counts
from pipeline.languages import CODES, language
from pipeline.profiles import load_profile, shipped_profiles
from pipeline.recipe import Recipe, load_recipe, shipped_recipes
from pipeline.rows import COLUMNS

ROOT = Path(__file__).resolve().parents[1]
MARKED = re.compile(r"(<!-- table: ([a-z_]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
K = 1024
SHIPPED = {(cell.family, cell.subtask) for name in shipped_recipes() for cell in load_recipe(name).strata}
TASKS = {place: task for place, task in registry.TASKS.items() if place in SHIPPED}
"""Tasks in shipped recipes, so that adding a task to the registry alone changes no page."""


def table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def listed(rows: Iterable[tuple[str, str]]) -> str:
    """Return a Markdown list of names with their descriptions."""
    return "\n".join(f"- {name}: {description}" for name, description in rows)


def tasks_of(family: str) -> str:
    """Every subtask of a family with what it asks, except ``-essay`` variants, which the page describes."""
    own = [task for task in TASKS.values() if task.family == family and not task.subtask.endswith("-essay")]
    rows = ((f"`{t.subtask}`", f"{t.title} ({_list(t.complexities)}; `{t.scorer}`)") for t in own)
    return f"With complexities and scorer:\n\n{listed(rows)}"


def families() -> tuple[str, ...]:
    """The families of TASKS, in registry order."""
    return tuple(dict.fromkeys(family for family, _ in TASKS))


def families_line() -> str:
    """Every family with its page, for the README."""
    links = ", ".join(f"[`{family}`](docs/tasks/{family}.md)" for family in families())
    return f"{len(families())} families with {len(TASKS)} subtasks: {links}."


def recipes() -> str:
    """Every shipped recipe with its rows and lengths."""
    rows = []
    for name in shipped_recipes():
        recipe = load_recipe(name)
        lengths = sorted({cell.length for cell in recipe.strata})
        count = sum(cell.rows for cell in recipe.strata)
        span = dict.fromkeys((_size(lengths[0]), _size(lengths[-1])))
        rows.append((f"`{name}`", f"{count:,} rows, {' to '.join(span)}"))
    return listed(rows)


def costs() -> str:
    """The rows and tokens of recipes in every size, and the width of intervals."""
    rows = []
    for name in ("smoke", "32k", "128k", "1m"):
        recipe = load_recipe(name)
        if name != "smoke":
            rows.append((f"`{name}`", "`lite`", *_cost(_lite(recipe))))
        rows.append((f"`{name}`", "default", *_cost(_counts(recipe))))
        if name == "128k":
            rows.append((f"`{name}`", "`full`", *_cost(_counts(recipe.sized("full")))))
    return table(("recipe", "size", "rows", "tokens", "headline", "one subtask, one length"), rows)


def _counts(recipe: Recipe) -> Counter[tuple[str, str, int]]:
    """Return the rows of each family, subtask and length."""
    counts = Counter[tuple[str, str, int]]()
    for cell in recipe.strata:
        counts[cell.family, cell.subtask, cell.length] += cell.total
    return counts


def _lite(recipe: Recipe) -> Counter[tuple[str, str, int]]:
    """Return the same for the size lite, with two rows per pair."""
    there = _counts(recipe)
    counts = Counter[tuple[str, str, int]]()
    for (_, *place), count in lite_counts(recipe.tier, there).items():
        family, subtask, length = place
        both = 2 if TASKS[family, subtask].paired else 1
        counts[family, subtask, length] = min(count * both, there[family, subtask, length])
    return counts


def _cost(cells: Counter[tuple[str, str, int]]) -> tuple[str, ...]:
    """Return rows, tokens, and half-widths of 95% intervals if half of the replies are right."""
    tasks = Counter((family, subtask) for family, subtask, _ in cells)
    parts = Counter(family for family, _ in tasks)
    variance = sum(0.25 / n / (len(parts) * parts[f] * tasks[f, s]) ** 2 for (f, s, _), n in cells.items())
    tokens = sum(rows * length for (_, _, length), rows in cells.items()) / 1e6
    widest = 196 * sqrt(0.25 / min(cells.values()))
    points = f"± {widest:.0f}" if widest < 50 else "none"
    return f"{cells.total():,}", f"{tokens:,.0f} M", f"± {196 * sqrt(variance):.1f}", points


def _size(length: int) -> str:
    return "1M" if length == K * K else f"{length // K}K"


def profiles() -> str:
    """Every shipped profile with its models."""
    return listed((f"`{name}`", load_profile(name).title) for name in shipped_profiles())


def calls() -> str:
    """The profiles that send tool calls."""
    able = (name for name in shipped_profiles() if load_profile(name).template.tools)
    return ", ".join(f"`{name}`" for name in able)


def windows() -> str:
    """The windows that differ from nominal lengths, each with its profiles."""
    by_window: dict[str, list[str]] = {}
    for name in shipped_profiles():
        for length, window in load_profile(name).windows:
            if length != window:
                by_window.setdefault(f"{_size(length)} is {window:,}", []).append(f"`{name}`")
    return listed((window, ", ".join(names)) for window, names in by_window.items())


def columns() -> str:
    """Every column of a row."""
    return listed((f"`{c.name}`", c.note) for c in COLUMNS)


def folders(root: Path = ROOT) -> str:
    """The folders of the package, in an order in which each imports only folders further on."""
    below = imports(root)
    layers: dict[str, int] = {}

    def layer(name: str) -> int:
        if name not in layers:
            layers[name] = 1 + max(map(layer, below[name]), default=0)
        return layers[name]

    names = [path.parent.name for path in (root / "pipeline").glob("*/__init__.py")]
    return ", ".join(f"`{name}`" for name in sorted(names, key=lambda name: (-layer(name), name)))


def imports(root: Path) -> dict[str, set[str]]:
    """Return the modules and folders of the package with those that they import, without templates."""
    imported: dict[str, set[str]] = {}
    for path in sorted((root / "pipeline").rglob("*.py")):
        own = path.relative_to(root / "pipeline").parts[0].removesuffix(".py")
        if "templates" in path.parts or own == "__init__":
            continue
        names = imported.setdefault(own, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "pipeline":
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pipeline."):
                names.add((node.module or "").split(".")[1])
    return {name: (names & imported.keys()) - {name} for name, names in imported.items()}


WHY = {
    "label": "in quotes, as it stands in the text",
    "code": "in quotes, as it stands in the text",
    "query": "in quotes, as it stands in the text",
    "status": "in quotes, as it stands in the text",
    "host": "in quotes, as it stands in the text",
    "labels": "quoted labels, with the language's list separator and no conjunction between them; "
    "the noun before them suits any number of them (Arabic has a dual)",
    "field": "in quotes, as it stands in the text",
    "key": "in quotes; hexadecimal digits",
    "value": "in quotes; hexadecimal digits",
    "district": "digits after the noun that they identify",
    "node": "hexadecimal digits after the noun that they identify",
    "count": "digits after the noun that they quantify; no counted noun follows them",
    "day": "an ISO date; the words around it suit every date",
}
"""Why a slot's value neither affects nor depends on the words around it."""


def languages() -> str:
    """The languages, by how many of their texts native readers have signed."""
    by_state: dict[str, list[str]] = {}
    for code in CODES:
        known = language(code)
        signed = sum(bool(one.signed) for one in known.sentences.values())
        tables = [bool(one.signed) for one in (known.labels, known.log, known.records)]
        labels = "all" if all(tables) else "some" if any(tables) else "no"
        state = f"{signed} of {len(known.sentences)} texts and {labels} labels signed off"
        by_state.setdefault(state, []).append(f"`{code}` {known.name}")
    return listed((state, ", ".join(names)) for state, names in by_state.items())


def slots() -> str:
    """Every slot of the fixed texts, with why it is correct in every language."""
    texts = (sentence.text for sentence in language(CODES[0]).sentences.values())
    by_reason: dict[str, list[str]] = {}
    for slot in dict.fromkeys(slot for text in texts for _, slot, _, _ in Formatter().parse(text) if slot):
        by_reason.setdefault(WHY[slot], []).append(f"`{slot}`")
    return listed((", ".join(slots), why) for why, slots in by_reason.items())


def _list(values: Iterable[object]) -> str:
    return ", ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


TABLES: dict[str, Callable[[], str]] = {
    "families": families_line,
    "recipes": recipes,
    "costs": costs,
    "profiles": profiles,
    "calls": calls,
    "windows": windows,
    "columns": columns,
    "folders": folders,
    "languages": languages,
    "slots": slots,
    **{f"tasks_{family}": partial(tasks_of, family) for family in families()},
}


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages with tables."""
    every = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [path for path in every if MARKED.search(path.read_text(encoding="utf-8"))]


def written(path: Path) -> str:
    """Return a page with up-to-date tables."""
    text = path.read_text(encoding="utf-8")
    return MARKED.sub(lambda match: f"{match[1]}\n{TABLES[match[2]]()}\n\n{match[3]}", text)


if __name__ == "__main__":
    for page in pages():
        page.write_text(written(page), encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}", file=sys.stderr)
