"""The lines of `docs/stores.md` run as they stand, and commands send no more requests than they should."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import builds
import doc_pages
from loopback.buckets import KEY, SECRET, Buckets, environment, settled
from loopback.proxy import Proxy
from pipeline.artifacts.split import open_split
from pipeline.assemble import plan as plans
from pipeline.cli import cli
from pipeline.storage import parse_location

PAGE = "stores.md"
REQUESTS = {
    "build": (20, 75),
    "build again, all there": (3, 42),
    "verify": (5, 28),
    "verify --against": (4, 44),
    "score": (1, 5),
}
"""The most requests of a command when one worker builds one family for one tokenizer: for each shard, and beyond."""
NOBODY = {name: "" for name in environment("") if name.startswith("AWS_") and "FILE" not in name}
"""An environment that says nothing of a store; an empty name counts as none."""


@pytest.fixture(scope="module")
def buckets() -> Iterator[Buckets]:
    with Buckets() as made:
        yield made


@pytest.fixture
def proxy(buckets: Buckets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(tmp_path / "proxy", buckets) as made:
        yield made


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return builds.recipe_file(tmp_path / "tiny.toml", rows=2)


@pytest.fixture
def whole(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
    builds.stages(recipe, recipe.parent / "local").build()
    return recipe.parent / "local"


def test_a_store_that_a_file_of_fsspec_describes(proxy: Proxy, buckets: Buckets, recipe: Path, whole: Path) -> None:
    """The environment says nothing: the configuration of the page does, and then the lines for S3 run."""
    bucket, folder = buckets.bucket(), recipe.parent
    told = doc_pages.changed(
        doc_pages.block_of(PAGE, "MinIO and other endpoints", "json"),
        ("https://minio.example:9000", proxy.url),
        ("my-key", KEY),
        ("my-secret", SECRET),
    )
    (folder / "fsspec").mkdir()
    (folder / "fsspec" / "s3.json").write_text(told, encoding="ascii")
    keys = [{"id": row["id"], "prediction": row["target"]} for row in open_split(whole).key_rows(["id", "target"])]
    (folder / "predictions.jsonl").write_text("".join(json.dumps(key) + "\n" for key in keys), encoding="ascii")
    block = doc_pages.changed(
        doc_pages.block_of(PAGE, "S3"),
        (" 128k ", f" {recipe} --tokenizer o200k "),
        ("my-bucket", bucket),
        *((f"carrara {name}", f"carrara {name} --workers 1") for name in ("build", "verify", "score")),
    )
    env = {**dict.fromkeys(NOBODY, ""), "FSSPEC_CONFIG_DIR": str(folder / "fsspec")}
    ended = doc_pages.run(block, folder, env)
    assert (ended.returncode, ended.stderr.count("carrara: ")) == (0, 0), ended.stderr
    assert "4 rows" in ended.stdout
    assert "headline" in ended.stdout
    assert buckets.contents(bucket, "v3.0.0/") == builds.contents(whole)


def test_a_store_that_the_environment_describes(proxy: Proxy, buckets: Buckets, recipe: Path) -> None:
    block = doc_pages.changed(
        doc_pages.block_of(PAGE, "MinIO and other endpoints"),
        ("https://minio.example:9000", proxy.url),
        (" 128k ", f" {recipe} --tokenizer o200k "),
        ("my-bucket", bucket := buckets.bucket()),
    )
    ended = doc_pages.run(block, recipe.parent, {"AWS_DEFAULT_REGION": "us-east-1"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"in s3://{bucket}/v3.0.0" in ended.stdout
    assert buckets.contents(bucket) == {}


@pytest.mark.slow
def test_dask_without_a_shared_folder(proxy: Proxy, buckets: Buckets, recipe: Path, whole: Path) -> None:
    block = doc_pages.changed(
        doc_pages.block_of("clusters.md", "SSH"),
        (" 1m --tokenizer all --size full ", f" {recipe} --tokenizer o200k "),
        ("/shared/v3.0.0", f"s3://{(bucket := buckets.bucket())}/v3.0.0"),
        ("/shared/venv/bin/", ""),
        ("/shared", str(recipe.parent)),
        ("--nworkers 16", "--nworkers 1"),
    )
    ended = doc_pages.run(block, recipe.parent, environment(proxy.url))
    assert ended.returncode == 0, ended.stderr
    assert buckets.contents(bucket, "v3.0.0/") == builds.contents(whole)


@pytest.mark.slow
def test_an_upload_is_made_on_a_disk(proxy: Proxy, buckets: Buckets, recipe: Path, whole: Path) -> None:
    bucket = buckets.bucket()
    for path in builds.files(whole):
        buckets.put(bucket, f"v3.0.0/{path.relative_to(whole)}", path.read_bytes())
    text = (doc_pages.DOCS / PAGE).read_text(encoding="utf-8")
    (line,) = re.findall(r"^carrara publish .*$", text, re.MULTILINE)
    ended = doc_pages.run(doc_pages.changed(line, ("my-bucket", bucket)), recipe.parent, environment(proxy.url))
    assert ended.returncode == 0, ended.stderr
    assert (recipe.parent / "published" / "o200k" / "README.md").is_file()


def test_requests_are_no_more_than_a_command_needs(proxy: Proxy, buckets: Buckets, recipe: Path, whole: Path) -> None:
    bucket = buckets.bucket()
    out, said = parse_location(f"s3://{bucket}/v1"), {}
    with settled(proxy.url):
        for command, act in {
            "build": lambda: builds.stages(recipe, out).build(),
            "build again, all there": lambda: builds.stages(recipe, out).build(),
            "verify": lambda: builds.stages(recipe, out).verify(),
            "verify --against": lambda: against(f"{out}/o200k"),
            "score": lambda: list(open_split(out / "o200k").key_rows()),
        }.items():
            proxy.log.clear()
            act()
            said[command] = len(proxy.log)
    assert said.keys() == REQUESTS.keys()
    shards = len(list((whole / "o200k/data/bio/32k").iterdir()))
    for command, (each, more) in REQUESTS.items():
        most = shards * each + more
        assert 0.5 * most <= said[command] <= most, command


def against(where: str) -> None:
    ended = CliRunner().invoke(cli, ["verify", "--against", where, "--workers", "1", "--quiet"])
    assert ended.exit_code == 0, ended.stderr
