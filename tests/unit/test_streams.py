from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.streams import ROUNDS, Permutation, Shuffled, Streams, Wheel, deal, spread, stream


def test_streams_are_pinned_for_ever() -> None:
    assert stream(7, "bio.standard@1", "32k", 17).random() == stream(7, "bio.standard@1", "32k", 17).random()
    assert [stream(1, "a").randrange(1000) for _ in range(2)] == [52, 52]
    assert stream("a", "b").getrandbits(64) == 0x88FD0555AFFF4929


def test_parts_of_a_path_do_not_run_together() -> None:
    paths = [("ab", "c"), ("a", "bc"), ("abc",), (1, "1"), ("1", 1), (11,), ("a", "b", "c")]
    assert len({stream(*path).getrandbits(64) for path in paths}) == len(paths)


def test_neighbouring_seeds_and_rows_share_no_data() -> None:
    drawn = {(seed, row): stream(seed, "task", row).getrandbits(64) for seed in range(30) for row in range(30)}
    assert len(set(drawn.values())) == 900


def test_world_streams_keep_the_seed_alone() -> None:
    row = Streams((5, "task", "32k", 3))
    assert row.world("people@1").of("names").random() == stream(5, "people@1", "names").random()


@given(seed=st.integers(0, 50), size=st.integers(1, 300), data=st.data())
def test_shuffled_takes_prefixes_of_one_order(seed: int, size: int, data: st.DataObject) -> None:
    without = data.draw(st.frozensets(st.integers(0, size - 1), max_size=size - 1))
    counts = data.draw(st.lists(st.integers(0, size), min_size=1, max_size=5))
    order = Shuffled(stream(seed), size, without)
    whole = Shuffled(stream(seed), size, without).take(size)
    assert sorted(whole.tolist()) == sorted(set(range(size)) - without)
    for count in counts:
        assert order.take(count).tolist() == whole[:count].tolist()


def test_shuffled_favours_no_index() -> None:
    firsts = Counter(int(Shuffled(stream("first", seed), 10).take(1)[0]) for seed in range(4000))
    assert min(firsts.values()) > 320
    assert max(firsts.values()) < 480


def test_wheel_takes_prefixes_and_keeps_proportions() -> None:
    wheel = np.array([0] * 48 + [1] * 16)
    drawn = Wheel(stream(3), wheel)
    short = drawn.take(100).tolist()
    assert drawn.take(20_000)[:100].tolist() == short
    assert 0.23 < drawn.take(20_000).mean() < 0.27


class Counting(Random):
    """Counts how often it is drawn from."""

    draws = 0

    def getrandbits(self, bits: int, /) -> int:
        """Draw bits, and count."""
        self.draws += 1
        return super().getrandbits(bits)


@given(seed=st.integers(0, 99), size=st.integers(1, 700))
def test_a_permutation_holds_each_number_once(seed: int, size: int) -> None:
    order = Permutation(stream(seed), size)
    assert sorted(order[place] for place in range(size)) == list(range(size))
    for place in (-1, size):
        with pytest.raises(IndexError, match=f"place {place} is not one of {size}"):
            order[place]
    assert order.run(0, size).tolist() == list(map(order.__getitem__, range(size)))
    for start, stop in ((-1, 1), (0, size + 1), (1, 0)):
        with pytest.raises(IndexError, match=f"places {start} to {stop - 1} are not among {size}"):
            order.run(start, stop)


def chi_square(counts: Iterable[int]) -> float:
    """Return by how many standard deviations counts differ more than equal shares do (Wilson and Hilferty 1931)."""
    seen = list(counts)
    mean, spare = sum(seen) / len(seen), 2 / (9 * (len(seen) - 1))
    ratio = sum((count - mean) ** 2 for count in seen) / mean / (len(seen) - 1)
    return float((ratio ** (1 / 3) - (1 - spare)) / spare**0.5)


