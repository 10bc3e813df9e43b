"""Tasks of tally in several languages: entries of a register are counted by label and district."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import CorpusKnob, Key, Layout, Piece, Placed, PublishedRow, Sample, Task, depths
from pipeline.tasks.ledgers import OfLedger, deal_place, line
from pipeline.tasks.lines import Dealer
from pipeline.tasks.registers import found_in, places_of, quoted, register, register_faults
from pipeline.tasks.solving import ReadError
from pipeline.tasks.tally.task import COUNTS, Count, Users
from pipeline.tasks.tally.weigh import Most
from pipeline.worlds.ledger import AMOUNTS, DISTRICTS, YEARS, Entry, draw_codes
from pipeline.worlds.needles import LABELS

ROWS = 256
"""How many rows' draws are cached."""
NEAR = {5: range(4, 25), 20: range(10, 51), 80: range(30, 111)}
"""How many entries share the label alone, and how many the district, by complexity: so many that sums tell little."""
LEADS, BEHIND, MORE = range(6, 10), 3, 6
"""Entries with the label in the leading district, the most by which others trail, and about the most with other labels.
"""
ALONE = (1, 1, 2)
"""For each amount with both labels, others come with only the first or only the second, in this many entries."""
AFTER = 3
"""Lines between the entries and the question: the end, how to reply, a blank one."""


class Drawn(NamedTuple):
    """What a row asks and its answer, the entries that this needs, and those that share a label or a district."""

    question: str
    answer: str
    asked: Sequence[Entry]
    misses: Sequence[Entry]
    named: Mapping[str, Any]
    dealt: Mapping[str, tuple[int, int]]
    guesses: Mapping[str, float]


