"""Conversion of plain tables to typed records, with readable errors, and the alphabets of names.

Input may come from anyone. A name that may become part of a path, an id, a command or a page is checked against its
alphabet when it is read, so that later code need not check it again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec

from pipeline.errors import CarraraError, unknown

T = TypeVar("T")
K = 1024
TIERS = {"32k": 32 * K, "128k": 128 * K, "1m": K * K}
"""The tiers, and the largest nominal length of each, in tokens."""
END = r"(?!\n)$"
"""The end of a text: `$` alone also matches before a last line break."""
IDENTIFIER = rf"^[a-z][a-z0-9_]{{0,63}}{END}"
SUBTASK = rf"^[a-z][a-z0-9_-]{{0,63}}{END}"
TIER = rf"^({'|'.join(TIERS)}){END}"
FRAME = rf"^(chat|raw){END}"
PLAIN = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}{END}"
VARIANT = rf"^([A-Za-z0-9][A-Za-z0-9._-]{{0,63}})?{END}"
RELEASE = rf"^[A-Za-z0-9][A-Za-z0-9 ._-]{{0,63}}{END}"
MODEL = rf"^[A-Za-z0-9][A-Za-z0-9._:/+@-]{{0,127}}{END}"
ROW_ID = rf"^[A-Za-z0-9._-]{{1,64}}{END}"
SHARD = rf"^[a-z][a-z0-9_]{{0,63}}/({'|'.join(TIERS)})/test-[0-9]{{5}}-of-[0-9]{{5}}{END}"
LINE = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]{0,2000}" + END
ALPHABETS = {
    IDENTIFIER: "lower-case letters, digits and underscores",
    SUBTASK: "lower-case letters, digits, underscores and dashes",
    TIER: "32k, 128k or 1m",
    FRAME: "chat or raw",
    PLAIN: "letters, digits, dots and dashes",
    VARIANT: "letters, digits, dots and dashes, or nothing",
    RELEASE: "letters, digits, spaces, dots and dashes",
    MODEL: "the name of a model: letters, digits and . _ : / + @ -",
    ROW_ID: "at most 64 letters, digits, dots, dashes and underscores",
    SHARD: "family/tier/test-00000-of-00001",
    LINE: "one line of text without control characters",
}
"""The alphabets of names in words; a name in a path never begins with a dot, so that none is a parent folder."""

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Sha256 = Annotated[str, msgspec.Meta(pattern=f"^[0-9a-f]{{64}}{END}")]
Identifier = Annotated[str, msgspec.Meta(pattern=IDENTIFIER)]
Subtask = Annotated[str, msgspec.Meta(pattern=SUBTASK)]
Tier = Annotated[str, msgspec.Meta(pattern=TIER)]
Frame = Annotated[str, msgspec.Meta(pattern=FRAME)]
Plain = Annotated[str, msgspec.Meta(pattern=PLAIN)]
Variant = Annotated[str, msgspec.Meta(pattern=VARIANT)]
Release = Annotated[str, msgspec.Meta(pattern=RELEASE)]
ModelName = Annotated[str, msgspec.Meta(pattern=MODEL)]
ShardName = Annotated[str, msgspec.Meta(pattern=SHARD)]
Line = Annotated[str, msgspec.Meta(pattern=LINE)]

KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""msgspec's names of types, and what they are called in TOML."""
MARKS = {
    " | null": "",
    " | ": " or ",
    ">=": "of at least",
    "<=": "of at most",
    "of length of at least 1": "that is not empty",
}


def typed(shape: type[T], table: object, where: str, error: type[CarraraError]) -> T:
    """Convert a plain table to a dataclass, whose fields are the known keys.

    Raises:
        CarraraError: an `error` for an unknown key (with the nearest known one), a missing key, or a value of the wrong
            type (with the value and the right type).
    """
    _check_keys(shape, table, where, error)
    try:
        return msgspec.convert(table, shape)
    except msgspec.ValidationError as fault:
        message, _, place = str(fault).partition(" - at `$")
        raise error(f"{where}: {_describe(message, place.strip('`.'), table)}") from None


LARGEST_TOML = 1 << 20
"""The most characters of a TOML file."""
DEEPEST_KEY = 16
"""The most parts of a dotted key: the parser's time and memory grow with their square."""
_PART = r"""(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEEPEST_KEY}}}")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text, after checking its size.

    Raises:
        ValueError: if it is not TOML, or too large or too deeply nested.
    """
    if len(text) > LARGEST_TOML:
        raise ValueError(f"it has {len(text):,} characters, at most {LARGEST_TOML:,} are read")
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise ValueError(f"the key in line {line} has more than {DEEPEST_KEY} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_json(text: bytes | str, shape: type[T]) -> T:
    """Read JSON as a record.

    Raises:
        ValueError: if it is not JSON, or not of this shape.
    """
    try:
        return msgspec.json.decode(text, type=shape)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except msgspec.ValidationError as fault:
        message, _, place = str(fault).partition(" - at ")
        raise ValueError(f"{place.replace('`', '') or 'it'}: {_in_words(message)}") from None
    except UnicodeError:
        raise ValueError("it is not text in UTF-8") from None


def _check_keys(shape: Any, table: object, where: str, error: type[CarraraError]) -> None:
    """Refuse unknown keys, which msgspec would ignore, in a table and its subtables."""
    if isinstance(table, list):
        for item in table:
            for inner in get_args(shape):
                _check_keys(inner, item, where, error)
    elif isinstance(table, Mapping):
        for kind in (shape, *get_args(shape)):
            if isinstance(kind, type) and is_dataclass(kind):
                hints = _hints(kind)
                for key, value in table.items():
                    if key not in hints:
                        raise error(f"{where}: {unknown('key', key, list(hints))}")
                    _check_keys(hints[key], value, f"{where}.{key}", error)


@lru_cache(maxsize=64)
def _hints(shape: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields by name, in order (cached: typing evaluates them on each call)."""
    hints = get_type_hints(shape)
    return {field.name: hints[field.name] for field in fields(shape)}


def _describe(message: str, place: str, table: Any) -> str:
    if missing := re.fullmatch("Object missing required field `(.*)`", message):
        return f"{f'{place} ' if place else ''}lacks {missing[1]!r}, which is required"
    return f"{_show_value(place, table)}: {_in_words(message)}"


def _in_words(message: str) -> str:
    """Return msgspec's message as a hint, such as "give a string"."""
    if pattern := re.search(r"matching regex (.*)$", message):
        return f"give {next((words for known, words in ALPHABETS.items() if repr(known) == pattern[1]), pattern[1])}"
    if not message.startswith("Expected"):
        return message
    wanted = re.sub("^Expected |, got .*|`", "", message)
    for name, words in KINDS.items():
        wanted = re.sub(rf"\b{name}\b", words, wanted)
    for mark, words in MARKS.items():
        wanted = wanted.replace(mark, words)
    return f"give {wanted}"


def _show_value(place: str, table: Any) -> str:
    """Return the place of a value, and the value itself if the place identifies one."""
    value = table
    for name, at in re.findall(r"(\w+)|\[(.*?)\]", place):
        if at == "...":
            return place.replace("[...]", "")
        value = value[name or int(at)]
    return f"{place} = {value!r}" if place else repr(value)
