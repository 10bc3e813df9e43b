"""Questions about documents: their proof finds what is planted, and readers without the text score nothing."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.packing import MORE, pack
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.errors import FitError
from pipeline.executors import Inline
from pipeline.metrics import score
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.streams import Shuffled, stream
from pipeline.tasks import TASKS, task_of
from pipeline.tasks.base import Filler, FillerOrder
from pipeline.tasks.documents.solve import Entry, demonstrations, question, read
from pipeline.verify.row import answer_faults, cell_place
from pipeline.worlds.gazetteer import forms
from pipeline.worlds.gazetteer.documents import stems
from pipeline.worlds.gazetteer.questions import places

SUBTASKS = ("single", "described", "bridge", "compare", "list")
SETTINGS: tuple[tuple[tuple[str, Any], ...], ...] = (
    (),
    (("decoys", 0),),
    (("decoys", 16),),
    (("negatives", "random"),),
    (("titles", False),),
    (("answer_elsewhere", False),),
    (("answer_elsewhere", False), ("decoys", 0), ("negatives", "random"), ("titles", False)),
)
ROWS = 12


def cells(knobs: tuple[tuple[str, Any], ...] = (), rows: int = ROWS, tier: str = "32k") -> tuple[Stratum, ...]:
    return tuple(
        Stratum("rag", subtask, tier, 8192, complexity, rows, knobs=knobs)
        for subtask in SUBTASKS
        for complexity in TASKS["rag", subtask].complexities
    )


def built(out: Path, strata: tuple[Stratum, ...]) -> tuple[Plan, list[Row]]:
    plan = make_plan(Recipe("rag", "0", 11, "32k", strata), ("o200k",), out)
    assert all(Stages(plan, Inline).build())
    return plan, [row for shard in plan.all_shards() for row in read_rows(shard.path(out, "data"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all is built in, one after the other, as all have the same filler."""
    return tmp_path_factory.mktemp("rag")


@pytest.fixture(scope="module")
def build(folder: Path) -> tuple[Plan, list[Row]]:
    return built(folder, cells())


@pytest.fixture(scope="module")
def rows(build: tuple[Plan, list[Row]]) -> list[Row]:
    return build[1]


def cell_of(row: Row) -> Stratum:
    return next(cell for cell in cells() if cell_place(cell) == cell_place_of(row))


def cell_place_of(row: Row) -> tuple[str, str, int, int]:
    return row["family"], row["subtask"], row["length"], row["complexity"]


def entries(row: Row, role: str) -> list[Entry]:
    starts = {needle["char_start"] for needle in row["needles"] if needle["role"] == role}
    return [one for one in read(row["prompt"]) if one.start in starts]


