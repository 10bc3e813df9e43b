"""The plots keep their promises: wording, values that cannot be mistaken, and stories that are told alike."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from itertools import combinations, islice

import pytest

from pipeline.streams import Streams
from pipeline.tasks.idk.chance import noun_positions, positions
from pipeline.worlds.plots import KINDS, Plot, plots, values_of
from pipeline.worlds.stories import MINOR, TOLD, Story, draw_story, names

STREAMS = Streams((3, "stories"))
LISTS = sorted({plot.values for plot in plots()} | set(MINOR))
FORBIDDEN = {  # what a plot of a kind must not draw for its openings and closings
    "place": {"town"},
    "person": {"friend"},
    "time": set(),
}


def told(count: int = 2000) -> list[Story]:
    rng = STREAMS.of("told")
    everybody = names(STREAMS, "128k")
    return [draw_story(rng, name, rng.choice(plots()), rng.choice(TOLD)) for name in islice(everybody, count)]


def texts(plot: Plot) -> list[str]:
    said = [clause for slot in plot.slots for clause in (*slot.mentions, *slot.statements)]
    return [*plot.openings, *plot.closings, *said]


def in_any(text: str, value: str) -> bool:
    bare = re.sub(r"^an? ", "", value)
    return re.search(rf"\b{re.escape(bare)}(s|es)?\b", text, re.IGNORECASE) is not None


def test_there_are_enough_plots_and_each_kind_has_as_many() -> None:
    kinds = [plot.kind for plot in plots()]
    assert len(plots()) >= 30
    assert set(Counter(kinds).values()) == {len(plots()) // len(KINDS)}
    assert all(set(kinds[start : start + len(KINDS)]) == set(KINDS) for start in range(0, len(kinds), len(KINDS)))
    assert len({plot.title for plot in plots()}) == len(plots())


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_wordings_are_many_distinct_and_whole(plot: Plot) -> None:
    assert len(plot.slots) == 5
    assert len(plot.openings) >= 2
    assert len(plot.closings) >= 2
    assert all(opening.count("{name}") == 1 for opening in plot.openings)
    assert plot.ask.count("{it}") == plot.ask.count("{name}") == 1
    assert plot.ask.endswith("?")
    said = texts(plot)
    assert len(set(said)) == len(said)
    assert all(text.isascii() and text == text.strip() for text in said)
    assert all(text.endswith(".") and ". " not in text for text in (*plot.openings, *plot.closings))


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_clauses_can_be_joined_and_taken_apart(plot: Plot) -> None:
    for slot in plot.slots:
        assert all("{v}" not in clause for clause in slot.mentions)
        assert all(clause.count("{v}") == 1 for clause in slot.statements)
        assert slot.statements[0].endswith("{v}")
        for clause in (*slot.mentions, *slot.statements):
            assert not re.search(r", and |, while |;|\.|^\{v\}", clause), clause
            assert clause[0].islower() or clause.startswith("{first}")
            assert len(clause.split()) <= 13, clause
            assert in_any(clause, slot.noun.removeprefix("the ")), clause


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_a_noun_is_in_its_own_clauses_alone(plot: Plot) -> None:
    for slot in plot.slots:
        own = {*slot.mentions, *slot.statements}
        noun = slot.noun.removeprefix("the ")
        assert [text for text in texts(plot) if text not in own and in_any(text, noun)] == []


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_a_noun_stands_at_the_same_place_whether_its_detail_is_stated_or_not(plot: Plot) -> None:
    """At the same word of first clauses, one or two in, and at the very end of second ones."""
    for slot in plot.slots:
        noun = slot.noun.removeprefix("the ")
        starts = [len(text.partition(noun)[0].split()) for text in (slot.mentions[0], slot.statements[0])]
        assert starts[0] == starts[1] <= 2, slot
        assert all(text.endswith(noun) for text in (slot.mentions[1], slot.statements[1])), slot


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_what_is_asked_is_said_by_statements_alone(plot: Plot) -> None:
    fixed = " ".join((*texts(plot), plot.ask))
    assert [value for value in values_of(plot.values) if in_any(fixed, value)] == []
    drawn = set(re.findall(r"\{(\w+)\}", fixed)) - {"v", "it", "name", "first"}
    assert drawn <= set(MINOR) - FORBIDDEN.get(plot.kind, set()) - {plot.values}


@pytest.mark.parametrize("name", LISTS)
def test_no_value_is_part_of_another_and_there_are_enough(name: str) -> None:
    values = [re.sub(r"^an? ", "", value).lower() for value in values_of(name)]
    assert len(set(values)) == len(values) >= 7
    if len(values) < 200:
        assert [pair for pair in combinations(values, 2) if in_any(*pair) or in_any(*pair[::-1])] == []


def test_articles_fit() -> None:
    for name in LISTS:
        for value in values_of(name):
            article, _, noun = value.partition(" ")
            if article in ("a", "an"):
                assert (article == "an") == (noun[0] in "aeiou" and not noun.startswith("uni")) or noun == "hourglass"


def test_stories_are_fluent_text() -> None:
    for story in told():
        text = story.text
        assert text.isascii()
        assert text.endswith(".\n")
        assert text.count("\n") == 1
        assert not re.search(r"[{}]|  |\.\.|,,| [,.;]", text), text
        assert not re.search(r"\b(\w+) \1\b", text, re.IGNORECASE), text
        assert not re.search(r"\ba [aeiou](?!ni)|\ban [^aeiouh]", text, re.IGNORECASE), text
        assert all(sentence[0].isupper() for sentence in text.rstrip(".\n").split(". ")), text
        assert text.count(story.name) == 1
        assert len(text) < 700


def test_stories_are_distinct_and_so_are_names() -> None:
    assert len({story.text for story in told()}) == 2000
    everybody = names(STREAMS, "1m")
    assert len(set(everybody)) == len(everybody) > 3 * 1_048_576 / 120


def test_all_values_of_a_story_differ_and_are_stated_once() -> None:
    for story in told():
        assert len(set(story.stated.values())) == len(story.stated) in TOLD
        for value in story.stated.values():
            assert len(positions(story.text, value)) == 1, (value, story.text)


def test_every_noun_is_told_as_often_whether_its_detail_is_or_not() -> None:
    """Each noun is in one or two clauses, three of them in two; so the count says nothing of what is stated."""
    shares = {True: Counter[int](), False: Counter[int]()}
    for story in told():
        counts = {slot.noun: len(noun_positions(story.text, slot.noun)) for slot in story.plot.slots}
        assert sorted(counts.values()) == [1, 1, 2, 2, 2], story.text
        for noun, count in counts.items():
            shares[noun in story.stated][count] += 1
    twice = [share[2] / share.total() for share in shares.values()]
    assert abs(twice[0] - twice[1]) < 0.03


def test_neighbours_stand_next_to_each_other() -> None:
    for story in told(300):
        clauses = re.split(r", and |, while |; |\. ", story.text)
        for noun, others in story.beside.items():
            for other in others:
                assert any(
                    in_any(f" {one} ", noun.removeprefix("the ")) and story.stated[other] in two
                    for pair in itertools.pairwise(clauses)
                    for one, two in (pair, pair[::-1])
                ), (noun, other, story.text)


def test_the_edge_of_a_sentence_does_not_tell_whether_a_detail_is_stated() -> None:
    """A statement has its noun at the edge of its sentence as often as a clause that only mentions it."""
    edges = {True: Counter[bool](), False: Counter[bool]()}
    for story in told():
        for noun in (slot.noun for slot in story.plot.slots):
            bare = re.escape(noun.removeprefix("the "))
            at_edge = re.search(rf"(?:^|\. )(?:the )?{bare}\b|\b{bare}(?:\. |$)", story.text.strip(), re.IGNORECASE)
            edges[noun in story.stated][bool(at_edge)] += 1
    shares = [edges[stated][True] / edges[stated].total() for stated in (True, False)]
    assert abs(shares[0] - shares[1]) < 0.15, shares


def test_times_and_sightings_are_never_told_while_something_happens() -> None:
    assert not [story.text for story in told() if story.plot.kind in ("time", "animal") and ", while " in story.text]
