"""Rows in the shapes of trainers, and replies judged as these hand them over."""

from __future__ import annotations

import sys
from itertools import islice
from types import ModuleType
from typing import Any

import pytest

import carrara
from pipeline.training import adapters

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> Any:
    return carrara.stream("bio.standard", tokenizer="o200k", length=2048, seed=7, ids=True)


def right(row: Row) -> str:
    return f"<evidence>{', '.join(row['evidence'])}</evidence><answer>{row['target']}</answer>"


def test_an_iterable_of_datasets_and_the_reward_that_trl_calls(rows: Any) -> None:
    pytest.importorskip("datasets")
    lines = list(islice(rows.to_iterable(shards=2), 2))
    assert [line["id"] for line in lines] == [rows[0]["id"], rows[1]["id"]]
    columns = {name: [line[name] for line in lines] for name in lines[0] if name != "prompt"}
    replies = [[{"role": "assistant", "content": right(lines[0])}], [{"role": "assistant", "content": "no"}]]
    judge = adapters.rewarder()
    assert judge(prompts=[line["prompt"] for line in lines], completions=replies, **columns) == [1.0, 0.0]
    assert lines[0]["text"] == ""  # ids are judged without the prompt


def test_a_mixture_hears_what_trl_is_told() -> None:
    mixed = carrara.mix({"bio.standard": 1}, tokenizer="o200k", curriculum=carrara.Curriculum(), ids=True)
    row = next(mixed)
    columns = {name: [value] for name, value in adapters.judged(row).items()}
    assert adapters.rewarder(mixed)(completions=[right(row)], **columns) == [1.0]
    assert mixed.reported == [(1, row["id"], 1.0)]


def test_verl_adds_rows_and_judges_replies(rows: Any) -> None:
    pytest.importorskip("datasets")
    told = {"path": "rows.py", "name": "Rows", "rows": 2, "task": "bio.standard", "tokenizer": "o200k", "length": 2048}
    source = adapters.VerlRows({**told, "seed": 7, "ids": True})
    made = source.generate(None)
    assert made.column_names == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
    assert [line["extra_info"]["id"] for line in made] == [rows[0]["id"], rows[1]["id"]]
    assert source.generate(None)[0]["extra_info"]["index"] == 2
    line = made[0]
    told = (line["data_source"], right(rows[0]), line["reward_model"]["ground_truth"], line["extra_info"])
    assert adapters.compute_score(*told)["score"] == 1


def test_reasoning_gym_takes_a_data_set(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Procedural:
        """As reasoning-gym 0.1.19 has it, of which the whole was run too."""

        def __init__(self, config: Any, seed: int | None = None, size: int = 500) -> None:
            config.validate()
            self.config, self.seed, self.size = config, seed, size

    registered: dict[str, tuple[Any, Any]] = {}
    base, factory = ModuleType("reasoning_gym.dataset"), ModuleType("reasoning_gym.factory")
    base.ProceduralDataset = Procedural  # type: ignore[attr-defined]
    factory.register_dataset = lambda name, kind, config: registered.update({name: (kind, config)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "reasoning_gym.dataset", base)
    monkeypatch.setitem(sys.modules, "reasoning_gym.factory", factory)
    adapters.register_in_gym()
    kind, config = registered["carrara"]
    made = kind(config=config(task="bio.standard", length=2048, seed=7))
    entry = made[1]
    assert (entry["question"], entry["answer"]) == (rows[1]["prompt"], rows[1]["target"])
    assert made.score_answer(right(rows[1]), entry) == 1
    assert made.score_answer(None, entry) == made.score_answer("no", entry) == 0
