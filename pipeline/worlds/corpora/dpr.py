"""DPR's JSON (Karpukhin et al. 2020): training files with positive and negative passages, or results of a retriever.

A training file has `positive_ctxs`, `hard_negative_ctxs` and `negative_ctxs`, a result `ctxs`; each passage a `title`
and a `text`. The first passage that holds an answer is the one that is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.worlds.corpora.reading import Record, Source, records, string, strings
from pipeline.worlds.corpora.records import Corpus, Question
from pipeline.worlds.corpora.shelf import Shelf, contexts, forms_of
from pipeline.worlds.writing.checks import shortened

LISTS = ("positive_ctxs", "hard_negative_ctxs", "negative_ctxs", "ctxs")
SHOWN = "train"
"""Questions of files with this in their name are shown, where there are other files."""


def dpr(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the corpus of all files of a folder, or one for each folder below it that has some."""
    folders: dict[Path, list[Path]] = {}
    for path in sorted((*source.files("*.json"), *source.files("*.jsonl"))):
        folders.setdefault(path.parent, []).append(path)
    for folder, paths in folders.items():
        shelf, alone = Shelf(source), all(SHOWN in path.stem for path in paths)
        for path in paths:
            for number, (where, record) in enumerate(records(source, path)):
                _ask(shelf, where, record, f"{path.stem}-{number}", shown=SHOWN in path.stem and not alone)
        yield folder.resolve().name, shelf.corpus()


def _ask(shelf: Shelf, where: str, record: Record, number: str, *, shown: bool) -> None:
    question, raw = string(shelf.source, where, record, "question"), strings(record.get("answers"))
    if question is None:
        return
    if raw is None:
        shelf.source.fault(where, f"answers is {shortened(record.get('answers'))}: give a list of texts")
        return
    answers = shelf.answers(where, [raw])
    lists = [name for name in LISTS if record.get(name)]
    if not lists:
        shelf.source.fault(where, f"it has no passages: give {', '.join(LISTS[:3])}, or ctxs")
    if not answers or not lists:
        return
    found: list[str] = []
    for name in lists:
        for one in contexts(shelf.source, where, record, name) or ():
            put = shelf.put(where, one.get("title"), one.get("text"), one.get("passage_id", one.get("id")))
            found += [put] if put is not None else []
    forms = forms_of(answers)
    gold = tuple(one for one in dict.fromkeys(found) if shelf.holding(one, forms))[:1]
    ranked = tuple(one for one in dict.fromkeys(found) if one not in gold)
    name = record.get("id", record.get("q_id"))
    asked = name if isinstance(name, str) else number
    shelf.ask(where, Question(asked, question, answers, gold, ranked, shown=shown))
