"""The blocks of the READMEs of exports, as they stand, one after the other, in a folder that was moved."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from asked import Asked
from doc_blocks import blocks
from pipeline.artifacts.split import Selection, Split
from pipeline.export import EXPORTS, export
from server import server
from stand_ins import environment

pytestmark = pytest.mark.harness
ENVIRONMENTS = {
    "lm-eval": "lm-eval",
    "inspect": "inspect",
    "lighteval": "lighteval",
    "evalscope": "evalscope",
    "verifiers": "verifiers",
    "nemo-evaluator": "nemo-evaluator",
    "openai-batch": "inspect",
    "openai-mrcr": "inspect",
}
"""The environment in which the blocks of each export run; the others need a checkout."""


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_block_runs_as_it_stands(
    name: str,
    root: Path,
    smoke: Split,
    right: Asked,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right.serve(tmp_path, monkeypatch)
    python = Path(os.environ.get("CARRARA_HARNESSES", root / ".venv-harness")) / ENVIRONMENTS[name] / "bin" / "python"
    around = environment(tmp_path, python, tmp_path / "key.json")
    export(EXPORTS[name], smoke, Selection(lengths=(2048,), limit=1), tmp_path / "written")
    folder = (tmp_path / "written").rename(tmp_path / "moved")
    with server() as served:
        around |= {"OPENAI_BASE_URL": f"{served.address}/v1", "OPENAI_API_KEY": "none"}
        given = {
            "http://localhost:8000": served.address,
            "/path/to/split": str(right.split.folder),
            "/path/to/export": str(folder),
        }
        for block in blocks((folder / "README.md").read_text(encoding="ascii")):
            if block.kind == "text":
                continue
            reader = {"sh": ["bash", "-e"], "python": ["python"]}[block.kind]
            done = subprocess.run(
                [*reader, "-c", block.filled(given)],
                cwd=folder,
                env=around,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            assert not done.returncode, f"{block.text}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    assert not [reply for reply in served.said if reply.startswith("(") and reply.endswith(("has)", "])"))]
    assert served.asked or name == "lm-eval"
