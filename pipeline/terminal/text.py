"""Numbers and tables as text: sizes, shares and counts, never with an exponent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def size(count: int) -> str:
    """Return a number of bytes with three significant digits.

    >>> size(512), size(1_400), size(289_012_345), size(999_600_000), size(1_403_000_000_000)
    ('512 bytes', '1.40 kB', '289 MB', '1.00 GB', '1,403 GB')
    """
    if count < UNITS["kB"]:
        return f"{count} bytes"
    for unit, scale in UNITS.items():
        shown = f"{count / scale:#.3g}".rstrip(".")
        if "e" not in shown:
            return f"{shown} {unit}"
    return f"{count / UNITS['GB']:,.0f} GB"


def percent(share: float, digits: int = 0) -> str:
    """Return a share in percent, with `digits` decimals.

    >>> percent(0.85), percent(0.256, 1)
    ('85%', '25.6%')
    """
    return f"{100 * share:.{digits}f}%"


def plain(number: float, digits: int = 6) -> str:
    """Return a number with at most `digits` significant digits, and no trailing zeros.

    >>> plain(25.0), plain(0.00001), plain(2_500_000), plain(123.4, 2)
    ('25', '0.00001', '2,500,000', '120')
    """
    return f"{Decimal(f'{number:.{digits}g}'):,f}"


def row_count(count: int) -> str:
    """Return a number of rows in words.

    >>> row_count(1), row_count(2000)
    ('1 row', '2,000 rows')
    """
    return f"{count:,} row{'' if count == 1 else 's'}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return records as an aligned table with a header; numbers are right-aligned."""
    if not rows:
        return ""
    names = list(rows[0])
    cells = [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[at]) for line in cells)) for at, name in enumerate(names)]
    right = [all(isinstance(row[name], int | float) for row in rows) for name in names]
    lines = [names, *cells]
    return "\n".join(_line(line, widths, right).rstrip() for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return "  ".join(
        cell.rjust(width) if flush else cell.ljust(width)
        for cell, width, flush in zip(cells, widths, right, strict=True)
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
