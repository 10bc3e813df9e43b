"""Pages are whole without a network, well-formed whatever models say, the same every time, and say what was scored."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from click.testing import CliRunner, Result

import builds
from pipeline.artifacts.split import Split, open_split
from pipeline.cli import cli
from pipeline.errors import ReportError
from pipeline.figures.style import Picture
from pipeline.report import build_page, html_of, score_page, write_page
from pipeline.report import page as pages
from pipeline.report.curves import reach
from pipeline.report.failures import MAX_SEGMENT_CHARACTERS, MAX_SEGMENTS, folded, lists_of_failures, worst
from pipeline.report.models import QuestionSet, model_of
from pipeline.report.page import Failures, Front, Mark, Page, Verdicts, fit
from pipeline.score.lengths import Curves, difference, effective_length
from pipeline.score.results import Record, Scored
from pipeline.score.scoring import score_predictions
from repository import ROOT

X = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}svg"
RECIPE = """
[[strata]]
family = "bio"
subtasks = ["standard"]
complexity = [1]
lengths = [2048, 4096]
rows = 4

[[strata]]
family = "bio"
subtasks = ["idk"]
complexity = [0, 1]
lengths = [2048, 4096]
rows = 2

[[strata]]
family = "latent_list"
subtasks = ["sum"]
complexity = [1, 5]
lengths = [2048, 4096]
rows = 3
"""
HOSTILE = (
    '</pre></script><script>alert(1)</script><!-- \x00\x1b[31m\u202e\ufffe ]]> & <b onclick="x">\r\n' + "y" * 90000
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    recipe = out / "tiny.toml"
    head = 'release = "tiny"\nversion = "1.0.0"\nseed = 7\ntier = "32k"\n'
    recipe.write_text(head + RECIPE, encoding="ascii")
    builds.stages(recipe, out / "built", ("o200k", "llama3.1")).build()
    return out / "built"


@pytest.fixture(scope="module")
def split(folder: Path) -> Split:
    return open_split(folder / "o200k")


Told = Callable[[int, dict[str, Any]], object]


def predictions(split: Split, path: Path, told: Told) -> Path:
    rows = list(split.key_rows(["id", "family", "target"]))
    said = [{"id": row["id"], "prediction": told(at, row)} for at, row in enumerate(rows)]
    path.write_text("".join(json.dumps(each) + "\n" for each in said), encoding="ascii")
    return path


def right(at: int, row: dict[str, Any]) -> str:
    return str(row["target"])


def hostile(at: int, row: dict[str, Any]) -> object:
    return (right(at, row), HOSTILE, None, "\ud800")[at % 4]


@pytest.fixture(scope="module")
def sets(split: Split, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("sets")
    return {
        "right": predictions(split, out / "right.jsonl", right),
        '<i>&"hostile\x07': predictions(split, out / "hostile.jsonl", hostile),
    }


@pytest.fixture(scope="module")
def page(split: Split, sets: dict[str, Path]) -> Page:
    return score_page(
        [[split]] * len(sets), [score_predictions([split], [path], model=name) for name, path in sets.items()]
    )


@pytest.fixture(scope="module")
def html(page: Page) -> str:
    return html_of(page)


@pytest.fixture(scope="module")
def builds_html(folder: Path) -> str:
    return html_of(build_page([open_split(folder / name) for name in ("llama3.1", "o200k")]))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures empty, since drawing them takes most of a page's time; for tests of what else a page says."""
    monkeypatch.setattr(Picture, "_svg", lambda *_: '<svg width="1pt" height="1pt"></svg>')
    monkeypatch.setattr(Picture, "png", lambda _: b"")


def tree(html: str) -> ElementTree.Element:
    """Parse a page as XML, which lets nothing pass."""
    return ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))


