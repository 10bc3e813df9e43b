"""Locks: what a frozen release is made of, for checking any copy of it and for rebuilding it.

A lock is one JSON file, `carrara.lock.json` in the folder of the release. It holds the seed and the whole recipes, so
the lock of a split whose keys are withheld is as secret as the keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pipeline.errors import FrozenError
from pipeline.recipe import Recipe, digest, is_secret, recipe_fault
from pipeline.store.files import denied, read_fault, written_aside
from pipeline.typed import (
    Frame,
    Identifier,
    Line,
    Plain,
    Release,
    Sha256,
    ShardName,
    Tier,
    Variant,
    Whole,
    read_json,
    read_record,
)

LOCK_NAME = "carrara.lock.json"
LOCK_FORMAT = 1


@dataclass(frozen=True, slots=True)
class TaskLock:
    """What determines a task's rows besides the recipe; any change to the code raises the version."""

    version: Whole
    scorer: Identifier
    max_new_tokens: Whole


@dataclass(frozen=True, slots=True)
class PoolLock:
    """A pool: the version of its code, the digest of the files it is made of, and its content key."""

    version: Whole
    source: Line
    key: Sha256


@dataclass(frozen=True, slots=True)
class TierLock:
    """One recipe and what it draws from. `samples` is a digest of the questions, keys and texts of each stratum."""

    recipe: Recipe
    tag: Plain
    tasks: Mapping[Line, TaskLock]
    pools: Mapping[Plain, PoolLock]
    corpora: tuple[Sha256, ...]
    samples: Mapping[Line, Sha256]


@dataclass(frozen=True, slots=True)
class ShardLock:
    """One shard of rows and its keys. `row_digest` is equal under every version of Parquet's writer."""

    key: Sha256
    rows: Whole
    row_digest: Sha256
    data_bytes: Whole
    data_sha256: Sha256
    keys_bytes: Whole
    keys_sha256: Sha256


@dataclass(frozen=True, slots=True)
class SplitLock:
    """A tier in one profile: a digest of the rows of each stratum, and its shards."""

    strata: Mapping[Line, Sha256]
    shards: Mapping[ShardName, ShardLock]


@dataclass(frozen=True, slots=True)
class ProfileLock:
    """A profile by its digests, who counted with it, and its tiers."""

    digest: Sha256
    vocabulary_sha256: Sha256
    counter: tuple[Line, ...]
    second: tuple[Line, ...]
    tiers: Mapping[Tier, SplitLock]


@dataclass(frozen=True, slots=True)
class Lock:
    """A frozen release. `libraries` affect the bytes of files but no row."""

    release: Release
    version: Plain
    variant: Variant
    frame: Frame
    carrara: Line
    schema_version: Whole
    libraries: Mapping[Line, Line]
    tiers: Annotated[Mapping[Tier, TierLock], msgspec.Meta(min_length=1)]
    profiles: Mapping[Plain, ProfileLock]
    format: int = field(default=LOCK_FORMAT)

    @property
    def title(self) -> str:
        """Release, version and variant, as messages name them."""
        return " ".join(filter(None, (self.release, self.version, self.variant)))

    @property
    def content(self) -> dict[str, Any]:
        """Everything about the frozen rows and files, except the versions of the software that made them."""
        table = asdict(self)
        return {name: value for name, value in table.items() if name not in ("carrara", "libraries", "format")}


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock, closed by a digest of itself."""
    table = asdict(lock)
    text = json.dumps({**table, "digest": digest(table)}, indent=1, sort_keys=True)
    with written_aside(path, secret=any(is_secret(tier.recipe.seed) for tier in lock.tiers.values())) as aside:
        aside.write_text(text + "\n", encoding="ascii")


def read_lock(path: Path) -> Lock:
    """Read a lock.

    Raises:
        FrozenError: if it cannot be read, or was changed since it was written.
    """
    try:
        table = read_record(path, dict[str, Any])
        said, known = table.pop("digest"), table.get("format")
        found = digest(table)
    except OSError as fault:
        if denied(fault):
            raise FrozenError(read_fault(path, fault)) from fault
        raise FrozenError(f"no lock {str(path)!r} ({fault.strerror}): make one with carrara freeze") from fault
    except (ValueError, KeyError, RecursionError) as fault:
        raise FrozenError(f"{str(path)!r} is not a lock: give a file that carrara freeze wrote") from fault
    if known != LOCK_FORMAT:
        raise FrozenError(
            f"{str(path)!r} is a lock of format {known!r}, not {LOCK_FORMAT}: use the version of Carrara that wrote it"
        )
    if said != found:
        raise FrozenError(f"{str(path)!r} was changed after it was written: get it again from where it was published")
    try:
        lock = read_json(msgspec.json.encode(table), Lock)
        for tier, made in lock.tiers.items():
            if wrong := recipe_fault(made.recipe) or ("" if made.recipe.tier == tier else "it is of another tier"):
                raise ValueError(f"the recipe of tier {tier}: {wrong}")
    except ValueError as fault:
        raise FrozenError(f"{str(path)!r} is not a lock ({fault}): give a file that carrara freeze wrote") from None
    return lock


def lock_in(folder: Path) -> Lock | None:
    """Return the lock of a release folder, or None if it is not frozen."""
    path = folder / LOCK_NAME
    return read_lock(path) if path.is_file() else None
