"""Exports to trainers, to NeMo and to vLLM's benchmark: the columns that they read, and their scores."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas
import pytest

from pipeline import metrics
from pipeline.artifacts.split import Selection, Split
from pipeline.export import EXPORTS, export
from pipeline.export.common import Part
from pipeline.rows import Row

NAMES = ("verl", "nemo-evaluator", "nemo-skills", "opencompass", "vllm-bench")


@pytest.fixture(scope="module")
def made(split: Split, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("exports")
    for name in NAMES:
        export(EXPORTS[name], split, Selection(), out / name)
    return {name: out / name for name in NAMES}


@pytest.fixture(scope="module")
def rows(split: Split) -> dict[str, Row]:
    return {row["id"]: row for row in split.rows()}


def turns(row: Row) -> list[dict[str, str]]:
    return row["messages"] or [{"role": "user", "content": row["prompt"]}]


def lines(folder: Path, glob: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob(glob)):
        for line in path.read_text(encoding="ascii").splitlines():
            yield path, json.loads(line)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Modules that a test imports are forgotten after it."""
    before = set(sys.modules)
    yield monkeypatch
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_trainers_get_messages_and_a_reward_that_is_the_score(
    made: dict[str, Path], rows: dict[str, Row], tmp_path: Path, alone: pytest.MonkeyPatch
) -> None:
    folder = made["verl"]
    alone.syspath_prepend(str(folder))
    reward = importlib.import_module("reward")
    files = str(folder / "data" / "*.parquet")
    found = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path)).to_list()
    assert {row["id"] for row in found} == rows.keys()
    assert list(found[0]) == ["id", "data_source", "prompt", "ability", "reward_model", "extra_info"]
    for line, other in zip(found, [*found[1:], found[0]], strict=True):
        row = rows[line["id"]]
        assert line["prompt"] == turns(row)
        assert line["data_source"] == f"carrara/{row['family']}.{row['subtask']}"
        assert line["reward_model"] == {"style": "rule", "ground_truth": row["target"]}
        assert line["extra_info"]["max_new_tokens"] == row["max_new_tokens"]
        for reply in (row["target"], other["reward_model"]["ground_truth"], ""):
            worth = reward.compute_score(line["data_source"], reply, row["target"], line["extra_info"])
            assert worth == metrics.score(row, reply)
    columns = {name: [line[name] for line in found] for name in found[0]}
    said = [[{"role": "assistant", "content": rows[line["id"]]["target"]}] for line in found]
    assert set(reward.reward(said, **columns, trainer_state=None)) == {1.0}


def nemo(**parts: dict[str, Any]) -> dict[str, types.ModuleType]:
    """Return modules with these names and what is in them, dots for underscores twice."""
    found: dict[str, types.ModuleType] = {}
    for name, held in parts.items():
        path = name.replace("__", ".")
        module = found.setdefault(path, types.ModuleType(path))
        vars(module).update(held)
        while "." in path:
            path = path.rpartition(".")[0]
            found.setdefault(path, types.ModuleType(path))
    return found


def test_nemo_evaluator_has_a_benchmark_for_each_reply_limit(
    made: dict[str, Path], rows: dict[str, Row], alone: pytest.MonkeyPatch
) -> None:
    known: dict[str, dict[str, Any]] = {}

    def benchmark(name: str, **told: Any) -> Any:
        return lambda judge: known.__setitem__(name, {**told, "judge": judge})

    byob = {"benchmark": benchmark, "scorer": lambda judge: judge, "ScorerInput": object}
    for path, module in nemo(nemo_evaluator__contrib__byob=byob).items():
        alone.setitem(sys.modules, path, module)
    alone.syspath_prepend(str(made["nemo-evaluator"]))
    importlib.import_module("carrara_byob")
    seen = set()
    for name, told in known.items():
        assert (told["target_field"], told["endpoint_type"]) == ("target", "chat")
        for text in Path(told["dataset"]).read_text(encoding="ascii").splitlines():
            line = json.loads(text)
            row = rows[line["id"]]
            assert told["prompt"].format(**line) == row["prompt"]
            assert name.endswith(f"_{row['max_new_tokens']}")
            judged = told["judge"](types.SimpleNamespace(metadata=line, response=row["target"]))
            assert judged == {"score": 1.0, f"score_{row['length']}": 1.0}
            seen.add(line["id"])
    assert seen == {row_id for row_id, row in rows.items() if row["messages"] is None}


class Base:
    """What NeMo-Skills gives to derive from, as far as it is called here."""

    def __init__(self) -> None:
        self.kept: list[dict[str, float]] = []

    def update(self, predictions: list[dict[str, Any]]) -> None:
        pass

    def _compute_pass_at_k(self, predictions: list[dict[str, Any]]) -> None:
        self.kept += [self._get_score_dict(one) for one in predictions]  # type: ignore[attr-defined]