def text(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def table(html: str, caption: str) -> list[list[str]]:
    for each in tree(html).iter(f"{X}table"):
        if text(each.find(f"{X}caption")) == caption:  # type: ignore[arg-type]
            return [[text(cell) for cell in row] for row in each.iter(f"{X}tr")]
    raise AssertionError(caption)


@pytest.mark.parametrize("kind", ["html", "builds_html"])
def test_a_page_is_well_formed_and_asks_for_nothing(kind: str, request: pytest.FixtureRequest) -> None:
    html = request.getfixturevalue(kind)
    whole = tree(html)
    ids = [each.attrib["id"] for each in whole.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))
    links = [value for each in whole.iter() for name, value in each.attrib.items() if re.search("href$|src$", name)]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert set(re.findall(r"url\(([^)]*)\)", html)) <= {f"#{name}" for name in ids}
    assert not re.search(r"@import|<link|<img|<iframe|<object|<base", html)
    outside = set(re.findall(r'https?://[^"\s<]+', html))
    assert outside <= {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.mark.parametrize("kind", ["html", "builds_html"])
def test_a_page_can_be_heard_and_walked_by_key(kind: str, request: pytest.FixtureRequest) -> None:
    whole = tree(request.getfixturevalue(kind))
    assert whole.attrib["lang"] == "en"
    pictures = list(whole.iter(SVG))
    assert pictures
    assert all(picture.attrib["role"] == "img" and len(picture.attrib["aria-label"]) > 40 for picture in pictures)
    figures = list(whole.iter(f"{X}figure"))
    fronts = [each for each in figures if each.get("class") == "front"]
    assert all(each.find(f"{X}figcaption") is not None for each in figures)
    assert len(figures) == len(pictures) - len(fronts), "the first figure is drawn for a desk and for a phone"
    assert all(each.find(f"{X}caption") is not None for each in whole.iter(f"{X}table"))
    assert all(cell.attrib["scope"] in ("row", "col") for cell in whole.iter(f"{X}th"))
    for each in whole.iter(f"{X}div"):
        if each.find(f"{X}table") is not None:
            assert each.attrib["tabindex"] == "0"
            assert each.attrib["aria-label"]
    heads = [int(each.tag[-1]) for each in whole.iter() if re.fullmatch(r".*\}h[1-4]", str(each.tag))]
    assert heads[0] == 1
    assert heads.count(1) == 1
    assert all(later <= sooner + 1 for sooner, later in pairwise(heads))


def test_nothing_that_a_model_says_becomes_markup(html: str) -> None:
    whole = tree(html)
    scripts = list(whole.iter(f"{X}script"))
    assert len(scripts) == 1
    assert "alert" not in text(scripts[0])
    assert not list(whole.iter(f"{X}b")) + list(whole.iter(f"{X}i"))
    shown = text(whole)
    assert "<script>alert(1)</script><!-- <U+0000><U+001B>[31m<U+202E><U+FFFE> ]]> &" in shown
    assert "<U+D800>" in shown
    assert '<i>&"hostile<U+0007>' in shown
    assert "yyy\n[... " in html
    assert len(html) < 700_000
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe]", html)


def test_the_script_of_the_page_is_the_only_one_that_may_run(html: str) -> None:
    script = html[html.index("<script>") + 8 : html.index("</script>")]
    seal = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(each for each in tree(html).iter(f"{X}meta") if "http-equiv" in each.attrib).attrib["content"]
    assert f"script-src 'sha256-{seal}'" in policy
    assert policy.startswith("default-src 'none'")


def test_scores_are_those_of_scoring(html: str, split: Split) -> None:
    head, *rows = table(html, "Scores by family, %")
    assert head[:2] == ["family", "rows"]
    found = {row[0]: row[1:] for row in rows}
    assert list(found) == ["bio", "latent_list", "headline"]
    assert found["bio"][0] == "16"
    assert re.fullmatch(r"100\.0 \(\d\d\.\d to 100\.0\)", found["latent_list"][1])
    assert found["bio"][2] != found["bio"][1]
    lengths = table(html, "latent_list: score by length, %")
    assert [row[:2] for row in lengths[1:]] == [["2K", "6"], ["4K", "6"]]
    counts = table(html, "Rows and replies")
    right, hostile = (dict(zip(counts[0], row, strict=True)) for row in counts[1:])
    assert [right[name] for name in ("rows", "answered", "missing", "cut off", "predictions")] == [
        "28",
        "28",
        "0",
        "0",
        "28",
    ]
    assert hostile["answered"] == "21"
    assert int(hostile["empty"]) + int(hostile["unusable"]) == 7


