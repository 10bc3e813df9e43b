"""Simulated readers: each answers every task or says why not, and is as weak as it says."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from carrara import open_scores
from pipeline.artifacts.manifest import chances_in, pool_chances
from pipeline.artifacts.split import Selection, Split
from pipeline.baselines import COLUMNS, READERS, READINGS, PromptView, open_reading
from pipeline.baselines.base import half_name
from pipeline.baselines.files import write_readings
from pipeline.cli import cli
from pipeline.executors import Inline
from pipeline.metrics import score
from pipeline.publish.staging import Staged
from pipeline.recipe import load_recipe
from pipeline.rows import Row
from pipeline.verify.statistics import _score_bound
from test_docs import tool

NAMELESS = {
    "bio.twodiff",
    "bio.icl",
    "bio.association",
    "recall.cwe",
    "recall.fwe",
    "rag.described",
    "rag.list",
    "cite.listing",
}
"""Tasks whose question names nobody of the text."""
FEW = 12
"""Rows of a scorer and subtask that are scored with each other's targets."""
K = 1024
SVG = "http://www.w3.org/2000/svg"


def carrara(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def said(name: str, row: Row, **changed: object) -> str | None:
    """Return what a reader says to a row of which it gets no more than it should."""
    return READERS[name].replies(open_reading({**{column: row[column] for column in COLUMNS}, **changed}))


@pytest.fixture(scope="module")
def rows(split: Split) -> list[Row]:
    return list(split.rows())


def rows_of(rows: Iterable[Row], *places: str) -> list[Row]:
    return [row for row in rows if f"{row['family']}.{row['subtask']}" in places]


def test_every_task_is_read_by_every_reader_or_left_out_for_its_reason(rows: list[Row]) -> None:
    left_out = defaultdict(set)
    for row in {(row["subtask"], row["complexity"]): row for row in rows}.values():
        for name in READERS:
            reply = said(name, row)
            assert reply is None or reply.strip(), (name, row["id"])
            if reply is None and row["family"] in READINGS:
                left_out[name].add(f"{row['family']}.{row['subtask']}")
    assert set(left_out) <= {"half-name", "last-match"}
    assert all(place in NAMELESS or place.startswith("latent_list.") for place in left_out["half-name"])
    assert left_out["last-match"] <= NAMELESS - {"bio.icl"}


@pytest.mark.parametrize("name", ["all", "last32k", "first32k"])
def test_who_reads_all_is_right_in_every_row(rows: list[Row], name: str) -> None:
    assert {row["id"]: said(name, row) for row in rows} == {row["id"]: row["target"] for row in rows}


def test_no_constant_answer_is_passed_over_that_would_score(rows: list[Row]) -> None:
    groups = defaultdict(list)
    for row in rows:
        groups[row["scorer"], row["subtask"]].append(row)
    passed = set()
    for (scorer, _), group in groups.items():
        for row, other in product(group[:FEW], group[:FEW]):
            most = _score_bound(other["target"], row)
            assert score(row, other["target"]) <= most, (row["id"], other["target"])
            passed |= {scorer} if most == 0 else set()
    assert passed >= {"exact", "all_in_order", "members", "cited", "key_points"}


def test_who_reads_nothing_is_no_better_than_the_best_constant(split: Split, rows: list[Row]) -> None:
    chances = chances_in(split.manifest)
    for family in READINGS:
        mean = fmean(score(row, said("no-context", row)) for row in rows if row["family"] == family)
        known = pool_chances([one for one in chances if one.family == family])
        assert mean <= max(known.best_constant, *known.baselines.values()) + 0.02, family


def test_a_text_twice_as_long_as_the_window_is_read_by_half(rows: list[Row]) -> None:
    found = defaultdict(list)
    for row in rows_of(rows, "bio.standard", "bio.paraphrase", "bio.pronoun", "bio.standard-essay"):
        (needle,) = [needle for needle in row["needles"] if needle["role"] == "relevant"]
        half = len(row["prompt"]) / 2
        for name, seen in (("last32k", needle["char_start"] >= half), ("first32k", needle["char_end"] <= half)):
            assert (said(name, row, prompt_tokens=64 * K) == row["target"]) == seen, (name, row["id"])
            found[name].append(seen)
    assert all(set(seen) == {True, False} for seen in found.values())


def test_a_passage_is_forgotten_the_sooner_the_farther_it_is_from_the_end(rows: list[Row]) -> None:
    rows = [row for row in rows_of(rows, "bio.standard") for _ in range(2)]
    shares = [
        fmean(
            said("forgets", row, prompt_tokens=size, id=f"{row['id']}{at}") == row["target"]
            for at, row in enumerate(rows)
        )
        for size in (2 * K, 128 * K, 2048 * K)
    ]
    assert shares[0] > 0.9 > shares[1] > shares[2]
    assert shares[2] < 0.2


def test_the_last_match_is_the_last_reply_to_what_is_asked(rows: list[Row]) -> None:
    for row in rows_of(rows, "mrcr.transcript", "mrcr.chat"):
        ends = [needle for needle in row["needles"] if needle["role"] in ("relevant", "match")]
        right = ends[-1]["role"] == "relevant"
        assert (said("last-match", row) == row["target"]) == right, row["id"]


def test_forgotten_lines_of_a_program_are_passed_over(rows: list[Row]) -> None:
    (row, *_) = rows_of(rows, "latent_list.print")
    reading = open_reading(row)
    assert reading.answer(reading.passages) == row["target"]
    start, stop = map(int, reading.question.partition("[")[2].rstrip("])").split(":"))
    assert reading.answer([]) == str([1, 2, 3, 4, 5, 6][start:stop])


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("The hobby of Ann Bo Lee is golf.", "Ann Mia Lee", "Ann Bo Lee"),
        ("The hobby of Ann Bo Lee is golf.", "Ann Mia Fox", None),
        ("The hobby of Bo Ann Lee is golf.", "Ann Bo Fox", None),
        ("On Monday Ann Fox ran the fair.", "Ann Lee", "Ann Fox"),
    ],
)
def test_names_are_known_by_half(text: str, name: str, found: str | None) -> None:
    assert half_name(text, name) == found


