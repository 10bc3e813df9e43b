"""RULER and HELMET read rows of `recall` under their own names: fields, files and graders by their definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import builds
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.export import EXPORTS, export
from pipeline.export.helmet import ROOM, line_of
from pipeline.export.upstream_names import HELMET_ICL, NAMES, Names, names_of
from pipeline.profiles import load_profile
from pipeline.recipe import load_recipe
from pipeline.rows import Row
from pipeline.tasks import TASKS

NEEDLE = (
    "{type_needle_v} hidden. Memorize it. I will ask about the {type_needle_v} afterwards.\n{context}\n"
    "Which {type_needle_v} for {query} is in the text?\nThe {type_needle_v} for {query} in the text is"
)
PAIR = "{context}\n\nExtract the value of the key in the object below.\n\n{shown}Key: {question}\nCorresponding value:"
"""What HELMET fills into its templates of these data sets, in as many words."""
RULER_TASKS = {
    *("niah_single_1", "niah_single_2", "niah_single_3", "niah_multikey_1", "niah_multikey_2", "niah_multikey_3"),
    *("niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe", "qa_1", "qa_2"),
}
"""The names in RULER's synthetic.yaml."""
HELMET_FILES = {
    "json_kv": "data/32k/json_kv/test_k50_dep6.jsonl",
    "ruler_niah_mk_2": "data/32k/ruler/niah_multikey_2/validation_4096.jsonl",
    "ruler_niah_mk_3": "data/32k/ruler/niah_multikey_3/validation_4096.jsonl",
    "ruler_niah_mv": "data/32k/ruler/niah_multivalue/validation_4096.jsonl",
}
"""Files of the category Recall at 4,096 tokens."""

ADDED = ("bursts", "decoys", "distractors", "near", "twins")
"""Knobs for what RULER does not have: 0 is none."""
QUESTIONS = 'knobs = { decoys = 0, negatives = "random" }'
STRATUM = """
[[strata]]
family = "{family}"
subtasks = {subtasks}
complexity = [{complexity}]
lengths = [{length}]
rows = 2
{more}
"""


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """Two rows of every task that has a name elsewhere, and some that are no tasks of RULER or HELMET."""
    there = {name: one for (family, name), one in NAMES.items() if family == "recall"}
    cells = [
        ("recall", sorted(one for one in there if there[one].complexity == n), n, 4096, "") for n in (1, 3, 4, 5, 10)
    ]
    cells += [("recall", ["niah_mv"], 2, 4096, ""), ("recall", ["json_kv"], 1, 8192, 'knobs = { asks = "key" }')]
    cells += [("rag", ["single"], 1, 4096, QUESTIONS), ("rag", ["bridge"], 2, 4096, QUESTIONS)]
    cells += [("rag", ["single"], 1, 8192, ""), ("rag", ["bridge"], 3, 4096, QUESTIONS)]
    top = 'release = "named"\nversion = "1"\nseed = 3\ntier = "32k"\n'
    tables = [
        STRATUM.format(family=family, subtasks=json.dumps(names), complexity=n, length=length, more=more)
        for family, names, n, length, more in cells
    ]
    out = tmp_path_factory.mktemp("named")
    (out / "recipe.toml").write_text(top + "".join(tables), encoding="ascii")
    assert all(builds.stages(out / "recipe.toml", out / "built").build())
    return open_split(out / "built" / "o200k")


@pytest.fixture(scope="module")
def rows(split: Split) -> dict[str, Row]:
    return {row["id"]: row for row in split.rows()}


