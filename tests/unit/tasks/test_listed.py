"""Lists of cwe and fwe are full and have the promised counts, whatever tokens their words have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.plan import make_plan, row_streams
from pipeline.executors import Inline
from pipeline.recipe import Recipe, Stratum
from pipeline.stages import Stages
from pipeline.tasks import TASKS
from pipeline.tasks.recall import lists
from pipeline.tasks.recall.lists import KEPT, Listed
from pipeline.verify.row import answer_faults


def of(subtask: str, length: int, rows: int = 100) -> tuple[Listed, Stratum]:
    task = TASKS["recall", subtask]
    assert isinstance(task, Listed)
    return task, Stratum("recall", subtask, "128k", length, task.count, rows)


def test_a_row_whose_most_frequent_word_has_few_tokens_is_dealt_for_more_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list rarely has room for MOST times the usual words, so it is less here."""
    monkeypatch.setattr(lists, "MOST", 1.15)
    task, stratum = of("fwe", 8192, 14)
    plan = make_plan(Recipe("tried", "0", 11, "128k", (stratum,)), ("o200k", "llama3.1"), tmp_path)
    assert all(Stages(plan, Inline).build())
    for shard in plan.all_shards():
        rows = list(read_rows(shard.path(plan.out, "data")))
        assert [answer_faults(row, stratum) for row in rows] == [[]] * 14
        assert max(len(lists.read_list(row["prompt"])) for row in rows) > 1.15 * task.places(stratum)


@pytest.mark.parametrize("subtask", ["cwe", "fwe"])
@given(st.sampled_from([2048, 8192, 65536]), st.integers(0, 99), st.integers(1, 9), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_lists_fill_their_room_and_the_asked_words_lead(
    subtask: str, length: int, index: int, asked_tokens: int, tokens: int
) -> None:
    task, stratum = of(subtask, length)
    own, shared = row_streams(
        make_plan(Recipe("tried", "0", 11, "128k", (stratum,)), ("o200k",), Path()), stratum, index
    )
    sample = task.sample(stratum, index, own, shared)
    asked = np.isin(np.array(task.words(own)), sample.latent["words"])
    each = np.where(asked, asked_tokens, tokens)
    fitted = task.layout(sample, own, shared).filler.fitted
    assert fitted is not None
    order = fitted(length, each).take(length)
    fill = order[: np.searchsorted(np.cumsum(each[order]), length)]
    assert each[order].sum() >= length
    if len(fill) >= KEPT * task.places(stratum):
        counts = np.bincount(fill, minlength=len(asked))
        assert (1 - task.gap) * counts[asked].min() >= counts[~asked].max()