def test_nemo_skills_finds_its_benchmarks_and_scores_them(
    made: dict[str, Path], rows: dict[str, Row], alone: pytest.MonkeyPatch
) -> None:
    folder, registered = made["nemo-skills"], []
    packager = {
        "RepoMetadata": lambda name, path: (name, path),
        "register_external_repo": lambda repo, ignore_if_registered: registered.append(repo),
    }
    for path, module in nemo(
        nemo_skills__pipeline__utils__packager=packager,
        nemo_skills__evaluation__evaluator__base={"BaseEvaluator": Base},
        nemo_skills__evaluation__metrics__base={"BaseMetrics": Base},
    ).items():
        alone.setitem(sys.modules, path, module)
    alone.syspath_prepend(str(folder))
    scoring = importlib.import_module("carrara_skills.scoring")
    seen = set()
    for name, path in json.loads((folder / "benchmark_map.json").read_text()).items():
        about = importlib.import_module(f"carrara_skills.dataset.{name}")
        assert about.METRICS_TYPE == "carrara_skills.scoring::RowMetrics"
        assert "++prompt_format=openai" in about.GENERATION_ARGS
        for _, line in lines(folder / path, "test.jsonl"):
            row = rows[line["id"]]
            assert line["messages"] == turns(row)
            assert f"tokens_to_generate={row['max_new_tokens']}" in about.GENERATION_ARGS
            point = {**line, "generation": row["target"]}
            told = asyncio.run(scoring.RowEvaluator().eval_single(point))
            means = scoring.RowMetrics()
            means.update([{**point, **told}, means.get_incorrect_sample(point)])
            assert means.kept == [{"score": 1.0}, {"score": 0.0}]
            seen.add(line["id"])
    assert seen == rows.keys()
    assert set(registered) == {("carrara_skills", folder / "carrara_skills")}


def test_opencompass_reads_its_configuration_and_scores(
    made: dict[str, Path], rows: dict[str, Row], alone: pytest.MonkeyPatch
) -> None:
    class Registry:
        def register_module(self) -> Any:
            return lambda kind: kind

    kinds = {name: type(name, (), {}) for name in ("GenInferencer", "RawPromptTemplate", "ZeroRetriever")}
    for path, module in nemo(
        opencompass__datasets__base={"BaseDataset": object},
        opencompass__models={"OpenAISDK": object},
        opencompass__openicl__icl_evaluator={"BaseEvaluator": object},
        opencompass__openicl__icl_inferencer=kinds,
        opencompass__openicl__icl_raw_prompt_template=kinds,
        opencompass__openicl__icl_retriever=kinds,
        opencompass__registry={name: Registry() for name in ("ICL_EVALUATORS", "LOAD_DATASET", "MODELS")},
    ).items():
        alone.setitem(sys.modules, path, module)
    alone.syspath_prepend(str(made["opencompass"]))
    alone.delitem(sys.modules, "carrara", raising=False)  # the package of that name, if a test has loaded it
    config = importlib.import_module("carrara")
    seen = set()
    for told in config.datasets:
        found = told["type"].load(path=told["path"]).to_list()
        keys = [json.loads(line["key"]) for line in found]
        assert {key["max_new_tokens"] for key in keys} == {told["infer_cfg"]["inferencer"]["max_out_len"]}
        assert [line["messages"] for line in found] == [turns(rows[key["id"]]) for key in keys]
        judge = told["eval_cfg"]["evaluator"]["type"]()
        scores = judge.score([key["target"] for key in keys], [line["key"] for line in found])
        assert {value for name, value in scores.items() if name != "details"} == {100.0}
        seen |= {one["id"] for one in scores["details"]}
    assert seen == rows.keys()


def test_vllm_reads_prompts_and_the_reply_limit_of_each(made: dict[str, Path], rows: dict[str, Row]) -> None:
    seen = set()
    for path in sorted(made["vllm-bench"].glob("*.jsonl")):
        found = pandas.read_json(path, lines=True)
        for line in found.to_dict("records"):
            row = rows[line["id"]]
            assert (line["prompt"], line["output_tokens"]) == (row["prompt"], row["max_new_tokens"])
            assert path.stem == f"{row['tier']}-{row['length']}"
            seen.add(line["id"])
    assert seen == {row_id for row_id, row in rows.items() if row["messages"] is None}


def test_an_environment_is_packed_for_the_hub(split: Split, tmp_path: Path) -> None:
    export(EXPORTS["verifiers"], split, Selection(limit=1), tmp_path / "out")
    told = tomllib.loads((tmp_path / "out" / "pyproject.toml").read_text())
    (package,) = told["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert told["project"]["name"] == package.replace("_", "-")
    assert {"name", "version", "description", "tags", "readme", "dependencies"} <= told["project"].keys()
    assert "def load_environment(" in (tmp_path / "out" / package / "__init__.py").read_text()
    assert (tmp_path / "out" / told["project"]["readme"]).is_file()


@pytest.mark.parametrize(
    ("named", "limits"),
    [
        (("tabulate", "sort"), {512: "_512", 2048: "_2048", 8192: ""}),
        (("graph", "route"), {1024: "", 4096: "_4096", 8192: "_8192"}),
        (("bio", "standard"), {64: "", 16384: ""}),
        (("tabulate", "extract"), {16384: ""}),
        (("nobody", "knows"), {64: ""}),
    ],
    ids=["sort", "route", "standard", "extract", "unknown"],
)
def test_rows_with_another_reply_limit_than_is_usual_are_a_part_of_their_own(
    named: tuple[str, str], limits: dict[int, str]
) -> None:
    for limit, ending in limits.items():
        part = Part("32k", 32768, *named, 32768, limit)
        assert part.name == f"{'_'.join(named)}_32k_32768{ending}"
