"""Needles in a register, and pairs of a JSON object, in several languages: rows differ only in their words.

A line is a label, a key and a value; keys are codes. The haystack is a register of dated values under other labels, so
nothing in it is English prose. What precedes and follows the text may be in another language than the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pipeline.languages import Language, digest, forms_of, joined, language, only
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams
from pipeline.tasks.base import CorpusKnob, Filler, Piece, PoolSpec, PublishedRow, Sample, Unit, unit
from pipeline.tasks.recall import base, register_solve
from pipeline.tasks.recall.json_kv import JsonKV, faults
from pipeline.tasks.recall.json_kv import answer as pair_answer
from pipeline.tasks.recall.niah import AMONG_NEEDLES, Niah
from pipeline.typed import TIERS
from pipeline.worlds import needles

TOKENS_PER_ENTRY = {"register": 9, "words": 7, "uuids": 20}
"""Tokens of the tier per entry, as in `base`: the same in all languages."""


LENGTHS = (7, 4, 7, 5, 7, 6)
"""Digits of the dated values: half have as many as an asked one, and different ones sum up to any gap."""


def make_entries(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make the entries of a tier: values by date, or codes by key."""
    form, code, _ = spec.name.removeprefix("register-").split("-")
    known, count = language(code), TIERS[spec.tier] // TOKENS_PER_ENTRY[form]
    for label, value in _entries(streams, known, form, spec.tier, count):
        yield unit(known.entry(label, value), facts=(f"value({label}, {value})",))


def _entries(streams: Streams, known: Language, form: str, tier: str, count: int) -> Iterator[tuple[str, str]]:
    if form == "register":
        days, values = needles.pooled_days(streams, count), needles.pooled_values(streams, count)
        for number, ((label, day), value) in enumerate(zip(days, values, strict=True)):
            yield f"{known.labels.filler[label]} {day}", _cut(value, LENGTHS[number % len(LENGTHS)])
        return
    rng = streams.of("entries", tier)
    drawn = (
        needles.pooled(streams, count, coded=True)
        if form == "words"
        else ((needles.draw_uuid(rng), needles.draw_uuid(rng)) for _ in range(count))
    )
    for key, value in drawn:
        yield f"{known.labels.code} {key}", value


def _cut(value: str, digits: int) -> str:
    """Return the last digits of a value, without a leading zero."""
    kept = value[-digits:]
    return kept if kept[0] != "0" else f"{value[0]}{kept[1:]}"


