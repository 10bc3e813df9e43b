"""icl.intents over a user's own labelled texts, such as TREC, NLU, BANKING77 and CLINC150 (HELMET, 2.1 and B.4).

Examples come in rounds of one of each label. Unlike in HELMET, no text is repeated: a label whose texts are used up is
left out of later rounds, and the metadata states how many examples labels have. No program can verify the user's
labels, so rows are checked, not solved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Any

import numpy as np

from pipeline.caches import lru_cache
from pipeline.corpora.records import Corpus, Labelled
from pipeline.errors import PoolError
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Streams, deal, stream, words
from pipeline.tasks.base import Filler, Key, Layout, PoolSpec, PublishedRow, Sample, Unit, unit
from pipeline.tasks.corpus.base import CorpusTask, corpus_of_pool
from pipeline.tasks.icl import task
from pipeline.tasks.icl.solve import Examples, read
from pipeline.tasks.icl.text import example, head, tail

LATE_EXAMPLES = 24
"""Examples at the end of a prompt that may be out of their rounds: they close the gap to the token."""


def _order_faults(row: PublishedRow, shown: Examples) -> Iterator[str]:
    """Check that examples are in rounds of one of each label, or in blocks of one label."""
    if row.stratum.knob("rounds", "") == "blocked":
        if len(list(groupby(shown.labels))) != len({*shown.labels}):
            yield "examples of a label do not stand side by side"
        return
    seen, rounds = Counter[str](), list[int]()
    for label in shown.labels:
        rounds.append(seen[label])
        seen[label] += 1
    late = next((at for at in range(1, len(rounds)) if rounds[at] < rounds[at - 1]), len(rounds))
    if late < len(rounds) - LATE_EXAMPLES:
        yield f"example {late + 1} stands behind those of a later round"


DOMAIN = "text"
"""The key of the wordings of `text`."""
MOST_LABELS = 999
"""The most labels of a corpus; the scorer does not read larger numbers."""
HELD_OUT, MOST_HELD_OUT = 5, 20
"""One in this many texts of a label is asked if the corpus keeps none for that, and at most this many."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The labels of a corpus, its examples by label, and the texts to ask about, each in a fixed order."""

    labels: tuple[str, ...]
    examples: tuple[Labelled, ...]
    asked: tuple[Labelled, ...]

    @property
    def home(self) -> Indices:
        """The index of each example's label."""
        places = {label: place for place, label in enumerate(self.labels)}
        return np.array([places[one.label] for one in self.examples], dtype=np.int64)


@lru_cache(maxsize=4)
def parts(corpus: Corpus) -> Parts:
    """Split a corpus into examples and texts to ask about; labels without an example are not asked about.

    If the corpus keeps none to ask about, a fifth of each label's texts are held out, whatever the seed of the release.
    """
    asked = {one.text for one in corpus.labelled if not one.shown} or _held_out(corpus.labelled)
    shown = sorted((one for one in corpus.labelled if one.text not in asked), key=lambda one: one.label)
    labels = tuple(dict.fromkeys(one.label for one in shown))
    rest = [one for one in corpus.labelled if one.text in asked and one.label in labels]
    return Parts(labels, tuple(shown), tuple(sorted(rest, key=lambda one: one.label)))


