"""Reading the manifest of a profile: the strata, shards and proofs of a split, with their digests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.paths import read_text
from pipeline.recipe import is_secret
from pipeline.store.files import file_digest, written_aside

DEPTH_BINS = 10
PORTIONS = {"prompt": "prompt_tokens", "template": "template_tokens", "reply": "max_new_tokens"}
"""The parts of a window, and the columns that count them."""

PARTS = {"release", "version", "variant", "frame", "tokenizer", "tiers", "totals"}
PARTS_OF_SHARDS = ("data", "index", "keys")
"""Folders in which a shard may have a file."""
Manifest = dict[str, Any]


def shard_faults(folder: Path, shard: Mapping[str, Any]) -> Iterator[tuple[str, Path, str]]:
    """Compare the files of a shard with the manifest, reading all bytes.

    Yields:
        The part of the folder (data, keys or index), the file, and what is wrong with it.
    """
    for part in PARTS_OF_SHARDS:
        path = folder / part / f"{shard['shard']}.parquet"
        if f"{part}_sha256" not in shard:
            continue
        if not path.is_file():
            yield part, path, "is missing"
        elif (path.stat().st_size, file_digest(path)) != (shard[f"{part}_bytes"], shard[f"{part}_sha256"]):
            yield part, path, "differs from the bytes that were proven"


def manifest_path(out: Path, profile: str) -> Path:
    """Return the manifest's place."""
    return out / profile / "manifest.json"


def read_manifest(out: Path, profile: str) -> Manifest | None:
    """Return a profile's manifest, or None if it is not sealed."""
    try:
        manifest: Manifest = json.loads(read_text(manifest_path(out, profile)))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.keys() >= PARTS else None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest, for its owner alone if it holds a seed that is secret."""
    with written_aside(
        path, secret=any(is_secret(made.get("seed", 0)) for made in manifest["tiers"].values())
    ) as aside:
        aside.write_text(json.dumps(manifest, indent=1) + "\n", encoding="ascii")


def unseal(path: Path, tier: str) -> None:
    """Take a tier out of a manifest; remove the manifest if it is broken or holds no other tier."""
    manifest = read_manifest(path.parent.parent, path.parent.name) or {"tiers": {}}
    left = {name: kept for name, kept in manifest["tiers"].items() if name != tier}
    if not left:
        path.unlink(missing_ok=True)
        return
    totals = {name: sum(kept["totals"][name] for kept in left.values()) for name in manifest["totals"]}
    write_manifest(path, {**manifest, "tiers": left, "totals": totals})
