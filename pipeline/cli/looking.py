"""Commands that show what exists: show, chance, recipes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from pipeline.cli.group import cli
from pipeline.cli.plain import plain_chance
from pipeline.cli.records import chance_parts
from pipeline.cli.selecting import WHERE
from pipeline.cli.show import find_row, shown
from pipeline.errors import CarraraError, CorruptError, unknown
from pipeline.profiles.hub import safe_name
from pipeline.prove.chance import CHANCE_COLUMNS, chances
from pipeline.publish.opening import fetched
from pipeline.recipe import load_recipe, shipped_recipes
from pipeline.rows import Row, check_metadata
from pipeline.store.parquet import read_groups
from pipeline.store.split import Selection, Split, no_build, open_split
from pipeline.terminal.printing import say, say_styled
from pipeline.terminal.tables import table


@cli.command()
@click.argument("where", metavar=WHERE)
@click.argument("row_id", metavar="[ID]", required=False)
@click.option("--tokenizer", help="Profile to show the row for.  [default: the first in DIR]")
@click.option("--full", is_flag=True, help="Show the whole prompt, with no filler folded.")
def show(*, where: str, row_id: str | None, tokenizer: str | None, full: bool) -> None:
    """Print the prompt ID of a split, with needles marked, long filler folded, and the key and baselines below.

    DIR is a release folder or one tokenizer's folder in it. Without an ID, one id per stratum is listed.
    """
    folder = profile_folder(fetched(where), tokenizer)
    if row_id:
        say_styled(shown(find_row(folder, row_id), full=full))
        return
    say(table(list(first_rows(open_split(folder)))))
    say(f"carrara show {where} ID prints one of them", err=True)


def profile_folder(root: Path, tokenizer: str | None) -> Path:
    """Return the folder of a profile: `root` itself, or that of `tokenizer`, or of the first that was built, in it.

    Raises:
        CarraraError: if it holds none, or not that one.
    """
    if any((root / part).is_dir() for part in ("data", "keys")):
        if tokenizer not in (None, root.name):
            raise CarraraError(f"{str(root)!r} is one tokenizer's folder: leave out --tokenizer {tokenizer}")
        return root
    names = sorted(path.parent.name for path in root.glob("*/data"))
    if not names:
        raise CarraraError(no_build(root))
    if tokenizer and tokenizer not in names and safe_name(tokenizer) in names:  # a model's own name
        tokenizer = safe_name(tokenizer)
    if tokenizer and tokenizer not in names:
        raise CarraraError(unknown(f"tokenizer in {str(root)!r}:", tokenizer, names))
    return root / (tokenizer or names[0])


def first_rows(split: Split) -> Iterator[Row]:
    """Return the names of the first row of every stratum; where keys are withheld, strata have no complexity."""
    columns = ["family", "subtask", "length", "complexity", "id"]
    if (split.folder / "keys").is_dir():
        return split.key_rows(columns, Selection(limit=1))
    return split.rows([name for name in columns if name != "complexity"], Selection(limit=1))


@cli.command()
@click.argument("where", metavar=WHERE)
@click.option("--tokenizer", help="Profile to read the keys of.  [default: the first in DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def chance(*, where: str, tokenizer: str | None, as_json: bool) -> None:
    """Print what guessing would score on the rows of a split: chance and the other baselines in its keys.

    DIR is a release folder or one tokenizer's folder in it. For a recipe that has not been built, use
    `carrara plan --stats`.
    """
    folder = profile_folder(fetched(where), tokenizer)
    paths = sorted(folder.glob("keys/*/*/*.parquet"))
    if not paths:
        raise CarraraError(f"{str(folder)!r} has no keys: build it, or give a split whose keys are not withheld")
    try:
        found = chances(_keys(paths))
    except (ArithmeticError, LookupError, TypeError, ValueError) as fault:
        raise CorruptError(f"the keys in {str(folder)!r} are none of a split ({fault!r}): build it again") from fault
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


@cli.command()
def recipes() -> None:
    """List the recipes that come with Carrara."""
    for name in shipped_recipes():
        loaded = load_recipe(name)
        rows = sum(cell.total for cell in loaded.strata)
        tokens = sum(cell.total * cell.length for cell in loaded.strata)
        say(f"{name:<14} tier {loaded.tier:<5} {rows:>6,} rows  {tokens / 1e6:>7,.1f}M tokens a profile")
