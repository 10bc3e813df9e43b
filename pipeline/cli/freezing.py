"""Commands for splits that must not change: freeze, extend, recut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.cli.base import open_stages, profile_names, run_options
from pipeline.cli.group import cli
from pipeline.errors import RecipeError
from pipeline.frozen.lock import LOCK_NAME
from pipeline.recipe import SIZES, load_recipe
from pipeline.release.extend import extend as extended
from pipeline.release.extend import open_extension
from pipeline.release.freeze import freeze as frozen
from pipeline.release.recut import SEED_BITS, file_name, new_seed, next_major, recipes_in, write_recipes
from pipeline.release.recut import recut as again


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--lock", "copy", type=click.Path(path_type=Path), help="Keep the lock here too, as beside your recipe.")
def freeze(*, folder: Path, copy: Path | None) -> None:
    """Freeze the release in FOLDER: write its lock, after which nothing else can be built into it.

    All that is built must be sealed; every byte is read again. The lock has the recipes with their seed, and digests
    of all that the rows are made of and of the rows. A version that is too low for what changed since an older lock (in
    FOLDER, in the folders beside it, or of --lock) is refused.
    """
    lock, new = frozen(folder, copy)
    shards = sum(len(split.shards) for profile in lock.profiles.values() for split in profile.tiers.values())
    said = "frozen" if new else "frozen already, and unchanged"
    click.echo(
        f"{lock.title} is {said}: tiers {', '.join(lock.tiers)}, profiles {', '.join(lock.profiles)}, {shards} shards; "
        f"lock in {folder / LOCK_NAME}{f' and {copy}' if copy else ''}"
    )


@cli.command()
@click.argument("source", type=click.Path(path_type=Path), metavar="FOLDER|LOCK")
@click.option("--tokenizer", "tokenizers", multiple=True, help="Profile to add; may be repeated.")
@click.option("--recipe", "recipes", multiple=True, help="Recipe of a new tier, or of a frozen one with new strata.")
@click.option("--size", type=click.Choice(SIZES), help="Full: all rows of the full size.  [default: as frozen]")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of the new version.  [default: beside the frozen one]"
)
@run_options
def extend(
    *,
    source: Path,
    tokenizers: Sequence[str],
    recipes: Sequence[str],
    size: str | None,
    out: Path | None,
    **how: Any,
) -> None:
    """Add profiles, tiers, strata or rows to what is frozen, as its next minor version, and freeze that.

    Ids, questions, relevant texts and keys stay those that are frozen. The frozen folder stays as it is: its files
    enter the new one as links. To a lock alone profiles can be added.
    """
    if how["part"] != "1/1":
        raise RecipeError(f"--part {how['part']} does not go with extend: a version is frozen whole")
    names = profile_names(tokenizers) if tokenizers else ()
    extension = open_extension(source, out, names, [load_recipe(name) for name in recipes], size)
    lock = extended(extension, lambda plan: open_stages(plan, **how))
    click.echo(
        f"{lock.title} is frozen in {extension.out}: tiers {', '.join(lock.tiers)}, profiles {', '.join(lock.profiles)}"
    )


@cli.command()
@click.argument("sources", nargs=-1, required=True, metavar="RECIPE|LOCK...")
@click.option(
    "--seed", required=True, metavar="N|random", help=f"The new seed; random: {SEED_BITS} bits of the system."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write, if it is one recipe.  [default: its name and version]",
)
def recut(*, sources: Sequence[str], seed: str, out: Path | None) -> None:
    """Write the recipes of the next major version, after a leak: the same strata under another seed.

    No row has an id or a prompt of the version before. Keys that are withheld need --seed random: whoever guesses a
    seed makes the keys from it.
    """
    found = [pair for source in sources for pair in recipes_in(source)]
    number = new_seed(seed)
    if out and len(found) > 1:
        raise RecipeError(f"--out {out}: there are {len(found)} recipes: leave it out, each gets a name of its own")
    texts = [again(recipe, text, number) for recipe, text in found]
    paths = [out or Path(file_name(recipe)) for recipe, _ in found]
    write_recipes(list(zip(paths, texts, strict=True)))
    folder = Path("outputs") / next_major(found[0][0]).folder
    steps = [*(f"carrara build {path}" for path in paths), f"carrara freeze {folder}"]
    click.echo(f"wrote {', '.join(map(str, paths))}: keep it to yourself, its seed gives the keys. Now run")
    click.echo("\n".join(f"  {step}" for step in steps))