def _held_out(texts: Sequence[Labelled]) -> set[str]:
    found, by_label = set[str](), dict[str, list[str]]()
    for one in texts:
        by_label.setdefault(one.label, []).append(one.text)
    for label, some in by_label.items():
        count = min(MOST_HELD_OUT, len(some) // HELD_OUT or len(some) // 2)
        found.update(stream("corpora", "held out", label).sample(some, count))
    return found


def make(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write all examples of a corpus with the labels of a mapping."""
    _, form, _, which, _ = spec.name.split("-")
    digest, corpus = spec.source.rsplit(" ", 1)[1], corpus_of_pool(spec)
    written = _written(streams.world(), corpus, digest, form, int(which))
    return (unit(example(one.text, written[one.label])) for one in parts(corpus).examples)


def _written(world: Streams, corpus: Corpus, digest: str, form: str, which: int) -> Mapping[str, str]:
    """Return how each label is written: in the user's words, or as a number drawn for the mapping."""
    labels = parts(corpus).labels
    if form == "words":
        return {label: label for label in labels}
    numbers = world.world("icl@1", digest).of("mapping", which).sample(range(len(labels)), len(labels))
    return dict(zip(labels, map(str, numbers), strict=True))


@dataclass(frozen=True, slots=True)
class Labels(CorpusTask):
    """The label of a user's own text. `complexity` is the number of labels."""

    family = "icl"
    subtask = "intents"
    title = "the label of a user's own text, to be learned from many labelled examples"
    scorer = "label"
    max_new_tokens = 64
    complexities = tuple(range(2, MOST_LABELS + 1))
    knobs = task.KNOBS

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return tuple(self._pool(stratum, which) for which in range(_mappings(stratum)))

    def _pool(self, stratum: Stratum, which: int) -> PoolSpec:
        digest = str(stratum.knob("corpus", ""))
        name = f"labelled-{task.form_of(stratum)}-{digest[:12]}-{which}-{stratum.tier}"
        return PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make, self.corpora)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a mapping of labels, and a text that is not an example; labels take turns.

        Raises:
            PoolError: if the corpus has another number of labels, nothing to ask, or labels that are too similar.
        """
        corpus, digest = self.corpus(stratum), str(stratum.knob("corpus", ""))
        known = parts(corpus)
        if len(known.labels) != stratum.complexity:
            raise PoolError(
                f"{stratum}: the corpus has examples of {len(known.labels)} labels: give complexity = "
                f"{len(known.labels)}"
            )
        if not known.asked:
            raise PoolError(f"{stratum}: the corpus has no text to ask: give a file with 'test' in its name")
        letters = {"".join(filter(str.isalnum, label.casefold())) for label in known.labels}
        if task.form_of(stratum) == "words" and len(letters - {""}) < len(known.labels):
            raise PoolError(f"{stratum}: two labels of the corpus have the same letters: give labels = 'integers'")
        which = deal(stratum_streams.of("mapping"), stratum.rows, index, _mappings(stratum))
        number = _number(known, stratum_streams, stratum, index)
        one = known.asked[number]
        answer = _written(row_streams.world(), corpus, digest, task.form_of(stratum), which)[one.label]
        latent = {"mapping": which, "number": number, "label": one.label}
        return Sample("", stratum, index, latent, (f"{one.text}\n",), one.text, Key.accepting(answer))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Fill the prompt with examples in rounds, or with the knob ``rounds`` at ``blocked`` label by label."""
        stratum, home = sample.stratum, parts(self.corpus(sample.stratum)).home
        order = in_rounds(row_streams.of("filler"), home)
        ranks = np.empty(len(home), dtype=np.int64)
        ranks[order] = np.arange(len(home))
        if stratum.knob("rounds", task.ROUNDS[0]) == "blocked":
            turns = np.argsort(words(row_streams.of("blocks"), stratum.complexity), kind="stable")
            ranks += turns[home] << 32
        return Layout(
            head=head(DOMAIN, f"own-{task.form_of(stratum)}", stratum.complexity),
            placed=(),
            filler=Filler(
                self._pool(stratum, sample.latent["mapping"]).name,
                Given(order),
                policy="ranked",
                ranks=ranks,
                least=stratum.complexity,
            ),
            tail=tail(DOMAIN, sample.question),
        )

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return the numbers of examples, of labels that have any, and of examples of the rarest and commonest."""
        counts = np.bincount(parts(self.corpus(sample.stratum)).home[units])
        there = counts[counts > 0]
        totals = {"examples": len(units), "labels": len(there)}
        return {"filler": {**totals, "fewest": int(there.min(initial=len(units))), "most": int(counts.max(initial=0))}}

    def faults(self, row: PublishedRow) -> Iterator[str]:
        shown = read(row.text)
        times = Counter(shown.labels)
        if shown.count != row.stratum.complexity:
            yield f"the prompt says that there are {shown.count} labels"
        if len(times) != shown.count or (shown.numbered and {*times} != {*map(str, range(shown.count))}):
            yield f"{len(times)} labels have examples, expected {shown.count}"
        if row.key.target not in times or row.key.answers != (row.key.target,):
            yield f"the key {row.key.target!r} is not a label of the examples"
        twice = [text for text, often in Counter(shown.messages).items() if often > 1]
        if twice:
            yield f"the text {twice[0][:80]!r} stands twice"
        if shown.last in {*shown.messages}:
            yield "the text that is asked is an example"
        marks = [(needle.role, needle.char_start, needle.char_end) for needle in row.needles]
        if row.question != shown.last or marks != [
            ("relevant", shown.last_start, shown.last_start + len(shown.last) + 1)
        ]:
            yield "the marked text is not the last one"
        yield from _order_faults(row, shown)
        totals = {"examples": len(shown.labels), "labels": len(times)}
        totals |= {"fewest": min(times.values(), default=0), "most": max(times.values(), default=0)}
        if row.metadata.get("filler", totals) != totals:
            yield f"the metadata have {row.metadata['filler']}, expected {totals}"

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        return {"uniform": 1 / sample.stratum.complexity}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the mapping of labels."""
        return {"mapping": (sample.latent["mapping"], _mappings(sample.stratum))}


def in_rounds(rng: Random, home: Indices) -> Indices:
    """Return texts in rounds of one of each label in random order; labels whose texts are used up drop out."""
    mixed = np.argsort(words(rng, len(home)), kind="stable")
    by_label = mixed[np.argsort(home[mixed], kind="stable")]
    counts = np.bincount(home)
    rounds = np.arange(len(home)) - np.repeat(np.cumsum(counts) - counts, counts)
    return by_label[np.lexsort((words(rng, len(home)), rounds))].astype(np.int64)


def _number(known: Parts, stratum_streams: Streams, stratum: Stratum, index: int) -> int:
    """Return the index of the text to ask about: labels take turns, and texts recur once all were asked about."""
    places = {label: place for place, label in enumerate(known.labels)}
    home = np.array([places[one.label] for one in known.asked], dtype=np.int64)
    order = in_rounds(stratum_streams.of("texts"), home)
    block, row = divmod(index, stratum.rows)
    place = block * stratum.rows + deal(stratum_streams.of("text"), stratum.rows, row, stratum.rows)
    return int(order[place % len(order)])


def _mappings(stratum: Stratum) -> int:
    return 1 if task.form_of(stratum) == "words" else task.mappings(stratum)
