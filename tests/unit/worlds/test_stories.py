"""The plots keep their promises: wording, values that cannot be mistaken, and stories that are told alike."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import combinations, islice, product

import pytest

from pipeline.streams import Streams
from pipeline.tasks.idk.chance import WORD, noun_positions, positions
from pipeline.tasks.idk.solve import read_story
from pipeline.worlds.stories import (
    KINDS,
    MINOR,
    PAIRS,
    REFERRING,
    Pair,
    Plot,
    Story,
    draw_story,
    names,
    plots,
    values_of,
    worded,
)
from pipeline.worlds.words import pool
from prose_rules import faults

STREAMS = Streams((3, "stories"))
EITHER = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
LISTS = sorted({plot.values for plot in plots()} | set(MINOR))
FORBIDDEN = {  # what a plot of a kind must not draw for its openings and closings
    "place": {"town"},
    "person": {"friend"},
    "time": set(),
}


@cache
def told() -> list[Story]:
    rng = STREAMS.of("told")
    everybody = names(STREAMS, "128k")
    return [draw_story(rng, name, rng.choice(plots())) for name in islice(everybody, 2000)]


def wordings(form: str) -> tuple[str, str]:
    """Return what a sentence about a pair says where the detail is of the first, and of the second."""
    return EITHER.sub(r"\1", form), EITHER.sub(r"\2", form)


def texts(plot: Plot) -> list[str]:
    said = [clause for slot in plot.slots for clause in slot.clauses]
    pairs = [text for form in plot.pairs for text in wordings(form)]
    return [*plot.openings, *plot.closings, *said, *pairs]


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
    assert len(plot.slots) == 2 * PAIRS
    assert len(plot.pairs) > PAIRS
    assert all(len(slot.clauses) >= 2 for slot in plot.slots)
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
        for clause in slot.clauses:
            assert not re.search(r", and |;|\.|\{v\}", clause), clause
            assert clause[0].islower() or clause.startswith("{first}")
            assert len(clause.split()) <= 13, clause
            assert in_any(clause, slot.noun.removeprefix("the ")), clause


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_both_wordings_about_a_pair_look_alike(plot: Plot) -> None:
    """The same words, as often; both things, the value, names and marks at the same places: only an order tells."""
    for form in plot.pairs:
        one, other = (re.findall(r"\{\w+\}|\w+|[^\w\s]", text) for text in wordings(form))
        assert one != other
        assert sorted(one) == sorted(other), form
        fixed = [[(place, word) for place, word in enumerate(words) if not word.isalpha()] for words in (one, other)]
        assert fixed[0] == fixed[1], form
        assert all(one.count(mark) == 1 for mark in ("{x}", "{y}", "{v}")), form
        assert len(one) <= 32, form
        assert form[0].islower() or plot.values in ("first", "city", "month") or not form.startswith("{v}")


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_the_reader_finds_out_whose_detail_is_stated(plot: Plot) -> None:
    """Of every sentence, for any two things, in either wording."""
    person, opening = "Ann Bee", plot.openings[0].format_map(dict.fromkeys(MINOR, "Rome") | {"name": "Ann Bee"})
    closing = plot.closings[0].format_map(dict.fromkeys(MINOR, "Rome") | {"first": "Ann"})
    value = next(value for value in values_of(plot.values) if value != "Ann")
    nouns = [slot.noun for slot in plot.slots]
    for form, x, y, owner in product(plot.pairs, nouns, nouns, (0, 1)):
        if x != y:
            said = worded(form, Pair((x, y), owner, value), "Ann")
            told = read_story(f"{opening} {said} {closing}")
            assert (told.name, told.stated) == (person, {(x, y)[owner]: value}), said
            assert told.near == {x: value, y: value}


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_a_noun_is_in_its_own_clauses_alone(plot: Plot) -> None:
    for slot in plot.slots:
        own = set(slot.clauses)
        noun = slot.noun.removeprefix("the ")
        assert [text for text in texts(plot) if text not in own and in_any(text, noun)] == []


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.title)
def test_what_is_asked_is_said_by_statements_alone(plot: Plot) -> None:
    fixed = " ".join((*texts(plot), plot.ask))
    assert [value for value in values_of(plot.values) if in_any(fixed, value)] == []
    drawn = set(re.findall(r"\{(\w+)\}", fixed)) - {"v", "x", "y", "it", "name", "first"}
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
        assert len(text) < 900


def test_stories_have_no_fault() -> None:
    """Of grammar or spelling, by the rules that other texts are held to; names may be spelt as they like."""
    people = {*pool("first"), *pool("last")}
    for story in told()[::4]:
        said = re.sub(r"\b[A-Z]\w+\b", lambda word: "Ann" if word[0] in people else word[0], story.text)
        assert list(faults(re.sub(r"\bAnn Ann\b", "Ann", said))) == []


def test_no_sentence_lets_one_think_that_both_things_have_the_detail() -> None:
    """Who is asked what is red, and forgets to name one of two, says that it is red; and so on."""
    both = re.compile(r"\b(?:also|both|cancel|crossed out|forgot|omit|return|took back|withdr)")
    assert not [form for plot in plots() for form in plot.pairs if both.search(form)]


def test_nothing_is_said_that_some_month_rules_out() -> None:
    """A plot that names any month has no season of its own, and no weather of one."""
    season = re.compile(r"(?<!last )(?<!every )(?<!a )\b(?:spring|summer|autumn|winter|ice(?! cream)|snow|frost)\b")
    dated = [plot for plot in plots() if any("{month}" in text for text in texts(plot))]
    assert len(dated) > 20
    assert not [text for plot in dated for text in texts(plot) if season.search(text)]


def test_no_thing_is_called_by_a_word_that_refers_to_it() -> None:
    assert not [
        slot.noun for plot in plots() for slot in plot.slots if re.search("former|latter|first|second", slot.noun)
    ]


def test_stories_are_distinct_and_so_are_names() -> None:
    assert len({story.text for story in told()}) == 2000
    everybody = names(STREAMS, "1m")
    assert len(set(everybody)) == len(everybody) > 3 * 1_048_576 / 120


def test_all_values_of_a_story_differ_and_are_stated_once() -> None:
    for story in told():
        assert len(set(story.stated.values())) == len(story.stated) == PAIRS
        for value in story.stated.values():
            assert len(positions(story.text, value)) == 1, (value, story.text)


def test_every_noun_is_told_as_often_whether_its_detail_is_or_not() -> None:
    """Each noun is in one or two sentences; so the count says nothing of what is stated."""
    shares = {True: Counter[int](), False: Counter[int]()}
    for story in told():
        for slot in story.plot.slots:
            shares[slot.noun in story.stated][len(noun_positions(story.text, slot.noun))] += 1
    assert set(shares[True]) == set(shares[False]) == {1, 2}
    twice = [share[2] / share.total() for share in shares.values()]
    assert abs(twice[0] - twice[1]) < 0.03


def test_every_thing_is_one_of_one_pair_and_each_side_has_the_detail_as_often() -> None:
    sides = Counter[int]()
    for story in told():
        nouns = [noun for pair in story.pairs for noun in pair.nouns]
        assert sorted(nouns) == sorted(slot.noun for slot in story.plot.slots)
        sides.update(pair.owner for pair in story.pairs)
    assert abs(sides[0] / sides.total() - 0.5) < 0.02


def test_few_sentences_speak_of_the_former_and_the_latter() -> None:
    for plot in plots():
        assert sum(not REFERRING.search(form) for form in plot.pairs) >= PAIRS - 1, plot.title
    for story in told():
        assert story.text.count(" latter") <= 1, story.text


def test_stories_of_the_same_draws_differ_in_whose_the_details_are_alone() -> None:
    for number, name in enumerate(islice(names(STREAMS, "32k"), 300)):
        plot = plots()[number % len(plots())]
        one, other = (draw_story(STREAMS.of("twin", number), name, plot, dict.fromkeys(range(PAIRS), side))
                      for side in (0, 1))  # fmt: skip
        assert sorted(WORD.findall(one.text.lower())) == sorted(WORD.findall(other.text.lower()))
        assert [(pair.nouns, pair.value) for pair in one.pairs] == [(pair.nouns, pair.value) for pair in other.pairs]
        assert not one.stated.keys() & other.stated.keys()
