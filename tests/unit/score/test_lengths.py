"""Curves, effective lengths and paired differences: held to their definitions, written out once more in another way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.artifacts.manifest import Chance, one_constant, pool_chances
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import PredictionsError
from pipeline.score.cells import Tables, nested_shares
from pipeline.score.intervals import Resampler, Units, alike, bounds, ends
from pipeline.score.lengths import (
    LEVELS,
    Curve,
    Curves,
    Effective,
    LengthScore,
    difference,
    effective_length,
    grid,
    in_words,
    interval_of,
)
from pipeline.score.results import Record, Scored
from pipeline.score.scoring import score_predictions
from pipeline.streams import stream, words
from test_scores import record

LENGTHS = (2048, 4096, 8192, 16384)


def scored(records: Sequence[Record], model: str = "m") -> Scored:
    return Scored(model, "made", "o200k", {}, (), tuple(records), (), {})


def rows(values: Sequence[float], length: int = 2048, **given: object) -> list[Record]:
    return [record(at, value, length=length, **given) for at, value in enumerate(values)]


def ladder(means: Sequence[float], count: int = 20, **given: object) -> list[Record]:
    """Return rows at growing lengths, of which as many score 1 as give the means."""
    found = []
    for mean, length in zip(means, LENGTHS, strict=False):
        found += rows([float(at < round(mean * count)) for at in range(count)], length, **given)
    return found


def reached(records: Sequence[Record], threshold: float = 0.85) -> Effective:
    return effective_length(Curves(scored(records)).curve(), threshold)


# Curves


def test_a_point_is_the_mean_that_score_tables_have() -> None:
    """Of one complexity a point of a subtask is the cell of the table by length, interval and guessers with it."""
    found = scored(ladder([0.9, 0.7, 0.4, 0.1]))
    cells = Tables(found).by("length")
    points = Curves(found).curve().points
    assert [(p.length, p.rows, p.mean, p.low, p.high, p.chance) for p in points] == [
        (c.place["length"], c.rows, pytest.approx(c.mean), c.low, c.high, c.chance) for c in cells
    ]


def test_where_no_best_constant_is_known_chance_counts() -> None:
    """Of one row in four it is known to be 1, and chance is 1/4: so 7/16, and not 1. Of none it is not stated."""
    known, *others = rows([0.0, 0.0, 0.0, 0.0])
    found = scored([replace(known, baselines={"uniform": 0.25, "best_constant": 1.0}), *others])
    assert [cell.best_constant for cell in Tables(found).by("length")] == [7 / 16]
    assert [point.best_constant for point in Curves(found).curve().points] == [7 / 16]
    assert Tables(scored(others)).by("length")[0].best_constant is None


def test_families_subtasks_and_complexities_count_alike() -> None:
    parts = {("f", "s", 1): [1.0] * 9, ("f", "s", 2): [0.0], ("f", "t", 1): [1.0, 0.0], ("g", "u", 1): [0.0] * 4}
    records = [
        each
        for (family, subtask, complexity), values in parts.items()
        for each in rows(values, family=family, subtask=subtask, complexity=complexity)
    ]
    records = [replace(each, id=f"{each.subtask}{each.complexity}{each.id}") for each in records]
    means = {name: fmean(values) for name, values in parts.items()}
    by_hand = fmean([fmean([fmean([means["f", "s", 1], means["f", "s", 2]]), means["f", "t", 1]]), means["g", "u", 1]])
    assert Curves(scored(records)).curve().points[0].mean == pytest.approx(by_hand) == pytest.approx(0.25)
    assert sum(nested_shares(records, LEVELS).values()) == pytest.approx(1)


def test_where_refusing_may_be_right_a_point_is_balanced_accuracy() -> None:
    """Seven rows that do not tell and three that do, all refused: 70% of rows, half of what is balanced."""
    records = rows([1.0] * 7, complexity=0, kind="unstated") + rows([0.0] * 3, length=2048, kind="stated")
    records = [replace(each, id=f"{each.kind}{each.id}") for each in records]
    found = scored(records)
    assert Curves(found).curve().points[0].mean == pytest.approx(0.5)
    assert Tables(found).classes()[0].balanced == pytest.approx(0.5)


def test_rows_without_a_reply_are_no_zeros() -> None:
    records = ladder([1.0, 1.0])
    some = [replace(each, state="missing", score=0.0) if at in (3, 21, 22) else each for at, each in enumerate(records)]
    points = Curves(scored(some)).curve().points
    assert [(point.rows, point.answered, point.mean) for point in points] == [(20, 19, 1.0), (20, 18, 1.0)]


def test_fewer_replies_than_half_are_a_gap() -> None:
    records = ladder([1.0, 1.0, 1.0])
    lost = [
        replace(each, state="missing", score=0.0) if each.length == 4096 and at % 20 >= 9 else each
        for at, each in enumerate(records)
    ]
    points = Curves(scored(lost)).curve().points
    assert [point.mean for point in points] == [1.0, None, 1.0]
    assert points[1].answered == 9
    found = reached(lost)
    assert (found.length, found.measured, found.asked, found.at_least) == (2048, 2048, 8192, True)


def test_a_pair_has_a_reply_if_both_forms_have() -> None:
    pair = rows([1.0, 0.0], pair="p")
    pair[1] = replace(pair[1], state="missing")
    points = Curves(scored([*pair, *rows([1.0, 1.0, 0.0], complexity=1, subtask="s", tier="128k")])).curve().points
    assert points[0].answered == 3
    assert points[0].mean == pytest.approx(2 / 3)


def test_every_length_has_the_same_kinds_of_rows() -> None:
    """A kind that begins later is left out where all the others begin sooner, and named."""
    late = [each for each in ladder([1.0] * 4, subtask="late") if each.length > 2048]
    records = [*ladder([1.0] * 4), *ladder([1.0] * 4, subtask="t"), *late]
    records = [replace(each, id=f"{each.subtask}{each.id}") for each in records]
    curve = Curves(scored(records)).curve()
    assert [point.length for point in curve.points] == list(LENGTHS[1:])
    assert (curve.subtasks, curve.left_out) == (("f.late", "f.s", "f.t"), ())
    own = Curves(scored([each for each in records if each.length < 16384])).curve()
    assert [point.length for point in own.points] == [2048, 4096, 8192]
    assert (own.subtasks, own.left_out) == (("f.s", "f.t"), ("f.late",))


@given(st.dictionaries(st.integers(0, 3), st.sets(st.sampled_from(LENGTHS), min_size=1), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_the_table_of_a_curve_is_full_and_none_is_larger(asked_lengths: dict[int, set[int]]) -> None:
    records = [
        record(at, 1.0, complexity=kind, length=each)
        for kind, own in asked_lengths.items()
        for at, each in enumerate(own)
    ]
    kinds, lengths = grid(Curves(scored(records)).asked_lengths())
    asked = sorted({length for own in asked_lengths.values() for length in own})
    assert list(lengths) == asked[asked.index(lengths[0]) : asked.index(lengths[-1]) + 1]
    assert all(set(lengths) <= asked_lengths[kind] for _, _, kind in kinds)
    sizes = {
        (end - start > 1, (end - start) * sum(set(asked[start:end]) <= own for own in asked_lengths.values()))
        for start in range(len(asked))
        for end in range(start + 1, len(asked) + 1)
        if any(set(asked[start:end]) <= own for own in asked_lengths.values())
    }
    assert (len(lengths) > 1, len(lengths) * len(kinds)) == max(sizes)


# Effective length


def by_definition(means: Sequence[float], floors: Sequence[float], threshold: float) -> int:
    """Return the effective length, length by length in words: it holds as long as every shorter one has held."""
    best = 0
    for length, mean, floor in zip(LENGTHS, means, floors, strict=False):
        if mean < threshold * means[0] - 1e-9 or mean <= floor + 1e-9:
            return best
        best = length
    return best


SHARES = st.integers(0, 20).map(lambda number: number / 20)


@given(
    st.lists(SHARES, min_size=1, max_size=4), st.lists(SHARES, min_size=4, max_size=4), st.sampled_from([0.5, 0.85, 1])
)
@settings(max_examples=150, deadline=None)
def test_effective_length_is_what_it_is_defined_as(means: list[float], floors: list[float], threshold: float) -> None:
    """Of the score itself and of each draw of it: the interval holds what 95% of the draws' own lengths are."""
    noise = words(stream("test", len(means)), 2000 * len(means)).reshape(len(means), 2000) / 2**32
    draws = np.clip(np.array(means)[:, None] + 0.4 * noise - 0.2, 0, 1)
    points = tuple(
        LengthScore(length, 9, 9, mean, None, None, floor, None, floor, drawn)
        for length, mean, floor, drawn in zip(LENGTHS, means, floors, draws, strict=False)
    )
    found = effective_length(Curve({}, points, (), ()), threshold)
    assert found.length == by_definition(means, floors, threshold)
    own = sorted(by_definition(list(column), floors, threshold) for column in draws.T)
    if means[0]:
        assert (found.low, found.high) == (min(own[49], found.length), max(own[1949], found.length))
    assert found.base == means[0]


