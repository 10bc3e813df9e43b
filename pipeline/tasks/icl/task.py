"""icl.intents: the label of a message, by what examples show (HELMET, sections 2.1 and B.4; Li et al. 2024).

HELMET writes the labels of TREC, NLU, BANKING77 and CLINC150 as integers, puts examples in rounds of one of each label
and asks for a message that is not among them. Here the numbers of labels are the same, 6, 50, 68, 77 and 151; intents
and messages are our own. On purpose unlike HELMET: which label stands for what is dealt in eight ways for a tier, and
not anew for each row, as numbers of as many digits differ in tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal
from pipeline.tasks.base import Key, Layout, PoolSpec, Published, Sample, Task
from pipeline.tasks.icl import pool
from pipeline.tasks.icl import solve as reader
from pipeline.tasks.icl.text import head, tail
from pipeline.worlds.utterances import RESERVE, texts


class Intents(Task):
    """Labels of intents; `complexity` is how many labels there are."""

    family = "icl"
    subtask = "intents"
    version = 2
    title = "the label of a message, by what many labelled examples show"
    scorer = "label"
    max_new_tokens = 20
    complexities = (6, 50, 68, 77, 151)
    knobs = pool.KNOBS
    shortest = 8192

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row, at the shortest length that holds a round of all labels."""
        return Stratum(self.family, self.subtask, "32k", 8192 if complexity > pool.MOST_AT_4K else 4096, complexity, 1)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return pool.specs(stratum)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a way of dealing labels and a label, and draw a message of it that stands in no pool."""
        which = deal(stratum_streams.of("mapping"), stratum.rows, index, pool.mappings(stratum))
        label = deal(stratum_streams.of("label"), stratum.rows, index, stratum.complexity)
        known = pool.labels_of(row_streams, stratum, which)
        rng = row_streams.of("message")
        intent = rng.choice(known.intents[label])
        message = texts(row_streams, stratum.tier, known.domain)[intent][-1 - rng.randrange(RESERVE)]
        answer = known.written[label]
        latent = {"mapping": which, "label": label, "intent": list(intent)}
        return Sample("", stratum, index, latent, (f"{message}\n",), message, Key.accepting(answer))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Fill the prompt with examples; nothing is placed."""
        stratum, which = sample.stratum, sample.latent["mapping"]
        known = pool.labels_of(row_streams, stratum, which)
        return Layout(
            head=head(known.domain, pool.form_of(stratum), stratum.complexity),
            placed=(),
            filler=pool.filler(stratum, which, known, row_streams),
            tail=tail(known.domain, sample.question),
        )

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return which label is the answer, and in which way labels are dealt."""
        latent, count, ways = sample.latent, sample.stratum.complexity, pool.mappings(sample.stratum)
        return {f"label of {count}": (latent["label"], count), "mapping": (latent["mapping"], ways)}

    def answers(self, text: str) -> tuple[str, ...]:
        """Read what all messages are for, and return the label of those that are for the same as the last one."""
        return (reader.solve(text),)

    def faults(self, row: Published) -> Iterable[str]:
        """Prove that labels and intents go together, labels are balanced, and the asked message is new."""
        return reader.faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        return {"uniform": 1 / sample.stratum.complexity}
