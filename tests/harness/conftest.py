"""The smoke build, exported and run through each harness's own command by a model that answers from a key."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from answering import KEY
from asked import CHANCE, Asked, families
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.export import EXPORTS, export

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def smoke(release: Path) -> Split:
    """Every family and subtask at its shortest lengths."""
    return open_split(release / "o200k")


@pytest.fixture(scope="session")
def right(smoke: Split) -> Asked:
    asked = Asked(smoke, {row["id"]: row["target"] for row in smoke.key_rows(["id", "target"])})
    assert set(asked.scores.values()) == {1.0}
    return asked


@pytest.fixture(scope="session")
def wrong(smoke: Split) -> Asked:
    """The reply to the next row of the family."""
    replies = {
        row["id"]: other["target"]
        for rows in families(smoke)
        for row, other in zip(rows, [*rows[1:], rows[0]], strict=True)
    }
    asked = Asked(smoke, replies)
    for family, most in CHANCE.items():
        assert asked.mean(family=family) < most
    return asked


@pytest.fixture(scope="session")
def exported(smoke: Split, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of an export, moved from where it was written."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            home = tmp_path_factory.mktemp(name)
            export(EXPORTS[name], smoke, Selection(), home / "written")
            made[name] = (home / "written").rename(home / "moved")
        return made[name]

    return folder


@pytest.fixture(scope="session")
def harness(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run a script of this folder in a harness's own environment, and return what it printed."""

    def run(name: str, script: str, *args: object, key: Path | None = None, cwd: Path | None = None, **env: str) -> str:
        home = tmp_path_factory.mktemp("harness")
        python = Path(os.environ.get("CARRARA_HARNESSES", root / ".venv-harness")) / name / "bin" / "python"
        assert python.exists(), f"{python} is missing: run `make .venv-harness/{name}/.ready`"
        ours = {"HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(HERE), **env}
        ran = subprocess.run(
            [str(python), str(HERE / script), *map(str, args)],
            env={**os.environ, **ours, **({KEY: str(key)} if key else {})},
            cwd=cwd or home,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-6000:]
        return ran.stdout + ran.stderr

    return run
