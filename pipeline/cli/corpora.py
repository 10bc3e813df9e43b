"""The commands for corpora of users' own: import and show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from pipeline.cli.group import cli
from pipeline.cli.places import DISK, PLACE
from pipeline.errors import PoolError
from pipeline.terminal.printing import say
from pipeline.worlds.corpora.imports import SHAPES, import_corpora
from pipeline.worlds.corpora.reading import Source, listed
from pipeline.worlds.corpora.records import Corpus
from pipeline.worlds.corpora.store import is_imported


@cli.group()
def corpus() -> None:
    """Import texts of your own, to build rows from with `carrara build RECIPE --corpus FILE`."""


@corpus.command("import")
@click.argument("shape", type=click.Choice(list(SHAPES)))
@click.argument("folder", metavar="DIR", type=DISK)
@click.option("--out", required=True, type=PLACE, help="Folder to write the corpora to.")
@click.option(
    "--leave-out", is_flag=True, help="Leave out what is faulty and say how much, instead of refusing it all."
)
@click.option(
    "--escape", is_flag=True, help="Insert a space into text that a chat template would read as its own markup."
)
@click.option(
    "--passages", "most", type=click.IntRange(1), default=100_000, show_default=True,
    help="Keep so many passages: those that questions name, and others drawn at random.",
)  # fmt: skip
def import_(*, shape: str, folder: Path, out: Path, leave_out: bool, escape: bool, most: int) -> None:
    """Read DIR and write each corpus in it as one Parquet file, frozen by its digest.

    helmet: HELMET's data (kilt, msmarco, alce); beir: corpus.jsonl, queries.jsonl, qrels; dpr: JSON with positive_ctxs
    or ctxs; documents: .txt files, or .jsonl with text; labelled: .jsonl or .csv with text and label.
    """
    source = Source(folder, leave_out, escape, most)
    for one in import_corpora(shape, source, out):
        say(f"{one.path}: {told(one.corpus)}")
    if source.faults:
        say(f"left out: {listed(source.faults)}")


@corpus.command("show")
@click.argument("file", type=PLACE)
def show_corpus(*, file: Path) -> None:
    """Print what the corpus FILE holds, and its digest."""
    if not file.is_file() or not is_imported(file):
        raise PoolError(f"{str(file)!r} is no corpus that `carrara corpus import` wrote")
    say(f"{file}: {told(Corpus.read(file))}")


NAMES = {"labelled": "labelled texts"}
"""What tables are called where their names do not say it."""


def told(found: Corpus) -> str:
    """Return what a corpus holds, in words, and its digest."""
    parts = [f"{len(some):,} {NAMES.get(name, name)}" for name, some in found.tables().items()]
    asked = [one for one in found.questions if one.answers and not one.shown]
    for count, times in sorted(Counter(len(one.gold) for one in asked).items()):
        parts.append(f"{times:,} to ask that need {count} passage{'s' * (count > 1)}")
    for count, times in sorted(Counter(len(one.answers) for one in asked if len(one.answers) > 1).items()):
        parts.append(f"{times:,} with {count} answers")
    if graded := [sum(grade > 0 for grade in one.grades) for one in found.questions if one.grades]:
        parts.append(f"{min(graded)} to {max(graded)} passages of a grade above 0 for each question")
    if labels := {one.label for one in found.labelled if one.shown}:
        parts.append(f"examples of {len(labels)} labels")
    if shown := sum(one.shown for one in found.questions):
        parts.append(f"{shown:,} for demonstrations")
    return f"{', '.join(parts)}; digest {found.digest}"
