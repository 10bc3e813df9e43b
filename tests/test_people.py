from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import pytest

from pipeline.profiles import load_profile
from pipeline.recipe import TIERS
from pipeline.streams import Streams
from pipeline.tasks.bio.reader import read_asked, read_biographies
from pipeline.tasks.bio.text import INSTRUCTION, INTRODUCTION, accepted, biography, question
from pipeline.worlds.people import ATTRIBUTES, choices_of, people, written_date

STREAMS = Streams((7, "any", "row"))


@pytest.mark.parametrize("tier", TIERS)
def test_first_and_last_name_stand_together_once(tier: str) -> None:
    everybody = people(STREAMS, tier)
    assert len({(one.first, one.last) for one in everybody}) == len(everybody)
    assert all(one.birthplace != one.city for one in everybody)


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
    table = read_biographies(text + "\nAnswer:")
    assert [entry.name for entry in table] == [one.name for one in some]
    for entry, one in zip(table, some, strict=True):
        assert entry.stated == {attribute: one.value(attribute) for attribute in ATTRIBUTES}
        assert text[entry.start : entry.end] == biography(one)
    for attribute in ATTRIBUTES:
        asked = f"{INSTRUCTION}\nQuestion: {question(some[0], attribute)}\nAnswer:"
        (found,) = read_asked(asked)
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
        read_biographies(f"{INTRODUCTION}{line}\n{INSTRUCTION}")


def test_the_reader_needs_a_body_and_a_question() -> None:
    with pytest.raises(ValueError, match="no body"):
        read_biographies("nothing")
    with pytest.raises(ValueError, match="asks nothing"):
        read_asked("nothing")
    with pytest.raises(ValueError, match="no question"):
        _ = read_asked(f"{INSTRUCTION}\nQuestion: Who are you?\nAnswer:")[0].about
