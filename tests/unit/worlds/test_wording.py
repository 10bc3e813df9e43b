"""The engine of wordings: what it parses it writes, and what it writes its patterns take."""

from __future__ import annotations

import re

import pytest

from pipeline.worlds.wording import PHRASES, Slot, core, parse, pattern, settled, slots, write

SAID = "{Name} [was|had been] sold [to {it}|at a {sum}] for a {sum}."
VALUES = {"Name": "the mill", "it": "Ann Tuck", "sum": "old guinea"}


def capture(slot: Slot) -> str:
    return f"(?P<{slot.name}>.+)"


def test_alternatives_are_picked_and_slots_filled_from_left_to_right() -> None:
    said = write(parse(SAID), lambda slot: VALUES[slot.name], lambda options: options[0])
    assert said == "the mill was sold to Ann Tuck for a old guinea."
    order: list[str] = []
    write(parse(SAID), lambda slot: order.append(slot.name) or "", lambda options: order.append("?") or options[1])
    assert order == ["Name", "?", "?", "sum", "sum"]


def test_alternatives_can_be_settled_before_any_slot() -> None:
    phrase = settled(parse(SAID), lambda options: options[-1])
    assert [part.name for part in phrase if isinstance(part, Slot)] == ["Name", "sum", "sum"]


def test_articles_agree_with_values() -> None:
    said = write(parse("A {sum}, a {sum}"), lambda _: "oak", vowel=lambda value: value[0] in "aeiou")
    assert said == "An oak, an oak"


@pytest.mark.parametrize("side", [0, 1])
def test_a_pattern_takes_what_is_written(side: int) -> None:
    said = write(parse(SAID), lambda slot: VALUES[slot.name], lambda options: options[side], lambda _: True)
    found = re.fullmatch(pattern(parse(SAID), capture, articles=True), said)
    assert found
    assert found["Name"] == VALUES["Name"]
    assert found["it"] == (None if side else VALUES["it"])


def test_a_name_is_captured_once() -> None:
    assert pattern(parse("{a} {a}"), capture) == r"(?P<a>.+)\ (?:.+)"


def test_the_core_is_in_all_that_is_written() -> None:
    assert core(parse(SAID)) == "for a"
    assert slots(SAID) == ("Name", "it", "sum", "sum")


def test_the_two_syntaxes_differ_in_what_brackets_mean() -> None:
    assert write(parse("[only]"), lambda _: "", lambda options: options[-1]) == "only"
    assert write(parse("[maybe]", PHRASES), lambda _: "", lambda options: options[-1]) == ""
    with pytest.raises(ValueError, match="partner"):
        parse("a [b")
