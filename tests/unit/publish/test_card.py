"""What lies beside the shards of a published split: the card, croissant.json, eval.yaml; and that it loads."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

import builds
from doc_blocks import prose
from pipeline.artifacts.files import file_digest
from pipeline.artifacts.split import Split, open_split
from pipeline.baselines.files import SHOWN, curve_of
from pipeline.errors import StageError
from pipeline.executors import Inline
from pipeline.metrics import SCORERS, score
from pipeline.publish.card import Facts, card_of
from pipeline.publish.card import pages as pages_module
from pipeline.publish.card.croissant import croissant_of
from pipeline.publish.card.pages import pages_of, yaml_of
from pipeline.publish.card.tables import NOTHING, PAPERS, kilo, markdown, notes_of
from pipeline.publish.staging import Staged
from pipeline.rows import COLUMNS, TEXT_COLUMNS
from pipeline.tasks import NOTES, known_task
from pipeline.typed import (
    TIERS,
)
from published_build import NOTES as CHANGES
from published_build import REPO, families_of, rows, staged


@pytest.fixture(scope="module")
def card(inline: Path) -> str:
    return (inline / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(inline: Path) -> str:
    """The card and all pages beside it."""
    return paged(inline)


def paged(folder: Path) -> str:
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("README.md", *BESIDE))


BESIDE = ("TASKS.md", "ROWS.md", "HARNESSES.md", "ABOUT.md")
MOST = 300
"""Lines of a card: who opens it reads no more."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


