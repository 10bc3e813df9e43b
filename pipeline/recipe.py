"""Recipes: a release as data. `plan` checks the names of families and subtasks in a recipe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from itertools import pairwise
from typing import Annotated, Any

from msgspec import Meta

from pipeline.errors import RecipeError, unknown
from pipeline.languages import CODES, forms_of
from pipeline.storage import parse_location, read_text
from pipeline.typed import TIERS, Identifier, K, Plain, Release, Subtask, Tier, Variant, Whole, parse_toml, typed

FRAMES = ("chat", "raw")
SEED_BITS, ENTROPY = 128, 20
"""The fewest bits, and distinct pairs of adjacent digits, of a seed that cannot be guessed."""
SIZES = ("default", "full")
Knob = str | int | float | bool
Length = Annotated[int, Meta(ge=K, le=TIERS["1m"])]
MOST_ROWS = 1_000_000
"""The most rows of a tier: more are a mistake, or an attempt to fill a disk."""
Count = Annotated[int, Meta(ge=1, le=MOST_ROWS)]


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stratum, or cell, of a recipe: rows with the same length, complexity and knobs.

    `length` is the nominal length in tokens. The stratum has `blocks` blocks of `rows` samples each, or `full` blocks
    in the full size. Every block is balanced by itself, so that a larger size only adds blocks.
    """

    family: Identifier
    subtask: Subtask
    tier: Tier
    length: Length
    complexity: Whole
    rows: Count
    shots: Whole | None = None
    knobs: tuple[tuple[Identifier, Knob], ...] = ()
    blocks: Count = 1
    full: Count = 1

    @property
    def total(self) -> int:
        """The number of samples."""
        return self.rows * self.blocks

    def knob(self, name: str, default: Knob) -> Knob:
        """Return a knob's value, or the task's default."""
        return dict(self.knobs).get(name, default)

    def __str__(self) -> str:
        """Return the stratum's name, for errors and tables."""
        return f"{self.family}.{self.subtask} length {self.length} complexity {self.complexity}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A release: its name, data version, seed, one tier, and the strata of that tier.

    `variant` separates builds that must not share a folder (``smoke``, ``thinking``); `reserve` replaces every task's
    ``max_new_tokens``, for models that think before they answer.
    """

    release: Release
    version: Plain
    seed: int
    tier: str
    strata: tuple[Stratum, ...]
    variant: Variant = ""
    frame: str = "chat"
    reserve: Annotated[int, Meta(ge=1, description="tokens for the reply in place of each task's own")] | None = None

    @property
    def tag(self) -> str:
        """The tag at the end of every row id: it changes with each recut, so that old predictions match no new row.

        Minor versions and patches only add rows, so they keep the tag.
        """
        path = f"{self.release}/{self.variant}/{self.version.partition('.')[0]}/{self.seed}"
        return hashlib.sha256(path.encode()).hexdigest()[:6]

    @property
    def folder(self) -> str:
        """The default folder of the release below ``outputs``."""
        return f"v{self.version}" + (f"-{self.variant}" if self.variant else "")

    @property
    def families(self) -> tuple[str, ...]:
        """The families in recipe order."""
        return tuple(dict.fromkeys(stratum.family for stratum in self.strata))

    def sized(self, size: str) -> Recipe:
        """Return the recipe in one of SIZES, or with a number of blocks.

        Raises:
            RecipeError: if it would have more rows than a recipe may.
        """
        blocks = int(size) if size not in SIZES else 1
        cells = (replace(cell, blocks=cell.full if size == "full" else blocks) for cell in self.strata)
        made = replace(self, strata=tuple(cells))
        if fault := recipe_fault(made):
            raise RecipeError(f"size {size!r} of this recipe: {fault}")
        return made

    def only(self, families: Iterable[str]) -> Recipe:
        """Return the recipe with only some families, whose rows stay the same.

        Raises:
            RecipeError: if it lacks one of them, or none is named.
        """
        wanted = set(families)
        for family in sorted(wanted - set(self.families)):
            raise RecipeError(unknown("family in this recipe:", family, self.families))
        if not wanted:
            raise RecipeError("--only needs the families: name each with --family")
        return replace(self, strata=tuple(cell for cell in self.strata if cell.family in wanted))

    def of_family(self, family: str) -> tuple[Stratum, ...]:
        """Return a family's strata in recipe order."""
        return tuple(stratum for stratum in self.strata if stratum.family == family)


@dataclass(frozen=True, slots=True)
class StrataTable:
    """One ``[[strata]]`` table: the product of its lists, with `rows` samples in each block of a stratum.

    A stratum has one block in the default size, `full` blocks in the full size, and N in size N.
    """

    family: Identifier
    subtasks: Annotated[tuple[Subtask, ...], Meta(min_length=1)]
    complexity: Annotated[tuple[Whole, ...], Meta(min_length=1)]
    lengths: Annotated[tuple[Length, ...], Meta(min_length=1)]
    rows: Annotated[int, Meta(ge=1, le=MOST_ROWS, description="samples in each block of a stratum")]
    shots: Whole | None = None
    knobs: dict[Identifier, Knob] = field(default_factory=dict)
    full: Annotated[int, Meta(ge=1, le=MOST_ROWS, description="blocks in the full size; the default has one")] = 1
    text: Annotated[tuple[Identifier, ...], Meta(description="languages of the text; without any, English prose")] = ()
    asked: Annotated[tuple[Identifier, ...], Meta(description="languages of the question; by default the text's")] = ()

    def cells(self, tier: str) -> list[Stratum]:
        """Return the strata of the table in the default size, shortest length first."""
        knobs = tuple(sorted(self.knobs.items()))
        text, asked = (self.text, self.asked) if self.text else (self.asked, ())
        names = [name for each in self.subtasks for name in (forms_of(each, text, asked) if text else (each,))]
        return [
            Stratum(self.family, subtask, tier, length, complexity, self.rows, self.shots, knobs, full=self.full)
            for length in self.lengths
            for subtask in names
            for complexity in self.complexity
        ]


