"""The annals keep their promises, and an independent reader agrees with them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.streams import Streams, stream
from pipeline.tasks.annals.solve import SENTENCE, Event, Line, _pattern, _patterns, last_valid_sale
from pipeline.tasks.longqa.steps import changes, history
from pipeline.worlds.chronicle import Chronicle, chronicle, happenings
from pipeline.worlds.chronicle.entries import (
    EVENTS,
    GROUPS,
    TAG,
    colours,
    deeds,
    lines,
    phrases,
    wordings,
    words_of,
    write,
)
from pipeline.worlds.chronicle.world import Title, owner
from pipeline.worlds.wording import parse, sections
from prose_rules import faults

MONTHS = range(1, 13)
NAME = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")
SLOT = re.compile(r"\{(\w+)\}")
CHOICE = re.compile(r"\[([^\]]*)\]")
ESTATE = ("sale", "unnamed", "undo", "undo2", "redo")


@cache
def world(tier: str = "32k") -> Chronicle:
    return chronicle(Streams((7, "any row")), tier)


def test_every_kind_is_told_in_many_wordings() -> None:
    for kind, some in ((kind, some) for name in EVENTS for kind, some in lines(name).items()):
        said = [one for one in some if not one.startswith("? ")]
        assert len(said) >= (5 if kind in happenings() else 6), kind
        assert all(len(wordings(kind, month)) >= 4 for month in MONTHS), kind
    assert len(happenings()) == 20
    assert all(len(asked) >= 2 for asked in happenings().values())
    assert sum(map(len, lines("colour").values())) >= 140
    for kind in (*GROUPS, *happenings()):
        assert len(colours(GROUPS.get(kind, "house"), 1, kind)) >= 7, kind
    assert all(len([*colours("any", month), *colours("season", month)]) >= 32 for month in MONTHS)
    for name in ("events", "happenings", "colour"):
        for line in (line for some in lines(name).values() for line in some if not line.startswith("? ")):
            assert line.endswith((".", "{end}", "{calm}", "{hush}")), line
            assert line.count("[") == line.count("]")


def test_what_fits_a_season_or_a_kind_alone_stands_there_alone() -> None:
    """A tag names months or known kinds, and an entry has no word that belongs to another season."""
    every = [some for name in (*EVENTS, "colour") for some in sections(f"chronicle/{name}").values()]
    tags = [tag[1] for some in every for tag in tagged(some)]
    assert len(tags) > 60
    kinds = {word for tag in tags if not tag[0].isdigit() for word in tag.split(" ")}
    assert kinds <= {*GROUPS, *happenings(), *deeds()}
    out_of_season = {
        r"\b(?:the ice|icicles|skaters|in a drift|snow lay|slush|chilblains)\b": {1, 2, 11, 12},
        r"hoar frost": {1, 2, 3, 11, 12},
        r"\bfroze": {1, 2, 12},
        r"\b(?:swarm|haymaking|swallows|swifts|sheep-washing|greenfly|foxgloves)\b": {5, 6, 7, 8},
        r"christmas (?:gift|eve)|candlemas|easter gift|birthday": set(),
    }
    for one in world().entries:
        said, month = one.text.lower(), date.fromordinal(one.day).month
        wrong = [word for word, months in out_of_season.items() if re.search(word, said) and month not in months]
        assert not wrong, said


def tagged(some: Iterable[str]) -> Iterator[re.Match[str]]:
    return (found for one in some if (found := TAG.match(one)))


def test_every_slot_of_colour_is_a_phrase_or_a_value() -> None:
    values = {"street", "elsewhere", "somebody", "clerk", "clerk2", "num", "leaf"}
    for some in (*lines("colour").values(), *lines("phrases").values(), *lines("talk").values()):
        assert {slot for line in some for slot in SLOT.findall(line)} <= {*phrases(), *values}


def test_a_property_is_sold_for_about_as_much_each_time() -> None:
    paid = defaultdict(list)
    for one in world().entries:
        if one.kind == "sale" and (found := re.search(r"(\d+) (pounds|guineas)", one.text)):
            paid[one.about["prop"]].append(int(found[1]))
    assert all(max(some) <= 1.5 * min(some) for some in paid.values())


def test_a_question_about_a_happening_has_no_word_of_its_tellings() -> None:
    common = {"prop", "was", "did", "at", "of", "by", "to", "in", "for", "a", "the", "there", "out", "up", "people"}
    common |= {"num", "own", "its", "from", "an", "get", "men", "part", "said", "were"}
    for kind, asked in happenings().items():
        told = {word for line in lines("happenings")[kind] if not line.startswith("? ") for word in words(line)}
        shared = {word for one in asked for word in words(one)} & told - common
        assert not shared, (kind, shared)


def words(line: str) -> list[str]:
    return re.findall("[a-z]+", line.lower())


def test_entries_are_of_the_stated_length_and_in_order() -> None:
    for one in world().entries:
        said = one.text.partition(". ")[2]
        assert one.text.isascii()
        assert "{" not in said
        assert "[" not in said
        assert "  " not in said
        assert 7 <= len(said.split()) <= 62, one.text
    sizes = [len(one.text.split()) - 3 for one in world().entries]
    assert sum(25 <= size <= 60 for size in sizes) > 0.85 * len(sizes)
    assert (world().days[1:] >= world().days[:-1]).all()
    texts = Counter(one.text for one in world().entries)
    assert max(texts.values()) == 1


def test_people_have_one_name_and_parents_are_older() -> None:
    souls = world().population.souls
    assert len({one.name for one in souls}) == len(souls)
    for one in souls:
        assert one.spouse is None or one.spouse.spouse is one
        for parent in filter(None, (one.father, one.mother)):
            assert parent.born < one.born - 17 * 365
            assert parent.dies > one.born - 365
        if one.father and one.mother:
            assert 17 * 365 < one.born - one.mother.born < 47 * 365
    assert all(150 <= len(some) <= 260 for some in world().population.grown.values())
    assert all(len(some) >= 15 for some in world().population.able.values())


def test_the_long_dead_have_been_dead_for_ten_years_and_the_living_live() -> None:
    souls = {one.name: one for one in world().population.souls}
    for one in world().entries:
        dead = re.findall(NAME, one.about["names"]) if one.kind == "stones" else []
        assert all(souls[name].dies < one.day - 10 * 365 for name in dead), one.text
        kin = {one.about.get(slot) for slot in ("father", "mother", "child", "person")}
        for name in {*re.findall(NAME, one.text)} & {*souls} - {*dead} - kin:
            assert souls[name].born < one.day - 18 * 365, one.text
            assert souls[name].dies >= one.day, one.text


def test_parents_do_nothing_at_a_wedding_or_a_grave() -> None:
    """They are named whether they live or not: no wording says that they come, or lie there."""
    doing = re.compile(r"\{mother\} (?:gave|saw|came|led|blessed)|presence|near the parents|beside the parents")
    assert not [line for kind in ("bride", "groom", "burial") for line in lines("events")[kind] if doing.search(line)]


def test_nobody_is_glad_at_a_funeral() -> None:
    assert all(line.endswith((".", "{hush}")) for line in lines("colour")["death"])
    assert not re.search("delight|amusement|envy|relief|laugh|danc|{did}|{view}", " ".join(lines("phrases")["hush"]))


def test_nobody_trades_or_judges_on_christmas_day() -> None:
    days = [(one.kind, date.fromordinal(one.day)) for one in world("128k").entries]
    kinds = {kind for kind, day in days if (day.month, day.day) == (12, 25)}
    assert kinds <= {"birth", "bride", "groom", "wedding", "death", "burial"}


def test_the_ground_of_a_grave_is_of_one_kind() -> None:
    assert all(one.text.count("The ground was") <= 1 for one in world("128k").entries)


def test_entries_have_no_fault() -> None:
    """Of grammar or spelling, by the rules that other texts are held to; names may be spelt as they like."""
    known = {*words_of("women"), *words_of("men"), *words_of("surnames")}
    for one in world().entries:
        said = one.text.rstrip("\n").partition(". ")[2]
        said = re.sub(r"\b[A-Z][a-z]+", lambda word: "Ann" if word[0] in known else word[0], said)
        assert list(faults(said.replace("Ann Ann", "Ann"))) == [], one.text


def test_no_property_falls_back_to_the_dead() -> None:
    dies = {one.name: one.dies for one in world().population.souls}
    for prop in world().properties:
        title = Title()
        for one in (world().entries[at] for at in world().about.get(prop, ())):
            if one.kind in ESTATE:
                title.take(one.kind, one.about.get("buyer", ""))
                assert not title.standing or dies.get(title.standing[-1], one.day) >= one.day or one.kind == "sale"


@pytest.mark.parametrize(("tier", "entries", "most"), [("32k", 560, 0.05), ("128k", 2250, 0.15)])
def test_few_sentences_stand_twice(tier: str, entries: int, most: float) -> None:
    """As many entries as a prompt of the tier's longest length holds, drawn at random."""
    every = world(tier).entries
    some = [every[at] for at in stream("prompt", tier).sample(range(len(every)), entries)]
    times = Counter(said for one in some for said in SENTENCE.split(one.text.rstrip("\n").partition(". ")[2]))
    assert sum(count for count in times.values() if count > 1) / times.total() <= most


