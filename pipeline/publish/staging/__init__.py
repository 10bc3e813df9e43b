"""The folder that is published: made from a sealed split, with its answers or without."""

from pipeline.publish.staging.folder import KEYS_SUFFIX, MODES, Draw, Read, Staged, stage

__all__ = ["KEYS_SUFFIX", "MODES", "Draw", "Read", "Staged", "stage"]
