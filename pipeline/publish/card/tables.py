"""The tables of a card, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.publish.card.facts import Curve, Facts
from pipeline.readers import reader_of
from pipeline.recipe import K, Stratum
from pipeline.rows import Column
from pipeline.store.chance import Chance, Pooled, chances_in, pooled
from pipeline.store.manifest import TierCell
from pipeline.tasks import TASKS
from pipeline.terminal.numbers import size

Place = tuple[str, str]
BLIND = ("uniform", "any_reply")
"""The baselines that are taken for chance, the first that a task has."""


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return records as a Markdown table; numbers to the right, bars escaped."""
    if not rows:
        return ""
    names = list(rows[0])
    marks = [
        "---:" if all(isinstance(row[name], int | float) or row[name] == "-" for row in rows) else "---"
        for name in names
    ]
    lines = [names, marks, *([_cell(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def kilo(length: int) -> str:
    """Return a length as people write it: 2K, 128K, 1M."""
    if length % K:
        return f"{length:,}"
    return f"{length // K // K}M" if length % (K * K) == 0 else f"{length // K}K"


def task_table(facts: Facts) -> str:
    """Return a line for each task: what it asks, how it is scored, its rows in every tier."""
    cells: dict[Place, list[TierCell]] = {}
    for cell in facts.split.strata:
        cells.setdefault((cell.family, cell.subtask), []).append(cell)
    return markdown([_task_record(facts, place, own) for place, own in cells.items()])


def _task_record(facts: Facts, place: Place, cells: Sequence[TierCell]) -> dict[str, Any]:
    steps = sorted({cell.complexity for cell in cells if cell.complexity is not None})
    rooms = sorted({cell.max_new_tokens for cell in cells})
    return {
        "family": f"`{place[0]}`",
        "subtask": f"`{place[1]}`",
        "what is asked": TASKS[place].title if place in TASKS else place[1],
        **({} if facts.withheld else {"complexity": ", ".join(map(str, steps))}),
        "reply tokens": ", ".join(f"{room:,}" for room in rooms),
        "scorer": ", ".join(dict.fromkeys(map(_scorer, cells))),
        **_guessed(facts, place),
        **{f"rows, {tier}": sum(cell.rows for cell in cells if cell.tier == tier) for tier in facts.tiers},
    }


def _guessed(facts: Facts, place: Place) -> dict[str, Any]:
    """Return what guessing scores on all rows of a task; nothing where keys are withheld."""
    own = [chance for chance in chances_in(facts.manifest) if (chance.family, chance.subtask) == place]
    if facts.withheld or not own:
        return {} if facts.withheld else {"chance": "-", "best constant": "-"}
    means = pooled(own)
    chance = next((means.baselines[name] for name in BLIND if name in means.baselines), "-")
    return {"chance": chance, "best constant": means.best_constant}


def curve_table(curve: Curve) -> str:
    """Return mean scores of simulated readers by length."""
    lengths = sorted({length for means in curve.values() for length in means})
    return markdown(
        [
            {
                "reader": f"`{name}`",
                "it": reader_of(name).title,
                **{kilo(length): means.get(length, "-") for length in lengths},
            }
            for name, means in curve.items()
        ]
    )


def _scorer(cell: TierCell) -> str:
    """Return the name of the scorer of a stratum's rows; knobs may choose it."""
    place, knobs = (cell.family, cell.subtask), tuple(sorted((cell.knobs or {}).items()))
    if place not in TASKS:
        return "-"
    stratum = Stratum(*place, cell.tier, cell.length, cell.complexity or 0, cell.rows, cell.shots, knobs)
    return f"`{TASKS[place].scorer_of(stratum)}`"


def strata_table(facts: Facts, tier: str) -> str:
    """Return the rows of each task of a tier by length."""
    lengths = sorted({cell.length for cell in facts.strata(tier)})
    rows: dict[Place, dict[int, int]] = {}
    for cell in facts.strata(tier):
        own = rows.setdefault((cell.family, cell.subtask), {})
        own[cell.length] = own.get(cell.length, 0) + cell.rows
    return markdown(
        [
            {"task": f"`{family}.{subtask}`", **{kilo(length): own.get(length, 0) for length in lengths}}
            for (family, subtask), own in rows.items()
        ]
    )


def config_table(facts: Facts) -> str:
    """Return the configurations with their rows and sizes."""
    return markdown([_config_record(facts, config.name) for config in facts.configs])


def _config_record(facts: Facts, name: str) -> dict[str, Any]:
    shards = [shard for made in facts.manifest.tiers.values() for shard in made.shards]
    family, _, tier = name.rpartition("_")
    own = [
        shard
        for shard in shards
        if name == "index" or (shard.shard.split("/")[1] == tier and family in ("", shard.shard.split("/")[0]))
    ]
    part = facts.index if name == "index" else "data"
    return {
        "config": f"`{name}`" + (" (default)" if name == facts.tiers[0] else ""),
        "rows": sum(shard.rows for shard in own),
        "prompt tokens": sum(shard.prompt_tokens for shard in own) if name != "index" else 0,
        "size": size(sum(shard.file(part)[0] or 0 for shard in own)),
        "what": "all columns but `prompt` and `messages`" if name == "index" else f"`{family}`" if family else "all",
    }


def window_table(facts: Facts) -> str:
    """Return what to set as max_length for the rows of each length."""
    windows = {cell.length: cell.context_tokens for cell in facts.split.strata}
    return markdown(
        [
            {"length": kilo(length), "`context_tokens`": windows[length], "lm-eval's API backends": windows[length] + 1}
            for length in sorted(windows)
        ]
    )


def column_table(columns: Iterable[Column]) -> str:
    """Return the columns with their types and what they hold."""
    kinds = {"list<element: string>": "list<string>"}
    return markdown(
        [
            {"column": f"`{one.name}`", "type": f"`{kinds.get(_kind(one), _kind(one))}`", "what": one.note}
            for one in columns
        ]
    )


def _kind(column: Column) -> str:
    text = str(column.type)
    return "list<struct>" if text.startswith("list<") and "struct" in text else text.replace("item: ", "")


def chance_table(facts: Facts, family: str) -> str:
    """Return the scores of guessing on a family's rows of all tiers, by subtask and complexity."""
    groups: dict[tuple[str, int], list[Chance]] = {}
    for chance in chances_in(facts.manifest):
        if chance.family == family:
            groups.setdefault((chance.subtask, chance.complexity), []).append(chance)
    order = list(dict.fromkeys(cell.subtask for cell in facts.split.strata))
    places = sorted(groups, key=lambda place: (order.index(place[0]) if place[0] in order else -1, place[1]))
    names = sorted({name for own in groups.values() for chance in own for name in chance.baselines})
    return markdown([_chance_record(*place, pooled(groups[place]), names) for place in places])


def _chance_record(subtask: str, complexity: int, own: Pooled, names: Sequence[str]) -> dict[str, Any]:
    return {
        "subtask": f"`{subtask}`",
        "complexity": complexity,
        "rows": own.rows,
        "best constant": own.best_constant,
        **{name.replace("_", " "): own.baselines.get(name, "-") for name in names},
    }
