"""OpenCompass: a configuration with a data set for each limit of the reply, and a module that reads and scores them."""

from __future__ import annotations

from pathlib import Path

from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.export.common import (
    benchmarks,
    copy_metrics,
    messages_of,
    need_keys,
    put,
    reply_limits_of,
    task_prefix,
    template,
    write_by_reply_limit,
)

MODULE = "carrara_opencompass"
DATASET = """    {{
        "abbr": "{name}",
        "type": Rows,
        "path": "data/{name}.jsonl",
        "reader_cfg": {{"input_columns": ["messages"], "output_column": "key"}},
        "infer_cfg": {{
            "prompt_template": {{
                "type": RawPromptTemplate,
                "messages": [{{"expand_column": "messages"}}],
                "format_variables": False,
            }},
            "retriever": {{"type": ZeroRetriever}},
            "inferencer": {{"type": GenInferencer, "max_out_len": {reply_limit}}},
        }},
        "eval_cfg": {{"evaluator": {{"type": RowScore}}}},
    }},
"""
"""A data set of the configuration: the rows with one limit of reply tokens."""


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write ``carrara.py`` (the configuration), ``carrara_opencompass.py``, ``data/<name>.jsonl`` and metrics.py."""
    need_keys(split, "OpenCompass")
    name = task_prefix(split)
    tally, limits = write_by_reply_limit(
        split, selection, lambda limit: folder / "data" / f"{name}_{limit}.jsonl", messages_of, turns=True
    )
    if limits:
        copy_metrics(folder)
        put(folder, f"{MODULE}.py", template("opencompass/carrara_opencompass.py"))
        listed = "".join(
            DATASET.format(name=each, reply_limit=limit) for each, limit in benchmarks(name, limits).items()
        )
        put(folder, "carrara.py", template("opencompass/carrara.py") + f"\ndatasets = [\n{listed}]\n")
    return tally.written


EXPORT = Export(
    name="opencompass",
    title="a configuration for OpenCompass, with real turns as messages",
    harness="OpenCompass",
    write=write,
    values=lambda split, rows: {"reply_limits": benchmarks(task_prefix(split), reply_limits_of(rows))},
    sampling="The configuration sends `temperature` 0 and no seed.",
    headline="OpenCompass has one mean for each of its data sets, which hold the rows with one reply limit.",
    read=False,
)
