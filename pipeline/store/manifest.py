"""The manifest of a profile: the strata, shards and proofs of a split, with their digests.

What a record may lack is None and not written: the manifest of a split whose keys are withheld tells less, and so do
those that older versions wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import astuple, replace

from pipeline.errors import BuildError
from pipeline.paths import held_once
from pipeline.recipe import Knob, is_secret
from pipeline.store.chance import Chance
from pipeline.store.files import alone_in, denied, file_digest, read_fault, written_aside
from pipeline.store.proven import Proven
from pipeline.typed import (
    Frame,
    Identifier,
    Line,
    ModelName,
    Plain,
    Release,
    Sha256,
    ShardName,
    Subtask,
    Tier,
    Variant,
    Whole,
    read_record,
)

DEPTH_BINS = 10
PORTIONS = {"prompt": "prompt_tokens", "template": "template_tokens", "reply": "max_new_tokens"}
"""The parts of a window, and the columns that count them."""

PARTS = ("data", "index", "keys")
"""Folders in which a shard may have a file."""

Window = Annotated[int, Meta(ge=1, le=1 << 30)]
"""A length in tokens."""
Bins = Annotated[tuple[Whole, ...], Meta(min_length=DEPTH_BINS, max_length=DEPTH_BINS)]


class Record(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A table of a manifest."""


class Tokenizer(Record, kw_only=True, frozen=True):
    """The profile that rows are cut for, by its digests; `windows` are true windows by nominal length, in tokens."""

    name: Plain
    title: Line
    models: tuple[ModelName, ...]
    notice: Line
    digest: Sha256
    vocabulary_sha256: Sha256
    template: Identifier
    windows: dict[str, Window]


class Totals(Record, kw_only=True, frozen=True):
    """Sums over shards; `tokens` are context tokens."""

    rows: Whole
    tokens: Whole
    bytes: Whole

    @classmethod
    def of(cls, parts: Iterable[Totals]) -> Totals:
        """Return the sum of sums."""
        rows, tokens, size = (sum(each) for each in zip(*map(astuple, parts), strict=True))
        return cls(rows=rows, tokens=tokens, bytes=size)


class Pool(Record, kw_only=True, frozen=True):
    """A pool that filler was drawn from."""

    key: Sha256
    source: Line


class Cell(Record, kw_only=True, frozen=True):
    """A stratum; `rows` is that of all blocks."""

    family: Identifier
    subtask: Subtask
    length: Window
    complexity: Whole | None = None
    rows: Whole
    blocks: Annotated[int, Meta(ge=1)] | None = None
    shots: Whole
    context_tokens: Window
    max_new_tokens: Whole
    task_version: Whole
    knobs: dict[Identifier, Knob] | None = None


class TierCell(Cell, kw_only=True, frozen=True):
    """A stratum with its tier, as `Split.strata` gives it."""

    tier: Tier


class Portions(Record, kw_only=True, frozen=True):
    """Tokens of all rows of a length."""

    prompt: Whole
    template: Whole
    reply: Whole


class SealedShard(Record, kw_only=True, frozen=True):
    """A shard with the sizes and digests of its files; `tokens` are context tokens."""

    shard: ShardName
    key: Sha256 | None = None
    rows: Whole
    tokens: Whole
    prompt_tokens: Whole
    fewest_tokens: Whole
    most_tokens: Whole
    solved: Whole | None = None
    recounted: Whole | None = None
    counter: Line | None = None
    second: Line | None = None
    row_digest: Sha256 | None = None
    data_bytes: Whole
    data_sha256: Sha256
    index_bytes: Whole | None = None
    index_sha256: Sha256 | None = None
    keys_bytes: Whole | None = None
    keys_sha256: Sha256 | None = None
    quick: Line | None = None
    quick_recounted: Whole | None = None

    def file(self, part: str) -> tuple[int | None, str | None]:
        """Return size and SHA-256 of the shard's file in ``data``, ``index`` or ``keys``; None where it has none."""
        return getattr(self, f"{part}_bytes"), getattr(self, f"{part}_sha256")


