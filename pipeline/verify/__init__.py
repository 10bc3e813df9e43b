"""Proofs, chance levels, manifests, and checks of copies."""

from __future__ import annotations