def test_the_first_length_below_the_share_ends_it_though_a_longer_one_is_above() -> None:
    assert reached(ladder([1.0, 0.9, 0.7, 1.0])).length == 4096
    assert reached(ladder([1.0, 0.85, 0.85, 0.85])).length == 16384


def test_no_length_is_read_where_the_shortest_is_guessed() -> None:
    found = reached(ladder([0.25, 0.25, 0.25]))
    assert (found.length, found.at_least, found.base) == (0, False, 0.25)
    refuses = [
        replace(each, id=f"{kind}{each.id}", kind=kind, complexity=level, baselines={"best_constant": value})
        for kind, level, value in (("unstated", 0, 1.0), ("stated", 1, 0.0))
        for each in ladder([value] * 4)
    ]
    assert reached(refuses).length == 0, "always refusing is not reading"


def test_a_base_that_cannot_be_told_from_guessing_is_none() -> None:
    """35% of 20 rows where a guess is right in 25%: the interval says that it may be more."""
    found = reached(ladder([0.35, 0.35]))
    assert (found.length, found.low, found.high) == (0, 0, 4096)
    assert reached(ladder([0.35, 0.35], count=400)).length == 4096


def test_where_no_short_row_scores_nothing_is_read_for_sure() -> None:
    records = [replace(each, baselines={"uniform": 0.0}) for each in ladder([0.0, 0.0, 0.2])]
    found = reached(records)
    assert (found.length, found.low, found.high) == (0, 0, 0)