class Made(Record, kw_only=True, frozen=True):
    """What one recipe made: a tier."""

    seed: int | None = None
    tag: Plain
    reserve: Whole | None
    recipe_digest: Sha256 | None = None
    longest: Window
    pools: dict[Plain, Pool] | None = None
    strata: Annotated[tuple[Cell, ...], Meta(min_length=1)]
    chance: tuple[Chance, ...] | None = None
    depths: dict[Identifier, Bins] | None = None
    budgets: dict[str, Portions] | None = None
    proven: Proven
    totals: Totals
    shards: Annotated[tuple[SealedShard, ...], Meta(min_length=1)]


class Manifest(Record, kw_only=True, frozen=True):
    """The manifest of a profile; `withheld` are the columns that no file of a published split has."""

    release: Release
    version: Plain
    variant: Variant
    frame: Frame
    carrara: Line
    schema_version: Whole
    canary: Line
    tokenizer: Tokenizer
    withheld: tuple[Identifier, ...] | None = None
    tiers: Annotated[dict[Tier, Made], Meta(min_length=1)]
    totals: Totals

    def __post_init__(self) -> None:
        """Hold shards to the tier that they are listed under."""
        for tier, shard in ((tier, shard) for tier, made in self.tiers.items() for shard in made.shards):
            if shard.shard.split("/")[1] != tier:
                raise ValueError(f"tier {tier} lists {shard.shard}, which is of another tier")

    @property
    def title(self) -> str:
        """Release, version and variant, as messages name them."""
        return " ".join(filter(None, (self.release, self.version, self.variant)))

    @property
    def text(self) -> str:
        """The text of its file."""
        table = to_builtins(self)
        for made in table["tiers"].values() if self.withheld else ():  # the order in which they were first published
            for cell in made["strata"]:
                cell["rows"] = cell.pop("rows")
            made |= {name: made.pop(name) for name in ("budgets", "totals", "shards") if name in made}
        return json.dumps(table, indent=1) + "\n"


def shard_faults(folder: Path, shard: SealedShard) -> Iterator[tuple[str, Path, str]]:
    """Compare the files of a shard with the manifest, reading all bytes.

    Yields:
        The part of the folder (data, keys or index), the file, and what is wrong with it.
    """
    for part in PARTS:
        path = folder / part / f"{shard.shard}.parquet"
        if shard.file(part)[1] is None:
            continue
        if not path.is_file():
            yield part, path, "is missing"
            continue
        with held_once(path):
            if (path.stat().st_size, file_digest(path)) != shard.file(part):
                yield part, path, "differs from the bytes that were proven"


def manifest_path(out: Path, profile: str) -> Path:
    """Return the manifest's place."""
    return out / profile / "manifest.json"


def read_manifest(out: Path, profile: str) -> Manifest | None:
    """Return a profile's manifest, or None if it is not sealed.

    Raises:
        BuildError: if the machine does not let it be read, which is no fault of the manifest.
    """
    path = manifest_path(out, profile)
    try:
        return read_record(path, Manifest)
    except (OSError, ValueError) as fault:
        if denied(fault):
            raise BuildError(read_fault(path, fault)) from fault
        return None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest, for its owner alone if it holds a seed that is secret."""
    with written_aside(path, secret=any(is_secret(made.seed or 0) for made in manifest.tiers.values())) as aside:
        aside.write_text(manifest.text, encoding="ascii")


def unseal(path: Path, tier: str) -> None:
    """Take a tier out of a manifest; remove the manifest if it is broken or holds no other tier."""
    with alone_in(path.parent):
        manifest = read_manifest(path.parent.parent, path.parent.name)
        left = {name: kept for name, kept in manifest.tiers.items() if name != tier} if manifest else {}
        if manifest is None or not left:
            path.unlink(missing_ok=True)
            return
        write_manifest(path, replace(manifest, tiers=left, totals=Totals.of(kept.totals for kept in left.values())))
