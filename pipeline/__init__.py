"""Carrara: long-context evaluation sets, cut to exact size and proven."""

__version__ = "1.0.0"
