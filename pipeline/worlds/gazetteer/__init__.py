"""An invented land: things of many kinds with typed facts, and the passages that state them."""

from pipeline.worlds.gazetteer.forms import Form, Relation, forms, kinds, source_digest, words_of
from pipeline.worlds.gazetteer.ids import ids
from pipeline.worlds.gazetteer.passages import Passage
from pipeline.worlds.gazetteer.things import Thing
from pipeline.worlds.gazetteer.world import WORLD, Gazetteer, gazetteer
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
