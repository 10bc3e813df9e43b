"""What readers score over length, on a few rows of each stratum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from statistics import fmean

from pipeline.engine import run
from pipeline.metrics import score
from pipeline.readers.files import Replies, jobs_of, run_read
from pipeline.store.split import Selection, Split

SHOWN = ("all", "last32k", "forgets", "no-context")
"""The readers of a card: one without a weakness, one with a short window, one that loses its thread, and one blind."""


def curve_of(
    split: Split,
    open_executor: Callable[[], Executor],
    readers: Sequence[str] = SHOWN,
    limit: int = 1,
    on_done: Callable[[Replies], None] = lambda replies: None,
) -> dict[str, dict[int, float]]:
    """Return the mean score of each reader at each length: the mean of families of the mean of their rows.

    Args:
        split: a sealed split with its keys.
        open_executor: what opens the engine, as `pipeline.engine.run` takes it.
        readers: names of readers.
        limit: how many rows of each stratum are read.
        on_done: called with each part of the split that is read.

    Raises:
        CorruptError: if a text cannot be read as its task's.
    """
    selection = Selection(limit=limit)
    keys = {row["id"]: row for row in split.key_rows(selection=selection)}
    found: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for replies in run(run_read, list(jobs_of(split, selection, tuple(readers))), open_executor):
        on_done(replies)
        for named, _, said in replies.rows:
            key = keys[named["id"]]
            for name, reply in zip(readers, said, strict=True):
                if reply is not None:
                    found[name, key["length"], key["family"]].append(score(key, reply))
    means: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in readers}
    for (name, length, _), scores in sorted(found.items()):
        means[name][length].append(fmean(scores))
    return {name: {length: fmean(each) for length, each in own.items()} for name, own in means.items()}
