"""The recipes of a published card, from a Hub on the loopback, with the harness and a server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from asked import Asked
from doc_blocks import Block, blocks
from loopback import Hub
from loopback.client import CLIENTS_OWN, whole_environment
from pipeline.artifacts.split import Split
from pipeline.publish.hub import release
from pipeline.publish.staging import stage
from server import server
from stand_ins import environment

pytestmark = [pytest.mark.harness, CLIENTS_OWN]
REPO = "org/carrara-o200k"
RECIPES = {"lm-evaluation-harness": "lm-eval", "Inspect": "inspect", "EvalScope": "evalscope"}
"""The environment of each recipe, by its heading."""


@pytest.fixture(scope="module")
def published(smoke: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage(smoke, tmp_path_factory.mktemp("published") / "o200k", repo=REPO).folder


def followed(folder: Path, found: list[Block], around: dict[str, str], address: str) -> str:
    """Write the files of a recipe, run its commands, and return what they printed."""
    said = ""
    for block in found:
        text = block.filled({"http://localhost:8000": address})
        if block.file:
            (folder / block.file).write_text(text, encoding="ascii")
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", text], cwd=folder, env=around, capture_output=True, text=True, timeout=600, check=False
        )
        assert not done.returncode, f"{text}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        said += done.stdout
    return said


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_of_the_card_runs_as_it_stands(
    heading: str, root: Path, hub: Hub, published: Path, right: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(published, REPO, right.split.manifest.version)
    right.serve(tmp_path, monkeypatch)
    found = blocks((published / "HARNESSES.md").read_text(encoding="utf-8"))
    recipe = [block for block in found if block.heading == heading]
    assert [block for block in recipe if block.file]
    home = Path(os.environ.get("CARRARA_HARNESSES", root / ".venv-harness")) / RECIPES[heading]
    own = environment(tmp_path, home / "bin" / "python", tmp_path / "key.json")
    around = {**whole_environment(hub, tmp_path / "home"), **{name: own[name] for name in ("PATH", "CARRARA_KEY")}}
    around |= {"no_proxy": "*", "MODELSCOPE_CACHE": str(tmp_path / "cache"), "PYTHONPATH": own["PYTHONPATH"]}
    around.pop("HF_HUB_OFFLINE", None)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "metrics.py").write_bytes((published / "metrics.py").read_bytes())
    with server() as served:
        followed(folder, recipe, around, served.address)
    assert served.asked
    assert not [reply for reply in served.said if reply.startswith("(") and reply.endswith(("has)", "])"))]
