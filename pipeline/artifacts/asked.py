"""Records of which rows of a split an export or a run asked: ``asked.json``, and ``left_out.tsv`` with ids left out.

Scoring reads them to tell rows that were never asked from missing predictions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.artifacts.files import (
    atomic_write,
    read_record,
)
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import PredictionsError
from pipeline.rows import Row
from pipeline.typed import (
    Line,
    Plain,
    Tier,
    Whole,
)

ASKED, LEFT_OUT = "asked.json", "left_out.tsv"
VERSION = 1
Reasons = Mapping[str, str]
"""Ids of rows that were left out, with the reason."""


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """Which rows were asked, and how.

    Attributes:
        asked_version: version of this format.
        carrara: version of Carrara that wrote it.
        by: the harness of an export, or ``carrara run``.
        split, tokenizer: title and profile of the split.
        tags: the tag of each tier.
        selections: the selections whose rows were asked.
        left_out: how many selected rows were left out, by reason; their ids are in LEFT_OUT.
        settings: what a run sent with each request, and to which server.
    """

    asked_version: Whole
    carrara: Line
    by: Line
    split: Line
    tokenizer: Plain
    tags: Mapping[Tier, Plain]
    selections: tuple[Selection, ...]
    left_out: Mapping[Line, Whole] = field(default_factory=dict)
    settings: Mapping[Line, Line] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A file with such a record; the ids that were left out are read only when needed."""

    path: Path
    asked: AskedRecord

    def left_out(self) -> dict[str, str]:
        """Return the reason for each id that was left out.

        Raises:
            PredictionsError: if the list cannot be read.
        """
        return read_left_out(left_out_of(self.path))

    def ids(self, read: Callable[[Sequence[str], Selection], Iterator[Row]]) -> set[str]:
        """Return the ids of the rows that were asked; `read` reads columns of a split's rows, as `Split.rows`."""
        rows = (row for chosen in self.asked.selections for row in read(["id"], chosen))
        return {row["id"] for row in rows} - self.left_out().keys()


def asked_record_of(
    split: Split, by: str, selections: Sequence[Selection], reasons: Iterable[str], **more: Any
) -> AskedRecord:
    """Return the record of what is asked of a split; `reasons` has one reason for each row left out."""
    from pipeline.version import __version__

    left: dict[str, int] = {}
    for reason in reasons:
        left[reason] = left.get(reason, 0) + 1
    return AskedRecord(
        VERSION, __version__, by, split.title, split.tokenizer, split.tags, tuple(selections), left, **more
    )


def write_asked(path: Path, asked: AskedRecord, left_out: Reasons) -> None:
    """Write a record, and beside it the ids that were left out, if any."""
    with atomic_write(path) as aside:
        aside.write_text(json.dumps(asdict(asked), indent=1) + "\n", encoding="ascii")
    other = left_out_of(path)
    if left_out:
        with atomic_write(other) as aside:
            aside.write_text("".join(f"{row_id}\t{why}\n" for row_id, why in left_out.items()), encoding="ascii")
    else:
        other.unlink(missing_ok=True)


def left_out_of(path: Path) -> Path:
    """Return the path of the list of ids left out: beside the record, with the same prefix."""
    return path.with_name(path.name.removesuffix(ASKED) + LEFT_OUT)


def record_path(predictions: Path) -> Path:
    """Return the path of a run's record: ``m.asked.json`` for ``m.jsonl``."""
    return predictions.with_name(f"{predictions.stem}.{ASKED}")


def read_left_out(path: Path) -> dict[str, str]:
    """Return the reason for each id of a list; empty if there is no list.

    Raises:
        PredictionsError: if it cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    except (OSError, ValueError) as fault:
        raise PredictionsError(f"{str(path)!r} cannot be read ({fault}): export or run again") from None
    return {row_id: reason for row_id, _, reason in (line.partition("\t") for line in lines)}


def read_asked(path: Path) -> AskedFile:
    """Read a record.

    Raises:
        PredictionsError: if it cannot be read, or is not such a record.
    """
    try:
        return AskedFile(path, read_record(path, AskedRecord, PredictionsError))
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise PredictionsError(f"{str(path)!r} does not say what was asked ({why}): export or run again") from None


def read_asked_in(folder: Path) -> AskedFile:
    """Read the record in an export's folder.

    Raises:
        PredictionsError: if the folder has none.
    """
    path = folder / ASKED
    if not path.is_file():
        raise PredictionsError(f"{str(folder)!r} has no {ASKED}: give a folder that `carrara export` wrote")
    return read_asked(path)


def record_paths(predictions: Path) -> Iterator[Path]:
    """Yield where the record for some predictions may be: beside them, or in a folder above."""
    yield record_path(predictions)
    for folder in predictions.absolute().parents:
        yield folder / ASKED