def shipped_recipes() -> tuple[str, ...]:
    """Return the names of the recipes that come with Carrara."""
    folder = resources.files("pipeline") / "recipes"
    return tuple(sorted(item.name[:-5] for item in folder.iterdir() if item.name.endswith(".toml")))


def load_recipe(name_or_path: str) -> Recipe:
    """Load a shipped recipe by name, or a TOML file by path, in the default size.

    Raises:
        RecipeError: for an unknown name, bad TOML, an unknown key, or an impossible value.
    """
    try:
        table = parse_toml(recipe_text(name_or_path))
    except ValueError as fault:  # TOML, or UTF-8
        raise RecipeError(f"recipe {name_or_path!r} is not TOML: {fault}") from None
    return parse_recipe(table, name_or_path)


def recipe_text(name_or_path: str) -> str:
    """Return the TOML of a shipped recipe, or of a file.

    Raises:
        RecipeError: if there is none, or it cannot be read.
    """
    if name_or_path in shipped_recipes():
        return (resources.files("pipeline") / "recipes" / f"{name_or_path}.toml").read_text(encoding="utf-8")
    path = parse_location(name_or_path)
    if path.suffix == ".toml" and path.is_file():
        try:
            return read_text(path)
        except OSError as fault:
            raise RecipeError(f"recipe {name_or_path!r} cannot be read: {fault.strerror}") from None
    if path.suffix == ".toml" or "/" in name_or_path:
        raise RecipeError(
            f"no recipe file {name_or_path!r}: give a .toml file or one of {', '.join(shipped_recipes())}"
        )
    raise RecipeError(unknown("recipe", name_or_path, shipped_recipes()))


def parse_recipe(table: dict[str, Any], where: str) -> Recipe:
    """Check a parsed recipe and expand its strata.

    Raises:
        RecipeError: with the key, its value and what would be right.
    """
    label, tables = f"recipe {where!r}", table.get("strata")
    if not isinstance(tables, list) or not tables:
        raise RecipeError(f"{label} has no [[strata]] table: give at least one")
    recipe = typed(Recipe, {**table, "strata": []}, label, RecipeError)
    if recipe.tier not in TIERS:
        raise RecipeError(unknown(f"tier in {label}:", recipe.tier, TIERS))
    if recipe.frame not in FRAMES:
        raise RecipeError(unknown(f"frame in {label}:", recipe.frame, FRAMES))
    shapes = [typed(StrataTable, raw, f"[[strata]] of {label}", RecipeError) for raw in tables]
    for code in (code for shape in shapes for code in (*shape.text, *shape.asked)):
        if code not in CODES:
            raise RecipeError(unknown(f"language in {label}:", code, CODES))
    cells = tuple(cell for shape in shapes for cell in shape.cells(recipe.tier))
    _check_cells(cells, where)
    made = replace(recipe, strata=cells)
    if fault := recipe_fault(made):
        raise RecipeError(f"{label}: {fault}")
    return made


def recipe_fault(recipe: Recipe) -> str | None:
    """Return what is wrong with a recipe whose fields are each valid, or None."""
    if (
        recipe.tier not in TIERS
        or recipe.frame not in FRAMES
        or any(cell.tier != recipe.tier for cell in recipe.strata)
    ):
        return f"tier {recipe.tier!r}, frame {recipe.frame!r}: give a known frame, and a tier that all strata have"
    rows = sum(cell.rows * max(cell.blocks, cell.full) for cell in recipe.strata)
    return f"{rows:,} rows: give 1 to {MOST_ROWS:,} a tier" if not 1 <= rows <= MOST_ROWS else None


def _check_cells(cells: Iterable[Stratum], where: str) -> None:
    seen = set()
    for cell in cells:
        if not K <= cell.length <= TIERS[cell.tier]:
            limit = f"{K} to {TIERS[cell.tier]}"
            raise RecipeError(f"recipe {where!r}: length {cell.length} in tier {cell.tier}: give {limit} tokens")
        place = (cell.family, cell.subtask, cell.length, cell.complexity)
        if place in seen:
            raise RecipeError(f"recipe {where!r} has the stratum {cell} twice: merge the two tables")
        seen.add(place)


def is_secret(seed: int) -> bool:
    """Return whether a seed cannot be guessed: it has 128 bits or more, and digits like a random number's.

    10^30 or 2^200 have few distinct pairs of adjacent digits. A random number of 128 bits has some 29 in its 32
    hexadecimal digits and 32 in its 39 decimal digits, and practically never fewer than ENTROPY.
    """
    texts = f"{seed:d}", f"{seed:x}"
    return seed.bit_length() >= SEED_BITS and all(len(set(pairwise(text))) >= ENTROPY for text in texts)


def digest(value: object) -> str:
    """Return the SHA-256 of a value of plain types or dataclasses; equal values have equal digests."""
    plain = json.dumps(value, default=asdict, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()
