"""The invented land: what its passages date agrees from one passage to the next, read as a person would read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from pipeline.streams import Streams
from pipeline.worlds.gazetteer import Gazetteer, Thing, forms, gazetteer
from pipeline.worlds.gazetteer.questions import ask, listed
from pipeline.worlds.gazetteer.things import together

SEED = 7
EVER = 10_000
BEGINNINGS = frozenset({"born", "founded", "launched", "opened", "lit", "built", "licensed", "published", "premiere"})
ENDS = frozenset({"died", "closed", "end"})
UNDATED = frozenset({"town", "river"})
WORKS = (
    *("bridge.designer", "bridge.builder", "bridge.paid", "novel.author", "novel.publisher", "novel.illustrator"),
    *("opera.composer", "opera.librettist", "opera.conductor", "painting.painter", "school.founder", "firm.founder"),
    *("museum.founder", "museum.architect", "museum.keeper", "festival.founder", "festival.guest", "inn.landlord"),
    *("lighthouse.engineer", "lighthouse.lamp", "mill.miller", "ship.designer", "town.planner"),
)
"""What was done in the first year of a thing: who did it was grown up, and had not retired or closed."""
TAUGHT = ("person_life.teacher", "person_work.apprenticed", "person_work.patron")
STARTS = BEGINNINGS - {"born"} | {"painted", "first", "opened"}


def dates(thing: Thing) -> tuple[int, int]:
    """Return the first and the last year in which a thing can do something, as far as its passages state them."""
    facts = {relation: int(value) for relation, value in thing.facts.items() if relation in ENDS | BEGINNINGS}
    begun = min((facts[one] for one in BEGINNINGS if one in facts), default=-EVER)
    return begun, min((facts[one] for one in ENDS if one in facts), default=EVER)


def contradictions(world: Gazetteer) -> Iterator[str]:
    """Yield every statement of a world that the dates in two of its passages contradict, read as a person would."""
    for passage in world.passages:
        thing, (begun, ended) = passage.thing, dates(passage.thing)
        links = [(forms()[passage.form].relation(name).type, name, value) for name, value in passage.facts.items()]
        links += [(slot, "colour", value) for slot, value in passage.named]
        for kind, name, value in links:
            if value not in world.about or {kind, thing.kind} & UNDATED or name == "benefactor":
                continue
            other, place = world.thing(value), f"{passage.form}.{name}"
            grown = 15 if other.kind == "person" and name not in ("teacher", "pupil") else 0
            first, last = dates(other)
            own = begun + 15 if thing.kind == "person" and name != "school" else begun
            lived = own <= last and (first + grown <= ended)
            year = min((int(one) for relation, one in thing.facts.items() if relation in STARTS), default=None)
            if place in WORKS and year is not None:
                retired = int(other.facts.get("retired", EVER))
                lived = first + grown <= year <= min(last, retired)
            if place in TAUGHT:
                lived = first + 5 <= begun and begun + 12 <= last
            if place == "opera.source" and year is not None:
                lived = first <= year
            if name in ("employer", "taught"):
                lived = first <= int(thing.facts.get("retired", EVER)) and begun + 12 <= last
            if not lived:
                yield f"{place}: {thing.name} {dates(thing)} and {other.name} {dates(other)}"
        if "school" in passage.facts and begun != -EVER:
            founded = int(world.thing(passage.facts["school"]).facts.get("founded", begun))
            if founded > begun + 13:
                yield f"{thing.name} went to {passage.facts['school']} before it was founded"
        pupil = passage.facts.get("pupil")
        if pupil and int(world.thing(pupil).facts["born"]) + 18 < int(passage.facts.get("founded", -EVER)):
            yield f"{pupil} was grown up before {thing.name} was founded"


@pytest.mark.parametrize(("tier", "seed"), [("32k", 8), ("32k", 9), ("128k", SEED)])
def test_no_dates_of_two_passages_contradict_each_other(tier: str, seed: int) -> None:
    assert list(contradictions(gazetteer(Streams((seed, "any row")), tier))) == []


def test_people_and_firms_that_colour_names_are_of_the_time_of_a_work() -> None:
    """Nobody shares a house with a painter who died before, and nobody offers to build what stood before they did."""
    world, times = gazetteer(Streams((SEED, "any row")), "128k"), Counter[bool]()
    for passage in world.passages:
        for _, value in passage.named:
            other = world.cast.by_name.get(value)
            if other is not None and other.kind in ("person", "firm"):
                least, most = together(passage.thing.kind, other.kind)
                times[least <= passage.thing.era - other.era <= most] += 1
    assert times[False] <= 0.003 * times.total()


def test_nobody_marries_twice() -> None:
    """One page of a couple states the marriage; whoever is written for a row marries somebody else."""
    world = gazetteer(Streams((SEED, "any row")), "128k")
    couples = [(one.name, one.facts["spouse"]) for one in world.cast.things["person"] if "spouse" in one.facts]
    married = [name for couple in couples for name in couple]
    assert len({*married}) == len(married) > 40
    rng = Streams((SEED,)).of("row")
    for _ in range(30):
        assert world.invent(rng, "person", {}).facts.get("spouse") not in married


def test_nobody_marries_two_people_of_a_list() -> None:
    world, rng, weddings = gazetteer(Streams((SEED, "any row")), "32k"), Streams((SEED,)).of("lists"), 0
    for _ in range(6):
        asked = ask(world, rng, "list", ("person_life", "home"), 8, 0)
        people = [passage.facts for passages in listed(world, rng, asked, 8, 16) for passage in passages]
        spouses = [facts["spouse"] for facts in people if "spouse" in facts]
        assert len({*spouses}) == len(spouses)
        weddings += len(spouses)
    assert weddings > 20


def test_dates_that_contradict_each_other_are_found() -> None:
    planted = gazetteer(Streams((SEED, "planted")), "32k")
    firm = min(
        (one for one in planted.cast.things["firm"] if "closed" in one.facts), key=lambda one: one.facts["closed"]
    )
    employed = max(planted.cast.things["person"], key=lambda one: one.facts["born"])
    stated = employed.stated["person_work"]
    before = stated.get("employer")
    stated["employer"] = firm.name
    try:
        assert any(employed.name in said for said in contradictions(planted))
    finally:
        stated.pop("employer") if before is None else stated.update(employer=before)
