"""A store that fails in every way: the bytes of an undisturbed build and nothing left aside, or one line."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import builds
from dask_clusters import Cluster
from forked_commands import ForkedRun
from frozen_releases import carrara, error_line
from loopback import Fault
from loopback.buckets import Buckets, environment, settled
from loopback.proxy import Proxy
from pipeline.assemble import plan as plans
from pipeline.cli import cli
from pipeline.errors import BuildError
from pipeline.storage import StoreError, parse_location
from pipeline.storage import requests as asking
from pipeline.streams import stream

CASES = int(os.environ.get("CARRARA_FAULT_CASES", "0"))
STORMS, KILLS = (60, 40) if CASES else (1, 1)
"""Builds through random faults, and kills of clients."""
EVERY = 3
"""One request of so many is struck in a storm."""
WAYS: tuple[dict[str, Any], ...] = (
    {"cut": 0},
    {"cut": 700},
    {"done": True},
    {"status": 503, "message": "Please reduce your request rate."},
    {"status": 500},
    {"delay": 0.1},
)
"""No connection, the middle of a body, a reply that is lost, two refusals, and a request that takes its time."""


@pytest.fixture(scope="module")
def buckets() -> Iterator[Buckets]:
    """A server whose listings have pages of three objects."""
    with Buckets(page=3) as made:
        yield made


@pytest.fixture
def proxy(buckets: Buckets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
    monkeypatch.setattr(asking, "_OPEN", {})
    with Proxy(tmp_path / "proxy", buckets) as made, settled(made.url):
        yield made


@pytest.fixture
def bucket(buckets: Buckets) -> str:
    return buckets.bucket()


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.recipe_file(tmp_path_factory.mktemp("recipe") / "tiny.toml", rows=2)


@pytest.fixture(scope="module")
def whole(recipe: Path) -> dict[str, str]:
    """The contents of a build on a disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
        builds.stages(recipe, recipe.parent / "local").build()
    return builds.contents(recipe.parent / "local")


def build(recipe: Path, bucket: str) -> None:
    assert all(builds.stages(recipe, parse_location(f"s3://{bucket}/v1")).build())


def check(buckets: Buckets, bucket: str, whole: dict[str, str]) -> None:
    """Compare a bucket with a build, byte by byte; no object is too much, and no upload unfinished."""
    assert buckets.contents(bucket, "v1/") == whole
    assert set(buckets.stamps(bucket)) == {f"v1/{name}" for name in whole}
    assert buckets.unfinished(bucket) == []


