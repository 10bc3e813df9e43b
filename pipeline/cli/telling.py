"""What the command run says at its end: replies, refusals, rows left out, and counts that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from pipeline.ask.predictions import Predictions
from pipeline.ask.run import Outcome
from pipeline.rows import Row
from pipeline.store.asked import beside, left_out_of
from pipeline.terminal.numbers import row_count
from pipeline.terminal.printing import say

NAMED = 10
"""Rows without a reply that are named, of each kind."""
NUMBER = re.compile(r"\d+")


def tell(
    out: Path, rows: Mapping[str, Row], left: Collection[str], kept: Predictions, found: Outcome, most: int | None
) -> bool:
    """Print what a run brought, of the rows that are selected; tell whether every row that was asked has a reply."""
    asked = rows.keys() - set(left)
    answered, empty, refused = kept.answered & asked, kept.empty & asked, kept.refused.keys() & asked
    new = found.replies - found.empty
    say(f"{out}: {len(answered):,} of {len(asked):,} rows have a prediction, {new:,} of them new")
    _tell_counts(found)
    for what, ids in (
        ("refused for good, not asked again without --again", refused),
        ("an empty reply, not asked again without --again", empty),
        ("failed, asked again by the next run", found.failed.keys()),
        ("cut off at max_new_tokens", kept.cut & asked),
        (f"left out by --max-length {most}, named in {left_out_of(beside(out))}", left),
    ):
        if ids:
            say(f"{what}: {_by_length(rows, ids)}")
    _name({row_id: kept.refused[row_id] for row_id in sorted(refused)})
    _name(dict.fromkeys(sorted(empty), "the reply has no text"))
    _name(found.failed)
    return len(answered) == len(asked)


def _by_length(rows: Mapping[str, Row], ids: Collection[str]) -> str:
    """Return how many rows there are, and of which lengths."""
    lengths = Counter(rows[row_id]["length"] for row_id in ids)
    shown = ", ".join(f"{count:,} of length {length}" for length, count in sorted(lengths.items()))
    return f"{row_count(len(ids))} ({shown})"


def _tell_counts(found: Outcome) -> None:
    if differing := sum(count for off, count in found.off.items() if off):
        least, most = min(found.off), max(found.off)
        say(
            f"the server's count of prompt tokens differs from the split's in {differing:,} of "
            f"{sum(found.off.values()):,} rows, by {least:+} to {most:+}: check that the model and its chat template "
            "belong to this tokenizer"
        )


def _name(said: Mapping[str, str]) -> None:
    """Print the first rows of a kind with what is said of them, what differs in numbers alone once."""
    alike: dict[str, list[str]] = {}
    for row_id, words in said.items():
        alike.setdefault(NUMBER.sub("0", words), []).append(row_id)
    for ids in list(alike.values())[:NAMED]:
        others = f" (and {len(ids) - 1:,} like it)" if len(ids) > 1 else ""
        say(f"{ids[0]}: {said[ids[0]]}{others}", err=True)
    if unnamed := [row_id for ids in list(alike.values())[NAMED:] for row_id in ids]:
        say(f"... and {len(unnamed):,} more", err=True)
