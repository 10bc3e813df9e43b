"""Tasks over a user's own passages whose replies name documents: each stands under its number."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.recipe import Stratum
from pipeline.tasks.base import PoolSpec
from pipeline.tasks.rag import own_haystack, own_text
from pipeline.tasks.rag.own import OwnRag
from pipeline.worlds.corpora.records import Corpus


@dataclass(frozen=True, slots=True)
class OwnNumbered(OwnRag):
    """A question of a user's that is answered with the numbers of passages."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of passages with their numbers."""
        return (own_haystack.spec(stratum, self.corpora, numbered=True),)

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a passage as prompts have it, under its number."""
        return own_text.document(corpus.passages[place], own_haystack.numbers(corpus)[place])
