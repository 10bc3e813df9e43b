"""What is dealt is even, and a deal that is not is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan
from pipeline.recipe import Recipe, Stratum, load_recipe
from pipeline.streams import deal, stream
from pipeline.tasks import TASKS
from pipeline.tasks.base import Key, Sample
from pipeline.verify.statistics import balance_faults

KINDS = 120


def samples(rows: int = 13, lengths: int = 7) -> list[Sample]:
    cells = [Stratum("bio", "rank", "128k", 2048 << at, 5, rows) for at in range(lengths)]
    return [Sample("", cell, at, {}, (), "", Key("", ())) for cell in cells for at in range(rows)]


def dealt_by(monkeypatch: pytest.MonkeyPatch, kind_of: Callable[[Sample], int], kinds: int = KINDS) -> None:
    def dealt(_: object, sample: Sample) -> Mapping[str, tuple[int, int]]:
        return {"order": (kind_of(sample), kinds)}

    monkeypatch.setattr(type(TASKS["bio", "rank"]), "dealt", dealt)


@pytest.mark.parametrize("kinds", [2, 6, 13, 120])
def test_an_even_deal_passes(monkeypatch: pytest.MonkeyPatch, kinds: int) -> None:
    for seed in range(60):

        def fair(sample: Sample, seed: int = seed) -> int:
            return deal(stream(seed, sample.stratum.length), 13, sample.index, kinds)

        dealt_by(monkeypatch, fair, kinds)
        assert list(balance_faults(samples())) == []


@pytest.mark.parametrize(
    ("kind_of", "kinds"),
    [
        (lambda sample: 0, 2),  # always the same
        (lambda sample: sample.index % 13, KINDS),  # the first kinds in every stratum
        (lambda sample: sample.index % 12 % 10, 10),  # two kinds twice as often
        (lambda sample: 0 if sample.index < 9 else 1, 2),  # nine of thirteen
        (lambda sample: sample.index, 6),  # kinds that there are none of
    ],
    ids=["constant", "first kinds", "two kinds oftener", "lopsided", "more kinds"],
)
def test_an_uneven_deal_is_found(monkeypatch: pytest.MonkeyPatch, kind_of: Callable[[Sample], int], kinds: int) -> None:
    dealt_by(monkeypatch, kind_of, kinds)
    assert list(balance_faults(samples()))


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted({family for family, _ in TASKS}))
def test_what_tasks_deal_is_even(family: str, tmp_path: Path) -> None:
    """At all lengths; of programs at short ones alone: long ones take long to draw."""
    recipe = load_recipe("128k")
    cells = [cell for cell in recipe.of_family(family) if family != "latent_list" or cell.length <= 8192]
    assert_even(recipe, family, cells, tmp_path)


@pytest.mark.parametrize("size", ["2", "7", pytest.param("full", marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", sorted({family for family, _ in TASKS}))
def test_what_tasks_deal_is_even_in_every_size(family: str, size: str, tmp_path: Path) -> None:
    """At the shortest length, or all of a small recipe; of programs in short ones: long ones take long to draw."""
    recipe = load_recipe("smoke" if size == "7" else "32k").sized(size)
    shortest = min(cell.length for cell in recipe.of_family(family))
    cells = [cell for cell in recipe.of_family(family) if cell.length == shortest or size == "7"]
    assert_even(recipe, family, [cell for cell in cells if family != "latent_list" or cell.complexity < 20], tmp_path)


def assert_even(recipe: Recipe, family: str, cells: Iterable[Stratum], folder: Path) -> None:
    plan = Plan(replace(recipe, strata=tuple(cells)), (), folder, (family,))
    assert list(balance_faults(draw_sample(plan, row) for row in plan.rows(family))) == []


def test_a_text_of_two_rows_is_found() -> None:
    cell = Stratum("mrcr", "chat", "32k", 8192, 2, 3)
    latent = {"key": ["poem", "rain", ""], "place": 1}
    replies = [("a", "b"), ("c", "d"), ("e", "b")]
    rows = [Sample("", cell, at, latent, texts, "", Key("", ())) for at, texts in enumerate(replies)]
    found = [fault for fault in balance_faults(rows) if "written for one row" in fault]
    assert found == [f"{cell} row 2 and {cell} row 0: both have the text 'b', written for one row"]
    assert not [fault for fault in balance_faults(rows[:2]) if "written for one row" in fault]
