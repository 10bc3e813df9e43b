"""Stand-ins for checkouts at `/path/to/...` in READMEs, and for commands that need a device.

They only imitate the first steps of the real ones: they read the files and options in a block, and fail where the real
ones would.
"""

from __future__ import annotations

import stat
import sys
from pathlib import Path

RULER = {
    "scripts/pred/call_api.py": """
import argparse, importlib.util, json, pathlib, yaml
told = argparse.ArgumentParser(allow_abbrev=False)
for name in ("benchmark", "task", "data_dir", "save_dir", "server_type", "temperature", "top_p"):
    told.add_argument(f"--{name}", required=True)
args = told.parse_args()
here = pathlib.Path(__file__).parent.parent
config = yaml.safe_load((here / f"{args.benchmark}.yaml").read_text())[args.task]
spec = importlib.util.spec_from_file_location("constants", here / "data" / args.benchmark / "constants.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert module.TASKS[config["task"]]["tokens_to_generate"] > 0
lines = (pathlib.Path(args.data_dir) / args.task / "validation.jsonl").read_text().splitlines()
assert all(json.loads(line)["input"] for line in lines)
out = pathlib.Path(args.save_dir)
out.mkdir(parents=True, exist_ok=True)
(out / f"{args.task}.jsonl").write_text("")
""",
    "scripts/eval/evaluate.py": """
import argparse, pathlib
told = argparse.ArgumentParser(allow_abbrev=False)
told.add_argument("--benchmark", required=True)
told.add_argument("--data_dir", required=True)
args = told.parse_args()
assert (pathlib.Path(__file__).parent / args.benchmark / "constants.py").is_file()
assert list(pathlib.Path(args.data_dir).glob("*.jsonl"))
""",
}
HELMET = {
    "eval.py": """
import argparse, pathlib, yaml
told = argparse.ArgumentParser(allow_abbrev=False)
for name in ("config", "model_name_or_path", "output_dir"):
    told.add_argument(f"--{name}", required=True)
config = yaml.safe_load(pathlib.Path(told.parse_args().config).read_text())
lists = [str(config[name]).split(",") for name in ("datasets", "test_files", "demo_files", "input_max_length")]
assert len({len(one) for one in lists}) == 1
assert all(pathlib.Path(path).is_file() for path in (*lists[1], *filter(None, lists[2])))
""",
}
LONGBIO = {
    "scripts/models.py": 'sampling = {"max_tokens": 50*args.n_questions}\n',
    "scripts/inference.py": """
import argparse, json, pathlib
assert "50*args" not in (pathlib.Path(__file__).parent / "models.py").read_text()
told = argparse.ArgumentParser(allow_abbrev=False)
told.add_argument("-m", required=True)
told.add_argument("-pn", type=int)
told.add_argument("-d", required=True)
told.add_argument("-o", required=True)
args = told.parse_args()
assert "instruct" in args.m
assert json.loads(pathlib.Path(args.d).read_text())[0]["questions"]["NLG"]
""",
}
EVAL_HUB = {
    "mrcr_v2/run_evaluation.py": """
INPUT_PATH = "somewhere.csv"
import csv, sys
csv.field_size_limit(sys.maxsize)
assert all(row["queries"] and row["answer"] for row in csv.DictReader(open(INPUT_PATH, newline="")))
""",
}
CHECKOUTS = {"RULER": RULER, "HELMET": HELMET, "LongBio-Benchmark": LONGBIO, "eval_hub": EVAL_HUB}

VLLM = """
import argparse, pandas
told = argparse.ArgumentParser(allow_abbrev=False)
told.add_argument("words", nargs=2, choices=["bench", "serve"])
for name in ("backend", "base-url", "endpoint", "model", "dataset-name", "dataset-path"):
    told.add_argument(f"--{name}", required=True)
told.add_argument("--custom-output-len", type=int, default=256)
told.add_argument("--num-prompts", type=int, default=1000)
for name in ("disable-shuffle", "no-oversample", "skip-chat-template", "ignore-eos"):
    told.add_argument(f"--{name}", action="store_true")
args = told.parse_args()
assert args.dataset_name == "custom"
rows = pandas.read_json(args.dataset_path, lines=True)
assert len(rows) == args.num_prompts
assert rows["prompt"].map(type).eq(str).all()
assert args.custom_output_len == -1 and (rows["output_tokens"] > 0).all()
"""
VERL = """
import pathlib, sys
import datasets
given = dict(one.split("=", 1) for one in sys.argv[1:])
assert given.keys() <= {
    "actor_rollout_ref.model.path", "data.train_files", "data.val_files", "data.max_prompt_length",
    "data.max_response_length", "data.truncation", "data.filter_overlong_prompts",
    "reward.custom_reward_function.path", "reward.custom_reward_function.name", "trainer.val_before_train",
    "trainer.val_only",
}
space = {"__file__": given["reward.custom_reward_function.path"], "__name__": "reward"}
exec(compile(pathlib.Path(space["__file__"]).read_text(), space["__file__"], "exec"), space)
for row in datasets.load_dataset("parquet", data_files=given["data.val_files"])["train"]:
    truth = row["reward_model"]["ground_truth"]
    score = space[given["reward.custom_reward_function.name"]](
        data_source=row["data_source"], solution_str=truth, ground_truth=truth, extra_info=row["extra_info"]
    )
    assert score == 1.0, row["id"]
"""
NS = """
import json, os, pathlib, sys
words = [word for word in sys.argv[1:] if not word.startswith("-")]
given = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
if words[0] == "eval":
    assert given.keys() <= {"cluster", "server_type", "model", "server_address", "benchmarks", "output_dir"}, given
    where = pathlib.Path(os.environ["NEMO_SKILLS_EXTRA_BENCHMARK_MAP"])
    known = json.loads(where.read_text())
    for name in given["benchmarks"].split(","):
        home = where.parent / known[name]
        assert (home / "__init__.py").is_file() and (home / "prepare.py").is_file()
        assert all(json.loads(line)["messages"] for line in (home / "test.jsonl").read_text().splitlines())
else:
    assert words[0] == "summarize_results"
"""
SCRIPT = '#!/bin/sh\nexec "{python}" "{script}" "$@"\n'


def lay_out(folder: Path) -> dict[str, str]:
    """Write all stand-ins below a folder; return the path of each checkout, by its placeholder."""
    for name, files in CHECKOUTS.items():
        for path, text in files.items():
            _write(folder / name / path, text)
    _write(folder / "verl" / "verl" / "trainer" / "main_ppo.py", VERL)
    for name, text in {"vllm": VLLM, "ns": NS, "pip": ""}.items():
        _write(folder / "commands" / f"{name}.py", text)
        command = folder / "bin" / name
        _write(command, SCRIPT.format(python=sys.executable, script=folder / "commands" / f"{name}.py"))
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
    python = folder / "bin" / "python"
    _write(python, f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return {f"/path/to/{name}": str(folder / name) for name in CHECKOUTS}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
