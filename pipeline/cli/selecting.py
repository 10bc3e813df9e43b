"""Which split, and which rows of it, a command is to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.errors import SplitError
from pipeline.publish.hub import download, parse_repo
from pipeline.store.split import Selection, Split, open_split

WHERE = "DIR|ORG/NAME@TAG"


def split_from(where: str, patterns: Sequence[str] | None = None) -> Split:
    """Open a split in a folder, or a published one, of which files that match are fetched.

    Raises:
        SplitError: if there is no sealed split.
        HubError: if it cannot be fetched.
    """
    return open_split(fetched(where, patterns))


def fetched(where: str, patterns: Sequence[str] | None = None) -> Path:
    """Return the folder of a split: `where` itself, or where ``org/name@tag`` was downloaded to.

    Raises:
        SplitError: if there is no such folder, and it is no name of a data set with a tag.
        HubError: if the Hub refuses, or its client is not installed.
    """
    if Path(where).is_dir():
        return Path(where)
    if "@" not in where:
        raise SplitError(f"no folder {where!r}: give one, or a data set with its tag, as in org/name@v1.0.0")
    return download(*parse_repo(where), patterns=patterns)


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
