"""Where a command finds the split that it is given: a folder, or a published data set."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from pipeline.errors import SplitError
from pipeline.splits import Split, open_split

REPO = re.compile(r"[\w.-]+/[\w.-]+(?:@[\w./-]+)?")


def split_at(where: str) -> Split:
    """Open one tokenizer's folder of a build, or fetch a published data set, ``org/name@tag``, and open it.

    Raises:
        SplitError: if it is neither, or holds no sealed split.
        HubError: if the data set cannot be fetched.
    """
    folder = Path(where)
    if folder.exists():
        return open_split(folder)
    if "@" not in where or not REPO.fullmatch(where):
        raise SplitError(f"{where!r} is no folder: give one of a build, as outputs/v1.0.0/o200k, or org/name@tag")
    return open_split(import_module("pipeline.hub").download(where))
