"""Questions about code: their proof finds what is planted, naive readers score little, and knobs do what they say."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
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
from pipeline.tasks.code.base import plan_row
from pipeline.tasks.code.log import commits_in_effect, read_commit, read_log
from pipeline.tasks.code.reading import read
from pipeline.tasks.solving import ReadError
from pipeline.verify.row import answer_faults, cell_place

SUBTASKS = ("find", "call", "callers", "changed")
ROWS, MANY = 2, 30
FILES, COMMITS = "\nFiles:\n", "\nCommits:\n"


def cells(rows: int = ROWS) -> list[Stratum]:
    every = [replace(cell, rows=rows) for name in SUBTASKS for cell in TASKS["code", name].golden()]
    return every if rows > ROWS else [cell for cell in every if cell.length < 16384]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    made = make_plan(Recipe("code", "0", 11, "32k", tuple(cells())), ("o200k",), tmp_path_factory.mktemp("code"))
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
    place = (row["family"], row["subtask"], row["length"], row["complexity"])
    return answer_faults(told, next(cell for cell in cells() if cell_place(cell) == place))


def last(rows: list[Row], subtask: str) -> Row:
    return next(row for row in reversed(rows) if row["subtask"] == subtask)


def changed_at(row: Row, at: int, text: str, instead: str = "") -> dict[str, object]:
    """Return the columns of a row in whose prompt a text is put in, or in place of another."""
    moved = len(text) - len(instead)
    needles = [
        {
            **n,
            **{name: n[name] + moved * (n[name] >= at + (name == "char_end")) for name in ("char_start", "char_end")},
        }
        for n in row["needles"]
    ]
    prompt = row["prompt"][:at] + text + row["prompt"][at + len(instead) :]
    return {"prompt": prompt, "needles": needles, "question_start": row["question_start"] + moved}


def put_in(row: Row, text: str) -> dict[str, object]:
    """Return the columns of a row with another file or commit in front."""
    opening = COMMITS if row["subtask"] == "changed" else FILES
    return changed_at(row, row["prompt"].find(opening) + len(opening), text)


def marked(row: Row, role: str) -> list[str]:
    return [row["prompt"][n["char_start"] : n["char_end"]] for n in row["needles"] if n["role"] == role]


def test_rows_are_proven(rows: list[Row]) -> None:
    assert {row["subtask"] for row in rows} == {*SUBTASKS}
    for row in rows[::3]:
        assert faults(row) == []


def test_a_needed_file_that_is_marked_as_a_decoy_is_found_and_the_other_way_round(rows: list[Row]) -> None:
    for subtask in SUBTASKS:
        row = last(rows, subtask)
        for role, other in (("relevant", "decoy"), ("decoy", "relevant")):
            at = next(at for at, needle in enumerate(row["needles"]) if needle["role"] == role)
            needles = [{**n, "role": other if at == number else n["role"]} for number, n in enumerate(row["needles"])]
            assert any(f"marked as {other}" in fault for fault in faults(row, needles=needles)), (subtask, role)


def test_two_functions_of_one_behaviour_are_found(rows: list[Row]) -> None:
    row = last(rows, "find")
    own = marked(row, "relevant")[0]
    again = re.sub(r"==> \w+/", "==> otherpackage/", own, count=1).replace(row["target"], "quite_other_name")
    assert any("2 functions do what is described" in fault for fault in faults(row, **put_in(row, again)))


def test_a_shadowing_alias_is_found(rows: list[Row]) -> None:
    row, own, line = next(
        (row, text, line)
        for row in rows
        if row["subtask"] == "call"
        for text in marked(row, "relevant")
        for line in text.split("\n")
        if "\ndef " in text and line.startswith("from ") and "," not in line
    )
    alias, at = line.split()[-1], row["prompt"].find(own)
    again = changed_at(row, at + own.find(line), f"{line}\nfrom other.place import thing as {alias}", line)
    assert any("stands for two things" in fault for fault in faults(row, **again))
    given = re.search(r"def \w+\((\w+):", own)
    assert given
    assert faults(row, **changed_at(row, at, re.sub(rf"\b{given[1]}\b", alias, own), own))


def test_an_import_that_leads_nowhere_and_a_file_twice_are_found(rows: list[Row]) -> None:
    row = last(rows, "find")
    stray = "==> straypackage/one.py <==\nfrom straypackage.two import thing\n\nMOST = thing\n"
    assert any("which is not there" in fault for fault in faults(row, **put_in(row, stray)))
    assert any("two files" in fault for fault in faults(row, **put_in(row, marked(row, "decoy")[0])))


def test_another_value_on_the_way_is_found(rows: list[Row]) -> None:
    row = next(row for row in rows if row["subtask"] == "call" and row["complexity"] > 1)
    name = json.loads(row["metadata"])["latent"]["path"][-1].split(".")[-1]
    own = next(text for text in marked(row, "relevant") if f"def {name}(" in text)
    other = changed_at(row, row["prompt"].find(own), own.replace("return ", "return 1000 + "), own)
    assert any("but the key" in fault for fault in faults(row, **other))


def test_a_caller_that_is_not_marked_is_found(rows: list[Row]) -> None:
    row = last(rows, "callers")
    module, name = re.findall(r"call ([\w.]+)\.(\w+),", row["question"])[0]
    stray = f"==> straypackage/one.py <==\nfrom {module} import {name}\n\n\ndef new_caller(n: int) -> int:\n"
    found = faults(row, **put_in(row, f"{stray}    return {name}(n)\n"))
    assert any("but the key" in fault for fault in found)
    assert any("not marked, but names" in fault for fault in found)


def followed(rows: list[Row]) -> Iterator[tuple[Row, str, re.Match[str]]]:
    """Yield commits that are needed and set a constant to what a later commit changes, with the line that does."""
    for row in (row for row in rows if row["subtask"] == "changed"):
        for own in marked(row, "relevant"):
            line = re.search(r"^\+([A-Z_]+ = (\d+))$", own, re.MULTILINE)
            if line and f"\n-{line[1]}\n" in row["prompt"].partition(own)[2]:
                yield row, own, line


def test_what_a_log_must_not_hold_is_found(rows: list[Row]) -> None:
    row, own, line = next(followed(rows))
    first = read_log(row["prompt"]).commits[0].text
    at = row["prompt"].find(own) + line.start(2)
    assert any("the same code" in fault for fault in faults(row, **put_in(row, first)))
    assert any("which it is not" in fault for fault in faults(row, **changed_at(row, at, f"{line[2]}5", line[2])))
    assert any("no commit" in fault or "lines" in fault for fault in faults(row, **put_in(row, f"{first} more\n")))
    strange = re.sub(r"commit \w{10}", "commit 0123456789", own, count=1)
    assert any("not marked, but names" in fault for fault in faults(row, **put_in(row, strange)))


def test_hunks_of_a_file_show_the_same_lines_at_the_same_place(plan: Plan, rows: list[Row]) -> None:
    logs = [read_log(row["prompt"]).commits for row in rows if row["subtask"] == "changed"]
    for cell in (cell for cell in cells(MANY) if cell.subtask == "changed"):
        for index in range(MANY):
            files = plan_row(TASKS["code", "changed"], cell, index, *row_streams(plan, cell, index)).files
            logs.append([*map(read_commit, re.split("(?m)^(?=commit )", "".join(one.text for one in files))[1:])])
    for log in logs:
        seen = dict[tuple[str, int], str]()
        for commit in log:
            header, *hunk = commit.text.partition("@@ -")[2].splitlines()
            first = int(re.split("[ ,]", header)[0])
            for sign in "-+":
                for at, line in enumerate((line for line in hunk if line[0] in (" ", sign)), start=first):
                    assert sign == "+" or seen.get((commit.path, at), line[1:]) == line[1:], (commit.path, at)
                    seen[commit.path, at] = line[1:]


def test_a_log_is_a_stack_of_what_stands() -> None:
    def log(*steps: str) -> list[str]:
        commits = [step.partition("-")[::2] for step in steps]
        text = "".join(
            f"commit {code * 10}\nAuthor: A B\n\n    change\n"
            + (f"\n    This reverts commit {back * 10}.\n" if back else "")
            + "\n--- a/p/m.py\n+++ b/p/m.py\n@@ -1,1 +1,1 @@\n-ONE_A = 1\n+ONE_A = 2\n"
            for code, back in commits
        )
        asked = "Which commit gave ONE_A in p/m.py the value that it has at the end of the log?"
        prompt = f"Read.{COMMITS}{text}This is the end of the log. Reply.\n\nQuestion: {asked}\nAnswer:"
        return [code[0] for code in commits_in_effect(read_log(prompt).commits)]

    assert log("1", "2") == ["1", "2"]
    assert log("1", "2", "3-2") == ["1"]
    assert log("1", "2", "3-2", "4-3") == ["1", "2"]
    assert log("1", "2", "3-2", "4-3", "5-4") == ["1"]
    assert log("1", "2", "3-2", "4-3", "5-2", "6", "7-6") == ["1"]
    for wrong in (("1", "2", "3-1"), ("1", "2-7"), ("1", "2-1")):
        with pytest.raises(ReadError):
            log(*wrong)


def test_naive_readers_score_as_little_as_promised(samples: dict[Stratum, list[Sample]]) -> None:
    third = (0.36,) * 3
    most = {
        "find": {"any_like_it": (0.12,) * 2},
        "call": {"first_of_the_name": (0.36, 0.0625, 0.02)},
        "callers": {"grep": (0.55,) * 3, "any_of_the_name": (0.51,) * 3},
        "changed": {
            "last_named": (0.0,) * 3,
            "last_set": third,
            "last_of_the_value": third,
            "first_of_the_value": third,
            "never_reverted": third,
        },
    }
    for cell, some in samples.items():
        place = TASKS["code", cell.subtask].complexities.index(cell.complexity)
        told = [TASKS["code", cell.subtask].baselines(sample, sample.key) for sample in some]
        for name, bounds in most[cell.subtask].items():
            assert fmean(each[name] for each in told) <= bounds[place], (str(cell), name)


def test_as_many_functions_and_commits_are_needed_as_the_complexity_says(samples: dict[Stratum, list[Sample]]) -> None:
    for cell, some in samples.items():
        for sample in some:
            size = cell.complexity
            if cell.subtask == "changed":
                assert len(sample.relevant) in ({19, 21} if size == 20 else {size})
            elif cell.subtask == "call":
                assert len(sample.latent["path"]) == size
                assert sum("/__init__.py" not in text for text in sample.relevant) == size
            elif cell.subtask == "callers":
                assert len(sample.key.target.split(", ")) == size
            else:
                assert len(sample.latent["steps"]) == size


def test_keys_are_spread(samples: dict[Stratum, list[Sample]]) -> None:
    for cell, some in samples.items():
        assert Counter(sample.key.target for sample in some).most_common(1)[0][1] <= MANY * 0.16, str(cell)


def test_depths_are_uniform_over_a_stratum(plan: Plan) -> None:
    for cell in (replace(cell, rows=15) for cell in cells()):
        wanted = list[float]()
        for index in range(cell.rows):
            layout = TASKS["code", cell.subtask].layout(
                draw_sample(plan, RowPlan(cell, index, "")), *row_streams(plan, cell, index)
            )
            wanted += [item.depth for item in layout.placed if item.unit.pieces[0].role == "relevant"]
        assert 0.42 < fmean(wanted) < 0.58, str(cell)


def test_simulated_readers_are_right_when_they_see_all_and_seldom_when_they_go_by_names(rows: list[Row]) -> None:
    for row in rows:
        scores = {
            name: score(row, READERS[name].replies(open_reading(row)) or "")
            for name in ("all", "half-name", "no-context")
        }
        assert scores["all"] == 1
        assert scores["no-context"] == 0
        assert scores["half-name"] < 1 or row["subtask"] in ("find", "call")


def test_knobs_do_what_they_say(tmp_path: Path) -> None:
    def cell(subtask: str, complexity: int, **knobs: object) -> Stratum:
        return Stratum("code", subtask, "32k", 8192, complexity, 2, knobs=tuple(knobs.items()))

    made = [cell("find", 3, near=0), cell("find", 5, near=4, docs="misleading"), cell("callers", 4, within=2)]
    small = make_plan(Recipe("code", "0", 11, "32k", tuple(made)), ("o200k",), tmp_path)
    assert all(Stages(small, Inline).build())
    for row in (row for shard in small.all_shards() for row in read_rows(shard.path(small.out, "data"))):
        files, told = read(row["prompt"]).files.values(), json.loads(row["metadata"])["latent"]
        if row["subtask"] == "find":
            assert len(row["needles"]) == (1 if row["complexity"] == 3 else 5)
            nodes = [file.functions[told["names"][0]] for file in files if told["names"][0] in file.functions]
            assert [bool(ast.get_docstring(node)) for node in nodes] == [row["complexity"] == 5]
        else:
            assert "or call a function that calls it" in row["question"]
            named = [file for file in files if told["name"] in file.text]
            callers = [name for name in row["target"].split(", ") if any(name in file.functions for file in named)]
            assert len(callers) < len(row["target"].split(", ")) == 4
