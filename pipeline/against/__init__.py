"""Any copy of a split, held to its manifest and its lock: every byte, every row, as a stranger would read it."""

from pipeline.against.copy import Copy, Seen, check

__all__ = ["Copy", "Seen", "check"]
