"""The notebook runs from the first cell to the last, as it is in the repository: without outputs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import builds

NAME = "from_build_to_curve.ipynb"


def test_the_notebook_is_kept_without_outputs(root: Path) -> None:
    notebook = nbformat.read(root / "examples" / NAME, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_notebook_runs(root: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its build is there already, as when it is run for the second time."""
    shutil.copytree(release, tmp_path / "outputs" / "notebook")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "examples").mkdir()
    notebook = nbformat.read(root / "examples" / NAME, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path / "examples")}})
    client.execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.get("text", "") for output in shown)
    assert f"{builds.SMOKE_ROWS} rows" in said
    assert f"{builds.SMOKE_ROWS} of {builds.SMOKE_ROWS} rows have a prediction" in said
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert sum("text/html" in output.get("data", {}) for output in shown) == 3
