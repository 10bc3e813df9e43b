"""Small handmade splits, without a build: rows of any family, tier and length, with the keys that a test needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pipeline.artifacts.parquet import write_rows
from pipeline.rows import DATA_SCHEMA, KEYS_SCHEMA, TEXT_COLUMNS

TAG = "0a1b2c"
STRATUM = ("family", "subtask", "length", "complexity", "shots", "context_tokens", "max_new_tokens", "task_version")
TIERS = {"32k": 32768, "128k": 131072, "1m": 1048576}

DIGEST = "0" * 64
NOTHING = {"rows": 0, "tokens": 0, "bytes": 0}
TOKENIZER = {"name": "o200k", "title": "o200k", "models": ["gpt-4o"], "notice": "", "template": "none", "windows": {}}
TOKENIZER |= {"digest": DIGEST, "vocabulary_sha256": DIGEST}
PROVEN = {"rows": 0, "exact": 0, "solved": 0, "recounted": 0, "counter": [], "second": []}

Row = dict[str, Any]


def row(number: int, *, tag: str = TAG, form: str = "", depth: float | None = 0.5, **columns: Any) -> Row:
    """Return a row of bio.standard at 2,048 tokens, with some columns changed."""
    made: Row = {"family": "bio", "subtask": "standard", "tier": "32k", "tokenizer": "o200k", "frame": "chat"}
    made |= {"scorer": "exact", "length": 2048, "complexity": 1, "prompt_tokens": 100, "template_tokens": 7}
    made |= {"max_new_tokens": 64, "shots": 0, "task_version": 1, "question": "Where does Ann Bee work?"}
    made |= {"choices": None, "answer_prefix": "", "random_string_to_prepend": None, "question_start": 0}
    made |= {"target": f"Town{number}", "messages": None, "prompt": f"Prompt {number}?", **columns}
    made["context_tokens"] = made["length"]
    made["bucket"] = next(tier for tier, most in TIERS.items() if made["length"] <= most)
    made["id"] = "-".join(
        [made["family"], made["subtask"], made["tier"], str(made["length"]), f"{number:04d}{form}", tag]
    )
    made.setdefault("answers", [made["target"]])
    needle = {"role": "relevant", "char_start": 0, "char_end": 1, "token_start": 0, "token_end": 1, "depth": depth}
    made["needles"] = [] if depth is None else [needle]
    made["metadata"] = json.dumps({"latent": {"asked": ""}, "baselines": columns.get("baselines", {"uniform": 0.1})})
    return made


def pair(number: int, **columns: Any) -> list[Row]:
    """Return both rows of a pair of bio.idk."""
    both = {"subtask": "idk", "scorer": "idk_pair", **columns}
    stated = row(number, form="a", complexity=1, baselines={"uniform": 0.1, "refusal": 0.0}, **both)
    unstated = {"target": "Not stated", "baselines": {"uniform": 0.0, "refusal": 1.0}}
    return [stated, row(number, form="b", complexity=0, **both, **unstated)]


def split(folder: Path, rows: Iterable[Row], tag: str = TAG, **fields: Any) -> Path:
    """Write a sealed split of rows; return its folder."""
    tiers: dict[str, list[Row]] = {}
    for each in rows:
        tiers.setdefault(each["tier"], []).append(each)
    made = {name: _tier(folder, name, some, tag) for name, some in tiers.items()}
    (folder / "manifest.json").write_text(json.dumps(manifest(made, **fields)), encoding="ascii")
    return folder


def manifest(tiers: Row, **fields: Any) -> Row:
    """Return a manifest of tiers."""
    top = {"release": "made", "version": "1.0.0", "variant": "", "frame": "chat", "carrara": "2.0.0", **fields}
    return {**top, "schema_version": 1, "canary": "made", "tokenizer": TOKENIZER, "totals": NOTHING, "tiers": tiers}


def shard(name: str, rows: int = 1) -> Row:
    counts = dict.fromkeys(("tokens", "prompt_tokens", "fewest_tokens", "most_tokens", "data_bytes"), 0)
    return {"shard": name, "rows": rows, **counts, "data_sha256": DIGEST}


def tier(strata: Sequence[Row], shards: Sequence[Row], **fields: Any) -> Row:
    made = {"tag": TAG, "reserve": None, "longest": max(cell["length"] for cell in strata), **fields}
    return {**made, "strata": strata, "proven": PROVEN, "totals": NOTHING, "shards": shards}


def _tier(folder: Path, place: str, rows: Sequence[Row], tag: str) -> dict[str, Any]:
    shards = []
    for family in dict.fromkeys(each["family"] for each in rows):
        own = [each for each in rows if each["family"] == family]
        name = f"{family}/{place}/test-00000-of-00001"
        write_rows(folder / "data" / f"{name}.parquet", _plain(own, DATA_SCHEMA.names), DATA_SCHEMA, "made")
        keys = [name for name in KEYS_SCHEMA.names if name not in TEXT_COLUMNS]
        write_rows(folder / "keys" / f"{name}.parquet", _plain(own, keys), KEYS_SCHEMA, "made")
        shards.append(shard(name, len(own)))
    strata = [{"rows": 1, **{name: each[name] for name in STRATUM}} for each in rows]
    chance = {"family": "bio", "subtask": "standard", "complexity": 1, "asked": "", "rows": 4, "constant": ""}
    chance |= {"best_constant": 0.25, "baselines": {}}
    return tier(strata, shards, tag=tag, chance=[chance])


def _plain(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    return [{name: each[name] for name in names} for each in rows]


def lines(path: Path, records: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def answers(rows: Iterable[Row]) -> list[dict[str, str]]:
    return [{"id": each["id"], "prediction": each["target"]} for each in rows]
