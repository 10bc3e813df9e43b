"""The files of a build and of runs: Parquet files, journals, manifests, splits."""

from __future__ import annotations
