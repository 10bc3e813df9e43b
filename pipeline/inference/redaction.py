"""Hiding a key in what a server says, in whatever form it says it: spelled apart, in capitals, encoded, in part."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from itertools import pairwise
from typing import Any

SECRET = 12
"""Characters of a key that is a secret; a shorter one is a word for servers that want none, as ``EMPTY``."""
PART, MOST_OF_IT = 6, 16
"""Letters and digits in a row that are a part of a key: in a server's words, and in a reply, which is kept as it is
wherever it may be a model's."""
HIDDEN = "***"
APART = re.compile("[^A-Za-z0-9]+")
SIGN = re.compile("[A-Za-z0-9]")
WORD = re.compile("[A-Za-z0-9+/=_%-]")
"""What a word in which a part of a key stands is made of: it is hidden whole."""


def hidden(text: str, key: str, part: int = PART) -> str:
    """Return a text with every part of a key hidden, whatever stands between its letters and digits.

    >>> hidden("bad key: SK-TEST 0123456789ABC", "sk-test-0123456789abcdef")
    'bad key: ***'
    """
    if len(key) < SECRET:
        return text
    text = text.replace(key, HIDDEN)
    plain = APART.sub("", text).lower()
    spans = sorted((at, at + len(each)) for each in _parts(key, part) for at in _places(plain, each))
    if not spans:
        return text
    signs = [found.start() for found in SIGN.finditer(text)]
    edges = [0]
    for start, end in _merged(spans, part):
        if signs[end - 1] < edges[-1]:  # in a word that is hidden
            continue
        first, last = signs[start], signs[end - 1] + 1
        while first > edges[-1] and WORD.match(text[first - 1]):
            first -= 1
        while last < len(text) and WORD.match(text[last]):
            last += 1
        edges += [first, max(first, last)]
    edges.append(len(text))
    return HIDDEN.join(text[start:end] for start, end in list(pairwise(edges))[::2])


def hidden_within(value: Any, key: str) -> Any:
    """Return a value of JSON whose texts hold no more than a few characters of a key in a row."""
    if isinstance(value, str):
        return hidden(value, key, MOST_OF_IT)
    if isinstance(value, list):
        return [hidden_within(each, key) for each in value]
    if isinstance(value, dict):
        return {name: hidden_within(each, key) for name, each in value.items()}
    return value


@lru_cache(maxsize=8)
def _parts(key: str, part: int) -> frozenset[str]:
    """Return the shortest texts that give a key away, each in small letters and digits."""
    raw = key.encode()
    forms = [key, key[::-1], raw.hex()]
    for before in range(3):  # where it begins within three bytes; what its neighbours decide is left out
        coded = b64encode(b"\0" * before + raw).decode()
        forms.append(coded[4 if before else 0 : -4])
    plain = [APART.sub("", form).lower() for form in forms]
    return frozenset(form[at : at + part] for form in plain for at in range(max(1, len(form) - part + 1)) if form)


def _places(text: str, part: str) -> list[int]:
    return [found.start() for found in re.finditer(f"(?={part})", text)] if part in text else []


def _merged(spans: list[tuple[int, int]], part: int) -> list[tuple[int, int]]:
    """Return spans in order, those that touch or nearly do as one."""
    found = [spans[0]]
    for start, end in spans[1:]:
        if start <= found[-1][1] + part:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
