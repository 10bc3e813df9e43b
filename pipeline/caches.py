"""What a process makes once and keeps from job to job, and lets go of together when it needs the room.

Worlds, pools, grammars and lines that were read are kept because the next job usually needs the same ones. Every cache
of such things is registered here, by `cache` or `lru_cache` of this module instead of those of `functools`, or by
`register`. What stays small, or belongs to a whole build, uses `functools`.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")


class Clearable(Protocol):
    """A cache with a budget of its own."""

    def clear(self) -> None:
        """Drop everything."""


C = TypeVar("C", bound=Clearable)

_functions: WeakSet[_lru_cache_wrapper[Any]] = WeakSet()
_budgeted: list[Clearable] = []


def register(store: C) -> C:
    """Register a cache that keeps its own budget, and return it."""
    _budgeted.append(store)
    return store


def lru_cache(maxsize: int | None = 128) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Return a decorator as `functools.lru_cache` does; what it keeps is dropped by `clear_caches`."""

    def decorate(fn: Callable[..., T]) -> _lru_cache_wrapper[T]:
        kept = functools.lru_cache(maxsize)(fn)
        _functions.add(kept)
        return kept

    return decorate


def cache(fn: Callable[..., T], /) -> _lru_cache_wrapper[T]:
    """Decorate a function as `functools.cache` does; what it keeps is dropped by `clear_caches`."""
    return lru_cache(None)(fn)


def clear_caches() -> None:
    """Drop all that registered caches hold; it is made again when it is asked for."""
    for store in _budgeted:
        store.clear()
    for kept in list(_functions):
        kept.cache_clear()
    gc.collect()
