"""What is wrong with a row, judged from the published row and its sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pipeline.assemble.joining import conversation
from pipeline.recipe import Stratum
from pipeline.rows import Row, sha256_text
from pipeline.tasks import task_of
from pipeline.tasks.base import Key, Needle, Published, Sample, Turns


def cell_place(cell: Stratum) -> tuple[str, str, int, int]:
    """Return what finds a row's stratum in its recipe."""
    return cell.family, cell.subtask, cell.length, cell.complexity


def turns_of(row: Row) -> tuple[tuple[str, str], ...]:
    """Return what is sent: the row's messages, or one user turn of its prompt."""
    if row["messages"]:
        return tuple((turn["role"], turn["content"]) for turn in row["messages"])
    return (("user", row["prompt"]),)


@lru_cache(maxsize=1)
def _loads(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def metadata_of(row: Row) -> dict[str, Any]:
    """Return a row's metadata, which several checks in turn read; nobody changes it."""
    return _loads(row["metadata"])


def sample_faults(row: Row, sample: Sample | None) -> list[str]:
    """Return where a row says something else than the sample it is of."""
    if sample is None or row["id"] != sample.id:
        return ["another row belongs here"]
    faults = list(drawn_faults(row, sample))
    if metadata_of(row)["latent"] != sample.latent:
        faults.append("its latent structure differs")
    return faults


def drawn_faults(row: Row, sample: Sample) -> Iterator[str]:
    """Yield where the columns that a row has even without its answer are not those of its sample."""
    key = sample.key.columns()
    wanted = {
        "question": sample.question,
        "answer_prefix": "",
        **{name: key[name] for name in ("choices", "random_string_to_prepend")},
    }
    for name, value in wanted.items():
        if row[name] != value:
            yield f"{name} is {row[name]!r} in place of {value!r}"


def answer_faults(row: Row, cell: Stratum) -> list[str]:
    """Return what is wrong with a row's answer, text and marks, judged from the published row alone."""
    task, metadata, turns = task_of(cell), metadata_of(row), turns_of(row)
    faults = [] if metadata["prompt_sha256"] == sha256_text(row["prompt"]) else ["the SHA-256 of its prompt is wrong"]
    if not row["prompt"].isascii() and not cell.knob("corpus", ""):
        faults.append("its prompt is not ASCII")
    if row["messages"] and row["prompt"] != conversation(turns):
        faults.append("its prompt does not match its messages")
    if (
        row["question"] not in row["prompt"][row["question_start"] :]
        or row["prompt"][row["question_start"] - 1] != "\n"
    ):
        faults.append("its question does not start at question_start")
    if sum(needle["role"] == "demo" for needle in row["needles"]) != row["shots"]:
        faults.append("its demonstrations are not marked one by one")
    try:
        solved = task.solve(turns) if task.proof == "solved" else tuple(row["answers"])
        if row["answers"] != list(solved) or row["target"] != solved[0]:
            faults.append(
                f"the text gives {list(solved)}, but the key is {row['target']!r} and accepts {row['answers']}"
            )
        if metadata.get("proof", "solved") != task.proof:
            faults.append(f"its metadata does not say that it is {task.proof}")
        faults += task.check(published(row, turns, cell, metadata))
    except ValueError as fault:
        faults.append(str(fault))
    return faults


def published(row: Row, turns: Turns, cell: Stratum, metadata: dict[str, Any]) -> Published:
    """Return a row as tasks check it."""
    needles = tuple(
        Needle(needle["role"], needle["char_start"], needle["char_end"], needle["depth"]) for needle in row["needles"]
    )
    return Published(cell, turns, row["prompt"], row["question"], needles, Key.of(row), metadata)
