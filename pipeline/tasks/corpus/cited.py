"""cite.facets and cite.listing over a user's own questions with several answers, like ALCE's (HELMET, appendix B.2).

A document supports an answer if it contains one of its forms as whole words. No program can tell whether it states the
answer, so the metadata has ``"support": "string"``. The prompt has one or two passages for each answer, and nothing
else in it contains any answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.caches import lru_cache
from pipeline.corpora.reading import holds, searched
from pipeline.corpora.records import Corpus, Question
from pipeline.metrics import NUMBERS, SOURCED, cited
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams
from pipeline.tasks.base import Key, PublishedRow, Sample
from pipeline.tasks.cite.text import ITEMS, TAIL, label
from pipeline.tasks.corpus import text
from pipeline.tasks.corpus.passages import (
    NUMBER,
    PassageTask,
    for_demonstrations,
    numbered_faults,
    numbers,
    read,
    showing,
)
from pipeline.tasks.corpus.questions import KNOBS
from pipeline.tasks.documents.haystack import FACTS

MOST_ANSWERS = 12
"""The most answers to a question."""
MOST_CHOSEN, MOST_HOLDING = 2, 3
"""The most passages chosen for an answer, and that contain it; the scorer counts three ids in a statement."""
PASSAGES_LOOKED_AT = 60
"""The most passages with an answer to look at, the best first."""
LONGEST_KEY = 700
"""The most characters of a key, which must fit in a reply."""
DOCUMENTS_SHOWN, ANSWERS_SHOWN = 5, 3
"""Documents in a demonstration, and the most answers."""
AnswersByPassage = Mapping[str, frozenset[int]]
"""Passages by id, each with the numbers of the answers that it contains."""


@dataclass(frozen=True, slots=True)
class Facets(PassageTask):
    """All answers to a question, with documents that contain them. `complexity` is the number of answers."""

    family = "cite"
    subtask = "facets"
    title = "all answers that a user's own passages give, each with the id of a document that holds it"
    introduction = text.CITED
    lacking = "the corpus has no question with so many answers that its passages hold"
    few_shown = (
        f"other questions have at most {ANSWERS_SHOWN} answers, in short documents that do not answer what is asked: "
        "give shots = 0"
    )
    scorer = "cited"
    max_new_tokens = 300
    complexities = tuple(range(2, MOST_ANSWERS + 1))
    knobs = MappingProxyType({**KNOBS, "corpus": FACTS})
    numbered = True
    reply = text.EVERY
    listing = False

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        return _askable(corpus, needed, listing=self.listing)

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        return _showable(corpus)

    def needed(
        self, corpus: Corpus, question: Question, stratum: Stratum, row_streams: Streams
    ) -> tuple[Sequence[str], Key]:
        """Return the ids of the passages chosen for the answers, and the key."""
        supporting = chosen(corpus, question)
        names = row_streams.of("support").sample([*supporting], len(supporting))
        return names, _key(corpus, question, supporting, self.listing)

    def documents_shown(
        self, corpus: Corpus, rng: Random, asked: int, question: Question, gone: Set[str]
    ) -> Sequence[str]:
        supporting, fit = chosen(corpus, question), showing(corpus, asked, gone)
        if question.question == corpus.questions[asked].question or not all(map(fit, supporting)):
            return ()
        others = [name for name in question.ranked[: 4 * DOCUMENTS_SHOWN] if fit(name)]
        return [*supporting, *others[: max(1, DOCUMENTS_SHOWN - len(supporting))]] if supporting else ()

    def answer_shown(self, corpus: Corpus, question: Question, documents: Sequence[str]) -> str:
        return _key(corpus, question, chosen(corpus, question), self.listing).target

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return the number of documents that are filler, and what counts as support."""
        return {**PassageTask.filled(self, sample, units), "support": "string"}

    def tail(self, question: str) -> str:
        return TAIL.format(reply=self.reply, question=question)

    def faults(self, row: PublishedRow) -> Iterator[str]:
        worded = [
            [(one[1], {*NUMBERS.findall(one[2])}) for one in SOURCED.finditer(answer)] for answer in row.key.answers
        ]
        if not worded or len({len(one) for one in worded}) > 1 or row.key.target != row.key.answers[0]:
            yield "the answers of the key do not name the same facts"
            return
        if len(worded[0]) != row.stratum.complexity:
            yield f"the key has {len(worded[0])} answers, expected {row.stratum.complexity}"
        named = frozenset[str]().union(*(ids for _, ids in worded[0]))
        yield from numbered_faults(row, named, len(named))
        documents = [(one.number, searched(one.text)) for one in read(row.text)]
        for forms in zip(*worded, strict=True):
            wordings = tuple(dict.fromkeys(searched(form) for form, _ in forms))
            holding = {number for number, document in documents if holds(document, wordings)}
            if holding != forms[0][1]:
                yield f"{forms[0][0]!r} stands in the documents {sorted(holding)}, not in {sorted(forms[0][1])}"
        for demo in row.marked("demo"):
            ids = {*NUMBERS.findall("".join(one[2] for one in SOURCED.finditer(demo.rpartition("\nAnswer: ")[2])))}
            if not ids or not ids <= {*NUMBER.findall(demo)}:
                yield f"the demonstration names the documents {sorted(ids)}, which are not its own"
        if row.metadata.get("support") != "string":
            yield "the metadata do not say that a string tells support"


