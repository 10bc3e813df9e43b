"""The gallery shows every task as it is: prompts marked, what is accepted, and what replies score."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from pipeline.artifacts.split import Split, open_split
from pipeline.cli import cli
from pipeline.metrics import score
from pipeline.report import gallery_page, html_of
from pipeline.report.gallery import FIRST
from pipeline.report.page import Example, Examples

X = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def examples(split: Split) -> dict[str, Example]:
    blocks = [block for section in gallery_page(split).sections for block in section.blocks]
    return {row.name: row for block in blocks if isinstance(block, Examples) for row in block.rows}


def test_every_task_is_shown_once(split: Split, examples: dict[str, Example]) -> None:
    known = dict.fromkeys(f"{cell.family}.{cell.subtask}" for cell in split.strata)
    assert set(examples) == {*known}
    later = [name for name in examples if name.split(".")[0] not in FIRST]
    assert list(examples)[: -len(later)] == sorted(
        (name for name in known if name.split(".")[0] in FIRST), key=lambda name: FIRST.index(name.split(".")[0])
    )
    assert later == [name for name in known if name in later]


def test_replies_score_what_is_said(split: Split, examples: dict[str, Example]) -> None:
    rows = {row["target"]: row for row in split.key_rows()}
    for name, example in examples.items():
        right, *others = example.answers
        assert right.score == "1.00", name
        assert "it is accepted" in right.why
        assert all(float(other.score) < 1 for other in others), name
    assert sum(len(example.answers) > 1 for example in examples.values()) > len(examples) / 2
    assert all(score(row, row["target"]) == 1 for row in rows.values())


def test_marks_and_depths_are_those_of_the_row(examples: dict[str, Example]) -> None:
    for name, example in examples.items():
        marked = [part for part in example.parts if part.kind in ("relevant", "match")]
        assert marked, name
        assert any("depth" in part.note for part in marked) or name in ("bio.icl", "icl.intents"), name
        assert example.needles, name
        assert all(0 <= needle.start <= needle.start + needle.size <= 1 for needle in example.needles), name
        assert example.rule, name


def test_the_page_is_whole_and_well_formed(split: Split, tmp_path: Path) -> None:
    out = tmp_path / "gallery.html"
    done = CliRunner().invoke(cli, ["gallery", str(split.folder), "--out", str(out)])
    assert done.exit_code == 0, done.output
    text = out.read_text(encoding="utf-8")
    assert text == html_of(gallery_page(split))
    tree = ElementTree.fromstring(text.split("\n", 1)[1])
    names = [each.get("id") for each in tree.iter(f"{X}article")]
    links = {each.get("href") for each in tree.iter(f"{X}a")}
    assert names
    assert {f"#{name}" for name in names} <= links
    assert all(each.get("aria-label") for each in tree.iter("{http://www.w3.org/1999/xhtml}svg"))
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_the_gallery_of_the_docs_is_that_of_the_smoke_recipe(root: Path, release: Path) -> None:
    smoke = open_split(release / "o200k")
    page = root / "docs" / "gallery" / "gallery.html"
    assert page.read_text(encoding="utf-8") == html_of(gallery_page(smoke)), "run `make docs-gallery`"
