"""What an operation makes of many lists at once; those on which it fails are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Lists = list[list[int]]


def after(name: str, args: tuple[int, ...], lists: Sequence[list[int]]) -> Lists:
    """Return new lists: what ``getattr(list, name)`` with these arguments makes of each that it does not fail on.

    >>> after("pop", (2,), [[1, 2], [1, 2, 3, 4]])
    [[1, 2, 4]]
    """
    return _AFTER[name](lists, *args)


def _appended(lists: Sequence[list[int]], value: int) -> Lists:
    return [[*items, value] for items in lists]


def _inserted(lists: Sequence[list[int]], at: int, value: int) -> Lists:
    return [[*items[:at], value, *items[at:]] for items in lists]


def _popped(lists: Sequence[list[int]], at: int = -1) -> Lists:
    return [items[:at] + items[at + 1 or len(items) :] for items in lists if -len(items) <= at < len(items)]


def _removed(lists: Sequence[list[int]], value: int) -> Lists:
    places = [(items, items.index(value)) for items in lists if value in items]
    return [items[:at] + items[at + 1 :] for items, at in places]


def _sorted(lists: Sequence[list[int]]) -> Lists:
    return list(map(sorted, lists))


def _reversed(lists: Sequence[list[int]]) -> Lists:
    return [items[::-1] for items in lists]


_AFTER: Mapping[str, Callable[..., Lists]] = {
    "append": _appended,
    "insert": _inserted,
    "pop": _popped,
    "remove": _removed,
    "sort": _sorted,
    "reverse": _reversed,
}
