from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.assemble.packing import Counts, Packing, pack, subset_of_sum
from pipeline.errors import BuildError, FitError, PoolError
from pipeline.streams import Indices, Shuffled, stream
from pipeline.tasks.base import Filler


def pool_of(counts: list[int]) -> Counts:
    return np.array(counts, dtype=np.int64)


def filler_of(size: int, spares: int, seed: int = 0) -> Filler:
    order = Shuffled(stream("order", seed), size)
    first = order.take(spares)
    return Filler("pool", Shuffled(stream("order", seed), size, frozenset(first.tolist())), first)


def packed(room: int, counts: list[int], wanted: tuple[float, ...] = (), seed: int = 0, spares: int = 40) -> Packing:
    return pack(room, pool_of(counts), filler_of(len(counts), spares, seed), wanted, stream("mix", seed))


@given(
    room=st.integers(400, 8000),
    least=st.integers(1, 90),
    seed=st.integers(0, 9999),
    depths=st.lists(st.floats(0, 1), max_size=5),
)
@settings(max_examples=200, deadline=None)
def test_every_room_is_filled_to_the_token(room: int, least: int, seed: int, depths: list[float]) -> None:
    rng = stream("counts", seed)
    counts = [least + rng.randrange(least // 2 + 6) for _ in range(8000 // least + 200)]
    room = max(room, 3 * max(counts))
    wanted = tuple(sorted(depths))
    found = packed(room, counts, wanted, seed)
    assert sum(counts[unit] for unit in found.units) == room == found.total
    assert len(set(found.units.tolist())) == len(found.units), "a unit was used twice"
    for want, boundary, depth in zip(wanted, found.slots, found.depths, strict=True):
        assert depth == found.before[boundary] / room
        touching = [counts[found.units[i]] for i in (boundary - 1, boundary) if 0 <= i < len(found.units)]
        assert abs(depth - want) * room <= max(touching) / 2 + 1e-6


@given(
    counts=st.lists(st.integers(1, 12), max_size=9),
    total=st.integers(0, 60),
)
def test_subset_of_sum_finds_one_whenever_there_is_one(counts: list[int], total: int) -> None:
    sums = {sum(chosen) for size in range(len(counts) + 1) for chosen in itertools.combinations(counts, size)}
    found = subset_of_sum(counts, total)
    assert (found is not None) == (total in sums)
    if found is not None:
        assert len(set(found)) == len(found)
        assert sum(counts[position] for position in found) == total


def test_a_spare_is_never_used_twice() -> None:
    assert subset_of_sum([7, 7], 21) is None
    assert subset_of_sum([7, 5], 10) is None


def test_longer_rooms_take_more_of_the_same_order() -> None:
    counts = [10 + index % 7 for index in range(600)]
    short, long = packed(1500, counts), packed(4500, counts)
    spares = set(filler_of(600, 40).spares.tolist())
    first = [unit for unit in short.units.tolist() if unit not in spares]
    second = [unit for unit in long.units.tolist() if unit not in spares]
    assert second[: len(first)] == first


def test_spares_stand_anywhere() -> None:
    counts = [10 + index % 7 for index in range(600)]
    places = []
    for seed in range(60):
        found = packed(2000, counts, seed=seed)
        spares = set(filler_of(600, 40, seed).spares.tolist())
        places += [at / len(found.units) for at, unit in enumerate(found.units.tolist()) if unit in spares]
    assert 0.4 < float(np.mean(places)) < 0.6
    assert min(places) < 0.1
    assert max(places) > 0.9


def test_slots_keep_their_order_at_equal_depths() -> None:
    found = packed(900, [11] * 20 + [13] * 200, (0.5,) * 4)
    assert list(found.slots) == sorted(found.slots)


def test_ranked_filler_stands_by_rank() -> None:
    counts = [10 + index % 7 for index in range(300)]
    plain = filler_of(300, 40)
    ranks = np.arange(300)[::-1].copy()
    found = pack(1500, pool_of(counts), Filler("pool", plain.order, plain.spares, "ranked", ranks), (), stream(1))
    assert found.units.tolist() == sorted(found.units.tolist(), reverse=True)


@given(
    room=st.integers(600, 8000),
    seed=st.integers(0, 9999),
    at=st.lists(st.integers(-5, 320), max_size=8),
    spares=st.sampled_from([0, 40]),
)
@settings(max_examples=150, deadline=None)
def test_placed_units_stand_where_their_ranks_fall(room: int, seed: int, at: list[int], spares: int) -> None:
    """Every room is filled to the token, and the whole of filler and placed units is in the order of ranks."""
    rng = stream("counts", seed)
    counts = [20 + rng.randrange(40) for _ in range(600)]
    ranks = np.array([rng.randrange(300) for _ in counts])
    plain = filler_of(len(counts), spares, seed)
    filler = Filler("pool", plain.order, plain.spares, "ranked", ranks)
    wanted = sorted(at)
    made = pack(room, pool_of(counts), filler, [rng.random() for _ in at], stream("mix", seed), wanted)
    assert sum(counts[unit] for unit in made.units) == room == made.total
    found = ranks[made.units].tolist()
    for rank, slot, depth in zip(wanted, made.slots, made.depths, strict=True):
        assert all(each <= rank for each in found[:slot])
        assert all(each > rank for each in found[slot:])
        assert depth == made.before[slot] / room


def test_units_stand_at_ranks_all_or_none_and_among_ranked_filler() -> None:
    counts = [10 + index % 7 for index in range(300)]
    plain = filler_of(300, 40)
    ranked = Filler("pool", plain.order, plain.spares, "ranked", np.arange(300))
    for filler, at in ((ranked, (3, None)), (plain, (3, 4)), (Filler("pool", plain.order, plain.spares), (3, 4))):
        with pytest.raises(BuildError, match="give one to all of them, and filler with"):
            pack(1500, pool_of(counts), filler, (0.2, 0.4), stream(1), at)


def test_spares_stand_only_where_texts_begin() -> None:
    """Texts of four units stay whole: spares come before their first units, or last."""
    size, texts = 400, 360
    pool = pool_of([20 + number % 17 for number in range(size)])
    order, spares = Whole(np.arange(texts)), np.arange(texts, size)
    filler = Filler("pool", order, spares, "sequence", joints=np.arange(size) % 4 == 0)
    for room in range(3000, 3100):
        units = pack(room, pool, filler, (), stream("joints", room)).units.tolist()
        assert sum(pool[units]) == room
        last = max(at for at, number in enumerate(units) if number < texts)
        for at, number in enumerate(units[:last]):
            if number >= texts:
                following = next(each for each in units[at:] if each < texts)
                assert following % 4 == 0


class Whole:
    def __init__(self, order: Indices) -> None:
        self._order = order

    def take(self, count: int) -> Indices:
        return self._order[:count]


def test_too_little_room_is_said() -> None:
    with pytest.raises(FitError, match="room for 20 tokens of filler, but three times its largest unit is 30"):
        packed(20, [10] * 50)


def test_too_small_a_pool_is_said() -> None:
    with pytest.raises(PoolError, match=r"pool 'pool' has \d+ tokens for this prompt, but \d+ are needed"):
        packed(5000, [10] * 60)


def test_an_impossible_gap_is_said() -> None:
    with pytest.raises(FitError, match=r"no subset of 40 spare units, or .* closes a gap of .* varied lengths"):
        packed(1001, [10] * 300)


def test_where_sums_of_few_large_spares_leave_a_gap_other_units_help() -> None:
    """Seven of the largest spares are 1,450 tokens, eight of the smallest 1,470: no sum lies between."""
    spares, others = [*range(184, 200), 200, 205, 206, 207, 208, 209, 210], [215, 178, 216, 177]
    counts = spares + others * 60
    first = np.arange(len(spares))
    order = Shuffled(stream("order", 0), len(counts), frozenset(first.tolist()))
    made = pack(1460, pool_of(counts), Filler("pool", order, first), (), stream("mix", 0))
    assert made.total == 1460
    assert len(set(made.units.tolist())) == len(made.units)
    assert subset_of_sum(spares, 1460) is None
