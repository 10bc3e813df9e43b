"""Reading the manifest of a profile: the strata, shards and proofs of a split, with their digests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.store.files import file_digest

DEPTH_BINS = 10
PORTIONS = {"prompt": "prompt_tokens", "template": "template_tokens", "reply": "max_new_tokens"}
"""The parts of a window, and the columns that count them."""

PARTS = {"release", "version", "variant", "frame", "tokenizer", "tiers", "totals"}
Manifest = dict[str, Any]


def shard_faults(folder: Path, shard: Mapping[str, Any]) -> Iterator[tuple[str, Path, str]]:
    """Compare the files of a shard with the manifest, reading all bytes.

    Yields:
        The part of the folder (data, keys or index), the file, and what is wrong with it.
    """
    for part in ("data", "index", "keys"):
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
        manifest: Manifest = json.loads(manifest_path(out, profile).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.keys() >= PARTS else None
