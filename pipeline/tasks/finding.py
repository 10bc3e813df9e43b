"""Finding lines and words in a prompt without trying a pattern at every letter of it."""

from __future__ import annotations

import re
from collections.abc import Iterator


def whole_lines(pattern: re.Pattern[str], opening: str, text: str) -> Iterator[re.Match[str]]:
    """Yield what a pattern of one line or several finds in a text, where ``^`` and `opening` are what it begins with.

    It yields what ``finditer`` does, which tries such a pattern at every letter.
    """
    at = 0 if text.startswith(opening) else text.find(f"\n{opening}") + 1
    while at or text.startswith(opening):
        found = pattern.match(text, at)
        if found:
            yield found
        at = text.find(f"\n{opening}", found.end() - 1 if found else at) + 1
        if not at:
            return


def stands(words: str, text: str) -> bool:
    """Tell whether words stand in a text, in capitals or not, and not as a part of longer ones.

    >>> stands("oak", "An Oak stood there."), stands("oak", "It was soaked.")
    (True, False)
    """
    words, text = words.lower(), text.lower()
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if not (_is_letter(text[at - 1 : at]) or _is_letter(text[end : end + 1])):
            return True
        at = text.find(words, at + 1)
    return False


def _is_letter(one: str) -> bool:
    """Tell whether a character, if there is one, is of a word."""
    return one.isalnum() or one == "_"
