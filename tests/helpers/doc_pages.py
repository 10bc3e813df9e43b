"""Runs blocks of pages in a shell as they are, with stand-ins for the commands of a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import builds

DOCS = Path(__file__).resolve().parents[2] / "docs"
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


def block_of(page: str, heading: str, kind: str = "bash") -> str:
    """Return the first block below a heading of a page of the documentation."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.split(f" {heading}\n")[1].split(f"```{kind}\n")[1].split("```")[0]


def changed(block: str, *changes: tuple[str, str]) -> str:
    """Return a block with replacements, each of which must apply."""
    for old, new in changes:
        assert old in block, old
        block = block.replace(old, new)
    return block


def run(block: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a block in a folder, and kill what it left in the background."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    for name, text in COMMANDS.items():
        (commands / name).write_text(text, encoding="ascii")
        (commands / name).chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
        shell = subprocess.Popen(
            ["bash", "-e", "-c", block],
            env={**os.environ, "PATH": path, **env},
            cwd=folder,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    try:
        shell.wait(timeout=120)
    finally:
        for pid in builds.group_of(shell.pid):
            builds.signalled(pid, signal.SIGKILL)
    outputs = [(folder / name).read_text() for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(block, shell.returncode, *outputs)
