"""A limit of time on a whole exchange with a server: connecting, TLS, headers, and body, however slowly they come."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self


class Deadline:
    """Cuts the connection that is made within it after some seconds.

    A timeout of a socket bounds each wait for bytes; a server that drips them, or says ``100 Continue`` without end,
    would hold its client for ever.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._lines: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        """Start to count."""
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop to count."""
        self._timer.cancel()
        for line in self._lines:
            line.close()

    def handlers(self) -> tuple[urllib.request.BaseHandler, ...]:
        """Return what opens connections within it."""
        return _Plain(self), _Tls(self)

    def connection(self, kind: Callable[..., Any]) -> Callable[..., Any]:
        """Return what makes a connection of a kind within it."""

        def made(*args: Any, **how: Any) -> Any:
            line = kind(*args, **how)
            line._create_connection = self._connected
            return line

        return made

    def _connected(self, *args: Any, **how: Any) -> socket.socket:
        line = socket.create_connection(*args, **how)
        self._lines.append(line.dup())  # TLS takes the first one over
        if self.over:
            self._cut()
        return line

    def _cut(self) -> None:
        self.over = True
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._deadline.connection(http.client.HTTPConnection), req)


class _Tls(urllib.request.HTTPSHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._deadline.connection(http.client.HTTPSConnection), req)
