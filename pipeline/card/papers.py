"""Texts that come with Carrara and go with every published split: the licence, the sources of pools, the changelog."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from pipeline.errors import StageError


def license_text() -> str:
    """Return the licence."""
    return _text("LICENSE")


def sources_text() -> str:
    """Return where the pools of words come from, and their licences."""
    return (resources.files("pipeline") / "worlds" / "pools" / "SOURCES.md").read_text(encoding="utf-8")


def changes_of(version: str, file: Path | None = None) -> str:
    """Return the entry of a version in a changelog: a file, or Carrara's own; of a file without entries all of it.

    Raises:
        StageError: if the file cannot be read, or has entries and none of this version.
    """
    text = _text("CHANGELOG.md") if file is None else _read(file)
    entries = dict(re.findall(r"^## v?(\S+)[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    if version in entries:
        return entries[version].strip()
    if file is not None and not entries:
        return text.strip()
    name = str(file) if file else "Carrara's CHANGELOG.md"
    raise StageError(f"{name} has no entry '## {version}': add one, or give another file with --changelog")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise StageError(f"{str(file)!r} cannot be read ({fault}): give a text file with --changelog") from fault


def _text(name: str) -> str:
    """Return a file of the checkout, which an installed package holds beside its modules."""
    inside = resources.files("pipeline") / name
    path = inside if inside.is_file() else Path(__file__).resolve().parents[2] / name
    return path.read_text(encoding="utf-8")
