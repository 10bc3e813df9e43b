"""Predictions of strangers, in every form that is read: one line, little memory, soon."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import handmade
import hostile
from hostile_fuzz import changed, few, held, spoilt

ROWS = hostile.ROWS
SHAPES: dict[str, Callable[[str, str], Any]] = {
    "plain": lambda row_id, text: {"id": row_id, "prediction": text},
    "failed": lambda row_id, text: {"id": row_id, "error": {"message": text, "code": 500}},
    "lm-eval": lambda row_id, text: {"doc": {"id": row_id}, "resps": [[text]], "filtered_resps": [text]},
    "inspect": lambda row_id, text: {
        "id": row_id,
        "epoch": 1,
        "metadata": {"id": row_id},
        "error": None,
        "output": {"choices": [{"message": {"content": [{"type": "text", "text": text}]}}]},
    },
    "batch": lambda row_id, text: {
        "custom_id": row_id,
        "error": None,
        "response": {"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": text}}]}},
    },
}
"""The forms that predictions come in."""


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A folder with a sound split, and a folder to write to."""
    hostile.split(tmp_path / "o200k")
    (tmp_path / "out").mkdir()
    return tmp_path


def bodies(draw: Callable[..., Any], shapes: Sequence[str] = tuple(SHAPES)) -> list[Any]:
    """Return predictions of one form, some of them changed."""
    shape = SHAPES[draw(st.sampled_from(shapes))]
    found = [shape(row["id"], row["target"]) for row in ROWS]
    for at in draw(st.lists(st.integers(0, len(found) - 1), max_size=2)):
        found[at] = changed(draw, found[at]) if isinstance(found[at], dict) else found[at]
    return found


def as_lines(draw: Callable[..., Any], *shapes: str) -> bytes:
    return "".join(json.dumps(body) + "\n" for body in bodies(draw, shapes or tuple(SHAPES))).encode()


def as_indented(draw: Callable[..., Any]) -> bytes:
    samples = [SHAPES["inspect"](row["id"], row["target"]) for row in ROWS]
    samples[0] = changed(draw, samples[0])
    return json.dumps({"version": 2, "status": "success", "eval": {}, "samples": samples}, indent=2).encode()


def as_log(draw: Callable[..., Any]) -> bytes:
    """Return a ZIP as Inspect writes it, whose names, methods and sizes may be others."""
    raw, names = io.BytesIO(), ["samples/{}_epoch_1.json", "samples/../{}.json", "samples/{}.json", "/samples/{}.json"]
    name, method = draw(st.sampled_from([*names, "x/{}"])), draw(st.sampled_from([0, 8, 12, 14]))
    with warnings.catch_warnings(), zipfile.ZipFile(raw, "w", method) as log:
        warnings.simplefilter("ignore")
        log.writestr("header.json", "{}")
        for number, body in enumerate(bodies(draw)):
            fill = b" " * draw(st.sampled_from([0, 0, 0, 1_000_000]))
            log.writestr(name.format(number // draw(st.sampled_from([1, 1, 2]))), json.dumps(body).encode() + fill)
    return raw.getvalue()


def as_parquet(draw: Callable[..., Any]) -> bytes:
    """Return a table with columns of types that need not be right."""
    ids: Any = [row["id"] for row in ROWS]
    some = st.sampled_from([1, None, ["a"], {"a": "b"}, b"\xff", 1.5, True])
    said: Any = draw(some.map(lambda value: [value] * len(ROWS)) | st.just([row["target"] for row in ROWS]))
    names = draw(
        st.sampled_from([["id", "prediction"], ["prediction", "id"], ["id", "x"], ["id", "prediction", "error"]])
    )
    columns = [ids if name == "id" else said for name in names]
    if draw(st.booleans()):
        columns[0] = draw(st.sampled_from([list(range(len(ROWS))), [None] * len(ROWS), [b"\xff"] * len(ROWS)]))
    raw, made = io.BytesIO(), [pa.array(each) for each in columns]
    if draw(st.integers(0, 3)) == 0:  # many rows, or long ones, in a few bytes
        many = pa.array([0] * draw(st.sampled_from([1000, 1_000_000])))
        made = [each.take(many) for each in made] if draw(st.booleans()) else made
        made[1] = pa.array(["x" * draw(st.sampled_from([10, 100_000_000 // len(made[1])]))] * len(made[1]))
    pq.write_table(pa.table(made, names=names), raw, compression="zstd")
    return raw.getvalue()


READ: dict[str, Callable[[Callable[..., Any]], bytes]] = {
    "p.jsonl": as_lines,
    "p.json": as_indented,
    "p.eval": as_log,
    "p.parquet": as_parquet,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_sound_predictions_score(asked: Path, shape: str) -> None:
    handmade.lines(asked / "p.jsonl", [SHAPES[shape](row["id"], row["target"]) for row in ROWS])
    done = held(asked, "score", "o200k", "p.jsonl", "--workers", 1)
    assert done.exit_code == (2 if shape == "failed" else 0), done


@pytest.mark.faults
@few
@given(data=st.data())
def test_any_predictions(asked: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(READ)))
    try:
        raw = READ[name](data.draw)
    except (TypeError, ValueError, OverflowError):
        assume(False)
    raw = spoilt(data.draw, raw) if data.draw(st.booleans()) else raw
    folder = asked / "given"
    folder.mkdir(exist_ok=True)
    try:
        (folder / name).write_bytes(raw)
        where = data.draw(st.sampled_from([f"given/{name}", "given"]))
        words = data.draw(
            st.sampled_from(
                [
                    ("score", "o200k", where, "--workers", "1"),
                    ("score", "o200k", where, "--json", "--out", "out/s.json", "--workers", "1"),
                    ("report", "o200k", where, "--out", "out/page.html"),
                ]
            )
        )
        held(asked, *words)
    finally:
        (folder / name).unlink()


@pytest.mark.faults
@few
@given(data=st.data())
def test_any_replies_of_an_earlier_run(asked: Path, data: st.DataObject) -> None:
    """`carrara run` goes on with the file that it has."""
    raw = as_lines(data.draw, "plain", "failed")
    (asked / "out/o.jsonl").write_bytes(spoilt(data.draw, raw) if data.draw(st.booleans()) else raw)
    held(asked, "run", "o200k", *hostile.ASKED, "--out", "out/o.jsonl")
