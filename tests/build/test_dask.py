"""Dask: the bytes of a local build whoever dies, and one line for whatever a cluster lacks."""

from __future__ import annotations

import json
import os
import pickle
import platform
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import builds
import carrara
import forked_commands
import worker_jobs
from dask_clusters import BARE, BARE_PATH, Cluster, writers
from forked_commands import ForkedRun
from loopback.buckets import Buckets, settled
from loopback.proxy import Proxy
from pipeline.assemble import plan as plans
from pipeline.errors import BuildError, ProfileError, RecipeError
from pipeline.executors import LIVES, run
from pipeline.executors.dask import blocking_worker, dask, refuse_unfit, scheduler_at
from pipeline.executors.memory import most_allowed
from pipeline.executors.run import Inline
from pipeline.executors.shared_folder import MarkedFolder
from pipeline.executors.worker import (
    Failed,
    FolderMark,
    JobContext,
    WorkerEnvironment,
    call,
    file_digest,
    inspect_environment,
    missing_environment,
)
from pipeline.profiles import load_profile
from pipeline.storage import parse_location
from pipeline.training.shards import write_shards
from pipeline.version import __version__

PAUSE = 0.05
"""Seconds that a worker takes for each row more than it needs."""


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.recipe_file(tmp_path_factory.mktemp("recipe") / "tiny.toml")


