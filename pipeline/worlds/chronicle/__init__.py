"""The world `chronicle`: annals of an invented town, entry by entry."""

from pipeline.worlds.chronicle.entries import Entry, entry, listed, new_year, written, year
from pipeline.worlds.chronicle.wording import deeds, happenings, source_digest
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
    "written",
    "year",
]
