"""Hiding a key in a server's text, even if it is spaced out, in capitals, encoded, or only a part of it."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from itertools import pairwise
from typing import Any

SECRET = 12
"""The fewest characters of a secret key; shorter ones, such as ``EMPTY``, are for servers that need none."""
PART, MOST_OF_IT = 6, 16
"""How many consecutive letters and digits count as a part of a key: in a server's messages, and in replies, where more
are needed so that a model's own text stays unchanged."""
HIDDEN = "***"
APART = re.compile("[^A-Za-z0-9]+")
SIGN = re.compile("[A-Za-z0-9]")
WORD = re.compile("[A-Za-z0-9+/=_%-]")
"""A character of a word; a word that contains a part of a key is hidden whole."""


def hidden(text: str, key: str, part: int = PART) -> str:
    """Return a text with every part of a key hidden, whatever is between its letters and digits.

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
    signs = [match.start() for match in SIGN.finditer(text)]
    edges = [0]
    for start, end in _merged(spans, part):
        if signs[end - 1] < edges[-1]:  # in a word that is already hidden
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
    """Return a JSON value with every part of a key of MOST_OF_IT characters or more hidden in its strings."""
    if isinstance(value, str):
        return hidden(value, key, MOST_OF_IT)
    if isinstance(value, list):
        return [hidden_within(each, key) for each in value]
    if isinstance(value, dict):
        return {name: hidden_within(each, key) for name, each in value.items()}
    return value


@lru_cache(maxsize=8)
def _parts(key: str, part: int) -> frozenset[str]:
    """Return all parts of a key, also reversed or encoded, in lower-case letters and digits."""
    raw = key.encode()
    forms = [key, key[::-1], raw.hex()]
    for before in range(3):  # its offset modulo 3 bytes; characters that depend on neighbouring bytes are cut off
        coded = b64encode(b"\0" * before + raw).decode()
        forms.append(coded[4 if before else 0 : -4])
    plain = [APART.sub("", form).lower() for form in forms]
    return frozenset(form[at : at + part] for form in plain for at in range(max(1, len(form) - part + 1)) if form)


def _places(text: str, part: str) -> list[int]:
    return [match.start() for match in re.finditer(f"(?={part})", text)] if part in text else []


def _merged(spans: list[tuple[int, int]], part: int) -> list[tuple[int, int]]:
    """Return sorted spans, merging those that are at most `part` apart."""
    merged = [spans[0]]
    for start, end in spans[1:]:
        if start <= merged[-1][1] + part:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
