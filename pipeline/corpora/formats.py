"""Readers of BEIR and DPR folders, labelled texts, and documents.

BEIR folders (Thakur et al. 2021) have corpus.jsonl, queries.jsonl and qrels/*.tsv, and passages are ranked by Carrara's
own BM25. Queries may have answers (`answers` or `answer`, also below `metadata`), or only judged passages.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.corpora.gathering import LONGEST_TITLE, CorpusBuilder, contexts, forms_of, ranked
from pipeline.corpora.reading import (
    LARGEST_FILE,
    Record,
    Source,
    cleaned,
    holds,
    json_lines,
    lines,
    one_line,
    records,
    searched,
    string,
    strings,
    text_fault,
)
from pipeline.corpora.records import Corpus, Document, Labelled, Passage, Question
from pipeline.errors import PoolError
from pipeline.storage import checked_file
from pipeline.worlds.writing.corpus import shortened

PARTS = ("test", "dev", "train")
"""Files of judgments: the first that exists is asked; ``train`` beside another one is shown as demonstrations."""
Judged = dict[str, dict[str, int]]
"""Grades by query, then passage."""


def beir(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the corpus of a BEIR folder."""
    needed = ("corpus.jsonl", "queries.jsonl", "qrels")
    missing = [name for name in needed if not (source.root / name).exists()]
    parts = [part for part in PARTS if (source.root / "qrels" / f"{part}.tsv").is_file()]
    if missing or not parts:
        named = ", ".join(missing) or "qrels/test.tsv"
        raise PoolError(f"{str(source.root)!r} is not a BEIR folder: it lacks {named}")
    asked = _judged(source, parts[0])
    shown = _judged(source, "train") if "train" in parts[1:] else {}
    builder = CorpusBuilder(source)
    ids = _passages(source, builder)
    _questions(source, builder, asked, shown, ids)
    yield source.root.resolve().name, ranked(builder.corpus())


GRADE = re.compile("-?[0-9]{1,9}")


def _judged(source: Source, part: str) -> Judged:
    path, grades = source.root / "qrels" / f"{part}.tsv", Judged()
    for number, (where, line) in enumerate(lines(source, path)):
        cells = line.rstrip("\r\n").split("\t")
        if number == 0 and cells[:1] == ["query-id"]:
            continue
        if len(cells) != 3 or not GRADE.fullmatch(cells[2].strip()):
            source.fault(where, f"{shortened(line.strip())}: give query, passage and grade between tabs")
        elif cells[1] in grades.setdefault(cells[0], {}):
            source.fault(where, f"query {shortened(cells[0])} and passage {shortened(cells[1])} stand twice")
        else:
            grades[cells[0]][cells[1]] = int(cells[2])
    return grades


def _passages(source: Source, builder: CorpusBuilder) -> dict[str, str]:
    """Read the passages; return their ids, by the ids in the file: passages with the same words share one."""
    ids: dict[str, str] = {}
    for where, record in json_lines(source, source.root / "corpus.jsonl"):
        name = string(source, where, record, "_id", "id")
        if name is not None and name in ids:
            source.fault(where, f"the id {shortened(name)} stands twice")
        elif name is not None and (added := builder.add_passage(where, *_title_and_text(record), name)):
            ids[name] = added
    return ids


def _title_and_text(record: Record) -> tuple[object, object]:
    """Return title and text of a passage; if it has only a title, this is the text."""
    title, text = record.get("title"), record.get("text")
    return (None, title) if title and not text else (title, text)


def _questions(source: Source, builder: CorpusBuilder, asked: Judged, shown: Judged, ids: dict[str, str]) -> None:
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
        forms = _answers(record)
        answers = builder.answers(where, [forms]) if forms else ()
        gold = tuple(dict.fromkeys(ids[one] for one, grade in grades.items() if grade > 0))
        if answers is not None and gold:
            table = {ids[one]: grade for one, grade in grades.items()}
            kept = tuple(table[one] for one in gold)
            builder.add_question(where, Question(name, text, answers, gold, (), kept, name not in asked))
    for name in sorted(asked.keys() - seen)[:1]:
        source.fault("queries.jsonl", f"query {shortened(name)} is judged but does not exist")


def _answers(record: Record) -> list[str]:
    more = record.get("metadata")
    for place in (record, more if isinstance(more, dict) else {}):
        for name in ("answers", "answer"):
            if answers := strings(place.get(name)):
                return answers
    return []


LISTS = ("positive_ctxs", "hard_negative_ctxs", "negative_ctxs", "ctxs")
SHOWN = "train"
"""Questions of files with this in their name are shown as demonstrations, if there are other files."""


