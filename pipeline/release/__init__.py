"""Releases and their successors: freeze, extend, rebuild, recut."""
