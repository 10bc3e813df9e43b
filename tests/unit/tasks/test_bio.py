from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, PublishedRow, Sample
from pipeline.tasks.bio import base
from pipeline.tasks.bio.standard import Standard
from pipeline.tasks.bio.text import biography
from pipeline.worlds.people import ATTRIBUTES, Person, people

TASK = Standard()
CELL = Stratum("bio", "standard", "32k", 4096, 1, 24)


def drawn(index: int, cell: Stratum = CELL) -> tuple[Sample, Streams, Streams]:
    path = (5, "bio.standard@1", cell.tier, cell.length, 1)
    row, shared = Streams((*path, index)), Streams(path)
    return TASK.sample(cell, index, row, shared), row, shared


def published(sample: Sample, own: Streams, shared: Streams, others: Sequence[Person], at: int = 3) -> PublishedRow:
    """Assemble a row from the layout with the given filler, the asked person after `at` of them."""
    layout = TASK.layout(sample, own, shared)
    shown = [
        (piece.role, piece.text) for item in layout.placed for piece in item.unit.pieces if piece.role != "relevant"
    ]
    body = [*(text for _, text in shown), *map(biography, others)]
    head, said = layout.head[0].text, sample.relevant[0]
    before = head + "".join(body[:at])
    text = before + said + "".join(body[at:]) + layout.tail[0].text
    marks = [(role, text.index(said), len(said)) for role, said in shown] + [("relevant", len(before), len(said))]
    needles = tuple(
        Needle(role, start, start + length, 0.5) for role, start, length in sorted(marks, key=lambda mark: mark[1])
    )
    return PublishedRow(sample.stratum, (("user", text),), text, sample.question, needles, sample.key)


def filler(sample: Sample, own: Streams, count: int = 30) -> list[Person]:
    everybody = people(own, "32k")
    out = {sample.latent["person"], *sample.latent["shown"], *base.near([sample.latent["person"]])}
    return [one for number, one in enumerate(everybody) if number not in out][:count]


@pytest.mark.parametrize("index", range(24))
def test_rows_are_solved_and_checked(index: int) -> None:
    sample, row, shared = drawn(index)
    made = published(sample, row, shared, filler(sample, row))
    assert TASK.solve(made.turns) == sample.key.answers
    assert TASK.check(made) == []


def test_nobody_is_asked_twice_and_attributes_are_asked_evenly() -> None:
    samples = [drawn(index)[0] for index in range(24)]
    assert len({sample.latent["person"] for sample in samples}) == 24
    asked = [sample.latent["asked"] for sample in samples]
    assert {asked.count(attribute) for attribute in asked} == {4}


def test_planted_faults_are_found() -> None:
    sample, row, shared = drawn(0)
    others = filler(sample, row)
    own = people(row, "32k")[sample.latent["person"]]
    good = published(sample, row, shared, others)
    twin = replace(own, middle="Xenia")
    faults = {
        "the same full name": published(sample, row, shared, [*others, others[0]]),
        "3 were promised": published(sample, row, shared, [*others, twin]),
        "the needles of people asked": replace(good, needles=(replace(good.needles[0], char_start=1),)),
        "the key 'wrong'": replace(good, key=replace(good.key, target="wrong")),
    }
    for said, row_at_fault in faults.items():
        assert any(said in fault for fault in TASK.check(row_at_fault)), said


def test_a_biography_that_lacks_a_sentence_is_found() -> None:
    sample, row, shared = drawn(0)
    others = filler(sample, row)
    made = published(sample, row, shared, others)
    whole = biography(others[-1])
    sentences = whole.rstrip("\n").split(". ")
    lacking = next(
        ". ".join(sentences[:place] + sentences[place + 1 :]).rstrip(".") + ".\n"
        for place, attribute in enumerate(ATTRIBUTES)
        if attribute != sample.latent["asked"]
    )
    text = made.prompt.replace(whole, lacking)
    faults = TASK.check(replace(made, turns=(("user", text),), prompt=text))
    assert any("state fewer than 6 attributes" in fault for fault in faults)


def test_a_second_biography_of_the_asked_person_has_no_answer() -> None:
    sample, row, shared = drawn(0)
    own = people(row, "32k")[sample.latent["person"]]
    made = published(sample, row, shared, [own, *filler(sample, row)])
    with pytest.raises(ValueError, match="has 2 biographies"):
        TASK.solve(made.turns)


def test_demonstrations_are_about_others_and_checked() -> None:
    sample, row, shared = drawn(1, replace(CELL, shots=2))
    assert sample.latent["person"] not in sample.latent["shown"]
    made = published(sample, row, shared, filler(sample, row))
    assert made.text.count("\nQuestion: ") == 3
    assert TASK.check(made) == []
    first = people(row, "32k")[sample.latent["shown"][0]].value(sample.latent["asked"])
    wrong = made.text.replace(f"\nAnswer: {first}\n", "\nAnswer: something else\n")
    assert wrong != made.text
    assert any("demonstration" in fault for fault in TASK.check(replace(made, turns=(("user", wrong),))))


def test_filler_never_holds_the_asked_or_shown() -> None:
    for index in range(10):
        sample, row, shared = drawn(index, replace(CELL, shots=2))
        source = TASK.layout(sample, row, shared).filler
        taken = [*source.spares.tolist(), *source.order.take(900).tolist()]
        assert len(set(taken)) == len(taken)
        assert not {sample.latent["person"], *sample.latent["shown"]} & set(taken)
