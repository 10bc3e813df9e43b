"""The size lite: balanced, within its limits, the same rows whoever reads them, and no other headline."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq
import pytest

import carrara
from pipeline.artifacts.lite import LITE, MOST, is_lite, lite_counts, lite_file
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.assemble.row_order import numbered
from pipeline.errors import CorruptError, SplitError
from pipeline.publish.staging import Staged
from pipeline.recipe import Recipe, load_recipe
from pipeline.tasks import known_task, task_of
from pipeline.verify.copy import _lite_faults

LIMITS = {"32k": 10e6, "32k-thinking": 10e6, "128k": 25e6, "128k-thinking": 25e6, "1m": 60e6, "1m-thinking": 60e6}
"""Prompt tokens of lite at most."""
Place = tuple[str, str, int]


def places(recipe: Recipe) -> set[Place]:
    return {(cell.family, cell.subtask, cell.length) for cell in recipe.strata}


def lite_of(recipe: Recipe) -> dict[Place, int]:
    """Return the rows of lite by family, subtask and length."""
    return {
        (family, subtask, length): count * (2 if (task := known_task(family, subtask)) and task.paired else 1)
        for (_, family, subtask, length), count in lite_counts(recipe.tier, places(recipe)).items()
    }


def headline(cells: Iterable[Place], score: Callable[[int], float]) -> float:
    """Return the mean over families of the mean over subtasks of the mean over lengths, in points."""
    means: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for family, subtask, length in cells:
        means[family][subtask].append(score(length))
    return 100 * fmean(fmean(fmean(each) for each in own.values()) for own in means.values())


@pytest.mark.parametrize("name", LIMITS)
def test_it_stays_below_its_limit_and_asks_every_subtask(name: str) -> None:
    recipe = load_recipe(name)
    counts, cells = lite_of(recipe), places(recipe)
    replies = {
        (cell.family, cell.subtask, cell.length): recipe.reserve or task_of(cell).max_new_tokens_of(cell)
        for cell in sorted(recipe.strata, key=lambda cell: -cell.complexity)
    }  # the least room of each: prompts are longest there
    assert sum(count * (place[2] - replies[place]) for place, count in counts.items()) <= LIMITS[name]
    assert {place[:2] for place in counts} == {place[:2] for place in cells}
    assert {place[2] for place in counts} == {place[2] for place in cells}
    assert min(counts.values()) >= 1
    if recipe.tier != "1m":
        assert counts.keys() == cells


@pytest.mark.parametrize("name", ["128k", "1m"])
def test_whoever_reads_up_to_a_length_has_the_same_headline(name: str) -> None:
    recipe = load_recipe(name)
    for most in sorted({cell.length for cell in recipe.strata}):
        whole = headline(places(recipe), lambda length, most=most: float(length <= most))  # type: ignore[misc]
        small = headline(lite_of(recipe), lambda length, most=most: float(length <= most))  # type: ignore[misc]
        assert abs(whole - small) <= (1.0 if name == "1m" else 1e-9)


def test_families_weigh_the_same_and_short_lengths_have_more_rows() -> None:
    counts = lite_of(load_recipe("128k"))
    at = {length: Counter[str]() for length in (8192, 131072)}
    for (family, _, length), count in counts.items():
        if length in at:
            at[length][family] += count
    assert max(at[8192][family] for family in ("icl", "summ", "mrcr", "idk")) <= 2 * min(at[8192].values())
    assert at[8192].total() > 2 * at[131072].total()
    assert max(counts.values()) <= MOST


@pytest.mark.parametrize("family", ["bio", "mrcr"])
def test_it_is_the_same_in_every_size(family: str) -> None:
    recipe = load_recipe("32k")
    counts = lite_counts(recipe.tier, places(recipe))
    found = []
    for size in ("default", "full"):
        sized = recipe.sized(size)
        rows = numbered(sized, sized.of_family(family))
        ids = (
            row.id for row in rows if is_lite(row.id, ("32k", family, row.stratum.subtask, row.stratum.length), counts)
        )
        found.append(set(ids))
    assert found[0] == found[1]
    assert len(found[0]) == sum(count for place, count in lite_of(recipe).items() if place[0] == family)


def test_the_first_rows_of_each_cell_are_read(split: Split) -> None:
    lite = Selection(size=LITE)
    rows = list(split.rows(["id", "family", "subtask", "length"], lite))
    counts = Counter((row["family"], row["subtask"], row["length"]) for row in rows)
    wanted = lite_of(load_recipe("smoke"))
    there = Counter((row["family"], row["subtask"], row["length"]) for row in split.rows(list(ROW)))
    assert counts == {place: min(count, there[place]) for place, count in wanted.items()}
    ids = [row["id"] for row in rows]
    assert [row["id"] for row in split.key_rows(["id"], lite)] == ids
    assert [row["id"] for row in replace(split, size=LITE).rows(["id"])] == ids
    opened = carrara.open_split(split.folder, size="lite")
    assert [row["id"] for row in opened.rows(["id"], Selection(families=("bio",)))] == [
        each for each in ids if each.startswith("bio-")
    ]
    assert sum(1 for _ in split.rows(["id"], Selection(size=LITE, limit=1))) <= len(split.strata)


ROW = ("family", "subtask", "length")


def test_another_size_is_an_error(split: Split) -> None:
    with pytest.raises(SplitError, match="unknown size 'light'"):
        list(split.rows(["id"], Selection(size="light")))
    with pytest.raises(SplitError, match="unknown size 'light'"):
        carrara.open_split(split.folder, size="light")


def test_a_published_split_has_it_as_files(split: Split, inline: Path, apart: Staged) -> None:
    own = list(split.rows(selection=Selection(size=LITE)))
    assert pq.read_table(inline / lite_file("32k")).to_pylist() == own
    shown = pq.read_table(apart.folder / lite_file("32k")).to_pylist()
    assert [row["prompt"] for row in shown] == [row["prompt"] for row in own]
    public = open_split(apart.folder)
    assert [row["id"] for row in public.rows(["id"], Selection(size=LITE))] == [row["id"] for row in shown]
    assert apart.keys
    kept = open_split(apart.keys).key_rows(["id"], Selection(size=LITE))
    assert [row["id"] for row in kept] == [row["id"] for row in shown]
    assert list(_lite_faults(open_split(inline))) == list(_lite_faults(public)) == []


def test_files_of_it_are_all_that_it_needs(inline: Path, split: Split, tmp_path: Path) -> None:
    """Of a published split only they are fetched."""
    copy = tmp_path / "copy"
    for path in inline.rglob("*"):
        if path.is_file() and path.relative_to(inline).parts[0] != "data":
            target = copy / path.relative_to(inline)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(path)
    small = carrara.open_split(copy, size="lite")
    assert small.has_lite_files
    assert not split.has_lite_files
    wanted = Selection(families=("bio",), size=LITE)
    assert list(small.rows(["id", "prompt"], wanted)) == list(split.rows(["id", "prompt"], wanted))
    assert [row["id"] for row in small.rows(["id"])] == [row["id"] for row in small.key_rows(["id"])]
    with pytest.raises(CorruptError):
        list(small.shard_rows(["id"], Selection()))


def test_a_changed_file_of_it_is_found(inline: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for path in inline.rglob("*"):
        if path.is_file() and path.relative_to(inline) != Path(lite_file("32k")):
            target = copy / path.relative_to(inline)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(path)
    (copy / lite_file("32k")).parent.mkdir(parents=True)
    table = pq.read_table(inline / lite_file("32k"))
    pq.write_table(table.slice(1), copy / lite_file("32k"))
    (fault,) = _lite_faults(open_split(copy))
    assert re.fullmatch(r"lite/32k/\S+ differs from the rows of the shards", fault)
