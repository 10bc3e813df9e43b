"""The world `chronicle`: annals of an invented town, entry by entry."""

from pipeline.worlds.chronicle.entries import (
    Entry,
    deeds,
    entry,
    happenings,
    listed,
    new_year,
    source_digest,
    working,
    written,
    year,
)
from pipeline.worlds.chronicle.world import WORLD, Chronicle, chronicle

__all__ = [
    "WORLD",
    "Chronicle",
    "Entry",
    "chronicle",
    "deeds",
    "entry",
    "happenings",
    "listed",
    "new_year",
    "source_digest",
    "working",
    "written",
    "year",
]