def dpr(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield a corpus for each folder with DPR files, the given folder or those below it."""
    folders: dict[Path, list[Path]] = {}
    for path in sorted((*source.files("*.json"), *source.files("*.jsonl"))):
        folders.setdefault(path.parent, []).append(path)
    for folder, paths in folders.items():
        builder, alone = CorpusBuilder(source), all(SHOWN in path.stem for path in paths)
        for path in paths:
            for number, (where, record) in enumerate(records(source, path)):
                _add_question(builder, where, record, f"{path.stem}-{number}", shown=SHOWN in path.stem and not alone)
        yield folder.resolve().name, builder.corpus()


def _add_question(builder: CorpusBuilder, where: str, record: Record, number: str, *, shown: bool) -> None:
    question, raw = string(builder.source, where, record, "question"), strings(record.get("answers"))
    if question is None:
        return
    if raw is None:
        builder.source.fault(where, f"answers is {shortened(record.get('answers'))}: give a list of texts")
        return
    answers = builder.answers(where, [raw])
    lists = [name for name in LISTS if record.get(name)]
    if not lists:
        builder.source.fault(where, f"it has no passages: give {', '.join(LISTS[:3])}, or ctxs")
    if not answers or not lists:
        return
    passages: list[str] = []
    for name in lists:
        for one in contexts(builder.source, where, record, name) or ():
            added = builder.add_passage(where, one.get("title"), one.get("text"), one.get("passage_id", one.get("id")))
            passages += [added] if added is not None else []
    forms = forms_of(answers)
    gold = tuple(one for one in dict.fromkeys(passages) if builder.holding(one, forms))[:1]
    ranked = tuple(one for one in dict.fromkeys(passages) if one not in gold)
    name = record.get("id", record.get("q_id"))
    asked = name if isinstance(name, str) else number
    builder.add_question(where, Question(asked, question, answers, gold, ranked, shown=shown))


ASKED = re.compile("test|dev|valid")
LONGEST, LONGEST_LABEL = 4_000, 80
"""The most characters of a text, and of a label."""


def labelled(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the labelled texts of a folder."""
    paths = sorted((*source.files("*.jsonl"), *source.files("*.csv")))
    by_text: dict[str, Labelled] = {}
    for path in paths:
        shown = len(paths) == 1 or not ASKED.search(path.stem.lower())
        for where, record in _csv(source, path) if path.suffix == ".csv" else json_lines(source, path):
            one = _labelled(source, where, record, shown=shown)
            if one and one.text in by_text:
                source.fault(where, f"the text {shortened(one.text)} stands twice")
            elif one:
                by_text[one.text] = one
    if by_text:
        yield source.root.resolve().name, Corpus(labelled=tuple(by_text.values()))


def _csv(source: Source, path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the rows of a CSV file with a header, each with its place."""
    kept = list(lines(source, path))
    reader = csv.reader((line for _, line in kept), strict=True)
    names: list[str] = []
    try:
        for cells in reader:
            where = kept[reader.line_num - 1][0]
            if not names:
                names = cells
            elif len(cells) != len(names):
                source.fault(where, f"it has {len(cells)} cells, but the first line names {len(names)}")
            else:
                yield where, dict(zip(names, cells, strict=True))
    except csv.Error as fault:
        source.fault(kept[max(0, reader.line_num - 1)][0], f"it is not CSV: {fault}")


def _labelled(source: Source, where: str, record: Record, *, shown: bool) -> Labelled | None:
    text, label = string(source, where, record, "text"), string(source, where, record, "label")
    if text is None or label is None:
        return None
    cleaned_text, cleaned_label = one_line(source.text(text)), one_line(source.text(label))
    fault = text_fault(cleaned_text, LONGEST) or (
        f"the label: {fault}" if (fault := text_fault(cleaned_label, LONGEST_LABEL)) else ""
    )
    if fault:
        source.fault(where, fault)
        return None
    return Labelled(cleaned_text, cleaned_label, shown)


FILE = "questions.jsonl"


def with_questions(source: Source, documents: Sequence[Document], path: Path) -> Corpus:
    """Return documents with the questions of a file about them, and their paragraphs as passages."""
    builder, within = CorpusBuilder(source), dict[str, list[Passage]]()
    for document in documents:
        lines = enumerate(document.text.split("\n"), start=1)
        within[document.id] = [
            Passage(f"{document.id}#{number}", document.id, one_line(line)) for number, line in lines
        ]
        builder.passages.update((passage.id, passage) for passage in within[document.id])
    for number, (where, record) in enumerate(json_lines(source, path), start=1):
        _add_quoted_question(builder, where, record, number, within)
    corpus = Corpus(tuple(builder.passages.values()), tuple(builder.questions.values()), tuple(documents))
    return ranked(corpus)


def _add_quoted_question(
    builder: CorpusBuilder, where: str, record: Record, number: int, within: Mapping[str, list[Passage]]
) -> None:
    source, raw = builder.source, strings(record.get("answers", record.get("answer")))
    question, name = string(source, where, record, "question"), record.get("document")
    if question is None:
        return
    if raw is None:
        source.fault(where, f"answers is {shortened(record.get('answers'))}: give a list of texts")
    elif name is not None and name not in within:
        source.fault(where, f"document {shortened(name)} is referred to but does not exist")
    elif answers := builder.answers(where, [raw]):
        some = within[str(name)] if name is not None else [one for each in within.values() for one in each]
        gold = _needed(builder, where, record, some, forms_of(answers))
        if gold:
            builder.add_question(where, Question(str(record.get("id", number)), question, answers, gold, ()))


def _needed(
    builder: CorpusBuilder, where: str, record: Record, some: Sequence[Passage], forms: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the paragraphs that a question needs; if these are not clear, note a fault and return none."""
    quotes = strings(record["evidence"]) if record.get("evidence") else []
    if quotes is None:
        builder.source.fault(where, f"evidence is {shortened(record['evidence'])}: give a quote or a list of them")
        return ()
    needed = []
    for quote in quotes:
        quoted = one_line(builder.source.text(quote))
        holding = [one.id for one in some if quoted in one.text]
        if len(holding) != 1:
            builder.source.fault(
                where, f"{len(holding)} paragraphs hold the evidence {shortened(quoted)}: quote just one"
            )
            return ()
        needed += holding
    if not quotes:
        needed = [one.id for one in some if holds(searched(one.text), forms)]
        if len(needed) != 1:
            builder.source.fault(where, f"{len(needed)} paragraphs hold an answer: give one of them as evidence")
            return ()
    return tuple(dict.fromkeys(needed))


PARAGRAPH = 1_000
"""The most characters of a paragraph; longer ones are cut between sentences."""
SENTENCE = 4_000
"""The most characters of a sentence."""
END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])[\"')\]\u2019\u201d]*(?: +|(?<=[\u3002\uff01\uff1f]))")