def test_half_a_name_takes_the_first_namesake_or_the_last(rows: list[Row]) -> None:
    row = next(row for row in rows_of(rows, "bio.standard") if not row["question"].startswith("On what date"))
    (needle,) = [needle for needle in row["needles"] if needle["role"] == "relevant"]
    own = row["prompt"][needle["char_start"] : needle["char_end"]]
    name = own.partition(" was born")[0]
    first, _, last = name.split(" ")
    namesake = own.replace(name, f"{first} Xavieria {last}").replace(row["target"], "Nowhere")
    before = row["prompt"].replace("Biographies:\n", f"Biographies:\n{namesake}", 1)
    behind = row["prompt"].replace("\nThis is the end", f"\n{namesake}This is the end", 1)
    assert said("half-name", row, prompt=before) == "Nowhere"
    assert said("last-match", row, prompt=behind) == "Nowhere"
    assert said("all", row, prompt=before) == said("all", row, prompt=behind) == row["target"]


def test_a_family_without_a_reading_of_its_own_is_read_by_lines(rows: list[Row]) -> None:
    row = next(row for row in rows if row["family"] == "latent_list")
    reading = PromptView(row)
    assert reading.answer(reading.passages) == row["target"]
    assert [name for name, reader in READERS.items() if reader.replies(reading) is None] == ["half-name", "last-match"]


