"""Files here and on the Hub, and whether they are the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import HubError

BLOCK = 1 << 20
OWN = ".gitattributes"
"""What the Hub puts into every repo; no file of a release unless the folder has one too."""
BARRED = frozenset({".git", ".cache", ".huggingface"})
"""Folders that the client sends no file of."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to publish.

    Attributes:
        source: where it lies.
        size: in bytes.
        sha256: of its bytes, the name of a large file on the Hub.
        oid: SHA-1 as git has it, the name of a regular one.
    """

    source: Path
    size: int
    sha256: str
    oid: str


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the Hub lists it; `sha256` is None for a regular one."""

    size: int
    oid: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """What makes a revision differ from a folder: paths that it lacks or has otherwise, and paths it has too many."""

    lacking: tuple[str, ...]
    spare: tuple[str, ...]

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.lacking or self.spare)

    def __str__(self) -> str:
        """Name the first few paths."""
        said = [*self.lacking, *(f"{path} (not in the folder)" for path in self.spare)]
        return ", ".join(said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")


def read_folder(folder: Path) -> dict[str, LocalFile]:
    """Return every file below a folder by its path in the repo, in order.

    Raises:
        HubError: if there is none, one cannot be read, or one can have no place in a repo.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    if not paths:
        raise HubError(f"nothing to publish in {str(folder)!r}: give a folder with the files of a release")
    return {_named(path.relative_to(folder)): read_file(path) for path in paths}


def _named(path: Path) -> str:
    barred = BARRED.intersection(path.parts)
    if barred:
        raise HubError(
            f"{path.as_posix()!r} cannot be published, since the Hub takes nothing in {min(barred)}: remove it"
        )
    return path.as_posix()


def read_file(path: Path) -> LocalFile:
    """Return a file's size and both its names, read once.

    Raises:
        HubError: if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            sha256, oid = hashlib.sha256(), hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
            while block := file.read(BLOCK):
                sha256.update(block)
                oid.update(block)
    except OSError as fault:
        raise HubError(f"{str(path)!r} cannot be read ({fault.strerror}): make it readable") from fault
    return LocalFile(path, size, sha256.hexdigest(), oid.hexdigest())


def is_same(here: LocalFile, there: HubFile) -> bool:
    """Tell whether the Hub has these very bytes, by the checksum that it keeps of them."""
    return here.sha256 == there.sha256 if there.sha256 else here.oid == there.oid


def compared(here: Mapping[str, LocalFile], there: Mapping[str, HubFile]) -> Difference:
    """Return what a revision would have to get and lose to be the folder."""
    lacking = (path for path, file in here.items() if path not in there or not is_same(file, there[path]))
    return Difference(tuple(lacking), tuple(path for path in sorted(there) if path not in here and path != OWN))
