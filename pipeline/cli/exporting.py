"""The command that gives a frozen split to other harnesses: export."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.base import cli
from pipeline.cli.sources import split_at
from pipeline.errors import ExportError
from pipeline.exports import EXPORTS, export, export_of
from pipeline.recipe import TIERS
from pipeline.splits import Selection
from pipeline.tables import table


@cli.command("export")
@click.argument("harness", required=False)
@click.argument("where", metavar="DIR|ORG/NAME@TAG", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="New folder.  [default: exports/<harness>-<tokenizer>]")
@click.option("--family", "families", multiple=True, help="Only this family; may be repeated.")
@click.option("--subtask", "subtasks", multiple=True, help="Only this subtask; may be repeated.")
@click.option("--tier", "tiers", multiple=True, type=click.Choice(list(TIERS)), help="Only this tier; may be repeated.")
@click.option("--length", "lengths", multiple=True, type=int, help="Only this length in tokens; may be repeated.")
@click.option("--complexity", "complexities", multiple=True, type=int, help="Only this complexity; may be repeated.")
@click.option("--limit", type=click.IntRange(1), help="Most rows of one stratum.")
@click.option("--list", "listing", is_flag=True, help="List the harnesses.")
def export_split(
    *,
    harness: str | None,
    where: str | None,
    out: Path | None,
    families: tuple[str, ...],
    subtasks: tuple[str, ...],
    tiers: tuple[str, ...],
    lengths: tuple[int, ...],
    complexities: tuple[int, ...],
    limit: int | None,
    listing: bool,
) -> None:
    """Write a split in the shape that HARNESS reads, with a README that says how to run it.

    DIR is one tokenizer's folder of a build, as outputs/v1.0.0/o200k; ORG/NAME@TAG a published data set. Without
    arguments, or with --list, the harnesses are listed.
    """
    if listing or harness is None:
        click.echo(table([{"harness": each.name, "what is written": each.title} for each in EXPORTS.values()]))
        return
    chosen = export_of(harness)
    if where is None:
        raise ExportError("export what? give a tokenizer's folder of a build, as outputs/v1.0.0/o200k, or org/name@tag")
    split = split_at(where)
    folder = out or Path("exports") / f"{chosen.name}-{split.tokenizer}"
    wanted = Selection(families, subtasks, tiers, lengths, complexities, limit)
    written = export(chosen, split, wanted, folder)
    click.echo(
        f"{folder}: {written.rows:,} rows of {split.title}; how to run them in {chosen.name}: {folder}/README.md"
    )
    for reason, ids in written.left_out.items():
        click.echo(f"left out: {len(ids)} rows ({reason}); their ids: {folder}/left_out.tsv")
