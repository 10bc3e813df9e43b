"""icl.intents: the label of a message, learned from examples (HELMET, sections 2.1 and B.4; Li et al. 2024).

HELMET writes the labels of TREC, NLU, BANKING77 and CLINC150 as integers, puts examples in rounds of one of each label
and asks for a message that is not among them. Here the numbers of labels are the same (6, 50, 68, 77 and 151), but
intents and messages are our own. Unlike in HELMET, a tier has eight mappings of labels to intents instead of one for
each row, as numbers with the same number of digits differ in tokens. Each mapping has its own pool of examples; all
pools have the same texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, deal, words
from pipeline.tasks.base import CorpusKnob, Filler, Key, Layout, Plain, PoolSpec, PublishedRow, Sample, Task, Unit
from pipeline.tasks.icl import solve as solver
from pipeline.tasks.icl.text import example, head, label_words, tail
from pipeline.typed import TIERS
from pipeline.worlds.utterances import Intent, chosen, domain, fresh, source_digest, texts

MAPPINGS, ROWS_PER_MAPPING = 8, 3
"""The most mappings of labels to intents in a tier, each with its own pool.

A stratum has at most one for every three rows, as a pool takes longer to count than these rows.
"""
ACTS_ALONE = 6
"""The number of labels that stand for acts alone."""
TOKENS_PER_EXAMPLE = 28
"""A pool has one example for this many tokens of the longest prompt."""
SPARES = 24
"""Examples that close gaps, of different labels; if there are few labels, two of each."""
SHORTEST_LENGTHS = {6: 2048, 50: 4096, 68: 4096, 77: 8192, 151: 16384}
"""The shortest length, in every vocabulary, that has room for a round of this many labels."""
FORMS = ("integers", "words")
ROUNDS = ("balanced", "blocked")
KNOBS: Mapping[str, tuple[Any, ...] | CorpusKnob] = {
    "labels": FORMS,
    "rounds": ROUNDS,
    "corpus": CorpusKnob("a corpus's SHA-256", frozenset({"labelled"})),
}


@dataclass(frozen=True, slots=True)
class Labels:
    """A set of labels: for each, in order, the intents that it stands for, and its written form."""

    domain: str
    intents: tuple[tuple[Intent, ...], ...]
    written: tuple[str, ...]


def domain_of(count: int) -> str:
    """Return the domain of messages for a number of labels."""
    return "question" if count <= 50 else "request"


@lru_cache(maxsize=64)
def labels(world: Streams, tier: str, count: int, which: int, form: str) -> Labels:
    """Return a set of labels of a tier; `world` are the streams of the seed without a path."""
    name = domain_of(count)
    if count == ACTS_ALONE:
        acts = world.world("icl@2", tier).of("coarse", which).sample(domain(name).acts, count)
        intents = tuple(tuple(Intent(act, thing) for thing in domain(name).objects) for act in acts)
        words_of = [label_words((act,)) for act in acts]
    else:
        single = chosen(world, tier, name, which, count)
        intents, words_of = tuple((intent,) for intent in single), list(map(label_words, single))
    return Labels(name, intents, tuple(words_of if form == "words" else map(str, range(count))))


def labels_of(streams: Streams, stratum: Stratum, which: int) -> Labels:
    """Return a set of labels of a stratum."""
    return labels(streams.world(), stratum.tier, stratum.complexity, which, form_of(stratum))


def form_of(stratum: Stratum) -> str:
    """Return how labels are written."""
    return str(stratum.knob("labels", FORMS[0]))


def mappings(stratum: Stratum) -> int:
    """Return the number of mappings of labels in a stratum."""
    return min(MAPPINGS, -(-stratum.rows // ROWS_PER_MAPPING))


def size_of(stratum: Stratum) -> str:
    """Return the smallest tier that includes a stratum's length; pools come in these sizes."""
    return next(tier for tier, limit in TIERS.items() if stratum.length <= limit)


def name_of(stratum: Stratum, which: int) -> str:
    """Return the name of a pool."""
    return f"messages-{form_of(stratum)}-{stratum.complexity}-{which}-{size_of(stratum)}-{stratum.tier}"


def specs(stratum: Stratum) -> tuple[PoolSpec, ...]:
    """Return the pools of a stratum."""
    source, tier = f"icl@2:{source_digest()}", stratum.tier
    return tuple(PoolSpec(name_of(stratum, which), 1, tier, source, make) for which in range(mappings(stratum)))


