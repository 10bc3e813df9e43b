"""Carrara: long-context evaluation sets, cut to exact size and proven. Notebooks and scripts import `carrara`."""

from pipeline.version import __version__

__all__ = ["__version__"]