def test_a_larger_share_is_never_kept_longer() -> None:
    records = ladder([0.95, 0.9, 0.7, 0.4])
    found = [reached(records, threshold) for threshold in (0.3, 0.5, 0.85, 1.0)]
    for less, more in pairwise(found):
        assert less.length >= more.length
        assert (less.low, less.high) >= (more.low, more.high)


def test_the_interval_covers_the_effective_length_of_the_chances_that_rows_are_drawn_from() -> None:
    chances, rng = (0.9, 0.85, 0.6, 0.3), stream("test", "effective")
    held = 0
    for turn in range(60):
        records = [
            record(at, float(rng.random() < chance), length=length, subset=f"{turn}")
            for chance, length in zip(chances, LENGTHS, strict=True)
            for at in range(30)
        ]
        found = reached(records)
        held += found.low <= 4096 <= found.high
    assert held >= 54


def test_few_rows_that_all_score_do_not_tell_a_length_for_sure() -> None:
    """Eight of eight rows at 4K are what a chance of 60% gives in 2 of 100 such sets."""
    assert reached(ladder([1.0, 1.0], count=8)).low == 2048
    assert reached(ladder([1.0, 1.0], count=40)).low == 4096


@pytest.mark.parametrize(("mean", "count"), [(1.0, 8), (0.0, 25)])
def test_draws_of_rows_that_are_all_alike_end_where_the_exact_bounds_are(mean: float, count: int) -> None:
    low, high = ends(alike(mean, count, "x"))
    least, most = bounds(mean, count)
    assert (low if mean else high) == pytest.approx(least if mean else most, abs=0.001)


def test_a_share_that_cannot_be_kept_is_refused() -> None:
    for threshold in (0.0, 1.5):
        with pytest.raises(PredictionsError, match="above 0 and at most 1"):
            reached(ladder([1.0]), threshold)


def test_a_length_is_said_in_as_few_words_as_tell_it() -> None:
    base = reached(ladder([0.9, 0.9, 0.9, 0.9]))
    ends = {(16384, 16384): "16K or more", (4096, 16384): "4K to 16K or more", (4096, 8192): "4K to 8K"}
    ends |= {(0, 2048): "below 2K to 2K", (0, 0): "below 2K"}
    for (low, high), said in ends.items():
        assert interval_of(replace(base, low=low, high=high)) == said
    assert [in_words(replace(base, length=length)) for length in (0, 8192, 16384)] == ["below 2K", "8K", "at least 16K"]


def test_without_a_reply_there_is_no_length() -> None:
    found = reached([replace(each, state="missing") for each in ladder([0.0, 0.0])])
    assert (found.length, found.shortest, found.base, found.asked) == (0, None, None, 4096)


def test_one_constant_serves_both_classes_of_refusals() -> None:
    """Always (D) is right in 70 of 100 rows; nobody can reply (D) to these and (B) to the others."""
    apart = [Chance("idk", "letters", 0, "job", 70, 1, "D", {}), Chance("idk", "letters", 1, "job", 30, 0.43, "B", {})]
    other = [Chance("bio", "rank", level, "", 10, 0.5, name, {}) for level, name in ((2, "x"), (5, "y"))]
    found = one_constant([*apart, *other])
    assert [(each.constant, each.best_constant) for each in found] == [("D", 1), ("D", 0.0), ("x", 0.5), ("y", 0.5)]
    assert pool_chances(found[:2]).best_constant == pytest.approx(0.7)
    more = one_constant([replace(apart[0], rows=5), replace(apart[1], rows=95)])
    assert [(each.constant, each.best_constant) for each in more] == [("B", 0.0), ("B", 0.43)]


# Differences


