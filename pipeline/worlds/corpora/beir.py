"""BEIR folders: corpus.jsonl, queries.jsonl and qrels/*.tsv (Thakur et al. 2021), ranked by Carrara's own BM25.

Queries of some sets bring answers (`answers` or `answer`, also below `metadata`); without them only the judged passages
of a query are known.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.errors import PoolError
from pipeline.worlds.corpora.ranking import ranked
from pipeline.worlds.corpora.reading import Record, Source, json_lines, lines, string, strings
from pipeline.worlds.corpora.records import Corpus, Question
from pipeline.worlds.corpora.shelf import Shelf
from pipeline.worlds.writing.checks import shortened

PARTS = ("test", "dev", "train")
"""Files of judgements: the first that is there is asked, ``train`` beside another one is shown."""
Judged = dict[str, dict[str, int]]
"""Grades by query and passage."""


def beir(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the corpus of a BEIR folder."""
    needed = ("corpus.jsonl", "queries.jsonl", "qrels")
    missing = [name for name in needed if not (source.root / name).exists()]
    parts = [part for part in PARTS if (source.root / "qrels" / f"{part}.tsv").is_file()]
    if missing or not parts:
        named = ", ".join(missing) or "qrels/test.tsv"
        raise PoolError(f"{str(source.root)!r} is no BEIR folder: it lacks {named}")
    asked = _judged(source, parts[0])
    shown = _judged(source, "train") if "train" in parts[1:] else {}
    shelf = Shelf(source)
    ids = _passages(source, shelf)
    _questions(source, shelf, asked, shown, ids)
    yield source.root.resolve().name, ranked(shelf.corpus())


def _judged(source: Source, part: str) -> Judged:
    path, found = source.root / "qrels" / f"{part}.tsv", Judged()
    for number, (where, line) in enumerate(lines(source, path)):
        cells = line.rstrip("\r\n").split("\t")
        if number == 0 and cells[:1] == ["query-id"]:
            continue
        if len(cells) != 3 or not cells[2].strip().lstrip("-").isdecimal():
            source.fault(where, f"{shortened(line.strip())}: give query, passage and grade between tabs")
        elif cells[1] in found.setdefault(cells[0], {}):
            source.fault(where, f"query {shortened(cells[0])} and passage {shortened(cells[1])} stand twice")
        else:
            found[cells[0]][cells[1]] = int(cells[2])
    return found


def _passages(source: Source, shelf: Shelf) -> dict[str, str]:
    """Read the passages; return the id of each, which is another's where the words are the same."""
    ids: dict[str, str] = {}
    for where, record in json_lines(source, source.root / "corpus.jsonl"):
        name = string(source, where, record, "_id", "id")
        if name is not None and name in ids:
            source.fault(where, f"the id {shortened(name)} stands twice")
        elif name is not None and (put := shelf.put(where, *_said(record), name)):
            ids[name] = put
    return ids


def _said(record: Record) -> tuple[object, object]:
    """Return title and text of a passage; of some there is only the title."""
    title, text = record.get("title"), record.get("text")
    return (None, title) if title and not text else (title, text)


def _questions(source: Source, shelf: Shelf, asked: Judged, shown: Judged, ids: dict[str, str]) -> None:
    seen = set[str]()
    for where, record in json_lines(source, source.root / "queries.jsonl"):
        name, text = string(source, where, record, "_id", "id"), string(source, where, record, "text")
        if name is None or text is None or name not in (asked.keys() | shown.keys()):
            continue
        seen.add(name)
        grades = asked.get(name, shown.get(name, {}))
        if unknown := [one for one in grades if one not in ids]:
            source.fault(where, f"passage {shortened(unknown[0])} is judged for it, but is not in corpus.jsonl")
            continue
        given = _answers(record)
        answers = shelf.answers(where, [given]) if given else ()
        gold = tuple(dict.fromkeys(ids[one] for one, grade in grades.items() if grade > 0))
        if answers is not None and gold:
            table = {ids[one]: grade for one, grade in grades.items()}
            kept = tuple(table[one] for one in gold)
            shelf.ask(where, Question(name, text, answers, gold, (), kept, name not in asked))
    for name in sorted(asked.keys() - seen)[:1]:
        source.fault("queries.jsonl", f"query {shortened(name)} is judged, but is not there")


def _answers(record: Record) -> list[str]:
    more = record.get("metadata")
    for place in (record, more if isinstance(more, dict) else {}):
        for name in ("answers", "answer"):
            if found := strings(place.get(name)):
                return found
    return []
