"""longqa.state in several languages: who owned a plot on a day, from a register of sales.

Sales are cancelled and reinstated by number, so that the entries that decide name neither the plot nor a buyer. Needed
are the owner's sale, its last reinstatement if it was ever cancelled, and the last cancellation of each later sale:
without any one of them somebody else is the owner. A plot whose code differs in one digit has as long a history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pipeline.caches import lru_cache
from pipeline.languages import Language, digest, language
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    Plain,
    PoolSpec,
    PublishedRow,
    Role,
    Sample,
    depths,
    history_depths,
)
from pipeline.tasks.ledgers import OfRegister
from pipeline.tasks.lines import Dealer
from pipeline.tasks.longqa import register_solve
from pipeline.tasks.longqa.state import State
from pipeline.worlds import needles
from pipeline.worlds.plots import PER_PLOT, WORLD, Entry, Plots, day_of, depth_of, draw_plots, numbered, plots

ROWS = 256
"""How many rows' draws are cached."""
NEEDED = {1: (1,), 5: tuple(range(3, 10)), 20: tuple(range(17, 24))}
"""Numbers of needed entries by complexity."""
ARGUMENTS, MOST = ("reinstated", "again", "changed"), (True, True, True, True, False)
"""The arguments of `history` after `needed`, and what is dealt for each."""
EARLIER, OWNERS, LATER, LATER_AGAIN = (0, 0, 1, 1, 2, 3, 4), (2, 4), (1, 1, 3), (3, 5)
"""How often sales before the owner's, the owner's if ever, and sales after it are cancelled or reinstated."""
SPARES = 64
"""First sales that close the last gap. More than usual, as their numbers of tokens differ little."""
USABLE = 0.97
"""The share of the register in which needed entries may be."""


class Step(NamedTuple):
    """Change number `change` of a sale: 0 for the sale itself, odd for a cancellation, even for a reinstatement."""

    sale: int
    change: int


class History(NamedTuple):
    """The steps of a plot in order, how many of them are until the day, and those that are needed.

    Sales are numbered in order.
    """

    steps: Sequence[Step]
    until: int
    needed: frozenset[Step]

    @property
    def owner(self) -> int:
        """The sale of the owner on the day."""
        return min(self.needed).sale

    def guesses(self) -> dict[str, float]:
        """Return the scores of guessers that know the plot's entries, such as the latest sale that was never cancelled.

        ``next_steps`` reads at most two changes of each sale, and ``any_day`` also those after the day.
        """
        until = {step.sale: step.change for step in self.steps[: self.until]}
        in_all = {step.sale: step.change for step in self.steps}

        def latest(stands: Callable[[int], bool]) -> float:
            return float(max((sale for sale in until if stands(sale)), default=-1) == self.owner)

        return {
            "uniform": 1 / len(in_all),
            "last_before": latest(lambda sale: True),
            "last_named": float(self.steps[self.until - 1].sale == self.owner),
            "never_cancelled": latest(lambda sale: not until[sale]),
            "next_steps": latest(lambda sale: min(until[sale], 2) % 2 == 0),
            "any_day": latest(lambda sale: in_all[sale] % 2 == 0),
        }


def history(rng: Random, needed: int, *, reinstated: bool, again: bool, changed: bool) -> History:
    """Draw a history.

    Args:
        rng: the generator.
        needed: how many steps are needed.
        reinstated: whether the owner's sale is cancelled and reinstated.
        again: whether a later sale is reinstated before its last cancellation.
        changed: whether an entry after the day would change the owner.
    """
    owner, reinstated = rng.randrange(2, 6), reinstated and needed > 1
    later = needed - 1 - reinstated
    changes = [rng.choice(EARLIER) for _ in range(owner)] + [rng.choice(OWNERS) if reinstated else 0]
    changes += [rng.choice(LATER) if again else 1 for _ in range(later)]
    if again and later:
        changes[-1 - rng.randrange(later)] = rng.choice(LATER_AGAIN)
    wanted = {Step(owner, 0), *(Step(sale, changes[sale]) for sale in range(owner, len(changes)))}
    timed = list[tuple[float, Step]]()
    for sale, sold in enumerate(sorted(rng.random() for _ in changes)):
        time = sold
        for change in range(changes[sale] + 1):
            timed.append((time, Step(sale, change)))
            time = rng.uniform(time, (time + 1) / 2)
    until = len(timed)
    for sale, sold in enumerate(sorted(rng.uniform(1, 2) for _ in range(rng.randrange(1, 4))), start=len(changes)):
        timed.append((sold, Step(sale, 0)))
    if changed:
        sale = rng.randrange(owner, len(changes))
        timed.append((rng.uniform(1, 2), Step(sale, changes[sale] + 1)))
    return History([step for _, step in sorted(timed)], until, frozenset(wanted))


class Drawn(NamedTuple):
    """What a row asks: a plot, a day, the owner and the history; and all entries of the row in order, with roles."""

    plot: str
    day: date
    owner: str
    history: History
    entries: Sequence[tuple[Entry, Role]]
    dealt: Mapping[str, tuple[int, int]]


