"""A witness reads the rows of one shard and testifies to each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.assemble.cutting import bucket
from pipeline.assemble.plan import Plan
from pipeline.errors import CorruptError
from pipeline.profiles import Counter, Profile
from pipeline.prove.needles import mark_faults
from pipeline.prove.row import answer_faults, cell_place, sample_faults, turns_of
from pipeline.recipe import Stratum
from pipeline.rows import DATA_SCHEMA, KEYS_SCHEMA, Row
from pipeline.store.parquet import read_rows
from pipeline.tasks import task_of
from pipeline.tasks.base import Sample
from pipeline.tasks.line_cache import PROMPT

SLOW_SAMPLE = 16
"""One row in so many, of which `build` counts the needles, and all of it where the second counter is slow; `verify`
counts all."""


class Witness:
    """Reads the rows of one shard and testifies to each."""

    def __init__(self, plan: Plan, profile: Profile, *, full: bool) -> None:
        self.plan, self.profile, self.full = plan, profile, full
        self.second: Counter | None = profile.second()
        self.cells = {cell_place(cell): cell for cell in plan.recipe.strata}
        self.seen = self.solved = self.recounted = self.tokens = self.prompt_tokens = self.most = 0
        self.fewest = 1 << 62

    def rows(self, data: Path, keys: Path, samples: Iterator[Sample]) -> Iterator[Row]:
        """Yield every row of a shard, proven.

        Raises:
            CorruptError: naming the row and what is wrong with it.
        """
        for row, key in zip(read_rows(data), read_rows(keys), strict=True):
            sample = next(samples, None)
            faults = [*self.faults(row), *sample_faults(row, sample)]
            if sample and not faults:
                count = self.full or not self.seen % SLOW_SAMPLE
                faults += mark_faults(row, sample, self.plan, self.profile, count=count)
            if {name: row.get(name) for name in KEYS_SCHEMA.names} != key:
                faults.append("its key differs from the one in the keys file")
            if faults:
                raise CorruptError(f"{str(data)!r}, row {row.get('id')!r}: {'; '.join(faults)}")
            self._tally(row)
            yield row
            PROMPT.clear()

    def _tally(self, row: Row) -> None:
        self.seen += 1
        self.solved += task_of(self._cell(row)).proof == "solved"
        self.tokens += row["context_tokens"]
        self.prompt_tokens += row["prompt_tokens"]
        self.fewest, self.most = min(self.fewest, row["context_tokens"]), max(self.most, row["context_tokens"])

    def faults(self, row: Row) -> list[str]:
        """Return everything that is wrong with a row."""
        if list(row) != DATA_SCHEMA.names:
            return [f"its columns are {list(row)}"]
        try:
            cell = self._cell(row)
        except KeyError:
            return ["its stratum is not in the recipe"]
        return [*self.label_faults(row, cell), *self.count_faults(row), *answer_faults(row, cell)]

    def _cell(self, row: Row) -> Stratum:
        return self.cells[row["family"], row["subtask"], row["length"], row["complexity"]]

    def label_faults(self, row: Row, cell: Stratum) -> Iterator[str]:
        """Hold the columns that a row's stratum and profile decide to what they should be."""
        task = task_of(cell)
        wanted = {
            "tier": cell.tier,
            "bucket": bucket(cell.length),
            "tokenizer": self.profile.name,
            "frame": self.plan.recipe.frame,
            "scorer": task.scorer_of(cell),
            "task_version": task.version,
            "context_tokens": self.profile.window(cell.length),
            "max_new_tokens": self.profile.reply_tokens(self.plan.recipe.reserve, task.max_new_tokens),
            "template_tokens": self.profile.overhead([role for role, _ in turns_of(row)], self.plan.recipe.frame),
            "shots": task.shots_of(cell),
        }
        for name, value in wanted.items():
            if row[name] != value:
                yield f"{name} is {row[name]!r} in place of {value!r}"

    def count_faults(self, row: Row) -> Iterator[str]:
        """Hold the row to the identity of tokens, counted in what is really sent by the second encoder."""
        counted = row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"]
        if counted != row["context_tokens"]:
            yield f"its parts add up to {counted} of {row['context_tokens']} context tokens"
        slow = self.profile.second_is_slow and not self.full
        if slow and self.seen % SLOW_SAMPLE:
            return
        counter = self.second or self.profile.counter()
        wanted = row["prompt_tokens"] + row["template_tokens"]
        sent = self.profile.sent_tokens(turns_of(row), self.plan.recipe.frame, counter)
        if sent != wanted:
            yield f"{counter.name} counts {sent} tokens sent in place of {wanted}"
        self.recounted += self.second is not None
