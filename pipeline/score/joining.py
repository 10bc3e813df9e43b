"""Joins predictions to rows by id: decides which answer counts, and collects all faults.

The one text that was given for an id counts, also if it was given twice. Two different texts count as none, since the
scorer must not choose: the row scores 0 and both places are named. A failed, refused or empty try counts only if no
other brought a text.

Ids are the same for every tokenizer, but prompts are not: a prompt in a file, or its digest, must be the row's.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.artifacts.asked import AskedFile, read_asked, read_asked_in, record_paths
from pipeline.artifacts.files import file_digest
from pipeline.artifacts.lite import LITE
from pipeline.artifacts.manifest import one_constant
from pipeline.artifacts.parquet import columns_of
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import CorruptError, PredictionsError, unknown
from pipeline.metrics import JUDGED, MAX_REPLY_CHARACTERS, SCORERS, facts
from pipeline.rows import KEYS_SCHEMA, Row, asked_of, known_by
from pipeline.score.formats import Entry
from pipeline.score.reading import Found, read_predictions
from pipeline.score.results import ANSWERED, EMPTY, MISSING, REFUSED, UNUSABLE, Fault
from pipeline.storage import StorePath

ROW_ID = re.compile(r"[a-z][a-z_]*-[A-Za-z0-9_-]+-(?:32k|128k|1m)-\d+-\d+[ab]?-(?P<tag>[0-9a-z]+)")
"""The id of a row of any split, with the split's tag at its end."""


@dataclass(slots=True)
class Answer:
    """What was given for one id: the end of the text that scorers read, or why there is none."""

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
        """Whether another text was given too."""
        return self.text is not None and self.state == UNUSABLE


@dataclass(slots=True)
class Answered:
    """Answers by id, faults in the order of reading, and the number of predictions read.

    `untold` are files without prompts or digests, whose predictions may be for any tokenizer.
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
    certain: Container[Path] = (),
) -> Answered:
    """Read predictions and keep those of known ids. Only their texts and one line of a file are in memory at a time.

    Args:
        paths: prediction files of one model.
        known: the ids of the rows, with the digest of each prompt, or "" if it is not known.
        tags: the split tag of each tier.
        title: the split's name, for errors.
        certain: files whose tokenizer is known otherwise.

    Raises:
        PredictionsError: if a file has no known format, or a prediction is for another split or another prompt.
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
        if read and not sure and path not in certain:
            joined.untold.append(path)
    return joined


def _is_own(entry: Entry, known: Mapping[str, str], title: str) -> bool:
    """Tell whether the prompt that was sent is known to be the row's.

    Raises:
        PredictionsError: if it is another one.
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
    """Return the answer of an entry, a long text cut to the end that scorers read."""
    if entry.error:
        return Answer(None, 0, entry.where, REFUSED if entry.final else MISSING, entry.error)
    text, more = entry.text, (entry.finish, entry.tokens, entry.seconds)
    if text is None or (isinstance(text, str) and not text.strip()):
        reason = f"it ended with {entry.finish}" if entry.finish else "the server gave no reason"
        return Answer(None, 0, entry.where, EMPTY, reason, *more)
    if not isinstance(text, str):
        joined.faults.append(
            Fault("no text", f"{entry.where}: {entry.id}: the prediction is {type(text).__name__}, not text")
        )
        return Answer(None, 0, entry.where, UNUSABLE)
    if len(text) > MAX_REPLY_CHARACTERS:
        reason = f"{len(text):,} characters, of which only the last {MAX_REPLY_CHARACTERS:,} are read"
        joined.faults.append(Fault("huge", f"{entry.where}: {entry.id}: {reason}"))
    return Answer(text[-MAX_REPLY_CHARACTERS:], len(text), entry.where, ANSWERED, "", *more)


COLUMNS = [name for name in KEYS_SCHEMA.names if name not in ("tokenizer", "frame", "answer_prefix", "question_start")]
ALL = Selection()


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A row's key: its columns, and depth, class, pair, baselines and prompt digest, derived from them."""

    row: Row
    subset: str
    depth: float | None
    kind: str
    pair: str
    baselines: Mapping[str, float]
    digest: str = ""


