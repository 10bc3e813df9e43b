"""The exports that harnesses read as files: every row is there or named, byte for byte, in the shape that is read."""

from __future__ import annotations

import csv
import json
import re
import sys
import types
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest
import yaml

import builds
from pipeline import metrics
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.cli import cli
from pipeline.errors import ExportError
from pipeline.export import EXPORTS, export, openai_batch
from pipeline.export.common import TURNS
from pipeline.export.helmet import ROOM
from pipeline.export.helmet_lines import WORDS_SHARE
from pipeline.export.openai_batch import for_model
from pipeline.export.upstream_names import HELMET_RANKING, names_of
from pipeline.export.wanted import wanted_strings
from pipeline.profiles import load_profile
from pipeline.rows import Row
from pipeline.tasks import TASKS

STRUCTURED = ("helmet", "ruler", "openai-mrcr", "mrcr-v2", "longbio", "openai-batch")


@pytest.fixture(scope="module")
def made(split: Split, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("exports")
    for name in STRUCTURED:
        export(EXPORTS[name], split, Selection(), out / name)
    return {name: out / name for name in STRUCTURED}


@pytest.fixture(scope="module")
def rows(split: Split) -> dict[str, Row]:
    return {row["id"]: row for row in split.rows()}


def left_out(folder: Path) -> dict[str, str]:
    path = folder / "left_out.tsv"
    return dict(line.split("\t") for line in path.read_text().splitlines()) if path.exists() else {}


def lines(folder: Path, glob: str) -> Iterator[tuple[Path, Any]]:
    for path in sorted(folder.glob(glob)):
        for line in path.read_text(encoding="ascii").splitlines():
            yield path, json.loads(line)


def ids(name: str, folder: Path) -> list[str]:
    """Return the ids of an export's rows, read from its files alone."""
    if name == "helmet":
        return [line["id"] for _, line in lines(folder, "data/**/*.jsonl")]
    if name == "ruler":
        return [line["others"]["id"] for _, line in lines(folder, "data/*/*/validation.jsonl")]
    if name == "openai-batch":
        return [line["custom_id"] for _, line in lines(folder, "batch-*.jsonl")]
    if name == "longbio":
        return [record["id"] for path in sorted(folder.rglob("data_*.json")) for record in json.loads(path.read_text())]
    if name == "openai-mrcr":
        return [row["id"] for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    return [row["id"] for row in of_csv(folder)]


def of_csv(folder: Path) -> list[dict[str, str]]:
    csv.field_size_limit(sys.maxsize)
    found = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="ascii") as file:
            found += list(csv.DictReader(file))
    return found


@pytest.mark.parametrize("name", STRUCTURED)
def test_every_row_is_there_once_or_left_out_by_name(name: str, made: dict[str, Path], rows: dict[str, Row]) -> None:
    there, left = ids(name, made[name]), left_out(made[name])
    assert Counter(there) + Counter(left.keys()) == Counter(dict.fromkeys(rows, 1))
    assert there
    turns = {row_id for row_id, row in rows.items() if row["messages"] is not None}
    if name == "mrcr-v2":  # which has no place for other families in any case
        turns = {row_id for row_id in turns if rows[row_id]["family"] == "mrcr"}
    if name in ("helmet", "ruler", "mrcr-v2"):
        assert {row_id for row_id, reason in left.items() if reason == TURNS} == turns


@pytest.mark.parametrize("name", STRUCTURED)
def test_the_readme_says_how_to_run_it_and_what_is_missing(name: str, made: dict[str, Path]) -> None:
    text = (made[name] / "README.md").read_text(encoding="ascii")
    for reason, count in Counter(left_out(made[name]).values()).items():
        assert f"- {count} row{'s' * (count > 1)}: {reason}" in text
    assert "## Run" in text
    assert ("4608" if name == "longbio" else "8192") in text, "the length to set: LongBio has no row of 8K here"
    assert re.search(r"truncates\s+nothing|is truncated|cuts no prompt|loses the end|not cut prompts", text)


@pytest.mark.parametrize("name", STRUCTURED)
def test_the_same_rows_give_the_same_bytes_and_a_limit_gives_fewer(
    name: str, split: Split, made: dict[str, Path], tmp_path: Path, rows: dict[str, Row]
) -> None:
    export(EXPORTS[name], split, Selection(), tmp_path / "again")
    for path in sorted(made[name].rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "again" / path.relative_to(made[name])).read_bytes(), path
    export(EXPORTS[name], split, Selection(limit=1, tiers=("32k",)), tmp_path / "few")
    strata = Counter(
        tuple(rows[one][part] for part in ("family", "subtask", "length", "complexity"))
        for one in ids(name, tmp_path / "few")
    )
    assert set(strata.values()) == {1}


@pytest.mark.parametrize("name", STRUCTURED)
def test_a_split_without_keys_is_refused_but_for_requests(
    name: str, split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.parquet"
    pq.write_table(pq.read_table(split.shards()[0]).drop_columns(["target", "answers", "needles"]), bare)
    monkeypatch.setattr(Split, "shards", lambda *_: [bare])
    if name == "openai-batch":
        assert export(EXPORTS[name], split, Selection(), tmp_path / "out").rows
    else:
        with pytest.raises(ExportError, match="withheld"):
            export(EXPORTS[name], split, Selection(), tmp_path / "out")
        assert not (tmp_path / "out").exists()


WORDS = "word " * 150
"""More words of its own than HELMET sets around a row."""
HELMET = {
    "ruler_qa_1": WORDS + "{context}\n\nQuestion: {question}\nAnswer:",
    "ruler_niah_mv": WORDS + "{type_needle_v}\n{context}\n{type_needle_v} {query}\n{type_needle_v} {query}",
}
"""What HELMET fills into its templates of the two data sets, and how often."""


def test_helmet_finds_every_file_and_cuts_no_context(made: dict[str, Path], rows: dict[str, Row]) -> None:
    folder, counter, seen = made["helmet"], load_profile("o200k").counter(), 0
    for config in sorted(folder.glob("configs/*.yaml")):
        found = yaml.safe_load(config.read_text())
        lists = {name: value.split(",") for name, value in found.items() if isinstance(value, str)}
        assert len({len(values) for values in lists.values()}) == 1
        for dataset, file, most, reply in zip(
            *(lists[name] for name in ("datasets", "test_files", "input_max_length", "generation_max_length")),
            strict=True,
        ):
            for _, line in lines(folder, file.removeprefix("carrara/")):
                row, seen = rows[line["id"]], seen + 1
                assert int(reply) == row["max_new_tokens"]
                longer = row["context_tokens"] // WORDS_SHARE if dataset == HELMET_RANKING else 0
                assert int(most) == row["context_tokens"] + longer + ROOM
                if names_of(row).helmet:
                    continue
                wrapped = HELMET[dataset].format(**line)
                assert counter.count(wrapped) + int(reply) + 100 <= int(most)
                assert line["context"] == row["prompt"][: row["question_start"]]
                if dataset == "ruler_qa_1":
                    assert line["context"] + line["question"] + "\nAnswer:" == row["prompt"]
                else:
                    assert all(question in line["query"] for question in row["question"].split("\n"))
    assert seen == len(ids("helmet", folder))


SHOWN = "[ID: {id}] Document (Title: {title}): {text}"
"""How HELMET shows a document that is to be ranked."""


def test_helmet_reads_documents_with_their_grades_and_finds_room_for_them(
    made: dict[str, Path], rows: dict[str, Row]
) -> None:
    counter, seen = load_profile("o200k").counter(), 0
    for path, line in lines(made["helmet"], "data/*/msmarco/*.jsonl"):
        row, seen = rows[line["id"]], seen + 1
        worth = {one["id"]: one["label"] for one in line["ctxs"] if one["label"]}
        assert worth == metrics.worth_of(row)
        assert row["question"] in line["query"]
        ranked = sorted(line["ctxs"], key=lambda one: -one["label"])
        assert metrics.score(row, " > ".join(one["id"] for one in ranked), LONGEST) == 1
        body = row["prompt"].split("\nDocuments:\n")[1].split("\nThis is the end")[0]
        assert body == "\n".join("Document [{id}] (title: {title}) {text}".format(**one) for one in line["ctxs"])
        demos = [shown for _, shown in lines(made["helmet"], f"demos/{path.relative_to(made['helmet'] / 'data')}")]
        shown = [each for each in demos if each["qid"] != line["qid"]][:2]
        assert [len(each["ctxs"]) for each in shown] == [6, 6]
        sent = [WORDS, *(SHOWN.format(**one) for each in (*shown, line) for one in each["ctxs"])]
        sent += [f"Query: {each['query']}\nRanking: {'00000 > ' * 6}" for each in (*shown, line)]
        assert counter.count("\n\n".join(sent)) + row["max_new_tokens"] + 100 <= row["context_tokens"] + ROOM + (
            row["context_tokens"] // WORDS_SHARE
        )
    assert seen == sum(row["subtask"] == "conditions" for row in rows.values()) > 1


LONGEST = metrics.scorers_of(["ndcg=longest"])


def constants(path: Path) -> dict[str, Any]:
    space: dict[str, Any] = {"__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return dict(space["TASKS"])


def string_match_all(preds: list[str], refs: list[list[str]]) -> float:
    """RULER's rule by its definition: the mean share of references found, in percent."""
    found = [
        sum(ref.lower() in pred.lower() for ref in some) / len(some) for pred, some in zip(preds, refs, strict=True)
    ]
    return round(sum(found) / len(found) * 100, 2)


def string_match_part(preds: list[str], refs: list[list[str]]) -> float:
    """RULER's rule by its definition: the percentage of replies with any of the references."""
    found = [any(ref.lower() in pred.lower() for ref in some) for pred, some in zip(preds, refs, strict=True)]
    return round(sum(found) / len(found) * 100, 2)


def test_ruler_knows_the_tasks_and_grades_the_key_100_and_the_wrong_row_0(
    made: dict[str, Path], rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made["ruler"]
    stub = types.ModuleType("synthetic.constants")
    stub.string_match_all, stub.string_match_part = string_match_all, string_match_part  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "synthetic", types.ModuleType("synthetic"))
    monkeypatch.setitem(sys.modules, "synthetic.constants", stub)
    limits = constants(folder / "scripts/data/carrara/constants.py")
    rule = constants(folder / "scripts/eval/carrara/constants.py")
    tasks = yaml.safe_load((folder / "scripts/carrara.yaml").read_text())
    assert tasks == {name: {"task": name, "args": {}} for name in tasks}
    assert list(tasks) == list(limits) == list(rule)
    for path in sorted(folder.glob("data/*/*/validation.jsonl")):
        told = [line for _, line in lines(folder, str(path.relative_to(folder)))]
        assert [line["index"] for line in told] == list(range(len(told)))
        task = path.parent.name
        for line in told:
            row = rows[line["others"]["id"]]
            assert line["input"] + line["answer_prefix"] == row["prompt"]
            assert limits[task]["tokens_to_generate"] == row["max_new_tokens"]
            assert line["length"] + row["template_tokens"] == row["context_tokens"]
        answers, refs = [rows[line["others"]["id"]]["target"] for line in told], [line["outputs"] for line in told]
        assert rule[task]["metric_fn"](answers, refs) == 100
        if len(set(answers)) == len(answers) > 1:
            assert rule[task]["metric_fn"](answers[1:] + answers[:1], refs) < 20


def test_openai_mrcr_has_its_columns_and_real_turns(made: dict[str, Path], rows: dict[str, Row]) -> None:
    head = [
        "prompt",
        "answer",
        "random_string_to_prepend",
        "n_needles",
        "desired_msg_index",
        "total_messages",
        "n_chars",
    ]
    for path in sorted(made["openai-mrcr"].glob("*.parquet")):
        table = pq.read_table(path)
        assert table.schema.names[:7] == head
        assert [str(kind) for kind in table.schema.types[:7]] == ["string"] * 3 + ["int64"] * 4
        for line in table.to_pylist():
            row, turns = rows[line["id"]], json.loads(line["prompt"])
            assert turns == row["messages"]
            assert path.name == f"{line['n_needles']}needle.parquet"
            assert line["total_messages"] == len(turns)
            assert line["n_chars"] == sum(len(turn["content"]) for turn in turns)
            code = line["random_string_to_prepend"]
            assert code + turns[line["desired_msg_index"]]["content"] == line["answer"] == row["target"]


def test_mrcr_v2_has_its_columns_and_places(made: dict[str, Path], rows: dict[str, Row]) -> None:
    for line in of_csv(made["mrcr-v2"]):
        row = rows[line["id"]]
        assert line["queries"] == row["prompt"]
        assert line["answer"] == row["target"]
        assert line["view_ops"] == f"User: {row['question']}"
        asked, places = json.loads(line["answer_context_position"]), json.loads(line["relevant_context_positions"])
        assert asked in places
        assert len(places) == int(line["num_relevant"]) == row["complexity"]
        assert asked[1] - asked[0] == int(line["answer_token_count"])
        assert int(line["context_len"]) == row["prompt_tokens"]


def parsed(path: Path) -> dict[str, Any]:
    """Return what LongBioBench's loader reads from a path."""
    parts = "_".join(path.parts[-2:]).split("_")
    return {
        "length": int(parts[1][:-1]),
        "people": int(parts[2]),
        "density": float(parts[5]),
        "position": [int(parts[7]), int(parts[8])],
        "skill": parts[-1].split(".json")[0],
    }


def test_longbio_reads_its_paths_and_the_haystack(made: dict[str, Path], rows: dict[str, Row]) -> None:
    for path in sorted(made["longbio"].rglob("data_*.json")):
        told = parsed(path)
        assert told["position"] == [0, 100]
        assert told["density"] == 1.0
        for record in json.loads(path.read_text()):
            row = rows[record["id"]]
            asked, *demos = record["questions"]["NLG"]
            assert row["length"] == told["length"] * 1024
            assert row["complexity"] == told["people"]
            start = row["prompt"].index("iographies:\n") + len("iographies:\n")
            assert "".join(record["context"]) == row["prompt"][start : row["question_start"]]
            assert len(demos) == row["shots"] == 2 * ("-2shot" in str(path))
            assert len(asked["position_in_list"]) == len(asked["position_in_bios"]) == row["complexity"]
            if told["skill"] == "standard":
                check_stated(record["context"], asked)


def check_stated(context: list[str], asked: Row) -> None:
    """Check that without the sentence at its place the value is not told: LongBioBench makes its own idk rows so."""
    values = asked["Answer"] if isinstance(asked["Answer"], list) else [asked["Answer"]]
    for value, at, (start, end) in zip(values, asked["position_in_list"], asked["position_in_bios"], strict=True):
        sentence = context[at][start:end]
        assert value in sentence
        assert sentence.count(".") >= 1
        assert sentence.strip().endswith(f"{value}.")
        assert "  " not in context[at][:start] + context[at][end:]


def test_longbio_demonstrations_are_those_of_the_prompt(made: dict[str, Path], rows: dict[str, Row]) -> None:
    seen = 0
    for path in sorted(made["longbio"].rglob("*-2shot*/data_*.json")):
        for record in json.loads(path.read_text()):
            prompt = rows[record["id"]]["prompt"]
            for demo in record["questions"]["NLG"][1:]:
                final = demo["Answer"] if isinstance(demo["Answer"], str) else demo["Answer"][0]
                steps = demo["Rationale"].removeprefix("These are the steps: ")
                assert f"Question: {demo['Question']}\nAnswer: {steps}\nFinal answer: {final}\n" in prompt
                seen += 1
    assert seen >= 10


def test_batches_hold_the_turns_and_the_reply_limit(made: dict[str, Path], rows: dict[str, Row]) -> None:
    for _, line in lines(made["openai-batch"], "batch-*.jsonl"):
        row, body = rows[line["custom_id"]], line["body"]
        assert len(line["custom_id"]) <= 64
        assert (line["method"], line["url"], body["model"]) == ("POST", "/v1/chat/completions", "gpt-4o")
        assert body["messages"] == (row["messages"] or [{"role": "user", "content": row["prompt"]}])
        assert body["max_completion_tokens"] == row["max_new_tokens"]
        assert body["temperature"] == 0
        assert set(line) == {"custom_id", "method", "url", "body"}
        assert set(body) == {"model", "messages", "max_completion_tokens", "temperature"}


def test_batches_are_split_by_lines_and_by_bytes(
    split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, Path]
) -> None:
    whole = (made["openai-batch"] / "batch-00001.jsonl").read_bytes()
    monkeypatch.setattr(openai_batch, "MOST_LINES", 10)
    export(EXPORTS["openai-batch"], split, Selection(), tmp_path / "lines")
    parts = [path.read_bytes() for path in sorted((tmp_path / "lines").glob("batch-*.jsonl"))]
    assert b"".join(parts) == whole
    assert [part.count(b"\n") for part in parts[:-1]] == [10] * (len(parts) - 1)
    monkeypatch.setattr(openai_batch, "MOST_LINES", 10**6)
    monkeypatch.setattr(openai_batch, "MOST_BYTES", 100_000)
    export(EXPORTS["openai-batch"], split, Selection(), tmp_path / "bytes")
    parts = [path.read_bytes() for path in sorted((tmp_path / "bytes").glob("batch-*.jsonl"))]
    assert b"".join(parts) == whole
    assert max(map(len, parts)) <= 100_000
    for part, following in pairwise(parts):
        assert len(part) + following.index(b"\n") + 1 > 100_000


def test_batches_for_a_model_that_takes_no_temperature(split: Split, tmp_path: Path) -> None:
    export(for_model("o4-mini"), split, Selection(limit=1), tmp_path / "out")
    for _, line in lines(tmp_path / "out", "batch-*.jsonl"):
        assert line["body"]["model"] == "o4-mini"
        assert "temperature" not in line["body"]
    assert "o4-mini" in (tmp_path / "out" / "README.md").read_text()


KNOBS = """
[[strata]]
family = "bio"
subtasks = ["standard", "twodiff"]
complexity = [{complexity}]
lengths = [4096]
rows = 1
knobs = {{ {knobs} }}
"""


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """Bare strings, with the needle first among people of whom half lack the fact, and pairs of any people."""
    out = tmp_path_factory.mktemp("raw")
    recipe = builds.recipe_file(out / "raw.toml", rows=1, frame="raw")
    strata = KNOBS.replace(', "twodiff"', "").format(complexity=1, knobs='depth = "first", density = 0.5')
    pairs = KNOBS.replace('"standard", ', "").format(complexity=2, knobs='pairs = "any"')
    recipe.write_text(recipe.read_text().partition("[[strata]]")[0] + strata + pairs, encoding="ascii")
    builds.stages(recipe, out / "built").build()
    return open_split(out / "built" / "o200k")


def test_bare_strings_are_sent_without_a_template(raw: Split, tmp_path: Path) -> None:
    for name in ("openai-batch", "helmet"):
        export(EXPORTS[name], raw, Selection(), tmp_path / name)
    told = {row["id"]: row for row in raw.rows()}
    for _, line in lines(tmp_path / "openai-batch", "batch-*.jsonl"):
        row = told[line["custom_id"]]
        assert line["url"] == "/v1/completions"
        assert line["body"] == {
            "model": "gpt-4o",
            "prompt": row["prompt"],
            "max_tokens": row["max_new_tokens"],
            "temperature": 0,
            **({"stop": metrics.stops_of(row["prompt"])} if row["scorer"] != "mrcr" else {}),
        }
    assert 'endpoint="/v1/completions"' in (tmp_path / "openai-batch" / "README.md").read_text()
    (config,) = (tmp_path / "helmet" / "configs").glob("*.yaml")
    assert "use_chat_template: false" in config.read_text()


def test_knobs_stand_in_the_paths_of_longbio_and_free_pairs_are_left_out(raw: Split, tmp_path: Path) -> None:
    for name in ("longbio", "ruler"):
        export(EXPORTS[name], raw, Selection(), tmp_path / name)
    (path,) = (tmp_path / "longbio").rglob("data_*.json")
    told = {"length": 4, "people": 1, "density": 0.5, "position": [0, 0], "skill": "standard"}
    assert parsed(path) == told
    assert "any pair" in next(iter(left_out(tmp_path / "ruler").values()))


def test_only_batches_take_a_model(split: Split, tmp_path: Path) -> None:
    command = cli.get_command(click.Context(cli), "export")
    args = ["ruler", str(split.folder), "--out", str(tmp_path / "out"), "--model", "gpt-4o"]
    with pytest.raises(ExportError, match="--model 'gpt-4o' is for openai-batch"):
        command.main(args, standalone_mode=False)


def test_what_substring_rules_grade_the_key_passes(rows: dict[str, Row]) -> None:
    graded = Counter()
    for row in rows.values():
        wanted = wanted_strings(row)
        if not isinstance(wanted, str):
            found = [one.lower() in row["target"].lower() for one in wanted.wanted]
            assert all(found) if wanted.all_required else any(found)
            assert metrics.score(row, row["target"]) == 1.0
            graded[row["subtask"].removesuffix("-essay")] += 1
    assert set(graded) == {
        *(
            "standard",
            "paraphrase",
            "pronoun",
            "multihop",
            "multi_standard",
            "citation",
            "twodiff",
            "print",
            "association",
        ),
        *(subtask for family, subtask in TASKS if family == "recall"),
        *("niah_mk1-de", "niah_mk1-zh"),
        *("bfs", "parents"),
        *(subtask for family, subtask in TASKS if family == "rag"),
        *("most", "compare", "when", "users"),
        *("state", "kin", "when"),
        *("which_call", "constraint", "audit", "resume"),
        *("find", "callers", "changed"),
    }
