"""Scoring: every form of predictions is read, joined by id, and whatever is wrong is named while the rest is scored."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import handmade
from pipeline.artifacts.split import Selection, open_split
from pipeline.cli import cli
from pipeline.errors import PredictionsError
from pipeline.metrics import MAX_REPLY_CHARACTERS, facts
from pipeline.metrics import main as metrics_main
from pipeline.metrics.join import write_metrics
from pipeline.score.results import ANSWERED, EMPTY, HEAD, MISSING, UNUSABLE, Scored
from pipeline.score.scoring import score_predictions
from repository import ROOT

ROWS = [handmade.row(number, length=length) for length in (2048, 4096) for number in range(3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handmade.split(tmp_path_factory.mktemp("made") / "o200k", ROWS)


@pytest.fixture
def scored(folder: Path) -> Callable[..., Scored]:
    def score(*paths: Path, **how: Any) -> Scored:
        return score_predictions([open_split(folder)], paths, **how)

    return score


def kinds(found: Scored) -> Counter[str]:
    return Counter(fault.kind for fault in found.faults)


def states(found: Scored) -> list[str]:
    return [record.state for record in found.records]


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


# Forms


def test_json_lines_and_parquet_give_the_same(scored: Callable[..., Scored], tmp_path: Path) -> None:
    right = handmade.answers(ROWS)
    plain = scored(handmade.lines(tmp_path / "a.jsonl", right))
    pq.write_table(pa.Table.from_pylist(right), tmp_path / "a.parquet")
    assert [record.score for record in plain.records] == [1.0] * 6
    assert plain.complete
    assert scored(tmp_path / "a.parquet").records == plain.records


def lm_eval(row: handmade.Row, text: str) -> dict[str, Any]:
    document = {"id": row["id"], "prompt": row["prompt"], "target": row["target"]}
    return {
        "doc_id": 0,
        "doc": document,
        "target": row["target"],
        "arguments": {"gen_args_0": {"arg_0": row["prompt"]}},
        "resps": [[text]],
        "filtered_resps": [text],
        "filter": "none",
        "metrics": ["score"],
        "score": 0.0,
    }


def batch(row: handmade.Row, text: str) -> dict[str, Any]:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": row["id"], "response": response, "error": None}


def completion(row: handmade.Row, text: str) -> dict[str, Any]:
    response = {"status_code": 200, "body": {"choices": [{"text": text}]}}
    return {"id": "vllm-1", "custom_id": row["id"], "response": response, "error": None}


def inspect(row: handmade.Row, text: object) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
    output = {"model": "mockllm/model", "choices": [choice], "completion": text}
    return {"id": row["id"], "epoch": 1, "input": row["prompt"], "target": "x", "output": output, "metadata": {}}


def ran_by_us(row: handmade.Row, text: str) -> dict[str, Any]:
    return {"id": row["id"], "prediction": text, "model": "m", "finish_reason": "stop", "prompt_tokens": 107}


@pytest.mark.parametrize("form", [lm_eval, batch, completion, ran_by_us])
def test_output_files_are_taken_as_they_are(
    scored: Callable[..., Scored], tmp_path: Path, form: Callable[..., dict[str, Any]]
) -> None:
    found = scored(handmade.lines(tmp_path / "out.jsonl", [form(row, row["target"]) for row in ROWS]))
    assert [record.score for record in found.records] == [1.0] * 6
    assert found.complete


def inspect_log(path: Path, samples: list[dict[str, Any]], *, zstd: bool) -> Path:
    """Write a log as Inspect does: a ZIP, its entries packed with Zstandard, which this zipfile cannot write."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if zstd else zipfile.ZIP_DEFLATED) as log:
        log.writestr("_journal/start.json", b"{}")
        for sample in samples:
            raw = json.dumps(sample).encode()
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            log.writestr(name, pa.compress(raw, codec="zstd", asbytes=True) if zstd else raw)
        log.writestr("header.json", b"{}")
    if zstd:
        _name_zstd(path, [len(json.dumps(sample)) for sample in samples])
    return path