def said(act: Any, *given: Any) -> str:
    with pytest.raises((BuildError, StoreError)) as caught:
        act(*given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.faults
@pytest.mark.parametrize("number", range(STORMS))
def test_bytes_are_the_same_after_a_storm(
    number: int, proxy: Proxy, buckets: Buckets, bucket: str, recipe: Path, whole: dict[str, str]
) -> None:
    draw = stream("storm", number, time.time_ns() if CASES else 0)
    places = sorted(draw.sample(range(400), 400 // EVERY))
    planned = [proxy.fail(".", skip=at, **draw.choice(WAYS)) for at in places]
    build(recipe, bucket)
    assert sum(not fault.times for fault in planned) >= 20, "it struck"
    check(buckets, bucket, whole)


def test_listings_that_lag(proxy: Proxy, buckets: Buckets, bucket: str, recipe: Path, whole: dict[str, str]) -> None:
    """They lack what was written and show what is gone, before and behind each step of a build."""
    strange = "v1/o200k/data/bio/32k/test-00007-of-00009.parquet"
    buckets.put(bucket, strange, b"of another recipe")
    proxy.lag = 3600.0
    build(recipe, bucket)
    check(buckets, bucket, whole)
    assert strange in proxy.shown(bucket)
    build(recipe, bucket)
    builds.stages(recipe, parse_location(f"s3://{bucket}/v1")).verify()
    copied = CliRunner().invoke(cli, ["verify", "--against", f"s3://{bucket}/v1/o200k", "--workers", "1", "--quiet"])
    assert (copied.exit_code, copied.stderr) == (0, "")
    check(buckets, bucket, whole)


STAYING = {
    "no rows are taken": ({"match": "PUT .*/data/.*00001-of", "status": 503}, "the store is too busy or at fault ("),
    "bodies are cut": ({"match": "GET .*/counts/", "cut": 10}, "the store cannot be reached ("),
    "replies are lost": ({"match": "PUT .*manifest", "done": True}, "the store cannot be reached ("),
    "nothing may be written": ({"match": "PUT ", "status": 403}, "access is denied ("),
}
"""Faults that do not pass: what is struck each time, and what is said."""


@pytest.mark.parametrize(("fault", "told"), STAYING.values(), ids=STAYING)
def test_a_fault_that_stays_is_one_line_and_the_next_run_goes_on(
    fault: dict[str, Any],
    told: str,
    proxy: Proxy,
    buckets: Buckets,
    bucket: str,
    recipe: Path,
    whole: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "PAUSES", (0.01, 0.02))
    proxy.faults.plan(Fault(**fault, times=-1))
    line = said(build, recipe, bucket)
    assert told in line
    assert f"'s3://{bucket}" in line
    assert buckets.unfinished(bucket) == []
    there = buckets.contents(bucket, "v1/")
    assert there.items() <= whole.items()
    proven = {Path(key).stem for key in there if "/proofs/" in key}
    before = {key: stamp for key, stamp in buckets.stamps(bucket, "v1/").items() if _is_kept(key, proven)}
    proxy.faults.clear()
    build(recipe, bucket)
    check(buckets, bucket, whole)
    assert before.items() <= buckets.stamps(bucket, "v1/").items()


def test_a_long_upload_that_is_cut_is_tried_as_often_as_a_short_one(
    proxy: Proxy, buckets: Buckets, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt takes longer than all attempts at what is silent may; the body is larger than what kernels keep."""
    for name, value in {"CONNECT": 0.5, "REPLY": 0.7, "LOOK": 0.1, "LONGEST": 0.2, "PAUSES": (0.01, 0.02)}.items():
        monkeypatch.setattr(asking, name, value)
    proxy.fail("PUT ", cut=16_000_000, pace=0.006, times=2)
    parse_location(f"s3://{bucket}/large").write_bytes(bytes(20_000_000))
    assert buckets.body(bucket, "large") == bytes(20_000_000)
    assert len(proxy.lines("PUT")) == 3


def _is_kept(key: str, proven: set[str]) -> bool:
    """Tell whether a run that goes on has no reason to write an object again."""
    return ("data/" not in key and "keys/" not in key) or Path(key).stem in proven


def test_the_command_without_a_store(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at the port."""
    monkeypatch.setattr(asking, "_OPEN", {})
    monkeypatch.setattr(asking, "PAUSES", (0.01, 0.02))
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with settled(f"http://127.0.0.1:{nobody.getsockname()[1]}"):
            line = error_line(carrara("build", recipe, "--out", "s3://nobody/v1", "--tokenizer", "o200k"))
    assert line.startswith("carrara: 's3://nobody/v1")
    assert "the store cannot be reached" in line
    assert "run the same command again" in line


@pytest.mark.faults
def test_a_killed_command_leaves_what_the_next_one_goes_on_with(
    proxy: Proxy, buckets: Buckets, bucket: str, recipe: Path, whole: dict[str, str]
) -> None:
    """It is killed at random requests, until it comes to its end; then every row is verified."""
    draw = stream("killed", time.time_ns() if CASES else 0)
    args = ("build", recipe, "--out", f"s3://{bucket}/v1", "--tokenizer", "o200k", "--quiet")
    env = environment(proxy.url)
    for number in range(KILLS):
        requests = len(proxy.log) + draw.randint(20, 150)
        with ForkedRun(*args, "--workers", 1 + number % 2, env=env) as running:
            builds.wait_for(lambda at=requests, run=running: len(proxy.log) >= at or run.process.poll() is not None, 60)
            for pid in [running.process.pid, *running.workers()]:
                builds.signalled(pid, signal.SIGKILL)
    build(recipe, bucket)
    check(buckets, bucket, whole)
    builds.stages(recipe, parse_location(f"s3://{bucket}/v1")).verify()
    check(buckets, bucket, whole)


SILENCES = 30 if CASES else 1
"""Silences at random moments of builds, alone and on Dask each."""
IN_TIME = 60.0 if CASES else 30.0
"""Seconds after which a build has said its line when its store goes silent."""
SHORT = {} if CASES else {builds.SILENCE: "0.15"}
"""How the usual seconds are shortened for the one silence of every run."""


@pytest.fixture(scope="module")
def cluster(buckets: Buckets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with settled(buckets.url), Cluster(tmp_path_factory.mktemp("dask")) as made:
        made.worker()
        yield made


def test_an_upload_that_the_store_takes_no_more_of_ends(
    buckets: Buckets, bucket: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body is larger than what the kernel of either side keeps."""
    for name, value in {"CONNECT": 0.5, "REPLY": 1.0, "LONGEST": 1.0, "ONCE_MORE": 1.0}.items():
        monkeypatch.setattr(asking, name, value)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asking, "_OPEN", {})
            patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{deaf.getsockname()[1]}")
            started = time.monotonic()
            with pytest.raises(StoreError, match="does not answer in time"):
                parse_location(f"s3://{bucket}/large").write_bytes(bytes(20_000_000))
        assert time.monotonic() - started < 12
    parse_location(f"s3://{bucket}/large").write_bytes(bytes(20_000_000))
    assert len(buckets.body(bucket, "large")) == 20_000_000


def test_a_store_that_was_silent_is_asked_once_until_it_answers(
    proxy: Proxy, buckets: Buckets, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what a failing command clears away does not take as long again."""
    for name, value in {"CONNECT": 0.5, "REPLY": 0.5, "LONGEST": 1.5, "_SILENT": {}}.items():
        monkeypatch.setattr(asking, name, value)
    config = {"connect_timeout": 0.5, "read_timeout": 0.5, "retries": {"total_max_attempts": 1}}
    monkeypatch.setitem(asking.OPTIONS, "s3", {**asking.OPTIONS["s3"], "config_kwargs": config})
    path = parse_location(f"s3://{bucket}/x")
    path.write_bytes(b"x")
    proxy.fail("GET ", delay=2.0, times=-1)
    for least, most in ((2, 9), (1, 1)):
        before = len(proxy.lines("GET"))
        with pytest.raises(StoreError, match="does not answer in time"):
            path.read_bytes()
        assert least <= len(proxy.lines("GET")) - before <= most
    proxy.faults.clear()
    assert path.read_bytes() == b"x"
    assert asking._SILENT == {}


@pytest.mark.faults
@pytest.mark.parametrize("number", range(SILENCES))
@pytest.mark.parametrize("engine", ["alone", "dask"] if CASES else ["alone"])
def test_a_store_that_goes_silent_is_one_line_in_time(
    engine: str,
    number: int,
    buckets: Buckets,
    bucket: str,
    recipe: Path,
    whole: dict[str, str],
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its process is stopped with its sockets open."""
    draw = stream("silent", engine, number, time.time_ns() if CASES else 0)
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
    how = ("--workers", 1 + number % 2)
    if engine == "dask":
        how = ("--dask", request.getfixturevalue("cluster").file)
    args = ("build", recipe, "--out", f"s3://{bucket}/v1", "--tokenizer", "o200k", "--quiet", *how)
    with settled(buckets.url):
        with ForkedRun(*args, env={**environment(buckets.url), **SHORT}) as running:
            builds.wait_for(lambda: buckets.stamps(bucket) or running.process.poll() is not None, 60)
            time.sleep(draw.uniform(0, 5 if CASES else 0.5))
            buckets.signalled(signal.SIGSTOP)
            try:
                started = time.monotonic()
                code, stderr = running.ended()
                took = time.monotonic() - started
            finally:
                buckets.signalled(signal.SIGCONT)
        record_property("said", f"{engine} {number}: {code} after {took:.1f} s: {stderr}")
        assert code == 0 or len(builds.lines(stderr)) == 1, stderr
        assert took < IN_TIME
        build(recipe, bucket)
    check(buckets, bucket, whole)