@dataclass(frozen=True, slots=True)
class InRegister(Niah):
    """A task with needles in a register. The question quotes labels as written in the text.

    Args:
        text: the language of the register.
        asked: the language of what precedes and follows it.
    """

    text: str = "en"
    asked: str = "en"
    version: int = Niah.version

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages of the text and of the question."""
        return self.text, self.asked

    @property
    def wording(self) -> str:  # type: ignore[override]
        """The digest of both languages."""
        return digest(*self.languages)

    @property
    def twin(self) -> str:  # type: ignore[override]
        """The task in English prose."""
        return self.subtask.rpartition("-")[0]

    @property
    def drawn_as(self) -> str:  # type: ignore[override]
        """The twin with its version."""
        return f"{self.twin}@{Niah.version}"

    @property
    def knobs(self) -> Mapping[str, tuple[Any, ...] | CorpusKnob]:  # type: ignore[override]
        """The task's knobs without ``order``."""
        return {name: values for name, values in super(InRegister, self).knobs.items() if name != "order"}

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        form, source = self.haystacks[0], f"{needles.WORLD}:{needles.source_digest()}:{digest(self.text)}"
        return (PoolSpec(f"register-{form}-{self.text}-{stratum.tier}", 1, stratum.tier, source, make_entries),)

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return how many entries the text has: other languages take more or fewer tokens for the same."""
        return {"units": len(units) + len(sample.relevant) + len(sample.latent["decoys"])}

    def answers(self, text: str) -> tuple[str, ...]:
        return (register_solve.solve(text, self.form),)

    def check(self, row: PublishedRow) -> list[str]:
        return list(register_solve.faults(row, self.haystacks[0], self.form, **self._promised(row)))

    def _things(self) -> tuple[str, Sequence[str]]:
        labels = language(self.text).labels
        return labels.code, labels.others

    def _line(self, thing: str, key: str, value: str) -> str:
        return language(self.text).entry(f"{thing} {key}", value)

    def _question(self, form: str, keys: Sequence[str]) -> str:
        labels = [f"{self._things()[0]} {key}" for key in keys]
        known = language(self.asked)
        if form == "keys":
            return known.sentence("asks_keys", labels=known.quoted(labels))
        return known.sentence(f"asks_{form}", label=labels[0])

    def _ends(self, haystack: str, form: str, question: str) -> tuple[str, str]:
        known = language(self.asked)
        opening = joined(known.sentence("register"), known.sentence(f"register_{form}"))
        reply = known.sentence("reply_one" if form == "one" else "reply_several")
        return (
            f"{opening}\n\n{known.heading(known.heads.register)}",
            f"{known.sentence('register_end')}\n{reply}\n\n{known.question(question)}",
        )

    def _filler(self, sample: Sample, row_streams: Streams) -> Filler:
        form, tier = self.haystacks[0], sample.stratum.tier
        taken = frozenset[int]()
        if form == "words":
            lines = [*sample.relevant, *sample.latent["decoys"]]
            keys = {line.partition(language(self.text).colon)[0].rpartition(" ")[2] for line in lines}
            taken = needles.places(row_streams, sorted(keys), coded=True)
        count = TIERS[tier] // TOKENS_PER_ENTRY[form]
        return base.drawn(self.pools(sample.stratum)[0].name, count, row_streams, taken)


def in_register(plain: Niah) -> Callable[[str, str], InRegister]:
    """Return a factory of the task in the languages of text and question: among needles as it is, or in a register."""
    values = {each.name: getattr(plain, each.name) for each in fields(Niah)}
    values["haystacks"] = plain.haystacks[:1] if plain.haystacks[0] in AMONG_NEEDLES else ("register",)
    values["scorer"] = "plain" if plain.scorer == "exact" else plain.scorer

    def form(text: str, asked: str) -> InRegister:
        (subtask,) = forms_of(plain.subtask, (text,), (asked,))
        changes = sum(language(code).version - 1 for code in {text, asked})
        return InRegister(**{**values, "subtask": subtask}, text=text, asked=asked, version=Niah.version + changes)

    return form


class PairsIn(JsonKV):
    """A JSON object of random pairs, which has no language, with a question in one."""

    scorer = "plain"

    def __init__(self, asked: str) -> None:
        self.subtask = f"{JsonKV.subtask}-{asked}"
        self.twin = JsonKV.subtask
        self.languages = (asked, asked)
        self.wording = digest(asked)
        self.version = JsonKV.version + language(asked).version - 1
        self.drawn_as = f"{JsonKV.subtask}@{JsonKV.version}"
        self.knobs = {name: values for name, values in JsonKV.knobs.items() if name != "asks"}
        self._language = language(asked)

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return how many pairs the object has."""
        latent = sample.latent
        return {"units": len(units) + 2 + len(latent["near"]) + len(latent["examples"])}

    def answers(self, text: str) -> tuple[str, ...]:
        return (pair_answer(register_solve.pairs(text), 0, register_solve.asked_key(text)),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        text = row.text
        asked = 0, register_solve.asked_key(text)
        return faults(row, register_solve.pairs(text), asked, register_solve.examples(text))

    def _question(self, side: int, shown: str) -> str:
        return self._language.sentence("asks_pair", key=shown)

    def _head(self, side: int, examples: Sequence[Sequence[str]]) -> Iterator[Piece]:
        yield Piece(self._language.sentence("pairs") + "\n", "instruction")
        for key, value in examples:
            yield Piece(self._language.sentence("pairs_example", key=key, value=value) + "\n", "demo")
        yield Piece(self._language.heading(self._language.heads.pairs) + "{\n", "instruction")

    def _tail(self, side: int, question: str) -> str:
        return f"{self._language.sentence('reply_one')}\n\n{self._language.question(question)}"


def pairs_in(text: str, asked: str) -> PairsIn:
    """Return the task in a language.

    Raises:
        RecipeError: if two languages are named, since the object has none.
    """
    return PairsIn(only(JsonKV.subtask, text, asked))
