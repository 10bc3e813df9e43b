"""The command `carrara`: each stage, the whole build, corpora, and ways to look at it."""

from pipeline.cli import looking, making, reporting, running, scoring, writing
from pipeline.cli.base import cli

__all__ = ["cli", "looking", "making", "reporting", "running", "scoring", "writing"]
