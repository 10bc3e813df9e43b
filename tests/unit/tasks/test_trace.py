"""Questions about traces: their proof finds what is planted, naive readers score little, and depths are uniform."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import score
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.tasks import TASKS
from pipeline.tasks.base import Sample
from pipeline.tasks.trace.log import read
from pipeline.tasks.trace.replay import ROW, asked_of
from pipeline.verify.row import answer_faults, cell_place

SUBTASKS = ("state", "which_call", "constraint", "audit", "resume", "rows")
ROWS, MANY = 4, 90


def cells(rows: int = ROWS) -> list[Stratum]:
    every = [replace(cell, rows=rows) for name in SUBTASKS for cell in TASKS["trace", name].golden()]
    return every if rows > ROWS else [cell for cell in every if cell.length < 16384]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    made = make_plan(Recipe("trace", "0", 11, "32k", tuple(cells())), ("o200k",), tmp_path_factory.mktemp("trace"))
    assert all(Stages(made, Inline).build())
    return made


@pytest.fixture(scope="module")
def rows(plan: Plan) -> list[Row]:
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


@pytest.fixture(scope="module")
def samples(plan: Plan) -> dict[Stratum, list[Sample]]:
    """Many samples of each cell, of which nothing is packed."""
    return {cell: [draw_sample(plan, RowPlan(cell, at, "")) for at in range(MANY)] for cell in cells(MANY)}


def faults(row: Row, **changed: object) -> list[str]:
    """Return what the proof of a row finds wrong once it says something else."""
    told = {**row, **changed}
    digest = hashlib.sha256(str(told["prompt"]).encode()).hexdigest()
    told["metadata"] = json.dumps({**json.loads(str(told["metadata"])), "prompt_sha256": digest})
    cell = next(cell for cell in cells() if cell_place(cell) == cell_place_of(row))
    return answer_faults(told, cell)


def cell_place_of(row: Row) -> tuple[str, str, int, int]:
    return row["family"], row["subtask"], row["length"], row["complexity"]


def first(rows: list[Row], subtask: str) -> Row:
    return next(row for row in rows if row["subtask"] == subtask)


def inserted(row: Row, at: int, text: str) -> dict[str, object]:
    """Return the columns of a row in whose prompt a text is put in."""
    needles = [
        {
            **n,
            **{
                name: n[name] + len(text) * (n[name] >= at + (name == "char_end"))
                for name in ("char_start", "char_end")
            },
        }
        for n in row["needles"]
    ]
    prompt = row["prompt"][:at] + text + row["prompt"][at:]
    return {"prompt": prompt, "needles": needles, "question_start": row["question_start"] + len(text)}


def test_rows_are_proven(rows: list[Row]) -> None:
    assert {row["subtask"] for row in rows} == {*SUBTASKS}
    for row in rows[::3]:
        assert faults(row) == []


def test_a_needed_job_that_is_marked_as_a_decoy_is_found_and_the_other_way_round(rows: list[Row]) -> None:
    for subtask in SUBTASKS:
        row = first(rows, subtask)
        for role, other in (("relevant", "decoy"), ("decoy", "relevant")):
            at = next(at for at, needle in enumerate(row["needles"]) if needle["role"] == role)
            needles = [{**n, "role": other if at == number else n["role"]} for number, n in enumerate(row["needles"])]
            assert any(f"is marked as {other}" in fault for fault in faults(row, needles=needles)), (subtask, role)


def test_a_failed_call_that_is_marked_as_needed_is_found(rows: list[Row]) -> None:
    row = first(rows, "state")
    spans = [(at, row["prompt"][n["char_start"] : n["char_end"]]) for at, n in enumerate(row["needles"])]
    at = next(at for at, job in spans if re.search("not carried out|refused|rolled back|dropped|rejected", job))
    needles = [{**n, "role": "relevant" if at == number else n["role"]} for number, n in enumerate(row["needles"])]
    assert any("marked as relevant" in fault for fault in faults(row, needles=needles))


def test_filler_that_names_what_is_asked_is_found(rows: list[Row]) -> None:
    for subtask in ("state", "which_call", "rows"):
        row = first(rows, subtask)
        name = json.loads(row["metadata"])["latent"]["names"][0]
        start = row["prompt"].find("\nTrace:\n") + len("\nTrace:\n")
        told = inserted(row, start, f'> note {{"text": "see {name}"}}\n< kept (b2b2b)\n')
        assert any("not marked" in fault for fault in faults(row, **told)), subtask


def test_at_least_a_third_of_the_rows_of_a_query_do_not_count(samples: dict[Stratum, list[Sample]]) -> None:
    for some in (some for cell, some in samples.items() if cell.subtask == "rows"):
        for sample in some:
            found = {row: state for step in sample.relevant for row, state, _ in ROW.findall(step)}
            assert 3 * sum(state != sample.latent["status"] for state in found.values()) >= len(found)


def test_a_code_twice_a_trace_that_ends_in_words_and_a_result_without_code_are_found(rows: list[Row]) -> None:
    row = first(rows, "rows")
    start = row["prompt"].find("\nTrace:\n") + len("\nTrace:\n")
    ref = read(row["prompt"]).calls[5].ref
    told = {f'> note {{"text": "so"}}\n< kept ({ref})\n': "same code", "[user] Well.\n[user] Go.\n": "no call"}
    told |= {'> note {"text": "so"}\n< kept\n': "has the codes"}
    for text, found in told.items():
        assert any(found in fault for fault in faults(row, **inserted(row, start, text))), text


def test_another_key_and_another_claim_are_found(rows: list[Row]) -> None:
    row = first(rows, "audit")
    claim = json.loads(row["metadata"])["latent"]["report"][0]
    assert faults(row, prompt=row["prompt"].replace(f"\n{claim}", f"\n{claim[:5]}It went well."))
    assert any("but the key is" in fault for fault in faults(row, target="C11", answers=["C11"]))


def test_naive_readers_score_as_little_as_promised(samples: dict[Stratum, list[Sample]]) -> None:
    most = {
        "state": {"last_value": (0.4, 0.1, 0.05), "no_errors": (0.4, 0.17, 0.15)},
        "which_call": {"first_set": (0.27,) * 3, "last_set": (0.27,) * 3},
        "constraint": {"last_rule": (0.27,) * 3, "first_rule": (0.36,) * 3, "last_of_user": (0.52, 0.02, 0.02)},
        "audit": {"all_claims": (0.45,) * 3},
        "resume": {"all_steps": (0.0,) * 3, "no_errors": (0.0,) * 3, "no_user": (0.0,) * 3},
        "rows": {"repeats_too": (0.02,) * 3, "like_query_too": (0.02,) * 3},
    }
    for cell, some in samples.items():
        place = TASKS["trace", cell.subtask].complexities.index(cell.complexity)
        told = [TASKS["trace", cell.subtask].baselines(sample, sample.key) for sample in some]
        for name, bounds in most[cell.subtask].items():
            assert fmean(each[name] for each in told) <= bounds[place], (str(cell), name)


def test_the_last_call_about_what_is_asked_changes_nothing_in_two_rows_of_three(
    samples: dict[Stratum, list[Sample]], plan: Plan
) -> None:
    for cell in (cell for cell in samples if cell.subtask == "state"):
        ends = Counter(sample.latent["dealt"]["end"][0] for sample in samples[cell])
        assert set(ends.values()) == {MANY // 3}


def test_the_form_of_a_result_does_not_tell_whether_its_call_is_needed(
    samples: dict[Stratum, list[Sample]], plan: Plan
) -> None:
    """Each tool answers in two forms: needed calls that work are answered in either as often as decoys that do."""
    forms = dict[tuple[str, str], Counter[str]]()
    for cell in (cell for cell in samples if cell.subtask in ("audit", "state", "which_call")):
        for index, sample in enumerate(samples[cell]):
            layout = TASKS["trace", cell.subtask].layout(sample, *row_streams(plan, cell, index))
            for (piece,) in (item.unit.pieces for item in layout.placed):
                for call in read(
                    f"\n\nTrace:\n{piece.text}This is the end of the trace.\n\nQuestion: What?\nAnswer:"
                ).calls:
                    if call.done and call.action in ("assign", "receive", "issue", "set", "copy", "reinstall", "book"):
                        form = re.sub(r"(?s)[a-z][2-9][a-z][2-9][a-z].*", "", call.result)
                        forms.setdefault((call.tool, piece.role), Counter())[form[:3] or call.result[:3]] += 1
    for (tool, role), counts in forms.items():
        both = [*counts.values()]
        assert len(both) <= 2, (tool, counts)
        assert abs(both[0] / sum(both) - 0.5) < 0.05, (tool, role, counts)


def test_needed_jobs_are_as_many_as_the_complexity_says(samples: dict[Stratum, list[Sample]]) -> None:
    for cell, some in samples.items():
        for sample in some:
            needed, size = sample.latent["needed"], cell.complexity
            wanted = {
                "state": {size, size + 1, 19, 21} if size == 20 else {size, size + 1},
                "which_call": {size + 1},
                "audit": {size - size // 8, size - size // 4, size - 3 * size // 8},
            }.get(cell.subtask, {size})
            assert needed in wanted or cell.subtask == "resume", str(cell)
            assert needed == len(sample.relevant), str(cell)


def test_depths_are_uniform_over_a_stratum(plan: Plan) -> None:
    """The order of what is needed is fixed where it matters: depths are uniform over all of them together."""
    for cell in (replace(cell, rows=24) for cell in cells()):
        wanted = list[float]()
        for index in range(cell.rows):
            own, shared = row_streams(plan, cell, index)
            sample = draw_sample(plan, RowPlan(cell, index, ""))
            layout = TASKS["trace", cell.subtask].layout(sample, own, shared)
            roles = [item.unit.pieces[0].role for item in layout.placed]
            wanted += [item.depth for item, role in zip(layout.placed, roles, strict=True) if role == "relevant"]
            assert [item.depth for item in layout.placed] == sorted(item.depth for item in layout.placed)
        if cell.subtask not in ("resume", "audit", "state"):
            each = len(wanted) // cell.rows
            assert set(Counter(int(depth * cell.rows) for depth in wanted).values()) == {each}, str(cell)
        assert 0.42 < fmean(wanted) < 0.58, str(cell)


def test_keys_are_spread(samples: dict[Stratum, list[Sample]]) -> None:
    for cell, some in samples.items():
        most = Counter(sample.key.target for sample in some).most_common(1)[0][1]
        assert most <= MANY * 0.15, str(cell)


def test_knobs_leave_out_what_they_say(tmp_path: Path) -> None:
    quiet = (("errors", 0.0), ("twins", 0))
    made = [
        Stratum("trace", "state", "32k", 4096, 1, 4, knobs=quiet),
        Stratum("trace", "constraint", "32k", 4096, 3, 4, knobs=(("injected", 0), *quiet)),
    ]
    small = make_plan(Recipe("trace", "0", 11, "32k", tuple(made)), ("o200k",), tmp_path)
    assert all(Stages(small, Inline).build())
    for row in (row for shard in small.all_shards() for row in read_rows(shard.path(small.out, "data"))):
        log = read(row["prompt"])
        assert all(call.done or call.staged for call in log.calls)
        names = json.loads(row["metadata"])["latent"]["names"]
        # a rule may refer on over three things, and the last rule may be about one more
        assert len(names) <= (4 if row["subtask"] == "constraint" else 3)
        if row["subtask"] == "constraint":
            assert not any(name in call.result for call in log.calls for name in names)


def test_verbose_tools_say_more_and_answers_stay_the_same(tmp_path: Path) -> None:
    wide = Stratum("trace", "constraint", "32k", 32768, 1, 1, knobs=(("density", "verbose"),))
    loud = make_plan(Recipe("trace", "0", 11, "32k", (wide,)), ("o200k",), tmp_path)
    assert all(Stages(loud, Inline).build())
    row = next(row for shard in loud.all_shards() for row in read_rows(shard.path(loud.out, "data")))
    calls = read(row["prompt"]).calls
    assert all("-- debug --" in call.result for call in calls)
    assert 800 < fmean(len(call.result) for call in calls) < 2000


def test_simulated_readers_are_right_when_they_see_all_and_seldom_when_they_see_one_call(rows: list[Row]) -> None:
    for subtask in SUBTASKS:
        own = [row for row in rows if row["subtask"] == subtask]
        scores = {
            name: fmean(score(row, READERS[name].replies(open_reading(row)) or "") for row in own)
            for name in ("all", "passage", "last-match", "no-context")
        }
        assert scores["all"] == 1
        assert max(scores["passage"], scores["last-match"]) <= (0.6 if subtask == "audit" else 0.5), subtask
        assert scores["no-context"] == (pytest.approx(0.4, abs=0.16) if subtask == "audit" else 0), subtask


def test_a_question_of_another_kind_is_no_question_of_a_trace() -> None:
    with pytest.raises(ValueError, match="no question"):
        asked_of("Who are you?")


def test_a_call_that_lacks_an_argument_is_a_fault_and_no_crash(rows: list[Row]) -> None:
    row = next(row for row in rows if row["subtask"] == "state" and "amount" in row["metadata"])
    name = json.loads(row["metadata"])["latent"]["names"][0]
    start = row["prompt"].find("\nTrace:\n") + len("\nTrace:\n")
    told = inserted(row, start, f'> stock {{"action": "issue", "note": "{name}"}}\n< posted (b2b2b)\n')
    assert any("no argument" in fault for fault in faults(row, **told))
