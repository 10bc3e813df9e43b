"""The figures of `cited` are those of their definitions, and of ALCE's."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pytest

from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.metrics import cited, figures, score, scorers_of
from pipeline.recipe import Recipe, Stratum
from pipeline.streams import Streams, stream
from pipeline.tasks import TASKS
from pipeline.tasks.cite import text
from pipeline.worlds.gazetteer import Thing, forms, gazetteer
from pipeline.worlds.gazetteer.documents import stating_sentence
from pipeline.worlds.gazetteer.things import slots

FACETS: dict[str, Any] = {
    "scorer": "cited",
    "subtask": "facets",
    "question": "Tell who designed the Walton Bridge, which firm built it, and in which year it was opened.",
    "target": "Anna Miller [48213]. Walton & Sons [11223][55667]. 1803 [33344].",
    "answers": [
        "Anna Miller [48213]. Walton & Sons [11223][55667]. 1803 [33344].",
        "Anna Miller [48213]. Walton and Sons [11223][55667]. 1803 [33344].",
    ],
}
NAMES = [f"Bridge{letter}" for letter in "abcdefgh"]
LISTING: dict[str, Any] = {
    "scorer": "cited",
    "subtask": "listing",
    "question": "Which were designed by Anna Miller?",
    "target": ", ".join(f"{name} [{at}]" for at, name in enumerate(NAMES, start=20001)),
}
LISTING["answers"] = [LISTING["target"]]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("Anna Miller [48213]. Walton & Sons [11223]. 1803 [33344].", (1, 1, 1)),
        ("Anna Miller [48213]. Walton & Sons [11223].", (2 / 3, 1, 1)),  # one is missing
        ("Anna Miller [48213]. Walton & Sons [48213]. 1803 [33344].", (1, 2 / 3, 2 / 3)),  # a wrong id
        ("Anna Miller [48213][77777]. Walton & Sons [11223]. 1803 [33344].", (1, 1, 3 / 4)),  # an id too many
        ("Anna Miller. Walton & Sons [11223]. 1803 [33344].", (1, 2 / 3, 1)),  # an id is missing
        ("Bess Miller [48213]. Walton & Sons [11223]. 1803 [33344].", (2 / 3, 2 / 3, 2 / 3)),  # a wrong value
        ("It is red [48213]. Anna Miller [48213]. Walton & Sons [11223]. 1803 [33344].", (1, 3 / 4, 3 / 4)),
        ("Anna Miller [77777][77778][77779][48213]. 1803 [33344].", (2 / 3, 1 / 2, 1 / 5)),  # the fourth id is late
        ("Anna Miller, Walton & Sons, 1803 [48213][11223][33344].", (1, 1, 1)),  # three facts in one sentence
        ("Anna Miller, Walton & Sons, 1803 [48213][11223][55667][33344].", (1, 0, 0)),
        ("[48213][11223][55667][33344]", (0, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_wrong_missing_and_extra_ids_of_facts_cost_what_the_definition_says(
    reply: str, wanted: tuple[float, float, float]
) -> None:
    assert tuple(figures(FACETS, reply).values()) == pytest.approx(wanted)
    assert score(FACETS, reply) == pytest.approx(sum(wanted) / 3)


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([*zip(NAMES, range(20001, 20009), strict=True)], (1, 1, 1)),
        ([*zip(NAMES, range(20001, 20006), strict=False)], (1, 1, 1)),  # five of eight are enough
        ([*zip(NAMES, range(20001, 20005), strict=False)], (4 / 5, 1, 1)),
        ([*zip(NAMES[:4], range(20001, 20005), strict=True), ("Nobody", 20005)], (4 / 5, 4 / 5, 4 / 5)),
        ([(name, 20001) for name in NAMES], (1, 1 / 8, 1 / 8)),
    ],
)
def test_lists_are_scored_by_five_of_their_things(
    items: list[tuple[str, int]], wanted: tuple[float, float, float]
) -> None:
    for quirk in ((), ("cited=alce",)):
        reply = ", ".join(f"{name} [{number}]" for name, number in items)
        assert tuple(figures(LISTING, reply, scorers_of(quirk)).values()) == pytest.approx(wanted)


@pytest.mark.parametrize("form", ["- The {} [{}]", "{} [{}],", "[{1}] {0}", "* **The {}** [{}]"])
def test_values_of_ordinary_words_alone_are_items(form: str) -> None:
    items = [("Carpet of Gretenstoke", 57622), ("Cradle and the Well", 58963), ("Well and the Cradle", 40463)]
    target = ", ".join(f"{value} [{number}]" for value, number in items)
    row = {**LISTING, "question": "Which novels won a prize?", "target": target, "answers": [target]}
    assert set(figures(row, "\n".join(form.format(*item) for item in items)).values()) == {1}


def normal(said: str) -> str:
    """Return a text as ALCE compares it: small, without punctuation, articles and needless blanks."""
    said = "".join(letter for letter in said.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", said).split())


def alce_correctness(reply: str, wanted: Sequence[Sequence[str]], *, listing: bool) -> float:
    """Return ALCE's str_em, or its rec_top5 (Gao et al. 2023, section 3.2), of the first line of a reply."""
    line = reply.strip().split("\n")[0]
    line = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", line)).replace(" |", "").replace("]", "")
    if not listing:
        return fmean(any(normal(form) in normal(line) for form in forms) for forms in wanted)
    given = [normal(item) for item in line.rstrip().rstrip(".").rstrip(",").split(",")]
    return min(5, sum(any(normal(form) in given for form in forms) for forms in wanted)) / min(5, len(wanted))


