"""The command `carrara`: each stage, the whole build, corpora, frozen splits, and ways to look at it."""

from pipeline.cli import freezing, looking, making, proving, writing
from pipeline.cli.base import cli

__all__ = ["cli", "freezing", "looking", "making", "proving", "writing"]
