"""Reading what users have: JSON and JSON Lines, with every fault named by file and line."""

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
"""Characters of a passage."""
LONGEST_LINE, LARGEST_FILE = 1 << 26, 1 << 30
"""Bytes of a line, and of a file that is one value of JSON or one text."""
LONGEST_ANSWER = 160
"""Bytes of an answer: a reply has to hold it."""
LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def cleaned(text: str) -> str:
    r"""Return a text in Unicode's form NFC, with ``\n`` as its only line end, blanks for tabs, and bare edges."""
    return LINE_ENDS.sub("\n", unicodedata.normalize("NFC", text)).replace("\t", " ").replace("\ufeff", "").strip()


def one_line(text: str) -> str:
    """Return a text in one line: every run of white space is a blank."""
    return " ".join(cleaned(text).split())


def escaped(text: str) -> str:
    """Return a text in which nothing reads as a special token of a vocabulary or template.

    >>> escaped("the end<|endoftext|>")
    'the end< |endoftext|>'
    """
    return MARK.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


def text_fault(text: str, longest: int = LONGEST) -> str:
    """Return what keeps a cleaned text out of a corpus, or nothing."""
    if not text:
        return "its text is empty"
    if len(text) > longest:
        return f"its text has {len(text):,} characters: give at most {longest:,}, or cut it into several"
    if held := MARK.search(text):
        return f"its text has {held[0]!a}, which a chat template reads as its own: --escape puts a blank into it"
    held = CONTROL.search(text)
    return f"its text has the control character {held[0]!a}" if held else ""


def searched(text: str) -> str:
    """Return a text in which `holds` looks for answers: small letters, no punctuation, no articles, blanks around."""
    return f" {normalised(text)} "


def plain(text: str) -> str:
    """Return a text in small letters without punctuation: whatever `searched` finds in it is there word for word."""
    return text.lower().translate(PUNCTUATION)


def rarest(forms: Iterable[str]) -> tuple[str, ...]:
    """Return the longest word of each of some searched answers: no text without one of them holds an answer."""
    return tuple(dict.fromkeys(max(form.split(), key=len) for form in forms))


def with_words(lines: Sequence[str], words: Iterable[str]) -> list[int]:
    """Return the places of plain texts, none of them with a line end, that have one of some words as a whole word."""
    text = "\n".join(["", *lines, ""])
    starts = [*accumulate((len(line) + 1 for line in lines), initial=1)]
    found = set[int]()
    for word in words:
        at = text.find(word)
        while at >= 0:
            whole = text[at - 1].isspace() and text[at + len(word)].isspace()
            place = bisect_right(starts, at) - 1
            found.update([place] if whole else [])
            at = text.find(word, starts[place + 1] if whole else at + 1)
    return sorted(found)


def holds(text: str, answers: tuple[str, ...]) -> bool:
    """Return whether a searched text holds one of some searched answers, as whole words (DPR's `has_answer`)."""
    return any(answer in text for answer in answers)


NAMED = 8
"""Faults that are named; the others are counted."""
Record = Mapping[str, Any]


@dataclass
class Source:
    """A folder that is imported, how, and what was found wrong in it.

    Args:
        root: the folder.
        lenient: leave out what is wrong, and count it, in place of refusing the whole.
        escape: put a blank into what a chat template would read as its own.
        most: how many passages are kept at the most.
    """

    root: Path
    lenient: bool = False
    escape: bool = False
    most: int = 100_000
    faults: list[str] = field(default_factory=list)

    def fault(self, where: str, said: str) -> None:
        """Note what is wrong at a place."""
        self.faults.append(f"{where}: {said}")

    def text(self, raw: str) -> str:
        """Return a text as it may stand in a prompt, if special tokens in it are to be escaped."""
        return escaped(raw) if self.escape else raw

    def check(self) -> None:
        """Refuse what has faults, unless these are left out.

        Raises:
            PoolError: naming the first of them by file and line.
        """
        if self.faults and not self.lenient:
            more = "; --leave-out imports the rest" if len(self.faults) else ""
            raise PoolError(f"{str(self.root)!r}: {listed(self.faults)}{more}")

    def files(self, pattern: str) -> list[Path]:
        """Return the files below the folder whose names match, in order."""
        return sorted(path for path in self.root.rglob(pattern) if path.is_file())

    def name(self, path: Path) -> str:
        """Return a file as faults name it."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


def listed(faults: list[str]) -> str:
    """Return the first faults, and how many more there are."""
    more = f" (and {len(faults) - NAMED:,} more)" if len(faults) > NAMED else ""
    return "; ".join(faults[:NAMED]) + more


def lines(source: Source, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that hold something, each with its place."""
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
    """Yield the objects of a JSON file: those of its list, or of the list under ``data``."""
    try:
        found = json.loads(checked_file(path, LARGEST_FILE).read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        source.fault(source.name(path), f"it is not JSON: {str(fault)[:80]}")
        return
    found = found.get("data") if isinstance(found, dict) else found
    if not isinstance(found, list):
        source.fault(source.name(path), "it holds no list of objects")
        return
    for number, record in enumerate(found, start=1):
        where = f"{source.name(path)} item {number}"
        if isinstance(record, dict):
            yield where, record
        else:
            source.fault(where, f"{shortened(record)} is not a JSON object")


def records(source: Source, path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the objects of a file by its suffix: ``.jsonl`` or ``.json``."""
    yield from (json_items if path.suffix.lower() == ".json" else json_lines)(source, path)


def string(source: Source, where: str, record: Record, *names: str) -> str | None:
    """Return the first of some fields that is there, a number as its digits; None and a fault if none is a string."""
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
    """Return a string or a list of strings as a list; None if it is something else."""
    some = [value] if isinstance(value, str) else value
    return some if isinstance(some, list) and all(isinstance(one, str) for one in some) else None