@pytest.fixture(scope="module")
def whole(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The contents of a build in this process."""
    out = tmp_path_factory.mktemp("local") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
        builds.stages(recipe, out).build()
    return builds.contents(out)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A store that this process and all that it starts have the address and the keys of."""
    with Buckets() as buckets, Proxy(tmp_path_factory.mktemp("store"), buckets) as proxy, settled(proxy.url):
        yield proxy


@pytest.fixture(scope="module")
def cluster(store: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler without Carrara, and two workers below nannies, with a limit of memory."""
    with Cluster(tmp_path_factory.mktemp("cluster"), bare=True) as made:
        for worker in [made.worker("--memory-limit", "1GiB", nanny=True, pause=PAUSE) for _ in range(2)]:
            made.joined(worker)
        yield made


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler that nobody works for."""
    with Cluster(tmp_path_factory.mktemp("bare")) as made:
        yield made


def line_of(work: Callable[[], object]) -> str:
    """Return the one line that is said of a fault."""
    with pytest.raises(BuildError) as caught:
        work()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def build(cluster: Cluster, recipe: Path, out: Path, wait: float = 20) -> None:
    """Build on a cluster, from this process."""
    (manifest,) = builds.stages(recipe, out, engine=dask(cluster.address, out, wait)).build()
    assert manifest is not None


def left(out: Path) -> list[str]:
    """Return the files that a cluster may leave aside."""
    return [path.name for path in builds.files(out) if ".part-" in path.name or path.name.startswith(".")]


RUN = """
import pickle, sys
try:
    fn, args = pickle.load(sys.stdin.buffer)
    said = fn(*args)
except Exception as fault:
    said = fault
pickle.dump(said, sys.stdout.buffer)
"""


def seen_from(path: Path, mark: Path) -> WorkerEnvironment:
    """Return what is known of a process that finds packages in a folder first."""

    def there(fn: Callable[..., object], *args: object) -> Any:
        seen = subprocess.run(
            [sys.executable, "-c", RUN],
            input=pickle.dumps((fn, args)),
            env={**os.environ, "PYTHONPATH": str(path)},
            cwd=mark.parent,
            capture_output=True,
            check=True,
        )
        return pickle.loads(seen.stdout)

    seen = there(inspect_environment, FolderMark(str(mark), file_digest(str(mark)), writes=True))
    if isinstance(seen, Exception):
        version = there(resolve_name, "pipeline:__version__")
        seen = missing_environment(seen, there(platform.node), version, inspect_environment())
    assert isinstance(seen, WorkerEnvironment)
    return seen


@contextmanager
def closed(out: Path) -> Iterator[None]:
    """Let nobody write a folder's files; for root, who may always, the mark cannot be made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MarkedFolder, "_locked", lambda marked, folder: None)
        yield


def when(happened: Callable[[], object], act: Callable[[], object]) -> threading.Thread:
    """Do something as soon as something has happened, beside the test."""
    thread = threading.Thread(target=lambda: (builds.wait_for(happened), act()), daemon=True)
    thread.start()
    return thread


# The same bytes


def test_the_command_makes_the_same_bytes_in_a_relative_folder(
    cluster: Cluster, recipe: Path, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    args = ("build", recipe, "--out", "out", "--tokenizer", "o200k", "--dask", cluster.file, "--dask-wait", 20)
    ended = forked_commands.run(*args, "--quiet")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("out/o200k/data: 12 rows")
    assert builds.contents(tmp_path / "out") == whole
    folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]
    stood = {path: path.stat().st_mtime_ns for path in folders}
    again = forked_commands.run("verify", "out", "--against", "out/o200k", "--dask", cluster.address, "--quiet")
    assert (again.returncode, again.stderr) == (0, "")
    assert "12 rows in 5 shards" in again.stdout
    assert builds.contents(tmp_path / "out") == whole
    assert {path: path.stat().st_mtime_ns for path in folders} == stood, (
        "comparing leaves nothing, not even for a moment"
    )


@pytest.mark.slow
def test_shards_to_train_on_are_the_same_from_two_workers_on_a_disk_and_in_a_store(
    cluster: Cluster, store: Proxy, tmp_path: Path
) -> None:
    specs = [
        carrara.stream(task, tokenizer="o200k", length=2048, seed=7, ids=True).spec
        for task in ("bio.standard", "recall.niah_mk1", "graph.route")
    ]
    bucket, one, two = store.buckets.bucket(), tmp_path / "one", tmp_path / "two"
    index = write_shards(specs, 4, one, Inline)
    assert index["rows"] == 12
    for out in (two, parse_location(f"s3://{bucket}/rl")):
        assert write_shards(specs, 4, out, dask(cluster.address, out, 20)) == index
    assert len(builds.contents(one)) == 7
    assert builds.contents(one) == builds.contents(two) == store.buckets.contents(bucket, "rl/")


def test_equal_jobs_are_different_jobs(cluster: Cluster, tmp_path: Path) -> None:
    assert list(run(worker_jobs.double, [4, 4, 4], dask(cluster.address, tmp_path, 20))) == [8, 8, 8]
    assert left(tmp_path) == []


def test_a_fault_reaches_the_caller_and_drops_what_is_not_started(cluster: Cluster, tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(40)]
    with pytest.raises(ValueError, match="job 3 is wrong"):
        list(run(worker_jobs.faulty, jobs, dask(cluster.address, tmp_path, 20)))
    assert len(builds.files(tmp_path)) < 20


def test_a_split_that_nobody_may_write_is_verified(
    cluster: Cluster, recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    """There the mark is a file of the split."""
    builds.stages(recipe, tmp_path / "out").build()
    before = builds.stamps(tmp_path / "out")
    with closed(tmp_path / "out"):
        builds.stages(recipe, tmp_path / "out", engine=dask(cluster.address, tmp_path / "out", 20)).verify()
    assert builds.stamps(tmp_path / "out") == before


# Killed


def test_a_killed_worker_and_a_killed_nanny_change_nothing(
    cluster: Cluster, recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    worker, nanny = tmp_path / "worker", tmp_path / "nanny"
    thread = when(lambda: writers(worker), lambda: builds.signalled(writers(worker).pop(), signal.SIGKILL))
    build(cluster, recipe, worker)
    thread.join()
    victim = cluster.started[1]
    thread = when(lambda: writers(nanny), victim.kill)
    build(cluster, recipe, nanny)
    thread.join()
    assert victim.wait(timeout=10) == -signal.SIGKILL
    assert builds.contents(worker) == builds.contents(nanny) == whole


def test_a_killed_client_leaves_what_the_next_run_goes_on_with(
    cluster: Cluster, recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    args = ("build", recipe, "--out", out, "--tokenizer", "o200k", "--dask", cluster.address)
    with ForkedRun(*args) as running:
        running.when(lambda: writers(out), 60)
        os.kill(running.process.pid, signal.SIGKILL)
        assert running.ended()[0] == -signal.SIGKILL
    assert {name.partition(".part-")[0] for name in left(out)} >= {".shared"}
    build(cluster, recipe, out)
    assert builds.contents(out) == whole


def test_a_mark_that_a_killed_client_left_is_gone_in_the_end(
    recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    """Workers may finish the jobs of a killed client, so that no executor is opened again."""
    builds.stages(recipe, tmp_path / "out").build()
    held, stale = MarkedFolder(tmp_path / "out"), tmp_path / "out" / ".shared.part-host-0-4194305"
    stale.write_bytes(b"mark")
    builds.stages(recipe, tmp_path / "out").build()
    assert left(tmp_path / "out") == [Path(held.mark.path).name], "one that is held stays"
    held.remove()
    assert builds.contents(tmp_path / "out") == whole


@pytest.mark.slow
def test_forty_random_kills_change_nothing(tmp_path: Path) -> None:
    """Workers, nannies and the client die at random moments of build after build; none of these differs."""
    recipe = builds.recipe_file(tmp_path / "tiny.toml", rows=24)
    builds.stages(recipe, tmp_path / "local").build()
    whole = builds.contents(tmp_path / "local")
    draw, killed = random.Random(19), Counter[str]()
    with Cluster(tmp_path / "cluster") as made:
        nannies = [made.worker(nanny=True, pause=PAUSE) for _ in range(3)]

        def at_work() -> set[int]:
            return writers(out) & {pid for nanny in nannies for pid in builds.spawned(nanny.pid)}

        while killed.total() < 40:
            out = tmp_path / f"out-{len(list(tmp_path.glob('out-*')))}"
            while not (out / "o200k/manifest.json").exists():
                args = ("build", recipe, "--out", out, "--tokenizer", "o200k", "--dask", made.file)
                with ForkedRun(*args) as running:
                    for _ in range(draw.randint(1, 4)):
                        builds.wait_for(lambda run=running.process: run.poll() is not None or at_work(), 90)
                        time.sleep(draw.uniform(0, 0.3))
                        if running.process.poll() is not None or killed.total() == 40:
                            break
                        victim = draw.choice(("worker", "nanny", "client"))
                        if victim == "client":
                            os.kill(running.process.pid, signal.SIGKILL)
                        elif victim == "nanny":
                            made.stop(nannies.pop(draw.randrange(3)))
                            nannies.append(made.worker(nanny=True, pause=PAUSE))
                        elif pids := sorted(at_work()):
                            builds.signalled(draw.choice(pids), signal.SIGKILL)
                        else:
                            continue
                        killed[victim] += 1
                    code, said = running.ended(120)
                    assert code in (0, -signal.SIGKILL), said
            assert builds.contents(out) == whole
    assert min(killed.values()) >= 8, killed


def test_a_frozen_and_a_lost_scheduler_are_one_line_and_the_next_run_goes_on(
    recipe: Path, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.executors.dask.CLOSING", 0.5)
    with Cluster(tmp_path / "cluster") as made:
        made.joined(made.worker(pause=4 * PAUSE))
        for number in (signal.SIGSTOP, signal.SIGKILL):
            out = tmp_path / number.name
            thread = when(lambda out=out: proofs(out), lambda n=number: made.scheduler.send_signal(n))
            started = time.monotonic()
            said = line_of(lambda out=out: build(made, recipe, out, 4))
            thread.join()
            assert said.startswith(
                f"the Dask scheduler was lost, and no Dask scheduler answers at {made.address} within 2 s"
            )
            assert "run the same command again" in said
            assert time.monotonic() - started < 30
            made.scheduler.send_signal(signal.SIGCONT)
    for name in ("SIGSTOP", "SIGKILL"):
        proven = builds.below(builds.stamps(tmp_path / name), "o200k/proofs")
        assert proven
        builds.stages(recipe, tmp_path / name).build()
        assert builds.contents(tmp_path / name) == whole
        assert {path: builds.stamps(tmp_path / name)[path] for path in proven} == proven


def proofs(out: Path) -> int:
    return len(list(out.glob("o200k/proofs/*/*/*.json")))


@pytest.mark.slow
def test_a_job_that_kills_every_worker_is_given_up(cluster: Cluster, tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(8)]
    said = line_of(lambda: list(run(worker_jobs.deadly, jobs, dask(cluster.address, tmp_path, 25))))
    assert said.startswith(f"workers were killed {LIVES} times (KilledWorker at {cluster.address})")


# In a store, where no folder is shared


def in_store(store: Proxy, whole: dict[str, str], bucket: str) -> None:
    """Compare a bucket with a local build; nothing is left aside."""
    assert store.buckets.contents(bucket, "out/") == whole
    assert len(store.buckets.stamps(bucket)) == len(whole)
    assert store.buckets.unfinished(bucket) == []


def test_killed_workers_change_nothing_in_a_store(
    cluster: Cluster, store: Proxy, recipe: Path, whole: dict[str, str]
) -> None:
    """What is there is then verified by the cluster where nobody may write."""
    bucket = store.buckets.bucket()
    out = parse_location(f"s3://{bucket}/out")

    def kill() -> None:
        builds.signalled(builds.spawned(cluster.started[2].pid).pop(), signal.SIGKILL)

    thread = when(lambda: store.lines(f"PUT /{bucket}/out/o200k/data"), kill)
    build(cluster, recipe, out)
    thread.join()
    in_store(store, whole, bucket)
    denied = store.fail(f"(PUT|DELETE|POST) /{bucket}", 403, times=-1)
    (manifest,) = builds.stages(recipe, out, engine=dask(cluster.address, out, 20)).verify()
    denied.times = 0
    assert manifest
    in_store(store, whole, bucket)


@pytest.mark.slow
def test_a_lost_scheduler_is_one_line_and_the_next_run_goes_on_in_a_store(
    store: Proxy, recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    bucket = store.buckets.bucket()
    out = parse_location(f"s3://{bucket}/out")
    with Cluster(tmp_path / "cluster") as made:
        made.joined(made.worker(pause=4 * PAUSE))
        thread = when(lambda: store.lines(f"PUT /{bucket}/out/o200k/proofs"), made.scheduler.kill)
        said = line_of(lambda: build(made, recipe, out, 6))
        thread.join()
        assert said.startswith("the Dask scheduler was lost, and no Dask scheduler answers")
    proven = {key: at for key, at in store.buckets.stamps(bucket).items() if "/proofs/" in key}
    assert proven
    builds.stages(recipe, out).build()
    assert proven.items() <= store.buckets.stamps(bucket).items()
    in_store(store, whole, bucket)


@pytest.mark.slow
def test_forty_random_kills_change_nothing_in_a_store(store: Proxy, tmp_path: Path) -> None:
    """Workers, nannies and the client die at random moments of build after build; none of these differs."""
    recipe = builds.recipe_file(tmp_path / "tiny.toml", rows=24)
    builds.stages(recipe, tmp_path / "local").build()
    whole = builds.contents(tmp_path / "local")
    draw, killed = random.Random(19), Counter[str]()
    with Cluster(tmp_path / "cluster") as made:
        nannies = [made.worker(nanny=True, pause=PAUSE) for _ in range(2)]

        def put(bucket: str) -> int:
            return len(store.lines(f"PUT /{bucket}"))

        def gone_on(bucket: str) -> None:
            args = ("build", recipe, "--out", f"s3://{bucket}/out", "--tokenizer", "o200k", "--dask", made.file)
            with ForkedRun(*args) as running:
                for _ in range(draw.randint(1, 4)):
                    puts = put(bucket) + draw.randint(1, 6)
                    builds.wait_for(lambda run=running.process, at=puts: run.poll() is not None or put(bucket) > at, 90)
                    time.sleep(draw.uniform(0, 0.3))
                    if running.process.poll() is not None or killed.total() == 40:
                        break
                    kill(draw.choice(("worker", "nanny", "client")), running)
                code, said = running.ended(180)
                assert code in (0, -signal.SIGKILL), said

        def kill(victim: str, running: builds.Running) -> None:
            pids = sorted(pid for nanny in nannies for pid in builds.spawned(nanny.pid))
            if victim == "client":
                os.kill(running.process.pid, signal.SIGKILL)
            elif victim == "nanny":
                made.stop(nannies.pop(draw.randrange(2)))
                nannies.append(made.worker(nanny=True, pause=PAUSE))
            elif pids:
                builds.signalled(draw.choice(pids), signal.SIGKILL)
            killed[victim] += victim != "worker" or bool(pids)

        while killed.total() < 40:
            bucket = store.buckets.bucket()
            while "out/o200k/manifest.json" not in store.buckets.stamps(bucket):
                gone_on(bucket)
            in_store(store, whole, bucket)
    assert min(killed.values()) >= 8, killed


# What a cluster lacks


def test_no_workers(bare: Cluster, recipe: Path, tmp_path: Path) -> None:
    said = line_of(lambda: build(bare, recipe, tmp_path / "out", 1))
    assert said.startswith(f"no workers at {bare.address} within 1 s: start some with `dask worker")
    assert list((tmp_path / "out").iterdir()) == []


def test_workers_that_are_all_gone(bare: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worker = bare.worker("--nthreads", 2)
    bare.joined(worker)
    jobs = [(str(tmp_path), number) for number in range(4, 2000)]
    thread = when(lambda: len(builds.files(tmp_path)) > 3, lambda: bare.stop(worker))
    started = time.monotonic()
    said = line_of(lambda: list(run(worker_jobs.faulty, jobs, dask(bare.address, tmp_path, 3))))
    thread.join()
    assert said.startswith(f"all workers of {bare.address} are gone, and none came within 3 s")
    assert capsys.readouterr().err == (
        f"carrara: workers at {bare.address} have up to 2 threads, but run one job at a time: start more of them, with "
        "--nthreads 1\n"
    )
    assert time.monotonic() - started < 20


def worker_said(status: str, **tasks: int) -> dict[str, Any]:
    """Return what a scheduler says of a worker, of what is read of it."""
    return {"status": status, "memory_limit": 300 << 20, "metrics": {"task_counts": tasks}}


@pytest.mark.parametrize(
    ("workers", "held"),
    [
        ({"a": worker_said("running", ready=2)}, ""),
        ({"a": worker_said("paused", executing=1, ready=2)}, ""),
        ({"a": worker_said("paused"), "b": worker_said("running")}, ""),
        ({"a": worker_said("running"), "b": worker_said("paused", ready=1)}, "b"),
        ({"a": worker_said("paused"), "b": worker_said("paused", ready=1)}, "b"),
        ({"b": worker_said("paused"), "a": worker_said("paused")}, "a"),
        ({}, ""),
    ],
)
def test_which_paused_worker_holds_jobs_up(workers: dict[str, dict[str, Any]], held: str) -> None:
    said = blocking_worker(workers)
    assert said.startswith(f"worker {held} is paused for lack of memory") if held else not said


def test_a_worker_that_dask_pauses_is_one_line(bare: Cluster, tmp_path: Path) -> None:
    """Its limit is less than it has from the start."""
    worker = bare.worker("--memory-limit", "100MiB")
    name = bare.joined(worker)
    builds.wait_for(lambda: "Pausing worker" in bare.logs[worker.pid].read_text())
    said = line_of(lambda: list(run(worker_jobs.noted, [(str(tmp_path), 1)], dask(bare.address, tmp_path, 3))))
    assert said == (
        f"worker {name} is paused for lack of memory, and jobs wait: start workers with more than 100 MiB "
        "(--memory-limit), and run the same command again to continue"
    )
    bare.stop(worker)
    assert left(tmp_path) == []


def test_a_worker_keeps_below_the_memory_at_which_dask_pauses_it(cluster: Cluster, tmp_path: Path) -> None:
    allowed = run(most_allowed, [4 << 30, 1 << 20], dask(cluster.address, tmp_path, 20))
    assert sorted(allowed) == [1 << 20, 816043786]
    assert most_allowed(4 << 30) == 4 << 30


def test_a_scheduler_without_carrara_serves_workers_that_have_it(
    cluster: Cluster, recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    env, code = {**os.environ, **BARE_PATH}, "import distributed, pipeline.executors"
    lacks = subprocess.run([*BARE, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "No module named 'pipeline" in lacks.stderr
    assert cluster.bare
    build(cluster, recipe, tmp_path / "out")
    assert builds.contents(tmp_path / "out") == whole


UNFIT: dict[str, tuple[str, str]] = {
    "no package": ("raise ModuleNotFoundError(\"No module named 'pipeline'\")", "lacks Carrara (ModuleNotFoundError"),
    "a stranger": ("", "lacks Carrara (another package is called pipeline)"),
    "another version": ("__version__ = '1.9.0'", f"has Carrara 1.9.0, and here is {__version__}: install"),
    "other files": (f"__version__ = '{__version__}'", f"has Carrara {__version__} with other files than here: install"),
}
"""What a worker has in place of the package, and what is said of it."""


@pytest.mark.parametrize(("text", "said"), UNFIT.values(), ids=UNFIT)
def test_a_worker_that_is_not_fit_is_named(text: str, said: str, tmp_path: Path) -> None:
    package = tmp_path / "there" / "pipeline"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text, encoding="ascii")
    (tmp_path / "mark").write_text("here", encoding="ascii")
    seen = {"tcp://a:1": seen_from(package.parent, tmp_path / "mark")}
    told = line_of(lambda: refuse_unfit(seen, inspect_environment()))
    assert told.startswith(f"worker tcp://a:1 on {socket.gethostname()!r} {said}")


def test_a_worker_that_is_not_fit_gets_no_job(cluster: Cluster, tmp_path: Path) -> None:
    """Nor do the others, which are fit."""
    package = tmp_path / "there" / "pipeline"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(UNFIT["no package"][0], encoding="ascii")
    out = tmp_path / "out"
    bad = cluster.worker(path=[package.parent])
    name = cluster.joined(bad)
    said = line_of(lambda: list(run(worker_jobs.noted, [(str(out), 1)], dask(cluster.address, out, 20))))
    assert said.startswith(f"worker {name} on {socket.gethostname()!r} lacks Carrara")
    assert list(out.iterdir()) == []
    cluster.stop(bad)


def test_a_worker_that_joins_late_is_looked_at_before_its_first_job(tmp_path: Path) -> None:
    (tmp_path / "mark").write_text("here", encoding="ascii")
    here, mark = (
        inspect_environment(),
        FolderMark(str(tmp_path / "mark"), file_digest(str(tmp_path / "mark")), writes=True),
    )
    work = pickle.dumps((worker_jobs.double, 4))
    for context, lacks in (
        (JobContext(here._replace(packages=("9.0.0", *here.packages[1:])), mark), "and here is 9.0.0"),
        (JobContext(here._replace(sha256="0"), mark), "with other files than here"),
        (JobContext(here, mark._replace(sha256="0")), f"has another folder {str(tmp_path)!r} than this machine"),
        (JobContext(here, mark, (mark._replace(path=str(tmp_path / "gone" / "mark")),)), "does not see the folder"),
        (JobContext(here, mark._replace(path=str(tmp_path / "gone" / "mark"))), "does not see the folder"),
    ):
        told = pickle.loads(call(work, pickle.dumps(context)))
        assert isinstance(told, Failed)
        assert isinstance(told.fault, BuildError)
        assert lacks in str(told.fault)
    assert pickle.loads(call(work, pickle.dumps(JobContext(here, mark)))) == 8


def test_faults_of_jobs_travel_with_the_place_where_they_were_raised(tmp_path: Path) -> None:
    (tmp_path / "mark").write_text("here", encoding="ascii")
    context = JobContext(
        inspect_environment(), FolderMark(str(tmp_path / "mark"), file_digest(str(tmp_path / "mark")), writes=False)
    )

    def said_of(*work: object) -> Exception:
        told = pickle.loads(call(pickle.dumps(work), pickle.dumps(context)))
        assert isinstance(told, Failed)
        return told.fault

    plain = said_of(int, "x")
    assert isinstance(plain, ValueError)
    assert "Traceback" in plain.__notes__[0]
    assert str(said_of(worker_jobs.odd_fault, 1)) == "OddError: 1"
    own = said_of(load_profile, "no/such.toml")
    assert isinstance(own, ProfileError)
    assert str(own).startswith(f"worker on {socket.gethostname()!r}: ")


def test_a_folder_that_is_not_shared(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder of a process is another one in each worker, by the same absolute path."""
    monkeypatch.chdir(tmp_path)
    out = Path("/proc/self/cwd/out")
    said = line_of(lambda: list(run(worker_jobs.double, [1], dask(cluster.address, out, 20))))
    assert f"does not see the folder '{out}' of this machine: give --out a folder that all of them share" in said
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "address",
    [
        "",
        "tcp://",
        "scheduler",
        "127.0.0.1",
        "http://127.0.0.1:8786",
        "tcp://127.0.0.1:99999",
        "tcp://a b:1",
        "x/s.json",
    ],
)
def test_what_is_no_address(address: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="`dask scheduler --scheduler-file` wrote") as caught:
        dask(address, tmp_path, 0.1)
    assert repr(address) in str(caught.value)


def test_a_file_that_names_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"address": str(path)}), encoding="ascii")
    with pytest.raises(RecipeError, match="is not the address of a scheduler"):
        dask(str(path), tmp_path, 0.1)


def test_addresses() -> None:
    assert scheduler_at("node7:8786") == scheduler_at("tcp://node7:8786/") == "tcp://node7:8786"
    assert scheduler_at("tls://[fe80::1]:8786") == "tls://[fe80::1]:8786"


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        refused = line_of(dask(f"127.0.0.1:{port}", tmp_path, 1))
        silent.listen()
        mute = line_of(dask(f"127.0.0.1:{port}", tmp_path, 1))
    for said in (refused, mute):
        assert said.startswith(f"no Dask scheduler answers at tcp://127.0.0.1:{port} within 1 s (")


def test_a_worker_is_no_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    said = line_of(dask(cluster.joined(cluster.started[2]), tmp_path, 5))
    assert "it is the address of a Worker" in said
