"""A model that answers from a key: it knows a reply only for the exact text that it was meant to be asked.

Standard library alone: it is loaded inside each harness's own environment. CARRARA_KEY names a JSON file with the reply
and the room for it, by the SHA-256 of what is sent; a prompt with one byte changed has no reply. A harness that asks
several models at once has such a file for each, `<model>.json`, in the same folder.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import resource
from functools import cache
from pathlib import Path
from typing import Any

KEY = "CARRARA_KEY"
PEAK = "CARRARA_PEAK"
"""Names a file that gets the most memory this process ever held, in bytes."""
Turn = tuple[str, str]


def digest(turns: list[Turn]) -> str:
    """Return the digest of what is sent: of the prompt alone, if that is one user turn, else of all turns."""
    whole = turns[0][1] if [role for role, _ in turns] == ["user"] else json.dumps(turns)
    return hashlib.sha256(whole.encode()).hexdigest()


@cache
def known(key: Path) -> dict[str, dict[str, Any]]:
    return dict(json.loads(key.read_text(encoding="utf-8")))


def answer(turns: list[Turn], room: int | None, model: str = "") -> str:
    """Return the reply to a conversation, or what is wrong with it, which no scorer takes for an answer."""
    key = Path(os.environ[KEY])
    entry = known(key.with_name(f"{model}.json") if model else key).get(digest(turns))
    if entry is None:
        return f"({sum(len(content) for _, content in turns)} characters in {len(turns)} turns that no row has)"
    if room != entry["room"]:
        return f"(room for {room} tokens in place of {entry['room']})"
    return str(entry["reply"])


def note_peak() -> None:
    """Write the most memory that this process ever held."""
    Path(os.environ[PEAK]).write_text(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024), encoding="ascii")


if os.environ.get(PEAK):
    atexit.register(note_peak)
