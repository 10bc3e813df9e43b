"""Figures say what the manifest says, without colour, and give the same bytes whatever the machine is set to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import msgspec
import pytest

import handmade
from pipeline.artifacts.manifest import Manifest
from pipeline.errors import ReportError
from pipeline.figures import figures_of, style
from pipeline.figures.builds import budgets_of, shade
from pipeline.figures.scores import Gap, Guess, Heat, Line, Point, curve_picture, difference_picture, heat_picture
from pipeline.figures.style import PANEL, WIDE, short, spaced

SVG = "{http://www.w3.org/2000/svg}"


def stratum(family: str, length: int, rows: int, reply: int) -> dict[str, Any]:
    window = 128000 if length == 131072 else length
    return {
        "family": family, "subtask": "one", "length": length, "complexity": 1, "rows": rows, "shots": 0,
        "context_tokens": window, "max_new_tokens": reply, "task_version": 1, "knobs": {},
    }  # fmt: skip


def manifest(depths: bool = True, budgets: Sequence[dict[str, Any]] = ()) -> Manifest:
    first = [stratum("bio", 2048, 6, 64), stratum("mrcr", 2048, 2, 640), stratum("bio", 32768, 3, 64)]
    last = [stratum("bio", 131072, 5, 64), stratum("mrcr", 131072, 7, 640)]
    told = {"depths": {"bio": [3, 1, 2, 2, 2, 2, 2, 2, 2, 2], "mrcr": [1] * 10}} if depths else {}
    tiers = {
        tier: handmade.tier(cells, [handmade.shard(f"bio/{tier}/test-00000-of-00001")], **told, budgets=spent)
        for tier, cells, spent in zip(("32k", "128k"), (first, last), budgets or (None, None), strict=True)
    }
    return msgspec.convert(handmade.manifest(tiers), Manifest)


def curve(*labels: str, name: str = "curve") -> style.Picture:
    points = [Point(2048, 0.8, 0.7, 0.9, 12), Point(8192, 0.5, 0.4, 0.6, 12)]
    lines = [Line(label, at, points) for at, label in enumerate(labels)]
    return curve_picture(name, "bio", "A caption.", lines, [Guess("chance", 0, {2048: 0.25, 8192: 0.25})])


def words(svg: str) -> list[str]:
    return ["".join(each.itertext()).strip() for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_build_has_three_figures_that_say_their_numbers() -> None:
    pictures = figures_of(manifest())
    assert list(pictures) == ["strata", "depths", "budgets"]
    assert "Tier 32k: 11 rows from 2K to 32K: bio 9, mrcr 2." in pictures["strata"].alt
    assert "Tier 128k: 12 rows at 128K: bio 5, mrcr 7." in pictures["strata"].alt
    assert "bio: 40 needles, 5.0% to 15.0% in each tenth" in pictures["depths"].alt
    shown = words(pictures["strata"].inline())
    assert {"tier 32k", "tier 128k", "bio", "mrcr", "2K", "32K", "128K", "6", "2", "3", "5", "7"} <= set(shown)
    assert all(picture.caption and picture.alt for picture in pictures.values())


def test_without_depths_there_is_no_figure_of_them() -> None:
    assert list(figures_of(manifest(depths=False))) == ["strata", "budgets"]


def test_budgets_add_to_the_window() -> None:
    known = budgets_of(manifest().tiers.values())
    assert {length: sum(parts.values()) for length, parts in known.items()} == {
        2048: 2048,
        32768: 32768,
        131072: 128000,
    }
    assert known[2048] == {"prompt and template": (6 * 1984 + 2 * 1408) / 8, "reply": (6 * 64 + 2 * 640) / 8}
    first = {"2048": {"prompt": 14600, "template": 120, "reply": 1664}, "32768": dict.fromkeys(PARTS, 3)}
    told = manifest(budgets=[first, {"131072": dict.fromkeys(PARTS, 12)}])
    assert budgets_of(told.tiers.values())[2048] == {"prompt": 1825, "template": 15, "reply": 208}


PARTS = ("prompt", "template", "reply")


def test_files_are_the_same_whatever_the_machine_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    first = {name: (picture.svg(), picture.png(), picture.inline()) for name, picture in figures_of(manifest()).items()}
    with mpl.rc_context({"font.size": 31, "svg.hashsalt": "other", "axes.facecolor": "red", "lines.linewidth": 9}):
        style._defaults.cache_clear()
        again = figures_of(manifest())
        assert {name: (one.svg(), one.png(), one.inline()) for name, one in again.items()} == first
        assert mpl.rcParams["font.size"] == 31
    svg = first["strata"][0]
    assert "<text" not in svg
    assert not re.search(r"dc:date|Matplotlib v|20\d\d-\d\d", svg)


def test_no_figure_of_the_process_is_touched() -> None:
    curve("a").svg()
    from matplotlib import _pylab_helpers

    assert not _pylab_helpers.Gcf.figs


def test_inline_figures_have_ids_of_their_own_and_style_nothing_else() -> None:
    page = curve("a", name="one").inline() + curve("a", name="two").inline()
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 4
    used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page)
    assert {one or other for one, other in used} <= set(ids)
    assert "<style" not in page
    assert "<metadata" not in page
    assert not re.search(r"(?:width|height)=\"[\d.]+pt\"", page)
    assert "var(--s0, #0067a8)" in page


def test_lines_are_told_apart_without_colour() -> None:
    figure = curve("a", "b", "c", "d", "e", "f").figure
    lines = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert len({line.get_marker() for line in lines}) == len(lines) == 6
    assert len({str(line._dash_pattern) for line in lines}) == 6
    shares = [
        0.2126 * int(c[1:3], 16) + 0.7152 * int(c[3:5], 16) + 0.0722 * int(c[5:], 16) for c in map(shade, (0, 0.5, 1))
    ]
    assert shares == sorted(shares, reverse=True)


def test_every_series_is_legible_on_white() -> None:
    for color in (*style.SERIES, style.INK, style.SOFT):
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        light = sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        assert 1.05 / (light + 0.05) >= 4.5, color


@pytest.mark.parametrize("label", ["$x^{2$", "<b>&amp;</b>", "\u6a21\u578b", "a" * 400, "=cmd"])
def test_a_label_is_only_ever_text(label: str) -> None:
    picture = curve(label)
    assert short(label) in " ".join(words(picture.inline()))
    ElementTree.fromstring(picture.svg())
    assert label in ElementTree.fromstring(picture.inline()).attrib["aria-label"]


def test_labels_keep_apart_and_stay_inside() -> None:
    places = spaced([0.0, 0.01, 0.02, 0.97, 0.99, 1.0])
    assert all(later - sooner >= PANEL.apart - 1e-6 for sooner, later in pairwise(places))
    assert 0 <= places[0] <= places[-1] <= 1
    assert spaced([0.2, 0.5]) == [0.2, 0.5]


def test_a_curve_and_a_heat_map_say_their_ends() -> None:
    assert "model: 80.0% at 2K, 50.0% at 8K. chance: 25.0% at 2K, 25.0% at 8K." in curve("model").alt
    cells = [Heat(2048, 0, 1.0, 0.86, 1.0, 25), Heat(4096, 1, 0.25, 0.0, 0.75, 3)]
    picture = heat_picture("heat", "model", "A caption.", cells, ["0.0-0.5", "0.5-1.0"])
    assert "highest 100.0% at 2K and depth 0.0-0.5, lowest 25.0% at 4K and depth 0.5-1.0" in picture.alt
    shown = [word for word in words(picture.inline()) if re.fullmatch(r"[\d-]+", word)]
    assert shown == ["100", "86-100", "-", "-", "25"]
    assert "n=3" in words(picture.inline())
    assert "1 of 2 cells have fewer than 5 rows or an interval of 40 points" in picture.alt
    filled = [
        patch for patch in picture.figure.axes[0].patches if mpl.colors.to_hex(patch.get_facecolor()) != style.PAPER
    ]
    assert len(filled) == 1, "a cell that is unsure has no colour"


def test_a_length_with_few_replies_is_a_gap_with_its_count_and_some_missing_make_a_mark_hollow() -> None:
    points = [Point(2048, 0.9, 0.8, 1, 20), Point(4096, 0.8, 0.7, 0.9, 20, 15), Point(8192, None, None, None, 20, 3)]
    points.append(Point(16384, 0.4, 0.3, 0.5, 20))
    picture = curve_picture("gap", "bio", "A caption.", [Line("model", 0, points, reach=4096)])
    drawn = next(line for line in picture.figure.axes[0].lines if len(line.get_xdata()) == 4)
    assert [str(value) for value in drawn.get_ydata()] == ["90.0", "80.0", "nan", "40.0"]
    assert [line.get_xdata()[0] for line in picture.figure.axes[0].lines if line.get_linestyle() == "None"] == [
        4096
    ] * 2
    assert "\u25cf 3/20" in words(picture.inline())
    assert "model: at 8K 3 of 20 rows have a reply." in picture.alt
    never = Point(4096, None, None, None, 0)
    skipped = curve_picture("skipped", "bio", "A caption.", [Line("m", 0, [points[0], never, points[-1]])])
    assert "\u25cf not asked" in words(skipped.inline())
    ended = curve_picture("ended", "bio", "A caption.", [Line("m", 0, [points[0], never]), Line("n", 1, points)])
    assert "not asked" not in words(ended.inline())


def test_simulated_readers_are_grey_lines_told_apart_by_dash_and_name() -> None:
    names = ["chance", "best constant", "passage", "half-name", "last-match", "forgets", "no-context", "first32k"]
    guesses = [Guess(name, at, {2048: 0.1 * at, 4096: 0.1}) for at, name in enumerate(names)]
    line = Line("m", 0, [Point(2048, 0.9, 0.8, 1, 9), Point(4096, 0.9, 0.8, 1, 9)])
    picture = curve_picture("grey", "bio", "A caption.", [line], guesses, size=WIDE)
    grey = [each for each in picture.figure.axes[0].lines if each.get_color() == style.SOFT]
    assert len({str(each._dash_pattern) for each in grey}) == len(grey) == 8
    assert set(names) <= set(words(picture.inline()))


def test_differences_say_their_numbers_and_are_filled_where_they_are_significant() -> None:
    gaps = [Gap("all", 0.125, 0.05, 0.2), Gap("bio", -0.1, -0.3, 0.1)]
    picture = difference_picture("difference", "b minus a", "A caption.", gaps)
    assert "all +12.5 (+5.0 to +20.0); bio -10.0 (-30.0 to +10.0)" in picture.alt
    assert {"all", "bio", "+12.5", "-10.0"} <= set(words(picture.inline()))
    marks = [line for line in picture.figure.axes[0].lines if line.get_marker() in ("D", "o")]
    assert [line.get_color() == style.INK for line in marks] == [True, False]


def test_one_length_is_a_figure_too() -> None:
    line = Line("model", 0, [Point(2048, 0.5, 0.5, 0.5, 1)])
    assert "model: 50.0% at 2K." in curve_picture("one", "bio", "A caption.", [line]).alt


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ReportError, match=re.escape("pip install '.[report]'")):
        figures_of(manifest())
