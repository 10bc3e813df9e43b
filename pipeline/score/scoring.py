"""Scores predictions, in several processes; every row of the split gets a record."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

from pipeline.artifacts.files import atomic_write
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import PredictionsError
from pipeline.executors import processes, run
from pipeline.metrics import facts, figures, judge, pair_scores, points_of, scorers_of, without_reasoning
from pipeline.rows import Row
from pipeline.score.joining import (
    ALL,
    Answer,
    Answered,
    KeyRow,
    is_asked_lite,
    join,
    judged,
    known_ids,
    notes_of,
    read_keys,
    split_keys,
)
from pipeline.score.results import ANSWERED, EMPTY, HEAD, MISSING, REFUSED, STATES, Fault, Record, Scored

BATCH = 500
WORTH_A_POOL = 2000
"""Fewest answers for which starting other processes pays off."""

Job = tuple[int, tuple[str, ...], list[Row], list[str]]
Judged = tuple[float | None, Mapping[str, float]]
"""A score, None if the reply has no form that can be judged, and the figures behind it, if any."""


def score_predictions(
    splits: Sequence[Split],
    paths: Sequence[Path],
    *,
    model: str = "",
    selection: Selection = ALL,
    quirks: Sequence[str] = (),
    workers: int = 1,
    exports: Sequence[Path] = (),
) -> Scored:
    """Score the predictions of one model against one split, or several stacked.

    Args:
        splits: what was asked; several are stacked, and each bucket is weighted by how many of them have it.
        paths: prediction files.
        model: a label for the model.
        selection: the rows to score; without a prediction they score 0, unless an export or a run left them out.
        quirks: rules of published graders to use instead, as ``mrcr=starts``.
        workers: the number of processes.
        exports: exported folders whose records say what was asked in all files; without them, records are looked up
            beside the files and in the folders above.

    Raises:
        PredictionsError: if a file has no known format, a prediction is for another split or tokenizer, keys are
            withheld, or splits share rows.
    """
    scorers_of(quirks)
    notes = notes_of(paths, exports, splits)
    asked, never = split_keys([key for split in splits for key in read_keys(split, selection)], splits, notes)
    keys = _once(asked)
    tags = {f"{split.title} {tier}": tag for split in splits for tier, tag in split.tags.items()}
    title = " + ".join(split.title for split in splits)
    whole = selection == ALL and not never and not any(split.size for split in splits)
    known = {} if whole else dict.fromkeys(_ids(splits), "")
    known |= {key.row["id"]: key.digest for key in keys}
    joined = join(paths, known, tags, title, certain=notes.certain)
    records = _records(keys, joined, tuple(quirks), workers)
    faults = (*joined.faults, *_lacking(records, joined), *_halves(keys))
    return Scored(
        model=model,
        split=title,
        tokenizer=" + ".join(dict.fromkeys(split.tokenizer for split in splits)),
        tags=tags,
        quirks=tuple(sorted(quirks)),
        records=records,
        faults=faults,
        counts=_counts(records, joined),
        settings=notes.settings,
        never_asked=never,
        warnings=tuple(_warnings(joined, keys, splits, paths)),
        lite=is_asked_lite(splits, selection, notes),
    )


def _warnings(
    joined: Answered, keys: Sequence[KeyRow], splits: Sequence[Split], paths: Sequence[Path]
) -> Iterator[str]:
    if len(paths) > 1 and any(fault.kind == "conflict" for fault in joined.faults):
        yield "some rows have different replies: if the files are of different models, name each as NAME=FILE"
    if joined.untold and any(key.digest for key in keys):
        names = " + ".join(dict.fromkeys(split.tokenizer for split in splits))
        others = len(joined.untold) - 1
        more = f" and {others} more file{'s' * (others > 1)}" if others else ""
        yield (
            f"{joined.untold[0]}{more}: it is unknown for which tokenizer's prompts these predictions were made; ids "
            f"are the same for all, so check that they were {names}'s, or give --export FOLDER"
        )


def _once(keys: Sequence[KeyRow]) -> Sequence[KeyRow]:
    """Return the keys; raise `PredictionsError` if splits share rows, as those of two tokenizers do."""
    for row_id, times in Counter(key.row["id"] for key in keys).items():
        if times > 1:
            raise PredictionsError(f"row {row_id!r} occurs twice: stack splits of different tiers and of one tokenizer")
    return keys


def _ids(splits: Sequence[Split]) -> set[str]:
    """Return the ids of all rows, also of those that are not selected: they are known, but do not count."""
    return {key for split in splits for key in known_ids(split)}


def _counts(records: Sequence[Record], joined: Answered) -> dict[str, int]:
    states = Counter(record.state for record in records)
    rows = {state: states[state] for state in STATES}
    unparsed, cut = sum(record.unparsed for record in records), sum(record.cut for record in records)
    return {"rows": len(records), **rows, "unparsed": unparsed, "cut": cut, "predictions": joined.read}


def _records(keys: Sequence[KeyRow], joined: Answered, quirks: tuple[str, ...], workers: int) -> tuple[Record, ...]:
    answers = [joined.answers.get(key.row["id"]) for key in keys]
    judged_all = _scores(keys, [_usable(answer) for answer in answers], quirks, workers)
    alone = {key.row["id"]: one or 0.0 for key, (one, _) in zip(keys, judged_all, strict=True)}
    whole = pair_scores({key.row["id"]: key.row for key in keys}, alone)
    guesses = _guesses(keys)
    return tuple(
        _record(key, answer, judged_all[at], whole[key.row["id"]], guesses[at])
        for at, (key, answer) in enumerate(zip(keys, answers, strict=True))
    )


def _usable(answer: Answer | None) -> str | None:
    return None if answer is None or answer.conflict else answer.text


def _scores(keys: Sequence[KeyRow], texts: Sequence[str | None], quirks: tuple[str, ...], workers: int) -> list[Judged]:
    """Return the score of each row by itself, and the figures behind it; 0 without a text."""
    given = [at for at, text in enumerate(texts) if text is not None]
    scores: list[Judged] = [(0.0, dict.fromkeys(facts(key.row["scorer"]).figures, 0.0)) for key in keys]
    pool = processes(workers if len(given) >= WORTH_A_POOL else 1)
    for number, found in run(_judge, _jobs(keys, texts, given, quirks), pool):
        for at, value in zip(given[number * BATCH :], found, strict=False):
            scores[at] = value
    return scores


def _jobs(
    keys: Sequence[KeyRow], texts: Sequence[str | None], given: Sequence[int], quirks: tuple[str, ...]
) -> Iterator[Job]:
    places = iter(given)
    for number in range(-(-len(given) // BATCH)):
        some = list(islice(places, BATCH))
        yield number, quirks, judged([keys[at] for at in some]), [texts[at] or "" for at in some]


def _judge(job: Job) -> tuple[int, list[Judged]]:
    number, quirks, rows, texts = job
    scorers = scorers_of(quirks)
    return number, [
        (judge(row, text, scorers), figures(row, text, scorers)) for row, text in zip(rows, texts, strict=True)
    ]


def _forms(keys: Sequence[KeyRow]) -> list[list[int]]:
    """Return, for each row, the indices of the rows that are scored together with it, including itself."""
    pairs: dict[str, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        if key.pair:
            pairs[key.pair].append(at)
    return [pairs[key.pair] if key.pair else [at] for at, key in enumerate(keys)]


def _guesses(keys: Sequence[KeyRow]) -> list[Mapping[str, float]]:
    """Return the scores of guessing on each row; a guess at a pair must be right in both rows."""
    found: list[Mapping[str, float]] = []
    for at, both in enumerate(_forms(keys)):
        each = [keys[other].baselines for other in both]
        found.append({name: prod(one.get(name, 0.0) for one in each) for name in keys[at].baselines})
        if len(both) > 1:
            found[-1] = {name: 0.0 if name == "best_constant" else value for name, value in found[-1].items()}
    return found


def _record(key: KeyRow, answer: Answer | None, alone: Judged, whole: float, baselines: Mapping[str, float]) -> Record:
    row = key.row
    return Record(
        **{name: row[name] for name in ("id", "family", "subtask", "tier", "bucket", "length", "context_tokens")},
        complexity=row["complexity"],
        scorer=row["scorer"],
        subset=key.subset,
        depth=key.depth,
        kind=key.kind,
        pair=key.pair,
        state=answer.state if answer else MISSING,
        score=whole,
        alone=alone[0] or 0.0,
        figures=alone[1],
        unparsed=answer is not None and answer.state == ANSWERED and alone[0] is None,
        prediction=_head(_usable(answer) or ""),
        target=row["target"],
        question=row["question"],
        baselines=baselines,
        finish=answer.finish if answer else "",
        completion_tokens=answer.tokens if answer else None,
        seconds=answer.seconds if answer else None,
    )


def _head(text: str) -> str:
    """Return a text, without its middle if it is long."""
    if len(text) <= 2 * HEAD:
        return text
    return f"{text[:HEAD]}\n[... {len(text) - 2 * HEAD:,} characters ...]\n{text[-HEAD:]}"


def _lacking(records: Sequence[Record], joined: Answered) -> Iterator[Fault]:
    for record in records:
        tried = joined.answers.get(record.id)
        if record.state in (MISSING, REFUSED, EMPTY):
            kind = "failed" if tried and record.state == MISSING else record.state
            yield Fault(kind, f"{tried.where}: {record.id}: {tried.failed}" if tried else record.id)


def _halves(keys: Sequence[KeyRow]) -> Iterator[Fault]:
    for key, both in zip(keys, _forms(keys), strict=True):
        if key.pair and len(both) == 1:
            yield Fault("half", f"{key.row['id']}: the other row of the pair is not selected, so this one counts alone")


COLUMNS = ("id", "family", "subtask", "length", "complexity", "scorer", "question", "target")


def records_for_a_judge(
    scored: Scored, splits: Sequence[Split], paths: Sequence[Path], selection: Selection = ALL
) -> Iterator[dict[str, Any]]:
    """Yield a record for each scored reply: the row, its key points if it has any, the reply, and its score.

    The reply lacks only its reasoning. A row without a reply that counts has no record.

    Args:
        scored: the result of `score_predictions` for the same splits, predictions and selection.
        splits: what was asked.
        paths: prediction files.
        selection: the rows that were scored.

    Raises:
        PredictionsError: if the predictions can no longer be read.
    """
    known = {record.id: record for record in scored.records if record.state == ANSWERED}
    answers = join(paths, dict.fromkeys(known, ""), scored.tags, scored.split).answers
    for key in (key for split in splits for key in read_keys(split, selection)):
        if record := known.get(key.row["id"]):
            asked = {name: key.row[name] for name in COLUMNS}
            reply = without_reasoning(answers[record.id].text or "").strip()
            judged = {"score": round(record.alone, 6), "figures": {k: round(v, 6) for k, v in record.figures.items()}}
            yield {**asked, "key_points": _key_points(key.row), "reply": reply, **judged}


def write_judge_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records as JSON Lines."""
    with atomic_write(path) as aside, aside.open("w", encoding="ascii") as lines:
        lines.writelines(f"{json.dumps(one)}\n" for one in records)


def _key_points(row: Row) -> list[dict[str, Any]]:
    """Return the key points of a summary with the ids of their entries; empty for other tasks."""
    if row["scorer"] != "key_points":
        return []
    points, _ = points_of(row)
    return [{"person": person, "year": int(year), "entries": sorted(ids)} for (person, year), ids in points.items()]
