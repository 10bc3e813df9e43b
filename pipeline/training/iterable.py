"""Training rows as a `datasets.IterableDataset`, with the columns that `reward` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from pipeline.errors import ExportError, adding
from pipeline.rows import Row

JUDGED = (
    *("id", "subtask", "scorer", "question", "target", "answers", "choices", "random_string_to_prepend"),
    *("evidence", "evidence_form"),
)
"""The columns that `reward` reads besides the text, and the id for reports."""


def messages(row: Row) -> list[dict[str, str]]:
    """Return what is sent: the row's messages, or its prompt as one user message."""
    return row["messages"] or [{"role": "user", "content": row["prompt"]}]


def judged(row: Row) -> Row:
    """Return what `reward` needs of a row; the text is left out if evidence is given as ids."""
    return {**{name: row[name] for name in JUDGED}, "text": "" if row["evidence_form"] == "ids" else row["prompt"]}


def to_iterable(parts: Sequence[Iterable[Row]]) -> Any:
    """Return rows as an endless `datasets.IterableDataset`, with the columns that TRL and `rewarder` read.

    Args:
        parts: the shares of a data loader's workers.

    Raises:
        ExportError: if `datasets` is not installed.
    """
    try:
        kind = import_module("datasets").IterableDataset
    except ImportError:
        raise ExportError(f"to_iterable needs the package datasets: {adding('hub')}") from None
    return kind.from_generator(_lines, gen_kwargs={"parts": list(parts)})


def _lines(parts: Sequence[Iterable[Row]]) -> Iterator[Row]:
    for part in parts:
        yield from ({"prompt": messages(row), **judged(row)} for row in part)
