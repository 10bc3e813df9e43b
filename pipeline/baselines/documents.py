"""Documents put together by a search: a passage is a document, a line of the body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from pipeline.baselines import surface
from pipeline.baselines.base import FIRST, LAST, End, Passage, PromptView
from pipeline.streams import stream
from pipeline.tasks.cite import text
from pipeline.tasks.cite.solve import known, listed_in
from pipeline.tasks.documents.solve import DOCUMENTS, END, Entry, entries, take_apart
from pipeline.tasks.rag.solve import described_values
from pipeline.tasks.rerank.solve import Wanted, wanted
from pipeline.worlds.gazetteer import forms
from pipeline.worlds.gazetteer.documents import stems


class Documents(PromptView):
    """Documents about named things, some of which answer a question."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span between the lines that begin and end the documents."""
        return self.text.find(DOCUMENTS) + len(DOCUMENTS), self.text.rfind(END) + 1

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All documents as read, for their titles and kinds."""
        return list(entries("".join(one.text for one in self.passages)))

    def titled(self) -> list[Entry]:
        """Return the documents whose titles are in the question."""
        names = {one.name for one in self.entries if one.name in self.question}
        names = {one for one in names if not any(one in other and one != other for other in names)}
        return [one for one in self.entries if one.name in names]

    def by_words(self) -> str:
        """Answer by titles, shapes and shared words.

        For a list the answer is every document of the kind that has the value near such words, whatever it says about
        it. If the question names things, it is the value of the right shape in the sentence that shares most words, in
        documents with those titles. If it describes one, it is what the passage that shares most words says.
        """
        described = described_values(self.question)
        if self.subtask == "list":
            holders = [
                one for facts in described for (form, _), value in facts.items() for one in self.holding(form, value)
            ]
            return ", ".join(sorted({one.name for one in holders})) or self.guess()
        candidates = [] if described else self.titled()
        return surface.value(candidates, self.question) or super().by_words()

    def holding(self, form: str, value: str) -> list[Entry]:
        """Return the documents of a form that have a value near words of the question."""
        return surface.holding(self.entries, form, value, self.question)

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return for each named thing the first or last document of another that shares a word with its name."""
        names = [take_apart(one.text.rstrip("\n"))[1] for one in self.passages]
        asked = [name for name in sorted(set(names)) if name in self.question]
        asked = [name for name in asked if not any(name in other and name != other for other in asked)]
        if not asked or self.subtask in ("described", "list"):
            return None
        alike = [list(self._alike(names, name)) for name in asked]
        return [one for documents in alike for one in (documents[-1:] if end == LAST else documents[:1])]

    def _alike(self, names: Sequence[str], asked: str) -> Iterator[Passage]:
        """Yield the documents of other things whose names share a word with one, renamed to it."""
        words = set(asked.split(" "))
        for passage, name in zip(self.passages, names, strict=True):
            if name != asked and not words.isdisjoint(name.split(" ")):
                yield replace(passage, text=passage.text.replace(name, asked))


class CitedDocuments(Documents):
    """Documents, some of which state what is asked, in part or in whole."""

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return all that the documents seen say about what is asked."""
        documents = list(entries("".join(one.text for one in seen)))
        facts = {fact.value: sorted(fact.ids) for fact in known(documents, self.question)}
        as_asked = text.as_items if self.subtask == "listing" else text.as_sentences
        return as_asked(facts)[0] if facts else self.missed(seen)

    def by_words(self) -> str:
        """For a list, return all that have the value; else for each clause the sentence that shares most words."""
        if self.subtask == "listing":
            holders = [one for (form, _), value in listed_in(self.question) for one in self.holding(form, value)]
            return ", ".join(f"{one.name} [{one.id}]" for one in dict.fromkeys(holders)) or self.guess()
        sentences = []
        for clause in re.split(r", (?:and )?", self.question):
            asked = stems(clause)
            common = [
                (len((asked - stems(one.name)) & stems(sentence)), one.id, sentence)
                for one in self.titled()
                for sentence in surface.sentences(one)
            ]
            if common:
                _, number, sentence = max(common)
                sentences.append(f"{sentence.removesuffix('.')} [{number}].")
        return " ".join(sentences) or self.guess()

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return documents of another thing that shares a word with the named one; a list names none."""
        return None if self.subtask == "listing" else super().half_known(end)


PLACES = 10
"""How many documents are asked for."""


@dataclass(frozen=True, slots=True)
class Taken(Passage):
    """A document taken for one that is asked for, whatever it says."""


class Rankings(Documents):
    """Documents to be ranked for the ten best."""

    @cached_property
    def wanted(self) -> Wanted:
        """What is asked."""
        return wanted(self.question)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the ranking of the documents seen; those that are `Taken` keep their order."""
        if seen and all(isinstance(one, Taken) for one in seen):
            return " > ".join(take_apart(one.text.rstrip("\n"))[3] for one in seen)
        return super().answer(seen) or self.guess()

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last ten documents that name all that is asked, in any role."""
        named = [re.compile(rf"(?<!\w){re.escape(value)}(?!\w)") for value in self.wanted.values.values()]
        naming = [one for one in self.passages if all(each.search(one.text) for each in named)]
        naming = naming[:PLACES] if end == FIRST else naming[: -PLACES - 1 : -1]
        return [Taken(*(getattr(one, field.name) for field in fields(one))) for one in naming]

    def by_words(self) -> str:
        """Rank documents of the kind by how many values are in sentences that share a word with the question.

        An order is by the first number of the right shape.
        """
        asked, what, rng = self.question, self.wanted, stream("readers", self.row_id)
        parts = re.split(r", and |, ", asked)
        ranked = []
        for entry in self.entries:
            if entry.form.kind == forms()[what.form].kind:
                phrases = {
                    value: next((part for part in parts if value in part), asked) for value in what.values.values()
                }
                met = sum(surface.spoken_of(entry, value, phrase) for value, phrase in phrases.items())
                size = what.sign * surface.number_in(entry, what.form, what.scale) if what.scale else 0
                ranked += [(-met, size, rng.random(), entry.id)] if met else []
        return " > ".join(number for *_, number in sorted(ranked)[:PLACES]) or self.guess()
