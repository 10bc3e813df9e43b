"""Means, weights and intervals: made-up numbers whose answers are worked out by hand, or known by construction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handmade
from pipeline.artifacts.split import Split, open_split
from pipeline.errors import PredictionsError
from pipeline.metrics import headline
from pipeline.score.cells import Tables
from pipeline.score.intervals import Resampler, Units
from pipeline.score.results import Cell, Fault, Record, Scored
from pipeline.score.scoring import score_predictions
from pipeline.score.views import fault_lines, page
from pipeline.streams import stream


def record(number: int, value: float, **given: object) -> Record:
    """Return a record of family f, subtask s in the 32k bucket of the 32k tier, but for what is given."""
    usual: dict[str, Any] = {"family": "f", "subtask": "s", "tier": "32k", "bucket": "32k", "length": 2048}
    usual |= {"context_tokens": 2048, "complexity": 1, "scorer": "exact", "depth": None, "kind": "", "pair": ""}
    usual |= {"state": "answered", "alone": value, "prediction": "", "target": "", "question": ""}
    usual |= {"baselines": {"uniform": 0.25}, **given}
    usual.setdefault("subset", f"tag {usual['tier']}")
    return Record(id=f"{usual['family']}-{usual['tier']}-{usual['length']}-{number}", score=value, **usual)


def tables(records: Iterable[Record]) -> Tables:
    return Tables(Scored("m", "made", "o200k", {}, (), tuple(records), (), {}))


def stacked() -> list[Record]:
    """Return three tiers: 2K rows in all of them, 64K rows in two, 512K rows in one."""
    return [
        *[record(at, value, tier="32k", length=2048) for at, value in enumerate([1.0, 1.0])],
        *[record(at, value, tier="128k", length=2048) for at, value in enumerate([1.0, 0.0])],
        *[record(at, value, tier="1m", length=2048) for at, value in enumerate([0.0, 0.0])],
        *[record(at, value, tier="128k", bucket="128k", length=65536) for at, value in enumerate([1.0, 0.0])],
        *[record(at, value, tier="1m", bucket="128k", length=65536) for at, value in enumerate([0.0, 0.0])],
        *[record(at, value, tier="1m", bucket="1m", length=524288) for at, value in enumerate([0.5, 0.0])],
    ]


def test_the_cumulative_average_divides_each_bucket_by_how_often_it_is_stacked() -> None:
    found = tables(stacked())
    assert sorted(set(found.weights.values())) == [1 / 3, 1 / 2, 1.0]
    points = {cell.place["up_to"]: cell.mean for cell in found.cumulative("family")}
    short, middle, long = 3 * (1 / 3), 1 * (1 / 2), 0.5
    assert points[2048] == pytest.approx(short / 2)
    assert points[65536] == pytest.approx((short + middle) / (2 + 2))
    assert points[524288] == pytest.approx((short + middle + long) / (2 + 2 + 2))
    assert [cell.mean for cell in found.by("length")] == pytest.approx([0.5, 0.25, 0.25])


def test_pages_go_into_detail_where_it_is_asked_for() -> None:
    found = Tables(replace(tables(stacked()).scored, counts=Counter(rows=12)))
    more = ("mean by complexity", "mean by depth", "cumulative average score up to length")
    assert "mean by length" in page(found)
    assert not any(title in page(found) for title in more)
    assert all(title in page(found, detailed=True) for title in more)


def test_what_a_server_says_of_many_rows_is_told_once() -> None:
    faults = [Fault("refused", f"bio-{at}: you asked for {at} tokens") for at in range(30)]
    faults += [Fault("refused", "bio-77: no")] + [Fault("missing", f"bio-{at}") for at in range(12)]
    lines = list(fault_lines(faults))
    told = lines.index("31 rows rejected by the server for good, scored 0:")
    assert lines[told + 1 :] == [
        "  bio-0: you asked for 0 tokens (and 29 like it)",
        "  bio-77: no",
    ]
    assert "  bio-9" in lines, "rows without a reply are named one by one"
    assert "  ... and 2 more (--json lists them all)" in lines


def test_a_single_tier_is_a_plain_mean() -> None:
    rows = [each for each in stacked() if each.tier == "1m"]
    found = tables(rows)
    assert set(found.weights.values()) == {1.0}
    assert found.cumulative("family")[-1].mean == pytest.approx(0.5 / 6)


def test_weights_are_those_of_the_task() -> None:
    """A task that only one tier holds counts in full, whatever else is stacked."""
    lone = tables([*stacked(), record(9, 1.0, subtask="only")])
    assert lone.weights["f-32k-2048-9"] == 1.0


def test_families_count_the_same_in_a_mean_of_several() -> None:
    rows = [*[record(at, 1.0) for at in range(9)], record(0, 0.0, family="g")]
    found = tables(rows)
    assert found.overall is not None
    assert found.overall.mean == pytest.approx(0.5)
    assert [cell.mean for cell in found.by("family")] == [1.0, 0.0]


def test_the_headline_is_a_mean_of_families_of_subtasks_of_lengths() -> None:
    """More rows, lengths or tasks weigh nothing: f.s is (1 + (0 + 1) / 2) / 2 = 3/4, f.t 0, so f 3/8; g is 1."""
    rows = [record(at, 1.0) for at in range(9)]
    rows += [record(10, 0.0, length=4096), record(11, 1.0, length=4096)]
    rows += [record(20 + at, 0.0, subtask="t") for at in range(3)]
    rows += [record(30, 1.0, family="g")]
    found = tables(rows)
    assert found.overall is not None
    assert found.overall.mean == pytest.approx((3 / 8 + 1) / 2)
    assert [cell.mean for cell in found.by("family")] == pytest.approx([3 / 8, 1])
    assert [cell.mean for cell in found.by("family", "subtask")] == pytest.approx([3 / 4, 0, 1])
    assert [cell.mean for cell in found.by("family", "length")] == pytest.approx([0.5, 0.5, 1])
    plain = {each.id: {"family": each.family, "subtask": each.subtask, "length": each.length} for each in rows}
    assert headline(plain, {each.id: each.score for each in rows}) == pytest.approx(found.overall.mean)
    assert headline({}, {}) != headline({}, {}), "nan"


def test_rows_without_an_answer_count_as_nothing_and_the_answered_stand_beside() -> None:
    cell = tables([record(0, 1.0), record(1, 0.5), record(2, 0.0, state="missing")]).by("family")[0]
    assert (cell.rows, cell.answered, cell.mean, cell.answered_mean) == (3, 2, 0.5, 0.75)
    assert cell.chance == 0.25


def test_depth_is_cut_into_parts_and_rows_without_one_are_left_out() -> None:
    rows = [record(at, depth, depth=depth) for at, depth in enumerate([0.0, 0.19, 0.2, 0.99, 1.0])]
    cells = tables([*rows, record(9, 1.0)]).by("depth")
    assert [(cell.place["depth"], cell.rows) for cell in cells] == [(0.0, 2), (0.2, 1), (0.8, 2)]


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(PredictionsError, match="did you mean 'length'"):
        tables([record(0, 1.0)]).by("lenght")


# Classes and pairs


def test_classes_are_balanced_and_pairs_need_both(tmp_path: Path) -> None:
    choices = ["Oslo", "Lima", "Rome", "I don't know"]
    idk = {"family": "idk", "subtask": "letters", "scorer": "choice_or_refusal", "choices": choices}
    rows = [handmade.row(at, complexity=0, target="D", **idk) for at in range(7)]
    rows += [handmade.row(at, complexity=1, target="A", **idk) for at in range(7, 10)]
    rows += [*handmade.pair(0), *handmade.pair(1)]
    folder = handmade.split(tmp_path / "o200k", rows)
    replies = [{"id": each["id"], "prediction": "(D)"} for each in rows[:10]]
    replies += [{"id": each["id"], "prediction": "Not stated"} for each in rows[10:]]
    found = Tables(scored(folder, replies))
    bio, letters = found.classes()
    assert [letters.stated.mean, letters.unstated.mean, letters.balanced] == [0.0, 1.0, 0.5]
    assert letters.pairs is None
    assert [bio.stated.mean, bio.unstated.mean, bio.balanced, bio.pairs.mean, bio.pairs.units] == [0, 1, 0.5, 0, 2]
    means = {cell.place["family"]: cell.mean for cell in found.by("family")}
    assert means == {"bio": 0.0, "idk": pytest.approx(0.7)}


def scored(folder: Path, replies: list[dict[str, str]]) -> Scored:
    return score_predictions([open_split(folder)], [handmade.lines(folder / "replies.jsonl", replies)])


def test_splits_of_other_tiers_are_stacked(tmp_path: Path) -> None:
    short = [handmade.row(at) for at in range(2)]
    long = [handmade.row(at, tier="128k", length=length) for length in (2048, 65536) for at in range(2)]
    splits = [open_split(handmade.split(tmp_path / name, rows)) for name, rows in (("a", short), ("b", long))]
    replies = handmade.lines(tmp_path / "r.jsonl", handmade.answers([*short, *long[2:]]))
    found = score_predictions(splits, [replies])
    assert found.split == "made 1.0.0 o200k + made 1.0.0 o200k"
    points = [cell.mean for cell in Tables(found).cumulative("family")]
    assert points == pytest.approx([(2 * 0.5 + 0) / 2, (2 * 0.5 + 2) / 4])


def test_the_same_split_twice_is_refused(tmp_path: Path) -> None:
    split: Split = open_split(handmade.split(tmp_path / "o200k", [handmade.row(0)]))
    with pytest.raises(PredictionsError, match="occurs twice"):
        score_predictions([split, split], [handmade.lines(tmp_path / "a.jsonl", handmade.answers([handmade.row(0)]))])


# Intervals


def interval(rows: Sequence[Record]) -> Cell:
    return tables(rows).by("family")[0]


def test_intervals_are_the_same_in_every_run() -> None:
    rows = [record(at, float(at % 3 > 0), complexity=at % 4) for at in range(60)]
    assert interval(rows) == interval(rows)
    assert interval(rows).low < interval(rows).mean < interval(rows).high


def test_intervals_agree_with_those_of_the_normal_law() -> None:
    rows = [record(at, float(at % 2)) for at in range(400)]
    cell = interval(rows)
    assert cell.high - cell.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 399), rel=0.06)


def test_what_strata_differ_in_is_no_spread() -> None:
    """Half of the rows score 9 times in 10 and half of them once: most of the spread lies between the two."""
    values = [float(at % 10 > 0) if level else float(at % 10 == 0) for level in (0, 1) for at in range(100)]
    apart = interval([record(at, value, complexity=at // 100) for at, value in enumerate(values)])
    one = interval([record(at, value) for at, value in enumerate(values)])
    assert apart.high - apart.low == pytest.approx(2 * 1.96 * np.sqrt(0.09 / 198), rel=0.1)
    assert one.high - one.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 199), rel=0.1)


def test_strata_without_any_spread_are_drawn_as_one() -> None:
    cell = interval([record(at, float(at % 2), complexity=at % 2) for at in range(40)])
    assert cell.high - cell.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 39), rel=0.1)


def test_without_a_difference_the_bound_is_exact() -> None:
    nothing = interval([record(at, 0.0) for at in range(10)])
    assert (nothing.mean, nothing.low) == (0.0, 0.0)
    assert (1 - nothing.high) ** 10 == pytest.approx(0.025)
    everything = interval([record(at, 1.0) for at in range(10)])
    assert (everything.low**10, everything.high) == (pytest.approx(0.025), 1.0)
    assert (interval([record(0, 0.5)]).low, interval([record(0, 0.5)]).high) == (0.0, 1.0)


def test_pairs_are_drawn_as_one() -> None:
    """Twice the rows that always agree tell no more than half of them."""
    single = [record(at, float(at % 2)) for at in range(100)]
    twice = [
        record(2 * at + form, float(at % 2), pair=f"p{at}", complexity=form) for at in range(100) for form in range(2)
    ]
    one, two = interval(single), interval(twice)
    assert two.units == 100
    assert two.high - two.low == pytest.approx(one.high - one.low, rel=0.08)


def test_lone_rows_of_many_strata_still_have_a_spread() -> None:
    cell = interval([record(at, float(at % 2), complexity=at) for at in range(50)])
    assert cell.high - cell.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 49), rel=0.15)


@pytest.mark.parametrize(("strata", "rows"), [(6, 8), (1, 60), (20, 2), (40, 1)])
def test_intervals_cover_the_truth_as_often_as_they_say(strata: int, rows: int) -> None:
    """Of 400 made-up sets with known chances 95% or a little less must hold the true mean."""
    rng, held = stream("coverage", strata, rows), 0
    chances = [0.3 + 0.4 * at / max(1, strata - 1) for at in range(strata)]
    for number in range(400):
        units = {
            (number, at): Units(np.array([float(rng.random() < chance) for _ in range(rows)]), 1 / (strata * rows))
            for at, chance in enumerate(chances)
        }
        low, high = Resampler().interval(units)
        held += low <= sum(chances) / strata <= high
    assert 0.91 <= held / 400 <= 0.985