def make(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write all examples of a pool, label by label, equally many of each."""
    _, form, count, which, size, tier = spec.name.split("-")
    known = labels(streams.world(), tier, int(count), int(which), form)
    labelled = zip(known.written, pool_messages(streams, tier, size, known), strict=True)
    return Plain(example(message, label) for label, messages in labelled for message in messages)


def pool_messages(streams: Streams, tier: str, size: str, known: Labels) -> Sequence[Sequence[str]]:
    """Return the messages in the pool of each label, equally many of each."""
    every = texts(streams, tier, known.domain)
    return [_mixed([every[intent] for intent in intents], examples_per_label(size, known)) for intents in known.intents]


def examples_per_label(size: str, known: Labels) -> int:
    """Return the number of examples of each label in a pool of a size."""
    return -(-TIERS[size] // (TOKENS_PER_EXAMPLE * len(known.intents)))


def _mixed(parts: Sequence[Sequence[str]], count: int) -> list[str]:
    """Return `count` messages, about equally many from each part."""
    size = -(-count // len(parts))
    if size > len(parts[0]):
        raise ValueError(f"{size} messages of each intent are needed, but there are {len(parts[0])}")
    return [message for part in parts for message in part[:size]][:count]


class Rounds:
    """Rounds of one example of each label, each in random order; a pool has `size` examples of each label."""

    def __init__(self, rng: Random, count: int, size: int) -> None:
        self._count = count
        mixed = np.argsort(words(rng, count * size).reshape(count, size), axis=1, kind="stable")
        turns = np.argsort(words(rng, count * size).reshape(size, count), axis=1, kind="stable")
        self._order = (turns * size + mixed.T[np.arange(size)[:, None], turns]).ravel()

    def split(self, spares: int) -> tuple[Indices, Indices]:
        """Return `spares` examples from the last rounds, and the order without these rounds."""
        last = -(-spares // self._count) * self._count
        return self._order[-last:][:spares], self._order[:-last]


@dataclass(frozen=True, eq=False, slots=True)
class Listed:
    """An order that is already complete."""

    indices: NDArray[np.int64]

    def take(self, count: int) -> Indices:
        """Return the first `count` indices, or all there are."""
        return self.indices[:count]


def filler(stratum: Stratum, which: int, known: Labels, row_streams: Streams) -> Filler:
    """Return the filler of a row: examples in rounds, or with the knob ``rounds`` at ``blocked`` label by label."""
    count, size = len(known.intents), examples_per_label(size_of(stratum), known)
    spares, order = Rounds(row_streams.of("filler"), count, size).split(min(SPARES, 2 * count))
    name, listed = name_of(stratum, which), Listed(order)
    if stratum.knob("rounds", ROUNDS[0]) == "balanced":
        return Filler(name, listed, spares, least=count)
    turns = np.argsort(words(row_streams.of("blocks"), count), kind="stable")
    within = words(row_streams.of("places"), count * size).astype(np.int64)
    return Filler(name, listed, spares, "ranked", (np.repeat(turns, size) << 32) + within, least=count)


class Intents(Task):
    """Labels of intents; `complexity` is the number of labels."""

    family = "icl"
    subtask = "intents"
    version = 6
    title = "the label of a message, to be learned from many labelled examples"
    scorer = "label"
    max_new_tokens = 20
    complexities = (6, 50, 68, 77, 151)
    knobs = KNOBS
    shortest = 16_384

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row, at the shortest length that has room for a round of all labels."""
        return Stratum(self.family, self.subtask, "32k", max(4096, SHORTEST_LENGTHS[complexity]), complexity, 1)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return specs(stratum)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a mapping and a label, and draw a message with it that is in no pool."""
        which = deal(stratum_streams.of("mapping"), stratum.rows, index, mappings(stratum))
        label = deal(stratum_streams.of("label"), stratum.rows, index, stratum.complexity)
        known = labels_of(row_streams, stratum, which)
        rng = row_streams.of("message")
        intent = rng.choice(known.intents[label])
        message = fresh(row_streams, stratum.tier, known.domain, intent, rng)
        answer = known.written[label]
        latent = {"mapping": which, "label": label, "intent": list(intent)}
        return Sample("", stratum, index, latent, (f"{message}\n",), message, Key.accepting(answer))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Fill the prompt with examples; nothing is placed."""
        stratum, which = sample.stratum, sample.latent["mapping"]
        known = labels_of(row_streams, stratum, which)
        return Layout(
            head=head(known.domain, form_of(stratum), stratum.complexity),
            placed=(),
            filler=filler(stratum, which, known, row_streams),
            tail=tail(known.domain, sample.question),
        )

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the label that is the answer, and the mapping."""
        latent, count, ways = sample.latent, sample.stratum.complexity, mappings(sample.stratum)
        return {f"label of {count}": (latent["label"], count), "mapping": (latent["mapping"], ways)}

    def answers(self, text: str) -> tuple[str, ...]:
        """Read the intents of all messages, and return the label of those with the last one's intent."""
        return (solver.solve(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that labels match intents, that they are balanced, and that the asked message is new."""
        return solver.faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        return {"uniform": 1 / sample.stratum.complexity}
