"""The command `carrara`: each stage, the whole build, corpora, frozen splits, publishing, and ways to look at it."""

from pipeline.cli import freezing, looking, making, proving, publishing, writing
from pipeline.cli.base import cli

__all__ = ["cli", "freezing", "looking", "making", "proving", "publishing", "writing"]