def read_keys(split: Split, selection: Selection = ALL) -> Iterator[KeyRow]:
    """Yield the keys of the selected rows, in the order of the split.

    Raises:
        PredictionsError: if the split withholds its keys, or has a scorer that this version does not know.
        CorruptError: if a file of keys is not the one that was proven.
    """
    best = _constants(split)
    _check_bytes(split)
    for row in reader(split)(COLUMNS, selection):
        yield _key_row(row, split.tags.get(row["tier"], ""), best)


def _check_bytes(split: Split) -> None:
    """Compare the files of keys with the manifest; in a store, only single columns of them are read."""
    if isinstance(split.folder, StorePath):
        return
    for shard in (each for made in split.manifest.tiers.values() for each in made.shards):
        path = split.folder / "keys" / f"{shard.shard}.parquet"
        if shard.keys_sha256 and path.is_file() and file_digest(path) != shard.keys_sha256:
            raise CorruptError(f"{str(path)!r} differs from the bytes that were proven: get or build the split again")


def known_ids(split: Split) -> Iterator[str]:
    """Yield the ids of all rows of a split, whatever size it was opened in.

    Raises:
        PredictionsError: if the split withholds its keys.
    """
    for row in reader(replace(split, size=""))(["id"], ALL):
        yield row["id"]


def reader(split: Split) -> Callable[[Sequence[str], Selection], Iterator[Row]]:
    """Return the method that reads rows with keys: from ``keys``, or if there are none, from ``data``."""
    return split.key_rows if _has_keys(split, "keys") else split.rows


def _has_keys(split: Split, part: str) -> bool:
    """Tell whether a part of a split has keys.

    Raises:
        PredictionsError: if neither part has them.
    """
    path = next(iter(split.shards(part)), None)
    if path is not None and path.is_file() and "target" in columns_of(path):
        return True
    if part == "keys" and _has_keys(split, "data"):
        return False
    raise PredictionsError(
        f"{split.title} is published without its keys: give the folder or data set that holds the keys"
    )


def _key_row(row: Row, tag: str, best: Mapping[tuple[Any, ...], float]) -> KeyRow:
    if row["scorer"] not in SCORERS:
        problem = unknown("scorer", row["scorer"], SCORERS)
        raise PredictionsError(
            f"row {row['id']} has the {problem}: score with the version of Carrara that built the split"
        )
    metadata = json.loads(row.pop("metadata"))
    places = [needle["depth"] for needle in row.pop("needles") if needle["role"] == "relevant"]
    asked = asked_of(metadata)
    constant = best.get((row["tier"], row["family"], row["subtask"], row["complexity"], asked))
    found = {} if constant is None else {"best_constant": constant}
    scorer = facts(row["scorer"])
    return KeyRow(
        row=row,
        subset=f"{tag} {row['tier']}",
        depth=places[0] if len(places) == 1 else None,
        kind=("stated" if row["complexity"] else "unstated") if scorer.refuses else "",
        pair=pair_of(row["id"]) if scorer.paired else "",
        baselines={**metadata.get("baselines", {}), **found},
        digest=str(metadata.get("prompt_sha256", "")),
    )


def pair_of(row_id: str) -> str:
    """Return the common part of the ids of a pair's two rows."""
    head, _, tag = row_id.rpartition("-")
    return f"{head[:-1]}-{tag}"


MIN_ROWS = 4
"""Fewest rows of a kind of question for which the best constant means anything. It is chosen with knowledge of their
answers, so on a single row it scores 1."""


def _constants(split: Split) -> dict[tuple[Any, ...], float]:
    """Return the best constant's score by tier and kind of question; one constant serves both classes of refusals."""
    found: dict[tuple[Any, ...], float] = {}
    for tier, made in split.manifest.tiers.items():
        chances = made.chance or ()
        both = {(each.family, each.subtask, each.asked) for each in chances if not each.complexity}
        found |= {
            (tier, each.family, each.subtask, each.complexity, each.asked): each.best_constant
            for each in one_constant(chances)
            if each.rows >= MIN_ROWS or (each.family, each.subtask, each.asked) in both
        }
    return found


def judged(keys: Sequence[KeyRow]) -> list[Row]:
    """Return the columns of each key that scorers read."""
    return [{name: key.row[name] for name in JUDGED} for key in keys]


