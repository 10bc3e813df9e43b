"""The world `desk`: an invented firm, the calls of its agent, and what the tools return."""

from pipeline.worlds.desk.calls import Act, CallWriter, Pair
from pipeline.worlds.desk.declared import DECLARED
from pipeline.worlds.desk.jobs import job_text, pool_size, pool_texts
from pipeline.worlds.desk.lexicon import WORLD, Desk, Refs, SentenceWriter, desk, drawn_room, source_digest, words
from pipeline.worlds.desk.simulator import State, apply

__all__ = [
    "DECLARED",
    "WORLD",
    "Act",
    "CallWriter",
    "Desk",
    "Pair",
    "Refs",
    "SentenceWriter",
    "State",
    "apply",
    "desk",
    "drawn_room",
    "job_text",
    "pool_size",
    "pool_texts",
    "source_digest",
    "words",
]
