"""The READMEs of exports: blocks that a shell, Python or a parser accepts, and names of what is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from doc_blocks import GIVEN, KINDS, Block, blocks, prose
from fake_checkouts import lay_out
from pipeline.artifacts.split import Selection, Split
from pipeline.export import EXPORTS, export
from repository import TESTS

Made = Callable[[str], Path]
every_harness = pytest.mark.parametrize("name", EXPORTS)
HERE = TESTS


@pytest.fixture(scope="module")
def made(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Made:
    found: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in found:
            found[name] = tmp_path_factory.mktemp(name) / "out"
            export(EXPORTS[name], split, Selection(), found[name])
        return found[name]

    return folder


def page(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="ascii")


def parsed(block: Block) -> None:
    """Parse a block by what reads it."""
    if block.kind == "sh":
        done = subprocess.run(["bash", "-n", "-c", block.text], capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
    elif block.kind == "python":
        compile(block.text, "<block>", "exec")
    elif block.kind in ("yaml", "json", "toml"):
        read = {"yaml": yaml.safe_load, "json": json.loads, "toml": tomllib.loads}[block.kind]
        assert read(block.text)


@every_harness
def test_every_block_is_fenced_named_and_parsed(name: str, made: Made) -> None:
    told = page(made(name))
    found = blocks(told)
    assert found, "a README says how to run its harness"
    assert {block.kind for block in found} <= set(KINDS)
    for block in found:
        parsed(block)
    assert not re.search(r"^(?: {4}|\t)\S", prose(told), re.MULTILINE), "a block that is not fenced"


@every_harness
def test_only_the_reader_fills_in_what_is_listed(name: str, made: Made) -> None:
    for block in blocks(page(made(name))):
        bare = block.filled(dict.fromkeys(GIVEN, "x"))
        assert not re.findall(r"/path/to/\S*|\b(?:NAME|MODEL|FOLDER|TIER|LOG|ID)\b|<[a-z]+>|localhost", bare), bare


@every_harness
def test_lengths_are_those_of_the_rows_that_are_there(name: str, made: Made, split: Split) -> None:
    folder = made(name)
    left = (
        {line.split("\t")[0] for line in (folder / "left_out.tsv").read_text().splitlines()}
        if (folder / "left_out.tsv").is_file()
        else set()
    )
    held = [row for row in split.rows(["id", "length", "context_tokens"]) if row["id"] not in left]
    table = re.findall(r"^\| (\d+) \| (\d+) \|$", page(folder), re.MULTILINE)
    assert {int(length) for length, _ in table} == {row["length"] for row in held}
    most = max(row["context_tokens"] for row in held)
    for setting in re.findall(r"max_(?:model_)?len(?:gth)?[= ](\d+)|max-model-len[= ](\d+)", page(folder)):
        assert int("".join(setting)) in (most, most + 1)


@every_harness
def test_files_that_are_named_are_there(name: str, made: Made) -> None:
    folder = made(name)
    for block in (block for block in blocks(page(folder)) if block.kind == "sh"):
        for path in re.findall(r"(?<![\w./$-])((?:[\w.-]+/)*[\w.-]+\.(?:py|parquet|jsonl|csv|toml))\b", block.text):
            if not OTHERS.search(path):
                assert list(folder.rglob(path)), path


OTHERS = re.compile(r"^(?:(?:scripts|pred|eval)/|eval\.py|run_evaluation\.py|(?:out|batch|predictions)\b)")
"""Files of the harness itself, and files that blocks write."""


@every_harness
def test_what_is_installed_can_be_asked_for_by_that_name(name: str, made: Made, root: Path) -> None:
    """The environment in which `make test-harnesses` runs a README holds what that README installs, at its versions."""
    pins = root / "tests" / "harness" / f"{name}.txt"
    if not pins.is_file():
        return
    known = dict(line.lower().replace("_", "-").split("==") for line in pins.read_text().splitlines() if "==" in line)
    for wanted in installed(made(name)):
        pinned = known.get(wanted.name.lower().replace("_", "-"))
        assert pinned, wanted
        assert wanted.specifier.contains(pinned), (wanted, pinned)


def installed(folder: Path) -> list[Requirement]:
    """Return what the blocks of a README install."""
    lines = [line for block in blocks(page(folder)) for line in block.text.splitlines()]
    told = [line.removeprefix("pip install ") for line in lines if line.startswith("pip install ")]
    return [Requirement(one.strip("'")) for line in told for one in line.split() if not one.startswith(("-", "."))]


@pytest.mark.parametrize("name", ["helmet", "ruler", "mrcr-v2", "longbio", "verl", "nemo-skills", "vllm-bench"])
def test_blocks_run_where_there_is_a_checkout(name: str, split: Split, tmp_path: Path) -> None:
    """Shells and Python run them as they stand; what they call reads the files and knows the options."""
    few = Selection(families=("mrcr",) if name == "mrcr-v2" else ("bio",), limit=1)
    export(EXPORTS[name], split, few, tmp_path / "written")
    folder = (tmp_path / "written").rename(tmp_path / "moved")
    given = {**lay_out(tmp_path), "/path/to/export": str(folder)}
    around = {
        **os.environ,
        "PATH": os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": str(tmp_path / "verl"),
        "HF_HOME": str(tmp_path / "hf"),
    }
    for block in (block for block in blocks(page(folder)) if block.kind != "text"):
        reader = {"sh": ["bash", "-euo", "pipefail"], "python": [sys.executable]}[block.kind]
        command = [*reader, "-c", block.filled(given)]
        done = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)
        assert not done.returncode, f"{block.text}\n{done.stderr[-3000:]}"
