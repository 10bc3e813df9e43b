"""Adapters of training rows to trainers: datasets and TRL, verl, verifiers, reasoning-gym.

Rows are made on demand, and replies are scored by `reward` only. A trainer's package is imported only by the function
that needs it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.errors import ExportError, RecipeError
from pipeline.rows import Row
from pipeline.training.iterable import JUDGED, judged, messages
from pipeline.training.mixing import Curriculum, Mix, mix
from pipeline.training.reward import reward
from pipeline.training.stream import Stream, stream

Source = Stream | Mix
"""A source of rows."""


def _row(kept: Row) -> Row:
    """Return a row, as far as `reward` needs it, from what `judged` kept."""
    lists = {name: None if kept[name] is None else list(kept[name]) for name in ("answers", "choices", "evidence")}
    return {**kept, **lists, "prompt": kept["text"]}


def rewarder(source: Source | None = None, mode: str | None = None) -> Callable[..., list[float]]:
    """Return a reward function for TRL; if rows come from a mixture, it also reports rewards to it.

    Args:
        source: the source of the rows.
        mode: the mode of `reward`.
    """

    def carrara_reward(completions: Sequence[Any], **columns: Sequence[Any]) -> list[float]:
        """Return the rewards of replies, which are strings or lists of messages."""
        replies = [one if isinstance(one, str) else one[-1]["content"] for one in completions]
        rows = [_row({name: columns[name][at] for name in (*JUDGED, "text")}) for at in range(len(replies))]
        earned = [reward(row, reply, mode)["score"] for row, reply in zip(rows, replies, strict=True)]
        if isinstance(source, Mix):
            for row, score in zip(rows, earned, strict=True):
                source.report(row["id"], score)
        return earned

    return carrara_reward


def verl_line(row: Row, index: int) -> dict[str, Any]:
    """Return a row with the columns that verl reads."""
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
    """Return the reward of a reply, for verl: set ``reward.custom_reward_function.path`` to this file."""
    return reward(_row({**extra_info, "target": ground_truth}), solution_str)


class Drawn:
    """Rows of a mixture as verl indexes them: any index returns the next row, so that the mixture can adapt."""

    def __init__(self, source: Mix, rows: int) -> None:
        self._source, self._rows = source, rows

    def __len__(self) -> int:
        """Return the number of rows of a pass over the data."""
        return self._rows

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Return the next row."""
        return verl_line(next(self._source), index)


def told_mixture(path: str | Path) -> tuple[Mix, int]:
    """Return the mixture that a TOML file describes, and the number of rows of a pass.

    The file has a table ``tasks``, optionally ``curriculum`` and ``rows``, and further arguments of `mix`.

    Raises:
        RecipeError: if the file cannot be read, or has something that `mix` does not take.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        rows = int(table.pop("rows", 100_000))
        rule = Curriculum(**table.pop("curriculum")) if "curriculum" in table else None
        return mix(**table, curriculum=rule), rows
    except (OSError, ValueError, TypeError) as fault:
        raise RecipeError(f"{str(path)!r} describes no mixture ({fault}): give tasks, tokenizer, lengths") from None


def verl_dataset() -> type:
    """Return a data set class for verl, to be assigned to a name in the file of ``data.custom_cls``.

    A .toml file in ``data.train_files`` describes a mixture (`told_mixture`); other files, such as those for
    validation, are read as usual. Rows are drawn on demand (set ``data.dataloader_num_workers=0``), and after each
    batch the rewards of their replies are reported to the mixture.

    Raises:
        ExportError: if verl is not installed.
    """
    try:
        base: Any = import_module("verl.utils.dataset.rl_dataset").RLHFDataset
    except ImportError:
        raise ExportError("verl_dataset needs verl: pip install verl") from None

    class Rows(base):  # type: ignore[misc]
        """Rows of a mixture."""

        source: Mix | None = None

        def _read_files_and_tokenize(self) -> None:
            if not any(str(path).endswith(".toml") for path in self.data_files):
                super()._read_files_and_tokenize()
                return
            (path,) = self.data_files
            self.source, rows = told_mixture(path)
            self.dataframe = Drawn(self.source, rows)

        def on_batch_end(self, batch: Any) -> None:
            """Report the rewards of a batch."""
            if self.source is not None:
                earned = batch.batch["token_level_scores"].sum(-1).tolist()
                for extra, score in zip(batch.non_tensor_batch["extra_info"], earned, strict=True):
                    self.source.report(extra["id"], score)

    return Rows


def entry(row: Row) -> dict[str, Any]:
    """Return a row as an entry of reasoning-gym: question, answer and metadata."""
    place = {"source_dataset": f"carrara/{row['family']}.{row['subtask']}", "difficulty": row["complexity"]}
    return {"question": row["prompt"], "answer": row["target"], "metadata": {**place, **judged(row)}}


def score_answer(answer: str | None, entry: dict[str, Any]) -> float:
    """Return the reward of a reply to an entry."""
    return reward(_row(entry["metadata"]), answer, None)["score"] if isinstance(answer, str) else 0.0


@dataclass
class GymConfig:
    """The configuration of a reasoning-gym data set: a stream, and how many of its rows."""

    task: str = "bio.multihop"
    tokenizer: str = "o200k"
    length: int = 8192
    complexity: int | None = None
    ids: bool = True
    seed: int = 0
    size: int = 500

    def validate(self) -> None:
        """Check that the data set has rows."""
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
    """Return a taskset class for verifiers (v1) with the next rows of a source, scored by `reward`.

    Raises:
        ExportError: if verifiers is not installed.
    """
    try:
        vf: Any = import_module("verifiers.v1")
    except ImportError:
        raise ExportError("taskset needs verifiers: pip install verifiers") from None

    class Data(vf.TaskData):  # type: ignore[misc]
        """A row: its messages, its token limit, and the columns for `reward` as JSON."""

        max_new_tokens: int
        judged: str

    class Task(vf.Task[Data, vf.State, vf.TaskConfig]):  # type: ignore[misc]
        """One row."""

        @vf.reward  # type: ignore[untyped-decorator]
        async def row_reward(self, trace: Any) -> float:
            """Score the reply."""
            return reward(_row(json.loads(self.data.judged)), trace.last_reply)["score"]

    class Rows(vf.Taskset[Task, vf.TasksetConfig]):  # type: ignore[misc]
        """The rows."""

        def load(self) -> Iterator[Task]:
            for row in islice(iter(source), rows):
                data = {"id": row["id"], "prompt": messages(row), "max_new_tokens": row["max_new_tokens"]}
                yield Task(Data(**data, judged=json.dumps(judged(row))), self.config.task)

    return Rows
