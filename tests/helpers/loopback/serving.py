"""The base of servers on localhost: connections, the log of requests, and faults."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self

from loopback.faults import Fault, Faults
from loopback.http import Reply, Request
from loopback.threads import LoopbackServer

BLOCK = 1 << 16


@dataclass
class Seen:
    """One request in the log; `received` and `sent` are bytes of bodies, `status` is 0 until the reply begins."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    status: int = 0
    received: int = 0
    sent: int = 0

    @property
    def line(self) -> str:
        """The text that faults and counts match."""
        return f"{self.method} {self.path}" + (f"?{self.query}" if self.query else "")


class Served:
    """A server with a folder for what it receives; derived classes answer requests."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.log: list[Seen] = []
        self.faults = Faults()
        self._http = LoopbackServer(_handler(self), port)
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def answer(self, request: Request) -> Reply:
        """Handle a request."""
        raise NotImplementedError

    def refusal(self, fault: Fault) -> Reply:
        """Return the reply for a fault with a status."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return the server, which already runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    def stop(self) -> None:
        """Refuse connections from now on."""
        self._http.stop()

    def fail(self, match: str, status: int = 0, **how: Any) -> Fault:
        """Make matching requests fail; see `Fault`."""
        return self.faults.plan(Fault(match, status, **how))

    def lines(self, start: str = "") -> list[str]:
        """Return the lines of the requests so far that begin with `start`."""
        return [seen.line for seen in self.log if seen.line.startswith(start)]


class _CutError(Exception):
    """The connection was cut on purpose."""


def _handler(server: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.served = server
    return Handler


class _Handler(BaseHTTPRequestHandler):
    served: Served
    seen: Seen
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _exchange(self) -> None:
        path, _, query = self.path.partition("?")
        fault = self.served.faults.strike(f"{self.command} {self.path}")
        self.seen = Seen(self.command, path, query, dict(self.headers.items()))
        self.served.log.append(self.seen)
        with tempfile.TemporaryDirectory(dir=self.served.folder) as place, suppress(_CutError, OSError):
            body = Path(place) / "body"
            request = Request(self.command, path, query, self.seen.headers, body, self.served.url)
            self._receive(request, fault)
            reply = self._answer(request, fault)
            self.seen.status = reply.status
            self._send(reply, fault.cut if fault else None)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _exchange  # noqa: N815

    def _receive(self, request: Request, fault: Fault | None) -> None:
        limit = fault.cut if fault and not fault.done and self._has_body() else None
        with request.body.open("wb") as out:
            for part in self._parts():
                time.sleep(fault.pace if fault else 0)
                out.write(part)
                self.seen.received += len(part)
                if fault and limit is not None and self.seen.received >= limit:
                    self._strike(request, fault)
                    self._hang_up()

    def _has_body(self) -> bool:
        return int(self.headers.get("Content-Length") or 0) > 0 or "chunked" in self.headers.get(
            "Transfer-Encoding", ""
        )

    def _parts(self) -> Any:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length") or 0)
        while left and (part := self.rfile.read(min(left, BLOCK))):
            left -= len(part)
            yield part
        if left:
            self._hang_up()

    def _answer(self, request: Request, fault: Fault | None) -> Reply:
        if fault and not fault.done:
            self._strike(request, fault)
        if fault and fault.status and not fault.done:
            return self.served.refusal(fault)
        reply = self.served.answer(request)
        self.seen.status = reply.status
        if fault and fault.done:
            self._strike(request, fault)
            self._hang_up()
        return reply

    def _strike(self, request: Request, fault: Fault) -> None:
        if fault.then:
            fault.then(request.path)
        time.sleep(fault.delay)

    def _send(self, reply: Reply, limit: int | None) -> None:
        self.send_response(reply.status)
        usual = {"Content-Type": "application/octet-stream", "Content-Length": str(reply.size)}
        for name, value in {**usual, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        for part in _stretch(reply):
            allowed = part if limit is None else part[: max(0, limit - self.seen.sent)]
            self.wfile.write(allowed)
            self.seen.sent += len(allowed)
            if len(allowed) < len(part):
                self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        raise _CutError

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _stretch(reply: Reply) -> Any:
    if reply.file is None:
        yield reply.body
        return
    with reply.file.open("rb") as file:
        file.seek(reply.start)
        left = reply.length
        while left and (part := file.read(min(left, BLOCK))):
            left -= len(part)
            yield part