@pytest.fixture(scope="module")
def ruler(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ruler") / "out"
    export(EXPORTS["ruler"], split, Selection(), out)
    return out


@pytest.fixture(scope="module")
def helmet(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("helmet") / "out"
    export(EXPORTS["helmet"], split, Selection(), out)
    return out


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def told_by(folder: Path) -> Iterator[tuple[str, str, int, list[Any], int]]:
    """Yield what HELMET reads of the configurations: data set, file, most tokens, lines, demonstrations."""
    for config in sorted(folder.glob("configs/*.yaml")):
        found = yaml.safe_load(config.read_text())
        columns = [found[name].split(",") for name in ("datasets", "test_files", "input_max_length")]
        for dataset, file, most in zip(*columns, strict=True):
            name = file.removeprefix("carrara/")
            yield dataset, name, int(most), lines(folder / name), found["shots"]


def test_every_task_of_the_harnesses_has_a_name() -> None:
    assert {one.ruler for one in NAMES.values()} - {""} == RULER_TASKS
    for name, one in NAMES.items():
        assert one.complexity in TASKS[name].complexities


def test_only_rows_with_the_numbers_of_a_harness_have_its_names(rows: dict[str, Row]) -> None:
    for row in rows.values():
        own = names_of(row)
        known, is_other = NAMES[row["family"], row["subtask"]], row["length"] == 8192
        if row["complexity"] == known.complexity and not is_other:
            assert own == known
        else:
            assert (own.ruler, own.helmet) == ("", "")
    bio = {"family": "bio", "subtask": "standard", "complexity": 1, "metadata": "{}"}
    assert names_of(bio) == Names(1)
    changed = next(row for row in rows.values() if row["subtask"] == "niah_s2") | {"subtask": "fwe", "complexity": 3}
    assert names_of(changed | {"metadata": '{"knobs": {"alpha": 2.0}}'}).ruler == "fwe"
    assert names_of(changed | {"metadata": '{"knobs": {"alpha": 1.5}}'}).ruler == ""


def test_rows_with_labels_are_left_out_by_the_name_of_helmets_data_set() -> None:
    assert {*HELMET_ICL} == {*TASKS["icl", "intents"].complexities}
    for count, name in HELMET_ICL.items():
        row = {"family": "icl", "subtask": "intents", "complexity": count, "messages": None, "scorer": "label"}
        assert name in str(line_of(row))
    bio = {"family": "bio", "subtask": "icl", "complexity": 1, "messages": None, "scorer": "label"}
    assert "a number is wanted" in str(line_of(bio))


def test_ruler_finds_its_tasks_and_its_rule_grades_the_key_100(ruler: Path, rows: dict[str, Row]) -> None:
    rules = json.loads((ruler / "scripts/eval/carrara/tasks.json").read_text())
    limits = json.loads((ruler / "scripts/data/carrara/tasks.json").read_text())
    seen = set()
    for path in sorted(ruler.glob("data/32k-*/*/validation.jsonl")):
        task, told = path.parent.name, lines(path)
        seen.add(task)
        some = ("recall_json_kv", "qa_1", "qa_2", "rag_single", "rag_bridge")
        assert rules[task] == ("string_match_part" if task in some else "string_match_all")
        for line in told:
            row = rows[line["others"]["id"]]
            assert line["input"] + line["answer_prefix"] == row["prompt"]
            assert limits[task]["tokens_to_generate"] == row["max_new_tokens"]
            every = row["answers"] if row["family"] == "rag" else row["target"].split(", ")
            assert sorted(line["outputs"]) == sorted(every)
            holds = any if row["family"] == "rag" else all
            assert holds(ref.lower() in row["target"].lower() for ref in line["outputs"])
            assert names_of(row).ruler in ("", task)
    assert {name for name in seen if not name.startswith(("recall_", "rag_"))} == {
        names_of(row).ruler for row in rows.values()
    } - {""}


def test_helmet_reads_its_own_data_sets(helmet: Path, rows: dict[str, Row]) -> None:
    counter, files = load_profile("o200k").counter(), dict[str, str]()
    for dataset, file, most, told, shots in told_by(helmet):
        for line in told:
            row = rows[line["id"]]
            if names_of(row).helmet != dataset:
                assert dataset in ("ruler_qa_1", "ruler_niah_mv")
                continue
            files[dataset] = file
            assert shots == 2
            assert line["context"] in row["prompt"]
            assert row["prompt"].index(line["context"]) + len(line["context"]) == row["question_start"]
            if dataset == "json_kv":
                sent = _pair(line)
            else:
                sent = NEEDLE.format(**line)
                _needles(line, row)
            assert counter.count(sent) + row["max_new_tokens"] + 100 <= most == row["context_tokens"] + ROOM
    assert files.items() >= HELMET_FILES.items()
    assert {*files} == {names_of(row).helmet for row in rows.values()} - {""}


def _pair(line: Any) -> str:
    body = json.loads(line["context"].removeprefix("JSON object:\n"))
    assert len(body) == line["num_kvs"]
    assert body[line["question"]] == line["answer"]
    assert len(line["demos"]) == 2
    assert all(body[key] == value and key != line["question"] for key, value in line["demos"])
    shown = "".join(f"Key: {key}\nCorresponding value: {value}\n\n" for key, value in line["demos"])
    return PAIR.format(**line, shown=shown)


def _needles(line: Any, row: Row) -> None:
    """Look the answers up in the context alone, by the keys of the query."""
    keys = re.split(r", and |, ", line["query"])
    found = [
        value
        for key in keys
        for value in re.findall(
            rf"^(?:The|One) access code filed under {key} is (\S+)\.$", line["context"], re.MULTILINE
        )
    ]
    assert sorted(found) == sorted(line["outputs"]) == sorted(row["target"].split(", "))
    assert line["type_needle_v"] == ("access code" if len(found) == 1 else "access codes")
    assert len(keys) == (len(found) if row["subtask"] == "niah_mq" else 1)


def test_the_recipe_asks_every_task_of_ruler_with_its_numbers() -> None:
    recipe = load_recipe("ruler")
    assert {(cell.family, cell.subtask, cell.complexity) for cell in recipe.strata} == {
        (*name, one.complexity) for name, one in NAMES.items() if one.ruler
    }
    assert {cell.length for cell in recipe.strata} == {4096, 8192, 16384, 32768, 65536, 131072}
    assert {(cell.rows, cell.rows * cell.full) for cell in recipe.strata} == {(25, 500)}
    for cell in recipe.strata:
        added = {name: value for name, value in cell.knobs if name in ADDED}
        assert added == {name: 0 for name in TASKS[cell.family, cell.subtask].knobs if name in ADDED}
        metadata = json.dumps({"knobs": dict(cell.knobs)})
        row = {"family": cell.family, "subtask": cell.subtask, "complexity": cell.complexity, "metadata": metadata}
        assert names_of(row).ruler
