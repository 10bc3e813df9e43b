"""tally.count in several languages: how many entries of a register have one label and one district."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import CorpusKnob, Key, Layout, Piece, Placed, Published, Sample, depths
from pipeline.tasks.ledgers import OfLedger, deal_place, line
from pipeline.tasks.lines import Dealer
from pipeline.tasks.registers import found_in, places_of, register_faults
from pipeline.tasks.tally.task import COUNTS, Count
from pipeline.worlds.ledger import AMOUNTS, DISTRICTS, YEARS, Entry, draw_codes
from pipeline.worlds.needles import LABELS

ROWS = 256
"""How many rows' draws are cached."""
NEAR = {5: range(4, 25), 20: range(10, 51), 80: range(30, 111)}
"""How many entries share the label alone, and how many the district, by complexity: so many that sums tell little."""
AFTER = 3
"""Lines between the entries and the question: the end, how to reply, a blank one."""


class Drawn(NamedTuple):
    """What a row asks about: its entries, and those with the label or the district alone."""

    label: int
    district: int
    asked: Sequence[Entry]
    misses: Sequence[Entry]
    dealt: Mapping[str, tuple[int, int]]

    def chance(self, complexity: int) -> float:
        """Return the chance of guessing from the counts of all entries of the label and of the district."""
        alike = sum(one.label == self.label for one in self.misses)
        sums = [len(self.asked) + each for each in (alike, len(self.misses) - alike)]
        return 1 / sum(all(each - count in NEAR[complexity] for each in sums) for count in COUNTS[complexity])


class CountInRegister(OfLedger):
    """A number of entries, among others of the label in other districts, and of other labels in the district."""

    family = "tally"
    title = "how many entries of a register have one label and one district"
    scorer = "count"
    complexities = Count.complexities
    shortest = Count.shortest
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({})

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        drawn = draw(self, stratum, index, row_streams, stratum_streams)
        latent = {
            "label": drawn.label,
            "district": drawn.district,
            "codes": [one.code for one in (*drawn.asked, *drawn.misses)],
            "effective_complexity": len(drawn.asked),
            "dealt": {thing: list(dealt) for thing, dealt in drawn.dealt.items()},
            "guesses": {"uniform": 1 / len(COUNTS[stratum.complexity]), "from_sums": drawn.chance(stratum.complexity)},
        }
        relevant = tuple(line(self._text, one) for one in drawn.asked)
        question = self.asks("asks_count", drawn.label, drawn.district)
        return Sample("", stratum, index, latent, relevant, question, Key.accepting(str(len(relevant))))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        stratum, anywhere = sample.stratum, row_streams.of("decoys")
        drawn = draw(self, stratum, sample.index, row_streams, stratum_streams)
        wanted = depths(stratum_streams, row_streams, stratum.rows, sample.index, len(drawn.asked))
        placed = [Placed.line(one, "relevant", depth) for one, depth in zip(sample.relevant, wanted, strict=True)]
        placed += [Placed.line(line(self._text, one), "decoy", anywhere.random()) for one in drawn.misses]
        head = self.text_before() + self._asked.heading(self._asked.heads.register)
        tail = self.text_after(self._asked.sentence("reply_count"), sample.question)
        return Layout(
            head=(Piece(head, "instruction"),),
            placed=tuple(placed),
            filler=self.filler(sample, row_streams),
            tail=(Piece(tail, "question"),),
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return (str(len(found_in(text))),)

    def faults(self, row: Published) -> Iterable[str]:
        yield from register_faults(row, AFTER)
        count, complexity = places_of(row.text), row.stratum.complexity
        if len(count.both) not in COUNTS[complexity]:
            yield f"{len(count.both)} entries are counted, expected a number in {COUNTS[complexity]}"
        for what, entries in (("label", count.label), ("district", count.district)):
            if len(entries) not in NEAR[complexity]:
                yield f"{len(entries)} near misses have the {what}, expected a number in {NEAR[complexity]}"


@lru_cache(maxsize=ROWS)
def draw(task: CountInRegister, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Drawn:
    """Deal a number, a label and a district, and draw entries; the rows of a shard are cached."""
    dealer, complexity = Dealer(stratum, index, row_streams, stratum_streams), stratum.complexity
    count = dealer.deal(f"number at {complexity}", COUNTS[complexity])
    label, district = deal_place(dealer, task.complexities)
    rng = dealer.rng("entries")
    same_label, same_district = rng.choice(NEAR[complexity]), rng.choice(NEAR[complexity])
    codes = list(draw_codes(row_streams, rng, max(count, same_label, same_district)))
    other_labels = [one for one in range(LABELS) if one != label]
    other_districts = [one for one in DISTRICTS if one != district]

    def entry(code: str, its_label: int, its_district: int) -> Entry:
        return Entry(its_label, code, its_district, rng.choice(YEARS), rng.choice(AMOUNTS))

    asked = [entry(code, label, district) for code, _, _ in codes[:count]]
    misses = [entry(code, label, rng.choice(other_districts)) for _, code, _ in codes[:same_label]]
    misses += [entry(code, rng.choice(other_labels), district) for _, _, code in codes[:same_district]]
    return Drawn(label, district, asked, misses, dealer.dealt)


def count_in(text: str, asked: str) -> CountInRegister:
    """Return the task in the languages of its register and of its question."""
    return CountInRegister(Count(), text, asked)
