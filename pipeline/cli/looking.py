"""Commands that look at what is there: show, chance, recipes."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pipeline.cli.base import cli
from pipeline.errors import CarraraError
from pipeline.manifest import CHANCE_COLUMNS
from pipeline.recipe import load_recipe, shipped_recipes
from pipeline.shards import read_rows
from pipeline.show import find_row, shown
from pipeline.splits import Selection, open_split
from pipeline.stats import chances
from pipeline.tables import chance_parts, table


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("row_id", metavar="[ID]", required=False)
@click.option("--tokenizer", help="Profile whose row is shown.  [default: the first in FOLDER]")
@click.option("--full", is_flag=True, help="Fold nothing.")
def show(*, folder: Path, row_id: str | None, tokenizer: str | None, full: bool) -> None:
    """Print the prompt ID of FOLDER for reading: needles marked, long filler folded, key and baselines below.

    Without an ID: one id of every stratum.
    """
    profile = tokenizer or built_profile(folder)
    if row_id:
        click.echo(shown(find_row(folder, profile, row_id), full=full))
        return
    columns = ["family", "subtask", "length", "complexity", "id"]
    click.echo(table(list(open_split(folder / profile).key_rows(columns, Selection(limit=1)))))


def built_profile(folder: Path) -> str:
    """Return the first profile that a folder holds rows of.

    Raises:
        CarraraError: if it holds none.
    """
    names = sorted(path.parent.name for path in folder.glob("*/data"))
    if not names:
        raise CarraraError(f"no build in {str(folder)!r}: give the folder that build wrote to, such as outputs/v1.0.0")
    return names[0]


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--tokenizer", help="Profile whose keys are read.  [default: the first in FOLDER]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of tables.")
def chance(*, folder: Path, tokenizer: str | None, as_json: bool) -> None:
    """Print what guessers score on the rows of a build in FOLDER: the baselines of its keys.

    For a recipe that is not built yet see `carrara plan --stats`.
    """
    profile = tokenizer or built_profile(folder)
    paths = sorted(folder.glob(f"{profile}/keys/*/*/*.parquet"))
    if not paths:
        raise CarraraError(f"{str(folder)!r} holds no keys of profile {profile!r}: build it, or give another one")
    parts = chance_parts(chances(row for path in paths for row in read_rows(path, CHANCE_COLUMNS)))
    tables = (f"{title}\n{table(records)}" for title, records in parts.items())
    click.echo(json.dumps(parts, indent=1) if as_json else "\n\n".join(tables))


@cli.command()
def recipes() -> None:
    """List the recipes that come with Carrara."""
    for name in shipped_recipes():
        loaded = load_recipe(name)
        rows = sum(cell.rows for cell in loaded.strata)
        tokens = sum(cell.rows * cell.length for cell in loaded.strata)
        click.echo(f"{name:<14} tier {loaded.tier:<5} {rows:>6,} rows  {tokens / 1e6:>7,.1f}M tokens a profile")
