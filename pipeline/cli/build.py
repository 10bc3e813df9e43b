"""Commands that make a build: plan, sample, render, pack, build."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from msgspec import to_builtins

from pipeline.assemble.fit import check_fit
from pipeline.assemble.plan import Plan
from pipeline.cli.base import open_stages, plan_from, run_options
from pipeline.cli.group import cli
from pipeline.cli.tables import (
    built_lines,
    chance_parts,
    family_records,
    makeup_records,
    plain_chance,
    plain_makeup,
    plain_plan,
    plan_records,
    proven_records,
    shard_counts,
    slow_lines,
    spent_lines,
    total_lines,
    window_lines,
)
from pipeline.terminal.printing import say
from pipeline.terminal.text import table
from pipeline.verify.seal import proven_shards
from pipeline.verify.statistics import chances, draw_keys, makeups


@cli.command("plan")
@plan_from
@click.option(
    "--stats", is_flag=True, help="Draw samples and show what prompts consist of and what guessing would score."
)
@click.option(
    "--draws", type=click.IntRange(1), default=5000, show_default=True, help="Samples per family for --stats."
)
@click.option(
    "--strata", is_flag=True, help="Show each subtask and length, with the widest 95 % interval of its accuracy."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON instead of tables, including everything that --strata shows."
)
def show_plan(plan: Plan, *, stats: bool, draws: int, strata: bool, as_json: bool) -> None:
    """Show what RECIPE would build and what already exists.

    RECIPE is a shipped name (see `carrara recipes`) or a TOML file. Nothing is written except copies of --corpus and
    of a model's tokenizer.
    """
    check_fit(plan, plan.profiles)
    state = proven_shards(plan)
    found = (makeups(plan), chances(draw_keys(plan, draws))) if stats else None
    if as_json:
        more = {"makeup": plain_makeup(found[0]), "chance": plain_chance(found[1])} if found else {}
        say(json.dumps({**plain_plan(plan, state), **more}, indent=1))
        return
    parts = (
        {"strata (per profile)": plan_records(plan), f"in {plan.out}": shard_counts(state)}
        if strata
        else {"families (per profile)": family_records(plan), f"in {plan.out}": proven_records(state)}
    )
    if found:
        parts["what prompts consist of (means)"] = makeup_records(found[0])
        parts |= chance_parts(found[1])
    say("\n\n".join(f"{title}\n{table(records)}" for title, records in parts.items()))
    say("\n" + "\n".join(total_lines(plan)))
    for line in (*slow_lines(plan.profiles), *window_lines(plan)):
        say(line)


@cli.command()
@plan_from
@run_options
def sample(plan: Plan, **how: Any) -> None:
    """Draw the samples of RECIPE (structures, questions and keys); no tokenizer is needed."""
    made = open_stages(plan, **how).sample()
    files = sum(len(plan.cuts(family)) for family in plan.families)
    say(f"{plan.out / 'samples'}: {made} of {files} files written, the others already existed")


@cli.command()
@plan_from
@run_options
def render(plan: Plan, **how: Any) -> None:
    """Render the filler pools that RECIPE draws from; no tokenizer is needed."""
    made = open_stages(plan, **how).render()
    say(f"{plan.out / 'segments'}: {made} of {len(plan.all_pools())} files written, the others already existed")


@cli.command()
@plan_from
@run_options
def pack(plan: Plan, **how: Any) -> None:
    """Pack the shards of RECIPE, exact to the token, without proving them (see `carrara verify`)."""
    made = open_stages(plan, **how).pack()
    say(f"{plan.out}: {made} shards written, {len(plan.all_shards()) - made} already existed or belong to other parts")


@cli.command()
@plan_from
@run_options
@click.option("--json", "as_json", is_flag=True, help="Print the manifests as JSON.")
def build(plan: Plan, *, as_json: bool, **how: Any) -> None:
    """Build RECIPE from start to finish: sample, render, count, pack, prove, seal.

    RECIPE is a shipped name (see `carrara recipes`) or a TOML file. Anything already built is kept, so an interrupted
    build continues where it stopped.
    """
    stages = open_stages(plan, **how)
    manifests = stages.build()
    if sys.stderr.isatty() and not stages.quiet:
        stages.spent.settle("start")
        for line in spent_lines(stages.spent):
            say(line, err=True)
    if as_json:
        named = {profile.name: manifest for profile, manifest in zip(plan.profiles, manifests, strict=True)}
        say(json.dumps(to_builtins(named), indent=1))
        return
    say("\n".join(built_lines(plan, manifests)))
    if str(plan.out).startswith("memory://"):
        say(f"carrara: {plan.out} is gone when this process ends: give another --out to keep it", err=True)
