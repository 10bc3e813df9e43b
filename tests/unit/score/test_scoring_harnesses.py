"""The output of harnesses, as their own code writes it, and what an export has left out: both are read by score."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import handmade
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.cli import cli
from pipeline.errors import PredictionsError
from pipeline.export import EXPORTS, export
from pipeline.rows import known_by, sha256_text
from pipeline.score.results import ANSWERED, EMPTY, REFUSED
from pipeline.score.scoring import score_predictions

ROWS = [handmade.row(number, length=length) for length in (2048, 4096) for number in range(2)]


def with_digests(folder: Path, rows: list[handmade.Row]) -> Path:
    """Write a split whose rows know the digests of their prompts, as those of a build do."""
    for row in rows:
        row["metadata"] = json.dumps({**json.loads(row["metadata"]), "prompt_sha256": sha256_text(row["prompt"])})
    return handmade.split(folder, rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_digests(tmp_path_factory.mktemp("made") / "o200k", ROWS)


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def user(row: handmade.Row) -> dict[str, Any]:
    return {"role": "user", "content": row["prompt"]}


def ruler(row: handmade.Row, text: str, at: int) -> dict[str, Any]:
    told = {"index": at, "pred": text, "input": row["prompt"], "outputs": [row["target"]]}
    return {**told, "others": {"id": row["id"]}, "truncation": -1, "length": 110}


def evalscope(row: handmade.Row, text: str, at: int) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
    output = {"model": "m", "choices": [choice], "usage": {"output_tokens": 5}, "time": 0.5, "error": None}
    turns = [user(row), {"role": "assistant", "content": text}]
    return {"index": at, "model": "m", "model_output": output, "messages": turns, "metadata": {"id": row["id"]}}


def review(row: handmade.Row, text: str, at: int) -> dict[str, Any]:
    score = {"value": {"normalized_score": 1.0}, "prediction": text, "extracted_prediction": text}
    turns = [user(row), {"role": "assistant", "content": text}]
    told = {"score": score, "sample_id": at, "sample_metadata": {"id": row["id"]}}
    return {"index": at, "target": ["x"], "messages": turns, "sample_score": told}


def verifiers(row: handmade.Row, text: str, at: int) -> dict[str, Any]:
    reply = {"role": "assistant", "content": text}
    trace = {"task": {"key": row["id"]}, "nodes": [{"message": user(row)}, {"message": reply}], "ok": True}
    return {"env": "e", "traces": [{**trace, "errors": [], "rewards": {"row_score": {"score": 1.0}}}]}


@pytest.mark.parametrize("form", [ruler, evalscope, review, verifiers])
def test_lines_of_a_harness_are_read(folder: Path, tmp_path: Path, form: Callable[..., dict[str, Any]]) -> None:
    path = handmade.lines(tmp_path / "x.jsonl", [form(row, row["target"], at) for at, row in enumerate(ROWS)])
    found = score_predictions([open_split(folder)], [path])
    assert [record.score for record in found.records] == [1.0] * 4
    assert found.complete
    assert not found.warnings, "each holds the prompt that was sent"
    other = [{**row, "prompt": "as another tokenizer has it"} for row in ROWS]
    path = handmade.lines(tmp_path / "y.jsonl", [form(row, row["target"], at) for at, row in enumerate(other)])
    with pytest.raises(PredictionsError, match=r"is not the prompt that made 1\.0\.0 o200k has"):
        score_predictions([open_split(folder)], [path])


@pytest.mark.parametrize(
    "odd",
    [
        {"others": {"id": "x"}, "pred": 1, "input": "half a pair: \udfff"},
        {"doc": {"id": "x", "prompt": "\ud800"}, "resps": 3},
        {"id": "x", "epoch": 1, "output": {"choices": [1]}, "input": "\ud800", "metadata": 1},
        {"metadata": {"id": "x"}, "model_output": {"choices": 3, "usage": 3, "error": [1]}, "messages": [1, {}]},
        {"sample_score": {"sample_metadata": {"id": "x"}, "score": 3}, "messages": [{}]},
        {"traces": [{"task": {"key": 3}, "nodes": 3, "errors": 3, "calls": 3}]},
        {"traces": [{"task": {"key": "x"}, "nodes": [3], "errors": [3], "calls": [3]}]},
        {"custom_id": "x", "response": {"status_code": "x", "body": 3}, "error": None},
    ],
    ids=lambda odd: f"{min(odd)}, {max(odd)}",
)
def test_a_line_of_odd_values_is_no_traceback(folder: Path, tmp_path: Path, odd: dict[str, Any]) -> None:
    done = ran("score", folder, handmade.lines(tmp_path / "odd.jsonl", [odd]))
    assert done.exit_code == 2, done.output
    assert "the split has no row" in done.stderr


def test_details_of_lighteval_are_read(folder: Path, tmp_path: Path) -> None:
    details = [
        {
            "doc": {"query": row["prompt"], "choices": [row["target"]], "specific": {"id": row["id"]}},
            "metric": {"score": 1.0},
            "model_response": {"text": [row["target"]], "input": row["prompt"]},
        }
        for row in ROWS
    ]
    path = tmp_path / "out" / "details" / "m" / "details_carrara.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(details), path)
    done = ran("score", folder, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "headline 1.000000" in done.stdout


def test_results_of_helmet_are_read_and_rankings_by_their_digests(folder: Path, tmp_path: Path) -> None:
    items = [{"id": row["id"], "question": "?", "output": row["target"], "input_len": 9} for row in ROWS]
    items[0] = {"qid": known_by(ROWS[0]["id"]), "output": ROWS[0]["target"]}
    results = {"args": {"seed": 42}, "data": items, "metrics": {}, "averaged_metrics": {}}
    out = tmp_path / "output"
    out.mkdir()
    (out / "ruler_qa_1__x_in9.json").write_text(json.dumps(results, indent=4), encoding="utf-8")
    (out / "ruler_qa_1__x_in9.json.score").write_text("{}", encoding="utf-8")
    done = ran("score", folder, out)
    assert done.exit_code == 0, done.output
    assert "headline 1.000000" in done.stdout
    assert "warning: " in done.stderr, "HELMET keeps no prompt as it is in the row"
    assert "it is unknown for which tokenizer's prompts these predictions were made" in done.stderr


def test_results_of_longbio_are_read_by_their_number(folder: Path, tmp_path: Path) -> None:
    results = [
        {
            "datapoint": {"context_idx": at, "q_idx": 0, "question": "?"},
            "ref": "x",
            "pred": ROWS[at]["target"],
            "hit": 1,
        }
        for at in (2, 0, 3, 1)
    ]
    (tmp_path / "data.json").write_text(json.dumps([{"id": row["id"], "context": []} for row in ROWS]), "utf-8")
    (tmp_path / "inference_results.json").write_text(json.dumps(results, indent=4), encoding="utf-8")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    found = ran("score", folder, tmp_path)
    assert found.exit_code == 0, found.output
    assert "headline 1.000000" in found.stdout


def test_what_inspect_and_a_batch_refused_is_told_apart(folder: Path, tmp_path: Path) -> None:
    said = "This model's maximum context length is 2048 tokens."
    refused = {"status_code": 400, "body": {"error": {"message": said, "code": "context_length_exceeded"}}}
    null = {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}
    cut = {"choices": [{"message": {"content": "Town2"}, "finish_reason": "length"}]}
    lines = [
        {"custom_id": ROWS[0]["id"], "response": refused},
        {"custom_id": ROWS[1]["id"], "response": {"status_code": 200, "body": null}},
        {"custom_id": ROWS[2]["id"], "response": {"status_code": 200, "body": cut}},
        {"custom_id": ROWS[3]["id"], "response": {"status_code": 200, "body": cut}},
    ]
    found = score_predictions([open_split(folder)], [handmade.lines(tmp_path / "b.jsonl", lines)])
    assert [record.state for record in found.records] == [REFUSED, EMPTY, ANSWERED, ANSWERED]
    assert (found.counts["refused"], found.counts["empty"], found.counts["cut"]) == (1, 1, 3)
    sample = {"id": ROWS[0]["id"], "epoch": 1, "input": ROWS[0]["prompt"], "metadata": {}}
    sample["output"] = {"choices": [{"message": {"content": said}, "stop_reason": "model_length"}], "completion": said}
    found = score_predictions([open_split(folder)], [handmade.lines(tmp_path / "i.jsonl", [sample])])
    assert found.records[0].state == REFUSED


def test_files_without_prompts_are_told_by_what_was_exported(folder: Path, tmp_path: Path) -> None:
    split = open_split(folder)
    export(EXPORTS["openai-batch"], split, Selection(lengths=(2048,)), tmp_path / "batch")
    lines = handmade.lines(tmp_path / "plain.jsonl", handmade.answers(ROWS[:2]))
    alone = ran("score", folder, lines)
    assert alone.exit_code == 2
    assert "warning: " in alone.stderr
    done = ran("score", folder, lines, "--export", tmp_path / "batch")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert "never asked: 2 rows (not selected by OpenAI batches and vLLM)" in done.stdout
    inside = handmade.lines(tmp_path / "batch" / "out.jsonl", handmade.answers(ROWS[:2]))
    assert ran("score", folder, inside).exit_code == 0, "what lies in an export's folder is of that export"
    told = json.loads((tmp_path / "batch" / "asked.json").read_text(encoding="ascii"))
    (tmp_path / "batch" / "asked.json").write_text(json.dumps(told | {"tokenizer": "llama3.1"}), encoding="ascii")
    for more in ([inside], [lines, "--export", tmp_path / "batch"]):
        other = ran("score", folder, *more)
        assert other.exit_code == 1
        assert "says that what was asked is of tokenizer llama3.1" in other.stderr
    assert "has no asked.json" in ran("score", folder, lines, "--export", tmp_path).stderr


def test_rows_that_an_export_left_out_are_not_missing(split: Split, tmp_path: Path) -> None:
    """What was tried: lm-eval carries no real turns, and a perfect model got .5 in mrcr."""
    written = export(EXPORTS["lm-eval"], split, Selection(families=("mrcr",)), tmp_path / "lm")
    left = {row_id for ids in written.left_out.values() for row_id in ids}
    assert left
    rows = [
        row for row in split.rows(["id", "target", "prompt"], Selection(families=("mrcr",))) if row["id"] not in left
    ]
    logged = [{"doc": {"id": row["id"], "prompt": row["prompt"]}, "resps": [[row["target"]]]} for row in rows]
    out = handmade.lines(tmp_path / "samples_x_2026.jsonl", logged)
    done = ran("score", split.folder, out, "--export", tmp_path / "lm")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert "headline 1.000000" in done.stdout
    assert f"never asked: {len(left)} rows (real turns, which this harness cannot send" in done.stdout
    assert "not selected by lm-evaluation-harness" in done.stdout
    asked = ran("score", split.folder, out, "--export", tmp_path / "lm", "--json")
    assert sum(json.loads(asked.stdout)["never_asked"].values()) + len(rows) == len(list(split.key_rows(["id"])))
    assert ran("score", split.folder, out).exit_code == 2


@pytest.mark.parametrize("harness", ["verifiers", "lighteval"])
def test_the_headline_of_an_export_counts_replies_that_cannot_be_judged(
    harness: str, split: Split, tmp_path: Path
) -> None:
    chosen = Selection(families=("bio",), subtasks=("standard",))
    export(EXPORTS[harness], split, chosen, tmp_path / "home")
    rows = list(split.rows(["id", "target"], chosen))
    said = ["Here is the answer to your question.", *(row["target"] for row in rows[1:])]
    scores = [0.0, *[1.0] * (len(rows) - 1)]
    out = tmp_path / "out"
    out.mkdir()
    if harness == "verifiers":
        nodes = [[{"message": {"role": "assistant", "content": text}}] for text in said]
        traces = [
            {"task": {"key": row["id"]}, "nodes": some, "rewards": {"row_score": {"score": score}}}
            for row, some, score in zip(rows, nodes, scores, strict=True)
        ]
        handmade.lines(out / "traces.jsonl", [{"traces": [trace]} for trace in traces])
    else:
        details = [
            {"doc": {"specific": {"id": row["id"]}}, "metric": {"score": score}, "model_response": {"text": [text]}}
            for row, text, score in zip(rows, said, scores, strict=True)
        ]
        pq.write_table(pa.Table.from_pylist(details), out / "details_carrara.parquet")
    (script,) = (tmp_path / "home").rglob("headline.py")
    done = subprocess.run([sys.executable, script, out], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f" of {len(rows):,} rows, 1 unparsed\n")