def test_files_are_the_same_whatever_reads_them(split: Split, tmp_path: Path) -> None:
    few = ("--limit", 1, "--family", "bio", "--family", "mrcr", "--length", 4096, "--length", 8192)
    for workers in (1, 2):
        done = carrara("baselines", split.folder, "--out", tmp_path / str(workers), "--workers", workers, *few)
        assert done.exit_code == 0, done.output
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert names == sorted(f"{name}.jsonl" for name in READERS)
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_the_command_writes_what_score_reads(split: Split, tmp_path: Path) -> None:
    readers = ("--reader", "all", "--reader", "half-name")
    done = carrara("baselines", split.folder, "--out", tmp_path, *readers, "--workers", 1)
    assert done.exit_code == 0, done.output
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["all", "half-name"]
    assert "left out, whose questions give half-name nothing to go by" in done.output
    scores = open_scores(split, tmp_path / "all.jsonl")
    assert scores.frame()["score"].eq(1).all()
    line = json.loads((tmp_path / "all.jsonl").read_text().partition("\n")[0])
    assert list(line) == ["id", "prediction", "prompt_sha256"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "x", "--reader", "last"], "unknown reader 'last': did you mean"),
        (["--out", "x", "--family", "bios"], "unknown family"),
        (["--reader", "all"], "options that choose readers or rows need a folder to write to: add --out FOLDER"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(split: Split, options: list[str], message: str) -> None:
    done = carrara("baselines", split.folder, *options)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert message in done.stderr


def test_readers_are_listed() -> None:
    listed = carrara("baselines").output
    assert all(name in listed and reader.title in listed for name, reader in READERS.items())


@pytest.fixture(scope="module")
def readings(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all readers say to a small build."""
    folder = tmp_path_factory.mktemp("readings")
    write_readings(split, Selection(), list(READERS), folder, Inline)
    return folder


@pytest.fixture(scope="module")
def cells_of(split: Split, readings: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Return the scores of a reader by family."""
    return cache(lambda name: open_scores(split, readings / f"{name}.jsonl").frame("family").to_dict("records"))


@pytest.mark.parametrize(
    ("family", "name", "most"),
    [
        ("bio", "half-name", 0.26),
        ("bio", "last-match", 0.25),
        ("bio", "no-context", 0.09),
        ("mrcr", "half-name", 0.1),
        ("mrcr", "last-match", 0.38),
        ("mrcr", "no-context", 0.12),
        ("latent_list", "last-match", 0.21),
        ("latent_list", "passage", 0.21),
    ],
)
def test_shortcuts_do_not_pay(
    cells_of: Callable[[str], list[dict[str, Any]]], family: str, name: str, most: float
) -> None:
    """The bounds are what a build of `128k` gives, and .05 more: few rows are held to them by their interval."""
    (cell,) = [cell for cell in cells_of(name) if cell["family"] == family]
    assert cell["low"] <= most


def test_the_page_has_every_reader_and_its_table_every_task(root: Path, split: Split, readings: Path) -> None:
    page = (root / "docs" / "readers.md").read_text(encoding="utf-8")
    assert all(f"**`{name}`**" in page for name in READERS)
    written, by_length = tool("read_all").tables(split, readings)
    assert next(line for line in by_length.splitlines() if line.startswith("| length")) in page
    kept = (root / "docs" / "readers.csv").read_text(encoding="ascii")
    assert kept.splitlines()[0] == written.splitlines()[0]
    known = {f"{family}.{subtask}" for family, subtask in tool("write_tables").TASKS}
    of_build = {f"{cell.family}.{cell.subtask}" for cell in load_recipe("128k").strata}
    assert of_build <= set(re.findall(r"^(\S+?),1\.00,", kept, re.MULTILINE))
    assert known <= set(re.findall(r"^(\S+?),1\.00,", written, re.MULTILINE))


def test_the_window_shows_a_real_row(split: Split, rows: list[Row]) -> None:
    drawn = tool("draw_window").picture(split, 4 * K)
    row = next(row for row in rows_of(rows, "bio.multi_standard") if row["complexity"] == 5)
    needles = Counter(needle["role"] for needle in row["needles"])
    roles = Counter(each.get("class") for each in ElementTree.fromstring(drawn).iter(f"{{{SVG}}}rect"))
    assert (roles["needle"], roles["decoy"]) == (needles["relevant"], needles["decoy"])
    assert all(f"depth {each['depth']:.2f}" in drawn for each in row["needles"] if each["role"] == "relevant")


def test_the_window_that_is_kept_is_small_and_names_itself(root: Path) -> None:
    path = root / "docs" / "images" / "window.svg"
    drawn = ElementTree.fromstring(path.read_text(encoding="ascii"))
    assert path.stat().st_size < 30_000
    assert drawn.get("role") == "img"
    assert "needles at their depths" in drawn.get("aria-label", "")


def test_a_set_without_keys_is_read_alike(split: Split, apart: Staged, tmp_path: Path) -> None:
    for name, where in (("with", split.folder), ("without", apart.folder)):
        how = ("--reader", "half-name", "--family", "idk", "--workers", 1)
        done = carrara("baselines", where, "--out", tmp_path / name, *how)
        assert done.exit_code == 0, done.output
    said = [(tmp_path / name / "half-name.jsonl").read_bytes() for name in ("with", "without")]
    assert said[0] == said[1]
    assert said[0]
