"""A small build of every task with a secret seed, and its published folders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import builds
from pipeline import recipe
from pipeline.artifacts.split import Split, open_split
from pipeline.assemble.plan import make_plan
from pipeline.executors import Inline
from pipeline.publish.card.tables import Notes
from pipeline.publish.staging import Staged, stage
from pipeline.stages import Stages

REPO = "org/carrara-o200k"
SEED = 0x9E3779B97F4A7C15F39CC0605CEDC834
NOTES = Notes("### New\n\n- All of it.", "2026-01-31")


def built(folder: Path) -> Split:
    """Build the smoke recipe with another seed and with the tasks that it lacks."""
    path = folder / "mine.toml"
    text = recipe.recipe_text("smoke").replace("seed = 20261121", f"seed = {SEED}")
    path.write_text(text, encoding="utf-8")
    plan = make_plan(builds.with_every_task(recipe.load_recipe(str(path))), ("o200k",), folder / "out")
    Stages(plan, Inline, (1, 1), True).build()
    return open_split(folder / "out")


def families_of(split: Split) -> list[str]:
    return list(dict.fromkeys(cell.family for cell in split.strata))


def staged(split: Split, folder: Path, keys: str = "inline", **more: Any) -> Staged:
    return stage(split, folder, **{"repo": REPO, "notes": NOTES, **more}, keys=keys)


def files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def rows(folder: Path, part: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the rows of all shards in a part of a published folder, in order of path."""
    paths = sorted((folder / part).rglob("*.parquet"))
    return [row for path in paths for row in pq.ParquetFile(path).read(columns=columns).to_pylist()]


def strings(value: object) -> Iterator[str]:
    """Yield every string (or number as a string) in a value of plain types, also inside strings of JSON."""
    if isinstance(value, dict):
        for inside in (*value.keys(), *value.values()):
            yield from strings(inside)
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from strings(inside)
    elif isinstance(value, str):
        yield value
        if value[:1] in "{[":
            try:
                yield from strings(json.loads(value))
            except ValueError:
                return
    elif value is not None and not isinstance(value, bool):
        yield str(value)
