"""Caches that a process keeps from job to job and clears together when it runs short of memory.

Worlds, pools, grammars and lines are kept because the next job usually needs the same ones. Such caches use `cache` or
`lru_cache` of this module, or `register`, instead of `functools`. Caches that stay small, or serve a whole build, use
`functools`.
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
    """Return a decorator like `functools.lru_cache`, whose cache `clear_caches` empties."""

    def decorate(fn: Callable[..., T]) -> _lru_cache_wrapper[T]:
        kept = functools.lru_cache(maxsize)(fn)
        _functions.add(kept)
        return kept

    return decorate


def cache(fn: Callable[..., T], /) -> _lru_cache_wrapper[T]:
    """Decorate a function like `functools.cache`; `clear_caches` empties its cache."""
    return lru_cache(None)(fn)


def clear_caches() -> None:
    """Empty all registered caches."""
    for store in _budgeted:
        store.clear()
    for kept in list(_functions):
        kept.cache_clear()
    gc.collect()
