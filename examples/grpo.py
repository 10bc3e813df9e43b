"""GRPO of a small model on endless rows of `recall`: TRL's trainer, Carrara's rows and reward. See docs/training.md.

On a CPU, a few steps of a model of 135M parameters at 1K, of which the last layers alone are trained:

    python examples/grpo.py --model MODEL --profile PROFILE/profile.toml

On one GPU, the same in earnest:

    python examples/grpo.py --model MODEL --profile PROFILE/profile.toml --lengths 4096 8192 \
        --task recall.niah_mk2 --task bio.multihop --ids --steps 300 --generations 8 --prompts 4 --layers 0 --rate 1e-6

MODEL is a folder or a name on the Hub, and PROFILE what `carrara profile add MODEL --out PROFILE` writes.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import islice
from statistics import fmean, stdev
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

import carrara
from carrara import rewarder


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="GRPO on endless rows, by TRL.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--profile", required=True)
    parser.add_argument("--task", action="append", help="repeatable; recall.niah_s2 unless it is given")
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024])
    parser.add_argument("--ids", action="store_true", help="ask for evidence, and reward it")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--generations", type=int, default=4, help="replies to a prompt")
    parser.add_argument("--prompts", type=int, default=1, help="prompts of a step")
    parser.add_argument("--tokens", type=int, default=24, help="tokens of a reply at most; 0 for the room of the rows")
    parser.add_argument("--layers", type=int, default=6, help="train the last layers alone; 0 for all")
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="outputs/grpo")
    return parser.parse_args()


def model_of(told: argparse.Namespace) -> Any:
    """Return the model, of which the last layers alone are trained if so told."""
    # Few CPUs multiply bfloat16 fast.
    dtype = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    model = AutoModelForCausalLM.from_pretrained(told.model, dtype=dtype)
    if told.layers:
        model.requires_grad_(requires_grad=False)
        for layer in model.model.layers[-told.layers :]:
            layer.requires_grad_(requires_grad=True)
    return model


def rows_of(told: argparse.Namespace) -> Any:
    """Return one task at one length, or a mixture with a curriculum."""
    tasks, how = told.task or ["recall.niah_s2"], {"tokenizer": told.profile, "seed": told.seed, "ids": told.ids}
    if len(tasks) == len(told.lengths) == 1:
        return carrara.stream(tasks[0], length=told.lengths[0], **how)
    rising = carrara.Curriculum(0.2, 0.8)
    return carrara.mix(dict.fromkeys(tasks, 1.0), lengths=told.lengths, curriculum=rising, **how)


def verdict(earned: list[float]) -> str:
    """Say whether the reward rises from the first half of the steps to the second, by more than chance does.

    >>> verdict([0.1, 0.2, 0.1, 0.2, 0.8, 0.9, 0.8, 0.9])
    'mean reward 0.15 in the first half, 0.85 in the second (standard error of the difference 0.04): it rises'
    """
    first, second = earned[: len(earned) // 2], earned[len(earned) // 2 :]
    if len(first) < 2:
        return f"mean reward {fmean(earned):.2f}: too few steps to say whether it rises"
    gain = fmean(second) - fmean(first)
    error = math.hypot(*(stdev(half) / math.sqrt(len(half)) for half in (first, second)))
    said = "it rises" if gain > 2 * error else "it falls" if gain < -2 * error else "no change beyond chance"
    return (
        f"mean reward {fmean(first):.2f} in the first half, {fmean(second):.2f} in the second "
        f"(standard error of the difference {error:.2f}): {said}"
    )


def main() -> None:
    told = options()
    rows = rows_of(told)
    room = told.tokens or max(row["max_new_tokens"] for row in islice(rows.shard(0, 1), 16))
    on_gpu = torch.cuda.is_available()
    config = GRPOConfig(
        output_dir=told.out,
        max_steps=told.steps,  # the rows have no end
        per_device_train_batch_size=told.generations * told.prompts,
        num_generations=told.generations,
        max_completion_length=room,
        learning_rate=told.rate,
        lr_scheduler_type="constant",
        dataloader_num_workers=0,  # a mixture must be read where rewards are reported
        shuffle_dataset=False,  # else a thousand rows are drawn before the first reward
        bf16=on_gpu,
        use_cpu=not on_gpu,
        gradient_checkpointing=on_gpu,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        seed=told.seed,
    )
    trainer = GRPOTrainer(
        model=model_of(told),
        processing_class=AutoTokenizer.from_pretrained(told.model),
        reward_funcs=rewarder(rows),
        args=config,
        train_dataset=rows.to_iterable(),
    )
    trainer.train()
    earned = [step["reward"] for step in trainer.state.log_history if "reward" in step]
    print(json.dumps({"rewards": earned}))
    print(verdict(earned))


if __name__ == "__main__":
    main()
