"""The command `carrara`: each stage, the whole build, corpora, publishing, and ways to look at it."""

from pipeline.cli import looking, making, publishing, writing
from pipeline.cli.base import cli

__all__ = ["cli", "looking", "making", "publishing", "writing"]
