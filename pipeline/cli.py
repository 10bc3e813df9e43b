"""The command `carrara`: each stage, the whole build, and ways to look at it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pipeline import __version__
from pipeline.engine import dask, processes
from pipeline.errors import CarraraError, RecipeError
from pipeline.fit import check_fit
from pipeline.folders import kept_recipes
from pipeline.manifest import read_manifest
from pipeline.plan import Plan, make_plan
from pipeline.profiles import DEFAULT_PROFILES, shipped_profiles
from pipeline.recipe import load_recipe, shipped_recipes
from pipeline.show import find_row, shown
from pipeline.stages import Stages, proof_state
from pipeline.stats import chances, drawn_keys
from pipeline.tables import built_lines, chance_records, interval_records, plan_records, state_records, table

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


class OneLine(click.Group):
    """A group whose errors are one line on stderr and exit code 1; Ctrl-C is 130."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line."""
        debug = "--debug" in (sys.argv[1:] if args is None else args)
        try:
            return super().main(args, **{**extra, "standalone_mode": False})
        except (CarraraError, click.ClickException) as fault:
            if debug:
                raise
            message = fault.format_message() if isinstance(fault, click.ClickException) else str(fault)
            click.echo(f"carrara: {' '.join(message.split())}", err=True)
            sys.exit(1)
        except (KeyboardInterrupt, click.Abort):
            click.echo("carrara: interrupted: run the same command again, it goes on where it stopped", err=True)
            sys.exit(130)


