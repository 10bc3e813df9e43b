"""Gathers passages and questions from a source: checked, cleaned, and without duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.corpora.reading import LONGEST_ANSWER, Source, holds, one_line, searched, text_fault
from pipeline.corpora.records import Corpus, Passage, Question
from pipeline.streams import stream
from pipeline.worlds.ranking import Index
from pipeline.worlds.writing.corpus import shortened

LONGEST_TITLE, LONGEST_QUESTION = 300, 2_000
"""The most characters of a title, and of a question."""


class CorpusBuilder:
    """Collects the passages and questions of one corpus."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.passages: dict[str, Passage] = {}
        self.questions: dict[str, Question] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[str | None, str], str | None] = {}
        self._searched: dict[str, str] = {}

    def add_passage(self, where: str, title: object, text: object, given_id: object) -> str | None:
        """Add a passage and return its id, or note a fault and return None; passages with the same words share an id.

        Different passages may be given the same id, as in dumps cut into blocks; numbers are then added to it.
        """
        if not isinstance(text, str) or not isinstance(title, str | None):
            self.source.fault(where, f"a passage has the text {shortened(text)} and the title {shortened(title)}")
            return None
        if (title, text) not in self._seen:
            self._seen[title, text] = self._add_passage(where, title or "", text, given_id)
        return self._seen[title, text]

    def _add_passage(self, where: str, title: str, text: str, given_id: object) -> str | None:
        key = one_line(self.source.text(title)), one_line(self.source.text(text))
        if key not in self._ids:
            if fault := text_fault(key[1]) or (text_fault(key[0], LONGEST_TITLE) if key[0] else ""):
                self.source.fault(where, f"passage {shortened(given_id)}: {fault}")
                return None
            named = isinstance(given_id, str | int) and not text_fault(str(given_id), LONGEST_TITLE)
            self._ids[key] = self._free(str(given_id) if named else "")
            self.passages[self._ids[key]] = Passage(self._ids[key], *key)
        return self._ids[key]

    def _free(self, given_id: str) -> str:
        """Return an unused id."""
        name = given_id or f"p{len(self.passages)}"
        number = 2
        while name in self.passages:
            name, number = f"{given_id or 'p'}-{number}", number + 1
        return name

    def holding(self, passage: str, forms: tuple[str, ...]) -> bool:
        """Return whether a passage contains one of some answers, given as `searched` returns them."""
        if passage not in self._searched:
            one = self.passages[passage]
            self._searched[passage] = searched(f"{one.title} {one.text}")
        return holds(self._searched[passage], forms)

    def answers(self, where: str, groups: Iterable[Sequence[object]]) -> tuple[tuple[str, ...], ...] | None:
        """Return groups of accepted answers in one line each; if a group has no usable form, note a fault: None.

        Forms that have no words, or are too long for a reply, are left out if another form of the group remains.
        """
        accepted = []
        for forms in groups:
            cleaned_forms = [one_line(self.source.text(str(form))) for form in forms if isinstance(form, str | int)]
            fit = [form for form in cleaned_forms if searched(form).strip() and not text_fault(form) and _short(form)]
            if not fit:
                long = f" in at most {LONGEST_ANSWER} bytes" if any(map(str.strip, cleaned_forms)) else ""
                self.source.fault(where, f"the answer {shortened(list(forms))} is empty: give words{long}")
                return None
            accepted.append(tuple(dict.fromkeys(fit)))
        return tuple(accepted)

    def add_question(self, where: str, question: Question) -> None:
        """Add a question, or note a fault.

        Its passages must be known, and at least one of those in `gold` must contain an answer, if there are answers.
        """
        text = one_line(self.source.text(question.question))
        if fault := text_fault(text, LONGEST_QUESTION):
            self.source.fault(where, f"the question: {fault}")
        elif fault := text_fault(question.id, LONGEST_QUESTION):
            self.source.fault(where, f"the id {shortened(question.id)}: {fault}")
        elif unknown := [one for one in (*question.gold, *question.ranked) if one not in self.passages]:
            self.source.fault(where, f"passage {shortened(unknown[0])} is referred to but does not exist")
        elif question.id in self.questions:
            self.source.fault(where, f"the id {shortened(question.id)} stands twice")
        elif question.answers and not any(self.holding(one, forms_of(question.answers)) for one in question.gold):
            self.source.fault(where, f"no passage that is needed holds an answer to {shortened(text)}")
        else:
            table = {name: getattr(question, name) for name in ("answers", "gold", "ranked", "grades", "shown")}
            self.questions[question.id] = Question(question.id, text, **table)

    def corpus(self) -> Corpus:
        """Return the corpus. If there are more than `most` passages, those that no question names are sampled."""
        named = {one for asked in self.questions.values() for one in (*asked.gold, *asked.ranked)}
        others = [one for one in self.passages if one not in named]
        if len(self.passages) > self.source.most:
            keep = max(0, self.source.most - len(named))
            named.update(stream("corpora", "most").sample(others, min(keep, len(others))))
            return Corpus(tuple(p for p in self.passages.values() if p.id in named), tuple(self.questions.values()))
        return Corpus(tuple(self.passages.values()), tuple(self.questions.values()))


def _short(form: str) -> bool:
    return len(form.encode()) <= LONGEST_ANSWER


def forms_of(answers: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return every accepted form of some answers, as `searched` returns them."""
    return tuple(dict.fromkeys(searched(form) for group in answers for form in group))


def contexts(source: Source, where: str, record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]] | None:
    """Return a field that lists passages; otherwise note a fault and return None."""
    passages = record.get(name)
    if isinstance(passages, list) and passages and all(isinstance(one, dict) for one in passages):
        return passages
    source.fault(where, f"{name} is {shortened(passages)}: give a list of passages")
    return None


DEEP = 1000
"""The most passages that are ranked for a question."""


def ranked(corpus: Corpus) -> Corpus:
    """Return a corpus with passages ranked by BM25 for each question: those that share a word, except `gold` ones."""
    index = Index(f"{one.title} {one.text}" for one in corpus.passages)
    questions = []
    for one in corpus.questions:
        order, scores = index.ranking(one.question, stream("corpora", "ties", one.id))
        best, gold = order[: DEEP + len(one.gold)], set(one.gold)
        names = (corpus.passages[place].id for place in best[scores[: len(best)] > 0])
        questions.append(replace(one, ranked=tuple(name for name in names if name not in gold)[:DEEP]))
    return Corpus(corpus.passages, tuple(questions), corpus.documents, corpus.labelled)
