"""Asking a model: the endpoint, and runs over a split."""

from __future__ import annotations
