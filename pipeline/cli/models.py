"""Helpers of commands that score: models by name, and the splits that each was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from pipeline.artifacts.split import Split, open_split
from pipeline.cli.options import WHERE
from pipeline.errors import PredictionsError
from pipeline.publish.splits import KEYS, fetched
from pipeline.score.reading import files_of
from pipeline.score.tokenizers import by_tokenizer, exports_of, tokenizer_asked
from pipeline.storage import parse_location

SPLIT = click.option(
    "--split",
    "others",
    multiple=True,
    metavar=f"[NAME=]{WHERE}",
    help="The same release for another tokenizer, on which some models (or the model NAME) were run. Repeatable.",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The splits that models may have been asked: `choices` by tokenizer, and `named` by model, if a user said so."""

    choices: dict[str, list[Split]]
    named: dict[str, list[Split]] = field(default_factory=dict)

    def of(self, model: str, paths: Sequence[Path], exports: Sequence[Path]) -> tuple[list[Split], list[Path]]:
        """Return the splits that a model's predictions are for, and the exports of the same tokenizer.

        Raises:
            PredictionsError: if the splits cannot be found out.
        """
        own = self.named.get(model)
        name = own[0].tokenizer if own else tokenizer_asked(paths, self.choices, exports)
        return own or self.choices[name], exports_of(name, exports, self.choices)


def asked_from(where: str, stack: Sequence[str], others: Sequence[str], models: Sequence[str]) -> Asked:
    """Open the splits that options name; a release folder has one for each tokenizer.

    Raises:
        PredictionsError: if they do not have the same questions, or an option names an unknown model.
    """
    named = dict[str, list[Split]]()
    splits = [split for one in (where, *stack) for split in splits_in(one)]
    for given in others:
        name, place = labelled(given)
        if name is not None and name not in models:
            raise PredictionsError(
                f"--split {given}: no predictions are called {name!r}: give one of {', '.join(models)}"
            )
        found = splits_in(place)
        splits += [each for each in found if all(each.folder != one.folder for one in splits)]
        if name is not None:
            named.setdefault(name, []).extend(found)
    return Asked(by_tokenizer(splits), named)


def splits_in(where: str) -> list[Split]:
    """Return the split in a folder, or the splits of all tokenizers of a release."""
    folder = fetched(where, KEYS)
    inside = sorted(path.parent for path in folder.glob("*/manifest.json"))
    if inside and not (folder / "manifest.json").exists():
        return [open_split(each) for each in inside]
    return [open_split(folder)]


def is_release(where: str) -> bool:
    """Tell whether a place is a release folder, not the split of one tokenizer; raise `SplitError` if neither."""
    return splits_in(where)[0].folder != fetched(where, KEYS)


def models_of(given: Sequence[str], *, together: bool = False) -> dict[str, list[Path]]:
    """Return the files of each model by its label; files given under the same NAME are combined.

    Args:
        given: items of the form ``[NAME=]PREDICTIONS``; a model without a name is labelled by its file's name.
        together: whether files without names all belong to one unlabeled model; ignored if any has a name.

    Raises:
        PredictionsError: if two models would have the same label.
    """
    found: dict[str, list[Path]] = {}
    named = [labelled(text) for text in given]
    if together and all(name is None for name, _ in named):
        return {"": files_of([parse_location(place) for _, place in named])}
    for name, place in named:
        path = parse_location(place)
        if name is None and path.stem in found:
            raise PredictionsError(f"two models are called {path.stem!r}: name them with NAME=PREDICTIONS")
        found.setdefault(name or path.stem, []).append(path)
    return {label: files_of(paths) for label, paths in found.items()}


def labelled(text: str) -> tuple[str | None, str]:
    """Return the name and the place in ``[NAME=]PLACE``."""
    name, equals, place = text.partition("=")
    return (name, place) if name and equals and "://" not in name and not Path(text).exists() else (None, text)
