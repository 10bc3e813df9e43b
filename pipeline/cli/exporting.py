"""The command that gives a frozen split to other harnesses: export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pipeline.cli.group import cli
from pipeline.cli.selecting import WHERE, selecting, selection_of
from pipeline.errors import ExportError
from pipeline.export import EXPORTS, Export, export, export_of
from pipeline.publish.opening import split_from
from pipeline.store.split import Selection
from pipeline.tables import row_count, table


@cli.command("export")
@click.argument("harness", required=False)
@click.argument("where", metavar=WHERE, required=False)
@click.option("--out", type=click.Path(path_type=Path), help="New folder.  [default: exports/<harness>-<tokenizer>]")
@selecting
@click.option(
    "--model", help="Model to ask for in openai-batch.  [default: the first that the tokenizer's profile names]"
)
@click.option("--list", "listing", is_flag=True, help="List the harnesses.")
def export_split(
    *, harness: str | None, where: str | None, out: Path | None, model: str | None, listing: bool, **chosen: Any
) -> None:
    """Write a split in the shape that HARNESS reads, with a README that says how to run it.

    DIR is one tokenizer's folder of a build, as outputs/v1.0.0/o200k; ORG/NAME@TAG a published data set. Without
    arguments, or with --list, the harnesses are listed.
    """
    if listing or harness is None:
        click.echo(table([{"harness": each.name, "what is written": each.title} for each in EXPORTS.values()]))
        return
    chosen_export = export_of(harness, model)
    if where is None:
        raise ExportError("export what? give a tokenizer's folder of a build, as outputs/v1.0.0/o200k, or org/name@tag")
    _write(chosen_export, where, out, selection_of(**chosen))


def _write(chosen: Export, where: str, out: Path | None, selection: Selection) -> None:
    """Write an export, and say what it holds and what it leaves out."""
    split = split_from(where)
    folder = out or Path("exports") / f"{chosen.name}-{split.tokenizer}"
    written = export(chosen, split, selection, folder)
    click.echo(
        f"{folder}: {row_count(written.rows)} of {split.title}; {folder}/README.md says how to run {chosen.name}"
    )
    for reason, ids in written.left_out.items():
        click.echo(f"left out: {row_count(len(ids))} ({reason}); their ids are in {folder}/left_out.tsv")