UNSELECTED = "not selected by {by}"


@dataclass(frozen=True, slots=True)
class Notes:
    """Records of which rows were asked, and the files `told` that they cover. Without records all rows were asked."""

    notes: tuple[AskedFile, ...] = ()
    certain: frozenset[Path] = field(default_factory=frozenset)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of the runs; if runs differ, all values."""
        found: dict[str, dict[str, None]] = {}
        for note in self.notes:
            for name, value in note.asked.settings.items():
                found.setdefault(name, {})[value] = None
        return {name: ", ".join(values) for name, values in found.items()}


def notes_of(paths: Sequence[Path], exports: Sequence[Path], splits: Sequence[Split]) -> Notes:
    """Return the records of what was asked in some files; none if any file lacks one, since it may contain any row.

    Raises:
        PredictionsError: if an exported folder has no record, or a record is for another split or tokenizer.
    """
    if exports:
        notes = tuple(read_asked_in(folder) for folder in exports)
        for note in notes:
            if not _concerns(note, splits):
                raise PredictionsError(
                    f"{str(note.path)!r} is an export of {note.asked.split}, not of {_titles(splits)}"
                )
        return Notes(notes, frozenset(paths))
    found = {path: _found(path, splits) for path in paths}
    certain = frozenset(path for path, note in found.items() if note)
    known = {note.path: note for note in found.values() if note}
    return Notes(tuple(known.values()) if len(certain) == len(found) else (), certain)


def _found(path: Path, splits: Sequence[Split]) -> AskedFile | None:
    notes = (read_asked(place) for place in record_paths(path) if place.is_file())
    return next((note for note in notes if _concerns(note, splits)), None)


def _concerns(note: AskedFile, splits: Sequence[Split]) -> bool:
    """Tell whether a record is for one of some splits.

    Raises:
        PredictionsError: if it is for the same release, but another tokenizer's split.
    """
    same = [split for split in splits if set(split.tags.values()) & set(note.asked.tags.values())]
    if same and all(split.tokenizer != note.asked.tokenizer for split in same):
        raise PredictionsError(
            f"{str(note.path)!r} says that what was asked is of tokenizer {note.asked.tokenizer}, but {_titles(same)} "
            f"is of {same[0].tokenizer}: ids are the same for every tokenizer; give the folder of "
            f"{note.asked.tokenizer}"
        )
    return bool(same)


def is_asked_lite(splits: Sequence[Split], selection: Selection, notes: Notes) -> bool:
    """Tell whether only rows of the size lite were asked: they were selected, or no run asked any others."""
    asked = [chosen for note in notes.notes for chosen in note.asked.selections]
    chosen = selection.size == LITE or all(split.size == LITE for split in splits)
    return chosen or (bool(asked) and all(each.size == LITE for each in asked))


def _titles(splits: Sequence[Split]) -> str:
    return " + ".join(split.title for split in splits)


def split_keys(keys: Sequence[KeyRow], splits: Sequence[Split], notes: Notes) -> tuple[list[KeyRow], dict[str, int]]:
    """Return the keys of the rows that were asked, and the number of other rows by reason."""
    never: Counter[str] = Counter()
    reasons = {row_id: why for split in splits for row_id, why in _never(split, notes.notes).items()}
    for key in keys:
        if key.row["id"] in reasons:
            never[reasons[key.row["id"]]] += 1
    return [key for key in keys if key.row["id"] not in reasons], dict(sorted(never.items()))


def _never(split: Split, notes: Sequence[AskedFile]) -> dict[str, str]:
    """Return the ids of a split's rows that were not asked, with the reasons; empty if no record is for the split."""
    own = [note for note in notes if set(split.tags.values()) & set(note.asked.tags.values())]
    if not own:
        return {}
    read = reader(split)
    asked = set().union(*(note.ids(read) for note in own))
    left = {row_id: why for note in own for row_id, why in note.left_out().items()}
    by = UNSELECTED.format(by=" and ".join(dict.fromkeys(note.asked.by for note in own)))
    return {row["id"]: left.get(row["id"], by) for row in read(["id"], ALL) if row["id"] not in asked}
