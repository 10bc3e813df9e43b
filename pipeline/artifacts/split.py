"""Reading splits: one tokenizer's folder of a build, or the folder of a published data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from pipeline.artifacts.files import (
    closed_within,
    read_record,
)
from pipeline.artifacts.lite import LITE, Cell, is_lite, lite_counts, lite_file
from pipeline.artifacts.manifest import Manifest, TierStratum, explain_unsealed, explain_unsealed_tier, read_manifest
from pipeline.artifacts.parquet import opened
from pipeline.artifacts.recipes import read_recipes
from pipeline.errors import SplitError, adding, unknown
from pipeline.recipe import Recipe, digest
from pipeline.rows import DATA_SCHEMA, KEYS_SCHEMA, TEXT_COLUMNS, Row, check_metadata, check_rows
from pipeline.storage import StorePath, map_in_order

if TYPE_CHECKING:
    from pandas import DataFrame

PLACE = ("family", "subtask", "tier", "length", "complexity")
"""The columns that identify a row's stratum; withheld splits have no complexity."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows to read: an empty tuple selects all; `limit` is the most rows per stratum.

    `size` is ``lite`` (see `artifacts.lite`), or empty for all.
    """

    families: tuple[str, ...] = ()
    subtasks: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    complexities: tuple[int, ...] = ()
    limit: int | None = None
    size: str = ""

    def wants(self, row: Row) -> bool:
        """Return whether a row's stratum is wanted."""
        return all(
            not wanted or row[name] in wanted
            for name, wanted in (
                ("family", self.families),
                ("subtask", self.subtasks),
                ("tier", self.tiers),
                ("length", self.lengths),
                ("complexity", self.complexities),
            )
        )


