"""The recipes of a release folder, kept with what was built from them."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pipeline.artifacts.files import atomic_write, closed_within, denied, read_record
from pipeline.errors import BuildError
from pipeline.recipe import Recipe, Stratum, is_secret, recipe_fault
from pipeline.typed import TIERS


def recipe_path(out: Path, tier: str) -> Path:
    """Return where the recipe of a tier is kept."""
    return out / "recipes" / f"{tier}.json"


def write_recipe(out: Path, recipe: Recipe) -> None:
    """Write a recipe to the release folder, unless it is there already."""
    check_release(out, recipe)
    if not has_recipe(out, recipe):
        with atomic_write(recipe_path(out, recipe.tier), secret=is_secret(recipe.seed)) as aside:
            aside.write_text(_text(recipe), encoding="ascii")


def has_recipe(out: Path, recipe: Recipe) -> bool:
    """Return whether a release folder has exactly this recipe for its tier."""
    path = recipe_path(out, recipe.tier)
    return path.is_file() and path.read_bytes() == _text(recipe).encode()


def _text(recipe: Recipe) -> str:
    return json.dumps(asdict(recipe), indent=1) + "\n"


def check_release(out: Path, recipe: Recipe) -> None:
    """Check that a folder is of the same release; a tier may be recut with another version.

    Raises:
        BuildError: if it is of another release, with both names.
    """
    for other in _readable_recipes(out, recipe.tier):
        again = other.tier == recipe.tier and _name(other) == _name(recipe)
        if not again and _release_of(other) != _release_of(recipe):
            theirs, ours = (" ".join(filter(None, _release_of(each))) for each in (other, recipe))
            raise BuildError(f"{str(out)!r} holds {theirs}, not {ours}: give another folder with --out")


def _release_of(recipe: Recipe) -> tuple[str, ...]:
    return recipe.release, recipe.version, recipe.variant, recipe.frame


def _name(recipe: Recipe) -> tuple[str, ...]:
    return recipe.release, recipe.variant


def _readable_recipes(out: Path, mended: str) -> list[Recipe]:
    """Return the recipes of a folder; that of the tier `mended`, which is about to be built, may be broken."""
    recipes = []
    for path in _recipe_files(out):
        try:
            recipes.append(_read(path))
        except BuildError as fault:
            if path != recipe_path(out, mended) or denied(fault.__cause__ or fault):
                raise
    return recipes


def read_recipes(out: Path) -> list[Recipe]:
    """Return the recipes of a release folder, by tier.

    Raises:
        BuildError: if a recipe, or a folder of the release, cannot be read.
    """
    if closed := closed_within(out):
        raise BuildError(closed)
    return [_read(path) for path in _recipe_files(out)]


def _recipe_files(out: Path) -> list[Path]:
    """Return the files of recipes, by name; known tiers are also looked up, since a store may list them late."""
    asked = {path for tier in TIERS if (path := recipe_path(out, tier)).is_file()}
    return sorted(asked.union((out / "recipes").glob("*.json")))


def _read(path: Path) -> Recipe:
    try:
        recipe = read_record(path, Recipe)
        if fault := recipe_fault(recipe) or _unknown_key(json.loads(path.read_bytes())):
            raise ValueError(fault)
    except (OSError, ValueError) as fault:
        raise BuildError(
            f"{str(path)!r} cannot be read ({getattr(fault, 'strerror', None) or fault}): build its tier again"
        ) from fault
    return recipe


def _unknown_key(table: dict[str, Any]) -> str:
    """Return a message about a key that recipes do not have, such as a damaged one; "" if there is none."""
    tables = [(table, Recipe), *((cell, Stratum) for cell in table["strata"])]
    extra = [key for each, kind in tables for key in each.keys() - {field.name for field in fields(kind)}]
    return f"recipes have no key {min(extra)!r}" if extra else ""
