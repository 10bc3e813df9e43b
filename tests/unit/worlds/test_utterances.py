"""Messages: as many as are promised, each with one intent that no word tells, and read by other code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from statistics import fmean

import pytest

from pipeline.streams import Streams
from pipeline.tasks.messages import intent_of, read
from pipeline.worlds.utterances import (
    DOMAINS,
    OTHER,
    TAGS,
    VOICES,
    Intent,
    chosen,
    dated,
    domain,
    kinds,
    phrase,
    slots,
    texts,
    write,
)
from pipeline.worlds.words import pool_text, pools_in
from prose_rules import faults

OWN = Streams((5,))
PROMISED = 900_000


def every(name: str, tier: str = "32k") -> dict[Intent, tuple[str, ...]]:
    """Return all messages, as those of March."""
    return {intent: tuple(dated(message, 2) for message in said) for intent, said in texts(OWN, tier, name).items()}


def size(wordings: Sequence[Sequence[str]]) -> int:
    return sum(map(len, wordings))


@pytest.mark.parametrize("name", DOMAINS)
def test_there_are_as_many_messages_as_are_promised(name: str) -> None:
    """Those alone that name the thing in the sentence of the act, and end in something else."""
    known = domain(name)
    framed = sum(size(known.asked[voice]) * size(said[voice]) for said in known.clauses.values() for voice in said)
    assert framed * sum(map(size, known.things.values())) * size(known.details) > PROMISED
    drawn = [message for intent in known.intents for message in write(known, intent, OWN.of("many"), 20)]
    assert len({*drawn}) == len(drawn)


@pytest.mark.parametrize("name", DOMAINS)
def test_every_clause_and_every_thing_has_one_meaning(name: str) -> None:
    """No wording stands for two acts or two things, and none is part of another act's wording."""
    known = domain(name)
    assert (len(known.acts), len(known.objects)) == ((6, 9) if name == "question" else (10, 15))
    for voice in VOICES[name]:
        said = {act: {*chain(*voices[voice])} for act, voices in known.clauses.items()}
        assert sum(map(len, said.values())) == len({*chain(*said.values())})
        assert all(clause.count("{it}") == 1 for clauses in said.values() for clause in clauses)
        assert all(len(clauses) >= 10 for clauses in said.values())
    things = [wording for wordings in known.things.values() for wording in chain(*wordings)]
    assert len({*things}) == len(things)


@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_asked_and_what_is_denied_have_the_same_words(name: str) -> None:
    """Every frame takes every clause, so that no word tells which act is meant."""
    known = domain(name)
    assert {*known.asked} == {*known.denied} == {*VOICES[name]}
    frames = chain(*known.asked.values(), *known.denied.values())
    assert all(frame.count("{do}") == 1 and "{it}" not in frame for line in frames for frame in line)
    assert not {*chain(*chain(*known.asked.values()))} & {*chain(*chain(*known.denied.values()))}


def closed(text: str) -> str:
    """Return a text with the first value in each slot, as one of March."""
    return dated(re.sub(r"\{(\w+)\}", lambda slot: slots()[slot[1]][0], text), 2)


@pytest.mark.parametrize("name", DOMAINS)
def test_every_frame_with_every_clause_is_read_in_one_way(name: str) -> None:
    known, drawn = domain(name), OWN.of("frames")
    thing = known.objects[0]
    about = known.before[0][0].replace("{it}", known.things[thing][0][0])
    for voice in VOICES[name]:
        for frame in chain(*known.asked[voice]):
            act = drawn.choice(known.acts)
            clause = drawn.choice([*chain(*known.clauses[act][voice])]).replace("{it}", "it")
            assert intent_of(closed(f"{about} {frame.replace('{do}', clause)}"), name) == (act, thing), frame
        for frame in chain(*known.denied[voice]):
            act, other = drawn.sample(known.acts, 2)
            clause, denied = (
                drawn.choice([*chain(*known.clauses[one][voice])]).replace("{it}", "it") for one in (act, other)
            )
            asked = known.asked[voice][0][0].replace("{do}", clause)
            said = read(closed(f"{about} {asked} {frame.replace('{do}', denied)}"), name)
            assert (said.act, said.denied, said.acts) == (act, other, (act, other)), frame


@pytest.mark.parametrize("name", DOMAINS)
def test_messages_are_distinct_and_read_to_their_intents_by_other_code(name: str) -> None:
    known = every(name)
    assert len({message for said in known.values() for message in said}) == sum(map(len, known.values()))
    assert len({*map(len, known.values())}) == 1
    for intent, said in known.items():
        for message in said:
            assert intent_of(message, name) == (("", "") if intent == OTHER else intent), message
            assert read(message, name).domain == name


@pytest.mark.parametrize("name", DOMAINS)
def test_acts_are_denied_equally_often_by_messages_of_every_other(name: str) -> None:
    known, times = domain(name), Counter[tuple[str, str]]()
    for intent, said in every(name).items():
        if intent != OTHER:
            times.update((intent.act, read(message, name).denied) for message in said)
    denied = [count for (_, other), count in times.items() if other]
    assert len(denied) == len(known.acts) * (len(known.acts) - 1)
    assert max(denied) <= 1.4 * min(denied)
    assert 0.6 <= sum(denied) / times.total() <= 0.75


