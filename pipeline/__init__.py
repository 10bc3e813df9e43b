"""Carrara: long-context evaluation sets, cut to exact size and proven.

For notebooks and scripts: `open_split` reads a split, `open_scores` holds predictions against one; both give pandas
frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.artifacts.split import Split
    from pipeline.score.cells import Tables

__version__ = "2.0.0"
__all__ = ["__version__", "open_scores", "open_split"]


def open_split(where: str | Path) -> Split:
    """Open one tokenizer's folder of a build, or a published data set at a tag.

    Args:
        where: a folder, such as ``outputs/v2.0.0/o200k``, or ``org/name@v1.0.0``, which is downloaded.

    Returns:
        The split; ``split.rows()`` yields its rows, ``split.frame()`` gives them as a pandas frame.

    Raises:
        SplitError: if there is no sealed split.
        HubError: if the Hub refuses, or its client is not installed.
    """
    from pipeline.publish.splits import split_from

    return split_from(where)


def open_scores(
    split: Split | str | Path, predictions: str | Path | Sequence[str | Path], *, model: str = ""
) -> Tables:
    """Score the predictions of one model against a split.

    Args:
        split: an open split, or what `open_split` takes; of a published one only the keys are downloaded.
        predictions: files or folders in any form that `carrara score` reads.
        model: a label for the model.

    Returns:
        Tables of scores; ``scores.frame()`` has one line for each row, ``scores.frame("family", "length")`` one for
        each cell, with its 95 % interval and chance.

    Raises:
        PredictionsError: if nothing can be scored.
        SplitError: if there is no sealed split.
    """
    from pathlib import Path

    from pipeline.publish.splits import KEYS, split_from
    from pipeline.score.cells import Tables
    from pipeline.score.reading import files_of
    from pipeline.score.scoring import score_predictions

    opened = split_from(split, KEYS) if isinstance(split, str | Path) else split
    given = [predictions] if isinstance(predictions, str | Path) else predictions
    return Tables(score_predictions([opened], files_of([Path(each) for each in given]), model=model))
