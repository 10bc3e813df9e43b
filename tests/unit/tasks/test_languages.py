"""Tasks in several languages: rows are the same but for their words, exact and proven; faults of others are absent."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.errors import RecipeError
from pipeline.executors import Inline
from pipeline.languages import CODES, forms_of, language
from pipeline.metrics import judge
from pipeline.recipe import Recipe, Stratum, parse_recipe
from pipeline.rows import text_bytes
from pipeline.stages import Stages
from pipeline.tasks import in_languages, known_task, task_of
from pipeline.tasks.registers import quoted
from pipeline.tasks.solving import ReadError
from pipeline.tasks.trace.log import Call
from pipeline.tasks.trace.replay import asked_of
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
    *(("tabulate", f"extract-{code}", 4096, 16) for code in CODES),
    *(("tally", f"count-{code}", 4096, 5) for code in (*CODES, "ja_en")),
    ("tally", "count-hi", 8192, 20),
    *(("bio", f"standard-{code}", 4096, 1) for code in (*CODES, "zh_en")),
    *(("longqa", f"state-{code}", 8192, 5) for code in (*CODES, "en_ru")),
    *(("longqa", f"state-{code}", 8192, steps) for code, steps in (("ja", 1), ("de", 20))),
    *(("tabulate", f"sort-{pair}", 4096, 16) for pair in ("fr", "ar_en", "en_ja")),
    *(("tally", f"most-{pair}", 8192, 10) for pair in ("en", "de", "hi", "en_ar")),
    *(("tally", f"users-{pair}", 4096, 4) for pair in ("en", "de", "zh", "ja_en")),
    ("trace", "state", 8192, 5),
    *(("trace", f"state-en{pair}", 8192, 5) for pair in ("", "_de", "_ar")),
    *(("trace", f"rows{pair}", 8192, 6) for pair in ("", "-en", "-en_ja")),
    *(("tabulate", f"rewrite-{code}", 4096, 16) for code in CODES),
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


@pytest.mark.parametrize("task", ["tally.most", "tally.users", "trace.state", "trace.rows", "bio.standard"])
def test_answers_and_depths_are_the_same_in_all_languages(rows: list[dict[str, Any]], task: str) -> None:
    """In `trace`, also those of the task without a language."""
    answers: dict[str, set[str]] = {}
    first: dict[str, list[float]] = {}
    for row in rows:
        if f"{row['family']}.{row['subtask'].partition('-')[0]}" == task:
            number = row["id"].split("-")[-2]
            depths = [needle["depth"] for needle in row["needles"] if needle["role"] == "relevant"]
            answers.setdefault(number, set()).add(f"{row['target']} {len(row['needles'])}")
            first.setdefault(number, []).append(depths[0])
    assert [len(each) for each in answers.values()] == [1, 1]
    assert all(max(each) - min(each) < 0.05 for each in first.values())


@pytest.mark.parametrize("code", CODES)
def test_what_a_question_is_about_is_read_from_its_quotes(code: str) -> None:
    known, log = language(code), "orders to Brandt Industrial, list 2453"
    for name, things in (("asks_amount", ["CDE-3994"]), ("asks_holder", ["TK-19122"])):
        assert asked_of(known.sentence(name, code=things[0])).names == things
    page = Call("rows", {"query": log}, "R740827,late,48\nR129010,late,7\nR449325,open,11", "b2b2b", True, "", "", "")
    for name, answer in (("asks_rows", "2"), ("asks_sum", "55")):
        asked = asked_of(known.sentence(name, query=log, status="late"))
        assert (asked.names, asked.solve(asked.select([page]))) == ([log], (answer,))
    labels = list(known.labels.filler[:2])
    assert quoted(known.question(known.sentence("asks_amounts", labels=known.quoted(labels)))) == labels
    assert quoted(known.question(known.sentence("asks_most", label=labels[0]))) == labels[:1]


@pytest.mark.parametrize("name", ["most-de", "most-hi", "users-de", "users-zh"])
def test_every_entry_is_needed(rows: list[dict[str, Any]], name: str) -> None:
    """Without one, two districts lead, or an amount comes with one label alone; decoys change nothing."""
    row = next(row for row in rows if row["subtask"] == name)
    task = task_of(cell_of(row))
    for needle in row["needles"]:
        without = row["prompt"][: needle["char_start"]] + row["prompt"][needle["char_end"] :]
        try:
            same = task.answers(without) == (row["target"],)
        except ReadError:
            same = False
        assert same == (needle["role"] == "decoy")


def test_samples_differ_in_words_alone(tmp_path: Path) -> None:
    for family, name in FORMS.items():
        complexity = known_task(family, name).complexities[1 if family != "recall" else 0]
        cells = [(family, f"{name}-{code}", 8192, complexity) for code in CODES]
        plan = make_plan(recipe(cells), ("o200k",), tmp_path)
        samples = [draw_sample(plan, RowPlan(cell, 1, "")) for cell in plan.recipe.strata]
        assert len({sample.key.target for sample in samples}) == 1
        assert len({sample.question for sample in samples}) == (1 if family == "latent_list" else len(CODES))


def test_counts_are_the_same_in_all_languages(rows: list[dict[str, Any]]) -> None:
    found: dict[tuple[int, str], set[tuple[str, ...]]] = {}
    for row in rows:
        if row["subtask"].startswith("count-") and row["complexity"] == 5:
            needles = [row["prompt"][one["char_start"] : one["char_end"]] for one in row["needles"]]
            codes = sorted(code for one in needles for code in re.findall(r"[A-Z]{2,4}-\d{3}", one))
            found.setdefault((row["complexity"], row["id"].split("-")[-2]), set()).add((row["target"], *codes))
    assert [len(each) for each in found.values()] == [1, 1]


@pytest.mark.parametrize(
    "said",
    [
        "{n}",
        "<answer>{n}</answer>",
        "Es sind {n} Eintr\u00e4ge im Bezirk {d}.",
        "Dans le secteur {d}, il y en a {n}.",
        "\u7b54\u6848\uff1a{n}",
        "\u533a\u57df {d} \u6709{n}\u4e2a\u6761\u76ee\u3002",
        "\u8a72\u5f53\u3059\u308b\u8a18\u9332\u306f{n}\u4ef6\u3067\u3059\u3002",
        "\u0627\u0644\u0639\u062f\u062f: {n}",
        "\u0915\u0941\u0932 \u0938\u0902\u0916\u094d\u092f\u093e {n} \u0939\u0948\u0964",
        "Ada {n} entri di wilayah {d}.",
    ],
)
def test_a_count_is_judged_beside_the_district_that_is_asked_about(rows: list[dict[str, Any]], said: str) -> None:
    for row in (row for row in rows if row["subtask"].startswith("count-")):
        district = re.findall(r"\d+", row["question"])[-1]
        digits = str.maketrans("0123456789", "\u0966\u0967\u0968\u0969\u096a\u096b\u096c\u096d\u096e\u096f")
        for number, score in ((row["target"], 1.0), (str(int(row["target"]) + 1), 0.0)):
            told = [said.format(n=each, d=district) for each in (number, number.translate(digits))]
            assert [judge(row, each) for each in told] == [score, score], (row["subtask"], told)


def test_tables_differ_in_words_alone(rows: list[dict[str, Any]]) -> None:
    """The same codes, years and amounts in the same order; the first line has the words of the question."""
    found: dict[str, set[str]] = {}
    for row in rows:
        subtask, _, code = row["subtask"].partition("-")
        if subtask in ("extract", "rewrite"):
            head, _, table = row["target"].partition("\n")
            labels, log = language(code).labels, language(code).log
            columns = {
                "extract": {labels.column, labels.year, labels.amount},
                "rewrite": {log.time, log.component, log.level, log.number},
            }
            assert {*head.split("\t")} == columns[subtask]
            found.setdefault(f"{subtask} {row['id'].split('-')[-2]}", set()).add(table)
    assert [len(each) for each in found.values()] == [1, 1, 1, 1]


def test_a_table_is_judged_without_its_head_and_in_the_digits_of_all_scripts(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["subtask"] == "extract-ar")
    table = row["target"].partition("\n")[2]
    arabic = table.translate(
        str.maketrans("0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669")
    )
    turned = "\n".join(f"\u200f{line}\u200f" for line in table.split("\n"))
    for reply in (row["target"], table, arabic, turned, table.replace("\t", "\u060c "), table.replace("\t", " | ")):
        assert judge(row, reply) == 1.0, reply
    assert judge(row, f"{table}\n\u0627\u0644\u0633\u0624\u0627\u0644: 1, 2, 3\nX-1, 2, 3") == 1.0, "another question"
    lines = table.split("\n")
    assert (judge(row, "\n".join(lines[:8])) or 0) < 0.7


TABLE_FAULTS = {
    "two entries have the same code": lambda text: _second_code(text),
    "a line of the register is no entry": lambda text: re.sub(r"(?m)^(\S+ \S+-\d{3}): ", r"\1 ", text, count=1),
    "near misses have the district": lambda text: _moved(text),
}


def _second_code(text: str) -> str:
    one, other = re.findall(r"[A-Z]{2,4}-\d{3}", text)[:2]
    return text.replace(one, other, 1)


def _moved(text: str) -> str:
    """Return a text in which a line of filler has the district that is asked for."""
    asked = re.findall(r"\d+", text[text.rfind("\n") :])[-1]
    label = re.findall("\u201e(.+?)\u201c", text)[-1]
    lines = text.split("\n")
    at = next(
        at
        for at, one in enumerate(lines)
        if re.search(r": Bezirk \d", one) and f"k {asked}," not in one and label not in one
    )
    lines[at] = re.sub(r"Bezirk \d{3}", f"Bezirk {asked}", lines[at])
    return "\n".join(lines)


@pytest.mark.parametrize("fault", TABLE_FAULTS)
def test_planted_faults_of_tables_are_found(rows: list[dict[str, Any]], fault: str) -> None:
    row = next(row for row in rows if row["subtask"] == "extract-de")
    cell = replace(cell_of(row), complexity=16)
    prompt = TABLE_FAULTS[fault](row["prompt"])
    assert prompt != row["prompt"]
    metadata = json.loads(row["metadata"]) | {"prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    assert answer_faults(row, cell) == []
    assert any(
        fault in each for each in answer_faults({**row, "prompt": prompt, "metadata": json.dumps(metadata)}, cell)
    )


LOG_FAULTS = {
    "a rule without its example": lambda text: re.sub(r"(?m)^(3\. .+) \(.+\)$", r"\1", text),
    "another example": lambda text: re.sub(r"(?m)^(3\. .+ -> )\d+\)$", r"\g<1>38)", text),
    "another code": lambda text: re.sub(r"(?m)^(2\. .+ -> )\w$", r"\1Q", text),
    "an exception for another column": lambda text: re.sub(r"(?m)^4\. [^\s:]+", "4. Meldung", text),
    "an exception for other components": lambda text: re.sub(r"(?m)^(4\. .+)\b[a-z]+([^a-z]+)$", r"\1relay\2", text),
    "the columns in another order": lambda text: re.sub(r"(?m)^(\w+)\t(\w+)\t", r"\2\t\1\t", text),
    "another host": lambda text: re.sub("\u201e(\\w+)\u201c in der", "\u201e\\1x\u201c in der", text),
    "a line that is no entry": lambda text: text.replace(" info ", " ", 1),
}


@pytest.mark.parametrize("fault", LOG_FAULTS)
def test_planted_faults_of_logs_are_found(rows: list[dict[str, Any]], fault: str) -> None:
    for row in (row for row in rows if row["subtask"] == "rewrite-de"):
        prompt = LOG_FAULTS[fault](row["prompt"])
        assert prompt != row["prompt"]
        metadata = json.loads(row["metadata"]) | {"prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
        assert answer_faults(
            {**row, "prompt": prompt, "metadata": json.dumps(metadata)}, replace(cell_of(row), complexity=16)
        )


def test_the_rules_are_read_alike_in_every_language(rows: list[dict[str, Any]]) -> None:
    """Labels of a kind belong to a rule: in rows with the same number, the examples are the same."""
    told: dict[str, set[tuple[str, ...]]] = {}
    for row in (row for row in rows if row["subtask"].startswith("rewrite-")):
        log = language(row["subtask"].partition("-")[2]).log
        lines = re.findall(r"(?m)^[13]\. .+$", row["prompt"])
        kinds = [next(name for name in RULES if getattr(log, name) in line) for line in lines]
        assert [RULES[name] in line for name, line in zip(kinds, lines, strict=True)] == [True, True]
        told.setdefault(row["id"].split("-")[-2], set()).add((*kinds,))
    assert [len(each) for each in told.values()] == [1, 1]


RULES = {"short": "(09:14:07 -> 0914)", "moved": "(23:14:07 -> ", "doubled": "(37 -> 74)", "padded": "(37 -> 0037)"}
"""The labels of the rules, and how the example of each begins."""


def test_units_say_how_many_entries_stand_in_a_prompt(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["subtask"].startswith(("extract", "sort", "count", "most", "users")):
            assert json.loads(row["metadata"])["units"] == len(
                re.findall(r"(?m)^.+ [A-Z]{2,4}-\d{3}.*\d$", row["prompt"])
            )
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
        ("tabulate", "rewrite-de_en", "has no language"),
        ("latent_list", "sum-en_de", "has no language"),
        ("trace", "state-de", "the text of state is English: give state-en_de"),
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


def text_of(family: str, asked: str) -> str:
    """Return a language that a family's text can have if it is asked about in another."""
    return "en" if family == "trace" else asked


@pytest.mark.parametrize("asked", in_languages(), ids=".".join)
def test_every_form_draws_as_the_task_in_english(asked: tuple[str, str]) -> None:
    text = text_of(asked[0], "pl")
    plain, form = known_task(*asked), in_languages()[asked](text, "pl")
    assert plain is not None
    assert [form.subtask] == forms_of(asked[1], [text], ["pl"])
    assert form.drawn_as == (plain.drawn_as or f"{asked[1]}@{plain.version}")
    assert form.complexities == plain.complexities
    assert form.languages == (text, "pl")


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["o200k", "qwen3", "gemma3"])
def test_every_form_is_proven_in_every_language(profile: str, tmp_path: Path) -> None:
    cells = []
    for (family, _), form in in_languages().items():
        for code in CODES:
            task = form(text_of(family, code), code)
            at = {"graph": 1, "tabulate": 0, "tally": -2, "trace": -2, "longqa": 1}.get(family, -1)
            steps = task.complexities[at] if len(task.complexities) > 1 else task.complexities[0]
            cells += [(family, task.subtask, length, steps) for length in (8192, 32768)]
    plan: Plan = make_plan(recipe(cells, 1), (profile,), tmp_path)
    assert all(Stages(plan, Inline).build())
