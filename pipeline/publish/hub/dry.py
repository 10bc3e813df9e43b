"""What a release would do, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import HubError
from pipeline.publish.hub.client import HubRepo, connect
from pipeline.publish.hub.fetching import check_name
from pipeline.publish.hub.files import HubFile, LocalFile, compared, read_folder
from pipeline.publish.hub.releasing import CARD, MAIN, check_version

DIGITS = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One file: what would become of it, its bytes, and the start of its SHA-256 (of a file that goes, nothing)."""

    action: str
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What a release would do.

    Attributes:
        lines: one for each file; its action is ``upload``, ``keep``, ``delete``, or ``?`` where nothing could be seen.
        card: the text of README.md, nothing if there is none.
        note: one sentence on what the Hub has, or why nothing could be seen.
    """

    lines: tuple[Line, ...]
    card: str
    note: str


def preview(folder: Path, repo: str, version: str) -> Preview:
    """Return what `release` would do with a folder. Without a network it says what it could not compare."""
    check_name(repo)
    check_version(version)
    files = read_folder(folder)
    note, there = _seen(repo, f"v{version}", files)
    card = files[CARD].source.read_text(encoding="utf-8") if CARD in files else ""
    return Preview(tuple(_lines(files, there)), card, note)


def _seen(repo: str, tag: str, files: Mapping[str, LocalFile]) -> tuple[str, dict[str, HubFile] | None]:
    try:
        return _compared_with(connect(repo, write=False), tag, files)
    except HubError as fault:
        return f"nothing could be compared: {fault}", None


def _compared_with(hub: HubRepo, tag: str, files: Mapping[str, LocalFile]) -> tuple[str, dict[str, HubFile]]:
    if not hub.visibility():
        return f"{hub.name} does not exist or is not visible to you: it would be created", {}
    refs = hub.refs()
    if tag in refs.tags:
        there = hub.files(refs.tags[tag])
        differs = compared(files, there)
        held = f"with different files: raise the version ({differs})" if differs else "with these files: nothing to do"
        return f"{hub.name} has {tag} {held}", there
    side = f"release-{tag}"
    begun = f", but part of {tag} has been uploaded" if side in refs.branches else ""
    return f"{hub.name} has no {tag}{begun}", hub.files(refs.branches.get(side, refs.branches[MAIN]))


def _lines(files: Mapping[str, LocalFile], there: Mapping[str, HubFile] | None) -> list[Line]:
    differs = compared(files, there or {})
    lines = []
    for path, file in files.items():
        action = "?" if there is None else "upload" if path in differs.lacking else "keep"
        lines.append(Line(action, path, file.size, file.sha256[:DIGITS]))
    return lines + [Line("delete", path, (there or {})[path].size, "") for path in differs.spare]
