"""verifiers: a package with a taskset of the rows, and a harness that gives each row its own limit.

It has the layout of the Environments Hub: ``pyproject.toml`` with tags, README, ``load_environment``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomlkit

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.export.common import copy_metrics, need_keys, task_prefix, template, write_parts


def package(split: Split) -> str:
    """Return the name of the package, which is also the taskset's id."""
    return f"{task_prefix(split)}_vf"


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write a project with one package: ``__init__.py``, ``data`` and metrics.py."""
    need_keys(split, "verifiers")
    home = path_below(folder, package(split))
    parts = write_parts(split, selection, home / "data", turns=True)
    if parts.rows:
        copy_metrics(home)
        (folder / "headline.py").write_text(template("headline.py"), encoding="ascii")
        (home / "__init__.py").write_text(template("verifiers/environment.py"), encoding="ascii")
        (folder / "pyproject.toml").write_text(tomlkit.dumps(_project(split)), encoding="utf-8")
    return parts.written


def _project(split: Split) -> dict[str, Any]:
    about = {
        "name": package(split).replace("_", "-"),
        "version": split.manifest.version,
        "description": f"{split.title}: long-context questions, exact to the token",
        "readme": "README.md",
        "requires-python": ">=3.11",
        "license": "Apache-2.0",
        "dependencies": ["verifiers>=0.4,<0.5", "pyarrow>=21"],
    }
    tags = ["long-context", "eval", "single-turn", split.manifest.release, split.tokenizer]
    wheel = {"hatch": {"build": {"targets": {"wheel": {"packages": [package(split)]}}}}}
    build = {"requires": ["hatchling"], "build-backend": "hatchling.build"}
    return {"build-system": build, "project": {**about, "tags": tags}, "tool": wheel}


EXPORT = Export(
    name="verifiers",
    title="a taskset and harness for verifiers (v1), with real turns as messages",
    harness="verifiers",
    write=write,
    values=lambda split, rows: {"package": package(split)},
    sampling="This package's harness sends `temperature` 0 and no seed; `--sampling.temperature` and the like "
    "replace them.",
    headline="verifiers knows only the mean of all rows, which it prints for `row_score`; the headline "
    "of its traces, to the digit, is printed by `headline.py` here (see above).",
)
