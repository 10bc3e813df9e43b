"""most and compare: which acts are asked for more often than others in all messages (OOLONG, section 3).

The order of the lines that enter is dealt: every act arrives as often as its weight says, in every prefix. Where they
stand is another matter: the act that leads grows rarer towards one end of the text and its rival more frequent, so that
who reads a part may find the rival ahead. And it is the rival that other messages mention most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, spread, words
from pipeline.tasks.base import Filler, Key, Layout, Placed, Sample
from pipeline.tasks.tally import base, text
from pipeline.tasks.tally.base import TallyTask, dates, told
from pipeline.worlds.frequencies import Bursts, arrivals
from pipeline.worlds.utterances import Intent, domain, kinds, mentioned, texts

ACTS = tuple(domain("request").acts)
THINGS = tuple(domain("request").things)
WEIGHTS = (18, 13, 11, 10, 9, 9, 6, 6, 6, 6)
"""How often the acts of a prompt are asked for, the most frequent first."""
LINES = 60
"""Lines of the dealt list in which the leader is safely ahead of its rival, give or take one of each."""
LOW = 4
"""Acts of the least weight, whose lines close gaps."""
NO_BURSTS = Bursts(0, 0.0, 0.0, 1)


class Shares(TallyTask):
    """A dealt list of which one act leads another."""

    scorer = "exact"
    shortest = 4096
    first: int
    """The rank of the act that is the answer: 0 is the most frequent one."""

    def ranks(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> list[str]:
        """Return all acts, the most frequent first, with a dealt one in the place of the answer."""
        answer = ACTS[self.drawn(stratum, index, stratum_streams, "act", len(ACTS))]
        others = row_streams.of("ranks").sample([act for act in ACTS if act != answer], len(ACTS) - 1)
        return [*others[: self.first], answer, *others[self.first :]]

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal the act that leads, and the end of the text towards which it does not."""
        ranks = self.ranks(stratum, index, row_streams, stratum_streams)
        rng = row_streams.of("relevant")
        clerk = rng.choice(base.clerks(row_streams)[0])
        lead, rival = ranks[self.first], ranks[self.first + 1]
        some = [Intent(act, rng.choice(THINGS)) for act in (lead, rival)]
        relevant = [(date, clerk, told(one, rng, 1)[0], one) for date, one in zip(dates(rng, 2), some, strict=True)]
        options = row_streams.of("options").sample(self.options(ranks), len(self.options(ranks)))
        ends = self.drawn(stratum, index, stratum_streams, "end", 2)
        latent = {"ranks": ranks, "end": ends}
        question = text.weighing(self.subtask, options)
        return self.made(stratum, index, latent, relevant, question, kinds("act")[lead].word)

    def options(self, ranks: Sequence[str]) -> Sequence[str]:
        """Return what is offered for an answer."""
        return ranks

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Mark a line of the act that leads and one of its rival; the rest is dealt."""
        stratum = sample.stratum
        placed = [
            Placed.line(line, "relevant", spread(stratum_streams.of("depth", number), stratum.rows, sample.index))
            for number, line in enumerate(sample.relevant)
        ]
        return Layout(
            head=text.head(self.subtask, stated=base.is_stated(stratum)),
            placed=tuple(placed),
            filler=self.filler(sample, row_streams),
            tail=text.tail(self.subtask, sample.question),
        )

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return the dealt lines; none mentions the leader where it is not wanted, and many do so with the rival."""
        stratum, ranks = sample.stratum, sample.latent["ranks"]
        lead, rival = (ACTS.index(ranks[self.first + step]) for step in (0, 1))
        queues = _queues(row_streams, stratum.tier, [ACTS.index(act) for act in ranks], lead, rival)
        order = _order(arrivals(row_streams.of("filler"), WEIGHTS, len(acts(stratum.tier)), NO_BURSTS), queues)
        spares = np.concatenate([queue[-base.SPARES // LOW :] for queue in queues[-LOW:]])
        return Filler(
            base.spec_of(stratum).name,
            _Dealt(order[~np.isin(order, spares)]),
            spares,
            "ranked",
            self._places(sample, row_streams, lead, rival),
            least=LINES,
        )

    def _places(self, sample: Sample, row_streams: Streams, lead: int, rival: int) -> Indices:
        """Return where lines stand: those of the leader nearer to one end, those of its rival nearer to the other."""
        of_act, size = acts(sample.stratum.tier), base.each(sample.stratum.tier) * len(base.INTENTS)
        one, two = words(row_streams.of("places"), 2 * size).astype(np.int64).reshape(2, size)
        early, late = (lead, rival) if sample.latent["end"] else (rival, lead)
        one = np.where(of_act == early, np.minimum(one, two), one)
        return np.where(of_act == late, np.maximum(one, two), one)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the act that is the answer, and the end of the text at which it is frequent."""
        return {"act": (sample.key.target, len(ACTS)), "end": (sample.latent["end"], 2)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess among the options."""
        return {"uniform": 1 / len(self.options(sample.latent["ranks"]))}


class Most(Shares):
    """The act that most messages ask for; `complexity` is how many acts there are."""

    subtask = "most"
    version = 2
    title = "what most of all messages ask for"
    complexities = (10,)
    first = 0


class Compare(Shares):
    """Which of two acts more messages ask for; others are as frequent as these, or more so."""

    subtask = "compare"
    version = 2
    title = "which of two things more of all messages ask for"
    complexities = (2,)
    first = 0

    def options(self, ranks: Sequence[str]) -> Sequence[str]:
        """Return the two acts that are compared."""
        return ranks[:2]


def _order(dealt: Indices, queues: Sequence[Indices]) -> Indices:
    """Return the lines of the acts that are dealt by rank, up to where the lines of one run out."""
    places = [np.flatnonzero(dealt == rank) for rank in range(len(queues))]
    ends = [int(some[len(queue)]) for some, queue in zip(places, queues, strict=True) if len(some) > len(queue)]
    order = np.empty(min(ends, default=len(dealt)), dtype=np.int64)
    for some, queue in zip(places, queues, strict=True):
        fits = some[some < len(order)]
        order[fits] = queue[: len(fits)]
    return order


class _Dealt:
    """A list that is there from its first line to its last."""

    def __init__(self, order: Indices) -> None:
        self._order = order

    def take(self, count: int) -> Indices:
        """Return the first `count` lines."""
        return self._order[:count]


@lru_cache(maxsize=2)
def acts(tier: str) -> Indices:
    """Return the number of the act of each line of a pool."""
    return np.repeat([ACTS.index(intent.act) for intent in base.INTENTS], base.each(tier))


@lru_cache(maxsize=2)
def _mentions(world: Streams, tier: str) -> Indices:
    """Return the number of the act that each line of a pool says is not wanted, or -1."""
    every = texts(world, tier, "request")
    names = (mentioned("request", one) for intent in base.INTENTS for one in every[intent][: base.each(tier)])
    return np.array([ACTS.index(name) if name else -1 for name in names], dtype=np.int64)


def _queues(row_streams: Streams, tier: str, ranks: Sequence[int], lead: int, rival: int) -> list[Indices]:
    """Return the lines of each act, in the order of ranks: random, but for those that mention leader or rival."""
    of_act, said = acts(tier), _mentions(row_streams.world(), tier)
    mixed = np.argsort(words(row_streams.of("queues"), len(of_act)), kind="stable")
    mixed = mixed[said[mixed] != lead]
    found = []
    for act in ranks:
        mine = mixed[of_act[mixed] == act]
        found.append(_favoured(mine, said[mine] == rival))
    return found


FAVOUR = 13
"""Of so many lines one mentions the rival, as long as there are such lines."""


def _favoured(lines: Indices, mentions: NDArray[np.bool_]) -> Indices:
    """Return lines in an order in which those that mention the rival come at even steps."""
    first, rest = lines[mentions], lines[~mentions]
    steps = np.concatenate([np.arange(len(first)) * FAVOUR, np.arange(len(rest)) * FAVOUR / (FAVOUR - 1) + 0.5])
    return np.concatenate([first, rest])[np.argsort(steps, kind="stable")]
