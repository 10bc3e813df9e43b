from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.streams import Shuffled, Streams, Wheel, deal, spread, stream


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


@pytest.mark.parametrize("rows", [1, 2, 7, 120])
def test_spread_puts_one_row_into_each_nth_part(rows: int) -> None:
    depths = [spread(stream("cell"), rows, row) for row in range(rows)]
    assert sorted(int(depth * rows) for depth in depths) == list(range(rows))


@pytest.mark.parametrize(("rows", "kinds"), [(12, 6), (120, 6), (8, 6), (5, 2)])
def test_deal_is_even(rows: int, kinds: int) -> None:
    dealt = Counter(deal(stream("cell"), rows, row, kinds) for row in range(rows))
    assert max(dealt.values()) - min(dealt[kind] for kind in range(kinds)) <= 1