@pytest.fixture(scope="module")
def both(split: Split, sets: dict[str, Path]) -> list[Scored]:
    return [score_predictions([split], [path], model=name) for name, path in sets.items()]


def test_the_first_screen_says_how_far_each_model_reads(page: Page, both: list[Scored]) -> None:
    verdicts, front = page.sections[0].blocks[1:3]
    assert isinstance(verdicts, Verdicts)
    assert isinstance(front, Front)
    found = [effective_length(Curves(each).curve()) for each in both]
    assert [each.length for each in found] == [4096, 0]
    assert [each.text for each in verdicts.rows] == ["at least 4K", "below 2K"]
    assert verdicts.rows[0].evidence == "100.0% at 2K, 100.0% at 4K"
    assert front.wide.alt == front.narrow.alt
    assert "right: 100.0% at 2K, 100.0% at 4K." in front.wide.alt


def test_numbers_behind_curves_are_those_of_scoring(html: str, both: list[Scored]) -> None:
    for place, caption in (
        ({"family": "bio"}, "bio: score by length, %"),
        ({"family": "bio", "subtask": "standard"}, "bio.standard: score by length, %"),
    ):
        curves = [Curves(each).curve(place) for each in both]
        for at, row in enumerate(table(html, caption)[1:]):
            points = [curve.points[at] for curve in curves]
            assert row[:2] == [f"{points[0].length // 1024}K", str(points[0].rows)]
            for point, said in zip(points, row[2:4], strict=True):
                told = f"{100 * point.mean:.1f} ({100 * point.low:.1f} to {100 * point.high:.1f})"
                assert said.startswith(told)
                assert said.endswith("answered") == (point.answered < point.rows)


def test_differences_on_the_page_are_those_of_scoring(html: str, both: list[Scored]) -> None:
    found = difference(both[1], both[0])
    row = table(html, "Differences over all rows, points")[1]
    assert row[0] == 'right minus <i>&"hostile<U+0007>'
    assert row[1] == str(found.rows)
    assert row[2] == f"{100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
    assert row[3:] == [str(found.better), str(found.worse), str(found.rows - found.better - found.worse)]


def test_always_refusing_is_one_constant_reply(html: str) -> None:
    """The last number in a program is a guess too, and both stand beside the scores."""
    head, *rows = table(html, "Scores by subtask, %")
    thumbs = {row[0]: row[-1] for row in rows}
    assert head[-1] == "best naive baseline"
    assert re.match(r"(last number|initial) \d+\.\d", thumbs["latent_list.sum"])


