"""Rows in the trainers themselves: each is given rows, and has replies judged, by its own code.

    python trainers_script.py NAME MODEL

NAME is a function of this file. MODEL is a folder with a tokenizer, its profile in ``profile/profile.toml``.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import carrara
from pipeline.training import adapters

Row = dict[str, Any]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def rows_of(**told: Any) -> Any:
    return carrara.stream("bio.standard", tokenizer="o200k", length=2048, seed=7, ids=True, **told)


def right(row: Row) -> str:
    return f"<evidence>{', '.join(row['evidence'])}</evidence><answer>{row['target']}</answer>"


def trl(model: Path) -> None:
    """Two layers of random weights, the whole example: rows are read, replies judged, and a verdict printed."""
    from runpy import run_path

    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    size = len(AutoTokenizer.from_pretrained(model))
    told = LlamaConfig(
        vocab_size=size, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2
    )
    told.max_position_embeddings = 4096
    LlamaForCausalLM(told).save_pretrained(model)
    sys.argv = ["grpo.py", "--model", str(model), "--profile", str(model / "profile" / "profile.toml")]
    sys.argv += ["--lengths", "4096", "--steps", "4", "--generations", "2", "--tokens", "4", "--layers", "0"]
    sys.argv += ["--out", str(model / "out")]
    run_path(str(EXAMPLES / "grpo.py"), run_name="__main__")


def datasets(_: Path) -> None:
    """Two workers of a loader share the rows; the first batch is that of their streams."""
    from torch.utils.data import DataLoader

    lines = list(islice(DataLoader(rows_of().to_iterable(shards=2), batch_size=None, num_workers=2), 4))
    shares = [rows_of().shard(rank, 2) for rank in range(2)]
    assert sorted(line["id"] for line in lines) == sorted(
        share[share.index(nth)]["id"] for share in shares for nth in (0, 1)
    )


def verl(model: Path) -> None:
    """Its factory loads the data set and draws batches; what these earn moves the mixture."""
    import torch
    from omegaconf import OmegaConf
    from torchdata.stateful_dataloader import StatefulDataLoader
    from transformers import AutoTokenizer
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler
    from verl.utils.dataset.rl_dataset import collate_fn
    from verl.utils.import_utils import load_extern_object

    path = model / "mixture.toml"
    profile = model / "profile" / "profile.toml"
    path.write_text(
        f'tokenizer = "{profile}"\nlengths = [4096, 8192]\nids = true\nrows = 64\n'
        '[tasks]\n"bio.standard" = 1\n[curriculum]\nenough = 4\n'
    )
    rows = str(EXAMPLES / "verl_rows.py")
    config = OmegaConf.create(
        {"shuffle": False, "max_prompt_length": 8192, "custom_cls": {"path": rows, "name": "Rows"}}
    )
    tokenizer = AutoTokenizer.from_pretrained(model)
    made = create_rl_dataset([str(path)], config, tokenizer, None)
    loader = StatefulDataLoader(
        made, batch_size=4, num_workers=0, collate_fn=collate_fn, sampler=create_rl_sampler(config, made)
    )
    manager = NaiveRewardManager(OmegaConf.create({}), tokenizer, load_extern_object(rows, "compute_score"))
    manager.loop = asyncio.new_event_loop()
    opened = sum(cell.open for cell in made.source.cells)
    batch = DataProto.from_single_dict(next(iter(loader)))
    earned = []
    for one in range(len(batch)):
        told = batch.non_tensor_batch["extra_info"][one]
        said = right({**told, "target": batch.non_tensor_batch["reward_model"][one]["ground_truth"]})
        reply = torch.tensor([tokenizer(said)["input_ids"]])
        item = batch[one : one + 1]
        item.batch["responses"], item.batch["attention_mask"] = reply, torch.ones_like(reply)
        earned.append(manager.loop.run_until_complete(manager.run_single(item))["reward_score"])
    assert earned == [1.0] * 4
    batch.batch["token_level_scores"] = torch.tensor(earned)[:, None]
    made.on_batch_end(batch=batch)
    assert len(made.source.reported) == 4
    assert sum(cell.open for cell in made.source.cells) > opened


def verifiers(_: Path) -> None:
    """A taskset loads its tasks, and scores traces."""
    import verifiers.v1 as vf
    from verifiers.v1.trace import AgentInfo, TraceTask

    first = rows_of()[0]
    (task,) = adapters.taskset(rows_of(), 1)(vf.TasksetConfig()).load()
    for reply, worth in ((right(first), 1.0), ("no", 0.0)):
        told = TraceTask(type="Task", data=task.data, key=task.key)
        trace = vf.Trace(task=told, agent=AgentInfo(config=vf.AgentConfig()), root_reply=reply)
        asyncio.run(task.score(trace))
        assert sum(one.score if hasattr(one, "score") else one for one in trace.rewards.values()) == worth


def reasoning_gym(_: Path) -> None:
    """Its registry takes the data set, alone and in a composite of several."""
    import reasoning_gym as gym
    from reasoning_gym.composite import DatasetSpec

    adapters.register_in_gym()
    told = {"task": "bio.standard", "length": 2048, "seed": 7}
    made = gym.create_dataset("carrara", size=3, **told)
    rows = rows_of()
    assert [entry["question"] for entry in made] == [rows[index]["prompt"] for index in range(3)]
    assert [made.score_answer(reply, made[1]) for reply in (right(rows[1]), "no", None)] == [1, 0, 0]
    both = gym.create_dataset(
        "composite", size=4, seed=1, datasets=[DatasetSpec("carrara", 1, told), DatasetSpec("chain_sum", 1, {})]
    )
    assert {entry["metadata"]["source_dataset"].partition("/")[0] for entry in both} <= {"carrara", "chain_sum"}


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
