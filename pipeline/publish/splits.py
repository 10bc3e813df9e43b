"""Splits wherever they are: a folder on a disk or in a store, or a published data set at a tag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.artifacts.lite import LITE
from pipeline.artifacts.split import Split, open_split
from pipeline.errors import SplitError, unknown
from pipeline.publish.hub import download, parse_repo
from pipeline.storage import StorePath, parse_location

KEYS = ("keys/*", "manifest.json")
"""What scoring needs of a published split: everything but the text."""
SMALL = (f"{LITE}/*", "keys/*", "index/*", "tokenizer/*", "manifest.json")
"""What the size lite needs of one."""
TAGGED = re.compile(r"hf://datasets/(?:[^/@]+/)?[^/@]+@[^/]+/?")
"""A published data set at a tag, by the address that other tools have for it."""


def split_from(where: str | Path, patterns: Sequence[str] | None = None, *, size: str = "") -> Split:
    """Open a split in a folder, or a published one, of which files that match are fetched.

    What lies in a store is read there, column by column, and nothing of it is kept.

    Raises:
        SplitError: if there is no split, or no such size.
    """
    if size not in ("", LITE):
        raise SplitError(unknown("size", size, [LITE]))
    if size == LITE and patterns is None:
        small = open_split(fetched(str(where), SMALL))
        if small.has_lite_files:
            return replace(small, size=size)
    return replace(open_split(fetched(str(where), patterns)), size=size)


def fetched(where: str, patterns: Sequence[str] | None = None) -> Path:
    """Return the folder of a split: `where` itself, or where ``org/name@tag`` was downloaded to.

    Raises:
        SplitError: if there is no such folder, and it is not the name of a data set with a tag.
        RecipeError: if it is the URL of no store that is known.
    """
    if TAGGED.fullmatch(where):
        return download(*parse_repo(where.rstrip("/")), patterns=patterns)
    folder = parse_location(where)
    if isinstance(folder, StorePath) or folder.is_dir():
        return folder
    if "@" not in where:
        raise SplitError(
            f"no folder {where!r}: give the folder of a split, or a published set with its tag, such as org/name@v1.0.0"
        )
    return download(*parse_repo(where), patterns=patterns)
