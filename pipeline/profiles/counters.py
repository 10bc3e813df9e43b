r"""Counters: what turns text into tokens, behind one small protocol.

No counter ever reads a special token out of a text: one that is spelled out there is ordinary text.

Why sums are exact: segments end in a newline and start with neither whitespace nor a slash, and no engine merges
across such an edge. SentencePiece vocabularies of the older kind put a space before a text, so that the same segment
counts differently first in a text and inside it. `count` is therefore the count of a text alone, while `counts` are
counts inside a text, taken after a newline: ``count("\n" + s) - count("\n")``. For every other vocabulary the two are
the same. So ``count(a + b + c) == count(a) + counts([b, c]).sum()`` holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import CarraraError, ProfileError, first_line

Counts = NDArray[np.int32]


class Counter(Protocol):
    """Counts tokens.

    Attributes:
        name: package and version, for the manifest, e.g. "tiktoken 0.14.0".
    """

    name: str

    def encode(self, text: str) -> list[int]:
        """Return the token ids of one encode, without special tokens."""

    def count(self, text: str) -> int:
        """Return the tokens of one encode, without special tokens."""

    def counts(self, texts: Sequence[str]) -> Counts:
        """Return the tokens each text has inside a longer one, after a newline."""


class BaseCounter:
    """What engines share: all follows from `_encode`, and an engine overrides what it does faster.

    An engine that fails on a text, or panics, as those in Rust do, raises a `ProfileError` that names it.
    """

    def __init__(self, package: str) -> None:
        self.name = package_name(package)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of one encode, without special tokens."""
        try:
            return self._encode(text)
        except BaseException as fault:
            self._explain(fault)
            raise

    def count(self, text: str) -> int:
        """Return the tokens of one encode, without special tokens."""
        try:
            return self._count(text)
        except BaseException as fault:
            self._explain(fault)
            raise

    def counts(self, texts: Sequence[str]) -> Counts:
        """Return the tokens each text has inside a longer one, after a newline."""
        try:
            return self._inside(texts)
        except BaseException as fault:
            self._explain(fault)
            raise

    def _explain(self, fault: BaseException) -> None:
        """Raise an error that names the engine, if the fault is one of its own."""
        if is_foreign(fault):
            raise ProfileError(f"{self.name} cannot count a text: {first_line(fault)}") from fault

    def _inside(self, texts: Sequence[str]) -> Counts:
        return np.fromiter(self._counts(texts), dtype=np.int32, count=len(texts))

    def _encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def _count(self, text: str) -> int:
        return len(self._encode(text))

    def _counts(self, texts: Sequence[str]) -> Iterable[int]:
        return map(self._count, texts)


class InContext(BaseCounter):
    """Engines that may put a space before a text, so that counts must be taken after a newline."""

    def _inside(self, texts: Sequence[str]) -> Counts:
        return super()._inside(["\n" + text for text in texts]) - np.int32(self._count("\n"))


def is_foreign(fault: BaseException) -> bool:
    """Tell whether a fault is one of somebody else's code; what panics in Rust is no `Exception` in Python."""
    ours = isinstance(fault, CarraraError | MemoryError)
    return (isinstance(fault, Exception) and not ours) or type(fault).__name__ == "PanicException"


def package_name(package: str) -> str:
    """Return a package's name and version."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