def front(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


def load(folder: Path, *config: str, **more: Any) -> Any:
    return datasets.load_dataset(str(folder), *config, split="test", **more)


def test_the_front_is_what_the_hub_reads(card: str, split: Split) -> None:
    found = front(card)
    assert found["license"] == "apache-2.0"
    assert found["language"] == ["en", "de", "zh"]
    assert found["size_categories"] == ["n<1K"]
    assert found["task_categories"] == ["question-answering", "text-generation", "multiple-choice"]
    assert found["pretty_name"] == "Carrara smoke for o200k"
    assert {"long-context", "o200k", "latent-list"} <= set(found["tags"])
    names = [config["config_name"] for config in found["configs"]]
    assert names == ["32k", "lite_32k", "index", *(f"{family}_32k" for family in families_of(split))]
    assert [config["config_name"] for config in found["configs"] if config.get("default")] == ["32k"]


def test_it_says_what_a_model_trained_on_rows_may_be_scored_on(inline: Path) -> None:
    said = (inline / "ABOUT.md").read_text(encoding="utf-8").partition("## Models trained on")[2].partition("\n## ")[0]
    kept, streamed = re.findall(r"(?s)\bof (`.*?`)[:,\s]+(?=a model|which share)", said)
    assert {"`mrcr.chat`", "`longqa.turns`", "`trace.constraint`"} <= {*kept.split(", ")}
    assert {"`bio`", "`longqa`", "`trace`"} <= {*streamed.split(", ")}
    assert not {"`mrcr`", "`idk`", "`summ`"} & {*streamed.split(", ")}


def test_every_shard_is_in_the_configurations_that_name_it(card: str, inline: Path) -> None:
    found: Counter[Path] = Counter()
    for config in front(card)["configs"]:
        (files,) = config["data_files"]
        assert files["split"] == "test"
        paths = list(inline.glob(files["path"]))
        assert paths, config["config_name"]
        found.update(paths)
    assert set(found) == set(inline.rglob("*.parquet"))
    assert {found[path] for path in inline.glob("data/*/*/*.parquet")} == {2}


@pytest.mark.parametrize(
    "value",
    [
        {
            "a": "no",
            "b": "32k",
            "c": "1e3",
            "d": "a: b",
            "e": '"#',
            "f": True,
            "g": 7,
            "h": "n<1K",
            "i": "\\d",
            "j": "",
        },
        {"l": [], "m": ["x", "- y", "~"], "n": [{"o": {"p": ["q"]}, "r": [{"s": "t", "u": 1}]}]},
    ],
)
def test_yaml_is_read_as_it_was_meant(value: dict[str, Any]) -> None:
    assert yaml.safe_load(yaml_of(value)) == value


def test_the_folder_loads_as_it_is(inline: Path, split: Split) -> None:
    own = rows(split.folder, "data")
    every = load(inline)
    assert every.to_list() == own
    assert every.column_names == [column.name for column in COLUMNS]
    assert load(inline, "32k").num_rows == len(own)
    for family in families_of(split):
        assert load(inline, f"{family}_32k").to_list() == [row for row in own if row["family"] == family]
    assert load(inline, "index").to_list() == rows(split.folder, "keys")
    some = list(load(inline, "32k", streaming=True, columns=["id", "prompt"]))
    assert some == [{"id": row["id"], "prompt": row["prompt"]} for row in own]


def test_a_folder_without_answers_loads_too(apart: Staged) -> None:
    index = load(apart.folder, "index")
    assert load(apart.folder).remove_columns(list(TEXT_COLUMNS)).to_list() == index.to_list()
    assert "target" not in index.column_names


def test_the_keys_load_on_their_own(apart: Staged) -> None:
    assert apart.keys
    assert load(apart.keys).to_list() == rows(apart.keys, "keys")
    assert "Keep this folder private" in (apart.keys / "README.md").read_text()


def test_a_card_says_first_what_people_come_for(card: str, inline: Path) -> None:
    said = ("chance | best constant", "load_dataset(", "carrara export lm-eval")
    for wanted in (*(f"]({name})" for name in BESIDE), *said):
        assert wanted in card, wanted
    for paper in PAPERS:
        assert f"(https://arxiv.org/abs/{paper.arxiv})" in card
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", prose(paged(inline))):
        assert (inline / link).exists() or link.startswith(("figures/", "gallery")), link
    assert "## 3.0.0" not in card


@pytest.mark.parametrize("keys", ["inline", "separate"])
def test_no_card_is_longer_than_it_may_be(
    keys: str, split: Split, apart: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tasks in all tiers at all lengths, all siblings, all figures: as long as a card can be."""
    monkeypatch.setattr(pages_module, "examples_of", lambda facts: {})
    monkeypatch.setattr(pages_module, "PAGES", {"README.md": pages_module.PAGES["README.md"]})

    def stacked(manifest: dict[str, Any]) -> None:
        own = manifest["tiers"]["32k"]
        for tier in TIERS:
            cells = [cell | {"length": length} for cell in own["strata"] for length in (TIERS[tier], TIERS[tier] // 2)]
            shards = [shard | {"shard": shard["shard"].replace("/32k/", f"/{tier}/")} for shard in own["shards"]]
            manifest["tiers"][tier] = own | {"strata": cells, "shards": shards}

    whole = builds.retold(split if keys == "inline" else open_split(apart.folder), stacked)
    lengths = [2048 << step for step in range(10)]
    facts = Facts(
        whole,
        REPO,
        keys,
        tuple(f"org/carrara-{number}" for number in range(10)),
        CHANGES,
        dict.fromkeys(("strata", "depths", "budgets"), ("Rows.", "A table")),
        gallery=True,
        curve={name: dict.fromkeys(lengths, 0.5) for name in SHOWN} if keys == "inline" else {},
        licence="CC BY 4.0",
    )
    page = card_of(facts)
    assert page.count("\n") <= MOST
    assert len(front(page)["configs"]) == 1 + 3 * (2 + len(families_of(split)))


def test_the_curve_of_a_card_is_what_readers_score(split: Split, tmp_path: Path) -> None:
    folder = staged(split, tmp_path / "o200k", read=lambda one: curve_of(one, Inline)).folder
    (table,) = re.findall(r"^\| reader .*?(?=\n\n)", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    lengths = sorted({cell.length for cell in split.strata})
    assert cells[0][2:] == [kilo(length) for length in lengths]
    read = {row[0]: [float(cell) for cell in row[2:]] for row in cells[2:]}
    assert list(read) == [f"`{name}`" for name in SHOWN]
    assert set(read["`all`"]) == {1.0}
    assert max(read["`no-context`"]) < 0.5


def test_the_pages_say_what_a_stranger_asks(card: str, pages: str, split: Split) -> None:
    for wanted in (
        *(f"`{subtask}`" for cell in split.strata for subtask in [cell.subtask]),
        *(f"`{column.name}`" for column in COLUMNS),
        *("GeoNames", "CC BY 4.0", "Apache License 2.0", "SOURCES.md", split.manifest.tokenizer.notice),
        *(split.manifest.canary, str(split.manifest.tiers["32k"].recipe_digest), "2409.12640", "2506.02921"),
        *("2410.02694", "| 8K | 8,192 | 8,193 |", "Always answering (D) scores 70%", "year = {2026}"),
        *(
            "lm-evaluation-harness",
            "Inspect",
            "vLLM",
            "EvalScope",
            "`recipe.toml` stands for the maintainer's own recipe.",
        ),
    ):
        assert wanted in pages, wanted
    assert pages.isascii()
    assert "{{" not in pages.replace("{{Carrara smoke for o200k}}", "")
    assert "{%" not in pages
    assert "\n\n\n" not in re.sub(r"^(`{3,})\w*\n.*?^\1\n", "-\n", pages, flags=re.MULTILINE | re.DOTALL)


def test_tables_add_up(card: str, inline: Path, split: Split) -> None:
    beside = (inline / "TASKS.md").read_text(encoding="utf-8")
    strata = beside.split("## Strata")[1].split("## Baselines")[0]
    lines = [line for line in strata.splitlines() if line.startswith("| `")]
    counted = sum(int(cell.replace(",", "")) for line in lines for cell in line.split("|")[2:-1])
    assert counted == split.manifest.totals.rows
    tasks = card.split("## Tasks")[1].split("## Loading")[0]
    lines = [line for line in tasks.splitlines() if line.startswith("| `")]
    assert sum(int(line.split("|")[-2]) for line in lines) == split.manifest.totals.rows
    chance = beside.split("## Baselines")[1]
    kinds = {(cell.family, cell.subtask, cell.complexity) for cell in split.strata}
    assert sum(line.startswith("| `") for line in chance.splitlines()) == len(kinds)


def test_examples_are_rows_of_the_split(pages: str, split: Split) -> None:
    shown = " ".join(pages.split())
    for row in split.rows():
        if f"<code>{row['id']}</code>" in pages:
            assert row["question"] in shown
            assert " ".join(row["target"][:100].split()) in shown
            needle = next((each for each in row["needles"] if each["role"] in ("relevant", "match")), None)
            assert needle
            assert row["prompt"][needle["char_start"] : needle["char_end"]][:80].split("\n")[0] in shown


def test_a_card_without_answers_says_so(apart: Staged) -> None:
    card = paged(apart.folder)
    assert "| `metadata` | `string` | JSON object: prompt sha256, canary |" in card
    assert "knobs, latent structure" not in (apart.folder / "croissant.json").read_text(encoding="utf-8")
    for wanted in (
        "**The answers are not in this repo.**",
        "Withholding answers does not stop cheating",
        "private repo",
    ):
        assert wanted in card, wanted
    for gone in ("## Baselines", "Target:", "lm-evaluation-harness", "## Scoring", "seed |", "complexity |"):
        assert gone not in card, gone
    assert not (apart.folder / "eval.yaml").exists()
    assert "keep" in staged_card(apart, "withhold")


def staged_card(apart: Staged, keys: str) -> str:
    return card_of(Facts(open_split(apart.folder), REPO, keys, notes=CHANGES)).split("## Withheld")[1][:900]


def test_every_task_has_its_line_and_every_family_its_notes(card: str, pages: str, split: Split) -> None:
    for family, subtask in {(cell.family, cell.subtask) for cell in split.strata}:
        task = known_task(family, subtask)
        assert task
        assert f"| `{family}` | `{subtask}` | {task.title} |" in card
        assert f"**`{family}`.** {NOTES[family]}\n" in pages


def test_croissant_describes_every_file_and_column(inline: Path) -> None:
    found = json.loads((inline / "croissant.json").read_text())
    assert found["datePublished"] == "2026-01-31"
    files = {each["contentUrl"]: each for each in found["distribution"] if each["@type"] == "cr:FileObject"}
    assert sorted(files) == [str(path.relative_to(inline)) for path in sorted(inline.rglob("*.parquet"))]
    for name, file in files.items():
        assert file["sha256"] == file_digest(inline / name)
        assert file["contentSize"] == f"{(inline / name).stat().st_size} B"
    sets = {each["@id"]: each for each in found["distribution"] if each["@type"] == "cr:FileSet"}
    for records in found["recordSet"]:
        wanted = [c.name for c in COLUMNS if records["name"] != "index" or c.name not in TEXT_COLUMNS]
        assert [field["name"] for field in records["field"]] == wanted
        sources = [part["source"] for field in records["field"] for part in field.get("subField", [field])]
        assert {source["fileSet"]["@id"] for source in sources} == {f"files-{records['name']}"}
        assert list(inline.glob(sets[f"files-{records['name']}"]["includes"]))


def test_the_pages_name_texts_that_carrara_did_not_make(split: Split) -> None:
    def with_speeches(manifest: dict[str, Any]) -> None:
        (tier,) = manifest["tiers"].values()
        for cell in tier["strata"]:
            if cell["subtask"] == "niah_s2":
                cell["knobs"] = {"haystack": "addresses"}

    facts = Facts(builds.retold(split, with_speeches), REPO, "inline", notes=CHANGES)
    about, described = pages_of(facts)["ABOUT.md"], croissant_of(facts)
    assert "- Everything but the State of the Union addresses is synthetic" in about
    assert "The people, stories and texts are invented, but for those texts." in about
    assert described["rai:dataCollection"].endswith(", and from the State of the Union addresses.")
    assert "the State of the Union addresses may name real ones" in described["rai:personalSensitiveInformation"]


def test_croissant_of_withheld_keys_has_no_field_of_theirs(apart: Staged) -> None:
    found = json.loads((apart.folder / "croissant.json").read_text())
    names = {field["name"] for records in found["recordSet"] for field in records["field"]}
    assert not names & {"target", "answers", "needles", "complexity"}


def test_eval_yaml_holds_what_its_runner_can_grade(inline: Path) -> None:
    found = yaml.safe_load((inline / "eval.yaml").read_text())
    assert found["evaluation_framework"] == "inspect-ai"
    (task,) = found["tasks"]
    assert (task["id"], task["config"], task["split"]) == ("idk_32k", "idk_32k", "test")
    assert task["solvers"] == [{"name": "generate", "args": {"max_tokens": 64}}]
    assert task["scorers"][0]["args"]["pattern"] == SCORERS["choice_or_refusal"].pattern


def lettered(reply: str) -> str | None:
    """Return what the runner's scorer takes from a reply."""
    found = re.search(SCORERS["choice_or_refusal"].pattern, reply)
    return found[1] if found else None


FORMS = (
    "{}", "({})", "{}.", "{})", "**{}**", "**({})**", "{}) Lima", "({}) Lima", "{}: Lima", "Answer: {}",
    "The answer is ({}).", "The answer is {}.", "[{}]", '"{}"', "I pick {}.", "It may look like (A).\nBut it is ({}).",
    " {}\n", "Final answer: {}",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("letter", "ABCD")
def test_the_runner_grades_letters_as_metrics_does(form: str, letter: str) -> None:
    reply = form.format(letter)
    assert lettered(reply) == letter
    for target in "ABCD":
        choices = ["Yokohama", "Palermo", "Lima" if letter == "C" else "Oslo", "I don't know"]
        choices["ABCD".index(letter)] = "Lima" if "Lima" in form else choices["ABCD".index(letter)]
        row = {"scorer": "choice_or_refusal", "target": target, "choices": choices}
        assert score(row, reply) == (lettered(reply) == target)


@pytest.mark.parametrize("reply", ["", "A man walks in.", "I don't know", "It does not say.", "Lima", "Absolutely"])
def test_the_runner_takes_no_letter_that_is_none(reply: str) -> None:
    assert lettered(reply) is None


def test_notes_are_found_in_a_changelog(tmp_path: Path) -> None:
    file = tmp_path / "CHANGES.md"
    file.write_text("# Changes\n\n## [1.1.0] - 2026-03-04\n\n- More.\n\n## v1.0.0\n\n- All.\n", encoding="utf-8")
    assert (notes_of("1.1.0", file).text, notes_of("1.1.0", file).date) == ("- More.", "2026-03-04")
    assert (notes_of("1.0.0", file).text, notes_of("1.0.0", file).date) == ("- All.", "")
    assert (notes_of("1.0.0").text, notes_of("1.0.0").date) == ("", "2026-11-21")
    assert notes_of("9.9.9") == NOTHING
    with pytest.raises(StageError, match=r"has no entry '## 3.0.0': add one"):
        notes_of("3.0.0", file)
    with pytest.raises(StageError, match="cannot be read"):
        notes_of("1.0.0", tmp_path / "none.md")
    file.write_text("Only words.", encoding="utf-8")
    assert notes_of("9.9.9", file).text == "Only words."


def test_tables_escape_what_would_break_them() -> None:
    assert markdown([{"a": "x|y\nz", "b": 1234}]) == "| a | b |\n| --- | ---: |\n| x\\|y z | 1,234 |"
    assert [kilo(length) for length in (2048, 131072, 1048576, 128000)] == ["2K", "128K", "1M", "125K"]


def test_siblings_and_figures_are_shown(split: Split, tmp_path: Path) -> None:
    class Drawn:
        caption, alt = "Rows.", "A [table] of rows"

        def svg(self) -> str:
            return "<svg/>"

        def png(self) -> bytes:
            return b"\x89PNG"

    folder = staged(split, tmp_path / "x", siblings=["org/carrara-glm4"], draw=lambda _: {"strata": Drawn()}).folder
    card = (folder / "README.md").read_text()
    assert "![A (table) of rows](figures/strata.png)" in card
    assert "[`org/carrara-glm4`](https://huggingface.co/datasets/org/carrara-glm4)" in card
    assert (folder / "figures" / "strata.svg").read_text() == "<svg/>"
    assert (folder / "figures" / "strata.png").read_bytes() == b"\x89PNG"
