"""Conversion of plain tables to typed records, with readable errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec

from pipeline.errors import CarraraError, unknown

T = TypeVar("T")
Whole = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""What msgspec calls types, and what they are in TOML."""
MARKS = {
    " | null": "",
    " | ": " or ",
    ">=": "of at least",
    "<=": "of at most",
    "of length of at least 1": "that is not empty",
}


def typed(shape: type[T], table: object, where: str, error: type[CarraraError]) -> T:
    """Return a plain table as a record: a dataclass, whose fields are the known keys.

    Raises:
        CarraraError: an `error` for an unknown key, with the nearest right one, a missing one, or a value of another
            type, with the value and the right type.
    """
    _check_keys(shape, table, where, error)
    try:
        return msgspec.convert(table, shape)
    except msgspec.ValidationError as fault:
        said, _, place = str(fault).partition(" - at `$")
        raise error(f"{where}: {_told(said, place.strip('`.'), table)}") from None


def _check_keys(shape: Any, table: object, where: str, error: type[CarraraError]) -> None:
    """Refuse unknown keys, also in the tables within a table: msgspec would pass over them."""
    if isinstance(table, list):
        for item in table:
            for inner in get_args(shape):
                _check_keys(inner, item, where, error)
    elif isinstance(table, Mapping):
        for kind in (shape, *get_args(shape)):
            if isinstance(kind, type) and is_dataclass(kind):
                hints, names = get_type_hints(kind), [field.name for field in fields(kind)]
                for key, value in table.items():
                    if key not in names:
                        raise error(f"{where}: {unknown('key', key, names)}")
                    _check_keys(hints[key], value, f"{where}.{key}", error)


def _told(said: str, place: str, table: Any) -> str:
    if missing := re.fullmatch("Object missing required field `(.*)`", said):
        return f"{f'{place} ' if place else ''}lacks {missing[1]!r}, which is required"
    wanted = re.sub("^Expected |, got .*|`", "", said)
    for name, words in KINDS.items():
        wanted = re.sub(rf"\b{name}\b", words, wanted)
    for mark, words in MARKS.items():
        wanted = wanted.replace(mark, words)
    return f"{_given(place, table)}: give {wanted}"


def _given(place: str, table: Any) -> str:
    """Return the place of a value, and the value itself if msgspec names it."""
    value = table
    for name, at in re.findall(r"(\w+)|\[(.*?)\]", place):
        if at == "...":
            return place.replace("[...]", "")
        value = value[name or int(at)]
    return f"{place} = {value!r}" if place else repr(value)
