"""Pools of words: plain text files, one value per line, with their sources in ``pools/SOURCES.md``."""

from __future__ import annotations

import hashlib
from importlib import resources

from pipeline.caches import cache


@cache
def pool(name: str) -> tuple[str, ...]:
    """Return the values of a pool in file order."""
    return tuple(pool_text(name).splitlines())


@cache
def pool_digest(*names: str) -> str:
    """Return the SHA-256 of the named pools' bytes."""
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name}\0{pool_text(name)}\0".encode())
    return total.hexdigest()


def pool_text(name: str) -> str:
    """Return the text of a pool's file; `name` may include a folder."""
    return (resources.files("pipeline.worlds") / "pools" / f"{name}.txt").read_text(encoding="ascii")


@cache
def pools_in(folder: str) -> tuple[str, ...]:
    """Return the names of the pools in a folder, in order."""
    items = (resources.files("pipeline.worlds") / "pools" / folder).iterdir()
    return tuple(sorted(f"{folder}/{item.name[:-4]}" for item in items if item.name.endswith(".txt")))
