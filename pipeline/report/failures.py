"""Failures to show: which rows, and their prompts with needles marked and filler folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.figures.style import kilo
from pipeline.report.blocks import Failure, Mark, Reply
from pipeline.report.excerpts import Part, parts_of
from pipeline.rows import Row
from pipeline.score.results import ANSWERED, MISSING, Record, Scored
from pipeline.store.parquet import opened
from pipeline.store.split import Split

WORST, TOGETHER = 3, 6
"""Most failures of each family that are shown for one model, and for all models."""

KEPT, LONGEST, MOST = 200, 1200, 40
"""Characters kept beside folded filler, of the longest segment that is shown whole, and segments of one prompt."""

SHOWN = 4000
"""Characters of a question, an expected answer or a reply."""

COLUMNS = ["id", "needles", "question_start", "prompt"]


def failures(splits: Sequence[Split], scored: Sequence[Scored], marks: Sequence[Mark]) -> dict[str, list[Failure]]:
    """Return failures by family: the worst rows of each model, each with the replies of all models.

    Raises:
        CorruptError: if a shard cannot be read.
    """
    found = [{record.id: record for record in each.records} for each in scored]
    count = min(WORST, max(1, TOGETHER // len(scored)))
    chosen = {record.id: record for each in scored for record in worst(each.records, count)}
    prompts = {row["id"]: row for split in splits for row in _prompts(split, chosen)}
    shown: dict[str, list[Failure]] = defaultdict(list)
    for record in chosen.values():
        replies = [_reply(mark, by_id[record.id]) for mark, by_id in zip(marks, found, strict=True)]
        parts = list(folded(prompts[record.id])) if record.id in prompts else []
        facts = _facts(record)
        question, target = cut(record.question), cut(record.target)
        shown[record.family].append(Failure(record.id, facts, question, target, replies, parts))
    return dict(shown)


def worst(records: Iterable[Record], count: int) -> Iterator[Record]:
    """Yield the worst answered rows of each family, shortest first, of as many subtasks as there are."""
    families: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.alone < 1 and record.state != MISSING:
            families[record.family].append(record)
    for failed in families.values():
        failed.sort(key=lambda record: (record.alone, record.state != ANSWERED, record.length, record.id))
        yield from _varied(failed)[:count]


def _varied(records: Sequence[Record]) -> list[Record]:
    """Return records dealt in turns from their subtasks, in order of each subtask's first."""
    subtasks: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        subtasks[record.subtask].append(record)
    turns = [(turn, at, record) for at, some in enumerate(subtasks.values()) for turn, record in enumerate(some)]
    return [record for _, _, record in sorted(turns, key=lambda each: each[:2])]


def _facts(record: Record) -> str:
    depth = "" if record.depth is None else f", depth {record.depth:.2f}"
    pair = "; scored as a pair: both forms must be right" if record.pair else ""
    place = f"{record.family}.{record.subtask}, {kilo(record.length)}, complexity {record.complexity}{depth}"
    return f"{place}; scorer {record.scorer}{pair}"


def _reply(mark: Mark, record: Record) -> Reply:
    note = "" if record.state == ANSWERED else f"{record.state}: no reply counts"
    if record.state == ANSWERED and not record.prediction.strip():
        note = "an empty reply"
    return Reply(mark, f"{record.alone:.2f}", cut(record.prediction), note)


def cut(text: str, most: int = SHOWN) -> str:
    """Return a text whose middle is cut out if it is long."""
    if len(text) <= most + 60:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters ...]\n{text[-half:]}"


def folded(row: Row) -> Iterator[Part]:
    """Yield a prompt in parts, none of them long, and no more than MOST segments."""
    segments = 0
    parts = list(parts_of(row, KEPT))
    for part in parts[:-1]:
        segments += part.kind not in ("filler", "folded")
        if segments <= MOST:
            yield replace(part, text=cut(part.text, LONGEST))
    if segments > MOST:
        yield Part("folded", "", f"{segments - MOST:,} more segments and the filler between them")
    yield replace(parts[-1], text=cut(parts[-1].text))


def _prompts(split: Split, chosen: Mapping[str, Record]) -> Iterator[Row]:
    """Yield the chosen rows with their prompts, reading only row groups that hold one; none without data."""
    places = {(record.family, record.tier) for record in chosen.values()}
    for path in split.shards("data"):
        if path.parts[-3:-1] in places and path.is_file():
            yield from _rows(path, chosen)


def _rows(path: Path, chosen: Mapping[str, Record]) -> Iterator[Row]:
    with opened(path) as file:
        for group in range(file.num_row_groups):
            ids = file.read_row_group(group, columns=["id"]).column("id").to_pylist()
            places = [at for at, row_id in enumerate(ids) if row_id in chosen]
            if places:
                yield from file.read_row_group(group, columns=COLUMNS).take(places).to_pylist()
