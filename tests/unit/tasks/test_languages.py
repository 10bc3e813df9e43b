"""Tasks in several languages: rows are the same but for their words, exact and proven; faults of others are absent."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, RowPlan, make_plan
from pipeline.errors import RecipeError
from pipeline.executors import Inline
from pipeline.languages import CODES, language
from pipeline.metrics import judge
from pipeline.recipe import Recipe, Stratum, parse_recipe
from pipeline.rows import text_bytes
from pipeline.stages import Stages
from pipeline.tasks import in_languages, known_task, task_of
from pipeline.tasks.solving import ReadError
from pipeline.verify.row import answer_faults

SEED = 20261121
FORMS = {"recall": "niah_mk1", "graph": "parents", "latent_list": "sum"}
CELLS = [
    *(("recall", f"{name}-{code}", 4096, 1) for name in ("niah_mk1", "niah_mk2") for code in CODES),
    *(("recall", f"niah_mk1-{pair}", 4096, 1) for pair in ("de_en", "en_zh", "fr_ru")),
    *(("recall", f"{name}-fr", 4096, 1) for name in ("niah_s1", "niah_mk3", "json_kv")),
    *(("recall", f"{name}-zh", 4096, 4) for name in ("niah_mv", "niah_mq")),
    *(("graph", f"{name}-{code}", 8192, 4) for name, code in (("bfs", "pl"), ("parents", "ru"), ("route", "es"))),
    ("graph", "parents-zh", 8192, 0),
    *(("latent_list", f"sum-{code}", 2048, 1) for code in ("de", "zh")),
]


def recipe(cells: list[tuple[str, str, int, int]], rows: int = 2) -> Recipe:
    strata = tuple(Stratum(family, name, "32k", length, steps, rows) for family, name, length, steps in cells)
    return Recipe("languages", "1", SEED, "32k", strata)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Rows of many forms, which the build has proven."""
    plan = make_plan(recipe(CELLS), ("o200k",), tmp_path_factory.mktemp("languages"))
    assert all(Stages(plan, Inline).build())
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


def cell_of(row: dict[str, Any]) -> Stratum:
    return Stratum(row["family"], row["subtask"], row["tier"], row["length"], row["complexity"], 2)


def test_rows_are_exact_and_in_the_normal_form(rows: list[dict[str, Any]]) -> None:
    assert len(rows) == 2 * len(CELLS)
    for row in rows:
        assert row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"] == row["context_tokens"]
        assert unicodedata.is_normalized("NFC", row["prompt"])
        assert text_bytes(row) == len(row["prompt"].encode())


