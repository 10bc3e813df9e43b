"""Facts with the ids of documents: proofs find what is planted, figures are those of the definitions, readers score."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.split import open_split
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import FIGURES, cited, figures, score
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.score.cells import Tables
from pipeline.score.scoring import score_predictions
from pipeline.score.views import page
from pipeline.stages import Stages
from pipeline.tasks import TASKS, task_of
from pipeline.tasks.cite.solve import facts, opened
from pipeline.tasks.documents.solve import Entry, read
from pipeline.verify.row import answer_faults
from pipeline.worlds.gazetteer import forms
from pipeline.worlds.gazetteer.questions import clauses, lists

CELLS = tuple(
    Stratum("cite", subtask, "32k", 8192, complexity, 4)
    for subtask in ("facets", "listing")
    for complexity in TASKS["cite", subtask].complexities
)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    plan = make_plan(Recipe("cite", "0", 11, "32k", CELLS), ("o200k",), tmp_path_factory.mktemp("cite"))
    assert all(Stages(plan, Inline).build())
    return plan


@pytest.fixture(scope="module")
def rows(build: Plan) -> list[Row]:
    return [row for shard in build.all_shards() for row in read_rows(shard.path(build.out, "data"))]


def cell_of(row: Row) -> Stratum:
    return next(cell for cell in CELLS if (cell.subtask, cell.complexity) == (row["subtask"], row["complexity"]))


def of(rows: Sequence[Row], subtask: str) -> list[Row]:
    return [row for row in rows if row["subtask"] == subtask]


def entries(row: Row, role: str) -> list[Entry]:
    starts = {needle["char_start"] for needle in row["needles"] if needle["role"] == role}
    return [one for one in read(row["prompt"]) if one.start in starts]


def changed(row: Row, change: Callable[[str], str]) -> list[str]:
    """Return what is found wrong with a row whose text is changed, and nothing else."""
    prompt = change(row["prompt"])
    assert prompt != row["prompt"]
    metadata = {**json.loads(row["metadata"]), "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    return answer_faults({**row, "prompt": prompt, "metadata": json.dumps(metadata)}, cell_of(row))


def found_with(row: Row, one: Entry, other: str, *parts: str) -> None:
    """Hold a row in which a document is replaced to have a fault that says one of some things."""
    faults = changed(row, lambda said: said.replace(one.text, other))
    assert any(part in fault for fault in faults for part in parts), faults


# Rows


def test_every_answer_of_a_key_is_a_whole_reply(rows: list[Row]) -> None:
    for row in rows:
        for answer in row["answers"]:
            assert score(row, answer) == cited(row, answer, alce=True) == 1.0, answer
            assert figures(row, answer) == dict.fromkeys(FIGURES, 1.0)


def test_keys_of_all_that_can_be_asked_have_the_full_score(build: Plan) -> None:
    for subtask, complexity, count in (("facets", 3, len(clauses())), ("listing", 5, len(lists()))):
        cell = Stratum("cite", subtask, "32k", 8192, complexity, count)
        drawn = [draw_sample(build, RowPlan(cell, index, "")) for index in range(count)]
        assert len({one.latent["place"] for one in drawn}) == count
        for one in drawn:
            row = {"question": one.question, "target": one.key.target, "answers": one.key.answers}
            assert all(cited(row, answer) == cited(row, answer, alce=True) == 1.0 for answer in one.key.answers), row


def test_every_setting_is_exact_and_proven(tmp_path: Path) -> None:
    settings: Sequence[tuple[tuple[str, Any], ...]] = ((("decoys", 0),), (("decoys", 16), ("negatives", "random")))
    cells = tuple(
        Stratum("cite", cell.subtask, "32k", 16384, cell.complexity, 1, knobs=knobs)
        for cell in CELLS
        if cell.complexity in (3, 10)
        for knobs in settings[cell.complexity == 10 :][:1]
    )
    plan = make_plan(Recipe("cite", "0", 12, "32k", cells), ("o200k",), tmp_path)
    assert all(Stages(plan, Inline).build())
    for shard in plan.all_shards():
        for row in read_rows(shard.path(tmp_path, "data")):
            decoys = dict(json.loads(row["metadata"])["knobs"])["decoys"]
            assert len(entries(row, "decoy")) == (max(decoys, 20) if row["complexity"] == 10 else decoys)


def test_a_document_that_is_missing_changes_the_key(rows: list[Row]) -> None:
    for row in rows[::2]:
        for gold in entries(row, "relevant"):
            try:
                left = task_of(cell_of(row)).solve([("user", row["prompt"].replace(gold.text, ""))])
            except ValueError:
                continue
            assert left != tuple(row["answers"])


def test_planted_documents_are_found(rows: list[Row]) -> None:
    for row in rows[::3]:
        gold, near = entries(row, "relevant")[0], entries(row, "decoy")[-1]
        marked = {needle["char_start"] for needle in row["needles"]}
        filler = next(one for one in read(row["prompt"]) if one.start not in marked)
        found_with(row, filler, filler.text.replace(filler.id, gold.id), "the id")
        found_with(row, filler, gold.text.replace(gold.id, filler.id), "stated twice", "two documents", "key", "marks")
        found_with(row, near, near.text.replace(f"[{near.id}]", f"[{near.id[:4]}]"), "no document")
        found_with(row, near, filler.text.replace(filler.name, "Nobody").replace(filler.id, near.id), "decoy")


def test_a_second_value_of_a_fact_is_found(rows: list[Row]) -> None:
    for row in of(rows, "facets"):
        found, asked = opened(row["prompt"])
        fact = facts(found, asked)[0]
        one, relation = fact.documents[0], fact.place[1]
        if fact.value not in one.text or relation == one.form.lead.name:
            continue
        other = {"year": "1666"}.get(one.form.relation(relation).type, "Nowhere")
        other = one.text.replace(fact.value, other).replace(one.id, "10001")
        faults = changed(row, lambda said, one=one, other=other: said.replace(one.text, one.text + other))
        assert any("2 values" in fault or "differ in" in fault for fault in faults), faults


def test_a_near_miss_that_says_what_is_asked_is_found(rows: list[Row]) -> None:
    for row in of(rows, "facets"):
        gold = entries(row, "relevant")[0]
        own = next(one for one in entries(row, "decoy") if one.name == gold.name)
        found_with(row, own, gold.text.replace(gold.id, own.id), "stated twice", "decoy", "key", "marks")


def test_wrong_demonstrations_are_found(rows: list[Row]) -> None:
    for row in rows[::4]:
        shown = re.search(r"^Answer: .*?\[(\d{5})\]", row["prompt"], re.MULTILINE)
        assert shown
        wrong = shown[0].replace(shown[1], "10000")
        faults = changed(row, lambda said, shown=shown, wrong=wrong: said.replace(shown[0], wrong, 1))
        assert any("demonstration" in fault for fault in faults), faults


def test_every_value_stands_elsewhere_and_half_of_the_facts_twice(rows: list[Row]) -> None:
    for row in of(rows, "facets"):
        found, asked = opened(row["prompt"])
        stated = facts(found, asked)
        assert sum(len(fact.documents) for fact in stated) == row["complexity"] + row["complexity"] // 2
        for fact in stated:
            others = [one for one in found if one not in fact.documents]
            assert any(fact.value.lower() in one.text.lower() for one in others)
            assert not any(one.facts.get(fact.place[1]) == fact.value and one.name == stated[0].documents[0].name
                           for one in others)  # fmt: skip


def test_what_is_needed_looks_like_near_misses(rows: list[Row]) -> None:
    """Documents that are needed are as long as decoys, and state as many facts to a fact."""
    sizes = {
        role: [(len(one.text.split()), len(one.facts)) for row in rows for one in entries(row, role)]
        for role in ("relevant", "decoy")
    }
    for at, most in ((0, 6.0), (1, 1.0)):
        one, other = (fmean(size[at] for size in some) for some in sizes.values())
        assert abs(one - other) < most


def test_ids_tell_nothing(build: Plan) -> None:
    """Ids of documents that are needed are spread as all are."""
    cell = Stratum("cite", "listing", "32k", 8192, 10, 40)
    own = [int(one) for at in range(40) for one in draw_sample(build, RowPlan(cell, at, "")).latent["golds"]]
    assert len(own) == 400
    assert abs(fmean(own) - 54_999.5) < 5 * 25_981 / 20


def test_every_fact_and_every_list_can_be_asked_for() -> None:
    assert set(clauses()) == {
        (form.name, one.name) for form in forms().values() for one in form.relations[1:] if one.lines["?"]
    }
    assert len(lists()) >= 25
    known = {(form.name, one.name) for form in forms().values() for one in form.relations}
    assert set(lists()) <= known
    for some in (clauses(), lists()):
        assert all(len(said) > 1 for said in some.values())
        for place in some:
            assert len(set(some[place])) == len(some[place])


def test_nobody_knows_without_the_documents(rows: list[Row], build: Plan) -> None:
    for row in rows:
        for name, least, most in (("all", 1.0, 1.0), ("no-context", 0.0, 0.0)):
            assert least <= score(row, str(READERS[name].replies(open_reading(row)))) <= most
    for subtask, complexity in (("facets", 2), ("listing", 5)):
        cell = Stratum("cite", subtask, "32k", 8192, complexity, 60)
        drawn = [draw_sample(build, RowPlan(cell, index, "")) for index in range(cell.rows)]
        as_rows = [
            {"scorer": "cited", "question": one.question, "target": one.key.target, "answers": list(one.key.answers)}
            for one in drawn
        ]
        best = max(fmean(score(row, other["target"]) for row in as_rows if row is not other) for other in as_rows[:20])
        assert best < 0.03


def test_the_first_hit_of_a_search_is_no_answer_to_a_list(build: Plan) -> None:
    cell = Stratum("cite", "listing", "32k", 8192, 5, 60)
    hits = [draw_sample(build, RowPlan(cell, index, "")).latent["first_hit"] for index in range(cell.rows)]
    assert sum(hits) <= 0.4 * len(hits)


def test_listing_all_documents_or_ids_scores_low(rows: list[Row]) -> None:
    right_with_all_ids = []
    for row in rows:
        found = read(row["prompt"])
        every = "".join(f"[{one.id}]" for one in found)
        values = [answer.partition(" [")[0] for answer in re.split(r"(?<=\])[.,] ", row["target"])]
        assert score(row, every) == 0.0
        assert score(row, " ".join(one.text for one in found)) < 0.4
        assert score(row, ", ".join(f"{one.name} [{one.id}]" for one in found)) < 0.6
        right_with_all_ids.append(score(row, ". ".join(f"{value} {every}" for value in values)))
    assert fmean(right_with_all_ids) < 0.4


def test_words_in_common_alone_find_little(build: Plan) -> None:
    """For each clause the sentence with most words in common, or of a list every document that holds the value."""
    rows = [row for shard in build.all_shards() for row in read_rows(shard.path(build.out, "data"))]
    for subtask, most in (("facets", 0.35), ("listing", 0.65)):
        some = of(rows, subtask)
        assert fmean(score(row, str(READERS["passage"].replies(open_reading(row)))) or 0 for row in some) <= most


def test_figures_stand_apart_in_scores(build: Plan, rows: list[Row], tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    replies = [{"id": row["id"], "prediction": re.sub(r" ?\[\d+\]", "", row["target"])} for row in rows]
    path.write_text("".join(json.dumps(one) + "\n" for one in replies))
    split = open_split(build.out / "o200k")
    tables = Tables(score_predictions([split], [path]))
    means = {(cell.place["subtask"], cell.place["figure"]): cell.mean for cell in tables.figures()}
    assert means == {
        (subtask, figure): float(figure == "correctness") for subtask in ("facets", "listing") for figure in FIGURES
    }
    assert "correctness  recall  precision" in page(tables)
    assert tables.overall is not None
    assert tables.overall.mean == pytest.approx(1 / 3)
