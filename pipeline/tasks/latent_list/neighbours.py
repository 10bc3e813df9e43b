"""Whether the kinds of the lines before and behind an operation tell if it is relevant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb

import numpy as np

from pipeline.tasks.latent_list.solver import MEMO, STEPS

Between = tuple[str, str, str]
IDLE = "idle"
CLASSES = {"append": "addition", "insert": "addition", "pop": "removal", "remove": "removal", "reverse": "reverse"}
KINDS = ("", "sort", "addition", "removal", "reverse", IDLE)
"""Kinds of lines by their number; the first is that of no line, beyond either end of a program."""
BETRAYS = 1e-9
"""Chance below which neighbours betray what is relevant: a release of a million rows is wrongly refused once in 250."""


def betrayed(lines: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    """Find neighbours that tell the relevant operations, at `places` among the lines of a program, from filler.

    Behind an addition and before a removal nothing can tell, as a line that does nothing stands there, always. Of the
    rest, the number of relevant operations of a kind between lines of two kinds is binomial where neighbours tell
    nothing; the share of filler is smoothed by one operation more of either sort.
    """
    kinds = bytes([0, *map(NUMBERS.__getitem__, lines), 0])
    every = _counted(kinds)
    if any(not _parted(*between) for between in every):
        place = next(place for place in range(len(lines)) if not _parted(*_between(kinds, place)))
        found = f"parts the {KINDS[kinds[place + 1]]} in line {place + 1} of the program from its neighbour"
        yield f"no line that does nothing {found}"
        return
    relevant = Counter(_between(kinds, place) for place in places)
    filler = every - relevant
    for between in sorted(relevant):
        before, kind, behind = between
        of, others = (sum(counts[seen] for seen in counts if seen[1] == kind) for counts in (relevant, filler))
        share = (1 + filler[between]) / (2 + others)
        if kind in CLASSES.values() and _tail(relevant[between], of, share) < BETRAYS:
            found = f"{relevant[between]} of {of} relevant lines of kind {kind} stand between {before!r} and {behind!r}"
            yield f"{found}, and a share of {share:.3f} of filler"


class Numbers(dict[str, int]):
    """Remembers the number of the kind of each distinct line."""

    def __missing__(self, line: str) -> int:
        """Tell the kind of a line that is new."""
        if len(self) > MEMO:
            self.clear()
        step = STEPS[line]
        self[line] = number = KINDS.index(CLASSES.get(step[0].__name__, "sort") if step else IDLE)
        return number


NUMBERS = Numbers()


def _between(kinds: bytes, place: int) -> Between:
    """Return the kinds of a line and of those before and behind it; `kinds` begin before the first line."""
    before, kind, behind = kinds[place : place + 3]
    return KINDS[before], KINDS[kind], KINDS[behind]


def _counted(kinds: bytes) -> Counter[Between]:
    """Count lines by their own kind and those of their neighbours."""
    size, numbers = len(KINDS), np.frombuffer(kinds, dtype=np.uint8).astype(np.intp)
    counts = np.bincount((numbers[:-2] * size + numbers[1:-1]) * size + numbers[2:])
    found = Counter[Between]()
    for place in np.flatnonzero(counts).tolist():
        rest, behind = divmod(place, size)
        before, kind = divmod(rest, size)
        found[KINDS[before], KINDS[kind], KINDS[behind]] = int(counts[place])
    return found


def _parted(before: str, kind: str, behind: str) -> bool:
    """Tell whether a line that does nothing stands behind an addition, and before a removal."""
    return behind == IDLE if kind == "addition" else before == IDLE if kind == "removal" else True


def _tail(seen: int, of: int, share: float) -> float:
    """Return the chance of at least so many successes."""
    return sum(comb(of, count) * share**count * (1 - share) ** (of - count) for count in range(seen, of + 1))