def test_properties_share_their_words() -> None:
    firsts = Counter(one.split(" ")[1] for one in world().properties)
    assert len(world().properties) >= 60
    assert min(firsts.values()) >= 3
    assert {one.split(" ")[2] for one in world().properties} <= set(words_of("kinds"))


def test_a_reader_finds_in_every_entry_what_it_states() -> None:
    for one in world().entries[::2]:
        found = [
            (kind, {slot.lower(): value for slot, value in match.groupdict().items() if value})
            for sentence in SENTENCE.split(one.text.rstrip("\n").partition(". ")[2])
            for kind, _, pattern in _patterns()
            if (match := pattern.fullmatch(sentence))
        ]
        assert [kind for kind, _ in found] == [one.kind], one.text
        told = found[0][1]
        assert all(told.get(slot, value).lower() == value.lower() for slot, value in one.about.items()), one.text


def test_colour_states_nothing() -> None:
    events = [pattern for _, _, pattern in _patterns()]
    for some in lines("colour").values():
        for said in some:
            plain = SLOT.sub("Ann Tuck", CHOICE.sub(lambda choice: choice[1].split("|")[0], said))
            assert not any(pattern.fullmatch(plain) for pattern in events), said
            assert not {"prop", "Prop", "buyer"} & set(SLOT.findall(said))


