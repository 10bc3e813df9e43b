"""Requests as routes receive them, and their replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs


@dataclass(frozen=True)
class Request:
    """A complete request; its body is in a file."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Path
    host: str

    def bytes(self) -> bytes:
        return self.body.read_bytes()

    def json(self) -> Any:
        return json.loads(self.bytes() or b"{}")

    def asks(self, name: str) -> str:
        """Return a parameter of the query, or ""."""
        return parse_qs(self.query).get(name, [""])[0]

    def wants(self, name: str) -> bool:
        """Return a boolean parameter of the query."""
        return self.asks(name).lower() in ("true", "1")


@dataclass(frozen=True)
class Reply:
    """A reply: bytes, or a range of a file."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    start: int = 0
    length: int = 0

    @property
    def size(self) -> int:
        return self.length if self.file else len(self.body)


class RefusedError(Exception):
    """An error with the reply to send."""

    def __init__(self, status: int, message: str, code: str = "", **headers: str) -> None:
        super().__init__(message)
        named = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
        self.reply = says({"error": message}, status, {**named, **headers})


def says(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})
