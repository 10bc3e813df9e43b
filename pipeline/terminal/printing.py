"""Prints everything, so that no control character in a stranger's data reaches a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move the cursor, change colours or text direction, or are invalid; not line breaks and tabs."""


def plain(text: str) -> str:
    r"""Return a text with control characters escaped as in Python.

    >>> plain("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


_bars = [0]


@contextmanager
def below_bar() -> Iterator[None]:
    """Print lines on stderr below an unfinished progress bar, not behind it, while the block runs."""
    _bars[0] += 1
    try:
        yield
    finally:
        _bars[0] -= 1


def say(text: object, *, err: bool = False) -> None:
    """Print a line, without control characters."""
    click.echo(("\n" if err and _bars[0] else "") + plain(str(text)), err=err)


def say_styled(text: str) -> None:
    """Print a styled text in which everything from data has already passed through `plain`."""
    click.echo(text)
