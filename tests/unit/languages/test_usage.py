"""Every text is held to usage: its phrases stand in texts that others wrote, from two projects each."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import defaultdict
from dataclasses import asdict

import pytest

from pipeline.languages import CODES, language
from repository import ROOT

COVERED = 2 / 3
"""The least share of a text's letters outside slots, code and tags that attested phrases cover."""
NOT_WORDS = re.compile(r"\{\w+\}|`[^`]*`|<[^>]*>|\[[^\]]*\]")
OTHERS = [code for code in CODES if code != "en"]


@pytest.mark.parametrize("code", OTHERS)
def test_phrases_are_quoted_from_two_projects(code: str) -> None:
    texts = [text.casefold() for text in _texts(code).values()]
    for phrase, found in _usage(code).items():
        assert any(phrase.casefold() in text for text in texts), f"no text has {phrase!r} any more"
        assert len({_project(source) for source, _ in found}) > 1, phrase
        assert all(phrase.casefold() in quote.casefold() for _, quote in found), phrase


@pytest.mark.parametrize("code", OTHERS)
def test_phrases_cover_every_text(code: str) -> None:
    phrases = [phrase.casefold() for phrase in _usage(code)]
    for name, text in _texts(code).items():
        low = text.casefold()
        hidden = {place for found in NOT_WORDS.finditer(low) for place in range(*found.span())}
        letters = {place for place, mark in enumerate(low) if _is_letter(mark)} - hidden
        spans = [found.span() for phrase in phrases for found in re.finditer(re.escape(phrase), low)]
        missed = letters - {place for span in spans for place in range(*span)}
        assert len(missed) <= (1 - COVERED) * len(letters), f"{name}: {''.join(low[place] for place in sorted(missed))}"


def _usage(code: str) -> dict[str, list[tuple[str, str]]]:
    """Return the sources and quotes of each phrase."""
    found = defaultdict(list)
    with (ROOT / "docs" / "usage" / f"{code}.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            found[line["phrase"]].append((line["source"], line["quote"]))
    return found


def _texts(code: str) -> dict[str, str]:
    """Return all texts of a language; labels of one table together."""
    known = asdict(language(code))
    tables = {name: " | ".join(_values(known[name])) for name in ("heads", "labels", "log", "records")}
    return {f"[{name}]": text for name, text in tables.items()} | {
        name: sentence["text"] for name, sentence in known["sentences"].items()
    }


def _values(table: dict[str, object]) -> list[str]:
    given = [value for name, value in table.items() if name != "signed"]
    return [text for value in given for text in ([value] if isinstance(value, str) else value)]  # type: ignore[attr-defined]


def _project(source: str) -> str:
    """Return the project of a source; files whose repository is not known are projects of their own."""
    return source if source.endswith("(GitHub)") else re.split(r"[ ,(]", source.lower())[0]


def _is_letter(mark: str) -> bool:
    return mark.isalnum() or unicodedata.category(mark) in ("Mn", "Mc")
