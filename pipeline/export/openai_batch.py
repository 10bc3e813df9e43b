"""OpenAI's batch files, which vLLM reads too: one request per line, in files of the size that the service accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.metrics import facts, stops_of
from pipeline.rows import Row
from pipeline.turns import declared, sent

MOST_LINES = 50_000
MOST_BYTES = 200_000_000
"""OpenAI's limits for a file; 200 MB is taken in its smaller, decimal meaning."""

URLS = {"chat": "/v1/chat/completions", "raw": "/v1/completions"}
COLUMNS = ("id", "frame", "scorer", "max_new_tokens", "metadata", "messages", "prompt")
OWN_TEMPERATURE = re.compile(r"(?:.*/)?(?:o\d|gpt-5)")
"""Models that refuse a temperature."""


class Batches:
    """Writes lines to ``batch-00001.jsonl`` and so on, starting a new file when a line would exceed the limits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files, self.lines, self.bytes = 0, 0, 0

    def add(self, line: bytes) -> None:
        """Append a line to the last file or, if that is full, to a new one."""
        if not self.files or self.lines == MOST_LINES or self.bytes + len(line) > MOST_BYTES:
            self.files, self.lines, self.bytes = self.files + 1, 0, 0
        with (self.folder / f"batch-{self.files:05d}.jsonl").open("ab") as file:
            file.write(line)
        self.lines += 1
        self.bytes += len(line)


def write(split: Split, selection: Selection, out: Path, *, model: str | None = None) -> Written:
    """Write ``batch-<number>.jsonl``; the default model is the first one that the profile names."""
    batches = Batches(out)
    name, rows = model or default_model(split), 0
    for row in split.rows(COLUMNS, selection):
        batches.add(json.dumps(_request(row, name)).encode("ascii") + b"\n")
        rows += 1
    return Written(rows)


def default_model(split: Split) -> str:
    """Return the first model of the split's profile, or the profile's name if it names none."""
    return next(iter(split.manifest.tokenizer.models), split.tokenizer)


def _request(row: Row, model: str) -> Row:
    chat = row["frame"] == "chat"
    turns = sent(row["messages"] or [{"role": "user", "content": row["prompt"]}])
    cold = {} if OWN_TEMPERATURE.match(model) else {"temperature": 0}
    fields: Row = (
        {"messages": turns, **declared(row["metadata"]), "max_completion_tokens": row["max_new_tokens"]}
        if chat
        else {"prompt": row["prompt"], "max_tokens": row["max_new_tokens"]}
    )
    if not chat and facts(row["scorer"]).stops:
        fields["stop"] = stops_of(row["prompt"])
    return {
        "custom_id": row["id"],
        "method": "POST",
        "url": URLS[row["frame"]],
        "body": {"model": model, **fields, **cold},
    }


def for_model(model: str | None) -> Export:
    """Return the export with requests for a model; None means the first one that the split's profile names."""

    def values(split: Split, rows: Sequence[Row]) -> dict[str, Any]:
        url, named = URLS[split.manifest.frame], model or default_model(split)
        return {"model": named, "url": url, "lines": MOST_LINES, "megabytes": MOST_BYTES // 1_000_000}

    return Export(
        name="openai-batch",
        title="OpenAI batch files, also for vLLM run-batch",
        harness="OpenAI batches and vLLM",
        write=partial(write, model=model),
        values=values,
        sampling="Every request has `temperature` 0 and no seed; models that refuse a temperature get none.",
        headline="Batches score nothing themselves.",
        calls=True,
    )


EXPORT = for_model(None)
