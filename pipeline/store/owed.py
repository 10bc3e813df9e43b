"""What a folder that is not sealed has, what it is owed, and how to go on."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.errors import BuildError
from pipeline.recipe import Recipe
from pipeline.store.recipes import kept_recipes

OF = re.compile(r"test-\d{5}-of-(\d{5})\.json")
LISTED = 6
"""Families that are named at most."""


def unsealed(folder: Path, recipe: Recipe) -> str:
    """Return in words what one tokenizer's folder has of a recipe, and is owed, though it is not sealed."""
    there = {family: _shards(folder / "proofs" / family / recipe.tier) for family in recipe.families}
    whole = [family for family, (count, of) in there.items() if count and count >= of]
    begun = [family for family, (count, of) in there.items() if 0 < count < of]
    none = [family for family, (count, _) in there.items() if not count]
    head = f"not sealed: in tier {recipe.tier},"
    if not none and not begun:
        return f"{head} everything is built and proven: run carrara verify on {str(folder.parent)!r} to seal it"
    if not whole and not begun:
        return f"{head} nothing is built and proven yet: run carrara build"
    parts = [f"{_named(whole)} {_is(whole)} built and proven"] if whole else []
    parts += [f"{family} has {there[family][0]} of {there[family][1]} shards" for family in begun[:LISTED]]
    parts += [f"{_named(none)} {_is(none)} missing"] if none else []
    wanted = " ".join(f"--family {family}" for family in (*whole, *begun))
    alone = f", or with {wanted} --only to seal a release without the rest" if none else ""
    return f"{head} {', '.join(parts)}: build without --family and --part to complete it{alone}"


def why_unsealed(folder: Path) -> str:
    """Return what a folder with shards and without a manifest has and is owed; nothing if no recipe tells."""
    try:
        recipes = kept_recipes(folder.parent)
    except BuildError:
        return ""
    built = [recipe for recipe in recipes if any((folder / "data").glob(f"*/{recipe.tier}"))]
    return "; ".join(unsealed(folder, recipe) for recipe in built)


def _shards(folder: Path) -> tuple[int, int]:
    """Return how many shards of a family are proven, and of how many, by the names of their proofs."""
    found = [int(match[1]) for path in folder.glob("test-*.json") if (match := OF.fullmatch(path.name))]
    return len(found), max(found, default=0)


def _named(families: list[str]) -> str:
    rest = len(families) - LISTED
    shown = ", ".join(families[: LISTED if rest > 0 else None])
    return f"{shown} and {rest} more" if rest > 0 else shown


def _is(families: list[str]) -> str:
    return "is" if len(families) == 1 else "are"
