"""Commands that look at what is there: show, recipes."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.base import cli
from pipeline.errors import CarraraError
from pipeline.recipe import load_recipe, shipped_recipes
from pipeline.show import find_row, shown


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("row_id", metavar="ID")
@click.option("--tokenizer", help="Profile whose row is shown.  [default: the first in FOLDER]")
@click.option("--full", is_flag=True, help="Fold nothing.")
def show(*, folder: Path, row_id: str, tokenizer: str | None, full: bool) -> None:
    """Print the prompt ID of FOLDER for reading: needles marked, long filler folded, key and baselines below."""
    names = sorted(path.parent.name for path in folder.glob("*/data"))
    if not names:
        raise CarraraError(f"no build in {str(folder)!r}: give the folder that build wrote to, such as outputs/v1.0.0")
    click.echo(shown(find_row(folder, tokenizer or names[0], row_id), full=full))


@cli.command()
def recipes() -> None:
    """List the recipes that come with Carrara."""
    for name in shipped_recipes():
        loaded = load_recipe(name)
        rows = sum(cell.rows for cell in loaded.strata)
        tokens = sum(cell.rows * cell.length for cell in loaded.strata)
        click.echo(f"{name:<14} tier {loaded.tier:<5} {rows:>6,} rows  {tokens / 1e6:>7,.1f}M tokens a profile")
