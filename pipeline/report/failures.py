"""Chooses failures to show, and their prompts with needles marked and filler folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.artifacts.parquet import opened
from pipeline.artifacts.split import Split
from pipeline.report.models import NOTHING, Model
from pipeline.report.page import Column, Failure, Mark, Part, Reply, Table, parts_of
from pipeline.rows import Row, kilo
from pipeline.score.results import ANSWERED, EMPTY, MISSING, REFUSED, Record, Scored
from pipeline.terminal.text import row_count

WORST, TOGETHER = 4, 6
"""Most failures of each family that are shown for one model, and for all models together."""

CONTEXT_CHARACTERS, MAX_SEGMENT_CHARACTERS, MAX_SEGMENTS = 200, 1200, 40
"""Characters kept beside folded filler, most characters of a segment, and most segments of a prompt."""

MAX_TEXT_CHARACTERS = 4000
"""Most characters shown of a question, an expected answer or a reply."""

COLUMNS = ["id", "needles", "question_start", "prompt"]


def failures(
    splits: Sequence[Sequence[Split]], scored: Sequence[Scored], marks: Sequence[Mark]
) -> dict[str, list[Failure]]:
    """Return failures by family, longest first: the worst rows of each model, each with the replies of all models.

    `splits` has the splits that each model was asked. A prompt is shown in the version of the model that failed.

    Raises:
        CorruptError: if a shard cannot be read.
    """
    found = by_id(scored)
    count = min(WORST, max(1, TOGETHER // len(scored)))
    chosen, prompts = dict[str, Record](), dict[str, Row]()
    for own, each in zip(splits, scored, strict=True):
        fresh = {record.id: record for record in worst(each.records, count) if record.id not in chosen}
        prompts |= {row["id"]: row for split in own for row in _prompts(split, fresh)}
        chosen |= fresh
    shown: dict[str, list[Failure]] = defaultdict(list)
    for record in sorted(chosen.values(), key=lambda each: -each.length):
        replies = [_reply(mark, own[record.id]) for mark, own in zip(marks, found, strict=True) if record.id in own]
        parts = list(folded(prompts[record.id])) if record.id in prompts else []
        facts = _facts(record)
        question, target = cut(record.question), cut(record.target)
        shown[record.family].append(Failure(record.id, facts, question, target, replies, parts))
    return dict(shown)


def by_id(scored: Sequence[Scored]) -> list[dict[str, Record]]:
    """Return the records of each model by id."""
    return [{record.id: record for record in each.records} for each in scored]


def worst(records: Iterable[Record], count: int) -> Iterator[Record]:
    """Yield the worst rows with a reply of each family, longest first.

    They are taken in turns from all lengths: the longest, the shortest, the second longest, and so on. At each length
    they are spread over the subtasks.
    """
    families: dict[str, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if failed(record):
            families[record.family][record.length].append(record)
    for lengths in families.values():
        hands = [_varied(sorted(lengths[length], key=_worse)) for length in from_ends(lengths)]
        turns = [(turn, at, record) for at, hand in enumerate(hands) for turn, record in enumerate(hand)]
        dealt = [record for _, _, record in sorted(turns, key=lambda each: each[:2])]
        yield from sorted(dealt[:count], key=lambda record: -record.length)


def failed(record: Record) -> bool:
    """Tell whether a row was answered in some way, but not with a full score."""
    return record.alone < 1 and record.state not in (MISSING, REFUSED)


def from_ends(lengths: Iterable[int]) -> list[int]:
    """Return lengths alternately from both ends, the longest first.

    >>> from_ends([1, 2, 3, 4, 5])
    [5, 1, 4, 2, 3]
    """
    ordered = sorted(lengths)
    pairs = zip(reversed(ordered), ordered, strict=True)
    return list(dict.fromkeys(length for pair in pairs for length in pair))


def _worse(record: Record) -> tuple[float, bool, str]:
    return record.alone, record.state != ANSWERED, record.id


def _varied(records: Sequence[Record]) -> list[Record]:
    """Return records in turns from their subtasks, which are in order of their first records."""
    subtasks: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        subtasks[record.subtask].append(record)
    turns = [(turn, at, record) for at, some in enumerate(subtasks.values()) for turn, record in enumerate(some)]
    return [record for _, _, record in sorted(turns, key=lambda each: each[:2])]


def _facts(record: Record) -> str:
    depth = "" if record.depth is None else f", depth {record.depth:.2f}"
    pair = "; scored as a pair: both rows must be right" if record.pair else ""
    place = f"{record.family}.{record.subtask}, {kilo(record.length)}, complexity {record.complexity}{depth}"
    return f"{place}; scorer {record.scorer}{pair}"


def _reply(mark: Mark, record: Record) -> Reply:
    note = "" if record.state == ANSWERED else f"{record.state}: no usable reply"
    if record.state == EMPTY or (record.state == ANSWERED and not record.prediction.strip()):
        note = "an empty reply"
    if record.unparsed and not note:
        note = "unparsed: its scorer cannot read it"
    if record.cut:
        note = f"{note}; " * bool(note) + "cut off at its limit"
    return Reply(mark, f"{record.alone:.2f}", cut(record.prediction), note)


def cut(text: str, most: int = MAX_TEXT_CHARACTERS) -> str:
    """Return a text, without its middle if it is long."""
    if len(text) <= most + 60:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters ...]\n{text[-half:]}"


def folded(row: Row) -> Iterator[Part]:
    """Yield the parts of a prompt, none of them long, with at most MAX_SEGMENTS segments."""
    segments = 0
    parts = list(parts_of(row, CONTEXT_CHARACTERS))
    for part in parts[:-1]:
        segments += part.kind not in ("filler", "folded")
        if segments <= MAX_SEGMENTS:
            yield replace(part, text=cut(part.text, MAX_SEGMENT_CHARACTERS))
    if segments > MAX_SEGMENTS:
        yield Part("folded", "", f"{segments - MAX_SEGMENTS:,} more segments and the filler between them")
    yield replace(parts[-1], text=cut(parts[-1].text))


def _prompts(split: Split, chosen: Mapping[str, Record]) -> Iterator[Row]:
    """Yield the chosen rows with their prompts, reading only row groups that contain one; none without data."""
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


LISTED = 40
"""Most failed rows of a family that a page lists."""


def lists_of_failures(models: Sequence[Model]) -> dict[str, Table]:
    """Return, for each family, a table of rows that some model failed, equally many of each length if possible."""
    own = by_id([model.scored for model in models])
    found: dict[str, dict[str, Record]] = defaultdict(dict)
    for records in own:
        for record in records.values():
            if failed(record):
                found[record.family].setdefault(record.id, record)
    return {family: _list(family, models, own, list(rows.values())) for family, rows in sorted(found.items())}


def _list(family: str, models: Sequence[Model], own: Sequence[dict[str, Record]], rows: Sequence[Record]) -> Table:
    columns = [Column("row"), Column("subtask"), Column("length", numeric=True), Column("complexity", numeric=True)]
    columns += [
        Column("depth", numeric=True),
        *(Column(each.mark.label, numeric=True, mark=each.mark) for each in models),
    ]
    shown = list(_shown(rows))
    count = "" if len(shown) == len(rows) else f"{len(shown):,} of "
    lines = [
        [
            each.id,
            each.subtask,
            kilo(each.length),
            str(each.complexity),
            NOTHING if each.depth is None else f"{each.depth:.2f}",
            *(_score(records.get(each.id)) for records in own),
        ]
        for each in shown
    ]
    caption = f"{family}: {count}{row_count(len(rows))} on which a model scored less than 1, longest first"
    return Table(caption, columns, lines, folded=True)


def _shown(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the rows to list, taken in turns from all lengths."""
    lengths: dict[int, list[Record]] = defaultdict(list)
    for each in sorted(rows, key=lambda each: (each.alone, each.subtask, each.id)):
        lengths[each.length].append(each)
    turns = sorted((turn, -length, each.id) for length, own in lengths.items() for turn, each in enumerate(own))
    chosen = {row_id for _, _, row_id in turns[:LISTED]}
    for length in sorted(lengths, reverse=True):
        yield from (each for each in lengths[length] if each.id in chosen)


def _score(record: Record | None) -> str:
    if record is None:
        return "not asked"
    return f"{record.alone:.2f}" if record.state == ANSWERED else record.state
