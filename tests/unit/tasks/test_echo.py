"""A line that is to be copied: its proof finds what is planted, places are uniform, readers score what guesses say."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from statistics import fmean

import pytest

from builds import SWEPT
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import figures, score
from pipeline.profiles import load_profile
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.tasks.base import Sample
from pipeline.tasks.tabulate.text import PAIRS
from pipeline.verify.row import answer_faults

CELL = Stratum("tabulate", "echo", "32k", 4096, 500, 4)
MANY = 32


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    made = make_plan(Recipe("echo", "0", 11, "32k", (CELL,)), ("o200k",), tmp_path_factory.mktemp("echo"))
    assert all(Stages(made, Inline).build())
    return made


@pytest.fixture(scope="module")
def rows(plan: Plan) -> list[Row]:
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


@pytest.fixture(scope="module")
def samples(plan: Plan) -> dict[int, list[Sample]]:
    """As many samples of each number of words as there are ways to deal them; nothing is packed."""
    cells = [replace(CELL, rows=MANY, length=32768, complexity=count) for count in (500, 1000, 2500, 5000)]
    return {cell.complexity: [draw_sample(plan, RowPlan(cell, at, "")) for at in range(MANY)] for cell in cells}


def faults(row: Row, **changed: object) -> list[str]:
    """Return what the proof of a row finds wrong once it says something else."""
    told = {**row, **changed}
    digest = hashlib.sha256(str(told["prompt"]).encode()).hexdigest()
    told["metadata"] = json.dumps({**json.loads(row["metadata"]), "prompt_sha256": digest})
    return list(answer_faults(told, CELL))


def judged(sample: Sample, reply: str) -> dict[str, float]:
    row = {"scorer": "echo", "subtask": "echo", "question": sample.question, "target": sample.key.target}
    return {"score": score(row, reply), **figures(row, reply)}


def test_rows_are_proven(rows: list[Row]) -> None:
    assert [faults(row) for row in rows] == [[]] * len(rows)


def test_a_line_that_is_changed_missing_or_twice_is_found(rows: list[Row]) -> None:
    for row in rows:
        line, (usual, changed) = f"{row['target']}\n", json.loads(row["metadata"])["latent"]["words"]
        for other in (
            "",
            line * 2,
            f"{usual} {line}",
            line.replace(f" {changed}", ""),
            line.replace(f" {changed}", f" {usual}"),
            line.replace(f" {changed}", f" {changed} {changed}"),
            line.replace(f"{usual} {changed}", f"{changed} {usual}"),
            line.replace(f" {changed}", " pebble"),
        ):
            assert faults(row, prompt=row["prompt"].replace(line, other)), other[:80]


def test_a_copy_that_is_too_short_or_changed_is_no_key(rows: list[Row]) -> None:
    for row in rows:
        words = row["target"].split(" ")
        for other in (words[1:], words[:-1], words[::-1], [*words, words[0]]):
            assert faults(row, target=" ".join(other), answers=[" ".join(other)])


def test_words_are_dealt_evenly_and_places_over_the_whole_line(samples: dict[int, list[Sample]]) -> None:
    for count, some in samples.items():
        words = [sample.latent["words"] for sample in some]
        assert sorted(map(tuple, words)) == sorted([*PAIRS, *(pair[::-1] for pair in PAIRS)])
        places = [sample.key.target.split(" ").index(sample.latent["words"][1]) for sample in some]
        assert places == [sample.latent["before"] for sample in some]
        assert all(len(sample.key.target.split(" ")) == count for sample in some)
        part = (count - 2) / MANY
        assert all(-1 < place - 2 - at * part < part for at, place in enumerate(sorted(places)))


def test_guesses_are_what_such_replies_score(samples: dict[int, list[Sample]]) -> None:
    for count, some in samples.items():
        for sample in some[::4]:
            usual, changed = sample.latent["words"]
            guesses, words = sample.latent["guesses"], sample.key.target.split(" ")
            assert judged(sample, sample.key.target)["score"] == 1.0
            assert judged(sample, " ".join([usual] * count))["score"] == guesses["unchanged"] == 0.5
            assert ("first_500" in guesses) == (count > 500)
            if count > 500:
                assert judged(sample, " ".join(words[:500]))["score"] == pytest.approx(guesses["first_500"], abs=1e-6)
            at = words.index(changed)
            late = judged(sample, " ".join([*words[:at], usual, *words[at:-1]]))
            assert (late["place"], late["changed"], late["count"], late["exact"]) == (0.0, 1.0, 1.0, 0.0)
            longer = judged(sample, " ".join([*words, *[usual] * count]))
            assert (longer["place"], longer["count"], longer["written"]) == (1.0, 0.5, 1.0)
            shorter = judged(sample, " ".join(words[: count // 2]))
            assert shorter["written"] == shorter["count"] == 0.5
    assert fmean(sample.latent["guesses"]["first_500"] for sample in samples[5000]) == pytest.approx(0.1, abs=0.02)


def test_who_misses_the_changed_word_scores_a_half(rows: list[Row]) -> None:
    said = {name: [reader.replies(open_reading(row)) for row in rows] for name, reader in READERS.items()}
    means = {name: fmean(map(score, rows, replies)) for name, replies in said.items()}
    assert means["all"] == 1.0
    assert means["half-name"] == means["last-match"] == 0.5
    assert means["passage"] == means["no-context"] == 0.0


@pytest.mark.parametrize("name", ["o200k", *(pytest.param(name, marks=pytest.mark.slow) for name in SWEPT)])
def test_every_word_is_one_token_in_every_profile(name: str) -> None:
    words = [word for pair in PAIRS for word in pair]
    assert len({*words}) == 2 * len(PAIRS)
    assert {*load_profile(name).counter().counts([f" {word}" for word in words])} == {1}
