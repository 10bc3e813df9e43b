"""The costs of a run: rows, tokens of prompts and replies, and time and money at rates that a user gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from pipeline.cli.options import Number
from pipeline.terminal.text import table

CHARACTERS = 4
"""Approximate characters of English text per token."""


@dataclass(slots=True)
class Cost:
    """The cost of some rows, in tokens.

    Attributes:
        rows: the number of rows.
        prompt: tokens of their prompts, including the chat template.
        most: the most tokens that their replies may have.
        expected: tokens of replies as long as the reference answers; None if these are not known.
    """

    rows: int = 0
    prompt: int = 0
    most: int = 0
    expected: float | None = 0.0

    def add(self, rows: int, prompt: int, most: int, expected: float | None) -> None:
        """Add a number of rows, with the tokens of each row."""
        self.rows += rows
        self.prompt += rows * prompt
        self.most += rows * most
        if self.expected is not None and expected is not None:
            self.expected += rows * min(most, expected)
        else:
            self.expected = None


def reply_tokens(target: str) -> float:
    """Return the approximate tokens of a reply that is just the reference answer."""
    return 1 + len(target) / CHARACTERS


@dataclass(frozen=True, slots=True)
class Rates:
    """A server's tokens per second, prompts and replies together, and prices in dollars per million tokens."""

    speed: float | None = None
    price_in: float | None = None
    price_out: float | None = None


def rate_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the fields of `Rates`."""
    for option in reversed(
        [
            click.option(
                "--tokens-per-second", "speed", type=Number(0, min_open=True), metavar="N",
                help="Throughput of your server, prompt and reply tokens together, to show how long a run takes.",
            ),
            click.option(
                "--input-price", "price_in", type=Number(0), metavar="DOLLARS",
                help="Price of a million prompt tokens, to show what a run costs.",
            ),
            click.option(
                "--output-price", "price_out", type=Number(0), metavar="DOLLARS",
                help="Price of a million reply tokens.",
            ),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


@dataclass(slots=True)
class Costs:
    """Costs by name, such as by length, in the order in which they were added."""

    by: str
    parts: dict[str, Cost] = field(default_factory=dict)

    def of(self, name: str) -> Cost:
        """Return the cost under a name, starting from zero."""
        return self.parts.setdefault(name, Cost())

    @property
    def total(self) -> Cost:
        """The sum of all costs."""
        parts = self.parts.values()
        known = [each.expected for each in parts if each.expected is not None]
        return Cost(
            sum(each.rows for each in parts),
            sum(each.prompt for each in parts),
            sum(each.most for each in parts),
            sum(known) if len(known) == len(parts) else None,
        )


def cost_lines(costs: Costs, rates: Rates, *, total: bool) -> Iterator[str]:
    """Yield the lines of a table of costs, and below it what its figures mean.

    Args:
        costs: the costs.
        rates: rates that add a column for time or money.
        total: whether to add a line with the sum.
    """
    parts = {**costs.parts, **({"all": costs.total} if total and len(costs.parts) > 1 else {})}
    yield table([{costs.by: name, **_record(cost, rates)} for name, cost in parts.items()])
    yield ""
    if costs.total.expected is None:
        yield "A reply has at most max_new_tokens tokens; most are far shorter."
    else:
        yield "reply: about as many tokens as the reference answers have. Models that explain"
        yield "or think write more, up to max_new_tokens (column 'at most')."
    if rates == Rates():
        yield "Add --tokens-per-second, --input-price and --output-price to see time and money."


def _record(cost: Cost, rates: Rates) -> Mapping[str, Any]:
    reply = {} if cost.expected is None else {"reply": round(cost.expected)}
    return {
        "rows": cost.rows,
        "prompt tokens": cost.prompt,
        **reply,
        "at most": cost.most,
        **({"time": duration((cost.prompt + _reply(cost)) / rates.speed)} if rates.speed else {}),
        **({"cost": _range(_money(cost, rates))} if rates.price_in is not None or rates.price_out is not None else {}),
    }


def _reply(cost: Cost) -> float:
    return cost.most if cost.expected is None else cost.expected


def _money(cost: Cost, rates: Rates) -> list[str]:
    """Return the price in dollars with the expected replies, and with the longest."""
    return [
        f"${(cost.prompt * (rates.price_in or 0) + reply * (rates.price_out or 0)) / 1e6:,.2f}"
        for reply in (_reply(cost), cost.most)
    ]


def _range(ends: Iterable[str]) -> str:
    return " to ".join(dict.fromkeys(ends))


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(42), duration(150), duration(9000), duration(400_000)
    ('42 s', '2.5 min', '2.5 h', '4.6 days')
    """
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 72)):
        if seconds < most * size:
            return f"{seconds / size:.{0 if unit == 's' else 1}f} {unit}"
    return f"{seconds / 86400:,.1f} days"
