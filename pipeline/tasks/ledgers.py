"""The bases of tasks about a register in several languages, and of those about a ledger: text, filler, what is dealt.

Rows with the same number have the same codes, districts, years and amounts in every language. The text before and
after the register may be in another language than its entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.languages import Language, digest, forms_of, joined, language
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams
from pipeline.tasks.base import Filler, Plain, PoolSpec, Sample, Task
from pipeline.tasks.lines import Dealer
from pipeline.worlds import needles
from pipeline.worlds.ledger import DISTRICTS, WORLD, Entry, ledger, places_of

SPARES = 32


def make_entries(streams: Streams, spec: PoolSpec) -> Plain:
    """Write a tier's register."""
    known = language(spec.name.removeprefix("ledger-").partition("-")[0])
    return Plain(line(known, one) for one in ledger(streams, spec.tier).entries())


def line(known: Language, one: Entry) -> str:
    """Return an entry in a language, with its newline."""
    labels = known.labels
    values = (labels.district, one.district), (labels.year, one.year), (labels.amount, one.amount)
    fields = known.joint.join(f"{name} {each}" for name, each in values)
    return known.entry(f"{labels.filler[one.label]} {one.code}", fields)


def deal_place(dealer: Dealer, complexities: Sequence[int]) -> tuple[int, int]:
    """Deal a label, and a district that no other complexity asks about."""
    turn = complexities.index(dealer.stratum.complexity)
    own = DISTRICTS[turn :: len(complexities)]
    return dealer.deal("place", [(label, district) for label in range(needles.LABELS) for district in own])


def shuffled(pool: str, size: int, out: frozenset[int], row_streams: Streams) -> Filler:
    """Return the units of a pool of some size, but those in `out`, in random order."""
    spares = Shuffled(row_streams.of("spares"), size, out).take(SPARES)
    return Filler(pool, Shuffled(row_streams.of("filler"), size, out.union(spares.tolist())), spares)


class OfRegister(Task):
    """A form of a task that asks about a register."""

    subtask: str
    openings: tuple[str, ...]
    """The names of the sentences before the register."""

    def __init__(self, plain: Task, text: str, asked: str) -> None:
        """Set the task it is a form of, and the languages of its register and of its question."""
        (self.subtask,) = forms_of(plain.subtask, (text,), (asked,))
        self.twin, self.drawn_as = plain.subtask, plain.drawn_as or f"{plain.subtask}@{plain.version}"
        self.languages, self.wording = (text, asked), digest(text, asked)
        self.version = plain.version + sum(language(code).version - 1 for code in {text, asked})
        self._text, self._asked = language(text), language(asked)

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return the number of entries in the text, which varies with the tokens that a language takes."""
        return {"units": len(units) + len(sample.latent["codes"])}

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return nothing, as the forms in other languages ask about the same entries."""
        return ()

    def text_before(self) -> str:
        """Return the instruction, up to the heading of the register."""
        return joined(*map(self._asked.sentence, self.openings)) + "\n\n"

    def text_after(self, reply: str, question: str) -> str:
        """Return what follows the register: how to reply, and the question."""
        return f"{self._asked.sentence('register_end')}\n{reply}\n\n{self._asked.question(question)}"


class OfLedger(OfRegister):
    """A form of a task that asks about the entries of one label and one district, or of several.

    `latent` names these, as ``label`` or ``labels``, and ``district`` or ``districts``.
    """

    openings = ("table", "table_about")

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        source = f"{WORLD}:{needles.source_digest()}:{digest(self.languages[0])}"
        return (PoolSpec(f"ledger-{self.languages[0]}-{stratum.tier}", 1, stratum.tier, source, make_entries),)

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return entries with neither the label nor the district, in random order."""
        tier, latent = sample.stratum.tier, sample.latent
        book = ledger(row_streams, tier)
        labels, districts = (
            [latent[name]] if name in latent else latent.get(f"{name}s", []) for name in ("label", "district")
        )
        out = places_of(row_streams, tier, latent["codes"]).union(book.with_any(labels, districts))
        return shuffled(self.pools(sample.stratum)[0].name, len(book.labels), out, row_streams)

    def asks(self, sentence: str, *labels: int, **slots: object) -> str:
        """Return a question about labels, which it quotes as in the text."""
        named = [self._text.labels.filler[label] for label in labels]
        quoted = {"label": named[0]} if len(named) == 1 else {"labels": self._asked.quoted(named)}
        return self._asked.sentence(sentence, **quoted, **slots)
