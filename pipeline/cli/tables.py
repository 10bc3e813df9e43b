"""The lines of the tables that commands print, and the sentences around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import ceil, fsum, sqrt
from typing import Any

from pipeline.artifacts.manifest import (
    Chance,
    Manifest,
    ProvenCounts,
    Totals,
    explain_unsealed_tier,
    one_constant,
    pool_chances,
)
from pipeline.assemble.plan import DISK_BYTES, Plan, Shard
from pipeline.profiles import Profile
from pipeline.recipe import Stratum
from pipeline.stages import Stages
from pipeline.terminal.text import percent, row_count, size
from pipeline.verify.statistics import Makeup


def plain_plan(plan: Plan, state: Iterable[tuple[Shard, bool]]) -> dict[str, Any]:
    """Return a plan in full detail, with the shards that exist; sizes are in tokens and bytes, shares are fractions."""
    recipe = plan.recipe
    return {
        "release": recipe.release,
        "version": recipe.version,
        "variant": recipe.variant,
        "tier": recipe.tier,
        "out": str(plan.out),
        "profiles": profile_totals(plan),
        "families": family_totals(plan),
        "strata": stratum_totals(plan),
        "shards": shard_counts(state),
    }


def profile_totals(plan: Plan) -> list[dict[str, Any]]:
    """Return the rows, tokens (of true windows) and disk space of each profile."""
    cells = [cell for family in plan.families for cell in plan.recipe.of_family(family)]
    return [
        {
            "profile": profile.name,
            "rows": sum(cell.total for cell in cells),
            "tokens": (tokens := sum(cell.total * profile.window(cell.length) for cell in cells)),
            "disk_bytes": ceil(tokens * DISK_BYTES),
        }
        for profile in plan.profiles
    ]


def family_totals(plan: Plan) -> list[dict[str, Any]]:
    """Return the strata, lengths, rows and nominal tokens of each family in one profile."""
    return [_family_total(family, plan.recipe.of_family(family)) for family in plan.families]


def _family_total(family: str, cells: Sequence[Stratum]) -> dict[str, Any]:
    tokens = sum(cell.total * cell.length for cell in cells)
    return {
        "family": family,
        "subtasks": len({cell.subtask for cell in cells}),
        "strata": len(cells),
        "shortest": min(cell.length for cell in cells),
        "longest": max(cell.length for cell in cells),
        "rows": sum(cell.total for cell in cells),
        "full_rows": sum(cell.rows * cell.full for cell in cells),
        "tokens": tokens,
        "disk_bytes": ceil(tokens * DISK_BYTES),
    }


def stratum_totals(plan: Plan) -> list[dict[str, Any]]:
    """Return the rows and nominal tokens of each family, subtask and length in one profile.

    The rows of the default and the full size come with the largest half-width of a 95% interval of accuracy.
    """
    groups: dict[tuple[str, str, int], list[Stratum]] = {}
    for family in plan.families:
        for cell in plan.recipe.of_family(family):
            groups.setdefault((family, cell.subtask, cell.length), []).append(cell)
    return [_stratum_total(*place, cells) for place, cells in groups.items()]


def _stratum_total(family: str, subtask: str, length: int, cells: Sequence[Stratum]) -> dict[str, Any]:
    rows, default = sum(cell.total for cell in cells), sum(cell.rows for cell in cells)
    full = sum(cell.rows * cell.full for cell in cells)
    return {
        "family": family,
        "subtask": subtask,
        "length": length,
        "complexity": [cell.complexity for cell in cells],
        "rows": rows,
        "default_rows": default,
        "default_half_width": round(half_width(default), 4),
        "full_rows": full,
        "full_half_width": round(half_width(full), 4),
        "tokens": rows * length,
        "disk_bytes": ceil(rows * length * DISK_BYTES),
    }


def half_width(rows: int) -> float:
    """Return the half-width of a 95% interval at a mean score of one half, where it is widest."""
    return 1.96 * sqrt(0.25 / rows)


def shard_counts(state: Iterable[tuple[Shard, bool]]) -> list[dict[str, Any]]:
    """Return the numbers of shards and of proven shards for each profile and family."""
    counts: dict[tuple[str, str], list[bool]] = {}
    for shard, done in state:
        counts.setdefault((shard.profile.name, shard.family), []).append(done)
    return [
        {"profile": profile, "family": family, "shards": len(done), "proven": sum(done)}
        for (profile, family), done in counts.items()
    ]


def plain_chance(found: Iterable[Chance]) -> list[dict[str, Any]]:
    """Return the scores of guessing on each kind of rows, with one constant for kinds that differ only in class."""
    return [asdict(chance) for chance in one_constant(list(found))]


def plain_makeup(found: Iterable[Makeup]) -> list[dict[str, Any]]:
    """Return the mean makeup of prompts for each stratum and profile; null if a task has no distractors."""
    return [
        {
            "family": each.cell.family,
            "subtask": each.cell.subtask,
            "length": each.cell.length,
            "complexity": each.cell.complexity,
            "profile": each.profile,
            "tokens_per_unit": each.unit_tokens,
            "units_per_prompt": each.units,
            "distractors": each.distractors,
        }
        for each in found
    ]


def plan_records(plan: Plan) -> list[dict[str, Any]]:
    """Return a table line for each entry of `stratum_totals`."""
    return [
        {
            **{name: each[name] for name in ("family", "subtask", "length")},
            "complexity": ",".join(map(str, each["complexity"])),
            "rows": each["rows"],
            "95%": f"+- {percent(each['default_half_width'])}",
            "full": f"{each['full_rows']:,}, +- {percent(each['full_half_width'])}",
            "tokens": each["tokens"],
            "on disk": size(each["disk_bytes"]),
        }
        for each in stratum_totals(plan)
    ]


def family_records(plan: Plan) -> list[dict[str, Any]]:
    """Return a table line for each entry of `family_totals`."""
    return [
        {
            **{name: each[name] for name in ("family", "subtasks", "strata")},
            "lengths": " to ".join(f"{length:,}" for length in sorted({each["shortest"], each["longest"]})),
            "rows": each["rows"],
            "full": each["full_rows"],
            "tokens": each["tokens"],
            "on disk": size(each["disk_bytes"]),
        }
        for each in family_totals(plan)
    ]


def total_lines(plan: Plan) -> list[str]:
    """Return a line for each entry of `profile_totals`."""
    return [
        f"{each['profile']}: {row_count(each['rows'])}, {each['tokens']:,} tokens, about {size(each['disk_bytes'])} on "
        "disk; every stratum fits"
        for each in profile_totals(plan)
    ]


def proven_records(state: Iterable[tuple[Shard, bool]]) -> list[dict[str, Any]]:
    """Return the numbers of shards and of proven shards for each profile."""
    counts: dict[str, list[bool]] = {}
    for shard, done in state:
        counts.setdefault(shard.profile.name, []).append(done)
    return [{"profile": profile, "shards": len(done), "proven": sum(done)} for profile, done in counts.items()]


def slow_lines(profiles: Iterable[Profile]) -> Iterator[str]:
    """Yield a line for each slow counter of some profiles."""
    for profile in profiles:
        fast, second = profile.fast, profile.check
        if fast.slow:
            yield f"{profile.name}: {fast.engine} counts slowly ({fast.cost or 'no quicker engine has its ids'})"
        if second.slow:
            yield (
                f"{profile.name}: {second.engine} counts again, slowly ({second.cost or 'its speed is not stated'}): a "
                "sample of the rows in `build`, all of them in `verify`"
            )


def chance_parts(found: Iterable[Chance]) -> dict[str, list[dict[str, Any]]]:
    """Return the chance tables of each family: by kind of question, over complexities, and over subtasks."""
    families: dict[str, list[Chance]] = {}
    for chance in one_constant(list(found)):
        families.setdefault(chance.family, []).append(chance)
    parts = {}
    for family, chances in families.items():
        names = sorted({name for chance in chances for name in chance.baselines})
        parts[f"chance: {family}"] = [_chance_record(chance, names) for chance in chances]
        parts[f"chance: {family}, all complexities (and their plain mean)"] = list(_by_subtask(chances, names))
        if len({chance.subtask for chance in chances}) > 1:
            parts[f"chance: {family}, all subtasks"] = list(_by_complexity(chances, names))
    return parts


def _chance_record(chance: Chance, names: Sequence[str]) -> dict[str, Any]:
    return {
        "subtask": chance.subtask,
        "complexity": chance.complexity,
        "asked": chance.asked or "-",
        "rows": chance.rows,
        "best constant": chance.best_constant,
        "(reply)": " ".join(chance.constant.split())[:24],
        **{name: chance.baselines.get(name, "-") for name in names},
    }


def _by_complexity(chances: Sequence[Chance], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for complexity in sorted({chance.complexity for chance in chances}):
        own = [chance for chance in chances if chance.complexity == complexity]
        rows, _, means = pool_chances(own)
        everywhere = {name for name in names if all(name in chance.baselines for chance in own)}
        shown = {name: round(means[name], 3) if name in everywhere else "-" for name in names}
        yield {"complexity": complexity, "rows": rows, **shown}


def _by_subtask(chances: Sequence[Chance], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield means over rows, and plain means over complexities (balanced accuracy if these are classes of an answer).

    A baseline that a subtask lacks is shown as a dash.
    """
    for subtask in dict.fromkeys(chance.subtask for chance in chances):
        own = [chance for chance in chances if chance.subtask == subtask]
        by_class = [
            pool_chances([each for each in own if each.complexity == complexity]).baselines
            for complexity in sorted({each.complexity for each in own})
        ]
        rows, _, means = pool_chances(own)
        plain = {name: fsum(each.get(name, 0.0) for each in by_class) / len(by_class) for name in means}
        shown = {name: f"{means[name]:.3f} ({plain[name]:.3f})" if name in means else "-" for name in names}
        yield {"subtask": subtask, "rows": rows, **shown}


