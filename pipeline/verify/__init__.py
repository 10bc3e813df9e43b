"""Proofs of shards, chance levels, the manifest that seals them, and the verification of copies."""

from __future__ import annotations
