"""Prediction files, one per reader: a part of the split at a time, in any number of processes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from pipeline.artifacts.files import atomic_write
from pipeline.artifacts.split import Selection, Split
from pipeline.baselines import COLUMNS, READERS, open_reading
from pipeline.errors import CorruptError
from pipeline.executors import run
from pipeline.metrics import score
from pipeline.rows import Row


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Read the rows of one tier, family, subtask and length."""

    number: int
    split: Split
    selection: Selection
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replies:
    """The readers' replies to the rows of a job: for each row its id and digest, its task, and a reply or None each."""

    number: int
    tokens: int
    rows: tuple[tuple[dict[str, str], str, tuple[str | None, ...]], ...]


@dataclass(slots=True)
class Written:
    """A prediction file: how many rows it has, and how many rows of each task the reader left out."""

    path: Path
    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def write_readings(
    split: Split,
    selection: Selection,
    readers: Sequence[str],
    folder: Path,
    open_executor: Callable[[], Executor],
    on_done: Callable[[Replies], None] = lambda replies: None,
) -> dict[str, Written]:
    """Write ``folder/<reader>.jsonl`` for each reader: a line for each row, in the split's order.

    A line has the id, the prediction, and the prompt's digest, which depends on the tokenizer.

    Args:
        split: a sealed split; its keys are not read.
        selection: which rows.
        readers: names of readers.
        folder: where the files are written; those of the same names are replaced.
        open_executor: what opens the executor, as `pipeline.executors.run` takes it.
        on_done: called with each part of the split that is read.

    Raises:
        SplitError: if the selection names what the split does not have.
        CorruptError: if a text cannot be read as its task's.
    """
    done: dict[int, Replies] = {}
    for replies in run(run_read, list(jobs_of(split, selection, tuple(readers))), open_executor):
        done[replies.number] = replies
        on_done(replies)
    written = {name: Written(folder / f"{name}.jsonl") for name in readers}
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(stack.enter_context(atomic_write(one.path)).open("w", encoding="utf-8"))
            for name, one in written.items()
        }
        for row, task, texts in (row for number in sorted(done) for row in done[number].rows):
            for name, reply in zip(readers, texts, strict=True):
                if reply is None:
                    written[name].left_out[task] += 1
                    continue
                files[name].write(json.dumps({"id": row["id"], "prediction": reply, **row}) + "\n")
                written[name].rows += 1
    return written


def run_read(job: ReadJob) -> Replies:
    """Read the rows of a job; every reader leaves out rows that no program can solve.

    Raises:
        CorruptError: naming the row, if its text cannot be read as its task's.
    """
    rows, tokens = [], 0
    for row in job.split.rows([*COLUMNS, "metadata"], job.selection):
        try:
            metadata = json.loads(row["metadata"])
            solved = metadata.get("proof", "solved") == "solved"
            texts = _replies(row, job.readers) if solved else (None,) * len(job.readers)
        except ValueError as fault:
            raise CorruptError(f"{row['id']} is not what its task writes: {fault}") from fault
        named = {"id": row["id"], **{name: metadata[name] for name in ("prompt_sha256",) if name in metadata}}
        rows.append((named, f"{row['family']}.{row['subtask']}", texts))
        tokens += row["prompt_tokens"]
    return Replies(job.number, tokens, tuple(rows))


def _replies(row: Row, readers: Sequence[str]) -> tuple[str | None, ...]:
    reading = open_reading(row)
    return tuple(READERS[name].replies(reading) for name in readers)


def jobs_of(split: Split, selection: Selection, readers: tuple[str, ...]) -> Iterator[ReadJob]:
    """Yield the jobs that read a selection, in the order of the split."""
    rows = split.rows(["tier", "family", "subtask", "length"], selection)
    for number, (tier, family, subtask, length) in enumerate(dict.fromkeys(tuple(row.values()) for row in rows)):
        part = replace(selection, tiers=(tier,), families=(family,), subtasks=(subtask,), lengths=(length,))
        yield ReadJob(number, split, part, readers)


SHOWN = ("all", "last32k", "forgets", "no-context")
"""The readers of a card: one without a weakness, one with a short window, one that loses its thread, and one blind."""


def curve_of(
    split: Split,
    open_executor: Callable[[], Executor],
    readers: Sequence[str] = SHOWN,
    limit: int = 1,
    on_done: Callable[[Replies], None] = lambda replies: None,
) -> dict[str, dict[int, float]]:
    """Return the mean score of each reader at each length: the mean over families of their rows' mean.

    Args:
        split: a sealed split with its keys.
        open_executor: what opens the executor, as `pipeline.executors.run` takes it.
        readers: names of readers.
        limit: how many rows of each stratum are read.
        on_done: called with each part of the split that is read.

    Raises:
        CorruptError: if a text cannot be read as its task's.
    """
    selection = Selection(limit=limit)
    keys = {row["id"]: row for row in split.key_rows(selection=selection)}
    by_cell: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for replies in run(run_read, list(jobs_of(split, selection, tuple(readers))), open_executor):
        on_done(replies)
        for named, _, texts in replies.rows:
            key = keys[named["id"]]
            for name, reply in zip(readers, texts, strict=True):
                if reply is not None:
                    by_cell[name, key["length"], key["family"]].append(score(key, reply))
    means: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in readers}
    for (name, length, _), scores in sorted(by_cell.items()):
        means[name][length].append(fmean(scores))
    return {name: {length: fmean(each) for length, each in by_length.items()} for name, by_length in means.items()}
