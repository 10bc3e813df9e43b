"""tabulate.extract and tabulate.sort in several languages: the entries of one label and one district of a register."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.languages import joined
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.ledgers import OfLedger, deal_place, line
from pipeline.tasks.lines import Dealer, Line
from pipeline.tasks.tabulate import register_solve
from pipeline.tasks.tabulate.base import Drawn
from pipeline.tasks.tabulate.notes import NotesTask
from pipeline.worlds.ledger import AMOUNTS, DISTRICTS, YEARS, Entry, draw_codes
from pipeline.worlds.needles import LABELS

ORDERS = {"order_lowest": False, "order_highest": True}
"""How rows may be sorted: the name of the sentence that says so, and whether amounts fall."""


def row_of(entry: Entry) -> str:
    """Return the row of an entry."""
    return f"{entry.code}\t{entry.year}\t{entry.amount}"


class InRegister(OfLedger, NotesTask):
    """A table of entries, among as many of the label in other districts, and of other labels in the district."""

    def __init__(self, plain: NotesTask, text: str, asked: str) -> None:
        super().__init__(plain, text, asked)
        self.title = plain.title
        self.by_cost = plain.by_cost
        self.opening = self._asked.heading(self._asked.heads.register)

    def drawn(self, dealer: Dealer, wanted: Sequence[float]) -> Drawn:
        """Deal the label and the district, and draw the entries asked for, and decoys.

        Of three codes with the same letters, one is asked for, and the others belong to decoys.
        """
        rng, (label, district) = dealer.rng("entries"), deal_place(dealer, self.complexities)
        other_labels = [one for one in range(LABELS) if one != label]
        other_districts = [one for one in DISTRICTS if one != district]
        decoys = round(len(wanted) * float(self.knob(dealer.stratum, "decoys")))
        asked, lines, codes = list[Entry](), list[Line](), list[str]()
        amounts = rng.sample(AMOUNTS, len(wanted))
        for place, (code, *decoy_codes) in enumerate(draw_codes(dealer.row_streams, rng, len(wanted))):
            asked.append(Entry(label, code, district, rng.choice(YEARS), amounts[place]))
            lines.append(Line(line(self._text, asked[-1]), "relevant", wanted[place]))
            codes.append(code)
            misses = (label, rng.choice(other_districts)), (rng.choice(other_labels), district)
            for (its_label, its_district), its_code in zip(misses, decoy_codes, strict=True) if place < decoys else ():
                decoy = Entry(its_label, its_code, its_district, rng.choice(YEARS), rng.choice(AMOUNTS))
                lines.append(Line(line(self._text, decoy), "decoy", rng.random()))
                codes.append(its_code)
        lines.sort(key=lambda each: each.depth or 0.0)
        order = dealer.deal("first", [*ORDERS]) if self.by_cost else "order_text"
        ranked = sorted(asked, key=lambda one: one.amount, reverse=ORDERS[order]) if self.by_cost else asked
        table = [row_of(one) for one in ranked]
        shown = {
            "label": label,
            "district": district,
            "codes": codes,
            "dealt": {thing: list(dealt) for thing, dealt in dealer.dealt.items()},
            "guesses": self.guesses(table, [row_of(one) for one in asked], decoys),
        }
        question = joined(self.asks("asks_entries", label, district=district), self._asked.sentence(order))
        tail = self.text_after(f"{self._asked.sentence('reply_table')}\n{self._head()}", "{question}")
        return Drawn(self.text_before(), tail, question, (self._head(), *table), lines, shown)

    def _head(self) -> str:
        labels = self._asked.labels
        return "\t".join((labels.column, labels.year, labels.amount))

    def answers(self, text: str) -> tuple[str, ...]:
        return (register_solve.table(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return register_solve.faults(row, float(self.knob(row.stratum, "decoys")))


def in_register(plain: NotesTask) -> Callable[[str, str], InRegister]:
    """Return a factory of the task in the languages of text and question."""
    return lambda text, asked: InRegister(plain, text, asked)
