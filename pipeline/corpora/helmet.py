"""Readers of HELMET's files: retrieval (KILT), re-ranking (MS MARCO) and citations (ALCE), read as by HELMET's code.

The fields are those of ``data.py`` in princeton-nlp/HELMET: a question with its `id`, or else identified by its text;
`answers`; `ctxs` with `title` and `text`, in `msmarco` also `id` and `label`; `s_pop` of PopQA below 1,000; `docs` in
`alce`. A file has each question several times, with the passages that answer it at different places. Here these rows
become one question, whose other passages are ranked in the order of its first row.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.corpora.gathering import CorpusBuilder, contexts, forms_of
from pipeline.corpora.reading import Record, Source, json_items, json_lines, string, strings
from pipeline.corpora.records import Corpus, Question
from pipeline.worlds.writing.corpus import shortened

KILT = re.compile(r"(?P<source>nq|triviaqa|popqa|hotpotqa)[-_](?P<part>dev|test|train).*_k(?P<k>\d+)_dep\d+\.jsonl")
RERANK = re.compile(r"test_reranking_data_k(?P<k>\d+)_dep\d+\.jsonl")
ALCE = re.compile(r"(?P<source>asqa|qampari)_eval_.*\.json")
POPULAR = 3.0
"""HELMET asks about a subject of PopQA if the decimal logarithm of its page views is below this."""
FEW = 3
"""The most passages per row in HELMET's files of demonstrations."""
MOVED = 4
"""The most needed passages that can be recognised by their changing places."""


