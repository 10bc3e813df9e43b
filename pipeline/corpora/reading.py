"""Reading users' files: JSON and JSON Lines, with every fault noted by file and line."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from pipeline.errors import PoolError
from pipeline.metrics import PUNCTUATION, normalised
from pipeline.storage import checked_file
from pipeline.worlds.writing.corpus import CONTROL, MARK, shortened

LONGEST = 20_000
"""The most characters of a passage."""
LONGEST_LINE, LARGEST_FILE = 1 << 26, 1 << 30
"""The most bytes of a line, and of a file that is one JSON value or one text."""
LONGEST_ANSWER = 160
"""The most bytes of an answer, which must fit into a reply."""
LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def cleaned(text: str) -> str:
    r"""Return a text in NFC, with ``\n`` as its only line end and spaces for tabs, and stripped."""
    return LINE_ENDS.sub("\n", unicodedata.normalize("NFC", text)).replace("\t", " ").replace("\ufeff", "").strip()


def one_line(text: str) -> str:
    """Return a text in one line, with one space for each run of white space."""
    return " ".join(cleaned(text).split())


def escaped(text: str) -> str:
    """Return a text in which nothing looks like a special token of a vocabulary or template.

    >>> escaped("the end<|endoftext|>")
    'the end< |endoftext|>'
    """
    return MARK.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def text_fault(text: str, longest: int = LONGEST) -> str:
    """Return why a cleaned text cannot be in a corpus, or ""."""
    if not text:
        return "its text is empty"
    if len(text) > longest:
        return f"its text has {len(text):,} characters: give at most {longest:,}, or cut it into several"
    if held := MARK.search(text):
        return f"its text has {held[0]!a}, which a chat template reads as its own: --escape puts a blank into it"
    held = CONTROL.search(text)
    return f"its text has the control character {held[0]!a}" if held else ""


def searched(text: str) -> str:
    """Return a text normalised for `holds`: lower case, no punctuation or articles, with a space at both ends."""
    return f" {normalised(text)} "


def plain(text: str) -> str:
    """Return a text in lower case without punctuation; every word of `searched` is a word of it, too."""
    return text.lower().translate(PUNCTUATION)


def rarest(forms: Iterable[str]) -> tuple[str, ...]:
    """Return the longest word of each searched answer; a text without any of them contains no answer."""
    return tuple(dict.fromkeys(max(form.split(), key=len) for form in forms))


def with_words(lines: Sequence[str], words: Iterable[str]) -> list[int]:
    """Return the indices of those plain texts (without line ends) that contain one of some words as a whole word."""
    text = "\n".join(["", *lines, ""])
    starts = [*accumulate((len(line) + 1 for line in lines), initial=1)]
    indices = set[int]()
    for word in words:
        at = text.find(word)
        while at >= 0:
            whole = text[at - 1].isspace() and text[at + len(word)].isspace()
            place = bisect_right(starts, at) - 1
            indices.update([place] if whole else [])
            at = text.find(word, starts[place + 1] if whole else at + 1)
    return sorted(indices)


def holds(text: str, answers: tuple[str, ...]) -> bool:
    """Return whether a searched text contains a searched answer as whole words (as DPR's `has_answer`)."""
    return any(answer in text for answer in answers)


NAMED = 8
"""The most faults that a message lists; the others are counted."""
Record = Mapping[str, Any]


@dataclass
class Source:
    """A folder to import, options, and its faults.

    Args:
        root: the folder.
        lenient: leave out items with faults, instead of refusing the whole folder.
        escape: put a space into what looks like a special token.
        most: the most passages to keep.
    """

    root: Path
    lenient: bool = False
    escape: bool = False
    most: int = 100_000
    faults: list[str] = field(default_factory=list)

    def fault(self, where: str, why: str) -> None:
        """Note a fault and its place."""
        self.faults.append(f"{where}: {why}")

    def text(self, raw: str) -> str:
        """Return a text, escaped if `escape` is set."""
        return escaped(raw) if self.escape else raw

    def check(self) -> None:
        """Check that there are no faults, unless `lenient`.

        Raises:
            PoolError: with the first faults.
        """
        if self.faults and not self.lenient:
            more = "; --leave-out imports the rest" if len(self.faults) else ""
            raise PoolError(f"{str(self.root)!r}: {listed(self.faults)}{more}")

    def files(self, pattern: str) -> list[Path]:
        """Return the files below the folder whose names match, sorted."""
        return sorted(path for path in self.root.rglob(pattern) if path.is_file())

    def name(self, path: Path) -> str:
        """Return a file's name in messages."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


def listed(faults: list[str]) -> str:
    """Return the first faults, and how many more there are."""
    more = f" (and {len(faults) - NAMED:,} more)" if len(faults) > NAMED else ""
    return "; ".join(faults[:NAMED]) + more


def lines(source: Source, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that are not blank, each with its place."""
    with checked_file(path).open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
            where = f"{source.name(path)} line {number}"
            if len(raw) == LONGEST_LINE:
                source.fault(where, f"it has {LONGEST_LINE:,} bytes or more")
                return
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as fault:
                byte = fault.object[fault.start]
                source.fault(where, f"it is not UTF-8: byte 0x{byte:02x} at {fault.start}")
                continue
            if line.strip():
                yield where, line


def json_lines(source: Source, path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the objects of a file of JSON Lines, each with its place."""
    for where, line in lines(source, path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as fault:
            source.fault(where, f"it is not JSON: {str(fault)[:80]}")
            continue
        if isinstance(record, dict):
            yield where, record
        else:
            source.fault(where, f"{shortened(record)} is not a JSON object")


def json_items(source: Source, path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the objects of a JSON file's list, or of the list under ``data``, each with its place."""
    try:
        items = json.loads(checked_file(path, LARGEST_FILE).read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        source.fault(source.name(path), f"it is not JSON: {str(fault)[:80]}")
        return
    items = items.get("data") if isinstance(items, dict) else items
    if not isinstance(items, list):
        source.fault(source.name(path), "it holds no list of objects")
        return
    for number, record in enumerate(items, start=1):
        where = f"{source.name(path)} item {number}"
        if isinstance(record, dict):
            yield where, record
        else:
            source.fault(where, f"{shortened(record)} is not a JSON object")


def records(source: Source, path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the objects of a ``.json`` or a ``.jsonl`` file, each with its place."""
    yield from (json_items if path.suffix.lower() == ".json" else json_lines)(source, path)


def string(source: Source, where: str, record: Record, *names: str) -> str | None:
    """Return the first of some fields that is a string or a whole number; otherwise note a fault and return None."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    name = next((name for name in names if name in record), names[0])
    source.fault(where, f"{name} is {shortened(record[name])}: give text" if name in record else f"it lacks {name!r}")
    return None


def strings(value: object) -> list[str] | None:
    """Return a string or a list of strings as a list; None for anything else."""
    some = [value] if isinstance(value, str) else value
    return some if isinstance(some, list) and all(isinstance(one, str) for one in some) else None
