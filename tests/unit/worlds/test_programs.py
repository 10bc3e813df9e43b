from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.streams import stream
from pipeline.worlds.programs import (
    INSERT_AT,
    POP_AT,
    REVERSE,
    SORT,
    Operation,
    View,
    cancels,
    draw_block,
    outcome,
    run,
)

STEPS = ("at", "aatt", "rarartrt", "raaattrt", "aararrttrt", "aaattataatattt")
BLOCKS = [draw_block(stream(1, "blocks", number), STEPS[number % len(STEPS)]) for number in range(400)]
NAMED = sorted({item.args[-1] for block in BLOCKS for item in block if item.args})


def op(name: str, *args: int) -> Operation:
    return Operation(name, args)


def test_text_is_what_python_takes() -> None:
    assert op("append", 1729).text == ">> a.append(1729)"
    assert op("insert", -1, -17).text == ">> a.insert(-1, -17)"
    assert op("pop").text == ">> a.pop()"
    assert View("print", (2, 5)).text == ">> print(a[2:5])"
    assert View("len").text == ">> len(a)"


def test_views_show_what_python_shows() -> None:
    program = [op("append", 1729), op("pop", 0), op("remove", 4)]
    assert run(program) == [2, 3, 5, 6, 1729]
    shown = [outcome(program, View(name, (1, 4))) for name in ("print", "sum", "min", "max")]
    assert shown == ["[3, 5, 6]", "14", "3", "6"]
    assert outcome(program, View("len")) == "5"
    assert outcome([op("remove", 9)], View("len")) is None
    assert outcome([op("pop", 9)], View("len")) is None
    assert outcome([], View("min", (7, 9))) is None


@pytest.mark.parametrize(
    "block",
    [
        [op("append", 5), op("pop")],
        [op("append", 5), op("pop", -1)],
        [op("insert", 0, 5), op("pop", 0)],
        [op("insert", 0, 5), op("remove", 5)],
        [op("append", 5), REVERSE, op("pop", 0), REVERSE],
        [REVERSE, op("insert", 0, 5), REVERSE, op("pop")],
        [op("append", 5), op("append", 6), op("insert", 1, 7), op("pop", 1), op("pop"), op("pop")],
        [op("append", 5), op("append", 6), op("pop", -2), op("pop")],
        [REVERSE] * 6,
        [],
    ],
)
def test_blocks_that_cancel_are_proven(block: list[Operation]) -> None:
    assert cancels(block)


@pytest.mark.parametrize(
    "block",
    [
        [op("append", 5), op("remove", 5)],
        [op("insert", 1, 5), op("pop", 1)][::-1],
        [op("pop"), op("append", 5)],
        [op("insert", 2, 5), op("pop", 2)],
        [op("insert", 1, 5), op("remove", 5)],
        [op("insert", -1, 5), op("pop", -2)],
        [op("append", 5), op("pop", 0)],
        [op("append", 5), op("insert", 2, 7), op("pop", 2), op("pop")],
        [SORT, SORT],
        [SORT],
        [REVERSE],
        [REVERSE] * 3,
        [op("append", 5)],
        [op("append", 5), REVERSE, op("pop"), REVERSE],
    ],
)
def test_blocks_that_do_not_cancel_everywhere_are_refused(block: list[Operation]) -> None:
    assert not cancels(block)


@given(st.sampled_from(BLOCKS), st.lists(st.one_of(st.integers(1, 6), st.sampled_from(NAMED)), max_size=40))
def test_blocks_leave_every_list_as_it_was(block: tuple[Operation, ...], start: list[int]) -> None:
    items = [*start, *(item.args[-1] for item in block if item.args and len(start) % 2)]
    before = items[:]
    for operation in block:
        operation.run(items)
    assert items == before


@given(
    st.lists(st.sampled_from([op("append", 1), op("pop"), op("pop", 0), op("insert", 0, 2), op("remove", 2), REVERSE]))
)
def test_whatever_is_proven_holds_on_lists_of_duplicates(block: list[Operation]) -> None:
    if not cancels(block):
        return
    for start in ([], [1], [2], [2, 1], [1, 2, 2], [2, 2, 1, 1, 2], [3] * 9 + [2]):
        items = list(start)
        for operation in block:
            operation.run(items)
        assert items == start


def test_blocks_have_many_forms() -> None:
    names = Counter(item.name for block in BLOCKS for item in block)
    assert set(names) == {"append", "insert", "pop", "remove", "reverse"}
    assert min(names.values()) > sum(names.values()) / 20
    inserted = {item.args[0] for block in BLOCKS for item in block if item.name == "insert"}
    popped = {item.args[0] for block in BLOCKS for item in block if item.name == "pop" and item.args}
    assert inserted <= set(INSERT_AT)
    assert popped <= set(POP_AT)
    assert len(inserted) >= 5
    assert len(popped) >= 6
    shapes = {
        tuple(item.text.replace(str(item.args[-1]), "x") if item.args else item.text for item in b) for b in BLOCKS
    }
    assert len(shapes) > 150
    assert {len(block) for block in BLOCKS} == {len(steps) for steps in STEPS}


def test_blocks_have_the_steps_they_were_asked_for() -> None:
    letters = {"append": "a", "insert": "a", "pop": "t", "remove": "t", "reverse": "r"}
    for number, block in enumerate(BLOCKS):
        assert "".join(letters[item.name] for item in block) == STEPS[number % len(STEPS)]
