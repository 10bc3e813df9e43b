"""Commands that make and prove a build: plan, sample, render, pack, build, verify."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.cli.base import cli, open_stages, planned, profile_names, run_options
from pipeline.errors import CarraraError
from pipeline.fit import check_fit
from pipeline.folders import kept_recipes
from pipeline.manifest import read_manifest
from pipeline.plan import Plan, make_plan
from pipeline.profiles import shipped_profiles
from pipeline.stages import proof_state
from pipeline.stats import chances, drawn_keys, makeups
from pipeline.tables import (
    built_lines,
    chance_parts,
    interval_records,
    makeup_records,
    plan_records,
    state_records,
    table,
)


@cli.command("plan")
@planned
@click.option("--stats", is_flag=True, help="Draw samples: what prompts are made of, what guessers score.")
@click.option("--draws", type=click.IntRange(1), default=5000, show_default=True, help="Samples a family for --stats.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of tables.")
def show_plan(plan: Plan, *, stats: bool, draws: int, as_json: bool) -> None:
    """Show what RECIPE would make and what is there already. Writes nothing but a copy of --corpus.

    RECIPE is a shipped name or a TOML file.
    """
    check_fit(plan, plan.profiles)
    parts = {
        "strata (for each profile)": plan_records(plan),
        "precision": interval_records(plan),
        f"in {plan.out}": state_records(proof_state(plan)),
    }
    if stats:
        parts["what prompts are made of (means)"] = makeup_records(makeups(plan))
        parts |= chance_parts(chances(drawn_keys(plan, draws)))
    if as_json:
        click.echo(json.dumps(parts, indent=1))
        return
    total = sum(record["tokens"] for record in parts["strata (for each profile)"])
    click.echo("\n\n".join(f"{title}\n{table(records)}" for title, records in parts.items()))
    names = ", ".join(profile.name for profile in plan.profiles)
    click.echo(f"\n{total:,} tokens for each of {names}; every stratum fits every one of them.")


@cli.command()
@planned
@run_options
def sample(plan: Plan, **how: Any) -> None:
    """Draw the samples of RECIPE: structures, questions and keys, without any tokenizer."""
    made = open_stages(plan, **how).sample()
    click.echo(f"{plan.out / 'samples'}: {made} of {len(plan.families)} files written, the others were there")


@cli.command()
@planned
@run_options
def render(plan: Plan, **how: Any) -> None:
    """Render the pools of filler that RECIPE draws from, without any tokenizer."""
    made = open_stages(plan, **how).render()
    click.echo(f"{plan.out / 'segments'}: {made} of {len(plan.all_pools())} files written, the others were there")


@cli.command()
@planned
@run_options
def pack(plan: Plan, **how: Any) -> None:
    """Pack the shards of RECIPE, exact to the token, without proving them (see verify)."""
    made = open_stages(plan, **how).pack()
    click.echo(
        f"{plan.out}: {made} shards written, {len(plan.all_shards()) - made} were there or belong to other parts"
    )


@cli.command()
@planned
@run_options
@click.option("--json", "as_json", is_flag=True, help="Print the manifests as JSON.")
def build(plan: Plan, *, as_json: bool, **how: Any) -> None:
    """Make RECIPE from start to end: sample, render, count, pack, prove, seal.

    RECIPE is a shipped name (see `carrara recipes`) or a TOML file. What is there already is not made again.
    """
    manifests = open_stages(plan, **how).build()
    if as_json:
        named = {profile.name: manifest for profile, manifest in zip(plan.profiles, manifests, strict=True)}
        click.echo(json.dumps(named, indent=1))
        return
    pairs = list(zip((profile.name for profile in plan.profiles), manifests, strict=True))
    click.echo("\n".join(built_lines(plan.out, plan.recipe.tier, pairs)))


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
