"""The command that runs simulated readers: readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.split import Selection, Split
from pipeline.baselines import READERS, reader_of
from pipeline.baselines.files import Written, write_readings
from pipeline.cli.base import open_engine
from pipeline.cli.group import cli
from pipeline.cli.options import PLACE, WHERE, selecting, selection_of
from pipeline.errors import SplitError
from pipeline.publish.splits import split_from
from pipeline.terminal.printing import say
from pipeline.terminal.progress import meter
from pipeline.terminal.text import row_count, table


@cli.command("readers")
@click.argument("where", metavar=WHERE, required=False)
@click.option("--out", type=PLACE, metavar="FOLDER", help="Folder to write to, with one file per reader.")
@click.option("--reader", "names", multiple=True, help="Run only this reader. Repeatable.  [default: all]")
@selecting
@click.option("--list", "listing", is_flag=True, help="List the readers and exit.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="all cores",
    help="Number of worker processes.",
)
@click.option("--quiet", is_flag=True, help="Do not show progress.")
def read_split(
    *,
    where: str | None,
    out: Path | None,
    names: Sequence[str],
    listing: bool,
    workers: int,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Let simulated readers, each with a stated weakness, answer the rows of a split.

    FOLDER gets one file of predictions per reader, for `carrara score` and `carrara report`. A reader is a short
    function of the text that is sent; none sees a key. Without arguments, or with --list, the readers are listed.
    """
    readers = [reader_of(name).name for name in dict.fromkeys(names)] or list(READERS)
    if listing or where is None:
        say(table([{"reader": one, "what it does": READERS[one].title} for one in readers]))
        return
    if out is None:
        raise SplitError("there is no folder to write to: give one, such as --out readings")
    split, selection = split_from(where), selection_of(**chosen)
    engine = open_engine(workers, None, 0, split.folder)
    with meter("read", _tokens(split, selection), quiet=quiet) as shown:
        written = write_readings(
            split, selection, readers, out, engine, lambda done: shown.advance(len(done.rows), done.tokens)
        )
    for name, one in written.items():
        say(f"{one.path}: {row_count(one.rows)}{_left_out(name, one)}")


def _tokens(split: Split, selection: Selection) -> int:
    return sum(row["prompt_tokens"] for row in split.rows(["prompt_tokens"], selection))


def _left_out(name: str, one: Written) -> str:
    """Say which rows a reader left out."""
    if not one.left_out:
        return ""
    tasks = ", ".join(sorted(one.left_out))
    return f"; {row_count(one.left_out.total())} left out, whose questions give {name} nothing to go by: {tasks}"
