"""Code blocks of pages in Markdown, and how a stranger would run them: all that is filled in is named here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})(?P<kind>\S*)\n(?P<text>.*?)^(?P=fence)\n", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
NAMED = re.compile(r"^`([\w.-]+)`:\n\n\Z", re.MULTILINE)
"""A line that says that the block behind it is a file."""
KINDS = ("sh", "bash", "python", "yaml", "json", "toml", "text")
"""What a block of ours may be; `text` is shown and not run."""

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
"""What only the reader knows. Everything else must stand in a block as it is."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the heading it stands under, and the file that it is, if it is one."""

    kind: str
    text: str
    heading: str
    file: str = ""

    def filled(self, given: Mapping[str, str]) -> str:
        """Return the text with what only the reader knows."""
        text = self.text
        for name in sorted(given, key=len, reverse=True):
            assert name in GIVEN, name
            text = text.replace(name, given[name])
        return text


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found = []
    for fence in FENCE.finditer(page):
        before = page[: fence.start()]
        headings = HEADING.findall(FENCE.sub("", before))
        file = NAMED.search(before)
        found.append(Block(fence["kind"], fence["text"], headings[-1] if headings else "", file[1] if file else ""))
    return found


def prose(page: str) -> str:
    """Return a page without its blocks."""
    return FENCE.sub("", page)
