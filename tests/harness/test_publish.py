"""From a build to the Hub and back, by unmodified clients; and the card's code blocks, as a stranger runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from huggingface_hub import HfApi

import builds
from doc_blocks import blocks
from loopback import Hub
from loopback.client import CLIENTS_OWN, whole_environment
from loopback.folders import noise
from pipeline.artifacts import parquet
from pipeline.artifacts.parquet import write_rows
from pipeline.artifacts.split import Split, open_split
from pipeline.cli import cli
from pipeline.publish.hub import release
from pipeline.publish.staging import KEYS_SUFFIX, Staged
from pipeline.rows import DATA_SCHEMA
from published_build import REPO, files, rows

pytestmark = CLIENTS_OWN

DRIVER = r"""
import contextlib, io, json, pathlib, subprocess, sys, types
for kind, block in json.loads(sys.stdin.read()):
    print("##", kind, block.splitlines()[0], flush=True)
    if kind == "bash":
        subprocess.run(["bash", "-euc", block], check=True, stdout=subprocess.DEVNULL)
    else:
        exec(compile(block, "block", "exec"), {"__name__": "__main__"})
"""
LOADED = """
import json, sys
import datasets, pandas, pyarrow.parquet
from huggingface_hub import HfApi, HfFileSystem, snapshot_download

repo, configs = sys.argv[1], sys.argv[2:]
rows = {
    config: datasets.load_dataset(repo, *[config] * bool(config), split="test", revision="v3.0.0").to_list()
    for config in configs
}
some = datasets.load_dataset(repo, "32k", split="test", revision="v3.0.0", streaming=True, columns=["id", "length"])
local = snapshot_download(repo, repo_type="dataset", revision="v3.0.0")
path = f"datasets/{repo}@v3.0.0/data/bio/32k/test-00000-of-00001.parquet"
seen = HfApi().verify_repo_checksums(repo, repo_type="dataset", revision="v3.0.0", local_dir=local)
print(json.dumps({
    "rows": rows,
    "some": list(some),
    "pandas": pandas.read_parquet(f"hf://{path}", columns=["id", "prompt"]).values.tolist(),
    "arrow": pyarrow.parquet.read_table(path, filesystem=HfFileSystem(), columns=["id", "prompt"]).to_pylist(),
    "checked": [seen.checked_count, seen.mismatches, seen.missing_paths],
}))
"""


def ran(hub: Hub, folder: Path, code: str, *args: str, given: str = "") -> str:
    """Run code in a process whose client talks to the Hub, in a folder; return what it printed."""
    environment = whole_environment(hub, folder / "home")
    hf = folder / "bin" / "hf"
    hf.parent.mkdir(exist_ok=True)
    hf.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m huggingface_hub.cli.hf "$@"\n', encoding="utf-8")
    hf.chmod(0o755)
    environment["PATH"] = os.pathsep.join([str(hf.parent), environment["PATH"]])
    command = [sys.executable, "-c", code, *args]
    done = subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=120, check=False
    )
    assert not done.returncode, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def run_here(folder: Path) -> list[tuple[str, str]]:
    """Return the blocks of the pages that a stranger runs; files, and `sh`, need a harness or a checkout of Carrara."""
    pages = [(folder / name).read_text(encoding="utf-8") for name in ("README.md", "ROWS.md", "HARNESSES.md")]
    found = [block for page in pages for block in blocks(page)]
    return [(block.kind, block.text) for block in found if block.kind in ("python", "bash") and not block.file]


def test_what_was_published_is_loaded_row_for_row(hub: Hub, split: Split, inline: Path, tmp_path: Path) -> None:
    release(inline, REPO, "3.0.0")
    seen = json.loads(ran(hub, tmp_path, LOADED, REPO, "", "32k", "index", "latent_list_32k", "bio_32k"))
    own = rows(split.folder, "data")
    assert seen["rows"][""] == seen["rows"]["32k"] == own
    assert seen["rows"]["index"] == rows(split.folder, "keys")
    for family in ("latent_list", "bio"):
        assert seen["rows"][f"{family}_32k"] == [row for row in own if row["family"] == family]
    assert seen["some"] == [{"id": row["id"], "length": row["length"]} for row in own]
    bio = [{"id": row["id"], "prompt": row["prompt"]} for row in own if row["family"] == "bio"]
    assert seen["arrow"] == bio
    assert seen["pandas"] == [list(row.values()) for row in bio]
    assert seen["checked"][:2] == [len(files(inline)) + 1, []]


@pytest.mark.parametrize("keys", ["inline", "separate"])
def test_the_blocks_of_a_card_run(
    hub: Hub, split: Split, inline: Path, apart: Staged, tmp_path: Path, keys: str
) -> None:
    folder = inline if keys == "inline" else apart.folder
    release(folder, REPO, "3.0.0")
    found = run_here(folder)
    assert len(found) == (10 if keys == "inline" else 8)
    replies = [_reply(key) for key in rows(split.folder, "keys", ["id", "target"]) if key["id"].startswith("bio-")]
    (tmp_path / "replies.jsonl").write_text("\n".join(map(json.dumps, replies)) + "\n", encoding="utf-8")
    said = ran(hub, tmp_path, DRIVER, given=json.dumps(found))
    batch = [json.loads(line) for line in (tmp_path / "batch.jsonl").read_text().splitlines()]
    bio = [row for row in rows(folder, "data") if row["family"] == "bio"]
    assert [request["custom_id"] for request in batch] == [row["id"] for row in bio]
    assert [request["body"]["messages"][0]["content"] for request in batch] == [row["prompt"] for row in bio]
    assert [request["body"]["max_completion_tokens"] for request in batch] == [row["max_new_tokens"] for row in bio]
    assert f"{builds.SMOKE_ROWS} rows, {builds.SMOKE_TOKENS} tokens" in said
    if keys == "inline":
        scored = [line for line in said.splitlines() if line.startswith("bio ")]
        assert len(scored) >= 16
        assert all(" 1.000 " in line for line in scored)


def _reply(key: dict[str, Any]) -> dict[str, Any]:
    choices = [{"message": {"role": "assistant", "content": key["target"]}}]
    return {"custom_id": key["id"], "response": {"status_code": 200, "body": {"choices": choices}}}


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let readers read in this process: other processes take longer to start than to read."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)


def publish(split: Split, tmp_path: Path, *more: str) -> str:
    seen = CliRunner().invoke(
        cli, ["publish", str(split.folder), "--repo", "org/carrara-{tokenizer}", "--out", str(tmp_path / "p"), *more]
    )
    assert not seen.exit_code, seen.output
    return seen.output


@pytest.mark.usefixtures("one_core")
def test_the_command_publishes_once(hub: Hub, split: Split, tmp_path: Path) -> None:
    publish(split, tmp_path)
    repo = hub.repos[REPO]
    assert {"README.md", "croissant.json", "figures/depths.png", "figures/strata.svg"} <= set(repo.contents("v3.0.0"))
    sent = hub.uploaded()
    publish(split, tmp_path)
    assert hub.uploaded() == sent


def test_a_dry_run_lists_files_and_sends_nothing(hub: Hub, tmp_path: Path) -> None:
    builds.stages(builds.recipe_file(tmp_path / "tiny.toml"), tmp_path / "tiny").build()
    said = publish(open_split(tmp_path / "tiny" / "o200k"), tmp_path, "--dry-run")
    assert "data/bio/32k/test-00000-of-00001.parquet" in said
    card = tmp_path / "p" / "o200k" / "README.md"
    assert said.splitlines()[-1] == f"card: {card}"
    assert "# Tiny for o200k, v1.0.0" in card.read_text(encoding="utf-8")
    assert not hub.repos
    assert not hub.uploaded()


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("keys", ["separate", "withhold"])
def test_keys_go_where_they_should(hub: Hub, split: Split, tmp_path: Path, keys: str) -> None:
    said = publish(split, tmp_path, "--keys", keys)
    assert not [name for name in hub.repos[REPO].contents("v3.0.0") if name.startswith("keys/")]
    assert (KEYS_SUFFIX in "".join(hub.repos)) == (keys == "separate")
    if keys == "separate":
        assert HfApi().dataset_info(REPO + KEYS_SUFFIX).private
        assert not HfApi().dataset_info(REPO).private
    else:
        assert f"{tmp_path / 'p' / 'o200k-keys'}: the keys stay here" in said


def test_one_row_of_a_stream_takes_two_row_groups_at_the_most(
    hub: Hub, inline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers fetch ahead, row groups and all; a shard of 8M tokens has two of them, and the next one is left alone."""
    monkeypatch.setattr(parquet, "GROUP_BYTES", 12_000_000)
    long = [{**row, "prompt": noise(at, 3_000_000).hex()} for at, row in enumerate(rows(inline, "data")[:8])]
    folder = tmp_path / "long" / "data" / "x" / "1m"
    for at in (0, 1):
        write_rows(folder / f"test-0000{at}-of-00002.parquet", long[at * 4 : at * 4 + 4], DATA_SCHEMA, "x")
    footer = pq.read_metadata(folder / "test-00000-of-00002.parquet")
    groups = [group_bytes(footer.row_group(at)) for at in range(footer.num_row_groups)]
    assert len(groups) == 2
    release(tmp_path / "long", "org/long", "3.0.0")
    before = hub.sent()
    assert ran(hub, tmp_path, STREAMED, "org/long").strip() == long[0]["id"]
    assert hub.sent() - before <= sum(groups) + 250_000


