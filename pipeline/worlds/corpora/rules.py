"""What a text must be to enter a corpus, and what is done to it: the least that prompts need."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from pipeline.metrics import PUNCTUATION, normalised
from pipeline.worlds.writing.checks import CONTROL, MARK

LONGEST = 20_000
"""Characters of a passage."""
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
    """Tell whether a searched text holds one of some searched answers, as whole words (DPR's `has_answer`)."""
    return any(answer in text for answer in answers)