def test_a_difference_is_that_of_both_headlines_on_the_same_rows() -> None:
    first, second = scored(ladder([0.9, 0.5, 0.2]), "a"), scored(ladder([0.95, 0.8, 0.4]), "b")
    found = difference(first, second)
    tables = [Tables(each).overall for each in (first, second)]
    assert tables[0] is not None
    assert tables[1] is not None
    assert found.mean == pytest.approx(tables[1].mean - tables[0].mean)
    assert (found.first, found.second, found.rows, found.better, found.worse) == ("a", "b", 60, 11, 0)
    assert found.is_significant


@given(st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=30))
@settings(max_examples=60, deadline=None)
def test_differences_turn_their_sign_with_the_models(pairs: list[tuple[float, float]]) -> None:
    first, second = (scored(rows([pair[at] for pair in pairs])) for at in (0, 1))
    ahead, behind = difference(first, second), difference(second, first)
    assert ahead.mean == pytest.approx(fmean(b - a for a, b in pairs), abs=1e-9)
    assert (behind.mean, behind.low, behind.high) == pytest.approx((-ahead.mean, -ahead.high, -ahead.low), abs=1e-9)
    assert (ahead.better, ahead.worse) == (behind.worse, behind.better)
    assert -1 <= ahead.low <= ahead.mean + 1e-9
    assert ahead.mean - 1e-9 <= ahead.high <= 1


def test_the_interval_is_of_rows_drawn_together_and_narrower_than_apart() -> None:
    """Questions that are hard for both models add nothing; another bootstrap, drawn by other code, agrees."""
    rng = stream("test", "paired")
    base = [float(rng.random() < 0.5) for _ in range(200)]
    better = [1.0 if rng.random() < 0.1 else value for value in base]
    found = difference(scored(rows(base)), scored(rows(better)))
    gains = np.array(better) - np.array(base)
    own = gains[words(stream("test", "other"), 4000 * 200) % 200].reshape(4000, 200).mean(axis=1)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(own, [2.5, 97.5])), abs=0.01)
    apart = np.hypot(
        *(np.ptp(Resampler().interval({("x",): Units(np.array(each), 1 / 200)})) for each in (base, better))
    )
    assert found.high - found.low < 0.6 * apart


def test_only_rows_that_both_have_replied_to_count() -> None:
    first, second = rows([1.0, 0.0, 1.0, 0.0]), rows([1.0, 1.0, 1.0, 0.0])
    first[0], second[3] = (replace(each, state="missing", score=0.0) for each in (first[0], second[3]))
    found = difference(scored(first), scored(second))
    assert (found.rows, found.asked, found.mean) == (2, 4, 0.5)
    none = difference(scored([replace(each, state="missing") for each in first]), scored(second))
    assert (none.rows, none.mean, none.low, none.is_significant) == (0, None, None, False)


@pytest.mark.parametrize(("values", "mean"), [(([1.0] * 9, [1.0] * 9), 0.0), (([0.0] * 9, [1.0] * 9), 1.0)])
def test_rows_that_differ_alike_still_leave_room_for_doubt(
    values: tuple[list[float], list[float]], mean: float
) -> None:
    found = difference(*(scored(rows(each)) for each in values))
    wide = 1 - 0.025 ** (1 / 9)
    assert found.mean == mean
    assert (found.low, found.high) == pytest.approx((mean - wide, min(1.0, mean + wide)))


def test_everything_is_the_same_in_every_run() -> None:
    records = ladder([0.9, 0.6, 0.3])
    assert reached(records) == reached(records)
    one, other = (
        difference(scored(records), scored(ladder([0.8, 0.7, 0.2]))),
        difference(scored(records), scored(ladder([0.8, 0.7, 0.2]))),
    )
    assert one == other


def test_curves_of_lite_pool_complexities(split: Split, tmp_path: Path) -> None:
    """A subtask is not asked in every complexity at each length: its curve is still over all its lengths."""
    path = tmp_path / "m.jsonl"
    lite = Selection(size="lite")
    lines = [{"id": row["id"], "prediction": row["target"]} for row in split.key_rows(["id", "target"], lite)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
    found = score_predictions([split], [path], selection=lite)
    assert found.lite
    assert not score_predictions([split], [path]).lite
    assert score_predictions([replace(split, size="lite")], [path]).lite
    bio = [record for record in found.records if record.family == "bio"]
    pooled = Curves(found).curve({"family": "bio"})
    assert pooled.lite
    assert {kind[2] for kind in Curves(found).asked_lengths()} == {-1}
    lengths = {record.length for record in bio if f"bio.{record.subtask}" in pooled.subtasks}
    assert lengths >= {point.length for point in pooled.points}
    million = replace(found, records=tuple(replace(record, tier="1m") for record in found.records))
    assert {kind[1] for kind in Curves(million).asked_lengths()} == {"all"}
