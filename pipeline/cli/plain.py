"""What a plan makes and what guessing scores, as plain values: what `--json` prints, and tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import ceil, sqrt
from typing import Any

from pipeline.assemble.plan import DISK_BYTES, Plan, Shard
from pipeline.prove.chance import Makeup
from pipeline.recipe import Stratum
from pipeline.store.chance import Chance, one_constant


def plain_plan(plan: Plan, state: Iterable[tuple[Shard, bool]]) -> dict[str, Any]:
    """Return a plan in all detail, and what is there of it: sizes in tokens and bytes, shares as fractions."""
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
    """Return what each profile has, in tokens of its true windows."""
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
    """Return what each family has in one profile, in nominal tokens."""
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
    """Return what each family, subtask and length has in one profile, in nominal tokens.

    The rows of the default and the full size come with the largest half-width of a 95 % interval of accuracy.
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
    """Return the half-width of a 95 % interval of a mean score of one half, where it is widest."""
    return 1.96 * sqrt(0.25 / rows)


def shard_counts(state: Iterable[tuple[Shard, bool]]) -> list[dict[str, Any]]:
    """Return how many shards of each profile and family have been proven."""
    counts: dict[tuple[str, str], list[bool]] = {}
    for shard, done in state:
        counts.setdefault((shard.profile.name, shard.family), []).append(done)
    return [
        {"profile": profile, "family": family, "shards": len(done), "proven": sum(done)}
        for (profile, family), done in counts.items()
    ]


def plain_chance(found: Iterable[Chance]) -> list[dict[str, Any]]:
    """Return what guessing scores on each kind of rows, one reply to all of them where they differ in class alone."""
    return [asdict(chance) for chance in one_constant(list(found))]


def plain_makeup(found: Iterable[Makeup]) -> list[dict[str, Any]]:
    """Return what prompts of each stratum and profile consist of, on average; null where a task has no distractors."""
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