def _name_zstd(path: Path, sizes: list[int]) -> None:
    """Change the method of samples in the list of entries from stored (0) to Zstandard (93), and say their sizes."""
    raw = bytearray(path.read_bytes())
    place = -1
    for size in [None, *sizes, None]:
        place = raw.index(b"PK\x01\x02", place + 1)
        if size is not None:
            raw[place + 10] = 93
            raw[place + 24 : place + 28] = size.to_bytes(4, "little")
    path.write_bytes(raw)


@pytest.mark.parametrize("zstd", [True, False])
def test_logs_of_inspect_are_read(scored: Callable[..., Scored], tmp_path: Path, zstd: bool) -> None:
    samples = [inspect(row, row["target"]) for row in ROWS]
    samples[1] |= {"id": 2, "metadata": {"id": ROWS[1]["id"]}}
    samples[2]["output"]["choices"][0]["message"]["content"] = [
        {"type": "reasoning", "reasoning": "Town9"},
        {"type": "text", "text": ROWS[2]["target"]},
    ]
    samples[3] |= {"error": {"message": "out of memory", "traceback": "..."}}
    samples.append({**inspect(ROWS[0], "later"), "epoch": 2})
    found = scored(inspect_log(tmp_path / "log.eval", samples, zstd=zstd))
    assert [record.score for record in found.records] == [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    assert states(found)[3] == MISSING
    assert kinds(found) == {"failed": 1, "repeated": 1}
    assert any("out of memory" in fault.message for fault in found.faults)
    whole = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples, "reductions": []}
    (tmp_path / "log.json").write_text(json.dumps(whole, indent=2), encoding="utf-8")
    assert scored(tmp_path / "log.json").records == found.records


def test_a_folder_is_searched_for_the_output_of_a_harness(
    folder: Path, scored: Callable[..., Scored], tmp_path: Path
) -> None:
    for at, row in enumerate(ROWS):
        handmade.lines(tmp_path / f"samples_{at}_2026.jsonl", [lm_eval(row, row["target"])])
    (tmp_path / "results_2026.json").write_text("{}", encoding="utf-8")
    done = ran("score", folder, tmp_path)
    assert done.exit_code == 0
    assert "6 answered, 0 missing" in done.output


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"answer": 1}\n', "its first object has answer"),
        (b"id,prediction\nx,y\n", "no line of it is a JSON object"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no line of it is a JSON object"),
        (b"[1, 2]\n", "no line of it is a JSON object"),
        (b"PK\x03\x04junk", "broken ZIP"),
        (b"PAR1junk", "cannot be read"),
        (b'{\n  "version": 2,\n  "eval": {}\n}', "not an Inspect log with samples"),
    ],
)
def test_a_file_of_no_known_form_is_named(
    scored: Callable[..., Scored], tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "odd.bin").write_bytes(content)
    with pytest.raises(PredictionsError, match=said) as caught:
        scored(tmp_path / "odd.bin")
    assert "odd.bin" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_parquet_without_the_columns_and_an_empty_zip_are_named(scored: Callable[..., Scored], tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "reply": ["b"]}), tmp_path / "odd.parquet")
    with pytest.raises(PredictionsError, match="has the columns id, reply"):
        scored(tmp_path / "odd.parquet")
    with zipfile.ZipFile(tmp_path / "odd.eval", "w") as log:
        log.writestr("readme.txt", "hello")
    with pytest.raises(PredictionsError, match="not an Inspect log"):
        scored(tmp_path / "odd.eval")


# Faults


def packed(path: Path, names: tuple[str, ...] = ("samples/1_epoch_1.json",), body: bytes = b"{}") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        for name in names:
            log.writestr(name, body)
    return path


def patched(path: Path, old: bytes, new: bytes) -> Path:
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))
    return path


def encrypted(path: Path) -> Path:
    """Set the bit of encryption wherever flags stand."""
    raw = bytearray(packed(path).read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + at] |= 1
    path.write_bytes(raw)
    return path


def of_unknown_method(path: Path) -> Path:
    raw = bytearray(packed(path).read_bytes())
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        raw[raw.index(mark) + at] = 99
    path.write_bytes(raw)
    return path


