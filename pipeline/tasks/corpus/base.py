"""The base of tasks over a user's corpus, whose rows no program can solve."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from pipeline.corpora.records import Corpus, corpus_of
from pipeline.recipe import Stratum
from pipeline.tasks.base import PoolSpec, Task


@dataclass(frozen=True, slots=True)
class CorpusTask(Task):
    """A subtask asked about a user's own texts. No program can solve its rows, so they are only checked."""

    corpora: str = field(default="", kw_only=True)
    """The folder of frozen corpora."""

    proof = "checked"

    def with_corpora(self, corpora: str) -> Self:
        return replace(self, corpora=corpora)

    def answers(self, text: str) -> tuple[str, ...]:
        """Refuse, as no program answers questions about arbitrary texts.

        Raises:
            ValueError: always.
        """
        raise ValueError("rows about a user's own texts are checked, not solved")

    def corpus(self, stratum: Stratum) -> Corpus:
        """Return the corpus of a stratum."""
        return corpus_of(self.corpora, str(stratum.knob("corpus", "")))


def corpus_of_pool(spec: PoolSpec) -> Corpus:
    """Return the corpus that a pool is made from."""
    return corpus_of(spec.corpora, spec.source.rsplit(" ", 1)[1])
