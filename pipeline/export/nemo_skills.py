"""NeMo-Skills: an external repository with a benchmark for each limit of the reply, scored by metrics.py."""

from __future__ import annotations

import json
from pathlib import Path

import tomlkit

from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.export.common import (
    benchmarks,
    copy_metrics,
    messages_of,
    need_keys,
    put,
    reply_limits_of,
    task_prefix,
    template,
    write_by_reply_limit,
)

PACKAGE = "carrara_skills"


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write ``benchmark_map.json``, ``pyproject.toml`` and the package: data sets, evaluator, metrics."""
    need_keys(split, "NeMo-Skills")
    name, home = task_prefix(split), folder / PACKAGE
    tally, limits = write_by_reply_limit(
        split, selection, lambda limit: home / "dataset" / f"{name}_{limit}" / "test.jsonl", messages_of, turns=True
    )
    if limits:
        copy_metrics(home)
        paths = {each: f"./{PACKAGE}/dataset/{each}" for each in benchmarks(name, limits)}
        put(folder, "benchmark_map.json", json.dumps(paths, indent=1) + "\n")
        put(folder, "pyproject.toml", _project(split))
        put(home, "__init__.py", "")
        put(home, "scoring.py", template("nemo_skills/scoring.py"))
        for each, limit in benchmarks(name, limits).items():
            text = (
                template("nemo_skills/dataset.py")
                + f'GENERATION_ARGS = f"{{ARGS}} ++inference.tokens_to_generate={limit}"\n'
            )
            put(home, f"dataset/{each}/__init__.py", text)
            put(home, f"dataset/{each}/prepare.py", template("nemo_skills/prepare.py"))
    return tally.written


def _project(split: Split) -> str:
    about = {"name": PACKAGE.replace("_", "-"), "version": split.manifest.version, "requires-python": ">=3.10"}
    tool = {"setuptools": {"packages": {"find": {"include": [f"{PACKAGE}*"]}}}}
    return tomlkit.dumps({"project": about, "tool": tool})


EXPORT = Export(
    name="nemo-skills",
    title="a repository of benchmarks for NeMo-Skills, with real turns as messages",
    harness="NeMo-Skills",
    write=write,
    values=lambda split, rows: {
        "reply_limits": benchmarks(task_prefix(split), reply_limits_of(rows)),
        "package": PACKAGE,
    },
    sampling="The benchmarks send `temperature` 0 and no seed.",
    headline="NeMo-Skills has one mean for each of its benchmarks, which hold the rows with one reply limit.",
    read=False,
)
