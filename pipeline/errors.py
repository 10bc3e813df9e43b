"""What can go wrong, for a person to read.

Every message is one line that says what was wrong, the value, and what would be right::

    CarraraError
    |-- RecipeError      a recipe with an unknown name or an impossible value
    |   `-- FitError     a stratum that does not fit its window
    |-- ProfileError     a tokenizer profile that cannot be loaded, or is not what its digest says
    |-- PoolError        a pool too small, or not what the recipe says
    |-- BuildError       a stage that could not write what it owes
    |   `-- ExactError   a prompt whose tokens are not what was planned
    |-- CorruptError     a file whose bytes are not what was written
    |-- SplitError       a split that is not there, or not what is asked for
    |   `-- FrozenError  a change to a frozen split, or a copy that differs from it
    |-- StageError       a split that cannot be published
    |-- ExportError      rows that a harness cannot use
    |-- PredictionsError predictions that cannot be read, or are of another split
    |-- EndpointError    a server that refuses, or stays silent
    |   `-- RequestError a server that refuses one request, and perhaps not the next
    |-- HubError         a Hub that refuses, stays silent, or holds something else
    `-- ReportError      a report or a figure that cannot be made
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LISTED, NEAREST = 30, 12
"""The most names that a message lists, and how many of a longer list."""


class CarraraError(Exception):
    """Base of all errors a user is meant to see."""


class RecipeError(CarraraError):
    """A recipe names something unknown or asks for something impossible."""


class FitError(RecipeError):
    """A stratum leaves too little room for filler in some profile."""


class ProfileError(CarraraError):
    """A tokenizer profile cannot be loaded, or its vocabulary is another one."""


class PoolError(CarraraError):
    """A pool of segments is too small for what is asked of it."""


class BuildError(CarraraError):
    """A stage could not write what it owes."""


class ExactError(BuildError):
    """A finished prompt does not count what its parts count."""


class CorruptError(CarraraError):
    """A file's bytes or rows are not what was written."""


class SplitError(CarraraError):
    """A split is not there, or holds no such rows."""


class StageError(CarraraError):
    """A split cannot be published as it is asked for."""


class FrozenError(SplitError):
    """A lock cannot be read, or what is there or asked for is not what it says."""


class ExportError(CarraraError):
    """A split cannot be written in the shape that a harness reads."""


class ReportError(CarraraError):
    """A report or a figure cannot be made of what is given."""


class PredictionsError(CarraraError):
    """Predictions cannot be read, or belong to another split."""


class EndpointError(CarraraError):
    """A server refuses a request, or gives no reply that can be read."""


class HubError(CarraraError):
    """The Hub refuses, stays silent, or holds something else than it should.

    Attributes:
        status: of HTTP, 0 if there was no reply or its state is not the reason.
    """

    def __init__(self, said: str, *, status: int = 0) -> None:
        super().__init__(said)
        self.status = status


class RequestError(EndpointError):
    """A server refuses this request, or failed at it; another may be answered."""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return a message for an unknown name that offers the nearest right ones.

    >>> unknown("recipe", "125k", ["32k", "128k"])
    "unknown recipe '125k': did you mean '128k'? (known: 128k, 32k)"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f": did you mean {near[0]!r}?" if near else ""
    if len(names) <= LISTED:
        return f"unknown {kind} {name!r}{hint} (known: {', '.join(names)})"
    others = sorted(difflib.get_close_matches(name, names, n=NEAREST, cutoff=0.0))
    return f"unknown {kind} {name!r}{hint} (nearest of {len(names)}: {', '.join(others)})"
