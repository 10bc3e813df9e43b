"""The pages for contributors, done to the letter in a copy of the repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Copy:
    """A copy of the repository under version control, in which a page is followed."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes((root / name).read_bytes())
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a copy")

    def git(self, *args: str) -> str:
        who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")
        return self.ran("git", *who, *args)

    def ran(self, *args: str) -> str:
        """Run a command in the copy, with the copy's own package; return what it prints."""
        env = {**os.environ, "PYTHONPATH": str(self.folder)}
        seen = subprocess.run(args, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert seen.returncode == 0, f"{shlex.join(args)}\n{seen.stdout}\n{seen.stderr}"
        return seen.stdout

    def carrara(self, *args: str) -> str:
        return self.ran(sys.executable, "-m", "pipeline", *args)

    def make(self, line: str) -> str:
        """Do what a line like ``make golden TASK=niah`` does once the environment is there."""
        _, target, *settings = shlex.split(line)
        shown = self.ran("make", "--dry-run", "--always-make", target, *settings).splitlines()[-1]
        return self.ran(*shlex.split(shown.replace(".venv/bin/python", shlex.quote(sys.executable))))

    def changes(self) -> list[str]:
        return self.git("status", "--porcelain", "--untracked-files=all").splitlines()


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Return language, file and text of every block of code of a page."""
    return [match.groups(default="") for match in BLOCK.finditer(page.read_text(encoding="ascii"))]  # type: ignore[misc]


def edit(path: Path, diff: str) -> None:
    """Apply a change that is shown as the lines around it: new lines come behind the one that stands before them."""
    kept = "".join(line[1:] for line in diff.splitlines(keepends=True) if not line.startswith("+"))
    made = "".join(line[1:] for line in diff.splitlines(keepends=True) if not line.startswith("-"))
    text = path.read_text(encoding="utf-8")
    assert text.count(kept) == 1, f"{path.name} does not hold the lines that the page shows"
    path.write_text(text.replace(kept, made), encoding="utf-8")


def write(copy: Copy, page: Path) -> list[str]:
    """Make every file and change that a page shows; return its lines of commands."""
    commands: list[str] = []
    for language, file, text in blocks(page):
        if language == "diff":
            edit(copy.folder / file, text)
        elif file:
            path = copy.folder / file
            assert not path.exists(), f"{file} is there already"
            path.write_text(text, encoding="ascii")
        elif language == "sh":
            commands += text.splitlines()
    return commands


def rows(folder: Path) -> list[dict[str, object]]:
    return [row for path in sorted(folder.rglob("keys/**/*.parquet")) for row in pq.read_table(path).to_pylist()]


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Copy:
    (tmp_path / "copy").mkdir()
    return Copy(root, tmp_path / "copy")


@pytest.fixture
def task(root: Path, copy: Copy) -> list[str]:
    """Follow the page on tasks to its commands; return those."""
    return write(copy, root / "docs" / "add-a-task.md")


def test_a_task_is_one_file_one_line_and_one_golden_file(copy: Copy, task: list[str]) -> None:
    golden, _, *commands = task
    copy.make(golden)
    assert copy.changes() == [
        " M pipeline/tasks/__init__.py",
        "?? pipeline/tasks/niah.py",
        "?? tests/golden/niah-lockers.txt",
    ]
    assert copy.git("diff", "--numstat").split() == ["1", "0", "pipeline/tasks/__init__.py"]
    copy.ran(sys.executable, "-m", "ruff", "check", ".")
    copy.ran(sys.executable, "-m", "ruff", "format", "--check", ".")
    for line in commands:
        if "predictions.jsonl" in line:
            found = rows(copy.folder / "outputs" / "lockers" / "o200k")
            said = [json.dumps({"id": row["id"], "prediction": row["target"]}) + "\n" for row in found]
            (copy.folder / "outputs" / "predictions.jsonl").write_text("".join(said), encoding="ascii")
        printed = copy.carrara(*shlex.split(line.removeprefix("carrara ")))
    assert "36 rows, 36 answered, 0 missing" in printed
    assert re.search(r"niah +36 +36 +1\.000", printed)


@pytest.mark.slow
def test_the_task_passes_what_every_task_must(copy: Copy, task: list[str]) -> None:
    golden, check, *_ = task
    copy.make(golden)
    assert " passed" in copy.make(check)
    copy.ran(sys.executable, "-m", "mypy")
