"""Errors that users see.

Every message is one line that states what is wrong, the value, and what would be right::

    CarraraError
    |-- RecipeError      a recipe with an unknown name or an impossible value
    |   `-- FitError     a stratum that does not fit its window
    |-- ProfileError     a tokenizer profile that cannot be loaded or does not match its digest
    |-- PoolError        a pool that is too small or does not match the recipe
    |-- BuildError       a stage that could not write its files
    |   `-- ExactError   a prompt whose token count differs from the plan
    |-- CorruptError     a file whose bytes differ from what was written
    |-- SplitError       a split that does not exist or has no such rows
    |   `-- FrozenError  a change to a frozen split, or a copy that differs from it
    |-- StageError       a split that cannot be published
    |-- ExportError      rows that a harness cannot use
    |-- PredictionsError predictions that cannot be read or belong to another split
    |-- EndpointError    a server that refuses or does not answer
    |   `-- RequestError a server that refuses one request, but may accept the next
    |-- HubError         a Hub that refuses, does not answer, or holds other files
    `-- ReportError      a report or a figure that cannot be made
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LISTED, NEAREST = 30, 12
"""The most names that a message lists, and how many it picks from a longer list."""
LONGEST_REASON = 200
"""The most characters of a library's own message that ours quotes."""


class CarraraError(Exception):
    """Base class of all errors that users are meant to see."""


class RecipeError(CarraraError):
    """A recipe names something unknown or asks for something impossible."""


class FitError(RecipeError):
    """A stratum leaves too little room for filler in some profile."""


class ProfileError(CarraraError):
    """A tokenizer profile cannot be loaded, or its vocabulary has the wrong digest."""


class AllowanceError(ProfileError):
    """A chat template exceeds what templates are allowed to do."""


class PoolError(CarraraError):
    """A pool of segments is too small for a prompt, or does not match the recipe."""


class BuildError(CarraraError):
    """A stage could not write its files."""


class ExactError(BuildError):
    """The token count of a finished prompt is not the sum of its parts."""


class CorruptError(CarraraError):
    """A file's bytes or rows differ from what was written."""


class SplitError(CarraraError):
    """A split does not exist, or has no such rows."""


class StageError(CarraraError):
    """A split cannot be published in the way that was requested."""


class FrozenError(SplitError):
    """A lock cannot be read, or it contradicts what exists or was requested."""


class ExportError(CarraraError):
    """A split cannot be written in the format that a harness reads."""


class ReportError(CarraraError):
    """A report or a figure cannot be made from what was given."""


class PredictionsError(CarraraError):
    """Predictions cannot be read, or belong to another split."""


class EndpointError(CarraraError):
    """A server refuses a request, or sends no readable reply."""


class HubError(CarraraError):
    """The Hub refuses, does not answer, or holds other files than it should.

    Attributes:
        status: HTTP status; 0 if there was no reply, or if the status is not the reason.
    """

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class RequestError(EndpointError):
    """A server refused this request or failed on it, but may answer another."""


class RefusedError(RequestError):
    """A server will never answer this request: it does not fit its window, or its filter forbids it."""


def adding(extra: str) -> str:
    """Return how to install an optional extra, for messages.

    The Makefile's environment has no pip: the `pip` on a shell's path would install into another environment.

    >>> adding("report")
    "make extras EXTRAS=report, or pip install '.[report]' in an environment of your own"
    """
    return f"make extras EXTRAS={extra}, or pip install '.[{extra}]' in an environment of your own"


def first_line(fault: BaseException) -> str:
    """Return the first line of a library's error message, shortened, or the error's name if it has no message.

    >>> first_line(ValueError("no such table" + chr(10) + "at line 3")), first_line(EOFError())
    ('no such table', 'EOFError')
    """
    return next(iter(str(fault).splitlines()), "")[:LONGEST_REASON] or type(fault).__name__


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return a message for an unknown name that suggests the nearest known ones.

    >>> unknown("recipe", "125k", ["32k", "128k"])
    "unknown recipe '125k': did you mean '128k'? (known: 128k, 32k)"
    """
    names = sorted(known, key=lambda each: (int(each) if each.isdecimal() else 0, each))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6 if len(name) > 2 else 0.5)  # s4 is near s3
    hint = f": did you mean {near[0]!r}?" if near else ""
    if len(names) <= LISTED:
        return f"unknown {kind} {name!r}{hint} (known: {', '.join(names)})"
    others = sorted(difflib.get_close_matches(name, names, n=NEAREST, cutoff=0.0))
    return f"unknown {kind} {name!r}{hint} (nearest of {len(names)}: {', '.join(others)})"
