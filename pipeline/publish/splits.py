"""Opening splits: from a folder on a disk or in a store, or from a published data set at a tag."""

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
"""The files of a published split that scoring needs: no text."""
SMALL = (f"{LITE}/*", "keys/*", "index/*", "tokenizer/*", "manifest.json")
"""The files of a published split that the size lite needs."""
TAGGED = re.compile(r"hf://datasets/(?:[^/@]+/)?[^/@]+@[^/]+/?")
"""A published data set at a tag, as an `hf://` URL."""


def open_any_split(where: str | Path, patterns: Sequence[str] | None = None, *, size: str = "") -> Split:
    """Open a split in a folder, or a published one, of which only files that match `patterns` are fetched.

    A split in a store is read there, column by column, and not copied.

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
    """Return the folder of a split: `where` itself, or the folder that ``org/name@tag`` was downloaded to.

    Raises:
        SplitError: if it is neither a folder nor a data set with a tag.
        RecipeError: if it is a URL of an unknown kind of store.
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
