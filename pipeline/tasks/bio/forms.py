"""The accepted forms of values in biographies, shared by writer and reader."""

from __future__ import annotations

from datetime import date

from pipeline.worlds.people import MONTHS, country_of

PLACES = ("birthplace", "city")


def accepted(value: str, attribute: str) -> tuple[str, ...]:
    """Return every accepted form of a value, the biographies' own first. A city may be followed by its country.

    >>> accepted("14 March 1976", "birthdate")
    ('14 March 1976', 'March 14, 1976', '1976-03-14', 'March 14 1976', '14th of March 1976')
    """
    if attribute == "birthdate":
        return _date_forms(value)
    if attribute in PLACES:
        return (value, f"{value}, {country_of(value)}")
    if value.startswith("the "):
        return (value, value.removeprefix("the "))
    return (value,)


def _date_forms(value: str) -> tuple[str, ...]:
    day, month, year = value.split()
    number = date(int(year), MONTHS.index(month) + 1, int(day)).isoformat()
    return (
        value,
        f"{month} {day}, {year}",
        number,
        f"{month} {day} {year}",
        f"{day}{_ordinal(int(day))} of {month} {year}",
    )


def _ordinal(day: int) -> str:
    return {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}.get(day, "th")
