"""The command `carrara`: each stage, the whole build, corpora, frozen splits, publishing, and ways to look at it."""

from pipeline.cli import exporting, freezing, looking, making, proving, publishing, writing
from pipeline.cli.base import cli

__all__ = ["cli", "exporting", "freezing", "looking", "making", "proving", "publishing", "writing"]
