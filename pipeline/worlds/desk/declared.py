"""The tools of the agent as they are declared to a model: JSON schemas in the form of OpenAI's API.

They allow every call that a job can make. Templates send them in this order, so any change is one of the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def _text(description: str, *values: str) -> Fields:
    return TEXT | {"description": description} | ({"enum": [*values]} if values else {})


def _number(description: str) -> Fields:
    return NUMBER | {"description": description}


def _action(*values: str) -> Fields:
    return {"action": _text("What to do", *values)}


STAGED: Fields = {
    "batch": _text("The batch to stage the call in"),
    "mode": _text("Only try the call, or stage it; without a mode it takes effect at once", "dry-run", "stage"),
}
"""Parameters of every call that changes something."""
TOOLS: Mapping[str, tuple[str, Fields, tuple[str, ...]]] = {
    "bookings": (
        "Book a room, show the bookings of a room on a day, or list the free rooms.",
        {
            **_action("book", "day", "free"),
            "day": _text("The day, as YYYY-MM-DD"),
            "for": _text("The full name of the person to book for"),
            "from": _text("The time, as HH:MM"),
            "room": _text("The room"),
            **STAGED,
        },
        ("action", "day"),
    ),
    "commit": (
        "Let all calls that are staged in a batch take effect.",
        {"batch": _text("The batch")},
        ("batch",),
    ),
    "files": (
        "Read a file or some of its lines, or show a folder as a tree.",
        {
            **_action("read", "tree"),
            "from_line": _number("The first line to read"),
            "path": _text("The absolute path"),
            "to_line": _number("The last line to read"),
        },
        ("action", "path"),
    ),
    "hosts": (
        "Show or list hosts, reinstall a host with an image, or give it back its previous image.",
        {
            **_action("list", "reinstall", "rollback", "show"),
            "host": _text("The name of the host"),
            "image": _text("The image to install"),
            "names": _text("The names of the hosts to list, with spaces between them"),
            **STAGED,
        },
        ("action",),
    ),
    "mail": (
        "Send a mail, read one, or list a folder.",
        {
            **_action("list", "read", "send"),
            "folder": _text("The folder to list"),
            "id": _number("The number of the mail to read"),
            "subject": _text("The subject of the mail to send"),
            "to": _text("The full name of the person to send it to"),
            **STAGED,
        },
        ("action",),
    ),
    "note": ("Write something down.", {"text": _text("The text of the note")}, ("text",)),
    "people": ("Look a person up in the directory.", {"name": _text("The full name")}, ("name",)),
    "rows": (
        "Return one page of the rows that a query finds.",
        {
            "page": _number("The page, from 1"),
            "query": _text("The query"),
            "size": _number("The number of rows on a page"),
        },
        ("page", "query", "size"),
    ),
    "search": (
        "Search the files or the mails for a word or phrase.",
        {
            "in": _text("Search the mails instead of the files", "mail"),
            "limit": _number("The most hits to return"),
            "query": _text("The word or phrase"),
        },
        ("query",),
    ),
    "settings": (
        "Set a key of a settings file, or copy a key from one settings file to another.",
        {
            **_action("copy", "set"),
            "file": _text("The path of the file to set the key in"),
            "from": _text("The path of the file to copy from"),
            "key": _text("The key"),
            "to": _text("The path of the file to copy to"),
            "value": _number("The value to set"),
            **STAGED,
        },
        ("action", "key"),
    ),
    "shell": (
        "Run a command.",
        {"cmd": _text("The command"), "on": _text("The host to run it on, if not this one")},
        ("cmd",),
    ),
    "stock": (
        "Book a change of the stock of an item, or show the record of the item.",
        {
            **_action("issue", "receive", "record", "return", "scrap"),
            "item": _text("The code of the item"),
            "qty": _number("The quantity"),
            "reason": _text("The reason for the change"),
            **STAGED,
        },
        ("action", "item"),
    ),
    "tickets": (
        "Assign a ticket to a person, show the ticket, or list its comments.",
        {
            **_action("assign", "comments", "show"),
            "ticket": _text("The number of the ticket"),
            "to": _text("The full name of the person to assign it to"),
            **STAGED,
        },
        ("action", "ticket"),
    ),
    "undo": (
        "Undo a call or the last assignment of a ticket, or redo the assignment that was undone last.",
        {
            **_action("redo", "undo"),
            "target": _text("The ref of the call, or the number of the ticket"),
            **STAGED,
        },
        ("action", "target"),
    ),
}
"""For each tool: what it does, its parameters, and those that every call has."""


def declared_tools() -> list[dict[str, Any]]:
    """Return the tools as the field ``tools`` of a request; parameters are in alphabetical order, as in calls."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {"type": "object", "properties": dict(sorted(fields.items())), "required": [*required]},
            },
        }
        for name, (description, fields, required) in TOOLS.items()
    ]


DECLARED = json.dumps(declared_tools())
"""The tools as JSON, as rows hold them."""
