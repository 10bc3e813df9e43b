"""Code blocks of Markdown pages, to be run as a reader would; all placeholders are listed here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})(?P<kind>\S*)\n(?P<text>.*?)^(?P=fence)\n", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
NAMED = re.compile(r"^`([\w.-]+)`:\n\n\Z", re.MULTILINE)
"""A line that states that the block after it is a file."""
KINDS = ("sh", "bash", "python", "yaml", "json", "toml", "text")
"""The allowed kinds of blocks; `text` is not run."""

GIVEN = (
    "http://localhost:8000",
    "my-model",
    "/path/to/split",
    "/path/to/export",
    "/path/to/RULER",
    "/path/to/HELMET",
    "/path/to/LongBio-Benchmark",
    "/path/to/eval_hub",
    "/path/to/Skills",
)
"""The placeholders that a reader has to replace; the rest of a block must run as it is."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the heading above it, and its file name, if it is a file."""

    kind: str
    text: str
    heading: str
    file: str = ""

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with placeholders replaced."""
        text = self.text
        for name in sorted(values, key=len, reverse=True):
            assert name in GIVEN, name
            text = text.replace(name, values[name])
        return text


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    fenced = []
    for fence in FENCE.finditer(page):
        before = page[: fence.start()]
        headings = HEADING.findall(FENCE.sub("", before))
        file = NAMED.search(before)
        fenced.append(Block(fence["kind"], fence["text"], headings[-1] if headings else "", file[1] if file else ""))
    return fenced


def prose(page: str) -> str:
    """Return a page without its blocks."""
    return FENCE.sub("", page)
