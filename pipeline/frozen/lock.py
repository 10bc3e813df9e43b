"""Locks: what a frozen release is made of, for checking any copy of it and for rebuilding it.

A lock is one JSON file, `carrara.lock.json` in the folder of the release. It holds the seed and the whole recipes, so
the lock of a split whose keys are withheld is as secret as the keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pipeline.errors import FrozenError
from pipeline.paths import read_text
from pipeline.recipe import Recipe, digest, is_secret
from pipeline.store.files import written_aside
from pipeline.typed import Sha256, Whole

LOCK_NAME = "carrara.lock.json"
LOCK_FORMAT = 1


@dataclass(frozen=True, slots=True)
class TaskLock:
    """What determines a task's rows besides the recipe; any change to the code raises the version."""

    version: Whole
    scorer: str
    max_new_tokens: Whole


@dataclass(frozen=True, slots=True)
class PoolLock:
    """A pool: the version of its code, the digest of the files it is made of, and its content key."""

    version: Whole
    source: str
    key: Sha256


@dataclass(frozen=True, slots=True)
class TierLock:
    """One recipe and what it draws from. `samples` is a digest of the questions, keys and texts of each stratum."""

    recipe: Recipe
    tag: str
    tasks: Mapping[str, TaskLock]
    pools: Mapping[str, PoolLock]
    corpora: tuple[Sha256, ...]
    samples: Mapping[str, Sha256]


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

    strata: Mapping[str, Sha256]
    shards: Mapping[str, ShardLock]


@dataclass(frozen=True, slots=True)
class ProfileLock:
    """A profile by its digests, who counted with it, and its tiers."""

    digest: Sha256
    vocabulary_sha256: Sha256
    counter: tuple[str, ...]
    second: tuple[str, ...]
    tiers: Mapping[str, SplitLock]


@dataclass(frozen=True, slots=True)
class Lock:
    """A frozen release. `libraries` affect the bytes of files but no row."""

    release: str
    version: str
    variant: str
    frame: str
    carrara: str
    schema_version: Whole
    libraries: Mapping[str, str]
    tiers: Mapping[str, TierLock]
    profiles: Mapping[str, ProfileLock]
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
        table = json.loads(read_text(path))
        said = table.pop("digest")
        known = table.get("format")
    except OSError as fault:
        raise FrozenError(f"no lock {str(path)!r} ({fault.strerror}): make one with carrara freeze") from fault
    except (ValueError, KeyError, AttributeError, TypeError) as fault:
        raise FrozenError(f"{str(path)!r} is not a lock: give a file that carrara freeze wrote") from fault
    if known != LOCK_FORMAT:
        raise FrozenError(
            f"{str(path)!r} is a lock of format {known!r}, not {LOCK_FORMAT}: use the version of Carrara that wrote it"
        )
    if said != digest(table):
        raise FrozenError(f"{str(path)!r} was changed after it was written: get it again from where it was published")
    return msgspec.convert(table, Lock)


def lock_in(folder: Path) -> Lock | None:
    """Return the lock of a release folder, or None if it is not frozen."""
    path = folder / LOCK_NAME
    return read_lock(path) if path.is_file() else None
