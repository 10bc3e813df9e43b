"""lm-evaluation-harness: a task for each subtask and length, groups for curves, and the metrics beside them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from pipeline.export.base import Export, Written
from pipeline.export.by_stratum import CARRIED, END, Part, as_yaml, copy_metrics, lead, need_keys, template, write_parts
from pipeline.store.files import below
from pipeline.store.split import Selection, Split

SHOWN = {"length": 1, "complexity": 1, "context_tokens": 1, "max_new_tokens": 1, "answers": ["x"], "choices": ["x"]}


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
        stops = parts.stops(split)
        for part in parts.rows:
            below(tasks, f"{part.name}.yaml").write_text(
                _task(lead(split), part, parts.scorers[part].aggregate, stops[part]), encoding="ascii"
            )
        version = split.manifest.version
        for name, (weighted, members) in _groups(lead(split), list(parts.rows)).items():
            text = _group(name, members, version, weighted=weighted)
            below(groups, f"{name}.yaml").write_text(text, encoding="ascii")
    return parts.written


def _common(split: Split) -> str:
    """Return what all tasks share.

    Without samples for few-shot lm-eval reads the whole test split for some; names of columns without braces are taken
    as they are, where a template would turn an answer like ``[1, 2]`` into a list.
    """
    sample = {name: SHOWN.get(name, "x") for name in CARRIED if name != "messages"}
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


def _task(release: str, part: Part, second: str, stops: list[str]) -> str:
    metrics = ["{metric: score, aggregation: mean, higher_is_better: true}"]
    if second:
        metrics.append(f"{{metric: {second}, aggregation: !function utils.{second}, higher_is_better: true}}")
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


def _groups(release: str, parts: list[Part]) -> dict[str, tuple[bool, list[str]]]:
    """Return the members of each group, and whether its mean is one of rows (at one length) or of tasks (over several).

    All of the split, its tiers, the families of each, the lengths of each of those; beside them all families at one
    length, which is as much as memory may hold at a million tokens.
    """
    groups: dict[str, tuple[bool, list[str]]] = defaultdict(lambda: (False, []))
    for part in parts:
        family, tier = f"{release}_{part.family}_{part.tier}", f"{release}_{part.tier}"
        for name, member in ((release, tier), (tier, family), (family, f"{family}_{part.length}")):
            if member not in groups[name][1]:
                groups[name][1].append(member)
        for name in (f"{family}_{part.length}", f"{tier}_{part.length}"):
            groups[name] = (True, [*groups[name][1], f"{release}_{part.name}"])
    return dict(groups)


def _group(name: str, members: list[str], version: str, *, weighted: bool) -> str:
    mean = {"metric": "score", "aggregation": "mean", "weight_by_size": weighted}
    told = {"group": name, "task": members, "aggregate_metric_list": [mean], "metadata": {"version": version}}
    return as_yaml(told)


EXPORT = Export(
    "lm-eval",
    "a folder of tasks and groups for lm-evaluation-harness",
    "lm-evaluation-harness",
    "lm_eval",
    write,
    lambda split, held: {"lead": lead(split), "end": END},
)
