"""Texts that are published with every split: the licence, the sources of pools, the changelog."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pipeline.errors import StageError
from pipeline.paths import read_text


def license_text() -> str:
    """Return the licence."""
    return _text("LICENSE")


def sources_text() -> str:
    """Return where the pools of words come from, and their licences."""
    return (resources.files("pipeline") / "worlds" / "pools" / "SOURCES.md").read_text(encoding="utf-8")


ENTRY = re.compile(r"^## \[?v?(\d[^\s\]]*)\]?([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""A version's entry in a changelog: ``## 1.0.0``, maybe with its date, and all up to the next one."""

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Notes:
    """What a changelog says of a version, in Markdown, and its date if it gives one (``YYYY-MM-DD``)."""

    text: str = ""
    date: str = ""


NOTHING = Notes()


def notes_of(version: str, file: Path | None = None) -> Notes:
    """Return the entry of a version in a changelog of the data; of a file without entries all of it.

    Without a file there are no notes, but the date of the release of Carrara of that version, if there is one: what
    changed in Carrara is no news of a data set.

    Raises:
        StageError: if the file cannot be read, or has entries and none of this version.
    """
    if file is None:
        own = {found[1]: _date(found[2]) for found in ENTRY.finditer(_text("CHANGELOG.md"))}
        return Notes(date=own.get(version, ""))
    text = _read(file)
    entries = {found[1]: Notes(found[3].strip(), _date(found[2])) for found in ENTRY.finditer(text)}
    if version in entries:
        return entries[version]
    if not entries:
        return Notes(text.strip())
    raise StageError(f"{str(file)!r} has no entry '## {version}': add one, or give another file with --changelog")


def _date(heading: str) -> str:
    found = DATE.search(heading)
    return found[0] if found else ""


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as fault:
        raise StageError(f"{str(file)!r} cannot be read ({fault}): give a text file with --changelog") from fault


def _text(name: str) -> str:
    """Return a file of the checkout, which an installed package holds beside its modules."""
    inside = resources.files("pipeline") / name
    path = inside if inside.is_file() else Path(__file__).resolve().parents[3] / name
    return path.read_text(encoding="utf-8")
