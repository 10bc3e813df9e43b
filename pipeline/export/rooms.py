"""Rows for harnesses with one length of reply for a whole benchmark: a file for each room, with what a scorer reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pipeline.export.by_stratum import TURNS
from pipeline.export.json_lines import Tally, add_line
from pipeline.metrics import SCORERS, UNKNOWN
from pipeline.rows import Row
from pipeline.store.files import below
from pipeline.store.split import Selection, Split

KEY = ("family", "subtask", "scorer", "question", "target", "answers", "choices", "random_string_to_prepend")
PLACE = ("id", "tier", "length", "complexity", "context_tokens", "max_new_tokens")
COLUMNS = (*PLACE, *KEY, "messages", "prompt")


def write_rooms(
    split: Split, selection: Selection, file: Callable[[int], Path], text: Callable[[Row], Row], *, turns: bool
) -> tuple[Tally, list[int]]:
    """Write a line of JSON for each row into the file of its room; return what was written, and the rooms.

    Args:
        split: a sealed split with its keys.
        selection: which rows.
        file: the file of a room, in tokens.
        text: what is sent of a row, as the harness names it.
        turns: whether the harness can send real turns; without it such rows are left out by name.
    """
    tally, rooms = Tally(), set[int]()
    for row in split.rows(COLUMNS, selection):
        if row["scorer"] not in SCORERS:
            tally.leave(row, UNKNOWN.ungraded)
        elif row["messages"] is not None and not turns:
            tally.leave(row, TURNS)
        else:
            add_line(file(row["max_new_tokens"]), {name: row[name] for name in (*PLACE, *KEY)} | text(row))
            rooms.add(row["max_new_tokens"])
            tally.rows += 1
    return tally, sorted(rooms)


def rooms_of(held: Sequence[Row]) -> list[int]:
    """Return the rooms of the rows that were written."""
    return sorted({row["max_new_tokens"] for row in held})


def benchmarks(lead: str, rooms: Iterable[int]) -> dict[str, int]:
    """Return the room of each benchmark by its name."""
    return {f"{lead}_{room}": room for room in rooms}


def messages_of(row: Row) -> Row:
    """Return what is sent of a row as messages, real turns or one of the user."""
    return {"messages": row["messages"] or [{"role": "user", "content": row["prompt"]}]}


def put(folder: Path, name: str, text: str) -> None:
    """Write a file of ASCII below a folder."""
    path = below(folder, *name.split("/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")
