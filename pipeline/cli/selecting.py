"""The options that choose a split and rows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from pipeline.cli.places import PLACE
from pipeline.store.split import Selection

WHERE = "DIR|URL|ORG/NAME@TAG"
STACK = click.option(
    "--stack", multiple=True, metavar=WHERE, help="Another split to score together with the first. Repeatable."
)
EXPORT = click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FOLDER",
    type=PLACE,
    help="Folder that was exported and run: rows that it leaves out are not missing. Repeatable.  "
    "[default: the one that PREDICTIONS are in]",
)
QUIRK = click.option(
    "--quirk",
    "quirks",
    multiple=True,
    metavar="mrcr=starts",
    help="Use another published rule of scoring (see docs/scores.md). Repeatable.",
)


def selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose rows; the command passes them to `selection_of`."""
    for option in reversed(
        [
            click.option("--family", "families", multiple=True, help="Only rows of this family. Repeatable."),
            click.option("--subtask", "subtasks", multiple=True, help="Only rows of this subtask. Repeatable."),
            click.option("--tier", "tiers", multiple=True, help="Only rows of this tier. Repeatable."),
            click.option("--length", "lengths", type=int, multiple=True, help="Only rows of this length. Repeatable."),
            click.option(
                "--complexity",
                "complexities",
                type=int,
                multiple=True,
                help="Only rows of this complexity. Repeatable.",
            ),
            click.option("--limit", type=click.IntRange(1), help="Only the first so many rows of each stratum."),
        ]
    ):
        command = option(command)
    return command


def selection_of(*, limit: int | None, **chosen: Sequence[Any]) -> Selection:
    """Return the selection that the options ask for."""
    return Selection(limit=limit, **{name: tuple(values) for name, values in chosen.items()})
