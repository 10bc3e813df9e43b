"""Rows for verl: ``data.custom_cls.path=examples/verl_rows.py data.custom_cls.name=Rows``. See docs/training.md."""

from carrara import compute_score, verl_dataset

__all__ = ["Rows", "compute_score"]

Rows = verl_dataset()