def bomb(path: Path) -> Path:
    """A sample of 1 GB in 1 MB: the same packed megabyte over and over, since packing all of it takes seconds."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    megabyte = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as log:
        log.writestr("samples/1_epoch_1.json", megabyte * 1024 + packer.flush())
    raw = bytearray(path.read_bytes())
    for mark, method, size in ((b"PK\x03\x04", 8, 22), (b"PK\x01\x02", 10, 24)):
        at = raw.index(mark)
        raw[at + method] = zipfile.ZIP_DEFLATED
        raw[at + size : at + size + 4] = (1 << 30).to_bytes(4, "little")
    path.write_bytes(raw)
    return path


def zstd_bomb(path: Path) -> Path:
    """A sample that is a million times as long as it says."""
    body = bytes(pa.compress(bytes(1 << 30), codec="zstd", asbytes=True))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as log:
        log.writestr("samples/1_epoch_1.json", body)
    raw = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        raw[raw.index(mark) + at] = 93
    path.write_bytes(raw)
    return path


def overlapping(path: Path) -> Path:
    """Ten thousand entries that all are the same bytes."""
    packed(path, ("samples/1_epoch_1.json",), bytes(100 << 20))
    raw = path.read_bytes()
    at, end = raw.index(b"PK\x01\x02"), raw.index(b"PK\x05\x06")
    listed = raw[at:end] * 10_000
    count, size, start = (10_000).to_bytes(2, "little"), len(listed).to_bytes(4, "little"), raw[end + 16 : end + 20]
    path.write_bytes(raw[:at] + listed + b"PK\x05\x06" + bytes(4) + count + count + size + start + bytes(2))
    return path


def of_broken_data(path: Path) -> Path:
    raw = bytearray(packed(path, body=bytes(5000)).read_bytes())
    at = raw.index(b"json") + 4
    raw[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(raw)
    return path


def escaping(path: Path) -> Path:
    return packed(path, ("samples/../../../etc/x.json",))


def acting(path: Path) -> Path:
    return packed(path, ("samples/\x1b]0;owned\x07.json",))


def endless_line(path: Path) -> Path:
    """A sparse file of 8 GB that starts as a log of Inspect."""
    with path.open("wb") as file:
        file.write(b'{"version": 2, "eval": {}, "x": "')
        file.truncate(8 << 30)
    return path


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def device(path: Path) -> Path:
    return Path("/dev/zero")


@pytest.mark.parametrize(
    "bad",
    [
        *(encrypted, of_unknown_method, bomb, zstd_bomb, overlapping, of_broken_data),
        *(escaping, acting, endless_line, fifo, device),
    ],
    ids=lambda bad: bad.__name__,
)
def test_a_file_that_is_made_to_harm_is_one_line_in_little_memory_and_time(
    bad: Callable[[Path], Path], folder: Path, tmp_path: Path
) -> None:
    path = bad(tmp_path / "x.eval")
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = ran("score", folder, path)
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("carrara: ")
    assert line.isprintable()
    assert path.name in line
    assert time.monotonic() - started < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_200_000, "kilobytes"


def test_a_pipe_in_a_folder_of_predictions_is_passed_over(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    done = ran("score", folder, tmp_path)
    assert "has no predictions" in done.stderr


def test_every_fault_is_named_with_its_line_and_the_rest_is_scored(
    scored: Callable[..., Scored], tmp_path: Path
) -> None:
    right = [json.dumps(each) for each in handmade.answers(ROWS)]
    path = tmp_path / "bad.jsonl"
    path.write_text(
        "\n".join(
            [
                right[0],
                "",
                "not json",
                '"a text"',
                json.dumps({"id": ROWS[1]["id"], "prediction": None}),
                json.dumps({"id": ROWS[2]["id"], "prediction": 42}),
                json.dumps({"id": "nobody", "prediction": "x"}),
                json.dumps({"id": 7, "prediction": "x"}),
                json.dumps({"id": ROWS[3]["id"], "prediction": "x" * MAX_REPLY_CHARACTERS + "\nTown0"}),
                json.dumps({"custom_id": "of another form", "response": {}}),
                right[0],
                json.dumps({"id": ROWS[0]["id"], "prediction": "Town9"}),
                "[" * 100_000,
                right[4][: len(right[4]) // 2],
            ]
        ),
        encoding="utf-8",
    )
    found = scored(path)
    assert [record.score for record in found.records] == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert states(found) == [UNUSABLE, EMPTY, UNUSABLE, ANSWERED, MISSING, MISSING]
    said = {fault.kind: [] for fault in found.faults}
    for fault in found.faults:
        said[fault.kind].append(fault.message.removeprefix(f"{path}:"))
    assert [line.split(":")[0] for line in said["unreadable"]] == ["3", "4", "10", "13", "14"]
    assert "the line is incomplete" in said["unreadable"][-1]
    assert [line.split(":")[0] for line in said["empty"]] == ["5"]
    assert [line.split(":")[0] for line in said["no text"]] == ["6"]
    assert [line.split(":")[0] for line in said["unknown"]] == ["7", "8"]
    assert [line.split(":")[0] for line in said["huge"]] == ["9"]
    assert said["repeated"] == [f"11: {ROWS[0]['id']}: the same answer as in {path}:1"]
    assert said["conflict"] == [f"12: {ROWS[0]['id']}: another answer than in {path}:1"]
    assert said["missing"] == [ROWS[4]["id"], ROWS[5]["id"]]
    states_of = {"answered": 1, "empty": 1, "refused": 0, "missing": 2, "unusable": 2}
    assert found.counts == {"rows": 6, **states_of, "unparsed": 0, "cut": 0, "predictions": 8}
    assert not found.complete


def test_keys_that_are_not_those_that_were_proven_score_nothing(tmp_path: Path) -> None:
    split = handmade.split(tmp_path / "o200k", ROWS)
    (keys,) = (split / "keys").rglob("*.parquet")
    manifest = json.loads((split / "manifest.json").read_text(encoding="ascii"))
    manifest["tiers"]["32k"]["shards"][0]["keys_sha256"] = hashlib.sha256(keys.read_bytes()).hexdigest()
    (split / "manifest.json").write_text(json.dumps(manifest), encoding="ascii")
    replies = handmade.lines(tmp_path / "a.jsonl", handmade.answers(ROWS))
    assert ran("score", split, replies).exit_code == 0
    table = pq.read_table(keys)
    targets = pa.array([*table["target"].to_pylist()[1:], "Elsewhere"])
    pq.write_table(table.set_column(table.schema.get_field_index("target"), "target", targets), keys)
    done = ran("score", split, replies)
    assert done.exit_code == 1
    assert "differs from the bytes that were proven: get or build the split again" in done.stderr


def test_files_of_two_models_are_told_apart_or_the_way_to_is_told(folder: Path, tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        replies = [{**each, "prediction": name} for each in handmade.answers(ROWS)]
        files.append(handmade.lines(tmp_path / f"{name}.jsonl", replies))
    told = "some rows have different replies: if the files are of different models, name each as NAME=FILE"
    assert told in ran("score", folder, *files).stderr
    whole = ran("score", folder.parent, *files)
    assert whole.exit_code == 0, "in a release folder, each file is a model, though there is one tokenizer"
    assert "a minus b" in whole.stdout


def test_two_different_answers_stay_none_when_the_first_comes_again(
    scored: Callable[..., Scored], tmp_path: Path
) -> None:
    right = handmade.answers(ROWS)
    other = {"id": ROWS[0]["id"], "prediction": "Nowhere"}
    found = scored(handmade.lines(tmp_path / "a.jsonl", [*right, other, right[0]]))
    assert kinds(found) == {"conflict": 1, "repeated": 1}
    assert states(found)[0] == UNUSABLE
    assert found.records[0].score == 0.0


def test_an_error_is_no_prediction_and_a_later_reply_counts(scored: Callable[..., Scored], tmp_path: Path) -> None:
    failed = {"id": ROWS[0]["id"], "prediction": None, "model": "m", "error": "HTTP 400: too long"}
    found = scored(handmade.lines(tmp_path / "a.jsonl", [failed, *handmade.answers(ROWS[1:])]))
    assert states(found) == [MISSING, *[ANSWERED] * 5]
    assert kinds(found) == {"failed": 1}
    assert "too long" in found.faults[0].message
    found = scored(handmade.lines(tmp_path / "b.jsonl", [failed, *handmade.answers(ROWS), failed]))
    assert found.complete
    assert found.records[0].score == 1.0
    refused = {"custom_id": ROWS[0]["id"], "response": {"status_code": 400, "body": {"error": {"message": "long"}}}}
    found = scored(
        handmade.lines(tmp_path / "c.jsonl", [refused]),
        handmade.lines(tmp_path / "d.jsonl", handmade.answers(ROWS[1:])),
    )
    assert kinds(found) == {"failed": 1}


def test_predictions_of_another_split_are_refused_by_both_tags(folder: Path, tmp_path: Path) -> None:
    other = handmade.row(0, tag="ffffff")
    done = ran("score", folder, handmade.lines(tmp_path / "a.jsonl", handmade.answers([*ROWS, other])))
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1
    assert "its tag is ffffff, but that of made 1.0.0 o200k is 0a1b2c" in done.stderr


def test_rows_of_the_split_that_are_not_selected_are_no_fault(folder: Path, tmp_path: Path) -> None:
    path = handmade.lines(tmp_path / "a.jsonl", handmade.answers(ROWS[:3]))
    assert ran("score", folder, path).exit_code == 2
    done = ran("score", folder, path, "--length", 2048)
    assert done.exit_code == 0
    assert "3 rows, 3 answered" in done.output
    done = ran(
        "score", folder, handmade.lines(tmp_path / "b.jsonl", handmade.answers([ROWS[0], ROWS[3]])), "--limit", 1
    )
    assert done.exit_code == 0


def test_a_split_that_withholds_its_keys_says_so(tmp_path: Path) -> None:
    folder = handmade.split(tmp_path / "o200k", ROWS)
    answers = handmade.lines(tmp_path / "a.jsonl", handmade.answers(ROWS))
    (folder / "keys").rename(folder / "other")
    assert ran("score", folder, answers).exit_code == 0
    for path in sorted((folder / "data").rglob("*.parquet")):
        pq.write_table(pq.read_table(path).drop_columns(["target", "answers", "needles"]), path)
    done = ran("score", folder, answers)
    assert done.exit_code == 1
    assert "is published without its keys" in done.stderr


def test_long_predictions_are_kept_in_part(scored: Callable[..., Scored], tmp_path: Path) -> None:
    long = "y" * 10 * HEAD + "\nTown0"
    found = scored(handmade.lines(tmp_path / "a.jsonl", [{"id": ROWS[0]["id"], "prediction": long}]))
    assert found.records[0].score == 1.0
    assert len(found.records[0].prediction) < 3 * HEAD
    assert found.records[0].prediction.endswith("Town0")


# The commands


def test_the_command_prints_tables_json_and_rows(folder: Path, tmp_path: Path) -> None:
    path = handmade.lines(tmp_path / "a.jsonl", handmade.answers(ROWS[:4]))
    done = ran("score", folder, path, "--json", "--model", "m", "--out", tmp_path / "out.json")
    assert done.exit_code == 2
    result = json.loads(done.stdout)
    assert result["model"] == "m"
    assert result["counts"]["missing"] == 2
    assert result["overall"]["mean"] == pytest.approx(4 / 6, abs=1e-6)
    assert result["overall"]["answered_mean"] == 1.0
    assert result["overall"]["best_constant"] == 0.25
    assert "2 rows without a prediction" in done.stderr
    written = json.loads((tmp_path / "out.json").read_text(encoding="ascii"))
    assert [row["score"] for row in written["rows"]] == [1, 1, 1, 1, 0, 0]
    schema = json.loads((ROOT / "schemas" / "scores.schema.json").read_text(encoding="ascii"))
    for each in (result, written):
        jsonschema.validate(each, schema)
    assert ran("score", folder, path, "--json", "--model", "m").stdout == done.stdout


def test_replies_that_cannot_be_judged_are_counted_apart(
    folder: Path, tmp_path: Path, scored: Callable[..., Scored]
) -> None:
    said = {"id": ROWS[0]["id"], "prediction": "I am here to help you with that."}
    path = handmade.lines(tmp_path / "a.jsonl", [said, *handmade.answers(ROWS[1:])])
    found = scored(path)
    assert [record.unparsed for record in found.records] == [True, *[False] * 5]
    assert (found.records[0].score, found.records[0].state) == (0.0, ANSWERED)
    assert (found.counts["answered"], found.counts["unparsed"]) == (6, 1)
    result = json.loads(ran("score", folder, path, "--json").stdout)
    assert (result["counts"]["unparsed"], result["overall"]["unparsed"]) == (1, 1)
    assert result["scorers"] == {name: facts(name).version for name in sorted({row["scorer"] for row in ROWS})}
    assert "6 rows, 6 answered, 0 missing, 1 unparsed" in ran("score", folder, path).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--group-by", "familly"], "columns are family"),
        (["--quirk", "mrcr=start"], "known: mrcr=anywhere, mrcr=starts"),
        (["--family", "boi"], "did you mean 'bio'"),
    ],
)
def test_what_cannot_be_meant_is_refused(folder: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = ran("score", folder, handmade.lines(tmp_path / "a.jsonl", handmade.answers(ROWS)), *arguments)
    assert done.exit_code == 1
    assert said in done.stderr


def test_workers_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.score.scoring.WORTH_A_POOL", 1)
    monkeypatch.setattr("pipeline.score.scoring.BATCH", 7)
    rows = [handmade.row(number) for number in range(40)]
    split = open_split(handmade.split(tmp_path / "o200k", rows))
    replies = [{"id": row["id"], "prediction": row["target"] if at % 3 else "x"} for at, row in enumerate(rows)]
    path = handmade.lines(tmp_path / "a.jsonl", replies)
    one, two = (score_predictions([split], [path], workers=workers).records for workers in (1, 2))
    assert one == two
    assert [record.score for record in one] == [float(at % 3 > 0) for at in range(40)]


def test_the_published_file_scores_by_itself(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = handmade.split(tmp_path / "o200k", [*ROWS, *handmade.pair(0), *handmade.pair(1)])
    rows = [*ROWS[:5], *handmade.pair(0), handmade.pair(1)[1]]
    replies = handmade.lines(tmp_path / "a.jsonl", handmade.answers(rows))
    alone = tmp_path / "metrics.py"
    write_metrics(alone)
    command = [sys.executable, str(alone), str(replies), str(keys / "keys"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={}, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
    lines = json.loads(done.stdout)
    assert lines[0]["scorers"] == {name: facts(name).version for name in sorted({row["scorer"] for row in rows})}
    assert {line["unparsed"] for line in lines} == {0}
    found = {(line["subtask"], line["length"]): line["score"] for line in lines}
    assert found["standard", "all"] == pytest.approx(5 / 6, abs=1e-6)
    assert found["idk", "all"] == 0.5
    ours = json.loads(ran("score", keys, replies, "--json").stdout)
    subtasks = {cell["place"]["subtask"]: cell["mean"] for cell in ours["tables"]["family subtask"]}
    assert subtasks == {"standard": found["standard", "all"], "idk": 0.5}
    plain = handmade.lines(tmp_path / "keys.jsonl", ROWS)
    assert metrics_main([str(handmade.lines(tmp_path / "b.jsonl", handmade.answers(ROWS))), str(plain)]) == 0
    assert "standard    4096     3         3         0  1.000" in capsys.readouterr().out
    bad = tmp_path / "c.jsonl"
    bad.write_text('{"id": "x", "prediction": "y"}\n{\n{"id": 5}\n', encoding="ascii")
    assert metrics_main([str(bad), str(plain)]) == 2
    assert "c.jsonl:2: no line of JSON" in capsys.readouterr().err
    assert metrics_main([str(tmp_path / "missing"), str(plain)]) == 1


def test_a_selection_splits_pairs_only_with_a_word(tmp_path: Path) -> None:
    rows = [*handmade.pair(0), *handmade.pair(1)]
    split = open_split(handmade.split(tmp_path / "o200k", rows))
    path = handmade.lines(tmp_path / "a.jsonl", handmade.answers(rows[:3]))
    both = score_predictions([split], [path])
    assert [(record.alone, record.score) for record in both.records] == [(1, 1), (1, 1), (1, 0), (0, 0)]
    assert both.records[0].baselines == {"uniform": 0.0, "refusal": 0.0}
    half = score_predictions([split], [path], selection=Selection(complexities=(1,)))
    assert [record.score for record in half.records] == [1, 1]
    assert kinds(half) == {"half": 2}