def makeup_records(found: Iterable[Makeup]) -> list[dict[str, Any]]:
    """Return a table line for each stratum and profile: the number of units in a prompt, and their size."""
    return [
        {
            **{name: each[name] for name in ("family", "subtask", "length", "complexity", "profile")},
            "tokens per unit": round(each["tokens_per_unit"], 1),
            "units per prompt": round(each["units_per_prompt"]),
            "distractors": "-" if each["distractors"] is None else round(each["distractors"]),
        }
        for each in plain_makeup(found)
    ]


def built_lines(plan: Plan, manifests: Iterable[Manifest | None]) -> list[str]:
    """Return the lines printed when a build ends: where the shards are, how many rows, and what was proven."""
    return [_built_line(plan, profile, found) for profile, found in zip(plan.profiles, manifests, strict=True)]


def verified_lines(plan: Plan, stages: Stages, manifests: Iterable[Manifest | None]) -> list[str]:
    """Return the lines printed when a build was verified: the same, or what was verified of an incomplete one.

    The folder is named as in `plan`, since the stages may have an absolute path.
    """
    whole = stages.part == (1, 1)
    return [
        _built_line(plan, profile, found) if found and whole else _seen_line(plan, stages, profile, found)
        for profile, found in zip(plan.profiles, manifests, strict=True)
    ]


