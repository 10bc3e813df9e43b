"""The command for the scores of guessing, and for simulated readers: baselines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.parquet import read_groups
from pipeline.artifacts.split import Selection, Split
from pipeline.baselines import READERS, reader_of
from pipeline.baselines.files import Written, write_readings
from pipeline.cli.base import executor_opener
from pipeline.cli.group import cli
from pipeline.cli.options import PLACE, WHERE, selecting, selection_of
from pipeline.cli.show import profile_folder
from pipeline.cli.tables import chance_parts, plain_chance
from pipeline.errors import CarraraError, CorruptError, SplitError
from pipeline.publish.splits import fetched, open_any_split
from pipeline.rows import Row, check_metadata
from pipeline.terminal.printing import say
from pipeline.terminal.progress import meter
from pipeline.terminal.text import row_count, table
from pipeline.verify.statistics import CHANCE_COLUMNS, chances


@cli.command("baselines")
@click.argument("where", metavar=f"[{WHERE}]", required=False)
@click.option(
    "--tokenizer", metavar="NAME", help="Profile, if SPLIT is a release folder (without --out).  [default: its first]"
)
@click.option("--out", type=PLACE, metavar="FOLDER", help="Run the readers, and write a file for each to FOLDER.")
@click.option(
    "--reader", "names", multiple=True, metavar="NAME", help="Run only this reader. Repeatable.  [default: all]"
)
@selecting
@click.option("--list", "listing", is_flag=True, help="List the readers and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print the scores of guessing as JSON.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    default=os.cpu_count() or 1,
    show_default="all cores",
    help="Number of worker processes.",
)
@click.option("--quiet", is_flag=True, help="Do not show progress.")
def baselines(
    *,
    where: str | None,
    tokenizer: str | None,
    out: Path | None,
    names: Sequence[str],
    listing: bool,
    as_json: bool,
    workers: int,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Show what guessing scores on a split, or run simulated readers on it.

    Without --out, this prints the baselines in the split's keys: chance, the best constant reply, and each task's own
    guessers. For a recipe that is not built yet, use `carrara plan --stats`.

    With --out, simulated readers, most with stated weaknesses, answer the rows. A reader is a short function of the
    prompt and never sees a key. FOLDER gets one prediction file per reader, for `carrara score` and `carrara
    report`. Without arguments, the readers are listed.
    """
    readers = [reader_of(name).name for name in dict.fromkeys(names)] or list(READERS)
    selection = selection_of(**chosen)
    if listing or where is None:
        say(table([{"reader": one, "what it does": READERS[one].title} for one in readers]))
    elif out is not None:
        _run_readers(open_any_split(where, size=selection.size), selection, readers, out, workers, quiet=quiet)
    elif names or selection != Selection():
        raise SplitError("options that choose readers or rows need a folder to write to: add --out FOLDER")
    else:
        _print_chance(profile_folder(fetched(where), tokenizer), as_json=as_json)


def _run_readers(
    split: Split, selection: Selection, readers: Sequence[str], out: Path, workers: int, *, quiet: bool
) -> None:
    open_executor = executor_opener(workers, None, 0, split.folder)
    with meter("read", _tokens(split, selection), quiet=quiet) as shown:
        written = write_readings(
            split, selection, readers, out, open_executor, lambda done: shown.advance(len(done.rows), done.tokens)
        )
    for name, one in written.items():
        say(f"{one.path}: {row_count(one.rows)}{_left_out(name, one)}")


def _print_chance(folder: Path, *, as_json: bool) -> None:
    """Print the scores of guessing on the rows of a split.

    Raises:
        CarraraError: if the folder has no keys.
        CorruptError: if they cannot be read.
    """
    paths = sorted(folder.glob("keys/*/*/*.parquet"))
    if not paths:
        raise CarraraError(f"{str(folder)!r} has no keys: build it, or give a split whose keys are not withheld")
    try:
        found = chances(_keys(paths))
    except (ArithmeticError, LookupError, TypeError, ValueError) as fault:
        raise CorruptError(
            f"the keys in {str(folder)!r} are not those of a split ({fault!r}): build it again"
        ) from fault
    if as_json:
        say(json.dumps({"chance": plain_chance(found)}, indent=1))
        return
    say("\n\n".join(f"{title}\n{table(records)}" for title, records in chance_parts(found).items()))


def _keys(paths: Iterable[Path]) -> Iterator[Row]:
    for path in paths:
        for group in read_groups(path, CHANCE_COLUMNS):
            try:
                check_metadata(group)
            except ValueError as fault:
                raise CorruptError(f"{str(path)!r} cannot be read ({fault})") from None
            yield from group.to_pylist()


def _tokens(split: Split, selection: Selection) -> int:
    return sum(row["prompt_tokens"] for row in split.rows(["prompt_tokens"], selection))


def _left_out(name: str, one: Written) -> str:
    """Return a phrase about the rows that a reader left out, or an empty string."""
    if not one.left_out:
        return ""
    tasks = ", ".join(sorted(one.left_out))
    return f"; {row_count(one.left_out.total())} left out, whose questions give {name} nothing to go by: {tasks}"
