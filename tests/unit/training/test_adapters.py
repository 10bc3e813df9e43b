"""Rows in the shapes of trainers, and replies judged as these hand them over."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import carrara
from pipeline.errors import RecipeError
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


class Scores:
    """A tensor of one score a row, as far as verl's batches are read."""

    def __init__(self, scores: list[float]) -> None:
        self.scores = scores

    def sum(self, _: int) -> Scores:
        return self

    def tolist(self) -> list[float]:
        return self.scores


def test_verl_draws_rows_and_reports_what_they_earn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Parquet:
        """As verl 0.9.1 has it, in which the whole is run by `make test-trainers`."""

        def __init__(self, data_files: list[str]) -> None:
            self.data_files = data_files
            self._read_files_and_tokenize()

        def _read_files_and_tokenize(self) -> None:
            self.dataframe = ["a row of a file"]

    verl = ModuleType("verl.utils.dataset.rl_dataset")
    verl.RLHFDataset = Parquet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "verl.utils.dataset.rl_dataset", verl)
    kind, path = adapters.verl_dataset(), tmp_path / "mixture.toml"
    told = 'tokenizer = "o200k"\nlengths = [2048, 4096]\nseed = 7\nids = true\nrows = 64\n[tasks]\n"bio.standard" = 1\n'
    path.write_text(f"{told}[curriculum]\nenough = 1\n", encoding="utf-8")
    made, validated = kind([str(path)]), kind(["some.parquet"])
    assert (validated.dataframe, validated.on_batch_end(None)) == (["a row of a file"], None)
    assert len(made.dataframe) == 64
    line = made.dataframe[5]
    assert list(line) == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
    reply = right({**line["extra_info"], "target": line["reward_model"]["ground_truth"]})
    judged = (line["data_source"], reply, line["reward_model"]["ground_truth"], line["extra_info"])
    assert adapters.compute_score(*judged)["score"] == 1
    batch = SimpleNamespace(
        batch={"token_level_scores": Scores([1.0])}, non_tensor_batch={"extra_info": [line["extra_info"]]}
    )
    assert [cell.open for cell in made.source.cells] == [True, False]
    made.on_batch_end(batch)
    assert [cell.open for cell in made.source.cells] == [True, True]
    path.write_text(f"colour = 1\n{told}", encoding="utf-8")
    with pytest.raises(RecipeError, match="describes no mixture"):
        kind([str(path)])


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
