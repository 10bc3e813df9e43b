"""Carrara's Python API: open a split, score predictions against it, score one reply, stream rows to trainers.

Heavy packages are imported only when needed. Everything else is in `pipeline`, the package behind the command
`carrara`.

>>> [name for name in sorted(__all__) if name.islower() and "_" not in name]
['mix', 'reward', 'rewarder', 'score', 'stream', 'taskset']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pipeline.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.artifacts.split import Selection, Split
    from pipeline.errors import CarraraError
    from pipeline.metrics import score
    from pipeline.score.cells import Tables
    from pipeline.training.adapters import compute_score, register_in_gym, rewarder, taskset, verl_dataset
    from pipeline.training.mixing import Curriculum, mix
    from pipeline.training.reward import reward
    from pipeline.training.stream import stream

__all__ = [
    "CarraraError",
    "Curriculum",
    "Selection",
    "Split",
    "Tables",
    "__version__",
    "compute_score",
    "mix",
    "open_scores",
    "open_split",
    "register_in_gym",
    "reward",
    "rewarder",
    "score",
    "stream",
    "taskset",
    "verl_dataset",
]

_HOMES = {
    "CarraraError": "pipeline.errors",
    "Curriculum": "pipeline.training.mixing",
    "Selection": "pipeline.artifacts.split",
    "Split": "pipeline.artifacts.split",
    "Tables": "pipeline.score.cells",
    "compute_score": "pipeline.training.adapters",
    "mix": "pipeline.training.mixing",
    "register_in_gym": "pipeline.training.adapters",
    "reward": "pipeline.training.reward",
    "rewarder": "pipeline.training.adapters",
    "score": "pipeline.metrics",
    "stream": "pipeline.training.stream",
    "taskset": "pipeline.training.adapters",
    "verl_dataset": "pipeline.training.adapters",
}
"""The module of each name, which is imported when the name is first used."""


def open_split(where: str | Path, size: str = "") -> Split:
    """Open one tokenizer's folder of a build, or a published data set at a tag.

    Args:
        where: a folder, such as ``outputs/v3.0.0/o200k``; the URL of a folder in a store; or ``org/name@v1.0.0``, which
            is downloaded.
        size: ``"lite"`` for the small balanced subset, or empty for all rows.

    Returns:
        The split; ``split.rows()`` yields its rows, ``split.frame()`` returns them as a pandas DataFrame.

    Raises:
        SplitError: if there is no sealed split, or no such size.
        HubError: if the Hub refuses, or its client is not installed.
    """
    from pipeline.publish.splits import open_any_split

    return open_any_split(where, size=size)


def open_scores(
    split: Split | str | Path, predictions: str | Path | Sequence[str | Path], *, model: str = ""
) -> Tables:
    """Score the predictions of one model against a split.

    Args:
        split: an open split, or what `open_split` takes; only the keys of a published split are downloaded.
        predictions: files or folders in any form that `carrara score` reads.
        model: a label for the model.

    Returns:
        Tables of scores; ``scores.frame()`` has a line for each row, ``scores.frame("family", "length")`` one for each
        family and length, with its 95 % interval and chance.

    Raises:
        PredictionsError: if nothing can be scored.
        SplitError: if there is no sealed split.
    """
    from pathlib import Path

    from pipeline.publish.splits import KEYS, open_any_split
    from pipeline.score.cells import Tables
    from pipeline.score.reading import files_of
    from pipeline.score.scoring import score_predictions

    opened = open_any_split(split, KEYS) if isinstance(split, str | Path) else split
    given = [predictions] if isinstance(predictions, str | Path) else predictions
    return Tables(score_predictions([opened], files_of([Path(each) for each in given]), model=model))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'carrara' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