@pytest.mark.parametrize("name", DOMAINS)
def test_any_first_pairs_hold_acts_and_things_about_equally_often(name: str) -> None:
    known = domain(name)
    assert len({*known.intents}) == len(known.acts) * len(known.objects)
    for count in (50, 54, 68, 77, 150):
        some = known.intents[:count]
        for place, most in ((0, len(known.acts)), (1, len(known.objects))):
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
    others = [*chain(*domain("request").things[OTHER.act])]
    about = [any(other.partition("{")[0] in message for other in others) for message in said]
    assert 0.3 < sum(about) / len(said) < 0.7


@pytest.mark.parametrize("name", ["request", "contract"])
def test_near_messages_mention_what_they_are_not_for(name: str) -> None:
    known, asked = domain(name), Intent("cancel", "gym")
    for other in (Intent("price", "gym"), Intent("cancel", "zoo")):
        for message in (dated(one, 0) for one in write(known, other, OWN.of("near"), 50, asked)):
            assert intent_of(message, name) == other
            if other.thing == asked.thing:
                assert read(message, name).denied == "cancel"
            else:
                assert "gym" in read(message, name).things


def test_phrases_of_questions_tell_all_kinds_apart() -> None:
    found = [phrase(intent) for intent in domain("request").intents]
    assert len({*found}) == 150
    assert phrase(Intent("transfer", "gym")) == "to have a gym membership put in somebody else's name"
    assert all(len({kind.word for kind in kinds(what).values()}) == len(kinds(what)) for what in ("act", "thing"))


def test_names_of_writers_and_of_others_are_not_the_same() -> None:
    assert not {*slots()["name"]} & {*slots()["colleague"]}
    assert not {*slots()["town"]} & {*slots()["place"]}


@pytest.mark.parametrize("many", [8, pytest.param(24, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DOMAINS)
def test_texts_are_clean_english(name: str, many: int) -> None:
    for said in every(name).values():
        for message in said[:many]:
            found = list(faults(message))
            assert not found, (message, found)
            assert re.fullmatch(r"[A-Z][A-Za-z,.?;' -]+[.?]", message), message


def test_no_message_ends_two_sentences_in_the_same_tag() -> None:
    tagged = 0
    for message in (message for name in DOMAINS for said in every(name, "128k").values() for message in said):
        found = [sentence.rpartition(", ")[2] for sentence in re.split(r"[.?] ?", message)]
        tags = [tag for tag in found if tag in TAGS]
        tagged += len(tags) > 1
        assert len({*tags}) == len(tags), message
    assert tagged >= 50


def test_no_message_begins_with_a_tagged_sentence() -> None:
    """A greeting does not count: what follows it alone adds to nothing."""
    said_first = (each for name in DOMAINS for each in chain(*domain(name).greetings))
    greetings = re.compile("|".join(re.sub(r"\{\w+\}", "[A-Z][a-z]+", each) for each in said_first))
    for message in (message for name in DOMAINS for said in every(name).values() for message in said):
        greeting = greetings.match(message)
        body = message[greeting.end() :].lstrip() if greeting else message
        assert re.split(r"[.?] ?", body)[0].rpartition(", ")[2] not in TAGS, message


def test_only_asides_about_contracts_are_tagged_and_whatever_they_mean_equally_often() -> None:
    """What is asked or denied has no tag; what is said of a thing behind that has one as often if it is not meant."""
    known = domain("contract")

    def tagged(lines: Sequence[Sequence[str]]) -> float:
        tags = [[wording[:-1].rpartition(", ")[2] in TAGS for wording in line] for line in lines]
        return fmean(map(fmean, tags))

    assert not any(map(tagged, (*known.asked.values(), *known.denied.values(), known.before, known.greetings)))
    assert tagged(known.after) == tagged(known.not_meant) == 0.25
    assert 0.05 <= tagged(known.details) <= 0.25


def test_months_of_messages_about_contracts_suit_their_dates() -> None:
    """What is to come is one to six months ahead, what has been one to eight months back, possession longest."""
    files = [name for name in pools_in("utterances") if name.startswith("utterances/contract-")]
    assert not [name for name in files if "{month}" in pool_text(name)]
    values = {name: [int(mark[1:-1]) for mark in slots()[name]] for name in ("ahead", "ago", "since")}
    assert values == {"ahead": [1, 2, 3, 4, 5, 6], "ago": [-1, -2, -3, -4], "since": [-5, -6, -7, -8]}
    ahead = r"at the end of|as of|until|in|from|I'll write again in"
    for wording in (line for name in files for line in pool_text(name).splitlines()):
        assert all(re.search(rf"(?:{ahead}) $", before) for before in wording.split("{ahead}")[:-1]), wording
        assert all(before.endswith("since ") for before in wording.split("{since}")[:-1]), wording
    assert dated("in <-1>, <+6>", 0) == "in December, July"


def test_nothing_is_said_that_a_message_alone_cannot_begin_with() -> None:
    """What is said by the way, or is to be minded, comes after something else."""
    frames = (
        line for name in DOMAINS for of in (domain(name).asked, domain(name).denied) for line in chain(*of.values())
    )
    assert not [frame for line in frames for frame in line if re.match("by the way|mind you", frame, re.IGNORECASE)]


def test_all_files_are_plain_lines() -> None:
    for name in pools_in("utterances"):
        for line in pool_text(name).splitlines():
            assert line == line.strip()
            assert line.isascii()


@pytest.mark.parametrize("message", ["Hello.", "I'd like to cancel it.", "I'd like to sing it.", "Cancel my zoo."])
def test_what_has_no_intent_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match="no message that is understood"):
        read(message)