@click.group(cls=OneLine, context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(__version__, prog_name="carrara")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
@click.pass_context
def cli(context: click.Context, *, debug: bool) -> None:
    """Cut long-context evaluation sets to exact size, and prove them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def recipe_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what every stage takes: a recipe, a folder, profiles, families."""
    for option in reversed(
        [
            click.argument("recipe"),
            click.option(
                "--out", type=click.Path(path_type=Path), help="Folder of the release.  [default: outputs/v<version>]"
            ),
            click.option(
                "--tokenizer", "tokenizers", multiple=True,
                help=f"Profile name or TOML file, or 'all'; may be repeated.  [default: {', '.join(DEFAULT_PROFILES)}]",
            ),
            click.option("--family", "families", multiple=True, help="Only this family; may be repeated."),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add how a stage runs."""
    for option in reversed(
        [
            click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="all cores"),
            click.option(
                "--part", default="1/1", show_default=True, metavar="I/N", help="Only this part of the shards."
            ),
            click.option("--dask", "address", metavar="ADDRESS", help="Run on a Dask cluster that shares the folder."),
            click.option("--quiet", is_flag=True, help="Show no progress."),
        ]
    ):
        command = option(command)
    return command


def open_plan(recipe: str, out: Path | None, tokenizers: Sequence[str], families: Sequence[str]) -> Plan:
    """Return the plan that the common options ask for."""
    loaded = load_recipe(recipe)
    folder = out or Path("outputs") / loaded.folder
    return make_plan(loaded, profile_names(tokenizers), folder, tuple(dict.fromkeys(families)))


def profile_names(tokenizers: Sequence[str]) -> tuple[str, ...]:
    """Return the profiles that ``--tokenizer`` asks for."""
    split = ([given] if given.endswith(".toml") else given.replace(",", " ").split() for given in tokenizers)
    names = (each for words in split for name in words for each in (shipped_profiles() if name == "all" else (name,)))
    return tuple(dict.fromkeys(names)) or DEFAULT_PROFILES


def open_stages(plan: Plan, workers: int, part: str, address: str | None, *, quiet: bool) -> Stages:
    """Return the stages of a plan on the engine that the options ask for."""
    return Stages(plan, dask(address) if address else processes(workers), parse_part(part), quiet)


def parse_part(part: str) -> tuple[int, int]:
    """Read ``2/8``.

    Raises:
        RecipeError: if it is no part of a whole.
    """
    number, _, of = part.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise RecipeError(f"--part {part}: give I/N with 1 <= I <= N, as in 2/8")
    return int(number), int(of)


@cli.command()
@recipe_options
@click.option("--stats", is_flag=True, help="Draw samples and show what guessers score on them.")
@click.option("--draws", type=click.IntRange(1), default=5000, show_default=True, help="Samples a family for --stats.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of tables.")
def plan(
    *,
    recipe: str,
    out: Path | None,
    tokenizers: Sequence[str],
    families: Sequence[str],
    stats: bool,
    draws: int,
    as_json: bool,
) -> None:
    """Show what RECIPE would make and what is there already. Writes nothing.

    RECIPE is a shipped name or a TOML file.
    """
    planned = open_plan(recipe, out, tokenizers, families)
    check_fit(planned, planned.profiles)
    parts = {
        "strata (for each profile)": plan_records(planned),
        "precision": interval_records(planned),
        f"in {planned.out}": state_records(proof_state(planned)),
    }
    if stats:
        parts["chance"] = chance_records(chances(drawn_keys(planned, draws)))
    if as_json:
        click.echo(json.dumps(parts, indent=1))
        return
    total = sum(record["tokens"] for record in parts["strata (for each profile)"])
    click.echo("\n\n".join(f"{title}\n{table(records)}" for title, records in parts.items()))
    names = ", ".join(profile.name for profile in planned.profiles)
    click.echo(f"\n{total:,} tokens for each of {names}; every stratum fits every one of them.")


@cli.command()
@recipe_options
@run_options
def sample(recipe: str, out: Path | None, tokenizers: Sequence[str], families: Sequence[str], **how: Any) -> None:
    """Draw the samples of RECIPE: structures, questions and keys, without any tokenizer."""
    planned = open_plan(recipe, out, tokenizers, families)
    made = open_stages(planned, **how).sample()
    click.echo(f"{planned.out / 'samples'}: {made} of {len(planned.families)} files written, the others were there")


@cli.command()
@recipe_options
@run_options
def render(recipe: str, out: Path | None, tokenizers: Sequence[str], families: Sequence[str], **how: Any) -> None:
    """Render the pools of filler that RECIPE draws from, without any tokenizer."""
    planned = open_plan(recipe, out, tokenizers, families)
    made = open_stages(planned, **how).render()
    click.echo(f"{planned.out / 'segments'}: {made} of {len(planned.all_pools())} files written, the others were there")


@cli.command()
@recipe_options
@run_options
def pack(recipe: str, out: Path | None, tokenizers: Sequence[str], families: Sequence[str], **how: Any) -> None:
    """Pack the shards of RECIPE, exact to the token, without proving them (see verify)."""
    planned = open_plan(recipe, out, tokenizers, families)
    made = open_stages(planned, **how).pack()
    click.echo(
        f"{planned.out}: {made} shards written, {len(planned.all_shards()) - made} were there or belong to other parts"
    )


@cli.command()
@recipe_options
@run_options
@click.option("--json", "as_json", is_flag=True, help="Print the manifests as JSON.")
def build(
    *, recipe: str, out: Path | None, tokenizers: Sequence[str], families: Sequence[str], as_json: bool, **how: Any
) -> None:
    """Make RECIPE from start to end: sample, render, count, pack, prove, seal.

    RECIPE is a shipped name (see `carrara recipes`) or a TOML file. What is there already is not made again.
    """
    planned = open_plan(recipe, out, tokenizers, families)
    manifests = open_stages(planned, **how).build()
    if as_json:
        named = {profile.name: manifest for profile, manifest in zip(planned.profiles, manifests, strict=True)}
        click.echo(json.dumps(named, indent=1))
        return
    pairs = list(zip((profile.name for profile in planned.profiles), manifests, strict=True))
    click.echo("\n".join(built_lines(planned.out, planned.recipe.tier, pairs)))


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--tokenizer", "tokenizers", multiple=True, help="Only this profile (a TOML file for one of your own).")
@run_options
def verify(folder: Path, tokenizers: Sequence[str], **how: Any) -> None:
    """Re-count and re-solve every row of a build in FOLDER from its bytes, and seal its manifests.

    A shard that does not hold is named and moved aside; the next build makes it again.
    """
    recipes = kept_recipes(folder)
    if not recipes:
        raise CarraraError(f"no build in {str(folder)!r}: give the folder that build wrote to, such as outputs/v1.0.0")
    for recipe in recipes:
        names = profile_names(tokenizers) if tokenizers else built_profiles(folder, recipe.tier)
        if not names:
            raise CarraraError(f"{str(folder)!r} holds no shards of tier {recipe.tier}: build it first")
        planned = make_plan(recipe, names, folder)
        manifests = open_stages(planned, **how).verify()
        pairs = list(zip((profile.name for profile in planned.profiles), manifests, strict=True))
        click.echo("\n".join(built_lines(folder, recipe.tier, pairs)))


def built_profiles(folder: Path, tier: str) -> tuple[str, ...]:
    """Return the shipped profiles that a folder holds a tier's shards of, or a manifest that says so.

    Raises:
        CarraraError: if it holds shards of a profile that is not shipped.
    """
    found = sorted({path.parents[2].name for path in folder.glob(f"*/data/*/{tier}")} | sealed_profiles(folder, tier))
    for name in found:
        if name not in shipped_profiles():
            raise CarraraError(
                f"{str(folder)!r} holds profile {name!r}, which is not shipped: give its TOML with --tokenizer"
            )
    return tuple(found)


def sealed_profiles(folder: Path, tier: str) -> set[str]:
    """Return the profiles whose manifest holds a tier, whatever became of its shards."""
    names = [path.parent.name for path in folder.glob("*/manifest.json")]
    return {name for name in names if tier in (read_manifest(folder, name) or {"tiers": ()})["tiers"]}


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