def documents(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the documents of a folder, in the order of their files, with the questions in FILE, if there is one."""
    by_name: dict[str, Document] = {}
    asked = source.root / FILE
    for path in sorted((*source.files("*.txt"), *source.files("*.jsonl"))):
        if path == asked:
            continue
        if path.suffix == ".jsonl":
            for where, record in json_lines(source, path):
                text = string(source, where, record, "text")
                name = record.get("id", f"{path.stem}-{len(by_name)}")
                if text is not None:
                    _add_document(source, by_name, where, str(name), text)
            continue
        try:
            text = checked_file(path, LARGEST_FILE).read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            line = fault.object[: fault.start].count(b"\n") + 1
            why = f"it is not UTF-8: byte 0x{fault.object[fault.start]:02x}"
            source.fault(f"{source.name(path)} line {line}", why)
            continue
        _add_document(source, by_name, source.name(path), source.name(path.with_suffix("")), text)
    if by_name:
        some = tuple(by_name.values())
        name = source.root.resolve().name
        yield name, with_questions(source, some, asked) if asked.is_file() else Corpus(documents=some)


def _add_document(source: Source, by_name: dict[str, Document], where: str, name: str, raw: str) -> None:
    """Add a document, with one line per paragraph, or note a fault."""
    fault = "" if name not in by_name else "it stands twice"
    if fault := fault or text_fault(name, LONGEST_TITLE):
        source.fault(where, f"the id {shortened(name)}: {fault.replace('its text', 'it', 1)}")
        return
    kept = list(paragraphs(cleaned(source.text(raw))))
    if not kept:
        source.fault(where, "its text is empty")
    for number, line in enumerate(kept, start=1):
        if fault := text_fault(line, SENTENCE):
            source.fault(f"{where}, paragraph {number}", fault.replace("its text", "a sentence of it", 1))
            return
    if kept:
        by_name[name] = Document(name, "\n".join(kept))


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a text that are not empty; long ones are cut between sentences.

    No line starts with a slash, since its token count would depend on the line before it.
    """
    for line in (_stripped(one) for one in text.split("\n")):
        if len(line) <= PARAGRAPH:
            if line:
                yield line
            continue
        part = ""
        for sentence in sentences(line):
            if part and len(part) + len(sentence) >= PARAGRAPH:
                yield part
                part = ""
            part = f"{part} {sentence}" if part else sentence
        yield part


def sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line."""
    start = 0
    for stop in (*(end.end() for end in END.finditer(line)), len(line)):
        if piece := _stripped(line[start:stop]):
            yield piece
        start = stop


def _stripped(line: str) -> str:
    return line.strip().lstrip("/ ")
