"""Files that take the place of others, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.artifacts.files import atomic_write
from pipeline.errors import BuildError, unknown


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(BuildError, match="is a device or a pipe"), atomic_write(pipe) as aside:
        aside.write_text("x")
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with atomic_write(tmp_path / "file") as aside:
        aside.write_text("new")
        assert (tmp_path / "file").read_text() == "old"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "new")]


def test_an_unknown_name_without_a_near_one_reads_well() -> None:
    assert unknown("length", "5", ["2048", "4096"]) == "unknown length '5' (known: 2048, 4096)"