@dataclass(frozen=True, slots=True)
class Listing(Facets):
    """The same, with the answers as a list."""

    subtask = "listing"
    reply = ITEMS
    listing = True


def facts(question: Question) -> list[tuple[str, ...]]:
    """Return the forms of each answer, without answers that are a form of an earlier one."""
    found, seen = list[tuple[str, ...]](), set[str]()
    for forms in question.answers:
        plain = {searched(form) for form in forms}
        if seen.isdisjoint(plain) and not any("[" in form or "]" in form for form in forms):
            found.append(forms)
            seen.update(plain)
    return found


@lru_cache(maxsize=4096)
def chosen(corpus: Corpus, question: Question) -> AnswersByPassage:
    """Return passages that support the answers, one or two for each, the best first.

    Answers that no passage contains are left out. No answer is in more passages than the scorer counts.
    """
    wanted, found, times = facts(question), dict[str, frozenset[int]](), dict[int, int]()
    places = [corpus.places[name] for name in question.gold[:PASSAGES_LOOKED_AT]]
    holding = [{*corpus.holding(places, tuple(map(searched, forms)))} for forms in wanted]
    every = {name: frozenset(n for n, some in enumerate(holding) if corpus.places[name] in some)
             for name in question.gold[:PASSAGES_LOOKED_AT]}  # fmt: skip
    for least in range(1, MOST_CHOSEN + 1):
        for fact in range(len(wanted)):
            for name, stated in every.items():
                if times.get(fact, 0) >= least:
                    break
                if name not in found and fact in stated and all(times.get(one, 0) < MOST_HOLDING for one in stated):
                    found[name] = stated
                    times |= {one: times.get(one, 0) + 1 for one in stated}
    return found


def _key(corpus: Corpus, question: Question, supporting: AnswersByPassage, listing: bool) -> Key:  # noqa: FBT001
    """Return the key: all answers with the numbers of their documents, in all wordings."""
    places, forms = numbers(corpus), facts(question)
    ids = {
        fact: sorted(str(places[corpus.places[name]]) for name, some in supporting.items() if fact in some)
        for fact in sorted(frozenset[int]().union(*supporting.values()))
    }
    between, end = (", ", "") if listing else (". ", ".")
    answers = (
        between.join(f"{forms[one][min(at, len(forms[one]) - 1)]} {label(*some)}" for one, some in ids.items()) + end
        for at in range(max((len(forms[one]) for one in ids), default=0))
    )
    return Key.accepting(*dict.fromkeys(answers))


@lru_cache(maxsize=32)
def _askable(corpus: Corpus, count: int, *, listing: bool) -> Sequence[int]:
    """Return the indices of the questions with `count` answers whose keys get the full score."""
    found = []
    for number, one in enumerate(corpus.questions):
        if not one.shown and len(one.answers) >= count:
            supporting = chosen(corpus, one)
            if len(frozenset[int]().union(*supporting.values())) == count and _sound(
                _key(corpus, one, supporting, listing), one
            ):
                found.append(number)
    return found


def _sound(key: Key, question: Question) -> bool:
    row = {"target": key.target, "answers": list(key.answers), "question": question.question}
    return len(key.target) <= LONGEST_KEY and all(cited(row, answer) == 1 for answer in key.answers)


@lru_cache(maxsize=4)
def _showable(corpus: Corpus) -> Sequence[Question]:
    return for_demonstrations(one for one in corpus.questions if 0 < len(one.answers) <= ANSWERS_SHOWN)
