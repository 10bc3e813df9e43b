"""Where a copy of a split is: a folder, or a data set on the Hub."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from pipeline.errors import SplitError


def fetched(where: str) -> Path:
    """Return the folder of a copy; a data set is downloaded.

    Raises:
        SplitError: if there is no such folder, and it is no name of a data set with a tag.
        HubError: if the Hub refuses.
    """
    if Path(where).is_dir():
        return Path(where)
    if "@" not in where:
        raise SplitError(f"no folder {where!r}: give one, or a data set with its tag, as in org/name@v1.0.0")
    hub = import_module("pipeline.hub")
    folder: Path = hub.download(*hub.parse_repo(where))
    return folder
