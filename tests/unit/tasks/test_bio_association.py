"""bio.association: who fits is told by the country of a city alone, and every decoy is what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from pipeline.metrics import score
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, PublishedRow, Sample
from pipeline.tasks.bio import association
from pipeline.tasks.bio.solve import parse_biographies
from pipeline.worlds.people import countries_with, heard_in, people, telling
from shared_pools import pool_of

SEED, ROWS, OTHERS = 5, 262, 60
(TASK,) = association.TASKS


def streams(index: int) -> tuple[Streams, Streams]:
    path = (SEED, "bio.association@1", "32k", 8192, 1)
    return Streams((*path, index)), Streams(path)


def published(index: int, knobs: tuple[tuple[str, Any], ...] = ()) -> PublishedRow:
    """Put a row together from its layout, the asked biography first, then decoys, then other people's."""
    cell = Stratum("bio", "association", "32k", 8192, 1, ROWS, knobs=knobs)
    sample = TASK.sample(cell, index, *streams(index))
    layout = TASK.layout(sample, *streams(index))
    filler = pool_of(SEED, TASK.pools(cell)[0]).texts(layout.filler.order.take(OTHERS))
    placed = [item.unit.pieces[0] for item in layout.placed]
    parts = [layout.head[0].text, *(piece.text for piece in placed), *filler, layout.tail[0].text]
    ends = [sum(map(len, parts[: number + 1])) for number in range(len(parts))]
    needles = [Needle(piece.role, *span, 0.0) for piece, span in zip(placed, pairwise(ends), strict=False)]
    text = "".join(parts)
    return PublishedRow(cell, (("user", text),), text, sample.question, tuple(needles), sample.key)


def sampled(index: int) -> Sample:
    return TASK.sample(Stratum("bio", "association", "32k", 8192, 1, ROWS), index, *streams(index))


@pytest.mark.parametrize("knobs", [(), (("decoys", 0),), (("decoys", 12),)])
def test_rows_hold(knobs: tuple[tuple[str, Any], ...]) -> None:
    """Rows are solved by their text, and proven, with any number of decoys."""
    for index in range(20):
        row = published(index, knobs)
        assert TASK.check(row) == []
        assert TASK.solve(row.turns) == row.key.answers


def test_countries_and_places_are_asked_alike() -> None:
    """In as many rows as there are countries each is asked once; both places as often."""
    rows = [sampled(index).latent for index in range(ROWS)]
    assert set(Counter(row["country"] for row in rows).values()) == {ROWS // len(telling())}
    assert set(Counter(row["asked"] for row in rows).values()) == {ROWS // 2}


def test_words_lead_astray() -> None:
    """Whoever takes the biography that names the country, or has a city of it anywhere first, is seldom right."""
    rows = [(published(index), sampled(index).latent["country"]) for index in range(60)]
    named = [
        [one.name for one in parse_biographies(row.text) if country in one.stated["hobby"]] for row, country in rows
    ]
    assert all(len(names) == 2 and row.key.target not in names for names, (row, _) in zip(named, rows, strict=True))
    near = [
        sum(country in countries_with(one.stated["city"]) | countries_with(one.stated["birthplace"]) for one in some)
        for some, country in ((parse_biographies(row.text), country) for row, country in rows)
    ]
    assert set(near) == {3}


def moved(row: PublishedRow) -> str:
    """Let somebody else fit too."""
    entries, sample = parse_biographies(row.text), next(one for one in row.needles if one.role == "relevant")
    mine = next(one for one in entries if one.start == sample.char_start)
    place = "birthplace" if "born" in row.question else "city"
    other = next(one for one in entries[10:] if len(one.stated[place]) == len(mine.stated[place]))
    said = row.text[other.start : other.end].replace(other.stated[place], mine.stated[place])
    return row.text[: other.start] + said + row.text[other.end :]


def lost(row: PublishedRow) -> str:
    """Let nobody fit."""
    end = row.needles[0].char_end
    return row.text[:end].replace(_city(row), "Zurich"[: len(_city(row))]) + row.text[end:]


def _city(row: PublishedRow) -> str:
    mine = next(one for one in parse_biographies(row.text) if one.start == row.needles[0].char_start)
    return mine.stated["birthplace" if "born" in row.question else "city"]


@pytest.mark.parametrize("plant", [moved, lost])
def test_a_second_person_and_none_are_found(plant: Callable[[PublishedRow], str]) -> None:
    """A row that two people fit, or nobody, is no row."""
    row = published(3)
    text = plant(row)
    assert text != row.text
    with pytest.raises(ValueError, match=r"people fit|lies in a country"):
        TASK.solve((("user", text),))


def test_other_near_misses_than_promised_are_found() -> None:
    """A decoy more or less, or one that is not marked, is named."""
    row = published(4)
    fewer = replace(row, stratum=replace(row.stratum, knobs=(("decoys", 12),)))
    assert any("were promised" in fault for fault in TASK.check(fewer))
    unmarked = replace(row, needles=row.needles[:-1])
    assert any("decoys" in fault for fault in TASK.check(unmarked))


def test_the_country_does_not_stand_in_who_is_asked_for() -> None:
    """The name of the country is not in the biography that answers."""
    for index in range(0, ROWS, 5):
        sample = sampled(index)
        assert sample.latent["country"] not in sample.relevant[0]


def test_who_has_to_do_with_a_country_stays_out() -> None:
    """No filler has a city or a university of the country that is asked for."""
    everybody = people(streams(0)[0], "32k")
    for index in range(30):
        sample = sampled(index)
        out = TASK.layout(sample, *streams(index)).filler.order.take(500)
        for one in (everybody[number] for number in out):
            known = countries_with(one.birthplace) | countries_with(one.city) | heard_in(one.university)
            assert sample.latent["country"] not in known


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("{name}", 1),
        ("{name}.", 1),
        ("It is {name}.", 1),
        ("**{name}**", 1),
        ("{name} was born in Graz, which is in Austria.", 1),
        ("Answer: {name}", 1),
        ("The birthplace of {name} is Graz.", 1),
        ("The birthplace of {name} is Graz, a city in Austria. So the answer is {name}.", 1),
        ("{name} (Graz)", 1),
        ("{name} was born in Graz, Austria.", 1),
        ("{name}\n\nThe biography says Graz, which lies in Austria.", 1),
        ("Graz is in Austria, so the answer is {name}.", 1),
        ("{name}, who was born in Graz.", 1),
        ("Madeleine Alana Ramirez", 0),
        ("{name} or Madeleine Alana Ramirez", 0),
        ("Nobody in the biographies was born there.", 0),
        ("Rebecca Middlemiss", 0),
        ("Graz", 0),
    ],
)
def test_replies_are_judged(reply: str, right: int) -> None:
    """The whole name is asked for, and one person."""
    name = "Rebecca Griselda Middlemiss"
    answers = [form.format(name=name, city="Graz") for form in association.FORMS["birthplace"]]
    row = {"scorer": "exact", "target": name, "answers": answers, "question": "Who was born in Austria?"}
    assert score(row, reply.format(name=name)) == right
