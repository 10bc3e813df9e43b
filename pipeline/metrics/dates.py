"""Dates, as replies write them."""

from __future__ import annotations

import re
from functools import lru_cache

MONTHS = re.findall("[a-z]+", "january february march april may june july august september october november december")
_MONTH = r"(?P<m>" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS) + r"|sept)\.?"
_DAY, _YEAR = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?(?: day)?", r"(?P<y>(?:1[6-9]|20)\d\d)"
DATES = [
    re.compile(rf"(?<![\w.]){form}(?!\w|[-./]\d)", re.IGNORECASE)
    for form in (
        rf"(?:the )?{_DAY}(?: of)?[ -]{{0,2}}{_MONTH},?[ -]{{0,2}}{_YEAR}",
        rf"{_MONTH}[ -](?:the )?{_DAY},?[ -]{{1,2}}{_YEAR}",
        rf"{_YEAR}[- ,]{{1,2}}{_MONTH}[- ]{_DAY}",
        rf"{_YEAR}[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})",
        rf"(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.]{_YEAR}",
    )
]
"""Dates with year, month and day in any order. If month and day could be swapped, `dated` leaves the date alone."""


def dated(text: str) -> str:
    """Return a text with every date as one number of eight digits.

    >>> dated("born on March 20th, 2001, or 20/03/2001, or 03/20/2001, or 03/04/2001")
    'born on 20010320, or 20010320, or 20010320, or 03/04/2001'
    """
    for form in DATES:
        text = form.sub(_date, text)
    return text


def _date(found: re.Match[str]) -> str:
    year, month, day = found["y"], found["m"].lower(), int(found["d"])
    if not month.isdigit():
        number = next(at for at, name in enumerate(MONTHS, start=1) if name.startswith(month[:3]))
    elif found.start("y") == found.start():
        number = int(month)
    else:
        number, day = sorted((int(month), day)) if max(int(month), day) > 12 or int(month) == day else (0, 0)
    return f"{year}{number:02}{day:02}" if 0 < number <= 12 and 0 < day <= 31 else found[0]


DATED = lru_cache(maxsize=4096)(dated)
"""`dated`, cached for answers, a few of which recur often."""
MONTH = rf"(?:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)}|sept)"
DAY = re.compile(rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH}\b|\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b", re.IGNORECASE)
