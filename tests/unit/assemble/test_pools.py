"""Pools in memory: units come back as they were made, and memory is bounded by bytes."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest

from pipeline.assemble.pools import BATCH, UNIT_SCHEMA, UNIT_TEXT, Pool, PoolCache
from pipeline.tasks.base import Piece, Plain, Unit, unit
from pipeline.tasks.solving import READING_CHARACTERS, LineCache, PromptCache

PLAIN = [unit(f"line {number}\n", facts=(f"n({number})",) * (number % 3)) for number in range(2 * BATCH + 7)]
MIXED = [
    Unit((Piece("a\n", "filler"), Piece("bbb\n", "decoy"))),
    Unit((Piece("cc\n", "filler"),), ("f",)),
    Unit((Piece("dddd\n", "filler"), Piece("e\n", "filler"), Piece("f\n", "filler"))),
]
SPOKEN = [
    Unit((Piece("Write.", "filler", "user"), Piece("Here it is.", "filler", "assistant")), ("poem",)),
    Unit((Piece("Again.", "filler", "user"), Piece("No.", "filler", "assistant"))),
]
EVERY = {"plain": PLAIN, "mixed": MIXED, "spoken": SPOKEN}


@pytest.mark.parametrize("name", EVERY)
def test_units_come_back_as_they_were_made(name: str) -> None:
    units, pool = EVERY[name], Pool.of(iter(EVERY[name]))
    assert len(pool) == len(units)
    assert list(pool) == units
    order = np.array([len(units) - 1, 0, 1, 0])
    assert pool.take(order) == [units[place] for place in order]
    assert pool[len(units) - 1] == units[-1]
    assert pool.texts(order) == ["".join(piece.text for piece in units[place].pieces) for place in order]
    assert pool.spoken == (name == "spoken")
    assert pool.plain == (name == "plain")
    assert not pool.plain or [*chain.from_iterable(pool.plain_texts())] == [each.pieces[0].text for each in units]


@pytest.mark.parametrize("name", EVERY)
def test_facts_are_read_when_they_are_asked_for(name: str) -> None:
    units, whole, asked = EVERY[name], Pool.of(EVERY[name]).table, []
    pool = Pool(whole.select(UNIT_TEXT), lambda: asked.append(1) or whole.select(["facts"]))  # type: ignore[func-returns-value]
    said = [Unit(each.pieces) for each in units]
    before = pool.size
    assert [*chain.from_iterable(pool.batches(facts=False))] == pool.take(np.arange(len(units)), facts=False) == said
    assert not asked
    assert list(pool) == pool.take(np.arange(len(units))) == units
    assert pool.table.equals(whole)
    assert asked == [1]
    assert pool.size > before


@pytest.mark.parametrize("name", EVERY)
def test_the_longest_come_first_and_of_equal_ones_the_first(name: str) -> None:
    units = EVERY[name]
    by_length = sorted(units, key=lambda each: -sum(len(piece.text) for piece in each.pieces))
    assert Pool.of(units).longest(50) == [Unit(each.pieces) for each in by_length[:50]]


def test_a_pool_has_the_content_of_a_table_made_at_once() -> None:
    records = [
        {
            "text": [piece.text for piece in each.pieces],
            "role": [piece.role for piece in each.pieces],
            "turn": [piece.turn for piece in each.pieces],
            "facts": list(each.facts),
        }
        for each in PLAIN
    ]
    assert Pool.of(PLAIN).table.equals(pa.Table.from_pylist(records, schema=UNIT_SCHEMA))


def test_a_pool_of_plain_texts_is_that_of_their_units() -> None:
    plain = Plain([each.pieces[0].text for each in PLAIN])
    assert Pool.of(plain).table.equals(Pool.of(list(plain)).table)
    assert [Unit(each.pieces) for each in PLAIN] == list(plain)


def test_the_pools_kept_fit_the_budget_and_the_last_used_stay() -> None:
    pools = {name: Pool.of(PLAIN[start : start + 500]) for name, start in (("a", 0), ("b", 1000), ("c", 2000))}
    made: list[str] = []

    def ask(kept: PoolCache, name: str) -> Pool:
        return kept.get(name, lambda: made.append(name) or pools[name])  # type: ignore[func-returns-value]

    kept = PoolCache(int(2.5 * max(pool.size for pool in pools.values())))
    for name in ("a", "b", "a", "c", "a", "b"):
        assert ask(kept, name) is pools[name]
        assert kept.size <= 2.5 * max(pool.size for pool in pools.values())
    assert made == ["a", "b", "c", "b"], "b, not used for the longest time, went for c"
    kept.clear()
    assert kept.size == 0


def test_a_pool_beyond_the_budget_is_kept_alone() -> None:
    kept = PoolCache(1)
    for start in (0, 500):
        pool = Pool.of(PLAIN[start : start + 500])
        assert kept.get(start, lambda pool=pool: pool) is kept.get(start, list)  # type: ignore[misc, arg-type]
        assert kept.size == pool.size


def test_readers_share_one_budget_of_characters() -> None:
    memory, read = LineCache(100), []

    def noted(kind: str, text: str) -> tuple[str, str]:
        read.append((kind, text))
        return kind, text

    first, second = memory.cached(lambda text: noted("first", text)), memory.cached(lambda text: noted("second", text))
    for _ in range(2):
        assert first("a" * 40) == ("first", "a" * 40)
        assert second("a" * 40) == ("second", "a" * 40)
    assert len(read) == 2
    assert memory.size == 80
    second("b" * 40)
    assert memory.size == 40, "it was full, and forgot both readers' paragraphs"
    first("a" * 40)
    assert len(read) == 4


def test_many_lines_are_read_as_one_by_one_and_each_once() -> None:
    memory, read = LineCache(2 * (READING_CHARACTERS + 1)), []

    def noted(line: str) -> str:
        read.append(line)
        return line.upper()

    each = memory.cached_map(noted)
    assert each(["a", "b", "a"]) == ["A", "B", "A"]
    assert each(["b", "a"]) == ["B", "A"]
    assert read == ["a", "b"]
    assert each(["c", "a"]) == ["C", "A"]
    assert read == ["a", "b", "c", "a"], "it was full, and forgot all lines"
    memory.clear()
    memory.cached_map(noted, weight=2)(["a"])
    assert memory.size == 2 * (READING_CHARACTERS + 1)


def test_what_a_reader_refuses_is_not_remembered() -> None:
    memory = LineCache(100)

    @memory.cached
    def refusing(text: str) -> str:
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="no biography"):
            refusing("no biography")
    assert memory.size == 0


def test_a_prompt_is_read_once_until_its_row_is_done_with() -> None:
    memory, read = PromptCache(), []

    @memory.cached
    def noted(text: str) -> str:
        read.append(text)
        return text.upper()

    assert noted("a") == noted("a") == "A"
    assert read == ["a"]
    memory.clear()
    assert noted("a") == "A"
    assert noted("b") == "B"
    assert read == ["a", "a", "b"]