def group_bytes(group: pq.RowGroupMetaData) -> int:
    return sum(group.column(at).total_compressed_size for at in range(group.num_columns))


STREAMED = """
import datasets, sys
rows = datasets.load_dataset(sys.argv[1], split="test", revision="v3.0.0", streaming=True)
print(next(iter(rows))["id"])
"""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--tokenizer", "gemma3"], "has no sealed split for 'gemma3': give one of glm4, o200k"),
        (["--repo", ""], "--repo is empty: give a name such as 'org/name-{tokenizer}'"),
        ([], "is one repo for 2 tokenizers: put {tokenizer} in the name"),
        (["--tokenizer", "o200k", "--dry-run", "--changelog", "none.md"], "'none.md' cannot be read"),
    ],
)
def test_what_cannot_be_published_is_told_in_a_line(split: Split, tmp_path: Path, args: list[str], said: str) -> None:
    for name in ("o200k", "glm4"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_bytes((split.folder / "manifest.json").read_bytes())
    seen = CliRunner().invoke(cli, ["publish", str(tmp_path), "--repo", "org/one", *args])
    assert seen.exit_code == 1
    assert said in seen.output
    assert len(seen.output.strip().splitlines()) == 1


def test_a_missing_token_is_told_before_anything_is_staged(
    hub: Hub, split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    seen = CliRunner().invoke(cli, ["publish", str(split.folder), "--repo", "org/one", "--out", str(tmp_path / "p")])
    assert seen.exit_code == 1
    assert "org/one: publishing needs a token" in seen.output
    assert not (tmp_path / "p").exists()


def test_a_folder_without_a_sealed_split_is_named(tmp_path: Path) -> None:
    seen = CliRunner().invoke(cli, ["publish", str(tmp_path), "--repo", "org/one"])
    assert seen.exit_code == 1
    assert "holds no split" in seen.output
