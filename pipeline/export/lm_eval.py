"""lm-evaluation-harness: a task for each subtask and length, groups for curves, and the metrics beside them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.export.common import (
    CARRIED,
    END,
    Part,
    as_yaml,
    copy_metrics,
    need_keys,
    task_prefix,
    template,
    write_parts,
)
from pipeline.metrics import Scorer

HEADLINE, AT_LENGTH = "headline", "at_length"
SAMPLE_VALUES = {
    "length": 1,
    "complexity": 1,
    "context_tokens": 1,
    "max_new_tokens": 1,
    "answers": ["x"],
    "choices": ["x"],
}


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write ``tasks``, ``groups``, ``data`` and metrics.py."""
    need_keys(split, "lm-eval")
    parts = write_parts(split, selection, folder / "data", turns=False)
    if parts.rows:
        copy_metrics(folder)
        tasks, groups = folder / "tasks", folder / "groups"
        for made in (tasks, groups):
            made.mkdir()
        (tasks / "utils.py").write_text(template("lm_eval/utils.py"), encoding="ascii")
        (tasks / "_common_yaml").write_text(_common(split), encoding="ascii")
        stops, weights = parts.stops(split), headline_weights(parts.rows)
        (tasks / "weights.json").write_text(json.dumps(weights, indent=1) + "\n", encoding="ascii")
        for part in parts.rows:
            own = [name for name, some in weights.items() if part.name in some]
            path_below(tasks, f"{part.name}.yaml").write_text(
                _task(task_prefix(split), part, parts.scorers[part], stops[part], own), encoding="ascii"
            )
        version = split.manifest.version
        for name, (metric, members) in _groups(task_prefix(split), list(parts.rows)).items():
            path_below(groups, f"{name}.yaml").write_text(_group(name, members, version, metric), encoding="ascii")
    return parts.written


def _common(split: Split) -> str:
    """Return the common configuration of all tasks.

    Without few-shot samples, lm-eval would read the whole test split for some. Column names have no braces, since a
    template would turn an answer like ``[1, 2]`` into a list.
    """
    sample = {name: SAMPLE_VALUES.get(name, "x") for name in CARRIED if name != "messages"}
    return (
        "output_type: generate_until\n"
        "custom_dataset: !function utils.load\n"
        "test_split: test\n"
        "doc_to_text: prompt\n"
        "doc_to_target: target\n"
        'target_delimiter: ""\n'
        "process_results: !function utils.process_results\n"
        "num_fewshot: 0\n"
        + as_yaml({"fewshot_config": {"samples": [sample]}, "metadata": {"version": split.manifest.version}})
    )


def _task(release: str, part: Part, scorer: Scorer, stops: list[str], weighted: list[str]) -> str:
    second = scorer.aggregate
    metrics = ["{metric: score, aggregation: mean, higher_is_better: true}"]
    if second:
        metrics.append(f"{{metric: {second}, aggregation: !function utils.{second}, higher_is_better: true}}")
    mean = "!function utils.paired" if scorer.paired else "mean"
    metrics += [f"{{metric: {name}, aggregation: {mean}, higher_is_better: true}}" for name in weighted]
    return (
        "include: _common_yaml\n"
        + as_yaml(
            {
                "task": f"{release}_{part.name}",
                "dataset_kwargs": {"file": f"{part.name}.parquet"},
                "generation_kwargs": {
                    "until": stops, "do_sample": False, "temperature": 0.0, "max_gen_toks": part.max_new_tokens,
                },
            }
        )
        + "metric_list:\n"
        + "".join(f"  - {metric}\n" for metric in metrics)
    )  # fmt: skip


def headline_weights(rows: Mapping[Part, int]) -> dict[str, dict[str, float]]:
    """Return the weights of tasks in the headlines of all rows and of each length, by the name of the metric.

    A group of lm-eval only has the plain mean of the metrics of all tasks below it, however they are nested. With a
    weight on each task's metric, that mean is one over families, their subtasks, and the lengths of these. If there
    are several tiers, each has its own headline.
    """
    tiers = list(dict.fromkeys(part.tier for part in rows))
    found = {HEADLINE: _weights(rows)}
    if len(tiers) > 1:
        for tier in tiers:
            found[f"{HEADLINE}_{tier}"] = _weights({part: count for part, count in rows.items() if part.tier == tier})
    places = dict.fromkeys((part.tier, part.length) for part in rows)
    several = [_weights({part: rows[part] for part in rows if (part.tier, part.length) == place}) for place in places]
    return {**found, AT_LENGTH: {name: weight for some in several for name, weight in some.items()}}


def _weights(rows: Mapping[Part, int]) -> dict[str, float]:
    """Return the factor of each task's score with which their plain mean is the headline."""
    sizes: Counter[tuple[str, str, int]] = Counter()
    for part, count in rows.items():
        sizes[part.family, part.subtask, part.length] += count
    lengths = Counter((family, subtask) for family, subtask, _ in sizes)
    subtasks = Counter(family for family, _ in lengths)
    return {
        part.name: len(rows)
        * count
        / sizes[part.family, part.subtask, part.length]
        / (len(subtasks) * subtasks[part.family] * lengths[part.family, part.subtask])
        for part, count in rows.items()
    }


def _groups(release: str, parts: list[Part]) -> dict[str, tuple[str, list[str]]]:
    """Return the metric and the members of each group.

    Groups are nested: the whole split, its tiers, the families of each, the lengths of each family. Others have all
    families at one length, which may be all that fits into memory at a million tokens.
    """
    groups: dict[str, tuple[str, list[str]]] = {}
    several = len({part.tier for part in parts}) > 1
    for part in parts:
        family, tier, name = f"{release}_{part.family}_{part.tier}", f"{release}_{part.tier}", f"{release}_{part.name}"
        for group, metric, member in (
            (release, HEADLINE, tier),
            (tier, f"{HEADLINE}_{part.tier}" if several else HEADLINE, family),
            (family, "score", f"{family}_{part.length}"),
            (f"{family}_{part.length}", "score", name),
            (f"{tier}_{part.length}", AT_LENGTH, name),
        ):
            members = groups.setdefault(group, (metric, []))[1]
            if member not in members:
                members.append(member)
    return groups


def _group(name: str, members: list[str], version: str, metric: str) -> str:
    mean = {"metric": metric, "aggregation": "mean", "weight_by_size": False}
    settings = {"group": name, "task": members, "aggregate_metric_list": [mean], "metadata": {"version": version}}
    return as_yaml(settings)


EXPORT = Export(
    name="lm-eval",
    title="a folder of tasks and groups for lm-evaluation-harness",
    harness="lm-evaluation-harness",
    write=write,
    values=lambda split, rows: {"prefix": task_prefix(split), "end": END},
    sampling="Every task sets `temperature` 0 and `do_sample` false; lm-eval's API models add a `seed` of 1234.",
    headline="It is exactly the `headline` of the group that holds everything. In that column and `at_length`, a "
    "task's line is only its part of the mean of its groups.",
)
