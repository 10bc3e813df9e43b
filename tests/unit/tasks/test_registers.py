"""Registers of employees and of sales: what readers with a weakness score, and planted faults."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.executors import Inline
from pipeline.recipe import Recipe, Stratum
from pipeline.stages import Stages
from pipeline.tasks.bio import register as employees
from pipeline.tasks.longqa import register_solve
from pipeline.tasks.longqa.register import NEEDED
from pipeline.tasks.solving import Lines, ReadError
from pipeline.verify.row import answer_faults

EMPLOYEES = Stratum("bio", "standard-de", "32k", 4096, 1, 2)
SALES = Stratum("longqa", "state-de", "32k", 8192, 5, 2)


def plan_of(out: Path, *cells: Stratum) -> Plan:
    return make_plan(Recipe("registers", "1", 20261121, "32k", cells), ("o200k",), out)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """A row of each task, by family."""
    plan = plan_of(tmp_path_factory.mktemp("registers"), EMPLOYEES, SALES)
    assert all(Stages(plan, Inline).build())
    return {row["family"]: row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))}


def faults_of(row: dict[str, Any], cell: Stratum, prompt: str) -> str:
    assert prompt != row["prompt"]
    metadata = json.loads(row["metadata"]) | {"prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    return "; ".join(answer_faults({**row, "prompt": prompt, "metadata": json.dumps(metadata)}, cell))


@pytest.mark.parametrize("complexity", [5, 20])
def test_readers_of_a_part_of_a_history_score_little(complexity: int, tmp_path: Path) -> None:
    rows = 150
    cell = Stratum("longqa", "state-en", "32k", 8192, complexity, rows)
    samples = [draw_sample(plan_of(tmp_path, cell), RowPlan(cell, index, "")) for index in range(rows)]
    total = Counter[str]()
    for sample in samples:
        total.update(sample.latent["guesses"])
    mean = {name: score / rows for name, score in total.items()}
    assert mean.pop("last_before") == 0
    assert all(score <= 0.25 for score in mean.values()), mean
    needed = [sample.latent["effective_complexity"] for sample in samples]
    assert {*needed} == {*NEEDED[complexity]}
    assert all(len(sample.relevant) == count for sample, count in zip(samples, needed, strict=True))


def test_where_one_entry_is_needed_it_is_the_last_sale_before_the_day(tmp_path: Path) -> None:
    cell = Stratum("longqa", "state-en", "32k", 8192, 1, 20)
    for index in range(cell.rows):
        sample = draw_sample(plan_of(tmp_path, cell), RowPlan(cell, index, ""))
        assert sample.latent["guesses"]["last_before"] == 1.0
        assert len(sample.relevant) == 1


def stated(*entries: tuple[int, str, str, int, bool]) -> list[register_solve.Stated]:
    return [
        register_solve.Stated(str(at), f"20{at:02}-01-01", plot, buyer, str(sale or ""), stands)
        for at, plot, buyer, sale, stands in entries
    ]


def test_the_latest_sale_that_stands_gives_the_owner() -> None:
    entries = stated((10, "A", "x", 0, True), (11, "A", "y", 0, True), (12, "", "", 11, False), (14, "", "", 11, True))
    assert [register_solve.owner_by(entries, f"20{year}-06-01") for year in (10, 11, 12, 13, 14)] == [*"xyxxy"]
    assert not register_solve.owner_by(entries, "2009-01-01")
    assert not register_solve.owner_by(entries[1:3], "2013-01-01")


def test_a_prompt_without_an_owner_is_not_read(rows: dict[str, dict[str, Any]]) -> None:
    with pytest.raises(ReadError, match=r"no sale of .* stands on 2000-01-01"):
        register_solve.owner(re.sub(r"\d{4}-\d\d-\d\d\?$", "2000-01-01?", rows["longqa"]["prompt"]))


def relevant(row: dict[str, Any]) -> list[str]:
    return [row["prompt"][one["char_start"] : one["char_end"]] for one in row["needles"] if one["role"] == "relevant"]


SALE_FAULTS = {
    "entries are needed": lambda row: row["prompt"].replace(relevant(row)[-1], ""),
    "a line of the register is no entry": lambda row: row["prompt"].replace("Aufhebung von", "Aufhebung mit", 1),
    "the entries are not in order": lambda row: re.sub(
        r"(Eintrag \d+: Datum) \d{4}", r"\1 2100", row["prompt"], count=1
    ),
    "the marks of role decoy are not its lines": lambda row: re.sub(
        rf"(Grundst\u00fcck) {_plot(row)}", r"\1 XX-999", row["prompt"], count=1
    ),
    "two entries have the same code": lambda row: _first_twice(row["prompt"]),
}


def _plot(row: dict[str, Any]) -> str:
    return str(json.loads(row["metadata"])["latent"]["plot"])


def _first_twice(text: str) -> str:
    one, other = re.findall(r"(?m)^Eintrag (\d+)", text)[:2]
    return text.replace(f"Eintrag {other}:", f"Eintrag {one}:", 1)


def test_cancelled_sales_are_in_the_register(rows: dict[str, dict[str, Any]]) -> None:
    sales = set[str]()
    for one in register_solve.read(rows["longqa"]["prompt"]).stated:
        assert not one.sale or one.sale in sales
        sales |= {one.number} if one.plot else set()


@pytest.mark.parametrize("fault", SALE_FAULTS)
def test_planted_faults_of_sales_are_found(rows: dict[str, dict[str, Any]], fault: str) -> None:
    row = rows["longqa"]
    assert answer_faults(row, SALES) == []
    assert fault in faults_of(row, SALES, SALE_FAULTS[fault](row))


def _near(row: dict[str, Any]) -> str:
    return str(json.loads(row["metadata"])["latent"]["codes"][1])


def _first_codes(text: str) -> list[str]:
    return re.findall(r"[A-Z]+-\d{3}", text)[:2]


EMPLOYEE_FAULTS = {
    "are promised": lambda row: row["prompt"].replace(_near(row), "XX-999"),
    "two entries have the same code": lambda row: row["prompt"].replace(
        *re.findall(r"[A-Z]+-\d{3}", row["prompt"])[1::-1]
    ),
    "a line of the register is no entry": lambda row: row["prompt"].replace(", Abschlussjahr ", " Abschlussjahr ", 1),
}


@pytest.mark.parametrize("fault", EMPLOYEE_FAULTS)
def test_planted_faults_of_employees_are_found(rows: dict[str, dict[str, Any]], fault: str) -> None:
    row = rows["bio"]
    assert answer_faults(row, EMPLOYEES) == []
    assert fault in faults_of(row, EMPLOYEES, EMPLOYEE_FAULTS[fault](row))


def test_the_asked_code_has_three_near_ones_and_values_recur(rows: dict[str, dict[str, Any]]) -> None:
    text = rows["bio"]["prompt"]
    label, field = employees.asked(text)
    entries = [each for each in employees.read(Lines(text).texts) if each]
    assert sum(each[0][:-3] == label[:-3] for each in entries) >= 1 + employees.NEAR
    assert sum(each[0][-3:] == label[-3:] for each in entries) >= 1 + employees.SAME_DIGITS
    values = Counter(each[2::2][each[1::2].index(field)] for each in entries if field in each)
    assert max(values.values()) > 1
    assert len({each[0] for each in entries}) == len(entries)
