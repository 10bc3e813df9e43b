from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import pytest

from pipeline.profiles import load_profile
from pipeline.streams import Streams
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.solve import parse_biographies, parse_question
from pipeline.tasks.bio.text import INSTRUCTION, INTRODUCTION, biography, question
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.people import (
    ATTRIBUTES,
    CLAN,
    ROUNDS,
    ages,
    apart,
    choices_of,
    namesakes,
    people,
    written_date,
)

STREAMS = Streams((7, "any", "row"))


@pytest.mark.parametrize("tier", TIERS)
def test_everybody_has_three_namesakes_of_each_kind_and_no_more(tier: str) -> None:
    everybody = people(STREAMS, tier)
    assert len({one.name for one in everybody}) == len(everybody) >= 1024
    pairs = Counter(
        pair
        for one in everybody
        for pair in ((one.first, one.last, 0), (one.first, one.middle, 1), (one.middle, one.last, 2))
    )
    assert set(pairs.values()) == {4}
    assert all(one.birthplace != one.city for one in everybody)
    for number in range(0, len(everybody), 97):
        mine = everybody[number]
        for kind, found in enumerate(namesakes(number)):
            for other in map(everybody.__getitem__, found):
                same = [mine.first == other.first, mine.middle == other.middle, mine.last == other.last]
                assert same == [place != kind for place in range(3)]
                assert not any(mine.value(attribute) == other.value(attribute) for attribute in ATTRIBUTES)


@pytest.mark.parametrize("tier", TIERS)
def test_parts_of_names_recur(tier: str) -> None:
    everybody = people(STREAMS, tier)
    for part in ("first", "middle", "last"):
        times = Counter(getattr(one, part) for one in everybody)
        assert min(times.values()) >= 64
        assert max(times.values()) <= 1.6 * min(times.values())


@pytest.mark.parametrize("tier", TIERS)
def test_rounds_hold_everybody_once_and_nobody_twice_akin(tier: str) -> None:
    everybody = people(STREAMS, tier)
    rounds = [apart(turn, len(everybody) // CLAN).tolist() for turn in range(ROUNDS)]
    assert sorted(one for each in rounds for one in each) == list(range(len(everybody)))
    for each in rounds:
        akin = [other for one in each for kind in namesakes(one) for other in kind]
        assert len(set(akin)) == len(akin)
        assert not set(akin) & set(each)


def test_namesakes_have_other_ages() -> None:
    for tier in TIERS:
        known = ages(STREAMS, tier)
        for number in range(0, len(known), 31):
            assert all(known[number] != known[other] for kind in namesakes(number) for other in kind)


def test_a_million_tokens_never_run_out_of_people() -> None:
    everybody = people(STREAMS, "1m")
    fewest = min(
        int(load_profile(name).counter().counts([biography(one) for one in everybody[:4000]]).sum() / 4000)
        for name in ("o200k", "deepseek-v3", "llama3.1")
    )
    assert len(everybody) * fewest > 2.5 * TIERS["1m"]


def test_tokens_of_a_biography_are_near_the_papers() -> None:
    counts = load_profile("qwen2.5").counter().counts([biography(one) for one in people(STREAMS, "128k")])
    assert abs(counts.mean() / 105.6 - 1) < 0.2


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_every_value_is_about_as_frequent(attribute: str) -> None:
    values = Counter(one.value(attribute) for one in people(STREAMS, "1m"))
    share = len(people(STREAMS, "1m")) / choices_of(attribute)
    assert max(values.values()) < share + 6 * share**0.5 + 6
    if attribute != "birthdate":
        assert len(values) == choices_of(attribute)


def test_dates_are_written_without_the_locale_and_in_all_forms() -> None:
    day = date(1950, 1, 1)
    while day <= date(2001, 12, 31):
        forms = accepted(written_date(day), "birthdate")
        assert day.isoformat() in forms
        assert len(set(forms)) == 5
        day += timedelta(days=97)
    assert accepted("1 February 1960", "birthdate")[4] == "1st of February 1960"
    assert accepted("the University of Oslo", "university") == ("the University of Oslo", "University of Oslo")


def test_the_reader_finds_what_was_written() -> None:
    some = people(STREAMS, "32k")[:200]
    text = INTRODUCTION + "".join(map(biography, some)) + INSTRUCTION + "\nQuestion: " + question(some[3], "major")
    table = parse_biographies(text + "\nAnswer:")
    assert [entry.name for entry in table] == [one.name for one in some]
    for entry, one in zip(table, some, strict=True):
        assert entry.stated == {attribute: one.value(attribute) for attribute in ATTRIBUTES}
        assert text[entry.start : entry.end] == biography(one)
    for attribute in ATTRIBUTES:
        asked = f"{INSTRUCTION}\nQuestion: {question(some[0], attribute)}\nAnswer:"
        (found,) = parse_question(asked)
        assert (found.about, found.reply) == (((attribute, some[0].name),), "")


@pytest.mark.parametrize(
    "line",
    [
        "Ann Bee Cee was born on 1 May 1960. She sings.",
        "Ann Bee Cee was born on 1 May 1960. The birthplace of Ann Bee Dee is Oslo.",
        "Words that are no biography at all.",
        "",
    ],
)
def test_the_reader_takes_nothing_else_for_a_biography(line: str) -> None:
    with pytest.raises(ValueError, match="no biography"):
        parse_biographies(f"{INTRODUCTION}{line}\n{INSTRUCTION}")


def test_the_reader_needs_a_body_and_a_question() -> None:
    with pytest.raises(ValueError, match="no body"):
        parse_biographies("nothing")
    with pytest.raises(ValueError, match="asks nothing"):
        parse_question("nothing")
    with pytest.raises(ValueError, match="no question"):
        _ = parse_question(f"{INSTRUCTION}\nQuestion: Who are you?\nAnswer:")[0].about
