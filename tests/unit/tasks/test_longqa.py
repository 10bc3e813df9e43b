"""Questions about annals: their proof finds what is planted, shortcuts stay low, and depths are uniform."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import surface_learner
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, RowPlan, make_plan, row_streams
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import score
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.tasks import TASKS, task_of
from pipeline.tasks.annals.solve import about, owner_asked, read
from pipeline.tasks.longqa.kin import paths
from pipeline.verify.row import answer_faults, cell_place

SUBTASKS = ("state", "kin", "when", "choice", "unanswerable", "turns")
ROWS = 10
OWNERS = ("state", "choice")


def cells(rows: int = ROWS, tier: str = "32k") -> tuple[Stratum, ...]:
    return tuple(
        Stratum("longqa", subtask, tier, 8192 if subtask == "state" else 4096, complexity, rows)
        for subtask in SUBTASKS
        for complexity in TASKS["longqa", subtask].complexities
    )


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    made = make_plan(Recipe("longqa", "0", 11, "32k", cells()), ("o200k",), tmp_path_factory.mktemp("longqa"))
    assert all(Stages(made, Inline).build())
    return made


@pytest.fixture(scope="module")
def rows(plan: Plan) -> list[Row]:
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


def cell_of(row: Row) -> Stratum:
    place = row["family"], row["subtask"], row["length"], row["complexity"]
    return next(cell for cell in cells() if cell_place(cell) == place)


def first(rows: list[Row], subtask: str, complexity: int) -> Row:
    return next(row for row in rows if (row["subtask"], row["complexity"]) == (subtask, complexity))


def with_text(row: Row, prompt: str) -> Row:
    """Return a row of another prompt, whose digest and marks fit."""
    moved = len(prompt) - len(row["prompt"])
    metadata = {**json.loads(row["metadata"]), "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    changed = next((at for at, (one, other) in enumerate(zip(row["prompt"], prompt, strict=False)) if one != other), 0)
    needles = [
        {**n, **{name: n[name] + moved * (n["char_start"] >= changed) for name in ("char_start", "char_end")}}
        for n in row["needles"]
    ]
    start = row["question_start"] + moved
    return {**row, "prompt": prompt, "metadata": json.dumps(metadata), "needles": needles, "question_start": start}


def body(row: Row) -> list[str]:
    return row["prompt"].partition("\nAnnals:\n")[2].partition("\nThis is the end")[0].splitlines(keepends=True)


def swapped(row: Row) -> str:
    one, other = next((a, b) for a, b in zip(body(row)[5:], body(row)[6:], strict=False) if a[:12] != b[:12])
    return str(row["prompt"]).replace(one + other, other + one)


def sold_again(row: Row) -> str:
    """Tell of another sale of the asked property just before the day asked about."""
    prop, day = owner_asked(row["question"])
    line = [one for one in read(row["prompt"]) if one.day <= day][-1]
    heading = row["prompt"][line.start : line.end].partition(". ")[0]
    at = line.end
    return f"{row['prompt'][:at]}{heading}. Ann Tuck bought {prop} for 50 pounds.\n{row['prompt'][at:]}"


def unnamed(row: Row) -> str:
    """Leave out the entries that name the answer but are not needed."""
    text, spans = row["prompt"], [(n["char_start"], n["char_end"]) for n in row["needles"] if n["role"] == "relevant"]
    for line in reversed(about(read(text), row["answers"][-1])):
        if (line.start, line.end) not in spans:
            text = text[: line.start] + text[line.end :]
    return str(text)


@pytest.mark.parametrize(
    ("subtask", "complexity", "change", "fault"),
    [
        ("state", 5, swapped, "not in order of date"),
        ("kin", 2, swapped, "not in order of date"),
        ("when", 1, swapped, "not in order of date"),
        ("state", 1, sold_again, "the text gives"),
        ("state", 20, sold_again, "entries decide whose"),
        ("choice", 5, sold_again, "is 0 of the options"),
        ("unanswerable", 0, sold_again, "1 sales of"),
        ("state", 5, unnamed, "named nowhere else"),
        ("kin", 3, unnamed, "named nowhere else"),
    ],
)
def test_what_is_planted_is_found(
    rows: list[Row], subtask: str, complexity: int, change: Callable[[Row], str], fault: str
) -> None:
    row = first(rows, subtask, complexity)
    assert answer_faults(row, cell_of(row)) == []
    changed = with_text(row, change(row))
    assert changed["prompt"] != row["prompt"]
    assert any(fault in one for one in answer_faults(changed, cell_of(row))), answer_faults(changed, cell_of(row))


def test_entries_stand_in_order_of_date_and_no_filler_names_what_is_asked(rows: list[Row]) -> None:
    for row in (row for row in rows if row["subtask"] in OWNERS):
        found, (prop, _) = read(row["prompt"]), owner_asked(row["question"])
        days = [one.day for one in found]
        assert days == sorted(days)
        spans = {(n["char_start"], n["char_end"]) for n in row["needles"]}
        assert {(one.start, one.end) for one in about(found, prop)} <= spans


def replies(rows: list[Row], name: str) -> dict[tuple[str, int], float]:
    """Return the mean score of a reader in each cell."""
    found = defaultdict(list)
    for row in rows:
        reply = READERS[name].replies(open_reading(row))
        assert reply is not None
        found[row["subtask"], row["complexity"]].append(score(row, reply))
    return {cell: fmean(some) for cell, some in found.items()}


PAIRED = ("unanswerable", "turns")


def test_first_and_last_mentions_do_not_pay(rows: list[Row]) -> None:
    """Of a pair both forms must be right: the bound is that of the smaller share."""
    for name in ("half-name", "last-match", "passage"):
        scores = replies(rows, name)
        for (subtask, complexity), mean in scores.items():
            if subtask == "unanswerable" and name == "half-name":
                assert mean <= 0.45, (name, subtask, complexity, mean)
            if subtask in PAIRED:
                assert min(scores[subtask, 0], scores[subtask, 1]) <= 0.55, (name, subtask)
            else:
                assert mean <= 0.45, (name, subtask, complexity, mean)


def test_the_buyer_named_most_often_is_not_the_owner(rows: list[Row]) -> None:
    right = defaultdict(list)
    for row in (row for row in rows if row["subtask"] == "state"):
        buyers = json.loads(row["metadata"])["latent"]["buyers"]
        times = Counter({name: len(re.findall(rf"\b{name}\b", row["prompt"])) for name in buyers})
        most = [name for name in buyers if times[name] == max(times.values())]
        right[row["complexity"]].append((row["target"] in most) / len(most))
    assert all(fmean(some) <= 0.4 for some in right.values()), right


def test_updated_and_quiet_properties_are_named_as_often(rows: list[Row]) -> None:
    for row in (row for row in rows if row["subtask"] in (*OWNERS, "unanswerable")):
        latent, found = json.loads(row["metadata"])["latent"], read(row["prompt"])
        assert len(about(found, latent["property"])) == len(about(found, latent["twin"]))


def test_depths_of_what_is_needed_are_uniform() -> None:
    """Each step stands once in each twenty-fourth of its share of the annals; those of kin and turns anywhere."""
    wide = {cell: [] for cell in cells(24)}
    plan = make_plan(Recipe("longqa", "0", 11, "32k", tuple(wide)), ("o200k",), Path("unused"))
    for cell, found in wide.items():
        for index in range(cell.rows):
            own, shared = row_streams(plan, cell, index)
            layout = task_of(cell).layout(draw_sample(plan, RowPlan(cell, index, "")), own, shared)
            placed = [one for one in layout.placed if any(piece.role == "relevant" for piece in one.unit.pieces)]
            found += [one.depth for one in placed]
        below = [float(np.mean(np.array(found) < share)) for share in (0.25, 0.5, 0.75)]
        spare = 0.2 if cell.subtask in ("kin", "turns") else 0.07
        assert below == pytest.approx([0.25, 0.5, 0.75], abs=spare), str(cell)


def test_letters_and_ends_of_lines_are_balanced(plan: Plan) -> None:
    for row_cell in cells(40):
        samples = [draw_sample(plan, RowPlan(row_cell, index, "")) for index in range(row_cell.rows)]
        if row_cell.subtask == "choice":
            assert set(Counter(one.key.target for one in samples).values()) == {10}
            assert all(len(set(one.key.choices or ())) == 4 for one in samples)
            assert all(set(one.key.choices or ()) <= set(one.latent["buyers"]) for one in samples)
    assert [len(paths(steps)) for steps in (2, 3, 4)] == [6, 12, 24]


def test_forms_of_a_pair_ask_the_same_and_differ_in_what_tells(rows: list[Row]) -> None:
    for subtask in PAIRED:
        stated, silent = ([row for row in rows if row["subtask"] == subtask and row["complexity"] == c] for c in (1, 0))
        assert [row["question"] for row in stated] == [row["question"] for row in silent]
        assert {row["target"] for row in silent} == {"Not stated"}


def test_a_classifier_that_reads_no_words_cannot_tell_relevant_entries(rows: list[Row]) -> None:
    """Relevant entries and sales that are not needed look alike: length, commas, first letters, digits."""
    features: dict[str, list[list[float]]] = {"relevant": [], "decoy": []}
    for row in (row for row in rows if row["subtask"] == "state" and row["complexity"] == 1):
        for needle in (n for n in row["needles"] if n["role"] in features):
            said = row["prompt"][needle["char_start"] : needle["char_end"]]
            features[needle["role"]].append(look(said))
    # by hand: too few of a kind for a held-out fit of many features
    for place in range(len(features["relevant"][0])):
        one, other = (np.array([each[place] for each in features[role]]) for role in ("relevant", "decoy"))
        truth = np.array([1.0] * len(one) + [0.0] * len(other))
        assert 0.15 < surface_learner.auc(np.concatenate([one, other]), truth) < 0.85, place


def look(said: str) -> list[float]:
    return [float(len(said)), float(said.count(",")), float(said.count(". ")), float(sum(map(str.isdigit, said)))]


def test_sessions_with_and_without_what_is_told_have_one_form(rows: list[Row]) -> None:
    for row in (row for row in rows if row["subtask"] == "turns"):
        told: list[Any] = row["messages"][2:-1:2]
        assert {turn["content"].count("\n") for turn in told} <= {2, 3}
        assert [turn["role"] for turn in row["messages"][:2]] == ["user", "assistant"]
        spread = {len(set(re.findall(r"^\d+ \w+ \d{4}", turn["content"], re.MULTILINE))) for turn in told}
        assert len(spread) > 1 or spread == {3}
