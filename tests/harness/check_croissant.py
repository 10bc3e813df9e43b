"""croissant.json before mlcroissant itself. Not among the tests: `make test-croissant` installs what it needs."""

from __future__ import annotations

from pathlib import Path

import mlcroissant
import pytest

from pipeline.publish.staging import Staged
from published_build import rows


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("keys", ["inline", "separate"])
def test_it_validates_without_warnings_and_reads_every_record(inline: Path, apart: Staged, keys: str) -> None:
    folder = inline if keys == "inline" else apart.folder
    described = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    assert not described.metadata.ctx.issues.warnings
    own = {row["id"]: row for row in rows(folder, "data")}
    for records in described.metadata.record_sets:
        read = list(described.records(records.uuid))
        wanted = [row for row in own.values() if records.uuid in ("32k", "index", f"{row['family']}_32k")]
        assert len(read) == len(wanted)
        for record in read:
            row = own[record[f"{records.uuid}/id"].decode()]
            assert record[f"{records.uuid}/question"].decode() == row["question"]
            assert record[f"{records.uuid}/length"] == row["length"]
            if row["messages"] and records.uuid != "index":
                turns = record[f"{records.uuid}/messages"]
                assert [turn[f"{records.uuid}/messages/content"].decode() for turn in turns] == [
                    turn["content"] for turn in row["messages"]
                ]