class OwnerInRegister(OfRegister):
    """The owner of a plot on a day. `complexity` is roughly the number of needed entries."""

    family = "longqa"
    title = "who owned a plot on a day, after sales that are cancelled and reinstated"
    scorer = "plain"
    complexities = State.complexities
    shortest = 16384
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({})
    openings = ("sales", "sales_rule")

    def __init__(self, text: str, asked: str) -> None:
        """Set the languages of the register and of the question."""
        super().__init__(State(), text, asked)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        source = f"{WORLD}:{needles.source_digest()}:{digest(self.languages[0])}"
        return (PoolSpec(f"plots-{self.languages[0]}-{stratum.tier}", 1, stratum.tier, source, make_entries),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        drawn = draw(stratum, index, row_streams, stratum_streams)
        latent = {
            "plot": drawn.plot,
            "numbers": [one.number for one, _ in drawn.entries],
            "steps": [list(step) for step in drawn.history.steps],
            "effective_complexity": len(drawn.history.needed),
            "dealt": {thing: list(dealt) for thing, dealt in drawn.dealt.items()},
            "guesses": drawn.history.guesses(),
        }
        relevant = tuple(line(self._text, one) for one, role in drawn.entries if role == "relevant")
        question = self._asked.sentence("asks_owner", code=drawn.plot, day=drawn.day)
        return Sample("", stratum, index, latent, relevant, question, Key.accepting(drawn.owner))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        stratum = sample.stratum
        drawn, known = draw(stratum, sample.index, row_streams, stratum_streams), plots(row_streams, stratum.tier)
        count = len(known.codes)
        order = Shuffled(row_streams.of("filler"), count).take(count)
        spares, order = order[:SPARES] * PER_PLOT, order[SPARES:]
        units = (order[:, None] * PER_PLOT + np.arange(PER_PLOT)).ravel()
        head = self.text_before() + self._asked.heading(self._asked.heads.register)
        tail = self.text_after(self._asked.sentence("reply_one"), sample.question)
        return Layout(
            head=(Piece(head, "instruction"),),
            placed=tuple(
                Placed.line(line(self._text, one), role, depth_of(one.number), at=one.number)
                for one, role in drawn.entries
            ),
            filler=Filler(self.pools(stratum)[0].name, Given(units), spares, policy="ranked", ranks=known.numbers),
            tail=(Piece(tail, "question"),),
        )

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        return {"units": len(units) + len(sample.latent["numbers"])}

    def answers(self, text: str) -> tuple[str, ...]:
        return (register_solve.owner(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return register_solve.faults(row, NEEDED[row.stratum.complexity])


def line(known: Language, one: Entry) -> str:
    """Return an entry in a language, with its newline."""
    names = known.records
    changed = names.reinstates if one.reinstates else names.cancels
    stated = (f"{names.plot} {one.plot}", f"{names.buyer} {one.buyer}") if one.plot else (f"{changed} {one.sale}",)
    return known.entry(f"{names.entry} {one.number}", known.joint.join([f"{names.date} {one.day}", *stated]))


def make_entries(streams: Streams, spec: PoolSpec) -> Plain:
    """Write a tier's register, plot by plot."""
    known = language(spec.name.split("-")[1])
    return Plain(line(known, one) for one in plots(streams, spec.tier).entries())


@lru_cache(maxsize=ROWS)
def draw(stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Drawn:
    """Draw a plot with its history, and another plot with one of its own; the rows of a shard are cached."""
    dealer, rng = Dealer(stratum, index, row_streams, stratum_streams), row_streams.of("history")
    known, some = plots(row_streams, stratum.tier), NEEDED[stratum.complexity]
    own = history(rng, dealer.deal("needed", some), **{each: dealer.deal(each, MOST) for each in ARGUMENTS})
    twin = history(rng, rng.choice(some), **{each: rng.choice(MOST) for each in ARGUMENTS})
    wanted = depths(stratum_streams, row_streams, stratum.rows, index, len(own.needed))
    both = (own, wanted), (twin, [rng.random() for _ in twin.needed])
    codes = draw_plots(row_streams, rng, known)
    while True:
        numbers = placed(known, rng, both)
        first, last = (day_of(numbers[0, own.steps[at]]) for at in (own.until - 1, own.until))
        if (days := (last - first).days) > 1:
            break
    buyers = dict(zip(numbers, rng.sample(known.buyers, len(numbers)), strict=True))
    entries = list[tuple[Entry, Role]]()
    for (turn, step), number in numbers.items():
        entry = Entry(number, codes[turn], buyers[turn, step])
        if step.change:
            entry = Entry(number, sale=numbers[turn, Step(step.sale, 0)], reinstates=step.change % 2 == 0)
        entries.append((entry, "decoy" if turn or step not in own.needed else "relevant"))
    day = first + timedelta(rng.randrange(1, days))
    return Drawn(codes[0], day, buyers[0, Step(own.owner, 0)], own, entries, dealer.dealt)


def placed(known: Plots, rng: Random, both: Iterable[tuple[History, Sequence[float]]]) -> dict[tuple[int, Step], int]:
    """Return the numbers of all steps in order, from two histories, each with the depths of its needed steps."""
    deep = list[tuple[float, int, Step]]()
    for turn, (past, wanted) in enumerate(both):
        roles: list[Role] = ["relevant" if step in past.needed else "decoy" for step in past.steps]
        found = history_depths(rng, roles, sorted(USABLE * each for each in wanted))
        deep += ((depth, turn, step) for depth, step in zip(found, past.steps, strict=True))
    deep.sort()
    numbers = numbered(known, [depth for depth, _, _ in deep])
    return {(turn, step): number for (_, turn, step), number in zip(deep, numbers, strict=True)}
