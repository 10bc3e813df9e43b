"""Commands that make a build: plan, build."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import click
from msgspec import to_builtins

from pipeline.artifacts.lite import is_lite, lite_counts
from pipeline.assemble.fit import check_fit
from pipeline.assemble.plan import Plan
from pipeline.cli.base import open_stages, plan_from, run_options
from pipeline.cli.costs import Costs, Rates, cost_lines, rate_options, reply_tokens
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
from pipeline.recipe import Stratum
from pipeline.stages import Stages
from pipeline.tasks import task_of
from pipeline.terminal.printing import say
from pipeline.terminal.text import table
from pipeline.verify.seal import proven_shards
from pipeline.verify.statistics import chances, draw_keys, makeups


@cli.command("plan")
@plan_from(keep=False)
@click.option("--stats", is_flag=True, help="Draw samples, and show what prompts consist of and what guessing scores.")
@click.option(
    "--draws", type=click.IntRange(1), metavar="N", default=5000, show_default=True, help="Samples per family."
)
@click.option("--strata", is_flag=True, help="Show every subtask and length, with the widest 95% interval of its mean.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables, including what --strata shows.")
@rate_options
def show_plan(
    plan: Plan,
    *,
    stats: bool,
    draws: int,
    strata: bool,
    as_json: bool,
    speed: float | None,
    price_in: float | None,
    price_out: float | None,
) -> None:
    """Show what RECIPE would build, what already exists, and what running a model on it costs.

    RECIPE is a shipped recipe (see `carrara recipes`) or a TOML file. Nothing is written except copies of
    --corpus files and of a model's tokenizer.
    """
    check_fit(plan, plan.profiles)
    state = proven_shards(plan)
    keys = list(draw_keys(plan, draws)) if stats else []
    found = (makeups(plan), chances(keys)) if stats else None
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
    say(f"\nto run a model on it ({plan.profiles[0].name})")
    say("\n".join(cost_lines(_costs_of(plan, keys), Rates(speed, price_in, price_out), total=False)))
    say("\n" + "\n".join(total_lines(plan)))
    for line in (*slow_lines(plan.profiles), *window_lines(plan)):
        say(line)


def _costs_of(plan: Plan, keys: Sequence[Mapping[str, Any]]) -> Costs:
    """Return the costs of a plan's rows in its first profile, by size; replies are estimated from `keys`, if any."""
    replies: dict[tuple[str, str], list[float]] = {}
    for key in keys:
        replies.setdefault((key["family"], key["subtask"]), []).append(reply_tokens(key["target"]))
    means = {place: fmean(each) for place, each in replies.items()}
    profile, recipe, costs = plan.profiles[0], plan.recipe, Costs("size")
    lite = lite_counts(recipe.tier, ((cell.family, cell.subtask, cell.length) for cell in recipe.strata))
    every, first = Counter[Stratum](), Counter[Stratum]()
    for row in (row for family in plan.families for row in plan.rows(family)):
        cell = row.stratum
        every[cell] += 1
        first[cell] += is_lite(row.id, (recipe.tier, cell.family, cell.subtask, cell.length), lite)
    for name, counts in {"lite": first, "all": every}.items():
        for cell, rows in counts.items():
            most = profile.reply_tokens(recipe.reserve, task_of(cell).max_new_tokens_of(cell))
            costs.of(name).add(rows, profile.window(cell.length) - most, most, means.get((cell.family, cell.subtask)))
    return costs


def _sample(plan: Plan, stages: Stages) -> str:
    made, files = stages.sample(), sum(len(plan.row_ranges(family)) for family in plan.families)
    return f"{plan.out / 'samples'}: {made} of {files} files written; the others already existed"


def _render(plan: Plan, stages: Stages) -> str:
    made, files = stages.render(), len(plan.all_pools())
    return f"{plan.out / 'segments'}: {made} of {files} files written; the others already existed"


def _pack(plan: Plan, stages: Stages) -> str:
    made, shards = stages.pack(), len(plan.all_shards())
    return f"{plan.out}: {made} shards written, {shards - made} already existed or belong to other parts"


STAGES = {"sample": _sample, "render": _render, "pack": _pack}
"""The stages after which a build can stop: each function runs one and returns the line to print."""


@cli.command()
@plan_from(keep=True)
@run_options
@click.option(
    "--until", type=click.Choice(list(STAGES)),
    help="Stop after a stage: 'sample' draws questions and keys, 'render' writes the filler pools, and 'pack' writes "
    "shards without proving them. The first two need no tokenizer.  [default: run all stages]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the manifests as JSON.")
def build(plan: Plan, *, until: str | None, as_json: bool, **how: Any) -> None:
    """Build RECIPE and prove every row: render, sample, count, pack, prove, seal.

    RECIPE is a shipped recipe (see `carrara recipes`) or a TOML file. Finished files are reused, so an interrupted
    build continues where it stopped.
    """
    stages = open_stages(plan, **how)
    if until:
        say(STAGES[until](plan, stages))
        return
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
        say(f"carrara: {plan.out} disappears when this process ends: give another --out to keep it", err=True)
