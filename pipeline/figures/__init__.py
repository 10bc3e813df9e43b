"""Figures in one style: of a build for its card and report, and of scores for the report."""

from pipeline.figures.builds import figures_of
from pipeline.figures.style import Picture

__all__ = ["Picture", "figures_of"]
