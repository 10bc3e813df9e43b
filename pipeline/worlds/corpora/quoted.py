"""Questions about plain documents: the paragraphs are passages, and those that a question needs are found by quotes.

A line of ``questions.jsonl`` has `question` and `answers`, and may have `id`, `document` (the id of one document) and
`evidence` (a quote, or several from different paragraphs). Without evidence the one paragraph that holds an answer is
needed; where several do, a quote must tell which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.worlds.corpora.ranking import ranked
from pipeline.worlds.corpora.reading import Record, Source, json_lines, string, strings
from pipeline.worlds.corpora.records import Corpus, Document, Passage, Question
from pipeline.worlds.corpora.rules import holds, one_line, searched
from pipeline.worlds.corpora.shelf import Shelf, forms_of
from pipeline.worlds.writing.checks import shortened

FILE = "questions.jsonl"


def with_questions(source: Source, documents: Sequence[Document], path: Path) -> Corpus:
    """Return documents with the questions of a file about them, their paragraphs as passages in order."""
    shelf, within = Shelf(source), dict[str, list[Passage]]()
    for document in documents:
        lines = enumerate(document.text.split("\n"), start=1)
        within[document.id] = [
            Passage(f"{document.id}#{number}", document.id, one_line(line)) for number, line in lines
        ]
        shelf.passages.update((passage.id, passage) for passage in within[document.id])
    for number, (where, record) in enumerate(json_lines(source, path), start=1):
        _ask(shelf, where, record, number, within)
    corpus = Corpus(tuple(shelf.passages.values()), tuple(shelf.questions.values()), tuple(documents))
    return ranked(corpus)


def _ask(shelf: Shelf, where: str, record: Record, number: int, within: Mapping[str, list[Passage]]) -> None:
    source, raw = shelf.source, strings(record.get("answers", record.get("answer")))
    question, name = string(source, where, record, "question"), record.get("document")
    if question is None:
        return
    if raw is None:
        source.fault(where, f"answers is {shortened(record.get('answers'))}: give a list of texts")
    elif name is not None and name not in within:
        source.fault(where, f"document {shortened(name)} is named, but is not there")
    elif answers := shelf.answers(where, [raw]):
        some = within[str(name)] if name is not None else [one for each in within.values() for one in each]
        gold = _needed(shelf, where, record, some, forms_of(answers))
        if gold:
            shelf.ask(where, Question(str(record.get("id", number)), question, answers, gold, ()))


def _needed(
    shelf: Shelf, where: str, record: Record, some: Sequence[Passage], forms: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the paragraphs that a question needs; none and a fault if they cannot be told."""
    quotes = strings(record["evidence"]) if record.get("evidence") else []
    if quotes is None:
        shelf.source.fault(where, f"evidence is {shortened(record['evidence'])}: give a quote or a list of them")
        return ()
    found = []
    for quote in quotes:
        said = one_line(shelf.source.text(quote))
        holding = [one.id for one in some if said in one.text]
        if len(holding) != 1:
            shelf.source.fault(where, f"{len(holding)} paragraphs hold the evidence {shortened(said)}: quote just one")
            return ()
        found += holding
    if not quotes:
        found = [one.id for one in some if holds(searched(one.text), forms)]
        if len(found) != 1:
            shelf.source.fault(where, f"{len(found)} paragraphs hold an answer: give one of them as evidence")
            return ()
    return tuple(dict.fromkeys(found))
