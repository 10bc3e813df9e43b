"""The command `carrara`: stages, builds, frozen splits, publishing, exports, scores, and ways to look at them."""

from pipeline.cli.group import cli

__all__ = ["cli"]
