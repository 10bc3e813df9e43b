"""The command `carrara`: each stage, the whole build, and ways to look at it."""

from pipeline.cli import looking, making
from pipeline.cli.base import cli

__all__ = ["cli", "looking", "making"]
