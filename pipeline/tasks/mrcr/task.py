"""mrcr: give back the n-th of several replies to the same request (Michelangelo, sections 2.2 and 3.1.2, appendix A.2).

The latent structure is a table of lists: for every format and topic (and tone, with the knob `tone`), the replies in
order. `transcript` sends the conversation as one string with two demonstrations, `chat` as real turns. Deliberate
differences from the paper: 2, 4 or 8 replies match instead of 1 or 2; the cap on hard distractors does not grow with
length; texts come from phrase grammars, a user's corpus or any model, and no text occurs twice in a prompt. Matching
replies from grammars are written for one row alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from pipeline.errors import PoolError
from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Streams, spread
from pipeline.tasks.base import (
    CorpusKnob,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    PublishedRow,
    Sample,
    Task,
    Turns,
    Unit,
)
from pipeline.tasks.mrcr import solve as solver
from pipeline.tasks.mrcr import text
from pipeline.tasks.mrcr.chance import DRAWN, GUESSES, guesses
from pipeline.tasks.mrcr.crowd import CAPS, Crowd, PoolShape, cap_of, crowd, filler, shown_cells, twins
from pipeline.tasks.mrcr.solve import read_conversation
from pipeline.worlds.writing.library import Label, RequestedText, TextPlan, library_of, topics_of
from pipeline.worlds.writing.realise import formats


def depths(
    stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
) -> tuple[int, tuple[float, ...]]:
    """Return which match is asked for (from 0), and the depths of all of them in order."""
    count, depth = stratum.complexity, spread(stratum_streams.of("depth"), stratum.rows, index)
    group, member = divmod(int(depth * stratum.rows), count)
    asked = Permutation(stratum_streams.of("ordinal", index // stratum.rows, group), count)[member]
    rng = row_streams.of("depths")
    before = sorted(depth * rng.random() for _ in range(asked))
    after = sorted(depth + (1 - depth) * rng.random() for _ in range(count - 1 - asked))
    return asked, (*before, depth, *after)


LETTERS, DIGITS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", "23456789"
CODE = 12
"""Characters of the code, as the published metrics expect."""


KNOBS: Mapping[str, tuple[Any, ...] | CorpusKnob] = {
    "replies": ("any", "short"),
    "distractors": CAPS,
    "tone": (False, True),
    "corpus": CorpusKnob("a corpus's SHA-256", frozenset({"writings"})),
}
"""Length of replies, cap on hard distractors, tone as a third key, and a corpus by its digest."""


@dataclass(frozen=True, slots=True)
class Mrcr(Task):
    """One way of sending the conversation. `complexity` is the number of replies that match what is asked."""

    family = "mrcr"
    subtask: str
    title: str
    shots: int
    most_shots: int
    version = 8
    scorer = "mrcr"
    max_new_tokens = 640
    complexities = (2, 4, 8)
    knobs = KNOBS
    corpora: str = ""
    """The folder of frozen corpora."""

    def with_corpora(self, corpora: str) -> Mrcr:
        return replace(self, corpora=corpora)

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row; eight replies and demonstrations need 8,192 tokens."""
        if complexity == max(self.complexities):
            return Stratum(self.family, self.subtask, "32k", 8192, complexity, 1)
        return Stratum(self.family, self.subtask, "32k", 2048, complexity, 1, 0, (("replies", "short"),))

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (PoolShape.of(stratum).pool(stratum.tier, self.corpora),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw what is asked for: formats in equal shares, and topics too as far as formats suit them.

        Raises:
            PoolError: if no format and topic of the library has enough texts.
        """
        everybody = _crowd(row_streams, stratum, self.corpora)
        requested = _asked(everybody, stratum, index, row_streams, stratum_streams)
        place, places = depths(stratum, index, row_streams, stratum_streams)
        code = _code(row_streams.of("code"))
        latent = {
            "key": [requested.label.format, requested.label.topic, requested.label.tone],
            "place": place + 1,
            "ahead": place + sum(depth < places[place] for depth in _twin_depths(row_streams, len(requested.twins))),
            "shown": [list(shown) for shown in _shown(everybody, stratum, self.shots_of(stratum), row_streams)],
            **_guesses(everybody, stratum, requested, place, row_streams),
        }
        target = code + requested.texts[place]
        key = Key(target, (target,), None, code)
        return Sample("", stratum, index, latent, requested.texts, text.question(requested.label, place + 1, code), key)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the asked reply at its depth, and the other matching ones at random depths before and after it."""
        stratum, label = sample.stratum, Label(*sample.latent["key"])
        everybody = _crowd(row_streams, stratum, self.corpora)
        asked, places = depths(stratum, sample.index, row_streams, stratum_streams)
        placed = [
            Placed(self._exchange(label, reply, "relevant" if place == asked else "match"), depth)
            for place, (reply, depth) in enumerate(zip(sample.relevant, places, strict=True))
        ]
        if twins(everybody, stratum):
            others = _asked(everybody, stratum, sample.index, row_streams, stratum_streams).twins
            placings = zip(others, _twin_depths(row_streams, len(others)), strict=True)
            placed += [Placed(self._exchange(*twin, "filler"), depth) for twin, depth in placings]
        ordered = sorted(placed, key=lambda item: item.depth)
        ranked = tuple(replace(item, rank=rank) for rank, item in enumerate(ordered))
        head, tail = self._frame(sample, everybody, row_streams)
        return Layout(head, ranked, filler(row_streams, stratum, everybody, label), tail)

    def _exchange(self, label: Label, reply: str, role: Any) -> Unit:
        if self.subtask == "chat":
            return Unit((Piece(text.request(label), "filler", "user"), Piece(reply, role, "assistant")))
        return Unit((Piece(f"User: {text.request(label)}\n", "filler"), Piece(f"Model: {reply}\n", role)))

    def _frame(
        self, sample: Sample, everybody: Crowd, row_streams: Streams
    ) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        if self.subtask == "chat":
            return (), (Piece(sample.question, "question", "user"),)
        library, codes = everybody.library, row_streams.of("shown codes")
        shown = [[(library.entries[i].label, library.text(i)) for i in indices] for indices in sample.latent["shown"]]
        demos = [
            Piece(
                text.example(
                    number, tuple(texts), row_streams.of("shown asked", number).randrange(len(texts)), _code(codes)
                ),
                "demo",
            )
            for number, texts in enumerate(shown, start=1)
        ]
        head = (Piece(text.LEADS[len(demos)], "instruction"), *demos, Piece(text.CONVERSATION, "instruction"))
        return head, (Piece(f"User: {sample.question}\nModel:", "question"),)

    def packed_metadata(self, sample: Sample, places: Sequence[int]) -> dict[str, Any]:
        asked = places[sample.latent["ahead"]]
        return {"n_needles": sample.stratum.complexity, "desired_msg_index": 2 * asked + 1}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        conversation = read_conversation(tuple(turns))
        matching, asked = conversation.matching(), conversation.asked
        if len(matching) < asked.place:
            raise ValueError(f"reply {asked.place} to {asked.key!r} is asked for, there are {len(matching)}")
        return (asked.code + matching[asked.place - 1].text,)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return solver.faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of any reply, any that shares format or topic, any that matches, and the last such."""
        return {name: sample.latent[name] for name in GUESSES}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        stratum, (form, topic, _) = sample.stratum, sample.latent["key"]
        ordinal = {f"ordinal of {stratum.complexity}": (sample.latent["place"], stratum.complexity)}
        if stratum.knob("corpus", ""):
            return {**ordinal}
        return {**ordinal, "format": (form, len(formats())), "topic": (topic, topics_of(stratum.tier))}

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        return () if sample.stratum.knob("corpus", "") else sample.relevant


def _crowd(row_streams: Streams, stratum: Stratum, corpora: str) -> Crowd:
    shape = PoolShape.of(stratum)
    return crowd(library_of(row_streams, stratum.tier, shape.corpus, corpora, toned=shape.toned), shape.short)


def _asked(
    everybody: Crowd, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
) -> RequestedText:
    short, twin_count = PoolShape.of(stratum).short, twins(everybody, stratum)
    try:
        return everybody.library.asked(
            TextPlan(stratum.rows, index, stratum.complexity, twin_count, short, row_streams, stratum_streams)
        )
    except PoolError as fault:
        raise PoolError(f"{stratum}: {fault}") from None


def _twin_depths(row_streams: Streams, count: int) -> list[float]:
    rng = row_streams.of("twins")
    return [rng.random() for _ in range(count)]


def _code(rng: Random) -> str:
    """Return nine letters and three digits in random order, so that the code resembles no word."""
    pools = [DIGITS if place % 4 == 3 else LETTERS for place in range(CODE)]
    rng.shuffle(pools)
    return "".join(pool[rng.randrange(len(pool))] for pool in pools)


def _shown(everybody: Crowd, stratum: Stratum, shots: int, row_streams: Streams) -> list[tuple[int, int]]:
    """Return the indices of each demonstration's two texts: of two labels in the first, of one in the second."""
    if not shots:
        return []
    rng, library = row_streams.of("shown"), everybody.library
    kept = shown_cells(library)
    if len(kept) < 2:
        raise PoolError(f"{stratum}: demonstrations need texts of topics that are not asked: give more topics")
    singles = rng.sample(kept, 2)
    others = [texts for texts in kept if texts not in singles]
    pairs = [texts for texts in others if len(texts) > 1]
    if not pairs:
        pairs = [tuple(texts[0] for texts in (others if len(others) > 1 else singles)[:2])]
    chosen = [[texts[rng.randrange(len(texts))] for texts in singles], rng.sample(pairs[rng.randrange(len(pairs))], 2)]
    return [(pair[0], pair[1]) for pair in chosen[:shots]]


def _guesses(
    everybody: Crowd, stratum: Stratum, asked: RequestedText, place: int, row_streams: Streams
) -> dict[str, float]:
    doubles, topical, formal, easy = everybody.hard_and_easy(asked.label)
    rng, library, turns = row_streams.of("guesses"), everybody.library, int(everybody.turns(stratum))

    def sample_texts(indices: Any, count: int) -> list[str]:
        drawn = rng.sample(indices.tolist(), min(count, len(indices)))
        return [library.text(int(everybody.members[one])) for one in drawn]

    nearest = [reply for _, reply in asked.twins[:1]] or sample_texts(doubles, 1) or sample_texts(topical, 1)
    sampled = rng.choice([other for other in range(len(asked.texts)) if other != place])
    hard, cap = nearest + sample_texts(formal, 1), min(cap_of(stratum), turns // 2)
    return guesses(asked.texts, place, sampled, hard, sample_texts(easy, DRAWN), turns, cap)


TASKS = (
    Mrcr("transcript", "one reply, word for word, from a long conversation in one string", shots=2, most_shots=2),
    Mrcr(
        "chat", "one reply, word for word, from a long conversation in real turns (`messages`)", shots=0, most_shots=0
    ),
)
