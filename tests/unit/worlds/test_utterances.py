"""Messages: as many as are promised, each with one intent that no word tells, and read by other code."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from math import prod

import pytest

from pipeline.streams import Streams
from pipeline.tasks.messages import intent_of, read
from pipeline.worlds.utterances import (
    DOMAINS,
    OTHER,
    Intent,
    chosen,
    domain,
    kinds,
    lines,
    mentioned,
    phrase,
    slots,
    texts,
    write,
)
from pipeline.worlds.words import pool_text, pools_in
from prose_rules import faults

OWN = Streams((5,))
PROMISED = 900_000


def every(name: str) -> dict[Intent, tuple[str, ...]]:
    return {intent: tuple(said) for intent, said in texts(OWN, "32k", name).items()}


@pytest.mark.parametrize("name", DOMAINS)
def test_there_are_as_many_messages_as_are_promised(name: str) -> None:
    """Those alone that name the thing in the main sentence, with one greeting, aside and end each without slots."""
    known = domain(name)
    spoken = [sum("{" not in line.replace("{it}", "") for line in lines(part)) for part in ("greetings", "details")]
    for act, said in known.acts.items():
        asides = sum(len(some) for other, some in known.asides.items() if other != act)
        each = len(said) * 6 * prod(count + 1 for count in spoken) * (asides // 2)
        assert each * len(known.acts) * len(known.things) > PROMISED
    drawn = [message for intent in known.intents for message in write(known, intent, OWN.of("many"), 20)]
    assert len({*drawn}) == len(drawn)


def test_wordings_are_as_many_as_are_promised_and_no_two_the_same() -> None:
    for name in DOMAINS:
        known = domain(name)
        assert (len(known.acts), len(known.things)) == {"request": (10, 15), "question": (6, 9)}[name]
        for sections in (known.acts, known.things):
            found = [line for said in sections.values() for line in said]
            assert len({line.lower() for line in found}) == len(found)
            assert all(6 <= len(said) <= 10 for said in sections.values())
        assert {*known.asides} == {*known.acts}
        assert all(line.count("{it}") == 1 for said in known.acts.values() for line in said)


@pytest.mark.parametrize("name", DOMAINS)
def test_messages_are_distinct_and_read_to_their_intents_by_other_code(name: str) -> None:
    known = every(name)
    assert len({message for said in known.values() for message in said}) == sum(map(len, known.values()))
    assert len({*map(len, known.values())}) == 1
    for intent, said in known.items():
        for message in said:
            assert intent_of(message) == (("", "") if intent == OTHER else intent), message
            assert read(message).domain == name


@pytest.mark.parametrize("name", DOMAINS)
def test_acts_are_worded_alike_for_all_things_and_things_for_all_acts(name: str) -> None:
    """The words of a message that does not say what it is not for tell the act or the thing, and never both."""
    known = domain(name)
    stated: dict[str, set[str]] = defaultdict(set)
    for intent in known.intents:
        for message in write(known, intent, OWN.of("words", *intent), 200):
            for wording in known.things[intent.thing]:
                if wording in message:
                    stated[wording].add(intent.act)
    assert all(acts == {*known.acts} for acts in stated.values())
    assert len(stated) == sum(map(len, known.things.values()))


@pytest.mark.parametrize("name", DOMAINS)
def test_any_first_pairs_hold_acts_and_things_about_equally_often(name: str) -> None:
    known = domain(name)
    assert len({*known.intents}) == len(known.acts) * len(known.things)
    for count in (50, 54, 68, 77, 150):
        some = known.intents[:count]
        for place, most in ((0, len(known.acts)), (1, len(known.things))):
            times = Counter(intent[place] for intent in some)
            assert max(times.values()) - min(times[each] for each in {intent[place] for intent in known.intents}) <= 2
            assert len(times) == most


def test_sets_of_labels_mix_acts_and_things_anew() -> None:
    sets = [chosen(OWN, "32k", "request", which, 68) for which in range(8)]
    assert all(len({*some}) == 68 for some in sets)
    assert len({frozenset(some) for some in sets}) == 8
    assert len({intent for some in sets for intent in some}) >= 140
    whole = chosen(OWN, "32k", "request", 0, 151)
    assert OTHER in whole
    assert len({*whole}) == 151


def test_messages_of_other_matters_have_words_of_both_kinds() -> None:
    said = every("request")[OTHER]
    things = [wording for wordings in domain("request").things.values() for wording in wordings]
    others = lines("other-objects")
    about = [any(other in message for other in others) for message in said]
    assert 0.3 < sum(about) / len(said) < 0.7
    assert all(
        strange or any(thing in message for thing in things) for strange, message in zip(about, said, strict=True)
    )


def test_near_messages_mention_what_they_are_not_for() -> None:
    known, asked = domain("request"), Intent("cancel", "gym")
    for other in (Intent("price", "gym"), Intent("cancel", "zoo")):
        for message in write(known, other, OWN.of("near"), 50, asked):
            assert intent_of(message) == other
            if other.thing == asked.thing:
                assert mentioned("request", message) == "cancel"
            else:
                assert any(wording in message for wording in known.things["gym"])


def test_phrases_of_questions_tell_all_kinds_apart() -> None:
    found = [phrase(intent) for intent in domain("request").intents]
    assert len({*found}) == 150
    assert phrase(Intent("transfer", "gym")) == "to have a gym membership put in somebody else's name"
    assert all(len({kind.word for kind in kinds(what).values()}) == len(kinds(what)) for what in ("act", "thing"))


def test_names_of_writers_and_of_others_are_not_the_same() -> None:
    assert not {*slots()["name"]} & {*slots()["colleague"]}
    assert not {*slots()["town"]} & {*slots()["place"]}


@pytest.mark.parametrize("name", DOMAINS)
def test_texts_are_clean_english(name: str) -> None:
    for said in every(name).values():
        for message in said[:24]:
            found = list(faults(message))
            assert not found, (message, found)
            assert re.fullmatch(r"[A-Z][A-Za-z,.?;' -]+[.?]", message), message


def test_all_files_are_plain_lines() -> None:
    for name in pools_in("utterances"):
        for line in pool_text(name).splitlines():
            assert line == line.strip()
            assert line.isascii()


@pytest.mark.parametrize("message", ["Hello.", "I'd like to cancel it.", "I'd like to sing it.", "Cancel my zoo."])
def test_what_has_no_intent_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match="no message that is understood"):
        read(message)
