"""Scores by language, and differences from English over rows of the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pipeline.artifacts.split import Split, open_split
from pipeline.assemble.plan import make_plan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.recipe import Recipe, Stratum
from pipeline.report.models import model_of
from pipeline.report.page import Mark
from pipeline.report.scores import languages
from pipeline.score.cells import Tables
from pipeline.score.languages import by_language
from pipeline.score.scoring import score_predictions
from pipeline.score.views import page, result_of
from pipeline.stages import Stages
from repository import ROOT

ROWS = 4
CELLS = [
    *(("recall", f"niah_mk1-{form}", 4096, 1) for form in ("en", "de", "zh", "de_en")),
    *(("recall", f"{name}-ru", 4096, steps) for name, steps in (("json_kv", 1), ("niah_mk2", 1), ("niah_mv", 4))),
    *(("graph", f"{name}-pl", 8192, steps) for name, steps in (("bfs", 4), ("parents", 0), ("route", 4))),
    ("latent_list", "sum-es", 4096, 5),
    *(("tabulate", form, 4096, 16) for form in ("extract-ja", "sort-hi_en", "rewrite-ar")),
    ("tally", "count-ar", 8192, 20),
    *(("tally", form, 8192, steps) for form, steps in (("most-id", 10), ("users-de_en", 4))),
    *(("trace", form, 8192, steps) for form, steps in (("state-en_fr", 5), ("rows-en_zh", 6))),
]


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    folder = tmp_path_factory.mktemp("by-language")
    strata = tuple(Stratum(family, name, "32k", length, steps, ROWS) for family, name, length, steps in CELLS)
    assert all(Stages(make_plan(Recipe("tiny", "1", 7, "32k", strata), ("o200k",), folder), Inline).build())
    return open_split(folder)


def replies(split: Split, wrong: dict[str, int]) -> list[dict[str, Any]]:
    """Return right replies but for the first rows of some subtasks."""
    left, made = dict(wrong), []
    for row in split.key_rows():
        spoilt = left.get(row["subtask"], 0) > 0
        left[row["subtask"]] = left.get(row["subtask"], 0) - 1
        made.append({"id": row["id"], "prediction": "0" if spoilt else f"<answer>{row['target']}</answer>"})
    return made


def tables_of(split: Split, wrong: dict[str, int], tmp_path: Path) -> Tables:
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in replies(split, wrong)), encoding="utf-8")
    return Tables(score_predictions([split], [path]))


def test_each_language_is_compared_with_english_over_the_same_rows(split: Split, tmp_path: Path) -> None:
    found = {(each.text, each.asked): each for each in by_language(tables_of(split, {"niah_mk1-de": 3}, tmp_path))}
    assert list(found)[:1] == [("en", "en")]
    german, chinese, crossed = (found[pair].english for pair in (("de", "de"), ("zh", "zh"), ("de", "en")))
    assert german is not None
    assert (german.rows, german.better, german.worse, german.mean) == (ROWS, 0, 3, -0.75)
    assert chinese is not None
    assert crossed is not None
    assert chinese.mean == crossed.mean == 0
    assert found["en", "en"].english is None
    assert found["ru", "ru"].english is None, "no row of these tasks is asked in English"


def test_tables_name_languages(split: Split, tmp_path: Path) -> None:
    tables = tables_of(split, {}, tmp_path)
    assert "by language, with the difference from English over the same rows" in page(tables)
    found = {cell.place["language"] for cell in tables.by("language")}
    assert found == {"en", "de", "zh", "de_en", "ru", "pl", "es", "ja", "hi_en", "ar", "id", "en_fr", "en_zh"}
    schema = json.loads((ROOT / "schemas" / "scores.schema.json").read_text(encoding="ascii"))
    jsonschema.validate(result_of(tables), schema)


def test_the_report_has_a_table_of_languages(split: Split, tmp_path: Path) -> None:
    model = model_of(Mark("model", 0), tables_of(split, {"niah_mk1-de": 3}, tmp_path).scored)
    (_, table) = languages([model])
    rows = {(row[0], row[1]): row[4:] for row in table.rows}
    assert rows["de", "de"][0].startswith("25.0")
    assert rows["de", "de"][1].startswith("-75.0")
    assert rows["de", "de"][2] == "0 / 3"
    assert rows["en", "en"][1:] == ["-", "-"]


@pytest.mark.parametrize("reader", READERS)
def test_simulated_readers_read_every_form(split: Split, reader: str, tmp_path: Path) -> None:
    said = {}
    for row in split.rows():
        reply = READERS[reader].replies(open_reading(row))
        said[row["id"]] = reply
    assert all(isinstance(reply, str | None) for reply in said.values())
    path = tmp_path / "said.jsonl"
    path.write_text("".join(json.dumps({"id": key, "prediction": value or ""}) + "\n" for key, value in said.items()))
    scored = score_predictions([split], [path])
    mean = sum(record.score for record in scored.records) / len(scored.records)
    if reader == "all":
        assert mean == 1.0
    if reader == "no-context":
        assert mean < 0.1