class InRegister(OfLedger):
    """A question about entries of a register, all of which are placed: the others share nothing with it."""

    family = "tally"
    reply = "reply_one"
    """The sentence that says how to reply."""
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({})

    @abstractmethod
    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw what a row asks, and its entries."""

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        drawn = draw(self, stratum, index, row_streams, stratum_streams)
        latent = {
            **drawn.named,
            "codes": [one.code for one in (*drawn.asked, *drawn.misses)],
            "effective_complexity": len(drawn.asked),
            "dealt": {thing: list(dealt) for thing, dealt in drawn.dealt.items()},
            "guesses": dict(drawn.guesses),
        }
        relevant = tuple(line(self._text, one) for one in drawn.asked)
        return Sample("", stratum, index, latent, relevant, drawn.question, Key.accepting(drawn.answer))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        stratum, anywhere = sample.stratum, row_streams.of("decoys")
        drawn = draw(self, stratum, sample.index, row_streams, stratum_streams)
        wanted = depths(stratum_streams, row_streams, stratum.rows, sample.index, len(drawn.asked))
        placed = [Placed.line(one, "relevant", depth) for one, depth in zip(sample.relevant, wanted, strict=True)]
        placed += [Placed.line(line(self._text, one), "decoy", anywhere.random()) for one in drawn.misses]
        head = self.text_before() + self._asked.heading(self._asked.heads.register)
        tail = self.text_after(self._asked.sentence(self.reply), sample.question)
        return Layout(
            head=(Piece(head, "instruction"),),
            placed=tuple(placed),
            filler=self.filler(sample, row_streams),
            tail=(Piece(tail, "question"),),
        )


@lru_cache(maxsize=ROWS)
def draw(task: InRegister, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Drawn:
    """Draw a row; the rows of a shard are cached."""
    return task.drawn(Dealer(stratum, index, row_streams, stratum_streams))


class CountInRegister(InRegister):
    """A number of entries, among others of the label in other districts, and of other labels in the district."""

    title = "how many entries of a register have one label and one district"
    scorer = "count"
    reply = "reply_count"
    complexities = Count.complexities
    shortest = Count.shortest

    def drawn(self, dealer: Dealer) -> Drawn:
        """Deal a number, a label and a district."""
        complexity = dealer.stratum.complexity
        count = dealer.deal(f"number at {complexity}", COUNTS[complexity])
        label, district = deal_place(dealer, self.complexities)
        rng = dealer.rng("entries")
        same_label, same_district = rng.choice(NEAR[complexity]), rng.choice(NEAR[complexity])
        codes = list(draw_codes(dealer.row_streams, rng, max(count, same_label, same_district)))
        other_labels, other_districts = others(range(LABELS), label), others(DISTRICTS, district)

        def entry(code: str, its_label: int, its_district: int) -> Entry:
            return Entry(its_label, code, its_district, rng.choice(YEARS), rng.choice(AMOUNTS))

        asked = [entry(code, label, district) for code, _, _ in codes[:count]]
        misses = [entry(code, label, rng.choice(other_districts)) for _, code, _ in codes[:same_label]]
        misses += [entry(code, rng.choice(other_labels), district) for _, _, code in codes[:same_district]]
        able = [
            all(count + near - one in NEAR[complexity] for near in (same_label, same_district))
            for one in COUNTS[complexity]
        ]
        return Drawn(
            self.asks("asks_count", label, district=district),
            str(count),
            asked,
            misses,
            {"label": label, "district": district},
            dealer.dealt,
            {"uniform": 1 / len(COUNTS[complexity]), "from_sums": 1 / sum(able)},
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return (str(len(found_in(text))),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        count, complexity = places_of(row.text), row.stratum.complexity
        yield from register_faults(row, AFTER, count.both, count.label + count.district)
        if len(count.both) not in COUNTS[complexity]:
            yield f"{len(count.both)} entries are counted, expected a number in {COUNTS[complexity]}"
        for what, entries in (("label", count.label), ("district", count.district)):
            if len(entries) not in NEAR[complexity]:
                yield f"{len(entries)} near misses have the {what}, expected a number in {NEAR[complexity]}"


class MostInRegister(InRegister):
    """The district with one entry more of a label than any other.

    Districts that trail have more entries of other labels, by half, so that neither these nor all entries tell much.
    """

    title = "the district with the most entries of one label"
    scorer = "plain"
    openings = ("table", "register_one")
    complexities = Most.complexities
    shortest = 8192

    def drawn(self, dealer: Dealer) -> Drawn:
        """Deal a number of entries, a label and the leading district."""
        lead = dealer.deal("lead", LEADS)
        label, district = deal_place(dealer, self.complexities)
        rng = dealer.rng("entries")
        rivals = rng.sample(others(DISTRICTS, district), dealer.stratum.complexity - 1)
        behind = {district: 0, **dict.fromkeys(rivals[:2], 1), **{one: rng.randint(1, BEHIND) for one in rivals[2:]}}
        more = {one: rng.randint(0, MORE) + (each + rng.randint(0, 1)) // 2 for one, each in behind.items()}
        other_labels = others(range(LABELS), label)
        places = [(label, one, None) for one, each in behind.items() for _ in range(lead - each)]
        places += [(rng.choice(other_labels), one, None) for one, each in more.items() for _ in range(each)]
        entries = written(dealer, places)
        totals = [more[one] - each for one, each in behind.items()]
        return Drawn(
            self.asks("asks_most", label),
            str(district),
            entries[:lead],
            entries[lead:],
            {"label": label, "districts": [*behind]},
            dealer.dealt,
            {"uniform": 1 / len(behind), "all_labels": (totals[0] == max(totals)) / totals.count(max(totals))},
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return (leading(counts_of(text))[0],)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        (label,), found, counts = quoted(row.text), register(row.text), counts_of(row.text)
        first, most, second = leading(counts)
        placed = [(at, one) for at, one in zip(found.numbers, found.stated, strict=True) if one.district in counts]
        needed = [at for at, one in placed if (one.label, one.district) == (label, first)]
        yield from register_faults(row, AFTER, needed, [at for at, _ in placed if at not in needed])
        if most - second != 1 or most not in LEADS:
            yield f"a district has {most} entries of the label, and the next {second}"
        if len(counts) != row.stratum.complexity:
            yield f"{len(counts)} districts have entries of the label, expected {row.stratum.complexity}"


def counts_of(text: str) -> Counter[str]:
    """Return how many entries of the label that is asked about each district has."""
    (label,) = quoted(text)
    return Counter(one.district for one in register(text).stated if one.label == label)


def leading(counts: Counter[str]) -> tuple[str, int, int]:
    """Return the district with most entries, their number, and that of the next district.

    Raises:
        ReadError: if no district leads.
    """
    (first, most), (_, second), *_ = [*counts.most_common(2), ("", 0), ("", 0)]
    if most == second:
        raise ReadError(f"no district has more entries of the label than all others: two have {most}")
    return first, most, second


class UsersInRegister(InRegister):
    """The amounts that come with each of two labels; others come once or twice with either."""

    title = "the amounts that come with both of two labels"
    scorer = "members"
    reply = "reply_several"
    max_new_tokens = Users.max_new_tokens
    openings = ("table", "register_keys")
    complexities = Users.complexities
    shortest = 8192

    def drawn(self, dealer: Dealer) -> Drawn:
        """Deal a label, and draw another and the amounts."""
        count, label = dealer.stratum.complexity, dealer.deal("label", range(LABELS))
        rng = dealer.rng("entries")
        labels = label, rng.choice(others(range(LABELS), label))
        sizes = [(label, size) for label in labels for size in ALONE] * count
        amounts = rng.sample(AMOUNTS, count + len(sizes))
        both, alone = amounts[:count], zip(amounts[count:], sizes, strict=True)
        places = [(one, None, amount) for amount in both for one in labels]
        places += [(one, None, amount) for amount, (one, size) in alone for _ in range(size)]
        entries = written(dealer, places)
        return Drawn(
            self.asks("asks_amounts", *labels),
            ", ".join(map(str, sorted(both))),
            entries[: 2 * count],
            entries[2 * count :],
            {"labels": list(labels)},
            dealer.dealt,
            {"uniform": count / len(AMOUNTS), "one_label": 2 / (2 + len(ALONE)), "either": 1 / (1 + len(ALONE))},
        )

    def answers(self, text: str) -> tuple[str, ...]:
        one, other = amounts_of(text)
        if not one.keys() & other.keys():
            raise ReadError("no amount comes with both labels")
        return (", ".join(map(str, sorted(one.keys() & other.keys()))),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        one, other = amounts_of(row.text)
        both = one.keys() & other.keys()
        needed = [at for each in (one, other) for amount in both for at in each[amount]]
        misses = [at for each in (one, other) for amount in each.keys() - both for at in each[amount]]
        yield from register_faults(row, AFTER, needed, misses)
        if len(both) != row.stratum.complexity or len(needed) != 2 * len(both):
            yield f"{len(both)} amounts have both labels in {len(needed)} entries, expected {row.stratum.complexity}"
        for each in (one, other):
            alone = sorted(len(each[amount]) for amount in each.keys() - both)
            if alone != sorted(ALONE * row.stratum.complexity):
                yield f"amounts with only one of the labels come with it {alone} times"


def amounts_of(text: str) -> list[dict[int, list[int]]]:
    """Return the line numbers of the entries of each label that is asked about, by amount."""
    found, labels = register(text), quoted(text)
    if len(labels) != 2:
        raise ReadError(f"the question is about the labels {labels}, not about two")
    by_label: dict[str, dict[int, list[int]]] = {label: {} for label in labels}
    for at, one in zip(found.numbers, found.stated, strict=True):
        if one.label in by_label:
            by_label[one.label].setdefault(one.amount, []).append(at)
    return [*by_label.values()]


def others(things: Sequence[int], one: int) -> list[int]:
    """Return all things but one."""
    return [other for other in things if other != one]


def written(dealer: Dealer, places: Sequence[tuple[int, int | None, int | None]]) -> list[Entry]:
    """Return an entry for each label, district and amount (None for any); the codes of three entries begin alike."""
    rng = dealer.rng("fields")
    groups = draw_codes(dealer.row_streams, rng, -(-len(places) // 3))
    codes = [code for group in groups for code in group]
    rng.shuffle(codes)
    return [
        Entry(label, code, district or rng.choice(DISTRICTS), rng.choice(YEARS), amount or rng.choice(AMOUNTS))
        for (label, district, amount), code in zip(places, codes, strict=False)
    ]


def in_register(plain: Task, kind: Callable[[Task, str, str], InRegister]) -> Callable[[str, str], InRegister]:
    """Return a function that makes a task in the languages of its register and of its question."""
    return lambda text, asked: kind(plain, text, asked)
