"""The lines of `docs/clusters.md` run as they stand, on stand-ins for the commands of a cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import builds
import doc_pages
from pipeline.assemble import plan as plans


@pytest.fixture
def run_block(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs the block of the page below a heading, with a small recipe in place of its own."""
    recipe = builds.recipe_file(tmp_path / "tiny.toml")

    def run(heading: str, *changes: tuple[str, str], **env: str) -> subprocess.CompletedProcess[str]:
        ours = [(" 1m --tokenizer all --size full ", f" {recipe} --tokenizer o200k "), ("/shared", str(tmp_path))]
        return doc_pages.run(
            doc_pages.changed(doc_pages.block_of("clusters.md", heading), *ours, *changes), tmp_path, env
        )

    return run


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
    builds.stages(builds.recipe_file(tmp_path / "local.toml"), tmp_path / "local").build()
    return builds.contents(tmp_path / "local")


def test_a_job_array_and_one_sealing_job(
    run_block: Callable[..., subprocess.CompletedProcess[str]], whole: dict[str, str], tmp_path: Path
) -> None:
    """One of two tasks fails: the sealing job makes its part and seals."""
    ended = run_block("Slurm", ("1-8", "1-2"), ("/8", "/2"), ("--workers 16 ", "--workers 1 "), FAILED="2")
    assert ended.returncode == 0, ended.stderr
    part, sealed = builds.lines(ended.stderr)
    assert part == (
        f"{tmp_path}/v3.0.0/o200k: not sealed: in tier 32k, bio has 3 of 5 shards: build without --family and "
        "--part to complete it"
    )
    assert sealed.startswith(f"{tmp_path}/v3.0.0/o200k/data: 12 rows")
    assert builds.contents(tmp_path / "v3.0.0") == whole


@pytest.mark.slow
def test_workers_over_ssh(
    run_block: Callable[..., subprocess.CompletedProcess[str]], whole: dict[str, str], tmp_path: Path
) -> None:
    ended = run_block("SSH", (f"{tmp_path}/venv/bin/", ""), ("--nworkers 16", "--nworkers 1"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{tmp_path}/v3.0.0/o200k/data: 12 rows")
    assert builds.contents(tmp_path / "v3.0.0") == whole
