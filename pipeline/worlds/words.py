"""Pools of words: plain text files, one value a line, with their sources in ``pools/SOURCES.md``."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources


@cache
def pool(name: str) -> tuple[str, ...]:
    """Return the values of a pool in file order."""
    return tuple(_text(name).splitlines())


def pool_digest(*names: str) -> str:
    """Return the SHA-256 of the named pools' bytes."""
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name}\0{_text(name)}\0".encode())
    return total.hexdigest()


def _text(name: str) -> str:
    return (resources.files("pipeline.worlds") / "pools" / f"{name}.txt").read_text(encoding="ascii")
