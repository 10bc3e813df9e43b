"""What was asked at all: rows that an export or a run has left out are not missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import PredictionsError
from pipeline.score.keys import ALL, KeyRow, reader
from pipeline.store.asked import Note, asked_in, found_for, read_asked
from pipeline.store.split import Split

UNSELECTED = "not selected by {by}"


@dataclass(frozen=True, slots=True)
class Notes:
    """Records of what was asked; `told` are the files that they speak of. Without records everything was asked."""

    notes: tuple[Note, ...] = ()
    told: frozenset[Path] = field(default_factory=frozenset)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of the runs; where two differ, both."""
        found: dict[str, dict[str, None]] = {}
        for note in self.notes:
            for name, value in note.asked.settings.items():
                found.setdefault(name, {})[value] = None
        return {name: ", ".join(values) for name, values in found.items()}


def notes_of(paths: Sequence[Path], exports: Sequence[Path], splits: Sequence[Split]) -> Notes:
    """Return the records of what was asked in some files; none if one of them has none, since it may hold any row.

    Raises:
        PredictionsError: if a given folder has no record, or a record is of another split or another tokenizer's.
    """
    if exports:
        notes = tuple(asked_in(folder) for folder in exports)
        for note in notes:
            if not _concerns(note, splits):
                raise PredictionsError(
                    f"{str(note.path)!r} is an export of {note.asked.split}, not of {_titles(splits)}"
                )
        return Notes(notes, frozenset(paths))
    found = {path: _found(path, splits) for path in paths}
    told = frozenset(path for path, note in found.items() if note)
    known = {note.path: note for note in found.values() if note}
    return Notes(tuple(known.values()) if len(told) == len(found) else (), told)


def _found(path: Path, splits: Sequence[Split]) -> Note | None:
    notes = (read_asked(place) for place in found_for(path) if place.is_file())
    return next((note for note in notes if _concerns(note, splits)), None)


def _concerns(note: Note, splits: Sequence[Split]) -> bool:
    """Tell whether a record is of one of some splits.

    Raises:
        PredictionsError: if it is, but of another tokenizer's folder.
    """
    same = [split for split in splits if set(split.tags.values()) & set(note.asked.tags.values())]
    if same and all(split.tokenizer != note.asked.tokenizer for split in same):
        raise PredictionsError(
            f"{str(note.path)!r} says that what was asked is of tokenizer {note.asked.tokenizer}, but {_titles(same)} "
            f"is of {same[0].tokenizer}: ids are the same for every tokenizer; give the folder of "
            f"{note.asked.tokenizer}"
        )
    return bool(same)


def _titles(splits: Sequence[Split]) -> str:
    return " + ".join(split.title for split in splits)


def split_keys(keys: Sequence[KeyRow], splits: Sequence[Split], notes: Notes) -> tuple[list[KeyRow], dict[str, int]]:
    """Return the keys of the rows that were asked, and how many others there are, by reason."""
    never: Counter[str] = Counter()
    reasons = {row_id: why for split in splits for row_id, why in _never(split, notes.notes).items()}
    for key in keys:
        if key.row["id"] in reasons:
            never[reasons[key.row["id"]]] += 1
    return [key for key in keys if key.row["id"] not in reasons], dict(sorted(never.items()))


def _never(split: Split, notes: Sequence[Note]) -> dict[str, str]:
    """Return the rows of a split that no record asks, with the reason; none if no record is of it."""
    own = [note for note in notes if set(split.tags.values()) & set(note.asked.tags.values())]
    if not own:
        return {}
    read = reader(split)
    asked = set().union(*(note.ids(read) for note in own))
    left = {row_id: why for note in own for row_id, why in note.left_out().items()}
    by = UNSELECTED.format(by=" and ".join(dict.fromkeys(note.asked.by for note in own)))
    return {row["id"]: left.get(row["id"], by) for row in read(["id"], ALL) if row["id"] not in asked}
