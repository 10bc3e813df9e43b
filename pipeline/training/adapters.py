"""Rows to train on in the shapes of trainers: datasets and TRL, verl, verifiers, reasoning-gym.

Each is a thin coat: rows are made when they are asked for, and replies are judged by `reward` alone. The package of a
trainer is imported only by the function that needs it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any

from pipeline.errors import ExportError
from pipeline.rows import Row
from pipeline.training.iterable import JUDGED, judged, messages
from pipeline.training.mixing import Mix
from pipeline.training.reward import reward
from pipeline.training.stream import Stream, stream

Source = Stream | Mix
"""What rows come from."""


def _row(kept: Row) -> Row:
    """Return a row of which `judged` was kept."""
    lists = {name: None if kept[name] is None else list(kept[name]) for name in ("answers", "choices", "evidence")}
    return {**kept, **lists, "prompt": kept["text"]}


def rewarder(source: Source | None = None, mode: str | None = None) -> Callable[..., list[float]]:
    """Return a reward function for TRL; of a mixture, it also reports what replies earn.

    Args:
        source: where the rows come from.
        mode: as `reward` takes it.
    """

    def carrara_reward(completions: Sequence[Any], **columns: Sequence[Any]) -> list[float]:
        """Return what replies earn, given as text or as lists of one message."""
        replies = [one if isinstance(one, str) else one[-1]["content"] for one in completions]
        rows = [_row({name: columns[name][at] for name in (*JUDGED, "text")}) for at in range(len(replies))]
        earned = [reward(row, reply, mode)["score"] for row, reply in zip(rows, replies, strict=True)]
        if isinstance(source, Mix):
            for row, score in zip(rows, earned, strict=True):
                source.report(row["id"], score)
        return earned

    return carrara_reward


def verl_line(row: Row, index: int) -> dict[str, Any]:
    """Return a row in the columns that verl reads."""
    return {
        "data_source": f"carrara/{row['family']}.{row['subtask']}",
        "prompt": messages(row),
        "ability": row["family"],
        "reward_model": {"style": "rule", "ground_truth": row["target"]},
        "extra_info": {"split": "train", "index": index, **judged(row)},
    }


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any], **_: Any
) -> dict[str, float]:
    """Return what a reply earns, for verl: ``custom_reward_function.path`` is this file."""
    return reward(_row({**extra_info, "target": ground_truth}), solution_str)


class VerlRows:
    """Rows for verl's `DynamicGenDataset`, whose `AbstractDataGen` has one method, `generate`.

    ``class Rows(VerlRows, AbstractDataGen)`` in a file that ``data.datagen.path`` names is all that verl needs.

    Args:
        config: ``data.datagen``: `task`, `tokenizer`, `length`, and what else `stream` takes; `rows` is the number of
            rows that are added after each batch.
    """

    def __init__(self, config: Any) -> None:
        told = {name: config[name] for name in config if name not in ("path", "name", "rows")}
        self.config, self._count = config, int(config["rows"])
        self._rows = iter(stream(**told))
        self._index = 0

    def generate(self, dataset: object) -> Any:
        """Return the next rows."""
        lines = [verl_line(row, self._index + at) for at, row in enumerate(islice(self._rows, self._count))]
        self._index += len(lines)
        return import_module("datasets").Dataset.from_list(lines)


def entry(row: Row) -> dict[str, Any]:
    """Return a row as reasoning-gym has it: question, answer and metadata."""
    place = {"source_dataset": f"carrara/{row['family']}.{row['subtask']}", "difficulty": row["complexity"]}
    return {"question": row["prompt"], "answer": row["target"], "metadata": {**place, **judged(row)}}


def score_answer(answer: str | None, told: dict[str, Any]) -> float:
    """Return what a reply to an entry earns."""
    return reward(_row(told["metadata"]), answer, None)["score"] if isinstance(answer, str) else 0.0


@dataclass
class GymConfig:
    """What reasoning-gym makes a data set of: a stream, and how many of its rows."""

    task: str = "bio.multihop"
    tokenizer: str = "o200k"
    length: int = 8192
    complexity: int | None = None
    ids: bool = True
    seed: int = 0
    size: int = 500

    def validate(self) -> None:
        """Check that there are rows."""
        if self.size < 1:
            raise ExportError(f"size {self.size}: give at least 1")


def register_in_gym(name: str = "carrara") -> None:
    """Register Carrara with reasoning-gym, for ``reasoning_gym.create_dataset("carrara", task=..., size=...)``.

    Raises:
        ExportError: if reasoning-gym is not installed.
    """
    try:
        bases = import_module("reasoning_gym.dataset"), import_module("reasoning_gym.factory")
    except ImportError:
        raise ExportError("register_in_gym needs reasoning-gym: pip install reasoning-gym") from None

    base: Any = bases[0].ProceduralDataset

    class Rows(base):  # type: ignore[misc]
        """Rows of a stream."""

        def __init__(self, config: GymConfig) -> None:
            super().__init__(config=config, seed=config.seed, size=config.size)
            self._rows = stream(
                config.task, tokenizer=config.tokenizer, length=config.length, complexity=config.complexity,
                seed=config.seed, ids=config.ids,
            )  # fmt: skip

        def __getitem__(self, index: int) -> dict[str, Any]:
            return entry(self._rows[index])

        def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
            return score_answer(answer, entry)

    bases[1].register_dataset(name, Rows, GymConfig)


def taskset(source: Source, rows: int) -> Any:
    """Return a taskset of verifiers (v1) with the next rows of a source, each judged by `reward`.

    Raises:
        ExportError: if verifiers is not installed.
    """
    try:
        vf: Any = import_module("verifiers.v1")
    except ImportError:
        raise ExportError("taskset needs verifiers: pip install verifiers") from None

    class Data(vf.TaskData):  # type: ignore[misc]
        """A row: its text as messages, its room, and as JSON what its reward reads."""

        max_new_tokens: int
        judged: str

    class Task(vf.Task[Data, vf.State, vf.TaskConfig]):  # type: ignore[misc]
        """One row, known by its id."""

        @vf.reward  # type: ignore[untyped-decorator]
        async def row_reward(self, trace: Any) -> float:
            """Judge the reply."""
            return reward(_row(json.loads(self.data.judged)), trace.last_reply)["score"]

    class Rows(vf.Taskset[Task, vf.TasksetConfig]):  # type: ignore[misc]
        """The rows."""

        def load(self) -> Iterator[Task]:
            for row in islice(iter(source), rows):
                data = {"id": row["id"], "prompt": messages(row), "max_new_tokens": row["max_new_tokens"]}
                yield Task(Data(**data, judged=json.dumps(judged(row))), self.config.task)

    return Rows
