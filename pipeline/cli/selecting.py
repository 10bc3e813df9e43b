"""Which split, and which rows of it, a command is to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from pipeline.store.split import Selection

WHERE = "DIR|ORG/NAME@TAG"


def selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose rows; the command gets what `selection_of` takes."""
    for option in reversed(
        [
            click.option("--family", "families", multiple=True, help="Only this family; may be repeated."),
            click.option("--subtask", "subtasks", multiple=True, help="Only this subtask; may be repeated."),
            click.option("--tier", "tiers", multiple=True, help="Only this tier; may be repeated."),
            click.option("--length", "lengths", type=int, multiple=True, help="Only this length; may be repeated."),
            click.option("--complexity", "complexities", type=int, multiple=True, help="Only this; may be repeated."),
            click.option("--limit", type=click.IntRange(1), help="Only so many rows of each stratum, the first."),
        ]
    ):
        command = option(command)
    return command


def selection_of(*, limit: int | None, **chosen: Sequence[Any]) -> Selection:
    """Return the selection that the options ask for."""
    return Selection(limit=limit, **{name: tuple(values) for name, values in chosen.items()})
