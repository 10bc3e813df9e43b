"""The command `carrara`: stages, builds, frozen splits, publishing, exports, scores, and ways to look at them."""

from pipeline.cli import exporting, freezing, looking, making, proving, publishing, reporting, running, scoring, writing
from pipeline.cli.base import cli

__all__ = [
    "cli",
    "exporting",
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
