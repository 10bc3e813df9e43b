"""tabulate.extract and tabulate.sort in several languages: the entries of one label and one district of a register.

Rows of a number have the same codes, districts, years and amounts in every language. What stands before and behind the
register may be in another language than its entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.languages import Language, digest, forms_of, joined, language
from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Filler, Plain, PoolSpec, Published, Sample
from pipeline.tasks.lines import Dealer, Line
from pipeline.tasks.tabulate import register_solve
from pipeline.tasks.tabulate.base import Drawn
from pipeline.tasks.tabulate.notes import SPARES, NotesTask
from pipeline.worlds import needles
from pipeline.worlds.ledger import AMOUNTS, DISTRICTS, WORLD, YEARS, Entry, draw_codes, ledger, places_of

ORDERS = {"order_lowest": False, "order_highest": True}
"""How rows may be sorted: the sentence that says so, and whether amounts fall."""


def make_entries(streams: Streams, spec: PoolSpec) -> Plain:
    """Write the register of a tier."""
    known = language(spec.name.removeprefix("ledger-").partition("-")[0])
    return Plain(line(known, one) for one in ledger(streams, spec.tier).entries())


def line(known: Language, one: Entry) -> str:
    """Return an entry in a language, with its newline."""
    labels = known.labels
    told = (labels.district, one.district), (labels.year, one.year), (labels.amount, one.amount)
    return known.entry(
        f"{labels.filler[one.label]} {one.code}", known.joint.join(f"{name} {each}" for name, each in told)
    )


def row_of(one: Entry) -> str:
    """Return the row of an entry."""
    return f"{one.code}\t{one.year}\t{one.amount}"


class InRegister(NotesTask):
    """A table of entries, among as many of the label in other districts, and of other labels in the district."""

    def __init__(self, plain: NotesTask, text: str, asked: str) -> None:
        """Keep which task it is a form of, and the languages of its register and of its question."""
        (self.subtask,) = forms_of(plain.subtask, (text,), (asked,))
        self.title = plain.title
        self.by_cost = plain.by_cost
        self.twin, self.drawn_as = plain.subtask, f"{plain.subtask}@{plain.version}"
        self.languages, self.wording = (text, asked), digest(text, asked)
        self.version = plain.version + sum(language(code).version - 1 for code in {text, asked})
        self._text, self._asked = language(text), language(asked)
        self.opening = self._asked.heading(self._asked.heads.register)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        source = f"{WORLD}:{needles.source_digest()}:{digest(self.languages[0])}"
        return (PoolSpec(f"ledger-{self.languages[0]}-{stratum.tier}", 1, stratum.tier, source, make_entries),)

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return entries of neither the label nor the district, in random order."""
        tier, latent = sample.stratum.tier, sample.latent
        book = ledger(row_streams, tier)
        out = places_of(row_streams, tier, latent["codes"]).union(book.with_either(latent["label"], latent["district"]))
        spares = Shuffled(row_streams.of("spares"), len(book.labels), out).take(SPARES)
        order = Shuffled(row_streams.of("filler"), len(book.labels), out.union(spares.tolist()))
        return Filler(self.pools(sample.stratum)[0].name, order, spares)

    def drawn(self, dealer: Dealer, wanted: Sequence[float]) -> Drawn:
        """Deal the label and the district, and draw the entries that are asked for, and near misses.

        Of three codes with the same letters, one is asked for, and the others are those of near misses.
        """
        rng, complexity = dealer.rng("entries"), self.complexities.index(dealer.stratum.complexity)
        own = DISTRICTS[complexity :: len(self.complexities)]
        label, district = dealer.deal("place", [(one, other) for one in range(needles.LABELS) for other in own])
        labels_beside = [one for one in range(needles.LABELS) if one != label]
        districts_beside = [one for one in DISTRICTS if one != district]
        near = round(len(wanted) * float(self.knob(dealer.stratum, "decoys")))
        asked, lines, codes = list[Entry](), list[Line](), list[str]()
        amounts = rng.sample(AMOUNTS, len(wanted))
        for place, (code, *others) in enumerate(draw_codes(dealer.row_streams, rng, len(wanted))):
            asked.append(Entry(label, code, district, rng.choice(YEARS), amounts[place]))
            lines.append(Line(line(self._text, asked[-1]), "relevant", wanted[place]))
            beside = (label, rng.choice(districts_beside)), (rng.choice(labels_beside), district)
            for (its_label, its_district), other in zip(beside, others, strict=True) if place < near else ():
                one = Entry(its_label, other, its_district, rng.choice(YEARS), rng.choice(AMOUNTS))
                lines.append(Line(line(self._text, one), "decoy", rng.random()))
            codes += [code, *(others if place < near else ())]
        lines.sort(key=lambda each: each.depth or 0.0)
        order = dealer.deal("first", [*ORDERS]) if self.by_cost else "order_text"
        ranked = sorted(asked, key=lambda one: one.amount, reverse=ORDERS[order]) if self.by_cost else asked
        table = [row_of(one) for one in ranked]
        shown = {
            "label": label,
            "district": district,
            "codes": codes,
            "dealt": {thing: list(dealt) for thing, dealt in dealer.dealt.items()},
            "guesses": self.guesses(table, [row_of(one) for one in asked], near),
        }
        quoted = self._text.labels.filler[label]
        question = joined(self._asked.said("asks_entries", label=quoted, district=district), self._asked.said(order))
        return Drawn(self._introduction(), self._tail(), question, (self._head(), *table), lines, shown)

    def _introduction(self) -> str:
        return joined(self._asked.said("table"), self._asked.said("table_about")) + "\n\n"

    def _tail(self) -> str:
        known = self._asked
        form = f"{known.said('reply_table')}\n{self._head()}"
        return f"{known.said('register_end')}\n{form}\n\n{known.question('{question}')}"

    def _head(self) -> str:
        labels = self._asked.labels
        return "\t".join((labels.column, labels.year, labels.amount))

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return nothing: the same entries are asked about in several languages."""
        return ()

    def answers(self, text: str) -> tuple[str, ...]:
        return (register_solve.table(text),)

    def faults(self, row: Published) -> Iterable[str]:
        return register_solve.faults(row, float(self.knob(row.stratum, "decoys")))


def in_register(plain: NotesTask) -> Callable[[str, str], InRegister]:
    """Return what makes a task of the languages of its text and question."""
    return lambda text, asked: InRegister(plain, text, asked)
