"""The notebook runs from the first cell to the last, and shows what it has shown in the repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import builds

NAME = "from_build_to_curve.ipynb"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_notebook_shows_what_is_kept(
    root: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    """Its build is there already, as when it is run for the second time. Pictures depend on fonts and versions."""
    shutil.copytree(release, tmp_path / "outputs" / "notebook")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "examples").mkdir()
    notebook = nbformat.read(root / "examples" / NAME, as_version=4)
    nbformat.validate(notebook)
    kept = _texts(notebook)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path / "examples")}})
    client.execute()
    if update_golden:
        nbformat.write(_bare(notebook), root / "examples" / NAME)
        kept = _texts(notebook)
    assert _texts(notebook) == kept
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.get("text", "") for output in shown)
    assert f"{builds.SMOKE_ROWS} rows" in said
    assert f"{builds.SMOKE_ROWS} of {builds.SMOKE_ROWS} rows have a prediction" in said
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert sum("text/html" in output.get("data", {}) for output in shown) == 3


def _texts(notebook: nbformat.NotebookNode) -> list[str]:
    """Return all that the cells of a notebook have shown, but for pictures."""
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.get("text", output.get("data", {}).get("text/html", "")) for output in shown]


def _bare(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a notebook without what depends on when and where it was run."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook
