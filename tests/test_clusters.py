"""The lines of `docs/clusters.md` run as they stand, on stand-ins for the commands of a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import builds
from pipeline.assemble import plan as plans

PAGE = Path(__file__).resolve().parent.parent / "docs" / "clusters.md"
CARRARA = f'#!/bin/sh\nexec "{sys.executable}" "{Path(builds.__file__).resolve()}" "$@"\n'
SBATCH = """#!/bin/bash
# Runs a script at once, or each task of its array, and prints the number of the job.
script=${!#}
[[ $* != *--dependency=* || $* == *--dependency=afterany:7* ]] || exit 9
range=$(sed -nE 's/^#SBATCH .*--array=([0-9]+)-([0-9]+).*/\\1 \\2/p' "$script")
for task in $(seq ${range:-0 0}); do
  [ "$task" != "$FAILED" ] && SLURM_ARRAY_TASK_ID=$task bash "$script" >&2
done
echo 7
"""
COMMANDS = {
    "carrara": CARRARA,
    "sbatch": SBATCH,
    "srun": '#!/bin/sh\nexec "$@"\n',
    "ssh": '#!/bin/sh\nshift\nexec "$@"\n',
    "dask": f'#!/bin/sh\nexec "{sys.executable}" -m dask "$@"\n',
}


@pytest.fixture
def run_block(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs the block of the page below a heading, with a small recipe in place of its own."""
    recipe = builds.recipe_file(tmp_path / "tiny.toml")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in COMMANDS.items():
        (folder / name).write_text(text, encoding="ascii")
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"

    def run(heading: str, *changes: tuple[str, str], **env: str) -> subprocess.CompletedProcess[str]:
        block = PAGE.read_text(encoding="utf-8").split(f"### {heading}\n")[1].split("```bash\n")[1].split("```")[0]
        ours = [(" 1m ", f" {recipe} --tokenizer o200k "), ("/shared", str(tmp_path))]
        for old, new in (*ours, *changes):
            assert old in block, old
            block = block.replace(old, new)
        with (tmp_path / "stdout").open("w") as stdout, (tmp_path / "stderr").open("w") as stderr:
            shell = subprocess.Popen(
                ["bash", "-c", block],
                env={**os.environ, "PATH": path, **env},
                cwd=tmp_path,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            shell.wait(timeout=120)
        finally:
            for pid in builds.group_of(shell.pid):  # what it left in the background
                builds.signalled(pid, signal.SIGKILL)
        said = [(tmp_path / name).read_text() for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(block, shell.returncode, *said)

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
    assert (
        part == f"{tmp_path}/v2.0.0/o200k: not sealed yet: other parts or families of the recipe are still to be built"
    )
    assert sealed.startswith(f"{tmp_path}/v2.0.0/o200k/data: 12 rows")
    assert builds.contents(tmp_path / "v2.0.0") == whole


@pytest.mark.slow
def test_workers_over_ssh(
    run_block: Callable[..., subprocess.CompletedProcess[str]], whole: dict[str, str], tmp_path: Path
) -> None:
    ended = run_block("SSH", (f"{tmp_path}/venv/bin/", ""), ("--nworkers 16", "--nworkers 1"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{tmp_path}/v2.0.0/o200k/data: 12 rows")
    assert builds.contents(tmp_path / "v2.0.0") == whole
