"""What a build keeps: Parquet files, journals, manifests, splits."""

from __future__ import annotations
