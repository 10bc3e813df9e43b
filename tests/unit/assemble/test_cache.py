"""What a process keeps from job to job, and when it lets go of it."""

from __future__ import annotations

import functools
import pickle
from dataclasses import replace
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path

import pytest

from pipeline.assemble import cache
from pipeline.assemble.cache import SAMPLES, SampleCache, evict, within_memory_limit
from pipeline.assemble.jobs import POOLS, PackJob, draw_sample
from pipeline.assemble.plan import Affinity, make_plan
from pipeline.assemble.pools import Pool
from pipeline.caches import clear_caches, lru_cache
from pipeline.executors import Inline
from pipeline.executors.memory import give_back, keep_below, resident
from pipeline.profiles import load_profile
from pipeline.recipe import Recipe, Stratum, load_recipe
from pipeline.stages import Stages, by_affinity
from pipeline.verify.shard import ProveJob

HERE, THERE = Affinity("bio", 2048), Affinity("rag", 2048)


@lru_cache(maxsize=1)
def world() -> list[int]:
    """Return a world, which is made once."""
    return []


@pytest.fixture(autouse=True)
def _ours() -> None:
    evict(HERE)
    world()
    POOLS.get("pool", lambda: Pool.of([]))


def kept() -> bool:
    """Tell whether the world is there, and then the pool, too."""
    found = bool(world.cache_info().currsize)
    assert found == bool(POOLS._pools)
    return found


def test_a_small_process_keeps_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "START", resident())
    evict(THERE)
    assert kept()


def leave(free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave so many bytes for short prompts, which may be fewer than none."""
    give_back()
    start = resident() + free - cache.MOST + cache.NEEDED + cache.PER_TOKEN * HERE.longest
    monkeypatch.setattr(cache, "START", start)


def test_a_large_process_keeps_what_the_next_job_needs_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    leave(-cache.OVER // 2, monkeypatch)
    evict(HERE)
    assert kept()
    evict(THERE)
    assert not kept()


def test_a_process_that_is_far_too_large_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    leave(-cache.OVER - (100 << 20), monkeypatch)
    evict(HERE)
    assert not kept()


def test_a_process_is_small_again_when_its_job_has_ended() -> None:
    """Whoever gives it work may look at it then: Dask gives a worker near its limit no more."""
    try:
        with within_memory_limit(HERE):
            assert kept()
            keep_below(1)
        assert not kept()
    finally:
        keep_below(None)


def test_a_large_process_closes_the_counters_of_earlier_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = load_profile("o200k"), load_profile("cl100k")
    evict(HERE, first)
    opened = first.counter()
    evict(HERE, second)
    assert first.counter() is opened  # a small process keeps it
    leave(-(100 << 20), monkeypatch)
    evict(HERE, second)
    assert first.counter() is opened  # what this profile needs is kept
    evict(THERE)
    assert first.counter() is opened  # jobs that do not come profile by profile close nothing
    evict(HERE, first)
    assert first.counter() is not opened
    assert first.counter().count("one two") == opened.count("one two")


def test_caches_that_are_not_registered_are_left_alone() -> None:
    length = functools.lru_cache("word".count)
    length("o")
    clear_caches()
    assert length.cache_info().currsize == 1


def test_longer_prompts_leave_less_room(monkeypatch: pytest.MonkeyPatch) -> None:
    leave(200 << 20, monkeypatch)
    evict(THERE)
    assert kept()
    evict(Affinity("bio", 1 << 20))
    assert not kept()


def test_what_is_free_is_given_back() -> None:
    held = [bytes(1000) for _ in range(100_000)]
    most = resident()
    del held
    give_back()
    assert resident() < most - (50 << 20)


def test_a_build_that_forgets_between_all_jobs_makes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        Stratum("idk", "letters", "32k", 2048, 0, 2),
        Stratum("bio", "standard", "32k", 2048, 1, 2),
    ]
    recipe = Recipe("affinities", "0", 5, "32k", tuple(cells))
    files = []
    for name in ("kept", "forgotten"):
        plan = make_plan(recipe, ("o200k",), tmp_path / name)
        Stages(plan, Inline, quiet=True).build()
        files.append({path.relative_to(plan.out): path.read_bytes() for path in plan.out.rglob("*.parquet")})
        monkeypatch.setattr(cache, "START", -cache.MOST)
    assert files[0] == files[1]
    assert len(files[0]) > 6


def test_shards_are_made_affinity_by_affinity_and_the_largest_first(tmp_path: Path) -> None:
    plan = make_plan(load_recipe("32k"), ("o200k", "qwen2.5"), tmp_path)
    jobs = by_affinity([ProveJob(PackJob(plan, shard)) for shard in plan.all_shards()])
    order = [(job.pack.shard.profile.name, job.affinity) for job in jobs]
    turns = [place for place, _ in groupby(order)]
    assert len(turns) == len(set(order))
    assert [name for name, _ in groupby(turns, key=itemgetter(0))] == ["o200k", "qwen2.5"]
    tokens = [sum(job.pack.shard.tokens for job in some) for _, some in groupby(jobs, key=lambda job: job.affinity)]
    half = len(tokens) // 2
    assert tokens == sorted(tokens[:half], reverse=True) * 2
    assert all(
        first.pack.shard.tokens >= then.pack.shard.tokens
        for first, then in pairwise(jobs)
        if (first.affinity, first.pack.shard.profile) == (then.affinity, then.pack.shard.profile)
    )


def test_samples_that_were_drawn_early_are_kept_once_and_within_a_budget(tmp_path: Path) -> None:
    plan = make_plan(load_recipe("smoke"), ("o200k",), tmp_path)
    rows = plan.rows("bio")[:6]
    samples = [draw_sample(plan, row) for row in rows]
    size = len(pickle.dumps(samples[-1]))
    store = SampleCache(4 * size)
    for sample in samples:
        assert store.keep(plan, replace(sample, id="")) == replace(sample, id="")
    found = [store.take(plan, row) for row in rows]
    assert found[0] is None, "the oldest is dropped"
    assert found[-2:] == samples[-2:]
    assert store.take(plan, rows[-1]) is None, "each is taken once"
    SAMPLES.clear()
    for _ in range(2):
        SAMPLES.keep(plan, samples[-1])
    assert SAMPLES._size == size, "a sample that is drawn again is kept once"
    clear_caches()
    assert SAMPLES.take(plan, rows[-1]) is None
    assert SAMPLES._size == 0
