"""What a build keeps: files, Parquet, journals, manifests, splits, and the recipes of a release."""

from __future__ import annotations
