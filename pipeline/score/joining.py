"""Joining predictions to rows by id: which answer counts, and everything that is wrong.

What counts: the one text that was given for an id. The same text twice is that text. Two different texts are none: it
is not for the scorer to choose, the row scores 0 and both places are named. A failed or empty try counts only if no
other brought a text.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import PredictionsError
from pipeline.metrics import LONGEST
from pipeline.score.reading import Found, read_predictions
from pipeline.score.results import Fault
from pipeline.score.shapes import Entry

ROW_ID = re.compile(r"[a-z][a-z_]*-[A-Za-z0-9_-]+-(?:32k|128k|1m)-\d+-\d+[ab]?-(?P<tag>[0-9a-z]+)")
"""An id of some split, the split's tag at its end."""


@dataclass(slots=True)
class Answer:
    """What was given for one id: the end of the text, as far as scorers read it, or the error instead."""

    text: str | None
    size: int
    where: str
    failed: str = ""
    conflict: bool = False


@dataclass(slots=True)
class Answered:
    """Answers by id, faults in the order they were met, and how many predictions were read."""

    answers: dict[str, Answer] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    read: int = 0


def join(paths: Iterable[Path], known: Container[str], tags: Mapping[str, str], title: str) -> Answered:
    """Read predictions and keep those of known ids. Memory holds their texts, and no line of a file but one.

    Args:
        paths: files of predictions, of one model.
        known: the ids of the rows.
        tags: the split tag of each tier, and `title` the split's name, for the error.
        title: see `tags`.

    Raises:
        PredictionsError: if a file is of no known form, or a prediction is of another split.
    """
    joined = Answered()
    for found in _all(paths):
        if isinstance(found, Fault):
            joined.faults.append(found)
            continue
        joined.read += 1
        if _belongs(found, known, tags, title, joined):
            _take(found, joined)
    return joined


def _all(paths: Iterable[Path]) -> Iterator[Found]:
    for path in paths:
        again = 0
        for found in read_predictions(path):
            if isinstance(found, Entry) and found.again:
                again += 1
            else:
                yield found
        if again:
            yield Fault("repeated", f"{path}: {again} answers of later epochs are ignored; the first counts")


def _belongs(entry: Entry, known: Container[str], tags: Mapping[str, str], title: str, joined: Answered) -> bool:
    row_id = entry.id
    if isinstance(row_id, str) and row_id in known:
        return True
    matched = ROW_ID.fullmatch(row_id) if isinstance(row_id, str) else None
    if matched and matched["tag"] not in tags.values():
        own = " and ".join(sorted(set(tags.values())))
        raise PredictionsError(
            f"{entry.where}: {row_id!r} belongs to another split: its tag is {matched['tag']}, but that of "
            f"{title} is {own}: "
            "give the split that the model was run on"
        )
    joined.faults.append(Fault("unknown", f"{entry.where}: the split has no row {ascii(row_id)[:80]}"))
    return False


def _take(entry: Entry, joined: Answered) -> None:
    """Keep an entry if it adds to what is known."""
    fresh, row_id = _answer(entry, joined), str(entry.id)
    before = joined.answers.get(row_id)
    if before is None or before.text is None:
        joined.answers[row_id] = fresh if fresh.text is not None or before is None else before
    elif fresh.text is not None:
        same = (fresh.text, fresh.size) == (before.text, before.size)
        kind, what = ("repeated", "the same answer as in") if same else ("conflict", "another answer than in")
        joined.faults.append(Fault(kind, f"{entry.where}: {row_id}: {what} {before.where}"))
        before.conflict = before.conflict or not same


def _answer(entry: Entry, joined: Answered) -> Answer:
    """Return the answer of an entry; of a long text, only the end that scorers read is kept."""
    if entry.error:
        return Answer(None, 0, entry.where, entry.error)
    text = entry.text
    if not isinstance(text, str):
        what = "null" if text is None else type(text).__name__
        joined.faults.append(Fault("no text", f"{entry.where}: {entry.id}: the prediction is {what}, not text"))
        return Answer(None, 0, entry.where)
    if len(text) > LONGEST:
        said = f"{len(text):,} characters, of which only the last {LONGEST:,} are read"
        joined.faults.append(Fault("huge", f"{entry.where}: {entry.id}: {said}"))
    return Answer(text[-LONGEST:], len(text), entry.where)
