"""The folder that is published: made from a sealed split, with its answers or without."""

from pipeline.staging.folder import MODES, Staged, stage

__all__ = ["MODES", "Staged", "stage"]
