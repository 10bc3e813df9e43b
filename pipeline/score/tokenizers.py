"""Finds the tokenizer that predictions were made for, if a release has splits of several.

Questions, ids and keys are the same for every tokenizer; prompts and windows are not. A model's predictions are scored
against the split that it was asked: the one that the record of its run or export names, or whose prompts have the
digests in its file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from pipeline.artifacts.asked import AskedFile, read_asked, read_asked_in, record_paths
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import PredictionsError
from pipeline.rows import known_by
from pipeline.score.formats import Entry
from pipeline.score.joining import reader
from pipeline.score.reading import read_predictions

Choices = Mapping[str, Sequence[Split]]
"""The splits of each tokenizer, by name: one release's, or several stacked."""
TRIED = 8
"""The number of predictions in a file whose digests are compared."""


def by_tokenizer(splits: Iterable[Split]) -> dict[str, list[Split]]:
    """Return splits by their tokenizer.

    Raises:
        PredictionsError: if those of two tokenizers do not have the same questions.
    """
    found: dict[str, list[Split]] = {}
    for split in splits:
        found.setdefault(split.tokenizer, []).append(split)
    first, *others = found.values()
    for other in others:
        one, two = _tags(first), _tags(other)
        if not one & two or any(tier in dict(two) for tier, _ in one - two):
            listed = (", ".join(f"{tier} {tag}" for tier, tag in sorted(tags)) for tags in (one, two))
            raise PredictionsError(
                f"{_titles(first)} and {_titles(other)} are not of the same questions ({' and '.join(listed)}): give "
                "splits of one release"
            )
    return found


def _tags(splits: Iterable[Split]) -> set[tuple[str, str]]:
    return {(tier, tag) for split in splits for tier, tag in split.tags.items()}


def _titles(splits: Iterable[Split]) -> str:
    return " + ".join(split.title for split in splits)


def tokenizer_asked(paths: Sequence[Path], choices: Choices, exports: Sequence[Path] = ()) -> str:
    """Return the tokenizer that one model's predictions were made for.

    Args:
        paths: prediction files of one model.
        choices: the splits that they may be for.
        exports: exported folders that they may be for.

    Raises:
        PredictionsError: if the tokenizer cannot be found out, is not among `choices`, or there are several.
    """
    if len(choices) == 1:
        return next(iter(choices))
    names = {name for path in paths if (name := _noted(path, choices) or _sent(path, choices))}
    names = names or {note.asked.tokenizer for note in map(read_asked_in, exports) if _is_of(note, choices)}
    known = ", ".join(sorted(choices))
    if not names:
        raise PredictionsError(
            f"{str(paths[0])!r}: nothing tells which tokenizer's prompts these predictions were made for ({known}): "
            "give --split NAME=DIR with the folder of that tokenizer, or --export FOLDER"
        )
    if len(names) > 1:
        raise PredictionsError(
            f"{str(paths[0])!r} and others are of one model, but of the tokenizers {', '.join(sorted(names))}: name "
            "each model with NAME=PREDICTIONS"
        )
    name = names.pop()
    if name not in choices:
        raise PredictionsError(
            f"{str(paths[0])!r}: what was asked is of tokenizer {name}, and the splits given are of {known}: give that "
            "of the same release with --split DIR"
        )
    return name


def exports_of(name: str, exports: Sequence[Path], choices: Choices) -> list[Path]:
    """Return the exported folders of a tokenizer; all of them if there is no other tokenizer."""
    return [folder for folder in exports if len(choices) == 1 or read_asked_in(folder).asked.tokenizer == name]


def _noted(path: Path, choices: Choices) -> str:
    """Return the tokenizer in the record beside a file or in a folder above it; empty without a record."""
    notes = (read_asked(place) for place in record_paths(path) if place.is_file())
    return next((note.asked.tokenizer for note in notes if _is_of(note, choices)), "")


def _is_of(note: AskedFile, choices: Choices) -> bool:
    tags = {tag for splits in choices.values() for split in splits for tag in split.tags.values()}
    return not tags.isdisjoint(note.asked.tags.values())


def _sent(path: Path, choices: Choices) -> str:
    """Return the tokenizer whose prompts were sent, by the digests of a file's first predictions; empty if unknown."""
    digests = dict(islice(_digests(path), TRIED))
    if not digests:
        return ""
    return next((name for name, splits in choices.items() if any(_holds(split, digests) for split in splits)), "")


def _digests(path: Path) -> Iterator[tuple[str, str]]:
    for entry in read_predictions(path):
        if isinstance(entry, Entry) and isinstance(entry.id, str) and entry.digest:
            yield entry.id, entry.digest


def _holds(split: Split, digests: Mapping[str, str]) -> bool:
    """Tell whether a split has the prompts with some digests, by its first row among them."""
    for row in reader(split)(["id", "metadata"], Selection()):
        if digest := digests.get(row["id"]) or digests.get(known_by(row["id"])):
            return bool(json.loads(row["metadata"]).get("prompt_sha256") == digest)
    return False
