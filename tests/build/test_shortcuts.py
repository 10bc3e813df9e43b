"""The sweep for shortcuts finds one that is planted and none where there is none; its full run is slow."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from find_shortcuts import Found, Sweep, SweepJob, sweep_job
from measure_repeats import LISTS, repeated, shares
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.assemble.plan import make_plan
from pipeline.executors import processes
from pipeline.recipe import load_recipe
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.streams import stream
from surface import Context, Prompt, words_of

GOODS = ("barley", "copper", "linen", "pepper", "saffron", "timber")
TOLD = (
    "On day {day} the harbour took in {goods}.",
    "A cart of {goods} left on day {day}.",
    "Day {day}: the clerk wrote down {goods} twice.",
)
DENIED = "On day {day} nobody asked for {goods}."
MOST_REPEATED = 0.15
"""The share of sentences that may stand twice in a prompt of 128K."""


def toy(*, leaks: bool, rows: int = 120) -> list[Row]:
    """Return rows that ask which of two goods was sold last, without the text that would tell it.

    Where they leak, the answer is denied less often than the other of the two.
    """
    found = []
    for number in range(rows):
        rng = stream("toy", leaks, number)
        right, wrong = rng.sample(GOODS, 2)
        lines = [rng.choice(TOLD).format(day=rng.randint(1, 400), goods=rng.choice(GOODS)) for _ in range(40)]
        often = {right: 1, wrong: 4} if leaks else {right: 2, wrong: 2}
        lines += [
            DENIED.format(day=rng.randint(1, 400), goods=each) for each in GOODS for _ in range(often.get(each, 2))
        ]
        rng.shuffle(lines)
        question = f"Which was sold last: {' or '.join(sorted((right, wrong)))}?"
        found.append(
            {
                "id": f"toy-last-32k-2048-{number:04}-000000",
                "family": "toy",
                "subtask": "last",
                "scorer": "exact",
                "length": 2048,
                "complexity": 1,
                "question": question,
                "target": right,
                "answers": [right],
                "choices": None,
                "prompt": "\n".join(["Below is the book of a harbour.", *lines, question]),
                "metadata": json.dumps({"baselines": {"uniform": 0.5}}),
            }
        )
    return found


def swept(rows: list[Row]) -> Found:
    (found,) = Sweep(rows).found(simulated=())
    return found


def test_a_planted_shortcut_is_found() -> None:
    found = swept(toy(leaks=True))
    assert found.is_leak()
    assert found.score >= 0.95


def test_nothing_is_found_where_nothing_is_to_be_found() -> None:
    found = swept(toy(leaks=False))
    assert not found.is_leak()
    assert found.published == 0.5


@pytest.mark.parametrize("day", ["1502-04-02", "2 April 1502", "1502"])
def test_numbers_beside_the_date_of_a_question_tell_what_is_asked(day: str) -> None:
    line = f"{day}: Account 347 deposits 52 crowns.\n"
    prompt = Prompt(line, f"What is the balance of account 347 at the end of {day}?", Context())
    assert {"account", "347"} <= prompt.asked.keys()
    assert not set(words_of(day)) & prompt.asked.keys()
    assert prompt.before == [0]


def test_the_sweep_reads_rows_of_a_build(split: Split) -> None:
    (first, second) = sweep_job(SweepJob(split, "bio", "standard"))
    assert (first.length, second.length) == (2048, 4096)
    assert not first.is_leak()
    assert not second.is_leak()


def test_sentences_that_stand_twice_are_counted(split: Split) -> None:
    told = "On 3 May clerk 12345 received: Where is it kept? Thank you very much.\n"
    assert repeated(told + told.replace("3 May", "4 May")) == 1
    assert repeated(told) == 0
    found = shares(split, Selection(families=("bio", "latent_list")))
    assert not LISTS & set(found)
    assert found["bio.standard"][4096] == 0


@pytest.mark.slow
def test_no_reader_of_the_surface_beats_what_is_published(tmp_path: Path) -> None:
    """Over all subtasks at 8K, with 200 rows and more of each."""
    recipe = load_recipe("32k").sized("8")
    cells = tuple(cell for cell in recipe.strata if cell.length == 8192)
    split = built(replace(recipe, strata=cells), tmp_path)
    places = dict.fromkeys((cell.family, cell.subtask) for cell in split.strata)
    found = [one for family, subtask in places for one in sweep_job(SweepJob(split, family, subtask))]
    assert not [f"{one.task}: {one.reader} {one.score:.2f}, {one.published:.2f}" for one in found if one.is_leak()]


@pytest.mark.slow
def test_few_sentences_stand_twice_in_long_prompts(tmp_path: Path) -> None:
    recipe = load_recipe("128k")
    cells = tuple(replace(cell, rows=2, full=1) for cell in recipe.strata if cell.length == 131072)
    found = shares(built(replace(recipe, strata=cells), tmp_path), Selection())
    assert not {name: own for name, own in found.items() if own[131072] > MOST_REPEATED}


def built(recipe: object, out: Path) -> Split:
    stages = Stages(make_plan(recipe, ("o200k",), out), processes(2), quiet=True)  # type: ignore[arg-type]
    assert all(stages.build())
    return open_split(out / "o200k")
