"""Figures of builds and of scores."""

from pipeline.figures.builds import figures_of
from pipeline.figures.style import Picture

__all__ = ["Picture", "figures_of"]
