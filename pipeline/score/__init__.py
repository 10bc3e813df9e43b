"""Predictions held against a split: read, joined, scored, and brought together with intervals and chance."""