def test_rows_of_a_number_are_the_same_in_all_languages(rows: list[dict[str, Any]]) -> None:
    """Keys, values and depths; how much filler there is differs, and with it the nearest edge of an entry."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        base, _, _ = row["subtask"].rpartition("-")
        if base in ("niah_mk1", "niah_mk2"):
            depths = [round(needle["depth"], 1) for needle in row["needles"] if needle["role"] == "relevant"]
            found.setdefault((base, row["id"].split("-")[-2]), set()).add(f"{row['target']} {depths}")
    assert len(found) == 4
    assert {len(each) for each in found.values()} == {1}


def test_samples_differ_in_words_alone(tmp_path: Path) -> None:
    for family, name in FORMS.items():
        complexity = known_task(family, name).complexities[1 if family != "recall" else 0]
        cells = [(family, f"{name}-{code}", 8192, complexity) for code in CODES]
        plan = make_plan(recipe(cells), ("o200k",), tmp_path)
        samples = [draw_sample(plan, RowPlan(cell, 1, "")) for cell in plan.recipe.strata]
        assert len({sample.key.target for sample in samples}) == 1
        assert len({sample.question for sample in samples}) == (1 if family == "latent_list" else len(CODES))


def test_units_say_how_many_entries_stand_in_a_prompt(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["subtask"].startswith("niah"):
            known = language(row["subtask"].rpartition("-")[2].partition("_")[0])
            units = json.loads(row["metadata"])["units"]
            lines = row["prompt"].split("\n")
            text = language(row["subtask"].rpartition("-")[2].split("_")[0]) if "_" in row["subtask"] else known
            assert sum(text.colon in line and line[-1:].isalnum() for line in lines) >= units > 50


def test_golden_digests(rows: list[dict[str, Any]], root: Path, update_golden: bool) -> None:
    path = root / "tests" / "golden" / "languages.json"
    made = {row["id"]: hashlib.sha256(row["prompt"].encode()).hexdigest()[:16] for row in rows}
    if update_golden:
        path.write_text(json.dumps(made, indent=1) + "\n", encoding="ascii")
    known = json.loads(path.read_text(encoding="ascii"))
    assert made == known, "rows changed: raise the version in the file of the language, then --update-golden"


CHANGES = {
    "not in Unicode's normal form NFC": lambda text: unicodedata.normalize("NFD", text),
    "a line of the register is no entry": lambda text: text.replace("\nBerichtsnummer ", "\nBericht, Nummer: ", 1),
}


@pytest.mark.parametrize("fault", CHANGES)
def test_planted_faults_are_found(rows: list[dict[str, Any]], fault: str) -> None:
    row = next(row for row in rows if row["subtask"] == "niah_mk1-de")
    prompt = CHANGES[fault](row["prompt"])
    assert prompt != row["prompt"]
    metadata = json.loads(row["metadata"]) | {"prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    changed = {**row, "prompt": prompt, "metadata": json.dumps(metadata)}
    assert answer_faults(row, cell_of(row)) == []
    assert any(fault in each for each in answer_faults(changed, cell_of(row)))


def test_an_entry_that_answers_twice_is_found(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["subtask"] == "niah_mk1-ru")
    needle = next(one for one in row["needles"] if one["role"] == "relevant")
    line = row["prompt"][needle["char_start"] : needle["char_end"]]
    twice = row["prompt"].replace(line, line + line[:-3] + "00\n", 1)
    with pytest.raises(ReadError, match="just once"):
        task_of(cell_of(row)).answers(twice)


def test_other_prompts_are_still_ascii(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["subtask"] == "niah_mk1-de")
    plain = replace(cell_of(row), subtask="niah_mk1")
    assert any("not ASCII" in each for each in answer_faults(row, plain))


def test_orders_and_places_are_drawn_for_each_row(rows: list[dict[str, Any]]) -> None:
    """ONERULER shuffles needles and lists by one seed in every row, so that all have the same order."""
    own = [row for row in rows if row["subtask"] == "niah_mq-zh"]
    orders = []
    for row in own:
        needles = [one for one in row["needles"] if one["role"] == "relevant"]
        orders.append([round(one["depth"], 2) for one in needles])
    assert orders[0] != orders[1]
    bodies = {row["prompt"].split("\n")[5] for row in rows if row["subtask"].startswith("niah_mk1")}
    assert len(bodies) > 1


def test_a_word_for_none_in_a_reply_decides_nothing(rows: list[dict[str, Any]]) -> None:
    """ONERULER takes an answer for "none" if the word for it is inside anything in the reply."""
    for row in (row for row in rows if row["subtask"] == "parents-zh"):
        assert row["target"] == "[]"
        assert [judge(row, reply) for reply in ("[]", "<answer>[]</answer>", "\u7b54\u6848\uff1a[]")] == [1.0] * 3
        for reply in (
            "\u65e0",
            "\u6ca1\u6709",
            "none",
            "no",
            "\u65e0\u6cd5\u786e\u5b9a",
            "<answer>[0123456789]</answer>",
        ):
            assert not judge(row, reply), reply
    row = next(row for row in rows if row["subtask"] == "niah_mk1-zh")
    assert judge(row, f"\u65e0\u7591\u662f{row['target']}\u3002") == 1.0
    assert judge(row, f"<answer>{row['target']}</answer>") == 1.0


def test_no_two_rows_have_the_same_filler(rows: list[dict[str, Any]]) -> None:
    """ONERULER has one book a language."""
    for code in CODES:
        own = [row["prompt"].split("\n") for row in rows if row["subtask"] == f"niah_mk1-{code}"]
        one, other = ({*lines[4:-5]} for lines in own)
        assert len(one & other) < len(one) / 10


def test_forms_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    for family, name, said in (
        ("recall", "niah_s1-xx", "unknown subtask"),
        ("recall", "vt-de", "unknown subtask"),
        ("recall", "json_kv-de_en", "has no language"),
        ("graph", "bfs-de_en", "has no language"),
        ("latent_list", "sum-en_de", "has no language"),
    ):
        with pytest.raises(RecipeError, match=said):
            make_plan(recipe([(family, name, 4096, 1)]), ("o200k",), tmp_path)


def table(**given: object) -> dict[str, Any]:
    strata = {"family": "recall", "subtasks": ["niah_s1"], "complexity": [1], "lengths": [4096], "rows": 1, **given}
    return {"release": "x", "version": "1", "seed": 1, "tier": "32k", "strata": [strata]}


def test_a_recipe_names_languages_of_text_and_question() -> None:
    def names(**given: object) -> list[str]:
        return [cell.subtask for cell in parse_recipe(table(**given), "here").strata]

    assert names() == ["niah_s1"]
    assert names(text=["de", "zh"]) == ["niah_s1-de", "niah_s1-zh"]
    assert names(text=["de"], asked=["de", "en"]) == ["niah_s1-de", "niah_s1-de_en"]
    assert names(subtasks=["json_kv"], asked=["ru"]) == ["json_kv-ru"]
    with pytest.raises(RecipeError, match="unknown language in recipe 'here': 'xx'"):
        names(text=["xx"])


@pytest.mark.parametrize("asked", in_languages(), ids=".".join)
def test_every_form_draws_as_the_task_in_english(asked: tuple[str, str]) -> None:
    plain, form = known_task(*asked), in_languages()[asked]("pl", "pl")
    assert plain is not None
    assert form.subtask == f"{asked[1]}-pl"
    assert form.drawn_as == (plain.drawn_as or f"{asked[1]}@{plain.version}")
    assert form.complexities == plain.complexities
    assert form.languages == ("pl", "pl")


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["o200k", "qwen3", "gemma3"])
def test_every_form_is_proven_in_every_language(profile: str, tmp_path: Path) -> None:
    cells = []
    for (family, name), form in in_languages().items():
        for code in CODES:
            task = form(code, code)
            cells += [(family, f"{name}-{code}", length, task.complexities[-2 if family == "graph" else -1])
                      for length in (8192, 32768)]  # fmt: skip
    plan: Plan = make_plan(recipe(cells, 1), (profile,), tmp_path)
    assert all(Stages(plan, Inline).build())
