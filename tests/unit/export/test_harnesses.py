"""What holds for every export and every task: rows are carried or left out by name, and nothing unknown breaks one."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import builds
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import ExportError
from pipeline.export import EXPORTS, Written, export
from pipeline.tasks import TASKS

FAMILIES = tuple(dict.fromkeys(family for family, _ in TASKS))
LATER = {"scorer": {"scorer": "of_a_later_release"}, "family": {"family": "tales", "scorer": "of_a_later_release"}}
every_harness = pytest.mark.parametrize("name", EXPORTS)


def carried(folder: Path, known: set[str]) -> Counter[str]:
    """Return how often each known id stands in the files of an export, whatever their shapes."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            found.update(pq.read_table(path, columns=["id"]).column("id").to_pylist())
        elif path.is_file() and path.name not in ("left_out.tsv", "README.md"):
            text = path.read_text(encoding="utf-8")
            found.update({row_id: often for row_id in known if (often := text.count(row_id))})
    return found


def accounted(folder: Path, written: Written, known: set[str]) -> None:
    """Hold an export to what it says: every row is there once, or left out once with a reason."""
    there, left = carried(folder, known), Counter(row_id for ids in written.left_out.values() for row_id in ids)
    assert there + left == Counter(known)
    assert written.rows == len(there)
    assert all(reason.strip() for reason in written.left_out)


def changed(split: Split, folder: Path, columns: Mapping[str, Any]) -> Split:
    """Return a copy of two rows of each shard in which some columns of text have one value in every row."""
    for path in split.shards():
        table = pq.read_table(path).slice(0, 2)
        for name, value in columns.items():
            at = table.schema.get_field_index(name)
            table = table.set_column(
                at, table.schema.field(at), pa.array([value] * len(table), table.schema.field(at).type)
            )
        copy = folder / path.relative_to(split.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, copy)

    def changed(manifest: dict[str, Any]) -> None:
        for cell in manifest["tiers"]["32k"]["strata"]:
            cell |= {name: value for name, value in columns.items() if name in cell}

    return replace(builds.retold(split, changed), folder=folder)


def test_the_split_asks_every_task(split: Split) -> None:
    forms = {("recall", "niah_mk1-de"), ("recall", "niah_mk1-zh")}
    assert {(row["family"], row["subtask"]) for row in split.rows(["family", "subtask"])} == forms | {
        place for place, task in TASKS.items() if not task.has_calls
    }


@every_harness
def test_every_row_of_every_task_is_carried_or_left_out_by_name(name: str, split: Split, tmp_path: Path) -> None:
    known = {row["id"] for row in split.rows(["id"])}
    accounted(tmp_path / "out", export(EXPORTS[name], split, Selection(), tmp_path / "out"), known)


def chosen() -> Iterator[pytest.ParameterSet]:
    """Yield every pair of harness and family; four families of each harness are tried always, others in the sweep.

    The family with real turns is among them, since harnesses differ most in these.
    """
    for at, name in enumerate(EXPORTS):
        always = {"mrcr", *(FAMILIES[(at + step) % len(FAMILIES)] for step in (0, 5, 10))}
        for family in FAMILIES:
            yield pytest.param(name, family, marks=() if family in always else pytest.mark.slow)


@pytest.mark.parametrize(("name", "family"), [*chosen()])
def test_a_family_alone_is_carried_or_refused_by_name(name: str, family: str, split: Split, tmp_path: Path) -> None:
    carried_or_refused(name, split, Selection(families=(family,), limit=1), tmp_path / "out")


@pytest.fixture(scope="module")
def later(split: Split, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Split]:
    return {key: changed(split, tmp_path_factory.mktemp(key), columns) for key, columns in LATER.items()}


@every_harness
@pytest.mark.parametrize("key", LATER)
def test_what_is_unknown_is_carried_or_left_out_and_breaks_nothing(
    name: str, key: str, later: dict[str, Split], tmp_path: Path
) -> None:
    carried_or_refused(name, later[key], Selection(), tmp_path / "out")


def carried_or_refused(name: str, split: Split, chosen: Selection, out: Path) -> None:
    known = {row["id"] for row in split.rows(["id"], chosen)}
    with contextlib.suppress(ExportError):
        accounted(out, export(EXPORTS[name], split, chosen, out), known)
        return
    with pytest.raises(ExportError, match="no rows to export"):
        export(EXPORTS[name], split, chosen, out)
    assert not out.exists()
