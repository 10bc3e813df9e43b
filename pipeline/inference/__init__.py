"""Asking a model: the endpoint, runs over the rows of a split, and texts for a corpus."""

from __future__ import annotations