def window_lines(plan: Plan) -> Iterator[str]:
    """Yield a line for each profile of a plan whose longest rows exceed the windows of some of its models."""
    longest = max(cell.length for cell in plan.recipe.strata)
    for profile in plan.profiles:
        short = [(model, window) for model, (_, window) in profile.reach if window < profile.window(longest)]
        if short:
            names = ", ".join(f"{model} ({window:,})" for model, window in short)
            yield f"{profile.name}: the longest rows are longer than the windows of {names}."


def spent_lines(spent: Mapping[str, float]) -> list[str]:
    """Return one line on the CPU time of a build by stage; none if it packed nothing."""
    if "pack" not in spent:
        return []
    total = sum(spent.values())
    listed = {stage: seconds / total for stage, seconds in spent.items() if seconds >= total / 200}
    shares = ", ".join(f"{stage} {percent(share)}" for stage, share in listed.items())
    return [f"carrara: {total:,.0f} s of CPU time: {shares}"]


def _built_line(plan: Plan, profile: Profile, manifest: Manifest | None) -> str:
    folder = plan.out / profile.name
    if manifest is None:
        return f"{folder}: {explain_unsealed_tier(folder, plan.recipe)}"
    made = manifest.tiers[plan.recipe.tier]
    return _proven_line(str(folder / "data"), made.totals, made.proven)


def _seen_line(plan: Plan, stages: Stages, profile: Profile, manifest: Manifest | None) -> str:
    """Return a line on what was verified of a profile, if only a part was requested or it is not sealed."""
    number, of = stages.part
    folder, shards = plan.out / profile.name, plan.of_profile(profile)
    proofs = [proof for shard in shards if (proof := stages.fresh.get(shard.path(stages.plan.out, "proofs")))]
    part = f", part {number} of {of}" if of > 1 else ""
    where = f"{folder}{part}: {len(proofs)} of {len(shards)} shards verified"
    rest = "" if manifest else f"; {explain_unsealed_tier(folder, plan.recipe)}"
    return (_proven_line(where, Totals.of_shards(proofs), ProvenCounts.of(proofs)) if proofs else where) + rest


def _proven_line(where: str, made: Totals, proven: ProvenCounts) -> str:
    return (
        f"{where}: {row_count(made.rows)}, {made.tokens:,} tokens ({size(made.bytes)}); "
        f"all exact, {proven.answers}, {proven.recounts}"
    )
