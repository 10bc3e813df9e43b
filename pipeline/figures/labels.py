"""Sizes of figures of scores, and labels that fit beside their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a figure in CSS pixels, the room for labels at its right, and how many letters these have."""

    width: int = 470
    height: int = 300
    right: int = 128
    letters: int = 15

    @property
    def apart(self) -> float:
        """The least distance of two labels, as a share of the height of the plot."""
        return 13.9 / (self.height - BELOW - ABOVE)


LETTER, WIDE_LETTER = 5.2, 9.6
"""Points that a letter of a label takes at the most usual, and a wide one."""

LEFT, BELOW, ABOVE = 54, 42, 34
"""Margins of a figure in CSS pixels."""

PANEL = Size()
"""One of many: three stand beside each other on a desk, one fits a phone."""

WIDE, NARROW = Size(1040, 400, 236, 30), Size(410, 380, 126, 14)
"""The first figure of a page, on a desk and on a phone."""


def short(label: str, letters: int = PANEL.letters) -> str:
    """Return a label that fits beside a line: the last part of a path, without its middle where it is long.

    >>> short("org/a-model-with-a-very-long-name-8b")
    'a-mode...ame-8b'
    """
    name = label.rstrip("/").rpartition("/")[2] or label
    half = (letters - 3) // 2
    return name if len(name) <= letters else f"{name[: letters - 3 - half]}...{name[-half:]}".replace("\n", " ")


def fitted(label: str, size: Size) -> str:
    """Return a label that fits beside the lines of a figure, also if it has many wide letters."""
    for letters in range(size.letters, 5, -1):
        text = short(label, letters)
        if sum(WIDE_LETTER if letter in "mwMW@%" else LETTER for letter in text) <= 0.75 * size.right - 16:
            break
    return text


def spaced(places: Sequence[float], apart: float = PANEL.apart) -> list[float]:
    """Return ascending places at least `apart` from each other, as near as may be to where they were, within 0 to 1.

    >>> spaced([0.1, 0.5, 0.5], 0.062)
    [0.1, 0.5, 0.562]
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + apart) if moved else place)
    top = 1.0
    for at in range(len(moved) - 1, -1, -1):
        moved[at] = min(moved[at], top)
        top = moved[at] - apart
    return [round(place, 6) for place in moved]
