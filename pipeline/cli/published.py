"""Where a copy of a split is: a folder, or a data set on the Hub."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import SplitError
from pipeline.hub import download, parse_repo


def fetched(where: str) -> Path:
    """Return the folder of a copy; a data set is downloaded.

    Raises:
        SplitError: if there is no such folder, and it is no name of a data set with a tag.
        HubError: if the Hub refuses, or its client is not installed.
    """
    if Path(where).is_dir():
        return Path(where)
    if "@" not in where:
        raise SplitError(f"no folder {where!r}: give one, or a data set with its tag, as in org/name@v1.0.0")
    return download(*parse_repo(where))