@pytest.mark.usefixtures("undrawn")
def test_simulated_readers_are_drawn_beside_models(folder: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    readings = tmp_path / "readings"
    readings.mkdir()
    for name in ("all", "blind"):
        shutil.copy(sets["right"], readings / f"{name}.jsonl")
    out = tmp_path / "page.html"
    seen = invoke(folder / "o200k", f"m={sets['right']}", "--baselines", readings, "--threshold", 0.5, "--out", out)
    assert seen.exception is None, seen.output
    html = out.read_text(encoding="utf-8")
    assert table(html, "bio: score by length, %")[0] == [
        "length",
        "rows",
        "\u25cf m",
        "chance",
        "best constant",
        "blind",
    ]
    assert "keeps 50% of its score" in html
    twice = ["--baselines", readings, "--baselines", readings / "blind.jsonl"]
    seen = invoke(folder / "o200k", f"m={sets['right']}", *twice, "--out", out)
    assert "two simulated readers are called 'blind'" in str(seen.exception)


@pytest.mark.usefixtures("undrawn")
def test_a_model_that_was_never_asked_long_rows_has_a_gap_there(split: Split, both: list[Scored]) -> None:
    short = [record for record in both[0].records if record.length == 2048]
    less = Scored("less", both[0].split, "o200k", {}, (), tuple(short), (), {"rows": len(short)},
                  {"date": "2026-11-20", "temperature": "0"}, {"longer than --max-length 2048": 14})  # fmt: skip
    html = html_of(score_page([[split]] * 2, [both[0], less]))
    rows = table(html, "bio: score by length, %")
    assert [row[0] for row in rows[1:]] == ["2K", "4K"]
    assert rows[2][3] == "not asked"
    assert "not asked at 4K" in html
    assert "less: 14 rows not sent (longer than --max-length 2048)." in html
    assert ["date", "not recorded", "2026-11-20"] in table(html, "Settings of the runs")


def test_odd_sets_of_replies_have_a_page_too(split: Split, both: list[Scored]) -> None:
    """A model without replies, models asked nothing in common, and a single length."""
    silent = replace(both[0], records=tuple(replace(each, state="missing", score=0.0) for each in both[0].records))
    page = score_page([[split]], [silent])
    assert [each.text for each in page.sections[0].blocks[1].rows] == ["too few replies"]
    parts = [
        replace(both[0], model=family, records=tuple(each for each in both[0].records if each.family == family))
        for family in ("bio", "latent_list")
    ]
    page = score_page([[split]] * len(parts), parts)
    assert page.sections[0].blocks[0].text.startswith("These models were asked no subtask in common")
    assert "length" not in [section.key for section in page.sections]
    one = replace(both[0], records=tuple(each for each in both[0].records if each.length == 4096))
    blocks = score_page([[split]], [one]).sections[0].blocks
    assert blocks[0].text.endswith("All rows have one length, so this is only a bound: run longer rows too.")
    assert blocks[1].rows[0].text == "at least 4K"


def test_each_family_has_its_figures(page: Page) -> None:
    names = [picture.name for picture in page.pictures]
    assert len(names) == len(set(names))
    assert {"length-all", "length-all-narrow", "length-bio-idk", "difference-1"} <= set(names)
    assert {"length-bio", "length-latent_list", "complexity-latent_list-1", "complexity-latent_list-5"} <= set(names)
    assert {"cumulative-all", "cumulative-bio", "cumulative-latent_list", "depth-bio-1", "depth-bio-2"} <= set(names)
    alts = {picture.name: picture.alt for picture in page.pictures}
    assert "right: 100.0% at 2K, 100.0% at 4K." in alts["length-bio"]
    assert "chance: " in alts["length-bio"]


def test_failures_are_of_models_that_failed(page: Page, split: Split) -> None:
    blocks = next(section for section in page.sections if section.key == "failures").blocks
    listed = [block.rows for block in blocks if isinstance(block, Failures)]
    shown = [row for rows in listed for row in rows]
    assert 4 <= len(shown) <= 8
    lengths = [[row.facts.split(", ")[1] for row in rows] for rows in listed]
    assert lengths == [sorted(some, reverse=True) for some in lengths], "longest first"
    assert all(some[0] == "4K" for some in lengths)
    targets = {row["id"]: row["target"] for row in split.key_rows(["id", "target"])}
    for row in shown:
        assert row.expected == targets[row.row_id]
        assert [reply.score for reply in row.replies] == ["1.00", "0.00"]
        assert {"relevant", "folded", "question"} <= {part.kind for part in row.parts}


def record(number: int, subtask: str, **changed: Any) -> Record:
    values = {
        "id": f"bio-{subtask}-{number}", "family": "bio", "subtask": subtask, "tier": "32k", "bucket": "32k",
        "length": 2048, "context_tokens": 2048, "complexity": 1, "scorer": "exact", "subset": "x", "depth": None,
        "kind": "", "pair": "", "state": "answered", "score": 0.0, "alone": 0.0, "prediction": "no", "target": "yes",
        "question": "which?",
    }  # fmt: skip
    return Record(**{**values, **changed})


def test_the_worst_are_of_both_ends_longest_first_and_of_several_subtasks() -> None:
    rows = [record(at, "one", length=2048 << at) for at in range(4)] + [record(7, "two", alone=0.5)]
    rows += [record(5, "one"), record(8, "three", state="missing"), record(9, "four", alone=1.0)]
    assert [each.id for each in worst(rows, 3)] == ["bio-one-3", "bio-one-2", "bio-one-0"]
    assert [each.id for each in worst(rows, 5)][-2:] == ["bio-one-0", "bio-two-7"]


def test_failed_rows_are_listed_from_all_lengths_longest_first() -> None:
    rows = [record(at, "one", length=2048 << at % 4, id=f"bio-one-{at:03}") for at in range(120)]
    scored = Scored("m", "made", "o200k", {}, (), tuple(rows), (), {})
    listed = lists_of_failures([model_of(Mark("m", 0), scored)])["bio"]
    lengths = [row[2] for row in listed.rows]
    assert lengths == ["16K"] * 10 + ["8K"] * 10 + ["4K"] * 10 + ["2K"] * 10
    assert listed.caption == "bio: 40 of 120 rows on which a model scored less than 1, longest first"


def test_a_long_prompt_is_folded() -> None:
    line, needle = "filler line of some length\n", "n" * 5000 + "\n"
    prompt, needles = "", []
    for _ in range(MAX_SEGMENTS + 20):
        prompt += line * 200
        needles.append({"role": "match", "char_start": len(prompt), "char_end": len(prompt) + 5001, "depth": 0.5})
        prompt += needle
    needles = [{**each, "token_start": 1, "token_end": 9} for each in needles]
    row = {"prompt": prompt + "Which?", "needles": needles, "question_start": len(prompt)}
    parts = list(folded(row))
    assert sum(part.kind == "match" for part in parts) == MAX_SEGMENTS
    assert parts[-1].text == "Which?"
    assert parts[-2].note.startswith("20 more segments")
    assert sum(len(part.text) for part in parts) < MAX_SEGMENTS * (MAX_SEGMENT_CHARACTERS + 700)


def test_the_same_input_gives_the_same_bytes(folder: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    """In this process, and in one with another hash seed and time zone."""
    given = [f"{label}={path}" for label, path in zip("ab", sets.values(), strict=True)]
    assert invoke(folder / "o200k", *given, "--out", tmp_path / "1.html").exception is None
    elsewhere = {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo"}
    seen = builds.run("report", folder / "o200k", *given, "--out", tmp_path / "2.html", small=False, env=elsewhere)
    assert seen.returncode == 0, seen.stderr
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["1.html", "2.html"]


def test_a_build_report_has_every_tokenizer(builds_html: str) -> None:
    totals = table(builds_html, "Rows and tokens by tokenizer")
    assert [row[:2] for row in totals[1:]] == [["llama3.1", "28"], ["o200k", "28"]]
    for name in ("llama3.1", "o200k"):
        budgets = table(builds_html, f"Mean tokens of a row by length, {name}")
        assert budgets[0] == ["length", "prompt", "template", "reply", "window"]
        for row, window in zip(budgets[1:], (2048, 4096), strict=True):
            parts = [float(cell.replace(",", "")) for cell in row[1:]]
            assert sum(parts[:3]) == pytest.approx(window, abs=0.2)
            assert parts[3] == window
    assert ["bio.standard", "32k", "1", "0", "64", "2K to 4K", "8"] in table(builds_html, "Strata by subtask")
    assert table(builds_html, "What guessers score, %")[0][:4] == [
        "family and subtask", "complexity", "rows", "best constant",
    ]  # fmt: skip


def invoke(*args: object) -> Result:
    return CliRunner().invoke(cli, ["--debug", "report", *map(str, args)])


def test_a_folder_gets_a_page_and_its_figures(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page"
    seen = invoke(folder, "--out", out)
    assert seen.exception is None, seen.output
    assert seen.output.strip() == str(out / "index.html")
    names = {path.name for path in (out / "figures").iterdir()}
    assert {"strata.svg", "strata.png", "budgets-o200k.svg", "budgets-llama3.1.png"} <= names
    for path in sorted((out / "figures").glob("*.svg")):
        ElementTree.parse(path)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (out / "figures").glob("*.png"))


@pytest.mark.usefixtures("undrawn")
def test_a_folder_of_an_earlier_report_is_brought_up_to_date_and_no_other(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page"
    assert invoke(folder / "o200k", "--out", out).exception is None
    (out / "figures" / "old.svg").write_text("old", encoding="ascii")
    assert invoke(folder / "o200k", "--out", out).exception is None
    assert not (out / "figures" / "old.svg").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine", encoding="ascii")
    with pytest.raises(ReportError, match="holds other files"):
        write_page(Page("t", "s", [], []), other)
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


@pytest.mark.usefixtures("undrawn")
def test_a_report_that_was_interrupted_is_written_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, write = tmp_path / "page", pages._written

    def cut(path: Path, content: bytes) -> Path:
        if path.suffix == ".png":
            raise KeyboardInterrupt
        return write(path, content)

    page = build_page([open_split(folder / "o200k")])
    monkeypatch.setattr(pages, "_written", cut)
    with pytest.raises(KeyboardInterrupt):
        write_page(page, out)
    monkeypatch.undo()
    assert list((out / "figures").iterdir())
    assert write_page(page, out) == out / "index.html"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("{right}", "{right}"), "two models are called 'right': name them with NAME=PREDICTIONS"),
        (("{right}", "--quirk", "mrcr=ends"), "--quirk"),
        (
            ("--limit", "2"),
            "options that choose rows, --quirk, --stack, --split, --export and --baselines need PREDICTIONS",
        ),
        (
            tuple(f"{name}={{right}}" for name in "abcdefg"),
            "7 models are too many for one page, whose figures can show 6",
        ),
        (("gone.jsonl",), "'gone.jsonl' does not exist"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    folder: Path, sets: dict[str, Path], tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    given = [arg.format(right=sets["right"]) for arg in args]
    seen = invoke(folder / "o200k", *given, "--out", tmp_path / "page")
    assert said in str(seen.exception)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("undrawn")
def test_what_is_wrong_is_said_on_stderr_too(folder: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    seen = invoke(folder / "o200k", f"model={sets[list(sets)[1]]}", "--limit", 2, "--out", tmp_path / "page.html")
    assert seen.exception is None, seen.output
    assert "model: " in seen.stderr
    assert "with an empty reply, scored 0" in seen.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.usefixtures("undrawn")
def test_a_page_names_files_and_no_folders(folder: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.jsonl").write_text('{"id": "none", "prediction": "x"}\n', encoding="ascii")
    given = [f"{name}={tmp_path / name / 'm.jsonl'}" for name in ("one", "two")]
    done = invoke(folder / "o200k", *given, f"x={sets['right']}", "--out", tmp_path / "x.html", "--length", 2048)
    assert done.exit_code == 0, done.stderr
    html = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in html
    assert ">one/m.jsonl:1: the split has no row" in html
    assert f"{sets['right'].name}: it is unknown for which tokenizer" in html


@pytest.mark.usefixtures("undrawn")
def test_without_prompts_at_hand_the_page_says_so(folder: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    keys = tmp_path / "keys-only"
    shutil.copytree(folder / "o200k", keys, ignore=shutil.ignore_patterns("data", "counts", "proofs"))
    out = tmp_path / "page.html"
    assert invoke(keys, f"m={sets[list(sets)[1]]}", "--out", out).exception is None
    assert "The prompts are not shown" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "shown"),
    [("a\tb\r\nc", "a\tb\nc"), ("\x9b\u2066", "<U+009B><U+2066>"), ("\u00e9\U0001f600", "\u00e9\U0001f600")],
)
def test_unfit_characters_are_written_out(given: str, shown: str) -> None:
    assert fit(given) == shown


def told_prompts(split: Split, path: Path, told: Told) -> Path:
    """Write predictions that hold the digests of the prompts, as a run does."""
    found = []
    for at, row in enumerate(split.key_rows(["id", "family", "target", "metadata"])):
        digest = json.loads(row["metadata"])["prompt_sha256"]
        found.append({"id": row["id"], "prediction": told(at, row), "prompt_sha256": digest})
    path.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="ascii")
    return path


@pytest.fixture(scope="module")
def models(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return two models that were asked in the windows of two tokenizers, one of them right in every second row."""
    out = tmp_path_factory.mktemp("models")
    own = told_prompts(open_split(folder / "o200k"), out / "good.jsonl", right)
    half = told_prompts(
        open_split(folder / "llama3.1"), out / "half.jsonl", lambda at, row: right(at, row) if at % 2 else "zebra"
    )
    return [f"good={own}", f"half={half}"]


def command(name: str, *arguments: object) -> Result:
    return CliRunner().invoke(cli, [name, *(str(each) for each in arguments)])


@pytest.mark.parametrize(
    "given", [["{0}"], ["{0}/o200k", "--split", "{0}/llama3.1"], ["{0}/o200k", "--split", "half={0}/llama3.1"]]
)
def test_models_of_several_tokenizers_are_scored_side_by_side(
    folder: Path, models: list[str], given: list[str]
) -> None:
    where, *more = (each.format(folder) for each in given)
    done = command("score", where, *models, *more)
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert any(line.startswith("good o200k 4,096") for line in lines), done.stdout
    assert any(line.startswith("half llama3.1 4,096") for line in lines)
    assert any(line.startswith("good minus half ") for line in lines)
    found = json.loads(command("score", where, *models, *more, "--json").stdout)
    alone = json.loads(command("score", folder / "llama3.1", models[1].partition("=")[2], "--json").stdout)
    assert found["models"][1]["overall"] == alone["overall"], "the headline is that of the model alone"
    [one] = found["differences"]
    assert (one["second"], one["first"], one["rows"]) == ("good", "half", found["models"][0]["counts"]["rows"])
    assert one["mean"] == pytest.approx(1 - found["models"][1]["overall"]["mean"], abs=1e-5)
    schema = json.loads((ROOT / "schemas" / "comparison.schema.json").read_text(encoding="ascii"))
    jsonschema.validate(found, schema)


@pytest.mark.usefixtures("undrawn")
def test_a_report_of_several_tokenizers_compares_them(folder: Path, models: list[str], tmp_path: Path) -> None:
    done = command("report", folder, *models, "--out", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "tokenizers o200k, llama3.1" in text(tree(html))
    assert table(html, "Settings of the runs")[1:3] == [
        ["tokenizer of the prompts", "o200k", "llama3.1"],
        ["largest window, tokens", "4,096", "4,096"],
    ]
    assert table(html, "Differences over all rows, points")[1][0] == "good minus half"


def test_which_tokenizer_was_asked_is_never_guessed(
    folder: Path, models: list[str], split: Split, tmp_path: Path
) -> None:
    path = predictions(split, tmp_path / "plain.jsonl", right)
    assert "nothing tells which tokenizer's prompts" in command("score", folder, path).stderr
    assert command("score", folder, f"plain={path}", "--split", f"plain={folder / 'o200k'}").exit_code in (0, 2)
    wrong = command("score", folder / "o200k", models[1], "--split", f"nobody={folder / 'llama3.1'}")
    assert "no predictions are called 'nobody'" in wrong.stderr
    both = [each.partition("=")[2] for each in models]
    assert "name each model with NAME=" in command("score", folder, *(f"one={each}" for each in both)).stderr


def test_rows_are_counted_over_all_models() -> None:
    """The first model was asked more at 2K, and nothing at 4K."""
    asked = {"a": (2048, 2048, 2048), "b": (2048, 2048, 4096, 4096)}
    models = []
    for place, (name, lengths) in enumerate(asked.items()):
        rows = [record(at, "one", length=length, id=f"bio-one-{length}-{at}") for at, length in enumerate(lengths)]
        models.append(model_of(Mark(name, place), Scored(name, "made", "o200k", {}, (), tuple(rows), (), {})))
    (front,) = [block for block in reach(QuestionSet(models, {}, 0.85)) if isinstance(block, Front)]
    assert "asked at every length from 2K to 4K (2 to 3 rows at each length)" in front.text
