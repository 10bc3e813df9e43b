"""An invented land: things of many kinds with typed facts, and the passages that state them."""

from pipeline.worlds.gazetteer.documents import Passage
from pipeline.worlds.gazetteer.things import Form, Relation, Thing, forms, kinds, source_digest, words_of
from pipeline.worlds.gazetteer.world import WORLD, Gazetteer, gazetteer, ids
from pipeline.worlds.ids import fresh

__all__ = [
    "WORLD",
    "Form",
    "Gazetteer",
    "Passage",
    "Relation",
    "Thing",
    "forms",
    "fresh",
    "gazetteer",
    "ids",
    "kinds",
    "source_digest",
    "words_of",
]