def test_patterns_take_all_that_wordings_write() -> None:
    values = {slot: "Ann Tuck" for some in lines("events").values() for line in some for slot in SLOT.findall(line)}
    values |= {"prop": "the Weir Mill", "Prop": "the Weir Mill", "son": "daughter", "sum": "5 pounds", "num": "nine"}
    values |= {"price": "two shillings", "goods": "wheat", "Goods": "wheat", "names": "Ann Tuck and Bo Lee"}
    for some in lines("events").values():
        for line, wording in ((line, parse(line)) for line in some):
            for seed in range(4):
                said = write(stream("write", seed), wording, values)
                assert _pattern(line).fullmatch(said) or said[0] != line[0], said


@given(seed=st.integers(0, 10**6), shape=st.sampled_from([(1, 1, 6), (2, 1, 1), (1, 5, 5), (4, 5, 2), (3, 20, 4)]))
@settings(max_examples=60, deadline=None)
def test_each_step_needed_matters_and_no_other(seed: int, shape: tuple[int, int, int]) -> None:
    ahead, needed, after = shape
    steps, wanted = history(stream("history", seed), ahead, needed, after)
    assert len(wanted) == needed
    assert len(steps) == wanted.stop + after
    decided = steps[: wanted.stop]
    assert [changes(decided, at) for at in range(len(decided))] == [at in wanted for at in range(len(decided))]
    assert owner(decided) == decided[wanted.start][1] == str(ahead) == read_by_other_code(decided)


def read_by_other_code(steps: list[tuple[str, str]]) -> str:
    told = [Event(Line(at, at + 1, at, ""), kind, {"buyer": buyer}) for at, (kind, buyer) in enumerate(steps)]
    sale = last_valid_sale(told)
    return sale.values["buyer"] if sale else ""


@pytest.mark.parametrize("kind", [kind for kind in ESTATE if kind not in ("sale", "unnamed")])
def test_what_cannot_be_is_said(kind: str) -> None:
    with pytest.raises(ValueError, match="sale"):
        owner([(kind, "")])
    with pytest.raises(ValueError, match="sale"):
        read_by_other_code([(kind, "")])
