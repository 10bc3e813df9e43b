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
from pipeline.rows import DATA_SCHEMA, KEY_NAMES, Row
from pipeline.store.parquet import read_rows
from pipeline.tasks import task_of
from pipeline.tasks.base import Sample
from pipeline.tasks.line_cache import PROMPT

SAMPLE = 16
"""One row in so many of a family, of which `build` counts the needles, and which the second counter counts where it is
slow or a quick one counts the others; `verify` counts all rows."""
QUICK_FROM = 6 << 20
"""Tokens of a build's rows from which on a quick counter saves more than it takes to open."""


class Witness:
    """Reads the rows of one shard and testifies to each; `start` is the place of the first one among its family's."""

    def __init__(self, plan: Plan, profile: Profile, *, full: bool, start: int = 0) -> None:
        self.plan, self.profile, self.full, self.start = plan, profile, full, start
        self.quick = None if full or _is_small(plan) else profile.quick_counter()
        self.second: Counter | None = profile.second()
        self.cells = {cell_place(cell): cell for cell in plan.recipe.strata}
        self.seen = self.solved = self.recounted = self.quick_recounted = 0
        self.tokens = self.prompt_tokens = self.most = 0
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
                faults += mark_faults(row, sample, self.plan, self.profile, count=self._sampled)
            if {name: row.get(name) for name in KEY_NAMES} != key:
                faults.append("its key differs from the one in the keys file")
            if faults:
                raise CorruptError(f"{str(data)!r}, row {row.get('id')!r}: {'; '.join(faults)}")
            self._tally(row)
            yield row
            PROMPT.clear()

    @property
    def _sampled(self) -> bool:
        """Whether the row that is read now is among those that are counted in full."""
        return self.full or not (self.start + self.seen) % SAMPLE

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
        task, roles = task_of(cell), [turn["role"] for turn in row["messages"] or ()] or ["user"]
        wanted = {
            "tier": cell.tier,
            "bucket": bucket(cell.length),
            "tokenizer": self.profile.name,
            "frame": self.plan.recipe.frame,
            "scorer": task.scorer_of(cell),
            "task_version": task.version,
            "context_tokens": self.profile.window(cell.length),
            "max_new_tokens": self.profile.reply_tokens(self.plan.recipe.reserve, task.max_new_tokens),
            "template_tokens": self.profile.overhead(roles, self.plan.recipe.frame),
            "shots": task.shots_of(cell),
        }
        for name, value in wanted.items():
            if row[name] != value:
                yield f"{name} is {row[name]!r} in place of {value!r}"

    def count_faults(self, row: Row) -> Iterator[str]:
        """Hold the row to the identity of tokens, counted in what is really sent by another encoder.

        What the quick one counts otherwise than the row says the second one decides. Where no second one reads the
        vocabulary, the counter that cut the row counts all of it once more: that is no recount, and not told as one.
        """
        counted = row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"]
        if counted != row["context_tokens"]:
            yield f"its parts add up to {counted} of {row['context_tokens']} context tokens"
        wanted = row["prompt_tokens"] + row["template_tokens"]
        if self.quick and not self._sampled and row["prompt"].isascii() and self._sent(row, self.quick) == wanted:
            self.recounted += 1
            self.quick_recounted += 1
        elif self._sampled or self.quick or not self.profile.second_is_slow:
            counter = self.second or self.profile.counter()
            if (sent := self._sent(row, counter)) != wanted:
                yield f"{counter.name} counts {sent} tokens sent in place of {wanted}"
            self.recounted += self.second is not None

    def _sent(self, row: Row, counter: Counter) -> int:
        return self.profile.sent_tokens(turns_of(row), self.plan.recipe.frame, counter)


def _is_small(plan: Plan) -> bool:
    """Tell whether so little is counted in a profile that opening one more counter takes longer."""
    return sum(cell.total * cell.length for cell in plan.recipe.strata) < QUICK_FROM