def changed(row: Row, change: Callable[[str], str]) -> list[str]:
    """Return what is found wrong with a row whose text is changed, and nothing else."""
    prompt = change(row["prompt"])
    assert prompt != row["prompt"]
    metadata = {**json.loads(row["metadata"]), "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    return answer_faults({**row, "prompt": prompt, "metadata": json.dumps(metadata)}, cell_of(row))


def of(rows: list[Row], *subtasks: str) -> list[Row]:
    return [row for row in rows if row["subtask"] in subtasks]


@pytest.mark.parametrize("knobs", SETTINGS[1:], ids=str)
def test_every_setting_is_exact_and_proven(knobs: tuple[tuple[str, Any], ...], folder: Path) -> None:
    _, rows = built(folder, cells(knobs, rows=1))
    given = dict(knobs)
    for row in rows:
        wanted = given.get("decoys", 4)
        wanted = max(wanted, 2 * row["complexity"]) if row["subtask"] == "list" and wanted else wanted
        assert len(entries(row, "decoy")) == wanted
        assert ("(title: " in row["prompt"]) == given.get("titles", True)
        if row["subtask"] != "list":
            golds = {one.start for one in entries(row, "relevant")}
            others = [one.text for one in read(row["prompt"]) if one.start not in golds]
            said = any(row["target"].lower() in text.lower() for text in others)
            assert said == given.get("answer_elsewhere", True)


def test_six_rows_may_ask_the_same_at_six_depths(folder: Path) -> None:
    some = tuple(
        Stratum("rag", name, "32k", 8192, 1, 12, knobs=(("crossed", True),)) for name in ("single", "described")
    )
    _, rows = built(folder, some)
    asked = {row["question"]: [other for other in rows if other["question"] == row["question"]] for row in rows}
    assert len(asked) == 4
    for six in asked.values():
        assert len({row["target"] for row in six}) == 1
        assert sorted(json.loads(row["metadata"])["latent"]["depths"] for row in six) == [[n / 5] for n in range(6)]
        assert len({frozenset(one.text for one in entries(row, "decoy")) for row in six}) == 1


def test_a_double_of_a_document_is_found(rows: list[Row]) -> None:
    for row in rows[::3]:
        gold, other = entries(row, "relevant")[0], entries(row, "decoy")[0]
        faults = changed(row, lambda text, gold=gold, other=other: text.replace(other.text, gold.text))
        assert any("two documents are about" in fault or "answers to" in fault for fault in faults), faults


def test_a_second_value_of_a_relation_is_found(rows: list[Row]) -> None:
    for row in of(rows, "single")[:4]:
        gold = entries(row, "relevant")[0]
        asked = json.loads(row["metadata"])["latent"]["asked"].split(".")[1]
        said = forms()[gold.form.name].relation(asked).lines["-"]
        if asked == gold.form.lead.name:
            continue
        again = said[0].format(value="Nowhere", It="It", it="it", him="it", Its="Its", its="its", Value="Nowhere",
                               a_value="a nobody", age="ten", count="two", season="spring")  # fmt: skip
        longer = gold.text.rstrip("\n") + f" {again}\n"
        assert changed(row, lambda text, gold=gold, longer=longer: text.replace(gold.text, longer)) != []


def test_another_document_that_fits_is_found(rows: list[Row]) -> None:
    """A decoy that is given the missing attribute of a description makes a second answer."""
    for row in of(rows, "described"):
        gold, near = entries(row, "relevant")[0], entries(row, "decoy")[0]
        double = gold.text.replace(gold.name, near.name)
        faults = changed(row, lambda text, near=near, double=double: text.replace(near.text, double))
        assert any("answer" in fault for fault in faults), faults
    for row in of(rows, "list"):
        gold, near = entries(row, "relevant")[0], entries(row, "decoy")[0]
        double = gold.text.replace(gold.name, near.name)
        faults = changed(row, lambda text, near=near, double=double: text.replace(near.text, double))
        assert any("key" in fault for fault in faults), faults


def test_every_document_that_is_needed_is(rows: list[Row]) -> None:
    for row in rows:
        for gold in entries(row, "relevant"):
            assert answer_without(row, gold) != row["target"]


def answer_without(row: Row, gold: Entry) -> str:
    """Return what a prompt answers without one of its documents: an error, if nothing."""
    try:
        return task_of(cell_of(row)).solve([("user", row["prompt"].replace(gold.text, ""))])[0]
    except ValueError as error:
        return str(error)


def test_a_near_miss_that_is_none_is_found(rows: list[Row]) -> None:
    for row in of(rows, "single", "bridge", "compare"):
        near = entries(row, "decoy")[0]
        named = [one.name for one in entries(row, "relevant") if one.name in row["question"]]
        other = near.text
        for name in named:
            other = other.replace(name, "Nobody Whatever")
        assert changed(row, lambda text, near=near, other=other: text.replace(near.text, other)) != []


def test_a_step_of_a_bridge_without_alternatives_is_found(rows: list[Row]) -> None:
    for row in (row for row in of(rows, "bridge")[::2] if row["complexity"] == 2):
        needed = entries(row, "relevant")
        last = next(one for one in needed if row["target"] in one.facts.values())
        asked = next(name for name, value in last.facts.items() if value == row["target"])
        others = [one for one in read(row["prompt"]) if one.name not in {each.name for each in needed}]
        gone = [one.text for one in others if one.form is last.form and asked in one.facts]
        faults = changed(row, lambda text, gone=gone: without(text, gone))
        assert any("values for the step" in fault for fault in faults), faults


def without(text: str, gone: list[str]) -> str:
    for line in gone:
        text = text.replace(line, "")
    return text


def test_a_wrong_demonstration_is_found(rows: list[Row]) -> None:
    for row in rows[::4]:
        shown = re.search(r"^Answer: (.+)$", row["prompt"], re.MULTILINE)
        assert shown
        faults = changed(row, lambda text, shown=shown: text.replace(shown[0], "Answer: Somebody", 1))
        assert any("demonstration" in fault for fault in faults), faults


def test_a_sentence_that_nobody_wrote_is_found(rows: list[Row]) -> None:
    for row in rows[::5]:
        gold = entries(row, "relevant")[0]
        strange = gold.text.rstrip("\n") + " It was haunted by a clerk.\n"
        faults = changed(row, lambda text, gold=gold, strange=strange: text.replace(gold.text, strange))
        assert any("cannot be read" in fault for fault in faults)


def test_the_answer_is_not_in_the_question_and_two_are_dealt_evenly(rows: list[Row]) -> None:
    for row in of(rows, "single", "described", "bridge", "compare"):
        assert row["target"] not in row["question"]
        assert question(row["prompt"]) == row["question"]
    firsts = [json.loads(row["metadata"])["latent"]["first"] for row in of(rows, "compare")]
    assert sum(firsts) == len(firsts) / 2
    for row, first in zip(of(rows, "compare"), firsts, strict=True):
        right = next(one for one in entries(row, "relevant") if row["target"] in one.facts.values())
        wrong = next(one for one in entries(row, "relevant") if one.name != right.name)
        assert (row["question"].index(right.name) > row["question"].index(wrong.name)) == first


def test_without_the_text_nothing_is_known(build: tuple[Plan, list[Row]]) -> None:
    """Nobody can know of a land that is not: the commonest answer of many rows is rare."""
    plan, rows = build
    for row in rows:
        assert score(row, str(READERS["no-context"].replies(open_reading(row)))) == 0
    for subtask, share in (("single", 0.03), ("described", 0.03), ("bridge", 0.05)):
        complexity = TASKS["rag", subtask].complexities[0]
        cell = Stratum("rag", subtask, "32k", 4096, complexity, 200)
        targets = Counter(draw_sample(plan, RowPlan(cell, index, "")).key.target for index in range(cell.rows))
        assert targets.most_common(1)[0][1] <= share * cell.rows


def test_a_search_alone_does_not_find_the_document(build: tuple[Plan, list[Row]]) -> None:
    plan, _ = build
    for subtask, most in (("single", 0.5), ("described", 0.2)):
        cell = Stratum("rag", subtask, "32k", 4096, 1, 120)
        samples = [draw_sample(plan, RowPlan(cell, index, "")) for index in range(cell.rows)]
        hits = [task_of(cell).baselines(one, one.key)["first_hit"] for one in samples]
        assert sum(hits) <= most * len(hits)
        assert all(hit == (one.latent["ranks"][0] == 0) for hit, one in zip(hits, samples, strict=True))


def test_words_in_common_alone_find_little(folder: Path) -> None:
    """The sentence with most words in common in a titled document, or all that hold the value of a list."""
    _, rows = built(folder, cells(rows=30))
    most = {"single": 0.45, "described": 0.35, "bridge": 0.1, "compare": 0.3, "list": 0.55}
    for subtask, bound in most.items():
        some = of(rows, subtask)
        assert fmean(score(row, str(READERS["passage"].replies(open_reading(row)))) or 0 for row in some) <= bound


def test_beside_the_answer_other_values_are_spoken_of(rows: list[Row]) -> None:
    """No sentence of a titled document that states the answer has more words in common than all others of its shape."""
    alone = []
    for row in of(rows, "single"):
        (gold,) = entries(row, "relevant")
        asked = stems(row["question"]) - stems(gold.name)
        common = [(len(asked & stems(said)), row["target"] in said) for said in re.split(r"(?<=\.) ", gold.text)]
        others = [number for number, states in common if not states]
        alone.append(max(number for number, states in common if states) > max(others))
    assert sum(alone) <= len(alone) / 2


def test_a_demonstration_with_the_answer_of_the_key_is_found(rows: list[Row]) -> None:
    for row in of(rows, "single")[:3]:
        shown = re.search(r"^Answer: (.+)$", row["prompt"], re.MULTILINE)
        assert shown
        assert all(demonstration[2].lower() != row["target"].lower() for demonstration in demonstrations(row["prompt"]))
        faults = changed(row, lambda text, shown=shown, row=row: text.replace(shown[0], f"Answer: {row['target']}", 1))
        assert any("has the answer of the key" in fault for fault in faults), faults


def test_hard_documents_share_more_words_with_the_question_than_random_ones(folder: Path) -> None:
    def shared(knobs: tuple[tuple[str, Any], ...]) -> float:
        strata = tuple(cell for cell in cells(knobs, 4) if cell.subtask == "single")
        _, rows = built(folder, strata)
        found = []
        for row in rows:
            words = set(re.findall(r"[A-Z]\w+", row["question"])[1:])
            found += [len(words & set(re.findall(r"[A-Z]\w+", one.text))) for one in read(row["prompt"])]
        return sum(found) / len(found)

    assert shared(()) > 1.4 * shared((("negatives", "random"),))


def test_documents_stand_as_the_search_ranks_them_or_in_any_order(build: tuple[Plan, list[Row]]) -> None:
    plan, _ = build
    for subtask in SUBTASKS:
        cell = next(cell for cell in cells() if cell.subtask == subtask)
        own, shared = row_streams(plan, cell, 0)
        filler = task_of(cell).layout(draw_sample(plan, RowPlan(cell, 0, "")), own, shared).filler
        assert filler.ranks is not None
        assert len(filler.spares) == 0
        ranks = filler.ranks[filler.order.take(50)]
        assert (np.diff(ranks) > 0).all() == (subtask in ("single", "described"))


def test_every_relation_is_asked_for() -> None:
    for subtask in SUBTASKS:
        assert len(set(places(subtask))) == len(places(subtask)) >= {"list": 5}.get(subtask, 25)
    verbs = [
        any(_stems(asked) - _stems(" ".join(one.wordings)) for asked in one.lines["?"])
        for form in forms().values()
        for one in form.relations
        if one.lines["?"]
    ]
    assert sum(verbs) >= len(verbs) / 2


def _stems(text: str) -> set[str]:
    small = re.compile("which|what|whose|when|where|whom|from|that|with|name|value|have|does|been|into|over")
    return {word[:5] for word in re.findall(r"[a-z]{4,}", text.lower()) if not small.fullmatch(word)}


@pytest.mark.parametrize("policy", ["ranked", "free", "sequence"])
def test_a_room_is_filled_from_the_order_alone(policy: FillerOrder) -> None:
    rng = stream("sizes")
    counts = np.array([rng.randrange(110, 160) for _ in range(3000)], dtype=np.int64)
    for seed in range(40):
        order = Shuffled(stream("order", seed), len(counts))
        ranks = Shuffled(stream("ranks", seed), len(counts)).take(len(counts))
        filler = Filler("pool", order, np.empty(0, dtype=np.int64), policy, ranks=ranks if policy == "ranked" else None)
        room = stream("room", seed).randrange(2000, 60_000)
        packing = pack(room, counts, filler, (0.5,), stream("mix", seed))
        assert packing.total == room
        taken, units = order.take(len(packing.units) + MORE).tolist(), packing.units.tolist()
        assert len(set(units)) == len(units)
        assert set(units) <= set(taken)
        least = len(units) - 8
        assert set(taken[:least]) <= set(units)
        if policy == "sequence":
            assert units == [one for one in taken if one in set(units)]
        if policy == "ranked":
            assert (np.diff(ranks[packing.units]) > 0).all()


def test_a_room_that_is_too_small_is_named() -> None:
    filler = Filler("pool", Shuffled(stream("order"), 300), np.empty(0, dtype=np.int64))
    with pytest.raises(FitError, match="three times its largest unit"):
        pack(200, np.full(300, 120, dtype=np.int64), filler, (), stream("mix"))
