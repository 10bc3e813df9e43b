"""Tables that are asked for: their proof finds what is planted, cheap readers score little, depths are uniform."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import figures, score
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.streams import Streams
from pipeline.tasks import TASKS
from pipeline.tasks.base import Sample
from pipeline.tasks.tabulate import solve
from pipeline.verify.row import answer_faults, cell_place
from pipeline.worlds.survey import in_words, kinds, survey, wordings

SUBTASKS = ("extract", "sort", "rewrite")
ROWS, MANY = 4, 48


def cells(rows: int) -> list[Stratum]:
    return [Stratum("tabulate", name, "32k", 4096, 16, rows) for name in SUBTASKS]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    recipe = Recipe("tabulate", "0", 11, "32k", tuple(cells(ROWS)))
    made = make_plan(recipe, ("o200k",), tmp_path_factory.mktemp("tabulate"))
    assert all(Stages(made, Inline).build())
    return made


@pytest.fixture(scope="module")
def rows(plan: Plan) -> list[Row]:
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


@pytest.fixture(scope="module")
def samples(plan: Plan) -> dict[Stratum, list[Sample]]:
    """Samples of each cell at each complexity, of which nothing is packed."""
    wide = [replace(cell, rows=MANY, complexity=count) for cell in cells(MANY) for count in (16, 64, 256)]
    return {
        cell: [draw_sample(plan, RowPlan(cell, at, "")) for at in range(6 if cell.complexity > 16 else MANY)]
        for cell in wide
    }


def faults(row: Row, **changed: object) -> list[str]:
    """Return what the proof of a row finds wrong once it says something else."""
    told = {**row, **changed}
    digest = hashlib.sha256(str(told["prompt"]).encode()).hexdigest()
    told["metadata"] = json.dumps({**json.loads(row["metadata"]), "prompt_sha256": digest})
    cell = {cell_place(cell): cell for cell in cells(ROWS)}[
        row["family"], row["subtask"], row["length"], row["complexity"]
    ]
    return list(answer_faults(told, cell))


def of(rows: list[Row], *subtasks: str) -> list[Row]:
    return [row for row in rows if row["subtask"] in subtasks]


def body(row: Row) -> list[str]:
    """Return the notes or lines of a prompt."""
    lines, _ = (solve.read_log if row["subtask"] == "rewrite" else solve.read_notes)(row["prompt"])
    return lines.texts


def marked(row: Row, role: str) -> list[str]:
    return [row["prompt"][one["char_start"] : one["char_end"]] for one in row["needles"] if one["role"] == role]


def test_rows_are_proven(rows: list[Row]) -> None:
    assert [faults(row) for row in rows] == [[]] * len(rows)


@pytest.mark.parametrize("role", ["relevant", "decoy"])
def test_a_line_that_is_missing_is_found(rows: list[Row], role: str) -> None:
    for row in rows:
        assert faults(row, prompt=row["prompt"].replace(marked(row, role)[3], "", 1))


def test_a_key_with_another_row_or_a_row_twice_is_found(rows: list[Row]) -> None:
    for row in rows:
        head, first, second, *rest = row["target"].split("\n")
        for table in ([head, first, first, *rest], [head, second, first, *rest], [head, first, *rest]):
            target = "\n".join(table)
            assert faults(row, target=target, answers=[target])


def test_filler_that_names_what_is_asked_is_found(rows: list[Row]) -> None:
    for row in of(rows, "extract", "sort"):
        asked, (_, notes) = solve.asked_of_notes(row["prompt"]), solve.read_notes(row["prompt"])
        known = {*marked(row, "relevant"), *marked(row, "decoy")}
        at = next(at for at, line in enumerate(body(row)) if f"{line}\n" not in known and not notes[at].mentioned)
        line = body(row)[at]
        for changed in (line.replace(notes[at].region, asked.region), f"{line} {asked.region} once laid claim to it."):
            assert faults(row, prompt=row["prompt"].replace(line, changed))


def test_a_rule_or_exception_that_is_changed_changes_the_answer(rows: list[Row]) -> None:
    for row in of(rows, "rewrite"):
        rules = re.findall(r"^[1-5]\. (.+)$", row["prompt"], re.MULTILINE)
        assert len(rules) == 5
        for rule in rules[3:]:
            other = rule.replace(" the units ", " the units of ")
            prompt = row["prompt"].replace(rule, other)
            told = rule.split(" the ")[1]
            assert faults(row, prompt=prompt), told
        assert faults(row, prompt=row["prompt"].replace(rules[0], "The time stays."))


def test_every_wording_of_a_note_is_read() -> None:
    world = survey(Streams((11,)), "32k")
    lines = list(world.texts())
    notes = solve.notes_of([line.rstrip("\n") for line in lines])
    by_kind, by_region, _, _ = (one.tolist() for one in world.stated)
    known = [*kinds()]
    assert [(one.kind, one.region) for one in notes] == [
        (known[kind], world.regions[region]) for kind, region in zip(by_kind, by_region, strict=True)
    ]
    for name in wordings():
        for wording in wordings()[name] if name not in ("kind", "ending") else ():
            fixed = max(re.split(r"\{\w+\}|\ban?$", wording), key=len).strip()
            assert any(fixed in line for line in lines), wording
    assert [solve._number(in_words(number)) for number in range(101, 1000)] == [*range(101, 1000)]


def written(row: Row, takes: Callable[[str], object]) -> float:
    """Return the score of who takes all notes of some sort for what is asked, and reads each of them right."""
    _, notes = solve.read_notes(row["prompt"])
    found = [one.row for line, one in zip(body(row), notes, strict=True) if takes(line)]
    return score(row, "\n".join([row["target"].split("\n")[0], *found]))


def test_words_alone_do_not_tell_what_is_asked(rows: list[Row]) -> None:
    for row in of(rows, "extract"):
        asked, (_, notes) = solve.asked_of_notes(row["prompt"]), solve.read_notes(row["prompt"])
        names = {one.region for one in notes}
        words = {word: kind for kind, plural in kinds().items() for word in (kind, plural)}

        def first(line: str, some: Iterable[str]) -> str:
            return min((word for word in some if word in line), key=line.index)

        both = written(row, lambda line: asked.region in line and (asked.kind in line or kinds()[asked.kind] in line))  # noqa: B023
        of_kind = written(row, lambda line: asked.kind in line or kinds()[asked.kind] in line)  # noqa: B023
        led = written(row, lambda line: (first(line, names), words[first(line, words)]) == (asked.region, asked.kind))  # noqa: B023
        assert both == pytest.approx(8 / 13)  # ten of sixteen decoys of each sort name both
        assert of_kind < 2 / 3
        assert led < 0.8


def test_lines_that_name_the_host_are_twice_as_many(rows: list[Row]) -> None:
    for row in of(rows, "rewrite"):
        host, form = solve.host_asked(row["prompt"]), solve.form_of(row["prompt"])
        _, logged = solve.read_log(row["prompt"])
        head, *_ = row["target"].split("\n")
        named = [line.partition('"')[2].rstrip('"') or line for line in body(row) if f" {host} " in line]
        told = [form.row(solve.read_line(line)) for line in named]
        assert score(row, "\n".join([head, *told])) == pytest.approx(2 / 3, abs=0.05)
        plain = form._replace(spared={})
        assert score(row, "\n".join([head, *(plain.row(one) for one in logged if one.host == host)])) < 0.8


def test_who_stops_after_64_rows_loses_most_of_256(samples: dict[Stratum, list[Sample]]) -> None:
    for cell, some in samples.items():
        for sample in some[:4]:
            row = {"scorer": "rows", "subtask": cell.subtask, "target": sample.key.target}
            head, *table = sample.key.target.split("\n")
            assert len(table) == cell.complexity
            reached = figures(row, "\n".join([head, *table[:64]]))
            assert reached["precision"] == 1.0
            assert reached["written"] == min(1.0, 64 / cell.complexity)
            if cell.complexity == 256:
                assert score(row, "\n".join([head, *table[:64]])) <= 0.42
                assert [reached[f"tenth {place}"] for place in (1, 2, 4, 10)] == [1.0, 1.0, 0.0, 0.0]


def test_rows_are_sorted_by_cost_and_no_two_cost_the_same(samples: dict[Stratum, list[Sample]]) -> None:
    ways = Counter[bool]()
    for cell, some in samples.items():
        for sample in some if cell.subtask == "sort" else ():
            costs = [int(line.rpartition("\t")[2]) for line in sample.key.target.split("\n")[1:]]
            falls = sample.question.endswith("the highest first.")
            assert costs == sorted({*costs}, reverse=falls)
            ways[falls] += cell.complexity == 16
            assert sample.latent["guesses"]["text_order"] < 0.7
    assert ways[True] == ways[False] == MANY // 2


def test_no_question_is_asked_twice(samples: dict[Stratum, list[Sample]]) -> None:
    for name in SUBTASKS:
        asked = [sample.question for cell, some in samples.items() if cell.subtask == name for sample in some]
        assert len({*asked}) == len(asked)


def test_depths_are_uniform_over_a_stratum(plan: Plan) -> None:
    for cell in cells(MANY):
        found = []
        for index in range(MANY):
            own, shared = row_streams(plan, cell, index)
            layout = TASKS["tabulate", cell.subtask].layout(draw_sample(plan, RowPlan(cell, index, "")), own, shared)
            found += [item.depth for item in layout.placed if item.unit.pieces[0].role == "relevant"]
            assert [item.depth for item in layout.placed] == sorted(item.depth for item in layout.placed)
        parts = Counter(int(depth * MANY) for depth in found)
        assert len(found) == 16 * MANY
        if cell.subtask == "rewrite":  # beside lines of the log, of which some are the last of one part of it
            assert all(abs(count - 16) <= 4 for count in parts.values())
        else:
            assert parts == dict.fromkeys(range(MANY), 16)


def test_readers_are_as_weak_as_they_say(rows: list[Row]) -> None:
    for row in rows:
        said = {name: score(row, reader.replies(open_reading(row)) or "") for name, reader in READERS.items()}
        assert said["all"] == said["last32k"] == 1.0
        assert said["no-context"] == 0.0
        assert 0.3 < said["half-name"] <= 0.7
        assert said["last-match"] <= 0.2


def test_the_room_grows_with_the_rows() -> None:
    for name in SUBTASKS:
        task = TASKS["tabulate", name]
        rooms = [
            task.max_new_tokens_of(Stratum("tabulate", name, "32k", 8192, count, 1)) for count in task.complexities
        ]
        assert rooms == [512, 2048, 8192]
    route = TASKS["graph", "route"]
    rooms = [route.max_new_tokens_of(Stratum("graph", "route", "32k", 8192, count, 1)) for count in route.complexities]
    assert rooms == [1024, 1024, 1024, 4096, 8192]