def helmet(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the corpora of a folder of HELMET's data, each with its name; only the longest files are used."""
    yield from _kilt(source)
    yield from _rerank(source)
    for path in source.files("*.json"):
        if match := ALCE.fullmatch(path.name):
            yield f"alce-{match['source']}", _alce(source, path)


def _longest(source: Source, pattern: re.Pattern[str]) -> dict[tuple[str, bool], Path]:
    """Return for each source and use (shown or asked) the file with the most passages per row."""
    longest: dict[tuple[str, bool], tuple[int, Path]] = {}
    for path in source.files("*.jsonl"):
        if match := pattern.fullmatch(path.name):
            named, size = match.groupdict(), int(match["k"])
            shown = named.get("part") == "train" or size <= FEW
            key = named.get("source") or "msmarco", shown
            if key not in longest or size > longest[key][0]:
                longest[key] = size, path
    return {key: path for key, (_, path) in longest.items()}


def _kilt(source: Source) -> Iterator[tuple[str, Corpus]]:
    files = _longest(source, KILT)
    for name in sorted({name for name, shown in files if not shown}):
        builder = CorpusBuilder(source)
        for shown in (False, True):
            if path := files.get((name, shown)):
                for asked in _rows_by_question(
                    builder, path, popular=POPULAR if name == "popqa" else math.inf
                ).values():
                    asked.add_to(builder, several=name == "hotpotqa", shown=shown)
        yield f"kilt-{name}", builder.corpus()


@dataclass
class _QuestionRows:
    """The rows of one question: the question, and the passages of each row in order."""

    where: str
    id: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    needed: set[str] = field(default_factory=set)
    rows: list[list[str]] = field(default_factory=list)

    def add_to(self, builder: CorpusBuilder, *, several: bool, shown: bool) -> None:
        """Add the question to the builder, with the passages that it needs."""
        gold = self._gold(builder, several)
        if several and not gold:
            builder.source.fault(self.where, f"nothing tells which passages answer {shortened(self.question)}")
            return
        ranked = tuple(one for one in dict.fromkeys(self.rows[0]) if one not in gold)
        name = f"shown {self.id}" if shown else self.id
        builder.add_question(self.where, Question(name, self.question, self.answers, gold, ranked, shown=shown))

    def _gold(self, builder: CorpusBuilder, several: bool) -> tuple[str, ...]:  # noqa: FBT001
        """Return the passages that move from row to row, else those given as right, else the first with an answer.

        With `several`, whether a passage has an answer is ignored, and two or more given as right come first.
        """
        listed = [one for one in dict.fromkeys(self.rows[0]) if one in self.needed]
        if several and len(listed) > 1:
            return tuple(listed)
        forms = forms_of(self.answers)
        moved = [one for one in moving(self.rows) if several or builder.holding(one, forms)]
        if several:
            return tuple(moved or listed)
        listed = [one for one in listed if builder.holding(one, forms)]
        return tuple((moved or listed or [one for one in self.rows[0] if builder.holding(one, forms)])[:1])


def _rows_by_question(builder: CorpusBuilder, path: Path, popular: float) -> dict[str, _QuestionRows]:
    """Gather the rows of a file by question."""
    by_id: dict[str, _QuestionRows] = {}
    for where, record in json_lines(builder.source, path):
        views = record.get("s_pop")
        if isinstance(views, int | float) and views > 0 and math.log10(views) >= popular:
            continue
        row = _row(builder, where, record)
        if row is not None:
            known = by_id.setdefault(row.id, row)
            known.rows.append(_add_passages(builder, where, contexts(builder.source, where, record, "ctxs") or ()))
            if isinstance(right := record.get("positive_ctxs"), list):
                known.needed.update(_add_passages(builder, where, [one for one in right if isinstance(one, dict)]))
    return {key: one for key, one in by_id.items() if one.rows[0]}


def _row(builder: CorpusBuilder, where: str, record: Record) -> _QuestionRows | None:
    """Return a row's question, without its passages."""
    question = string(builder.source, where, record, "question")
    raw = strings(record.get("answers"))
    if question is None:
        return None
    if raw is None:
        builder.source.fault(where, f"answers is {shortened(record.get('answers'))}: give a list of texts")
        return None
    answers = builder.answers(where, [raw])
    name = record.get("id")
    return (
        _QuestionRows(where, str(name if isinstance(name, str | int) else question), question, answers)
        if answers
        else None
    )


def _add_passages(builder: CorpusBuilder, where: str, ctxs: Sequence[Mapping[str, Any]]) -> list[str]:
    added = (builder.add_passage(where, one.get("title"), one.get("text"), one.get("id")) for one in ctxs)
    return [one for one in added if one is not None]


def moving(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the few items without which several orders of the same items are equal; none if there are too many.

    >>> moving([["x", "a", "b", "c"], ["a", "b", "x", "c"], ["a", "b", "c", "x"]])
    ('x',)
    """
    first = rows[0]
    out = [set(first) - _kept(first, other) for other in rows[1:] if set(other) == set(first) and other != first]
    for some in (set.intersection(*out), set.union(*out)) if out else ():
        left = {tuple(one for one in row if one not in some) for row in rows}
        if 0 < len(some) <= MOVED and len(left) == 1:
            return tuple(one for one in first if one in some)
    return ()


def _kept(first: Sequence[str], other: Sequence[str]) -> set[str]:
    """Return a largest set of items that two orders have in the same order (by patience sorting)."""
    place = {one: number for number, one in enumerate(first)}
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for at, one in enumerate(other):
        pile = bisect_left(ends, place[one])
        before.append(tops[pile - 1] if pile else -1)
        ends[pile : pile + 1], tops[pile : pile + 1] = [place[one]], [at]
    kept, at = set(), tops[-1]
    while at >= 0:
        kept.add(other[at])
        at = before[at]
    return kept


def _rerank(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Read graded passages: all are ranked in their order, with their grades; those graded above 0 are needed."""
    files = _longest(source, RERANK)
    for path in (path for (_, shown), path in files.items() if not shown):
        builder = CorpusBuilder(source)
        for where, record in json_lines(source, path):
            name, query = string(source, where, record, "qid"), string(source, where, record, "query")
            ctxs = contexts(source, where, record, "ctxs")
            if name is None or query is None or ctxs is None or name in builder.questions:
                continue  # other orders of a question add nothing
            graded = [
                (builder.add_passage(where, c.get("title"), c.get("text"), c.get("id")), c.get("label")) for c in ctxs
            ]
            if wrong := [label for _, label in graded if not isinstance(label, int) or isinstance(label, bool)]:
                source.fault(where, f"the label {shortened(wrong[0])} is not a whole number")
                continue
            some = {one: label for one, label in graded if one is not None and isinstance(label, int)}
            gold = tuple(one for one, label in some.items() if label > 0)
            builder.add_question(where, Question(name, query, (), gold, tuple(some), tuple(some.values())))
        yield "msmarco", builder.corpus()


def _short_answers(pair: object) -> object:
    return pair.get("short_answers") if isinstance(pair, dict) else None


def _alce(source: Source, path: Path) -> Corpus:
    """Read questions with many answers; passages that contain an answer are needed."""
    builder = CorpusBuilder(source)
    for number, (where, record) in enumerate(json_items(source, path)):
        question, docs = string(source, where, record, "question"), contexts(source, where, record, "docs")
        pairs = record.get("qa_pairs")
        raw = list(map(_short_answers, pairs)) if isinstance(pairs, list) else record.get("answers")
        groups = [strings(one) for one in raw] if isinstance(raw, list) else []
        if question is None or docs is None:
            continue
        if not groups or None in groups:
            source.fault(where, f"its answers are {shortened(raw)}: give lists of texts")
            continue
        answers = builder.answers(where, [one for one in groups if one is not None])
        ranked = _add_passages(builder, where, docs)
        if answers:
            gold = tuple(one for one in ranked if builder.holding(one, forms_of(answers)))
            others = tuple(one for one in ranked if one not in set(gold))
            name = record.get("sample_id", record.get("id", number))
            builder.add_question(where, Question(str(name), question, answers, gold, others))
    return builder.corpus()
