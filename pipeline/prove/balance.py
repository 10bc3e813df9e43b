"""Is what is dealt dealt evenly? Proven over the rows of every block, of every subtask and length, and of a tier.

What a task deals (which attribute is asked, in which order people stand, which of several replies) it states by
`Task.dealt`. Within a block a kind may come once more than an even deal gives it: that is what a joint deal of
several things leaves to each. Over several blocks the kinds that get the rows left over must be drawn anew in each: a
chi-square of the totals, with the variance of such draws, is held to six standard deviations and a margin. What a task
writes for one row alone (`Task.own_texts`) no other row of the family may have.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from pipeline.assemble.jobs import samples_of
from pipeline.assemble.plan import Home, Plan
from pipeline.recipe import Stratum
from pipeline.tasks import task_of
from pipeline.tasks.base import Sample

DEVIATIONS, MARGIN = 6, 18
LEAST = 0.25
"""The variance that each block has at least: what a joint deal of several things may leave to one of them."""


@dataclass(frozen=True, slots=True)
class BalanceJob:
    """Looks whether the rows of a family were dealt evenly."""

    plan: Plan
    family: str

    @property
    def home(self) -> Home:
        """Jobs of one home need the same worlds."""
        return self.plan.home(self.family)

    def run(self) -> str:
        """Return the first fault: where, what, and the kind that comes too often, or the text that comes twice."""
        return next(balance_faults(samples_of(self.plan, self.family)), "")


def balance_jobs(plan: Plan) -> list[BalanceJob]:
    """Return what looks whether the rows of a plan's families were dealt evenly."""
    return [BalanceJob(plan, family) for family in plan.families]


def balance_faults(samples: Iterable[Sample]) -> Iterator[str]:
    """Yield where the samples of a family are not dealt evenly."""
    blocks: dict[tuple[Stratum, int, str, int], Counter[Hashable]] = defaultdict(Counter)
    rows: dict[str, Sample] = {}
    for sample in samples:
        for text in task_of(sample.stratum).own_texts(sample):
            if (other := rows.setdefault(text, sample)) is not sample:
                yield f"{_row(sample)} and {_row(other)}: both have the text {text[:60]!r}, written for one row"
        for name, (kind, kinds) in task_of(sample.stratum).dealt(sample).items():
            blocks[sample.stratum, sample.index // sample.stratum.rows, name, kinds][kind] += 1
    places: dict[tuple[str, int], list[Counter[Hashable]]] = defaultdict(list)
    for (cell, _, name, kinds), counts in blocks.items():
        if fault := _excess(counts, kinds):
            yield f"{cell}: {name}: {fault}"
        for place in (f"length {cell.length}", f"tier {cell.tier}"):
            places[f"{cell.family}.{cell.subtask} {place}: {name}", kinds].append(counts)
    for (place, kinds), parts in places.items():
        if fault := _drift(parts, kinds):
            yield f"{place}: {fault}"


def _row(sample: Sample) -> str:
    return f"{sample.stratum} row {sample.index}"


def _excess(counts: Counter[Hashable], kinds: int) -> str:
    """Tell of a kind that an even deal would give fewer rows of a block."""
    rows, even = counts.total(), -(-counts.total() // kinds)
    (kind, most), *_ = counts.most_common(1)
    return f"{most} of {rows} rows have {kind!r}, where an even deal gives {even}" if most > even + 1 else ""


def _drift(parts: Sequence[Counter[Hashable]], kinds: int) -> str:
    """Tell whether the same kinds get the rows that are left over, block after block."""
    total = sum(parts, Counter[Hashable]())
    even = total.total() / kinds
    over = [part.total() % kinds / kinds for part in parts]
    variance = sum(max(share * (1 - share), LEAST) for share in over)
    missing = (kinds - len(total)) * even**2
    found = (sum((count - even) ** 2 for count in total.values()) + missing) / variance
    limit = kinds + DEVIATIONS * sqrt(2 * kinds) + MARGIN
    if len(total) <= kinds and found <= limit:
        return ""
    (kind, most), *_ = total.most_common(1)
    said = f"chi-square {found:.0f}, at most {limit:.0f}"
    return f"{most} of {total.total()} rows have {kind!r}, where an even deal gives {even:.1f} ({said})"
