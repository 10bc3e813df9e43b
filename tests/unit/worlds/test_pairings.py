"""Pairings: every format is about what it can sensibly be about."""

from __future__ import annotations

import pytest

from pipeline.worlds.writing.realise import formats
from pipeline.worlds.writing.topics import fits, kinds, needs, parse_pairings, topics, topics_for

FEW = {"recipe": 70}
"""Formats that fewer than a hundred topics suit: no more than these can be eaten or drunk."""


def test_the_table_decides_every_format() -> None:
    assert set(needs()) == set(formats())
    assert set(needs().values()) <= {*kinds(), "anything"}


def test_there_are_topics_for_every_format_and_formats_for_every_topic() -> None:
    assert all(len(topics_for(form)) >= FEW.get(form, 100) for form in formats())
    assert all(sum(fits(form, topic.name) for form in formats()) >= 19 for topic in topics())


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("recipe", ("scones", "ginger beer", "quinces", "mussels"), ("lightning", "penguins", "hotels", "teapots")),
        ("product review", ("teapots", "kites", "scones"), ("lightning", "fjords", "gravity", "wasps", "rugby")),
        ("job advert", ("lighthouses", "penguins", "pianos"), ("lightning", "weeds", "fog", "prime numbers")),
        ("travel guide", ("fjords", "puffins", "jazz"), ("socks", "gravity", "earwigs", "crosswords")),
        ("complaint", ("bagpipes", "wasps"), ("eclipses", "lightning", "volcanoes")),
    ],
)
def test_formats_and_topics_make_sense_together(form: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    assert all(fits(form, topic) for topic in right)
    assert not any(fits(form, topic) for topic in wrong)


def test_a_line_that_says_nothing_is_named() -> None:
    with pytest.raises(ValueError, match="'nonsense': give"):
        parse_pairings("nonsense\n")
    with pytest.raises(KeyError):
        fits("sonnet", "penguins")