@dataclass(frozen=True, slots=True)
class Split:
    """A sealed folder with ``data``, ``keys`` and ``manifest.json``; with `size` ``lite`` only lite rows are read."""

    folder: Path
    manifest: Manifest = field(repr=False)
    size: str = ""

    @property
    def tokenizer(self) -> str:
        """The profile's name."""
        return self.manifest.tokenizer.name

    @property
    def title(self) -> str:
        """Release, version, variant and profile, for errors and pages."""
        return f"{self.manifest.title} {self.tokenizer}"

    @property
    def tags(self) -> dict[str, str]:
        """The tag at the end of every row id, by tier."""
        return {tier: made.tag for tier, made in self.manifest.tiers.items()}

    @property
    def strata(self) -> list[TierStratum]:
        """The strata of all tiers, each with its tier."""
        return [
            TierStratum(tier=tier, **asdict(cell)) for tier, made in self.manifest.tiers.items() for cell in made.strata
        ]

    def cells(self, selection: Selection) -> list[TierStratum]:
        """Return the selected strata."""
        return [cell for cell in self.strata if selection.wants(asdict(cell))]

    def shards(self, part: str = "data") -> list[Path]:
        """Return the files of ``data`` or ``keys`` in the manifest's order: by tier, family and number."""
        shards = (shard for made in self.manifest.tiers.values() for shard in made.shards)
        return [self.folder / part / f"{shard.shard}.parquet" for shard in shards]

    def rows(self, columns: Sequence[str] | None = None, selection: Selection = Selection()) -> Iterator[Row]:
        """Yield the selected rows in the order of the shards, one row group in memory at a time.

        Lite rows are read from their own files, if a published split has these.

        Raises:
            SplitError: if the split lacks a column or a selected name.
            CorruptError: if a shard cannot be read.
        """
        return self._read("data", columns or DATA_SCHEMA.names, selection, self._lite_files(selection))

    def shard_rows(self, columns: Sequence[str], selection: Selection) -> Iterator[Row]:
        """Yield the selected rows, always read from the shards.

        Raises:
            SplitError: if the split lacks a column or a selected name.
            CorruptError: if a shard cannot be read.
        """
        return self._read("data", columns, selection, [])

    def key_rows(self, columns: Sequence[str] | None = None, selection: Selection = Selection()) -> Iterator[Row]:
        """Yield the selected rows without text.

        Raises:
            SplitError: if the split lacks a column or a selected name.
            CorruptError: if a shard cannot be read.
        """
        return self._read("keys", columns or KEYS_SCHEMA.names, selection)

    def frame(self, columns: Sequence[str] | None = None, selection: Selection = Selection()) -> DataFrame:
        """Return rows as a pandas DataFrame, by default with all columns but the text.

        Raises:
            SplitError: if the split lacks a column or a selected name, or pandas is not installed.
            CorruptError: if a shard cannot be read.
        """
        frame = frame_type()
        names = list(columns or KEYS_SCHEMA.names)
        rows = self.rows if set(names) & set(TEXT_COLUMNS) else self.key_rows
        return frame(list(rows(names, selection)), columns=names)

    @property
    def has_lite_files(self) -> bool:
        """Whether the folder has files of the lite rows only."""
        return bool(self._lite_files(Selection(size=LITE)))

    def _lite_files(self, selection: Selection) -> list[Path]:
        """Return the files of lite rows for the selected tiers, if lite is selected and all of them exist."""
        if LITE not in (selection.size, self.size):
            return []
        tiers = [tier for tier in self.manifest.tiers if not selection.tiers or tier in selection.tiers]
        files = [self.folder / lite_file(tier) for tier in tiers]
        return files if all(path.is_file() for path in files) else []

    def _read(
        self, part: str, columns: Sequence[str], selection: Selection, files: Sequence[Path] = ()
    ) -> Iterator[Row]:
        selection = replace(selection, size=selection.size or self.size)
        self._check(selection)
        lite = self.lite_counts() if selection.size == LITE else None
        taken: Counter[tuple[Any, ...]] = Counter()
        paths = list(files) or [path for path in self.shards(part) if _may_hold(path, selection)]
        # Keys are small and read whole, so the keys of many shards are fetched from a store concurrently.
        sources = map_in_order(_fetched, paths, self.folder, self._key_bytes()) if part == "keys" else repeat(None)
        for path, whole in zip(paths, sources, strict=False):
            yield from _wanted(path, whole, list(columns), selection, lite, taken)

    def lite_counts(self) -> dict[Cell, int]:
        """Return how many rows of each tier, family, subtask and length are in lite."""
        counts: dict[Cell, int] = {}
        for tier, made in self.manifest.tiers.items():
            counts |= lite_counts(tier, ((cell.family, cell.subtask, cell.length) for cell in made.strata))
        return counts

    def _key_bytes(self) -> Callable[[Path], int]:
        """Return a function that gives the size of a file of keys, from the manifest."""
        shards = (shard for made in self.manifest.tiers.values() for shard in made.shards)
        sizes = {self.folder / "keys" / f"{shard.shard}.parquet": shard.keys_bytes or 0 for shard in shards}
        return lambda path: sizes.get(path, 0)

    def _check(self, selection: Selection) -> None:
        if selection.size not in ("", LITE):
            raise SplitError(unknown("size", selection.size, [LITE]))
        for kind, wanted, name in (
            ("family", selection.families, "family"),
            ("subtask", selection.subtasks, "subtask"),
            ("tier", selection.tiers, "tier"),
            ("length", selection.lengths, "length"),
            ("complexity", selection.complexities, "complexity"),
        ):
            known = {str(value) for cell in self.strata if (value := getattr(cell, name)) is not None}
            if wanted and not known:
                raise SplitError(
                    f"{self.title} does not give the {kind} of its rows, since they are published without keys"
                )
            for one in wanted:
                if str(one) not in known:
                    raise SplitError(unknown(f"{kind} in {self.title}:", str(one), known))


def _may_hold(path: Path, selection: Selection) -> bool:
    """Return whether a shard's family and tier are selected."""
    family, tier = path.parts[-3:-1]
    return (not selection.families or family in selection.families) and (not selection.tiers or tier in selection.tiers)


def _fetched(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):  # opening it raises the error
        return path.read_bytes() if isinstance(path, StorePath) else None
    return None


def _wanted(
    path: Path,
    whole: bytes | None,
    columns: list[str],
    selection: Selection,
    lite: Mapping[Cell, int] | None,
    taken: Counter[tuple[Any, ...]],
) -> Iterator[Row]:
    """Yield a shard's selected rows; text is read only from row groups that contain one."""
    with opened(path, whole) as file:
        names = file.schema_arrow.names
        for name in columns:
            if name not in names:
                raise SplitError(unknown(f"column in {str(path)!r}:", name, names))
        place = [name for name in (*PLACE, *(["id"] if lite is not None else [])) if name in names]
        for group in range(file.num_row_groups):
            cells = file.read_row_group(group, columns=place)
            check_rows(cells)
            chosen = [at for at, row in enumerate(cells.to_pylist()) if _takes(row, selection, lite, taken)]
            if chosen:
                table = file.read_row_group(group, columns=columns).select(columns)
                check_rows(table)
                check_metadata(table)
                for at in chosen:
                    yield table.slice(at, 1).to_pylist()[0]


