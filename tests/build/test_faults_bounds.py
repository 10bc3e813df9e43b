"""Small input that would become large, never end, or crash a library: one line, little memory, soon."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hostile
from confined_runs import Ended
from hostile_fuzz import held
from test_faults_profiles import CONFINED_MB, TOKENIZERS, planned, profile, sources

__all__ = ["sources"]


@pytest.fixture
def home(sources: Path, tmp_path: Path) -> Path:
    shutil.copytree(sources, tmp_path / "home")
    return tmp_path / "home"


def line(done: Ended, *words: str) -> None:
    assert done.exit_code == 1, done
    for word in words:
        assert word in done.stderr, done


DEEP_KEYS = {
    "dotted": ".".join("a" * 30_000) + " = 1\n",
    "header": "[" + ".".join("a" * 30_000) + "]\nx = 1\n",
    "quoted": ".".join(["'a'"] * 30_000) + " = 1\n",
    "inline": "a = " + "{a = " * 5000 + "1" + "}" * 5000 + "\n",
}


@pytest.mark.parametrize("kind", DEEP_KEYS)
def test_deep_toml(kind: str, home: Path) -> None:
    recipe = home / "deep.toml"
    recipe.write_text(DEEP_KEYS[kind] + (home / "r.toml").read_text(encoding="ascii"), encoding="ascii")
    for command in (("plan", "deep.toml"), ("recut", "deep.toml", "--seed", 9, "--out", "out/r.toml")):
        line(held(home, *command), "deep.toml", "is not TOML", "deep" if kind == "inline" else "more than 16 parts")
    line(planned(home, DEEP_KEYS[kind]), "own.toml: not a valid TOML file")


def test_a_recipe_of_many_megabytes(home: Path) -> None:
    (home / "long.toml").write_text("#" * 40_000_000, encoding="ascii")
    line(held(home, "plan", "long.toml"), "40,000,000 bytes")


def parquet(ids: Any, texts: Any) -> bytes:
    raw = io.BytesIO()
    pq.write_table(pa.table({"id": ids, "prediction": texts}), raw, compression="zstd", row_group_size=1 << 30)
    return raw.getvalue()


MANY = [0] * 4_000_000
INFLATED: dict[str, Callable[[], bytes]] = {
    "rows": lambda: parquet(pa.array(["x"]).take(pa.array(MANY)), pa.array([""]).take(pa.array(MANY))),
    "text": lambda: parquet([f"id-{n}" for n in range(400)], [f"{n:03}" + "x" * 1_000_000 for n in range(400)]),
}


@pytest.mark.parametrize("kind", INFLATED)
def test_predictions_that_inflate(kind: str, tmp_path: Path) -> None:
    hostile.split(tmp_path / "o200k")
    (tmp_path / "p.parquet").write_bytes(INFLATED[kind]())
    line(held(tmp_path, "score", "o200k", "p.parquet", "--workers", 1), "claims" if kind == "rows" else "200 times")


def test_a_corpus_that_inflates(tmp_path: Path) -> None:
    texts = [f"{n:03}" + "x" * 1_000_000 for n in range(400)]
    whole = pa.table({"format": ["letter"] * 400, "topic": ["moss"] * 400, "text": texts})
    pq.write_table(whole, tmp_path / "c.parquet", compression="zstd")
    ended = held(tmp_path, "build", "smoke", "--family", "mrcr", "--corpus", "c.parquet", "--out", "out")
    line(ended, "200 times")


def test_one_long_value_of_many_rows(tmp_path: Path) -> None:
    """A dictionary holds it once; read at once, the rows would take gigabytes."""
    hostile.split(tmp_path / "o200k")
    texts = pa.array([os.urandom(4_000_000).hex()]).dictionary_encode().take(pa.array([0] * 300))
    (tmp_path / "p.parquet").write_bytes(parquet(pa.array([f"id-{n}" for n in range(300)]), texts))
    assert held(tmp_path, "score", "o200k", "p.parquet", "--workers", 1).exit_code in (1, 2)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


CORPORA = {"beir": "corpus.jsonl", "dpr": "x.jsonl", "labelled": "train.csv", "documents": "x.txt", "helmet": "x.json"}


@pytest.mark.parametrize("make", [device, os.mkfifo])
@pytest.mark.parametrize("shape", CORPORA)
def test_a_corpus_that_is_no_file(shape: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text("", encoding="ascii")
    (folder / "qrels/test.tsv").write_text("a\tb\t1\n", encoding="ascii")
    make(folder / CORPORA[shape])
    line(held(tmp_path, "corpus", "import", shape, "corpus", "--out", "out"), "'corpus'")


@pytest.mark.parametrize("grade", ["9" * 5000, "--1", "1" * 40])
def test_grades_that_are_no_numbers(grade: str, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text('{"_id": "a", "text": "what?"}\n', encoding="ascii")
    (folder / "corpus.jsonl").write_text('{"_id": "b", "text": "that"}\n', encoding="ascii")
    (folder / "qrels/test.tsv").write_text(f"a\tb\t{grade}\n", encoding="ascii")
    line(held(tmp_path, "corpus", "import", "beir", "corpus", "--out", "out"), "test.tsv line 1", "grade")


@pytest.mark.parametrize("engine", ["tokenizers", "splintr"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokenizers_that_harm(name: str, engine: str, home: Path) -> None:
    at, value = TOKENIZERS[name]
    path = home / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {at: value}), encoding="ascii")
    done = planned(home, profile(home, "tokenizer.json", engine), most_mb=CONFINED_MB, most_seconds=40)
    assert name != "grows without end" or engine == "splintr" or done.exit_code == 1, done


MODELS: dict[str, tuple[str, str, Any]] = {
    **{name: ("tokenizer.json", *TOKENIZERS[name]) for name in ("grows without end", "Precompiled")},
    "a template that is a number": ("tokenizer_config.json", "chat_template", 7),
    "half a surrogate pair": ("tokenizer_config.json", "chat_template", "\ud800{{ messages[0].content }}"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_harm(name: str, home: Path) -> None:
    pytest.importorskip("transformers")
    file, at, value = MODELS[name]
    path = home / "model" / file
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {at: value}), encoding="ascii")
    (home / "model/chat_template.jinja").unlink()
    line(
        held(home, "profile", "add", "./model", "--out", "out/own", most_mb=CONFINED_MB, most_seconds=40),
        at if at == "chat_template" else "model: ",
    )


@pytest.mark.parametrize("text", [1, 1.5, True, ["a"], {"a": 1}, [{"name": "default"}], "\ud800{{ 1 }}", None])
def test_templates_that_are_no_text(text: Any, home: Path) -> None:
    path = home / "model/tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"chat_template": text}), encoding="ascii")
    (home / "model/chat_template.jinja").unlink()
    table = profile(home, "model", "tokenizers")
    del table["template"]
    line(planned(home, table), "chat template" if text in (None, ["a"]) else "chat_template")