@pytest.mark.parametrize("size", [3, 5, 65, 90])
def test_permutations_are_uniform(size: int) -> None:
    orders = [Permutation(stream("uniform", seed), size) for seed in range(100 * size)]
    for place in (0, size // 2, size - 1):
        seen = Counter(order[place] for order in orders)
        assert -4 < chi_square(seen[number] for number in range(size)) < 4
    gaps = Counter((order[1] - order[0]) % size for order in orders)
    assert gaps[0] == 0
    assert -4 < chi_square(gaps[gap] for gap in range(1, size)) < 4
    apart = Counter((order[size - 1] - order[0]) % size for order in orders)
    assert -4 < chi_square(apart[gap] for gap in range(1, size)) < 4


def test_small_permutations_are_uniform_as_wholes() -> None:
    orders = Counter(tuple(map(Permutation(stream("whole", seed), 4).__getitem__, range(4))) for seed in range(7200))
    assert len(orders) == 24
    assert -4 < chi_square(orders.values()) < 4


@pytest.mark.parametrize("size", [10**3, 10**6, 10**12])
def test_a_place_costs_the_same_whatever_the_size(size: int) -> None:
    rng = Counting(7)
    order = Permutation(rng, size)
    assert rng.draws == ROUNDS
    steps = 0

    class Stepping(Permutation):
        def _enciphered(self, number: int) -> int:
            nonlocal steps
            steps += 1
            return super()._enciphered(number)

    walking = Stepping(Counting(7), size)
    assert [walking[place] for place in range(500)] == [order[place] for place in range(500)]
    assert steps < 550
    once = Counting(8)
    assert 0 <= spread(once, size, size - 1) < 1
    assert 0 <= deal(once, size, size - 1, size) < size
    assert once.draws == 2


@pytest.mark.parametrize("rows", [1, 2, 7, 120])
def test_spread_puts_one_row_into_each_nth_part(rows: int) -> None:
    for block in range(3):
        depths = [spread(stream("cell"), rows, row) for row in range(block * rows, (block + 1) * rows)]
        assert sorted(int(depth * rows) for depth in depths) == list(range(rows))


def test_blocks_are_spread_in_orders_of_their_own() -> None:
    orders = {tuple(int(20 * spread(stream("cell"), 20, row)) for row in range(n, n + 20)) for n in range(0, 200, 20)}
    assert len(orders) == 10
    within = [20 * spread(stream("cell"), 20, row) % 1 for row in range(2000)]
    assert -4 < chi_square(Counter(int(10 * part) for part in within).values()) < 4


@pytest.mark.parametrize(("rows", "kinds"), [(12, 6), (120, 6), (8, 6), (5, 2), (100, 7), (4, 6), (10, 120), (1, 9)])
def test_deal_is_even(rows: int, kinds: int) -> None:
    for seed in range(20):
        dealt = Counter(deal(stream("cell", seed), rows, row, kinds) for row in range(rows))
        assert max(dealt.values()) - min(dealt[kind] for kind in range(kinds)) <= 1
        blocks = Counter(deal(stream("cell", seed), rows, row, kinds) for row in range(4 * rows))
        assert max(blocks.values()) - min(blocks[kind] for kind in range(kinds)) <= 1


@pytest.mark.parametrize(("rows", "kinds"), [(4, 6), (1, 5), (10, 120), (25, 4), (30, 7)])
def test_deal_favours_no_kind_and_no_row(rows: int, kinds: int) -> None:
    dealt = [[deal(stream("cell", seed), rows, row, kinds) for row in range(rows)] for seed in range(300 + 10 * kinds)]
    every = Counter(kind for kinds_of in dealt for kind in kinds_of)
    assert chi_square(every[kind] for kind in range(kinds)) < 4
    for row in {0, rows // 2, rows - 1}:
        here = Counter(kinds_of[row] for kinds_of in dealt)
        assert -4 < chi_square(here[kind] for kind in range(kinds)) < 4


def test_fewer_rows_than_kinds_get_any_set_of_kinds() -> None:
    sets = Counter(frozenset(deal(stream("cell", seed), 2, row, 5) for row in range(2)) for seed in range(3000))
    assert len(sets) == 10
    assert -4 < chi_square(sets.values()) < 4


def test_the_kinds_that_rows_get_once_more_are_random() -> None:
    extra = Counter(
        Counter(deal(stream("cell", seed), 7, row, 3) for row in range(7)).most_common(1)[0][0] for seed in range(3000)
    )
    assert -4 < chi_square(extra.values()) < 4
