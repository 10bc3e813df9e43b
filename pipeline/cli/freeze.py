"""Commands for splits that must not change: freeze, extend, recut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.files import path_below
from pipeline.cli.base import checked_size, open_stages, profile_names, run_options
from pipeline.cli.group import cli
from pipeline.cli.options import DISK, PLACE
from pipeline.errors import RecipeError
from pipeline.recipe import SEED_BITS, load_recipe
from pipeline.release.extend import costs_of, next_folder, open_extension
from pipeline.release.extend import extend as extended
from pipeline.release.freeze import freeze as frozen
from pipeline.release.recut import file_name, new_seed, next_major, recipes_in, write_recipes
from pipeline.release.recut import recut as again
from pipeline.terminal.printing import say
from pipeline.terminal.text import table
from pipeline.verify.lock import LOCK_NAME


@cli.command()
@click.argument("folder", type=PLACE)
@click.option(
    "--lock",
    "copy",
    type=PLACE,
    metavar="FILE",
    help="Also write the lock to this file, for example beside your recipe.",
)
def freeze(*, folder: Path, copy: Path | None) -> None:
    """Freeze the release in FOLDER by writing its lock, so that nothing else can be built into it.

    Everything in FOLDER must be sealed, and every byte is read again. The lock holds the recipes with their seeds, and
    digests of the rows and of everything that they are made from. If there is an older lock in FOLDER, in a folder
    beside it or at --lock, the version number must be high enough for what has changed since.
    """
    lock, new = frozen(folder, copy)
    shards = sum(len(split.shards) for profile in lock.profiles.values() for split in profile.tiers.values())
    state = "frozen" if new else "already frozen, and unchanged"
    say(
        f"{lock.title} is {state}: tiers {', '.join(lock.tiers)}, profiles {', '.join(lock.profiles)}, {shards} "
        f"shard{'s' * (shards != 1)}; "
        f"lock in {folder / LOCK_NAME}{f' and {copy}' if copy else ''}"
    )


@cli.command()
@click.argument("source", type=PLACE, metavar="FOLDER|LOCK")
@click.option("--tokenizer", "tokenizers", multiple=True, metavar="NAME", help="Profile to add. Repeatable.")
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    metavar="RECIPE",
    help="Recipe for a new tier, or a frozen recipe with new strata. Repeatable.",
)
@click.option(
    "--size", metavar="[default|full|N]", callback=checked_size, help="Size to extend to.  [default: as frozen]"
)
@click.option(
    "--out", type=PLACE, metavar="FOLDER", help="Folder for the new version.  [default: beside the frozen one]"
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what would be built and roughly how long it would take. A model on the Hub is still downloaded.",
)
@run_options
def extend(
    *,
    source: Path,
    tokenizers: Sequence[str],
    recipes: Sequence[str],
    size: str | None,
    out: Path | None,
    dry_run: bool,
    **how: Any,
) -> None:
    """Add profiles, tiers, strata or rows to a frozen release, and freeze the result as its next minor version.

    Existing ids, questions, relevant texts and keys do not change. The frozen folder is not modified; the new folder
    links to its files. With only the lock, you can add profiles but nothing else. The build time is printed first.
    """
    if how["part"] != "1/1":
        raise RecipeError(f"--part {how['part']} cannot be used with extend: a version is frozen as a whole")
    more = [load_recipe(name) for name in recipes]
    names = profile_names(tokenizers, next_folder(source, out), keep=not dry_run) if tokenizers else ()
    extension = open_extension(source, out, names, more, size)
    say(table([cost.record for cost in costs_of(extension, how["workers"])]))
    if dry_run:
        return
    lock = extended(extension, lambda plan: open_stages(plan, **how))
    say(
        f"{lock.title} is frozen in {extension.out}: tiers {', '.join(lock.tiers)}, profiles {', '.join(lock.profiles)}"
    )


@cli.command()
@click.argument("sources", nargs=-1, required=True, metavar="RECIPE|LOCK...")
@click.option(
    "--seed",
    required=True,
    metavar="N|random",
    help=f"The new seed; 'random' takes {SEED_BITS} bits from the operating system.",
)
@click.option(
    "--out",
    type=DISK,
    metavar="FILE",
    help="File to write, if there is only one recipe.  [default: its name and version]",
)
def recut(*, sources: Sequence[str], seed: str, out: Path | None) -> None:
    """After a leak, write the recipes of the next major version: the same strata with a new seed.

    No row shares an id or a prompt with the previous version. If keys are withheld, use --seed random: anyone who
    guesses the seed can regenerate the keys.
    """
    found = [pair for source in sources for pair in recipes_in(source)]
    number = new_seed(seed)
    if out and len(found) > 1:
        raise RecipeError(
            f"--out {out} names one file, but there are {len(found)} recipes: leave it out, and each gets its own name"
        )
    texts = [again(recipe, text, number) for recipe, text in found]
    paths = [out or path_below(Path(), file_name(recipe)) for recipe, _ in found]
    write_recipes(list(zip(paths, texts, strict=True)))
    folder = Path("outputs") / next_major(found[0][0]).folder
    steps = [*(f"carrara build {path}" for path in paths), f"carrara freeze {folder}"]
    say(f"wrote {', '.join(map(str, paths))}: keep this private, because the seed reveals the keys. Now run")
    say("\n".join([*(f"  {step}" for step in steps), "each with your own --tokenizer and --out, if any"]))
