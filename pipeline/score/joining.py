"""Joining predictions to rows by id: which answer counts, and everything that is wrong.

What counts: the one text that was given for an id. The same text twice is that text. Two different texts are none: it
is not for the scorer to choose, the row scores 0 and both places are named. A failed, refused or empty try counts only
if no other brought a text.

Ids are the same for every tokenizer, but prompts are not: where a file holds a prompt or its digest, it must be that of
the row.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.errors import PredictionsError
from pipeline.metrics import LONGEST
from pipeline.rows import known_by
from pipeline.score.objects import Found
from pipeline.score.reading import read_predictions
from pipeline.score.results import ANSWERED, EMPTY, MISSING, REFUSED, UNUSABLE, Fault
from pipeline.score.shapes import Entry

ROW_ID = re.compile(r"[a-z][a-z_]*-[A-Za-z0-9_-]+-(?:32k|128k|1m)-\d+-\d+[ab]?-(?P<tag>[0-9a-z]+)")
"""An id of some split, the split's tag at its end."""


@dataclass(slots=True)
class Answer:
    """What was given for one id: the end of the text, as far as scorers read it, or why there is none."""

    text: str | None
    size: int
    where: str
    state: str
    failed: str = ""
    finish: str = ""
    tokens: int | None = None
    seconds: float | None = None

    @property
    def conflict(self) -> bool:
        """Tell whether another text was given too."""
        return self.text is not None and self.state == UNUSABLE


@dataclass(slots=True)
class Answered:
    """Answers by id, faults in the order they were met, and how many predictions were read.

    `untold` are the files that hold no prompts, so that they may be of any tokenizer.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    read: int = 0
    untold: list[Path] = field(default_factory=list)


def join(
    paths: Iterable[Path],
    known: Mapping[str, str],
    tags: Mapping[str, str],
    title: str,
    *,
    told: Container[Path] = (),
) -> Answered:
    """Read predictions and keep those of known ids. Memory holds their texts, and no line of a file but one.

    Args:
        paths: files of predictions, of one model.
        known: the ids of the rows, with the digest of each prompt, where it is known.
        tags: the split tag of each tier, and `title` the split's name, for the error.
        title: see `tags`.
        told: files of which something else tells for which tokenizer they were made.

    Raises:
        PredictionsError: if a file is of no known form, or a prediction is of another split.
    """
    joined = Answered()
    short = {known_by(row_id): row_id for row_id in known}
    for path in paths:
        read = sure = 0
        for found in _all(path):
            if isinstance(found, Fault):
                joined.faults.append(found)
                continue
            joined.read += 1
            if isinstance(found.id, str) and found.id in short:
                found = replace(found, id=short[str(found.id)])
            if _belongs(found, known, tags, title, joined):
                read += 1
                sure += _is_own(found, known, title)
                _take(found, joined)
        if read and not sure and path not in told:
            joined.untold.append(path)
    return joined


def _is_own(entry: Entry, known: Mapping[str, str], title: str) -> bool:
    """Tell whether the prompt that was sent is the row's; False if nothing says what was sent.

    Raises:
        PredictionsError: if it is another.
    """
    expected = known[str(entry.id)]
    if not entry.digest or not expected:
        return False
    if entry.digest != expected:
        raise PredictionsError(
            f"{entry.where}: what was sent for {entry.id} is not the prompt that {title} has: ids are the same for "
            "every tokenizer; give the folder of the tokenizer that the model was asked with"
        )
    return True


def _all(path: Path) -> Iterator[Found]:
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
            f"{entry.where}: {row_id!r} belongs to another split: its tag is {matched['tag']}, but that of {title} is "
            f"{own}: give the split that the model was run on"
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
        before.state = before.state if same else UNUSABLE


def _answer(entry: Entry, joined: Answered) -> Answer:
    """Return the answer of an entry; of a long text, only the end that scorers read is kept."""
    if entry.error:
        return Answer(None, 0, entry.where, REFUSED if entry.final else MISSING, entry.error)
    text, more = entry.text, (entry.finish, entry.tokens, entry.seconds)
    if text is None or (isinstance(text, str) and not text.strip()):
        said = f"it ended with {entry.finish}" if entry.finish else "the server gave no reason"
        return Answer(None, 0, entry.where, EMPTY, said, *more)
    if not isinstance(text, str):
        joined.faults.append(
            Fault("no text", f"{entry.where}: {entry.id}: the prediction is {type(text).__name__}, not text")
        )
        return Answer(None, 0, entry.where, UNUSABLE)
    if len(text) > LONGEST:
        said = f"{len(text):,} characters, of which only the last {LONGEST:,} are read"
        joined.faults.append(Fault("huge", f"{entry.where}: {entry.id}: {said}"))
    return Answer(text[-LONGEST:], len(text), entry.where, ANSWERED, "", *more)