def random_reply(rng: Random, wanted: Sequence[Sequence[str]], ids: Sequence[str], *, listing: bool) -> str:
    """Return a reply in the form that is asked for, with values left out, worded otherwise, or wrong, and any ids."""
    parts = []
    for own in rng.sample(wanted, rng.randint(0, len(wanted))):
        value = rng.choice([*own, *own, f"the {own[0]}", own[0].upper(), "Nobody", own[0].split(" ")[0]])
        labels = "".join(f"[{one}]" for one in rng.sample(ids, rng.choice((0, 1, 1, 2, 4))))
        form = "{v} {c}" if listing else rng.choice(("{v} {c}.", "It was {v} {c}.", "In all, {v} is right {c}."))
        parts.append(form.format(v=value, c=labels))
    return (", " if listing else " ").join(parts)


def keys() -> list[dict[str, Any]]:
    """Return keys of some rows of every kind."""
    cells = tuple(
        Stratum("cite", subtask, "32k", 8192, complexity, 4)
        for subtask in ("facets", "listing")
        for complexity in TASKS["cite", subtask].complexities
    )
    plan = make_plan(Recipe("cited", "0", 11, "32k", cells), ("o200k",), Path("unused"))
    drawn = [(cell, draw_sample(plan, RowPlan(cell, index, ""))) for cell in cells for index in range(cell.rows)]
    return [
        {"subtask": cell.subtask, "question": one.question, "target": one.key.target, "answers": one.key.answers}
        for cell, one in drawn
    ]


def test_correctness_is_that_of_alce_on_a_thousand_replies() -> None:
    rng, scores, rows = stream("alce"), Counter[float](), keys()
    for _ in range(1000):
        row = rng.choice(rows)
        listing = row["subtask"] == "listing"
        worded = [re.split(r" (?:\[\d+\])+(?:[.,] ?|$)", answer)[:-1] for answer in row["answers"]]
        wanted = list(zip(*worded, strict=True))
        ids = [*re.findall(r"\d{5}", row["target"]), "77777", "88888"]
        reply = random_reply(rng, wanted, ids, listing=listing)
        right = alce_correctness(reply, wanted, listing=listing)
        assert (cited(row, reply, figure="correctness") or 0.0) == pytest.approx(right), (reply, row["target"])
        broken = f"{reply}\n{row['target']}"
        assert cited(row, broken, alce=True, figure="correctness") == pytest.approx(
            alce_correctness(broken, wanted, listing=listing)
        )
        scores[round(right, 3)] += 1
    assert len(scores) > 5


def test_whatever_documents_say_may_be_said_in_a_reply() -> None:
    """No wording of a fact is taken for a choice, a refusal, or two sentences."""
    world = gazetteer(Streams((7, "any row")), "32k")
    rng = stream("wordings")
    for form in forms().values():
        things = world.cast.things[form.kind]
        for relation in form.relations:
            values = [one.stated[form.name].get(relation.name, "") for one in things]
            value = next(filter(None, values))
            stated = Thing(form.kind, things[0].name, things[0].era, {form.name: {relation.name: value}})
            target = f"{text.plain(value)} [48213]."
            row = {"scorer": "cited", "question": "Tell what it is.", "target": target, "answers": [target]}
            for said in relation.wordings:
                if not {*map(str.lower, slots(said))} <= {"value", "a_value"}:
                    continue
                reply = stating_sentence(rng, stated, form, relation.name, said, by_name=True).removesuffix(".")
                assert score(row, f"{reply} [48213].") == 1.0, reply
