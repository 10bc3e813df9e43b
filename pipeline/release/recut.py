"""Recutting: after a leak, the next major version has the same recipe with a new seed, so that every row is new."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomlkit

from pipeline.artifacts.files import atomic_write
from pipeline.errors import FrozenError, RecipeError
from pipeline.recipe import SEED_BITS, Knob, Recipe, Stratum, is_secret, load_recipe, recipe_text
from pipeline.storage import parse_location
from pipeline.verify.lock import next_version, read_lock


def new_seed(asked: str) -> int:
    """Return the given seed, or one from the operating system for ``random``.

    Raises:
        RecipeError: if it is not a whole number of at most 78 digits.
    """
    if asked == "random":
        return next(seed for seed in iter(lambda: secrets.randbits(SEED_BITS), None) if is_secret(seed))
    if not re.fullmatch(r"[0-9]{1,78}", asked):
        raise RecipeError(f"--seed {asked}: give a whole number, or random")
    return int(asked)


def recipes_in(source: str) -> list[tuple[Recipe, str]]:
    """Return the recipes of a lock, or one recipe by name or file; each with its TOML ("" in a lock)."""
    if source.endswith(".json"):
        return [(tier.recipe, "") for tier in read_lock(parse_location(source)).tiers.values()]
    return [(load_recipe(source), recipe_text(source))]


def recut(recipe: Recipe, text: str, seed: int) -> str:
    """Return the TOML of a recipe's next major version with another seed; the rest of its text stays as it is.

    Raises:
        FrozenError: if the seed is the old one.
    """
    if seed == recipe.seed:
        raise FrozenError(f"seed {seed} is already that of {recipe.release} {recipe.version}: give another, or random")
    document = tomlkit.parse(text or tomlkit.dumps(_table(recipe)))
    document["version"], document["seed"] = next_major(recipe).version, seed
    return tomlkit.dumps(document)


def next_major(recipe: Recipe) -> Recipe:
    """Return a recipe with the next major version, but still with its old seed."""
    return replace(recipe, version=next_version(recipe.version, "major"))


def _table(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as a table for TOML, with its strata merged into few tables."""
    names = ("release", "version", "seed", "tier", "variant", "frame", "reserve")
    top = {name: value for name in names if (value := getattr(recipe, name)) not in ("", None)}
    return {**top, "strata": list(_tables(recipe.strata))}


def _tables(strata: Iterable[Stratum]) -> Iterator[dict[str, Any]]:
    for (family, rows, shots, knobs, full), subtasks, lengths, complexity in _products(strata):
        yield {
            "family": family,
            "subtasks": subtasks,
            "complexity": list(complexity),
            "lengths": list(lengths),
            "rows": rows,
            **({} if shots is None else {"shots": shots}),
            **({"knobs": dict(knobs)} if knobs else {}),
            **({"full": full} if full > 1 else {}),
        }


Kind = tuple[str, int, int | None, tuple[tuple[str, Knob], ...], int]
Product = tuple[Kind, list[str], tuple[int, ...], tuple[int, ...]]


def _products(strata: Iterable[Stratum]) -> Iterator[Product]:
    """Yield strata as products of subtasks, lengths and complexities: lengths are merged first, then subtasks."""
    cells: dict[tuple[Kind, str], dict[int, list[int]]] = {}
    for cell in strata:
        kind = cell.family, cell.rows, cell.shots, cell.knobs, cell.full
        cells.setdefault((kind, cell.subtask), {}).setdefault(cell.length, []).append(cell.complexity)
    merged: dict[tuple[Kind, tuple[int, ...], tuple[int, ...]], list[str]] = {}
    for (kind, subtask), by_length in cells.items():
        for complexity in dict.fromkeys(map(tuple, by_length.values())):
            lengths = tuple(length for length, complexities in by_length.items() if tuple(complexities) == complexity)
            merged.setdefault((kind, lengths, complexity), []).append(subtask)
    for (kind, lengths, complexity), subtasks in merged.items():
        yield kind, subtasks, lengths, complexity


def file_name(recipe: Recipe) -> str:
    """Return the default file name of a recipe's next major version."""
    wanted = next_major(recipe)
    return "-".join(filter(None, (wanted.release, wanted.tier, wanted.variant, wanted.version))) + ".toml"


def write_recipes(texts: Sequence[tuple[Path, str]]) -> None:
    """Write recipes to new files.

    Raises:
        FrozenError: if a file exists, or two recipes have the same path; then none is written.
    """
    paths = [path for path, _ in texts]
    for at, path in enumerate(paths):
        if path.exists() or path in paths[:at]:
            raise FrozenError(f"{str(path)!r} already exists: give another file with --out")
    for path, text in texts:
        with atomic_write(path, secret=True) as aside:  # its seed may be secret
            aside.write_text(text, encoding="utf-8")
