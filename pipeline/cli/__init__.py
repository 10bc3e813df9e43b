"""The command `carrara`: stages, builds, corpora, frozen splits, publishing, scores, and ways to look at them."""

from pipeline.cli import freezing, looking, making, proving, publishing, reporting, running, scoring, writing
from pipeline.cli.base import cli

__all__ = [
    "cli",
    "freezing",
    "looking",
    "making",
    "proving",
    "publishing",
    "reporting",
    "running",
    "scoring",
    "writing",
]
