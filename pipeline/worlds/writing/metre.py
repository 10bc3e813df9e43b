"""Metre without a dictionary of sounds: syllables by the letters of a word, and the names that short lines can hold."""

from __future__ import annotations

import re

BRIEF = 3
"""Syllables of a name that stands in a line of three beats."""
VOWELS = re.compile(r"[aeiouy]+")
LONG_LINE, SHORT_LINE = range(6, 11), range(4, 8)
"""Syllables of lines of three beats and of two."""
APART = re.compile(r"ia(?!l)|io(?!u|n)|eo(?!u)|ua|uo(?!y)|iu|[aeiou]ing|yo$|oe(?=t)|creat|quiet")
"""Vowels side by side that are two syllables."""
MUTE = re.compile(r"(?:[^aeiouyl]|[aeiou][lr])es?$|[^aeiouytd]ed$|(?<=dg)e(?=h)")
SIBILANT = re.compile(r"(?:s|x|z|ch|sh|c|g)es$")
EXCEPTIONS = {"chocolate": 3, "every": 2, "evening": 2, "favourite": 2, "macrame": 3}


def syllables(text: str) -> int:
    """Return about how many syllables a text has when it is read aloud; words are told by their letters.

    >>> [syllables(text) for text in ("kites", "penguins", "hot-air balloons", "a wandering plumber from Crewe")]
    [1, 2, 4, 8]
    """
    return sum(map(_of_word, re.findall(r"[a-z]+", re.sub(r"'[a-z]+\b", "", text.lower()))))


def _of_word(word: str) -> int:
    if word in EXCEPTIONS:
        return EXCEPTIONS[word]
    loud = len(VOWELS.findall(word)) + len(APART.findall(word))
    silent = len(word) > 2 and MUTE.search(word) and not SIBILANT.search(word)
    return max(1, loud - bool(silent))


def brief(name: str) -> str:
    """Return a topic's name as a short line can hold it: itself, its last word, or nothing if that is long too.

    >>> [brief(name) for name in ("penguins", "double-decker buses", "thermometers")]
    ['penguins', 'buses', '']
    """
    fitting = (form for form in (name, name.rpartition(" ")[2]) if syllables(form) <= BRIEF)
    return next(fitting, "")


def scans(stanza: str) -> bool:
    """Tell whether a limerick has five lines of the right size, no two of which end in the same word."""
    lines = stanza.split("\n")
    sizes = [syllables(line) for line in lines]
    ends = {re.findall("[a-z]+", line.lower())[-1] for line in lines}
    wanted = (LONG_LINE, LONG_LINE, SHORT_LINE, SHORT_LINE, LONG_LINE)
    return len(lines) == len(ends) == len(wanted) and all(map(range.__contains__, wanted, sizes))
