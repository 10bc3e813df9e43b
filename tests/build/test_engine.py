"""Engines: every result once, faults to the caller, dead workers replaced."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import worker_jobs
from pipeline.errors import BuildError
from pipeline.executors import IN_FLIGHT, LIVES, Inline, MonitoredExecutor, SharedExecutor, processes, run
from pipeline.executors.pool import AffinityPool

ENGINES: dict[str, Callable[[], Executor]] = {
    "inline": Inline,
    "threads": lambda: ThreadPoolExecutor(3),
    "processes": processes(2),
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Callable[[], Executor]:
    return ENGINES[request.param]


def started(folder: Path) -> list[int]:
    """Return the jobs that left a mark, each as often as it was started."""
    return sorted(int(path.name.split("-")[0]) for path in folder.iterdir())


def test_every_result_comes_once_also_beyond_the_window(engine: Callable[[], Executor]) -> None:
    jobs = range(3 * IN_FLIGHT + 5)
    assert sorted(run(worker_jobs.double, jobs, engine)) == [2 * number for number in jobs]


class Growing(MonitoredExecutor):
    """Threads that come one by one, as workers of a cluster do."""

    window = 1

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(8)

    def submit(self, fn: Callable[..., int], /, *args: object, **kwargs: object) -> Future[int]:  # type: ignore[override]
        self.window += 1
        return self.pool.submit(fn, *args, **kwargs)


def test_workers_that_come_later_are_held_at_work_too() -> None:
    """Each job ends only once four are under way."""
    assert sorted(run(Barrier(4).wait, [20.0] * 4, Growing)) == [0, 1, 2, 3]


def test_equal_jobs_are_different_jobs(engine: Callable[[], Executor]) -> None:
    assert list(run(worker_jobs.double, [4, 4, 4], engine)) == [8, 8, 8]


def test_no_jobs_open_no_executor() -> None:
    def refuse() -> Executor:
        raise AssertionError("opened")

    assert list(run(worker_jobs.double, [], refuse)) == []


def test_one_worker_is_this_process() -> None:
    assert processes(1) is Inline
    assert processes(0) is Inline


def test_inline_runs_a_job_when_its_result_is_asked_for(tmp_path: Path) -> None:
    results = run(worker_jobs.noted, [(str(tmp_path), number) for number in range(5)], Inline)
    assert started(tmp_path) == []
    assert [next(results), next(results)] == [0, 1]
    assert started(tmp_path) == [0, 1]
    results.close()
    assert started(tmp_path) == [0, 1]


def test_a_fault_reaches_the_caller_and_drops_what_is_not_started(
    engine: Callable[[], Executor], tmp_path: Path
) -> None:
    jobs = [(str(tmp_path), number) for number in range(400)]
    with pytest.raises(ValueError, match="job 3 is wrong"):
        list(run(worker_jobs.faulty, jobs, engine))
    assert len(started(tmp_path)) <= 3 + IN_FLIGHT
    assert 3 in started(tmp_path), "of others, a worker may be stopped before it marks what it was given"


def test_a_fault_in_a_process_drops_its_queue_too(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="job 3 is wrong"):
        list(run(worker_jobs.faulty, [(str(tmp_path), number) for number in range(IN_FLIGHT)], processes(2)))
    assert len(started(tmp_path)) < 20


def test_inline_stops_at_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="job 3 is wrong"):
        list(run(worker_jobs.faulty, [(str(tmp_path), number) for number in range(9)], Inline))
    assert started(tmp_path) == [0, 1, 2, 3]


def test_interrupts_pass_through_inline() -> None:
    def interrupted(_: int) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run(interrupted, [1], Inline))


def test_a_killed_worker_is_replaced_and_no_result_comes_twice(tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(2 * IN_FLIGHT)]
    assert sorted(run(worker_jobs.deadly_once, jobs, processes(2))) == list(range(2 * IN_FLIGHT))
    assert (tmp_path / "died").exists()


def test_workers_that_die_always_are_given_up(tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(8)]
    with pytest.raises(BuildError, match=f"killed {LIVES} times") as caught:
        list(run(worker_jobs.deadly, jobs, processes(2)))
    assert "\n" not in str(caught.value)
    assert started(tmp_path).count(3) == LIVES


def test_killed_workers_leave_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "jobs").mkdir()
    with pytest.raises(BuildError):
        list(run(worker_jobs.deadly_in_a_folder, [(str(tmp_path / "jobs"), at) for at in range(8)], processes(2)))
    assert not list(tmp_path.glob("carrara-*"))


def test_leaving_early_leaves_no_worker(tmp_path: Path) -> None:
    pools: list[Executor] = []

    def opened() -> Executor:
        pools.append(processes(2)())
        return pools[0]

    results: Iterator[int] = run(worker_jobs.noted, [(str(tmp_path), number) for number in range(500)], opened)
    next(results)
    workers = list(pools[0]._processes.values())  # type: ignore[attr-defined]
    assert workers
    results.close()
    assert not [worker for worker in workers if worker.is_alive()]
    assert len(started(tmp_path)) < 500


def test_a_kept_engine_is_opened_once_and_again_when_it_broke(tmp_path: Path) -> None:
    opened: list[Executor] = []

    def opening() -> Executor:
        opened.append(processes(2)())
        return opened[-1]

    jobs = [(str(tmp_path), number) for number in range(6)]
    with SharedExecutor(opening) as engine:
        first = {
            pid
            for _, pid in run(
                worker_jobs.worker_of, [worker_jobs.WithAffinity("a"), worker_jobs.WithAffinity("b")], engine
            )
        }
        assert first == {
            pid
            for _, pid in run(
                worker_jobs.worker_of, [worker_jobs.WithAffinity("a"), worker_jobs.WithAffinity("b")], engine
            )
        }
        assert len(opened) == 1
        assert sorted(run(worker_jobs.deadly_once, jobs, engine)) == list(range(6))
        assert len(opened) == 2
        workers = list(opened[1]._processes.values())  # type: ignore[attr-defined]
    assert not [worker for worker in workers if worker.is_alive()]


def test_jobs_go_to_the_worker_that_had_one_of_their_affinity() -> None:
    with SharedExecutor(processes(2)) as engine:
        first = dict(run(worker_jobs.worker_of, [worker_jobs.WithAffinity("a"), worker_jobs.WithAffinity("b")], engine))
        assert first["a"] != first["b"]
        for affinities in ("ab", "ba", "aba", "b", "bab"):
            assert set(run(worker_jobs.worker_of, map(worker_jobs.WithAffinity, affinities), engine)) <= set(
                first.items()
            )


def test_a_worker_without_jobs_takes_over_from_one_with_many() -> None:
    assert len({pid for _, pid in run(worker_jobs.worker_of, [worker_jobs.WithAffinity("a")] * 8, processes(2))}) == 2


def test_calls_behind_a_cancelled_one_are_run() -> None:
    with_team = AffinityPool(1)
    try:
        first = with_team.submit(worker_jobs.double, 1)
        waiting = [with_team.submit(worker_jobs.double, number) for number in range(2, 8)]
        cancelled = [each.cancel() for each in waiting[:3]]
        assert first.result(timeout=60) == 2
        results = [
            each.result(timeout=60) for each, gone in zip(waiting, [*cancelled, 0, 0, 0], strict=True) if not gone
        ]
        assert results[-3:] == [10, 12, 14]
    finally:
        with_team.shutdown()
