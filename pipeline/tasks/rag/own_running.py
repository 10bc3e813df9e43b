"""rag.single over running text: a user's question about a paragraph, which stands where it stands in its document.

A prompt is a stretch of text around the paragraph, whose share before it is the depth that the row is dealt; behind the
ends of its document others follow, whole and in random order. No sentence is cut: the paragraphs furthest away close
the gap. Nothing is left out of running text, so other paragraphs may hold the answer too: the metadata says how many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import PoolError
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams
from pipeline.tasks.base import Filler, Layout, Piece, Placed, PoolSpec, Published, Sample, Unit, unit
from pipeline.tasks.haystacks import in_runs
from pipeline.tasks.rag import own_haystack, own_text
from pipeline.tasks.rag.own import SINGLE, OwnRag
from pipeline.tasks.rag.proof import question
from pipeline.worlds.corpora.records import Corpus
from pipeline.worlds.corpora.rules import holds, searched
from pipeline.worlds.corpora.shelf import forms_of
from pipeline.worlds.corpora.store import corpus_of


def make_running(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of a corpus as it stands, without its title."""
    corpus = corpus_of(spec.corpora, spec.source.rsplit(" ", 1)[1])
    return (unit(passage.text + "\n") for passage in corpus.passages)


@dataclass(frozen=True, slots=True)
class OwnRunning(OwnRag):
    """A question about a paragraph of a user's documents, which stands in its context."""

    shots = 0
    most_shots = 0

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of paragraphs."""
        digest = str(stratum.knob("corpus", ""))
        name = f"running-{digest[:12]}-{stratum.tier}"
        return (PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make_running, self.corpora),)

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a paragraph as prompts have it."""
        return corpus.passages[place].text + "\n"

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the paragraph at its place in the text, and around it as much as there is room for."""
        corpus, (depth,) = self.corpus(sample.stratum), sample.latent["depths"]
        if not corpus.documents:
            raise PoolError(f"{sample.stratum}: negatives = 'running' needs a corpus of documents: give 'hard'")
        gold = corpus.places[corpus.questions[sample.latent["number"]].gold[0]]
        order, ranks = _around(corpus, gold, depth, own)
        (spec,) = self.pools(sample.stratum)
        return Layout(
            head=(Piece(own_text.RUNNING, "instruction"), Piece(own_text.TEXT, "instruction")),
            placed=(Placed(unit(sample.relevant[0], "relevant"), depth, at=int(ranks[gold])),),
            filler=Filler(spec.name, Given(order), own_haystack.NONE, "ranked", ranks=ranks),
            tail=(Piece(own_text.TAIL.format(question=sample.question), "question"),),
        )

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return how many paragraphs are filler, and how many of them are of the same document or hold an answer."""
        corpus, number = self.corpus(sample.stratum), sample.latent["number"]
        home = corpus.passages[corpus.places[corpus.questions[number].gold[0]]].title
        own = sum(corpus.passages[place].title == home for place in units.tolist())
        holding = int(own_haystack.sought(corpus, number).held(units).sum())
        return {"filler": {"paragraphs": len(units), "own": own, "holding": holding}}

    def check(self, row: Published) -> list[str]:
        """Check that the marked paragraph holds the answer and is a line of the text."""
        return list(_faults(row))


def of_corpus(stratum: Stratum) -> OwnRag:
    """Return the task over a corpus, by what surrounds the passage that is needed."""
    return RUNNING if stratum.knob("negatives", own_haystack.NEGATIVES[0]) == "running" else SINGLE


def _around(corpus: Corpus, gold: int, depth: float, own: Streams) -> tuple[Indices, Indices]:
    """Return all paragraphs but one in the order in which they enter, and the place of every one in the text."""
    starts, counts, sizes, home = _outline(corpus)
    others = Shuffled(own.of("filler"), len(starts), frozenset({int(home[gold])})).take(len(starts) - 1)
    lengths = np.add.reduceat(sizes, starts)[others]
    before = others[: int(np.searchsorted(np.cumsum(lengths), depth * lengths.sum()))] if len(others) else others
    behind = others[len(before) :]
    mine = home[gold]
    whole = np.concatenate([before, [mine], behind]).astype(np.int64)
    line = in_runs(starts[whole], counts[whole])
    ranks = np.empty(len(line), dtype=np.int64)
    ranks[line] = np.arange(len(line))
    left, right = line[: ranks[gold]][::-1], line[ranks[gold] + 1 :]
    away = np.concatenate([np.cumsum(sizes[left]) / max(depth, 1e-9), np.cumsum(sizes[right]) / max(1 - depth, 1e-9)])
    return np.concatenate([left, right])[np.argsort(away, kind="stable")], ranks


@lru_cache(maxsize=4)
def _outline(corpus: Corpus) -> tuple[Indices, Indices, Indices, NDArray[np.int64]]:
    """Return first paragraph and number of paragraphs of each document, all their sizes, and whose each is."""
    titles = [passage.title for passage in corpus.passages]
    starts = [place for place, title in enumerate(titles) if place == 0 or titles[place - 1] != title]
    counts = np.diff([*starts, len(titles)])
    sizes = np.array([len(passage.text) + 1 for passage in corpus.passages], dtype=np.int64)
    return np.array(starts, dtype=np.int64), counts, sizes, np.repeat(np.arange(len(starts)), counts)


def _faults(row: Published) -> Iterator[str]:
    if question(row.text) != row.question:
        yield f"the prompt asks {question(row.text)!r}"
    marked = [row.text[n.char_start : n.char_end] for n in row.needles if n.role == "relevant"]
    if len(marked) != 1 or f"\n{marked[0]}" not in row.text or marked[0].count("\n") != 1:
        yield "the marked text is not one line of the prompt"
    elif not holds(searched(marked[0]), forms_of([row.key.answers])):
        yield "the paragraph that is needed holds no accepted answer"


RUNNING = OwnRunning("single", (1,), SINGLE.knobs, shuffled=False)
