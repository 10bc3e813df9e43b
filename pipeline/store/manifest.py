"""The manifest of a profile, as it is read: the strata, shards and proofs of a split, with their digests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DEPTH_BINS = 10
PORTIONS = {"prompt": "prompt_tokens", "template": "template_tokens", "reply": "max_new_tokens"}
"""The parts of a window, and the columns that count them."""

PARTS = {"release", "version", "variant", "frame", "tokenizer", "tiers", "totals"}
Manifest = dict[str, Any]


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
