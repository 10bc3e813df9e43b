"""What is kept, on a disk or in a store: files, Parquet, journals, manifests, splits, and the recipes of a release."""

from __future__ import annotations
