"""MRCR v2 (google-deepmind/eval_hub): CSV files of transcripts, one for each number of needles and length."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Tally, Written, group_name
from pipeline.export.common import TURNS, need_keys
from pipeline.rows import Row

FIELDS = (
    *("queries", "answer", "context_len", "answer_token_count", "view_ops", "num_relevant"),
    *("answer_context_position", "relevant_context_positions"),
)
"""The columns of the published files, in order; the row's id is added after them."""

COLUMNS = (
    *("id", "tier", "length", "prompt_tokens", "scorer", "question_start", "target", "needles", "metadata"),
    *("messages", "prompt"),
)
OTHER = "not MRCR"


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``mrcr_v2_<n>needle_<tier>-<length>.csv``."""
    need_keys(split, "MRCR v2")
    tally = Tally()
    for row in split.rows(COLUMNS, selection):
        if row["scorer"] != "mrcr":
            tally.leave(row, OTHER)
        elif row["messages"] is not None:
            tally.leave(row, TURNS)
        else:
            line = _line(row)
            _add(path_below(out, f"mrcr_v2_{line['num_relevant']}needle_{group_name(row)}.csv"), line)
            tally.rows += 1
    return tally.written


def _line(row: Row) -> Row:
    places = {
        role: [[each["token_start"], each["token_end"]] for each in row["needles"] if each["role"] in roles]
        for role, roles in (("answer", {"relevant"}), ("all", {"relevant", "match"}))
    }
    ((start, end),) = places["answer"]
    return {
        "queries": row["prompt"],
        "answer": row["target"],
        "context_len": row["prompt_tokens"],
        "answer_token_count": end - start,
        "view_ops": row["prompt"][row["question_start"] :].rpartition("\n")[0],
        "num_relevant": json.loads(row["metadata"])["n_needles"],
        "answer_context_position": json.dumps([start, end]),
        "relevant_context_positions": json.dumps(sorted(places["all"])),
        "id": row["id"],
    }


def _add(path: Path, line: Row) -> None:
    """Append a line to a file, after the header if the file is new."""
    fresh = not path.exists()
    with path.open("a", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, [*FIELDS, "id"], lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(line)


EXPORT = Export(
    name="mrcr-v2",
    title="MRCR v2: CSV files of the transcripts of mrcr",
    harness="MRCR v2",
    write=write,
    sampling="The files hold no settings: send `temperature` 0 and no seed.",
    headline="MRCR v2 has one mean per file; the headline is the mean over lengths.",
    read=False,
)
