"""The command that writes a split for other harnesses: export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.split import Selection
from pipeline.cli.group import cli
from pipeline.cli.options import PLACE, WHERE, missing, selecting, selection_of
from pipeline.export import EXPORTS, Export, export, export_of
from pipeline.publish.splits import open_any_split
from pipeline.terminal.printing import say
from pipeline.terminal.text import row_count, table


@cli.command("export")
@click.argument("harness", metavar="[HARNESS]", required=False)
@click.argument("where", metavar=f"[{WHERE}]", required=False)
@click.option("--out", type=PLACE, metavar="FOLDER", help="Folder to create.  [default: exports/<harness>-<tokenizer>]")
@selecting
@click.option(
    "--model", metavar="NAME", help="Model in openai-batch requests.  [default: the first of the tokenizer's profile]"
)
@click.option("--list", "listing", is_flag=True, help="List the harnesses and exit.")
def export_split(
    *, harness: str | None, where: str | None, out: Path | None, model: str | None, listing: bool, **chosen: Any
) -> None:
    """Write a split in the format that HARNESS reads, with a README that explains how to run it.

    SPLIT is the folder of one tokenizer, such as outputs/v3.0.0/o200k, or a published set, org/name@tag. Without
    arguments, the harnesses are listed.
    """
    if listing or harness is None:
        say(table([{"harness": each.name, "what is written": each.title} for each in EXPORTS.values()]))
        return
    chosen_export = export_of(harness, model)
    if where is None:
        raise missing(where=where)
    _write(chosen_export, where, out, selection_of(**chosen))


def _write(chosen: Export, where: str, out: Path | None, selection: Selection) -> None:
    """Write an export, and print what it contains and leaves out."""
    split = open_any_split(where, size=selection.size)
    folder = out or Path("exports") / f"{chosen.name}-{split.tokenizer}"
    written = export(chosen, split, selection, folder)
    say(f"{folder}: {row_count(written.rows)} of {split.title}; see {folder}/README.md for how to run {chosen.name}")
    for reason, ids in written.left_out.items():
        say(f"left out: {row_count(len(ids))} ({reason}); their ids are in {folder}/left_out.tsv")
