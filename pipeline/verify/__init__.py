"""Proofs of shards, chance levels, manifests, and the verification of copies."""

from __future__ import annotations
