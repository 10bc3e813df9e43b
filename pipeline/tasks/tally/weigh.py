"""Tasks of tally that weigh acts in all messages: which is asked for most often, and which of two pairs more often."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Streams, deal, spread, words
from pipeline.tasks.base import (
    Filler,
    Key,
    Layout,
    Placed,
    Sample,
)
from pipeline.tasks.tally import text
from pipeline.tasks.tally.base import (
    DOMAIN,
    INTENTS,
    WORLD,
    TallyTask,
    clerks,
    dates,
    is_stated,
    lines_per_intent,
    messages_of,
    spec_of,
)
from pipeline.typed import TIERS
from pipeline.worlds.frequencies import Bursts, arrivals
from pipeline.worlds.utterances import Intent, denials, domain, share

ACTS = domain(DOMAIN).acts
THINGS = domain(DOMAIN).objects
OFTEN = {"denied": 3, "alone": 5}
"""How many acts are often denied, and how many are often alone: asked for in messages that deny nothing."""
DENIED, ALONE = (2.7, 16.1), (2.0, 3.4)
"""How often acts are denied, and alone, if they are so seldom or often, on the scale of the weights below."""
LINE_TOKENS = 48
"""Mean tokens of a prompt's lines, at least."""
LINES = 50
"""Dealt lines after which the leader is safely ahead of its rival, give or take one of each."""
DRAWN_TWICE = 0.5
"""The share of lines that take the nearer to their end of two places: few enough that denials seem no rarer there."""
ROUNDS_OF_SHARES = 24
"""How often shares are scaled to their sums."""
NO_BURSTS = Bursts(0, 0.0, 0.0, 1)


