"""Rankings of documents: their proof finds what is planted, and readers who do not read gain little."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from itertools import permutations
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import score, worth_of
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.streams import Streams, stream
from pipeline.tasks import task_of
from pipeline.tasks.base import Sample
from pipeline.tasks.documents.solve import Entry, read
from pipeline.tasks.rerank import task
from pipeline.tasks.rerank.documents import DocumentWriter
from pipeline.tasks.rerank.questions import ask_conditions, ask_order, asked_forms, conditions, scales
from pipeline.tasks.rerank.solve import solve, wanted
from pipeline.verify.row import answer_faults, cell_place
from pipeline.worlds.gazetteer import forms, gazetteer, ids
from pipeline.worlds.gazetteer.documents import since

CELLS = (("conditions", 10, 8192), ("conditions", 30, 16384), ("order", 10, 8192))
DRAWS = 40


def cells(rows: int, knobs: tuple[tuple[str, Any], ...] = ()) -> tuple[Stratum, ...]:
    return tuple(
        Stratum("rerank", subtask, "32k", length, complexity, rows, knobs=knobs)
        for subtask, complexity, length in CELLS
    )


def built(out: Path, strata: tuple[Stratum, ...]) -> tuple[Plan, list[Row]]:
    plan = make_plan(Recipe("rerank", "0", 11, "32k", strata), ("o200k",), out)
    assert all(Stages(plan, Inline).build())
    return plan, [row for shard in plan.all_shards() for row in read_rows(shard.path(out, "data"))]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, list[Row]]:
    return built(tmp_path_factory.mktemp("rerank"), cells(3))


@pytest.fixture(scope="module")
def rows(build: tuple[Plan, list[Row]]) -> list[Row]:
    return build[1]


@pytest.fixture(scope="module")
def samples(build: tuple[Plan, list[Row]]) -> dict[tuple[str, int], list[Sample]]:
    return {
        (cell.subtask, cell.complexity): [draw_sample(build[0], RowPlan(cell, index, "")) for index in range(DRAWS)]
        for cell in cells(DRAWS)
    }


def entries(row: Row, role: str) -> list[Entry]:
    starts = {needle["char_start"] for needle in row["needles"] if needle["role"] == role}
    return [one for one in read(row["prompt"]) if one.start in starts]


def faults(row: Row, old: str = "", new: str = "") -> list[str]:
    """Return what is found wrong with a row in whose prompt a text is changed."""
    prompt = row["prompt"].replace(old, new)
    assert (prompt == row["prompt"]) == (old == new)
    metadata = {**json.loads(row["metadata"]), "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    place = row["family"], row["subtask"], row["length"], row["complexity"]
    cell = next(cell for cell in cells(3) if cell_place(cell) == place)
    return answer_faults({**row, "prompt": prompt, "metadata": json.dumps(metadata)}, cell)


def blamed(row: Row, old: str, new: str, word: str) -> bool:
    return any(word in fault for fault in faults(row, old, new))


# What is planted is found


def test_a_right_row_has_no_fault(rows: list[Row]) -> None:
    assert [faults(row) for row in rows] == [[]] * len(rows)


def test_a_document_that_no_longer_meets_a_condition_is_found(rows: list[Row]) -> None:
    for row in rows:
        for one in entries(row, "relevant")[:3]:
            what = wanted(row["question"])
            other = one.text
            for name in what.met(one):
                other = other.replace(what.values[name], "1699" if what.values[name].isdigit() else "Nowhere Else")
            assert blamed(row, one.text, other, "the key is")


def test_filler_that_meets_a_condition_is_found(rows: list[Row]) -> None:
    for row in rows:
        needles = {needle["char_start"] for needle in row["needles"]}
        filler = next(one for one in read(row["prompt"]) if one.start not in needles)
        gold = entries(row, "relevant")[0]
        title = gold.text.split("(title: ")[1].split(")")[0]
        double = gold.text.replace(gold.id, filler.id).replace(title, "Nobody Whatever")
        word = "two documents have one" if "two documents" in str(faults(row, filler.text, double)) else "the key is"
        assert blamed(row, filler.text, double, word)


def test_two_documents_of_one_number_or_name_are_found(rows: list[Row]) -> None:
    for row in rows[::2]:
        one, other = [each for each in entries(row, "decoy") if not wanted(row["question"]).met(each)][:2]
        assert blamed(row, f"[{one.id}]", f"[{other.id}]", "have the number")
        assert blamed(row, other.text, one.text.replace(one.id, other.id), "have the name")


def test_decoys_that_name_nothing_are_found(rows: list[Row]) -> None:
    for row in rows:
        value = next(value for value in wanted(row["question"]).values.values() if not value.isdigit())
        changed = row["prompt"]
        for one in entries(row, "decoy"):
            changed = changed.replace(one.text, one.text.replace(value, "Nowhere Else"))
        assert blamed(row, row["prompt"], changed, "stands in")


def test_more_documents_are_written_where_values_are_named_too_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = (6, 4)
    monkeypatch.setattr(task, "DECOYS", {10: few})
    _, rows = built(tmp_path, cells(2)[:1])  # proven, so each value is named often enough
    assert all(sum(needle["role"] == "decoy" for needle in row["needles"]) > sum(few) for row in rows)


def test_a_tie_in_an_order_is_found(rows: list[Row]) -> None:
    for row in rows:
        scale = wanted(row["question"]).scale
        if scale:
            one, other = entries(row, "relevant")[:2]
            first, second = (each.facts[scale] for each in (one, other))
            assert blamed(row, other.text, other.text.replace(second, first), "two documents have one")


def test_a_wrong_demonstration_is_found(rows: list[Row]) -> None:
    for row in rows[::2]:
        shown = re.search(r"^Answer: (\d+) > (\d+)", row["prompt"], re.MULTILINE)
        assert shown
        assert blamed(row, shown[0], f"Answer: {shown[2]} > {shown[1]}", "demonstration")
        assert blamed(row, shown[0], "Answer: 99999", "demonstration")


def test_a_question_that_cannot_be_read_is_found(rows: list[Row]) -> None:
    for row in rows[::2]:
        with pytest.raises(ValueError, match="0 readings"):
            solve(row["prompt"].replace(row["question"], "Which bridge is best?"))


# What is asked


def test_every_question_is_read_as_it_is_meant() -> None:
    world = gazetteer(Streams((5,)), "32k")
    for name in asked_forms():
        asked = ask_conditions(world, stream("conditions", name), name)
        read_as = wanted(asked.question)
        assert (read_as.form, read_as.scale) == (asked.form, "")
        assert [*read_as.values] == [relation for relation, _ in asked.conditions]
    for place in scales():
        asked = ask_order(world, stream("order", *place), place, 10)
        read_as = wanted(asked.question)
        assert (read_as.form, read_as.scale, read_as.sign) == (place[0], place[1], 1 if place[2] == "<" else -1)
        assert (read_as.count, [*read_as.values]) == (10, [asked.conditions[0][0]])


def test_many_kinds_of_things_are_asked_for_evenly(samples: dict[tuple[str, int], list[Sample]]) -> None:
    assert len(asked_forms()) >= 12
    assert len({form for form, _, _ in scales()}) == len(forms())
    assert all(len(conditions(name)) >= 3 for name in asked_forms())
    for (subtask, _), some in samples.items():
        times = Counter(next(iter(task_of(one.stratum).dealt(one).values()))[0] for one in some)
        kinds = len(asked_forms()) if subtask == "conditions" else len(scales())
        assert len(times) == min(kinds, DRAWS)
        assert max(times.values()) - min(times.values()) <= 1
    assert len({one.latent["scale"][-1] for one in samples["order", 10]}) == 2


def test_a_third_of_the_documents_has_each_grade_wherever_they_stand(
    rows: list[Row], samples: dict[tuple[str, int], list[Sample]]
) -> None:
    for row in rows:
        grades = Counter(worth_of(row).values())
        if row["subtask"] == "order":
            assert sorted(grades) == [*range(1, 11)]
        else:
            assert grades == {10: {3: 4, 2: 3, 1: 3}, 30: {3: 10, 2: 10, 1: 10}}[row["complexity"]]
    for some in samples.values():
        depths = sorted(one.latent["depths"][0] for one in some)
        assert [int(depth * DRAWS) for depth in depths] == [*range(DRAWS)]


def test_numbers_of_documents_are_theirs_alone(samples: dict[tuple[str, int], list[Sample]]) -> None:
    for some in samples.values():
        for one in some[::10]:
            numbers = re.findall(r"^Document \[(\d{5})\]", "".join(one.relevant), re.MULTILINE)
            assert len({*numbers}) == len(numbers) == len(one.relevant)
    known = ids(Streams((11,)), "32k")
    assert not {*worth_of({"target": "", "answers": samples["order", 10][0].key.answers})} & {*known}


@pytest.mark.parametrize("knobs", [(("decoys", False),), (("negatives", "random"),)], ids=str)
def test_every_setting_is_exact_and_proven(knobs: tuple[tuple[str, Any], ...], tmp_path: Path) -> None:
    _, rows = built(tmp_path, (cells(1, knobs)[0], cells(1, knobs)[2]))
    for row in rows:
        below = 4 if row["subtask"] == "order" else 0
        assert (len(entries(row, "decoy")) == below) == (knobs[0][0] == "decoys")


# What readers score


def test_a_search_gains_at_most_half(samples: dict[tuple[str, int], list[Sample]]) -> None:
    for (subtask, complexity), some in samples.items():
        found = [task_of(one.stratum).baselines(one, one.key) for one in some]
        assert fmean(each["bm25"] for each in found) <= {"conditions": 0.5, "order": 0.45}[subtask]
        assert all(each["uniform"] < 0.2 < each["unordered"] for each in found), complexity


def test_guessers_score_what_is_said(samples: dict[tuple[str, int], list[Sample]]) -> None:
    rng = stream("guessers")
    for some in samples.values():
        row = {"scorer": "ndcg", "question": "", "target": some[0].key.target, "answers": some[0].key.answers}
        known = [*worth_of(row)]
        said = [score(row, " > ".join(rng.sample(known, 10))) for _ in range(400)]
        assert fmean(said) == pytest.approx(
            task_of(some[0].stratum).baselines(some[0], some[0].key)["unordered"], abs=0.02
        )


def test_who_counts_what_is_named_gains_little(rows: list[Row]) -> None:
    for name, most in (("half-name", 0.55), ("last-match", 0.55), ("passage", 0.65), ("no-context", 0.0)):
        assert fmean(score(row, str(READERS[name].replies(open_reading(row)))) for row in rows) <= most, name


DENYING = re.compile(r"\b(?:no|not|never|none|declined|refused|turned down)\b")


def test_no_document_takes_back_what_it_states(rows: list[Row]) -> None:
    """No school that somebody founded "was not founded by" the same person, who is named again in other sentences."""
    slots = re.compile(r"\\{\w+\\}")
    for row in rows:
        for one in read(row["prompt"]):
            for relation in (each for each in one.form.relations if each.name in one.facts):
                for said in (said for said in relation.asides if DENYING.search(said)):
                    pattern = slots.sub(".+?", re.escape(said))
                    found = [said for said in re.split(r"(?<=\.) ", one.text.strip()) if re.fullmatch(pattern, said)]
                    value = re.compile(rf"(?<!\w){re.escape(one.facts[relation.name])}(?!\w)")
                    assert not any(value.search(each.replace(one.name, "")) for each in found), (
                        one.text,
                        relation.name,
                    )


def test_a_year_asked_for_is_named_only_where_things_existed_then() -> None:
    """Nobody loses an eye two years after a death, and a firm that has closed does not begin business abroad."""
    world, named = gazetteer(Streams((5,)), "32k"), 0
    for name in asked_forms():
        rng = stream("years", name)
        asked = ask_conditions(world, rng, name)
        year = next((value for _, value in asked.conditions if value.isdigit()), "")
        writer = DocumentWriter(world, rng, asked, set())
        for passage in [writer.other_kind() for _ in range(20)] + [writer.same_kind([]) for _ in range(20)]:
            if ("year", year) in passage.named and year not in passage.facts.values():
                first, last = since(forms()[passage.form])
                assert first <= int(year) - passage.thing.era <= last, passage.text
                named += 1
    assert named > 100


# How rankings are scored


def row_of(ranks: list[list[str]]) -> dict[str, Any]:
    full = ">".join("=".join(rank) for rank in ranks)
    return {"scorer": "ndcg", "question": "", "target": full, "answers": [full]}


def test_any_order_within_a_grade_is_right() -> None:
    row = row_of([["11111", "22222", "33333"], ["44444", "55555"]])
    for first in permutations(["11111", "22222", "33333"]):
        for second in permutations(["44444", "55555"]):
            assert score(row, " > ".join([*first, *second])) == 1.0


def test_numbers_that_are_unknown_or_stood_before_keep_their_places() -> None:
    row = row_of([["11111"], ["22222"]])
    ideal = 2 + 1 / log2(3)
    assert score(row, "99999 > 11111 > 22222") == pytest.approx((2 / log2(3) + 1 / 2) / ideal)
    assert score(row, "11111 > 11111 > 22222") == pytest.approx((2 + 1 / 2) / ideal)
    assert score(row, "22222 > 11111") == pytest.approx((1 + 2 / log2(3)) / ideal)
    assert score(row, " > ".join(["99999"] * 10 + ["11111"])) == 0.0


def test_more_right_documents_never_score_less() -> None:
    rng = stream("more")
    for _ in range(200):
        known = [str(number) for number in rng.sample(range(10_000, 99_999), 30)]
        row = row_of([known[:10], known[10:20], known[20:]])
        given = rng.sample(known, 9)
        before = score(row, " > ".join(given))
        assert before <= score(row, " > ".join([*given, rng.choice(known)])) <= 1.0
