"""The pages for contributors, done to the letter in a copy of the repository."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pipeline.metrics import score

BLOCK = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Copy:
    """A copy of the repository under version control, in which pages are followed; it has the bytecode too."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name)
        for cache in (root / "pipeline").rglob("__pycache__"):
            shutil.copytree(cache, folder / cache.relative_to(root), ignore=shutil.ignore_patterns("*.pyc.*"))
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a copy")

    def git(self, *args: str) -> str:
        who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")
        return self.ran("git", *who, *args)

    def restore(self) -> None:
        """Take back all that was done, but for bytecode."""
        self.git("checkout", "--quiet", ".")
        self.git("clean", "--quiet", "-fdx", "--exclude=__pycache__")

    def ran(self, *args: str, fails: bool = False) -> str:
        """Run a command in the copy, with the copy's own package; return what it prints.

        Tests that are run there keep their folders beside the copy, and clear away none of others.
        """
        own = {"PYTHONPATH": str(self.folder), "PYTEST_DEBUG_TEMPROOT": str(self.folder.parent)}
        env = {**os.environ, **own}
        seen = subprocess.run(args, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert bool(seen.returncode) == fails, f"{shlex.join(args)}\n{seen.stdout}\n{seen.stderr}"
        return seen.stderr if fails else seen.stdout

    def carrara(self, *args: str) -> str:
        return self.ran(sys.executable, "-m", "pipeline", *args)

    def make(self, line: str) -> str:
        """Do what a line like ``make golden TASK=harbour`` does once the environment is there."""
        _, target, *settings = shlex.split(line)
        shown = self.ran("make", "--no-print-directory", "--dry-run", "--always-make", target, *settings).splitlines()[
            -1
        ]
        return self.ran(*shlex.split(shown.replace(".venv/bin/python", shlex.quote(sys.executable))))

    def linted(self) -> None:
        new = [line.split()[1] for line in self.changes() if line.endswith(".py")]
        self.ran(sys.executable, "-m", "ruff", "check", *new)
        self.ran(sys.executable, "-m", "ruff", "format", "--check", *new)

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
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")
        elif language == "bash":
            commands += text.splitlines()
    return commands


def rows(folder: Path) -> list[dict[str, object]]:
    return [row for path in sorted(folder.rglob("keys/**/*.parquet")) for row in pq.read_table(path).to_pylist()]


@pytest.fixture(scope="module")
def copied(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    folder = tmp_path_factory.mktemp("repository") / "copy"
    folder.mkdir()
    return Copy(root, folder)


@pytest.fixture
def copy(copied: Copy) -> Iterator[Copy]:
    yield copied
    copied.restore()


@pytest.fixture(scope="module")
def depths(root: Path, copied: Copy) -> Path:
    """Follow the page on recipes to its end; return what it builds."""
    for line in write(copied, root / "docs" / "add-a-recipe.md"):
        copied.carrara(*shlex.split(line)[1:])
    assert copied.changes() == []
    made = (copied.folder / "outputs" / "depths").rename(copied.folder.parent / "depths")
    copied.restore()
    return made


@pytest.fixture
def task(root: Path, copy: Copy) -> list[str]:
    """Follow the page on tasks to its commands; return those."""
    return write(copy, root / "docs" / "add-a-task.md")


def test_a_task_is_one_file_one_line_and_one_golden_file(copy: Copy, task: list[str]) -> None:
    golden, commands = task[0], [line for line in task if line.startswith("carrara ")]
    copy.make(golden)
    assert copy.changes() == [
        " M pipeline/tasks/__init__.py",
        "?? pipeline/tasks/harbour.py",
        "?? tests/golden/harbour-first.txt",
    ]
    assert copy.git("diff", "--numstat").split() == ["1", "0", "pipeline/tasks/__init__.py"]
    copy.linted()
    for line in commands:
        if "outputs/predictions.jsonl" in line:
            found = rows(copy.folder / "outputs" / "harbour" / "o200k")
            said = [json.dumps({"id": row["id"], "prediction": row["target"]}) + "\n" for row in found]
            (copy.folder / "outputs" / "predictions.jsonl").write_text("".join(said), encoding="ascii")
        printed = copy.carrara(*shlex.split(line.removeprefix("carrara ")))
    assert "36 rows, 36 answered, 0 missing" in printed
    assert re.search(r"harbour +36 +36 +0 +1\.000", printed)


@pytest.mark.slow
def test_the_task_passes_what_every_task_must(copy: Copy, task: list[str]) -> None:
    golden, check, *_ = task
    copy.make(golden)
    assert " passed" in copy.make(check)
    copy.ran(sys.executable, "-m", "mypy")


def small_model(folder: Path, text: str) -> None:
    """Write what a model's repository holds: a small vocabulary, trained here, and a template that marks replies."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<|turn|>", "<|end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(text.splitlines(keepends=True), trainer)
    folder.mkdir(parents=True)
    made.save(str(folder / "tokenizer.json"))
    template = (
        "<s>{% for m in messages %}<|turn|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
        "<|end|>{% endgeneration %}{% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
    )
    (folder / "chat_template.jinja").write_text(template, encoding="ascii")


def test_a_profile_is_one_file(root: Path, copy: Copy) -> None:
    model, profile = copy.folder / "outputs" / "my-model", copy.folder / "outputs" / "my-model.toml"
    small_model(model, (root / "tests" / "golden" / "bio-standard.txt").read_text(encoding="ascii"))
    write(copy, root / "docs" / "add-a-recipe.md")
    build, verify = write(copy, root / "docs" / "add-a-profile.md")
    text = profile.read_text(encoding="ascii")
    profile.write_text(re.sub("sha256 = .*", "", text), encoding="ascii")
    digest = hashlib.sha256((model / "tokenizer.json").read_bytes()).hexdigest()
    assert digest in copy.ran(sys.executable, "-m", "pipeline", *shlex.split(build)[1:], fails=True)
    profile.write_text(text.replace("DIGEST", digest), encoding="ascii")
    copy.carrara(*shlex.split(build)[1:])
    assert "all recounted by" in copy.carrara(*shlex.split(verify)[1:])
    found = rows(copy.folder / "outputs" / "mine")
    assert {(row["length"], row["context_tokens"]) for row in found} == {(2048, 2048), (8192, 8000)}
    assert {row["template_tokens"] for row in found} == {found[0]["template_tokens"]}
    assert copy.changes() == []
    shutil.rmtree(model)
    profile.unlink()
    assert "profiles my-model" in copy.carrara("freeze", "outputs/mine"), "the folder keeps all that it needs"
    assert "all recounted by" in copy.carrara(*shlex.split(verify)[1:])


def test_a_recipe_is_one_file(depths: Path) -> None:
    assert len(rows(depths)) == 36


def test_a_harness_is_a_module_its_readme_and_one_line(root: Path, copy: Copy, depths: Path) -> None:
    *commands, check = write(copy, root / "docs" / "add-a-harness.md")
    assert copy.changes() == [
        " M pipeline/export/__init__.py",
        "?? pipeline/export/jsonl.py",
        "?? pipeline/export/templates/jsonl/README.md",
    ]
    assert copy.git("diff", "--numstat").split() == ["1", "0", "pipeline/export/__init__.py"]
    copy.linted()
    shutil.copytree(depths, copy.folder / "outputs" / "depths")
    for line in commands:
        copy.carrara(*shlex.split(line)[1:])
    out = copy.folder / "outputs" / "jsonl"
    lines = [json.loads(line) for path in sorted(out.glob("*.jsonl")) for line in path.read_text().splitlines()]
    assert {line["id"] for line in lines} == {row["id"] for row in rows(depths)}
    assert all(score(line["key"], line["key"]["target"]) == 1.0 for line in lines)
    assert "## What is left out\n\nNothing." in (out / "README.md").read_text(encoding="ascii")
    assert check.startswith(".venv/bin/python -m pytest tests/unit/export/test_harnesses.py")


@pytest.mark.slow
def test_the_harness_passes_what_every_harness_must(root: Path, copy: Copy) -> None:
    *_, check = write(copy, root / "docs" / "add-a-harness.md")
    assert " passed" in copy.ran(sys.executable, *shlex.split(check)[1:])
    copy.ran(sys.executable, "-m", "mypy")