class Shares(TallyTask):
    """A dealt list in which one side leads another; the acts of a side are counted together.

    A reader who does not see which act a message denies can count two things for each act: the messages that mention
    it, and those that mention no other act. How often an act is denied or alone is drawn, independently of how often it
    is asked for, and varies more. So neither count reveals the leader.
    """

    scorer = "exact"
    shortest = 4096
    side: int
    """How many acts a side has; those of the leader are the first in the ranks, followed by those of its rival."""
    ways: int
    """In how many ways acts of the sides can be among those often denied or alone: each row is dealt one."""
    spared: Sequence[int]
    """How many lines of each rank may close gaps: so few that the leader still leads."""

    @abstractmethod
    def weights(self, sample: Sample) -> Sequence[int]:
        """Return how often acts are asked for, in the order of the sample's ranks."""

    @abstractmethod
    def often_acts(self, ranks: Sequence[str], dealt: int, count: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return which acts of the sides are among the `count` often so, and the acts that others are drawn from."""

    def made_of(
        self,
        stratum: Stratum,
        index: int,
        streams: tuple[Streams, Streams],
        ranks: Sequence[str],
        latent: Mapping[str, Any],
        options: Sequence[Sequence[str]],
    ) -> Sample:
        """Draw what is denied often, where lines go, and two lines to mark: one of the leader, one of its rival."""
        row_streams, stratum_streams = streams
        rng, size = row_streams.of("relevant"), self.side
        sides, rest = (ranks[:size], ranks[size : 2 * size]), ranks[2 * size :]
        end, lots = deal(stratum_streams.of("end"), stratum.rows, index, 2), row_streams.of("lots")
        early = [*sides[end], *lots.sample(rest, len(rest) // 2)]
        all_latent: dict[str, Any] = {"ranks": list(ranks), "end": end, "early": early, **latent}
        for name, count in OFTEN.items():
            dealt = deal(stratum_streams.of(name), stratum.rows, index, self.ways)
            chosen, others = self.often_acts(ranks, dealt, count)
            all_latent[name] = {"turn": dealt, "acts": [*chosen, *lots.sample(others, count - len(chosen))]}
        clerk = rng.choice(clerks(row_streams)[0])
        intents = [Intent(rng.choice(side), rng.choice(THINGS)) for side in sides]
        messages = [messages_of(one, rng, 1)[0] for one in intents]
        relevant = [
            (date, clerk, message, one) for date, message, one in zip(dates(rng, 2), messages, intents, strict=True)
        ]
        forms = text.sides(next(option for option in options if {*option} == {*sides[0]}))
        question = text.weighing(self.subtask, options)
        sample = self.sample_of(stratum, index, all_latent, relevant, question, forms[0])
        return replace(sample, key=Key.accepting(*forms))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Mark a line of the leader and one of its rival; the rest is dealt."""
        stratum = sample.stratum
        placed = [
            Placed.line(line, "relevant", spread(stratum_streams.of("depth", number), stratum.rows, sample.index))
            for number, line in enumerate(sample.relevant)
        ]
        return Layout(
            head=text.head(self.subtask, stated=is_stated(stratum)),
            placed=tuple(placed),
            filler=self.filler(sample, row_streams),
            tail=text.tail(self.subtask, sample.question),
        )

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return the dealt lines: in every prefix acts are asked for, alone and denied by their shares."""
        stratum, latent = sample.stratum, sample.latent
        ranks, asked = [ACTS.index(act) for act in latent["ranks"]], np.array(self.weights(sample), dtype=np.float64)
        denied, alone = (
            np.array([chances[act in latent[name]["acts"]] for act in latent["ranks"]])
            for name, chances in (("denied", DENIED), ("alone", ALONE))
        )
        denied *= (asked - alone).sum() / denied.sum()
        shares = np.empty((3, len(ACTS)))
        shares[:, ranks] = np.array([asked, alone, denied]) / asked.sum()
        queues, left = _queues(row_streams, stratum.tier, *shares)
        dealt = arrivals(row_streams.of("filler"), self.weights(sample), len(acts(stratum.tier)), NO_BURSTS)
        spares = np.concatenate([left[act][:count] for act, count in zip(ranks, self.spared, strict=True)])
        order = Given(_order(dealt, [queues[act] for act in ranks]))
        return Filler(spec_of(stratum).name, order, spares, "ranked", self._places(sample, row_streams), least=LINES)

    def _places(self, sample: Sample, row_streams: Streams) -> Indices:
        """Return the places of lines: those of half of the acts nearer to the start, the others nearer to the end."""
        of_act = acts(sample.stratum.tier)
        first, second, chance = words(row_streams.of("places"), 3 * len(of_act)).astype(np.int64).reshape(3, -1)
        early = np.array([act in sample.latent["early"] for act in ACTS])[of_act]
        drawn_twice = np.where(early, np.minimum(first, second), np.maximum(first, second))
        return np.where(chance < share(DRAWN_TWICE), drawn_twice, first)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return which acts of the sides are often denied or alone, and the end where the answer is frequent."""
        ways = {name: (sample.latent[name]["turn"], self.ways) for name in OFTEN}
        return {**ways, "end": (sample.latent["end"], 2)}


class Most(Shares):
    """The act that most messages ask for; `complexity` is how many acts there are."""

    subtask = "most"
    version = 7
    title = "the act that the most messages ask for"
    complexities = (10,)
    side, ways = 1, len(ACTS)
    spared = (0, 0, 2, 2, 2, 2, 3, 4, 4, 4)
    WEIGHTS = (16, 11, 10, 10, 9, 9, 8, 7, 7, 7)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal the act that leads."""
        answer = ACTS[deal(stratum_streams.of("act"), stratum.rows, index, len(ACTS))]
        others = row_streams.of("ranks").sample([act for act in ACTS if act != answer], len(ACTS) - 1)
        options = [(act,) for act in row_streams.of("options").sample(ACTS, len(ACTS))]
        return self.made_of(stratum, index, (row_streams, stratum_streams), [answer, *others], {}, options)

    def weights(self, sample: Sample) -> Sequence[int]:
        """Return the same weights for all rows."""
        return self.WEIGHTS

    def often_acts(self, ranks: Sequence[str], dealt: int, count: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return the leader as often as any other act is drawn."""
        return ranks[: int(dealt < count)], ranks[1:]

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the act that is the answer, too."""
        return {"act": (sample.key.target, len(ACTS)), **Shares.dealt(self, sample)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and the scores of counting what is mentioned, and what is mentioned alone."""
        often, alone = (sample.latent[name]["turn"] < count for name, count in OFTEN.items())
        return {"uniform": 1 / len(ACTS), "mentioned": float(often), "alone": alone / OFTEN["alone"]}


SHORTEST, TURNS = 12, 7
"""The binary logarithm of the shortest length, and how many questions of each act lie between lengths in the lists."""


class Compare(Shares):
    """Which of two pairs of acts more messages ask for; no two rows of a length ask the same question.

    In turn, the leading pair has both the most frequent and the least frequent of the four acts, or neither. Both acts
    of one pair are denied often, and both of one are often alone.
    """

    subtask = "compare"
    version = 7
    title = "which of two pairs of acts is asked for by more messages"
    complexities = (2,)
    side, ways = 2, 2
    spared = (0, 0, 0, 0, 4, 4, 4, 4, 4, 4)
    WEIGHTS = ((19, 7, 9, 9, 10, 9, 9, 8, 7, 7), (13, 13, 14, 4, 10, 9, 9, 8, 7, 7))

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal an act of the leading pair, and take the other three from its list of questions."""
        block, rng = divmod(index, stratum.rows)[0], stratum_streams.of("question")
        place = block * stratum.rows + int(spread(rng, stratum.rows, index) * stratum.rows)
        lengths = stratum.length.bit_length() - 1 - SHORTEST
        turn, first = place // len(ACTS), (place + lengths * stratum.rows) % len(ACTS)
        skip = lengths * TURNS
        listed = _questions(row_streams.world(WORLD, stratum.tier))[first]
        four = listed[(skip + turn) % len(listed)]
        left = [act for act in ACTS if act not in four]
        drawn = row_streams.of("options")
        pairs = [tuple(drawn.sample(pair, 2)) for pair in (four[:2], four[2:])]
        options = drawn.sample(pairs, 2)
        ranks = [*four, *row_streams.of("ranks").sample(left, len(left))]
        latent = {"top": deal(stratum_streams.of("top"), stratum.rows, index, 2)}
        return self.made_of(stratum, index, (row_streams, stratum_streams), ranks, latent, options)

    def weights(self, sample: Sample) -> Sequence[int]:
        """Return the weights with the most frequent act in the leading pair, or in the other one."""
        return self.WEIGHTS[sample.latent["top"]]

    def often_acts(self, ranks: Sequence[str], dealt: int, count: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return one pair or the other."""
        return ranks[dealt * self.side :][: self.side], ranks[2 * self.side :]

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return an act of the answer, and in which pair the most frequent act is, too."""
        latent = sample.latent
        return {"act": (latent["ranks"][0], len(ACTS)), "top": (latent["top"], 2), **Shares.dealt(self, sample)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and the scores of counting what is mentioned, and what is mentioned alone."""
        often, alone = (float(sample.latent[name]["turn"] == 0) for name in OFTEN)
        return {"uniform": 1 / 2, "mentioned": often, "alone": alone}


@lru_cache(maxsize=4)
def _questions(world: Streams) -> Sequence[Sequence[tuple[str, ...]]]:
    """Return all questions about two pairs of acts, each in the list of one act of the pair that is to lead.

    A question is four acts, those of the leading pair first. The lists are about equally long.
    """
    rng, listed = world.of("questions"), [list[tuple[str, ...]]() for _ in ACTS]
    fours = [*combinations(range(len(ACTS)), 4)]
    questions = [(four, partner) for four in fours for partner in four[1:]]
    for four, partner in rng.sample(questions, len(questions)):
        pair, other_pair = (four[0], partner), tuple(act for act in four[1:] if act != partner)
        first = min(rng.sample(four, 4), key=lambda act: len(listed[act]))
        leading, trailing = (pair, other_pair) if first in pair else (other_pair, pair)
        named = (first, *(act for act in leading if act != first), *rng.sample(trailing, 2))
        listed[first].append(tuple(ACTS[act] for act in named))
    return listed


def _order(dealt: Indices, queues: Sequence[Indices]) -> Indices:
    """Return the lines of the acts that are dealt by rank, up to where one act's lines run out."""
    places = [np.flatnonzero(dealt == rank) for rank in range(len(queues))]
    ends = [int(spots[len(queue)]) for spots, queue in zip(places, queues, strict=True) if len(spots) > len(queue)]
    order = np.empty(min(ends, default=len(dealt)), dtype=np.int64)
    for spots, queue in zip(places, queues, strict=True):
        fits = spots[spots < len(order)]
        order[fits] = queue[: len(fits)]
    return order


@lru_cache(maxsize=2)
def acts(tier: str) -> Indices:
    """Return the number of the act of each line of a pool."""
    return np.repeat([ACTS.index(intent.act) for intent in INTENTS], lines_per_intent(tier))


@lru_cache(maxsize=2)
def _denied(world: Streams, tier: str) -> Indices:
    """Return the number of the act that each line of a pool denies, or -1."""
    by_intent = denials(world, tier, DOMAIN)
    return np.concatenate([by_intent[intent] for intent in INTENTS])


def _queues(
    row_streams: Streams,
    tier: str,
    asked: NDArray[np.float64],
    alone: NDArray[np.float64],
    denied: NDArray[np.float64],
) -> tuple[list[Indices], list[Indices]]:
    """Return the lines of each act in an order whose every prefix denies other acts in proportion, and the rest.

    The shares are of all lines: `asked` those that ask for each act, `alone` those that do and deny nothing, and
    `denied` those that deny it. The order ends where an act's lines that deny another one run out. The rest are later
    lines that deny something, so that those that close gaps do not make acts alone more often.
    """
    of_act, denies, count = acts(tier), _denied(row_streams.world(), tier), len(ACTS)
    sizes = np.bincount(of_act * (count + 1) + np.where(denies < 0, count, denies), minlength=count * (count + 1))
    enough = sizes.reshape(count, -1)[:, :count] * LINE_TOKENS / TIERS[tier]
    rates = np.column_stack([_joint(asked - alone, denied, enough), alone]) / asked[:, None]
    pairs = of_act * (count + 1) + np.where(denies < 0, count, denies)
    drawn = words(row_streams.of("queues"), len(pairs))
    order = np.argsort((pairs.astype(np.uint64) << np.uint64(32)) + drawn, kind="stable")
    nth = np.arange(len(pairs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    flat = rates.ravel()[pairs[order]]
    times = (nth + (drawn[order] & np.uint64(0xFFFF)) / 65536) / flat
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(rates > 0, sizes.reshape(rates.shape) / rates, np.inf).min(axis=1)
    ordered, left = [], []
    for act in range(count):
        mine = of_act[order] == act
        lines, when = order[mine], times[mine]
        lines = lines[np.argsort(when, kind="stable")]
        size = int((when < ends[act]).sum())
        ordered.append(lines[:size])
        left.append(lines[size:][denies[lines[size:]] >= 0])
    return ordered, left


def _joint(rows: NDArray[np.float64], columns: NDArray[np.float64], most: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares with given sums of rows and, roughly, of columns, none above `most` and none on the diagonal."""
    shares = np.outer(rows, columns)
    np.fill_diagonal(shares, 0.0)
    for _ in range(ROUNDS_OF_SHARES):
        shares = np.minimum(shares * (columns / shares.sum(axis=0)), most)
        shares *= (rows / shares.sum(axis=1))[:, None]
    return shares