def _takes(row: Row, selection: Selection, lite: Mapping[Cell, int] | None, taken: Counter[tuple[Any, ...]]) -> bool:
    stratum = tuple(row[name] for name in PLACE if name in row)
    if lite is not None:
        cell = row["tier"], row["family"], row["subtask"], row["length"]
        if not is_lite(row["id"], cell, lite):
            return False
    if not selection.wants(row) or (selection.limit is not None and taken[stratum] >= selection.limit):
        return False
    taken[stratum] += 1
    return True


def frame_type() -> type[DataFrame]:
    """Return pandas' DataFrame class.

    Raises:
        SplitError: if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise SplitError(f"frames need pandas: {adding('frames')}") from None
    frame: type[DataFrame] = pandas.DataFrame
    return frame


def no_build(folder: Path) -> str:
    """Return the error message for a folder without a build."""
    if (folder / "manifest.json").is_file():
        fault = f"{str(folder)!r} is one tokenizer's folder"
        if any((folder.parent / "recipes").glob("*.json")):
            return f"{fault}: give the release folder, {str(folder.parent)!r}"
        return f"{fault}, without its release: check it with `carrara verify --against`"
    return f"no build in {str(folder)!r}: give the folder that build wrote to, such as outputs/v3.0.0"


def read_sealed(out: Path) -> tuple[list[Recipe], dict[str, Manifest]]:
    """Return the recipes of a release folder, and the manifests of its profiles by name.

    Raises:
        SplitError: if a tier is not sealed, was built from another recipe, or has rows that were not counted twice.
    """
    recipes = {recipe.tier: recipe for recipe in read_recipes(out)}
    if not recipes:
        raise SplitError(no_build(out))
    names = {path.parent.name for name in ("data", "manifest.json") for path in out.glob(f"*/{name}")}
    if not names:
        raise SplitError(f"{str(out)!r} has no shards: build it first")
    manifests = {name: _sealed_manifest(out, name, recipes) for name in sorted(names)}
    for tier in recipes:
        if not any(tier in manifest.tiers for manifest in manifests.values()):
            raise SplitError(f"tier {tier} in {str(out)!r} is not sealed in any profile: build or verify it first")
    return list(recipes.values()), manifests


def _sealed_manifest(out: Path, name: str, recipes: Mapping[str, Recipe]) -> Manifest:
    manifest = read_manifest(out, name)
    tiers = manifest.tiers if manifest else {}
    for tier in sorted({path.name for path in (out / name / "data").glob("*/*") if path.is_dir()} | set(tiers)):
        where, made = f"{name} of tier {tier} in {str(out)!r}", tiers.get(tier)
        if tier not in recipes:
            raise SplitError(f"{where} has no recipe there: build it again")
        if manifest is None or made is None:
            raise SplitError(f"{str(out / name)!r} is {explain_unsealed_tier(out / name, recipes[tier])}")
        if made.recipe_digest != digest(recipes[tier]) or manifest.version != recipes[tier].version:
            raise SplitError(f"{where} was built from a different recipe than the folder's: build it again")
        if not made.is_counted_twice:
            counted = f"{made.proven.recounted} of {made.totals.rows} rows of {name} {tier} were counted twice"
            raise SplitError(f"only {counted}: run carrara verify {out} first")
    if manifest is None:
        raise SplitError(f"{name} in {str(out)!r} is not sealed: build or verify it first")
    return manifest


def open_split(folder: Path) -> Split:
    """Open one tokenizer's folder of a build, or the folder of a published data set.

    Raises:
        SplitError: if the folder has no sealed split, or several.
    """
    path = folder / "manifest.json"
    if closed := closed_within(folder):
        raise SplitError(closed)
    if path.exists():
        try:
            return Split(folder, read_record(path, Manifest, SplitError))
        except (OSError, ValueError) as fault:
            why = getattr(fault, "strerror", None) or fault
            raise SplitError(f"{str(path)!r} is not a manifest ({why}): build or fetch it again") from None
    inside = sorted(path.parent for path in folder.glob("*/manifest.json"))
    if len(inside) == 1:
        return open_split(inside[0])
    if inside:
        raise SplitError(f"{str(folder)!r} holds several splits: give one of {', '.join(map(str, inside))}")
    for begun in (folder, *sorted(path.parent for path in folder.glob("*/data"))):
        if (begun / "data").is_dir() and (why := explain_unsealed(begun)):
            raise SplitError(f"{str(begun)!r} is {why}")
    what = "is not sealed" if (folder / "data").is_dir() else "holds no split"
    raise SplitError(f"{str(folder)!r} {what}: give one tokenizer's folder of a build, such as outputs/v3.0.0/o200k")
