"""A client of OpenAI-compatible servers: one request, its retries, and readable errors."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from email.utils import parsedate_to_datetime
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from pipeline.artifacts.refusals import CUT, HELD, error_words, is_final
from pipeline.errors import EndpointError, RefusedError, RequestError
from pipeline.inference.redaction import hidden, hidden_within
from pipeline.terminal.printing import plain
from pipeline.version import __version__


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


AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""HTTP states that another try may mend."""
OF_REQUEST = frozenset({400, 413, 422})
"""HTTP states that may be the fault of one request alone, as of a prompt that is too long."""
HOPELESS = (ssl.SSLError, ssl.SSLCertVerificationError)
"""Faults of a connection that none will: no certificate, or no TLS at all. Their other kinds are broken lines."""
LONGEST_WAIT, TOLD_WAIT = 60.0, 5.0
"""Seconds of a wait between tries at most, and from which on it is told."""
MESSAGE = 600
"""Characters of an error that holds a server's words."""
LARGEST = 8 * 1024 * 1024
"""Bytes of a reply that are read."""
SAID = {
    401: "the server rejected the API key: set CARRARA_API_KEY or OPENAI_API_KEY",
    403: "the key may not use this model",
    404: "no such address or model: give the address without /chat/completions, and a model that is served there",
    413: "the request is too large for the server",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a server and the model to ask there.

    Attributes:
        url: ``http(s)://host/v1``, without a user, a password or a query: it stands in errors and in every row.
        model: the name that the endpoint gives it.
        key: sent as a bearer token; hidden wherever a server repeats it.
        timeout: seconds for each try, from the connection to the last byte; and for all the waits between the tries of
            a request that a server asks for.
        tries: how often one request is sent.
        options: what is sent with each request beside model and messages; None leaves out what else would be sent.
        pause: how to wait.
        on_wait: called with a line before a wait that takes a while.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 120.0
    tries: int = 6
    options: Mapping[str, Any] = field(default_factory=dict)
    pause: Callable[[float], None] = time.sleep
    on_wait: Callable[[str], None] = lambda said: None

    def __post_init__(self) -> None:
        """Refuse what cannot be sent.

        Raises:
            EndpointError: naming the address; never the key.
        """
        if any(mark in self.url for mark in "@?#"):
            raise EndpointError(
                "--base-url contains a user or a query, which would end up in files: give http(s)://host/v1"
            )
        if not _is_address(self.url):
            raise EndpointError(f"--base-url {self.url!r} is not an address: give http(s)://host/v1")
        if not (self.key.isascii() and self.key.isprintable()):
            raise EndpointError("the key has characters that cannot be sent: copy it again")
        if self.tries < 1:
            raise EndpointError(f"tries = {self.tries}: give at least 1")

    @property
    def address(self) -> str:
        """The address of chat completions."""
        return self._place("/chat/completions")

    def _place(self, tail: str) -> str:
        return self.url.rstrip("/").removesuffix("/chat/completions").removesuffix("/completions") + tail

    def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        more: Mapping[str, Any] | None = None,
        given_up: Callable[[], bool] = lambda: False,
    ) -> dict[str, Any]:
        """Return the body of the reply to some messages; its first choice is a message, be it without text.

        `more` is sent beside them. There are no more tries once `given_up` says so.

        Raises:
            RefusedError: if it never will answer this request.
            RequestError: if it refuses this request, or no try brought a reply that can be read.
            EndpointError: if it would refuse any other as well.
        """
        return self._asked(self.address, _is_chat, {"messages": list(messages), **(more or {})}, given_up)

    def complete(
        self, prompt: str, *, more: Mapping[str, Any] | None = None, given_up: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Return the body of the completion of a bare string, as `ask` does that of a reply.

        Raises:
            RefusedError: if it never will answer this request.
            RequestError: if it refuses this request, or no try brought a reply that can be read.
            EndpointError: if it would refuse any other as well.
        """
        return self._asked(self._place("/completions"), _is_text, {"prompt": prompt, **(more or {})}, given_up)

    def look(self, path: str, what: Mapping[str, Any] | None = None) -> Any:
        """Return what a server says of itself at a path below its root, JSON; None where it has no such path.

        `what` is posted; without it the path is only read. There is one try, since no server has all paths.
        """
        root = self._place("").removesuffix("/v1")
        body = None if what is None else json.dumps(what).encode()
        try:
            return hidden_within(json.loads(self._read(root + path, body)), self.key)
        except (_TryError, ValueError, RecursionError):
            return None

    def _asked(
        self, address: str, fits: Callable[[Any], bool], what: Mapping[str, Any], given_up: Callable[[], bool]
    ) -> dict[str, Any]:
        said = {"model": self.model, **what, **self.options}
        body = json.dumps({name: value for name, value in said.items() if value is not None}).encode()
        number, waited = 1, 0.0
        while True:
            try:
                return self._sent(address, fits, body)
            except _TryError as fault:
                wait = min(LONGEST_WAIT, fault.wait or 2.0 ** min(number - 1, 6))
                patient = not fault.wait or waited + wait <= self.timeout
                words = hidden(str(fault), self.key)
                if not fault.again or number >= self.tries or not patient or given_up():
                    sent = "1 try" if number == 1 else f"{number} tries"
                    sent += (
                        "" if patient else f"; it asks for a wait that is longer than the timeout, {self.timeout:g} s"
                    )
                    later = f" ({sent}): run it again later" if fault.again else ""
                    kind: type[EndpointError] = RequestError if fault.again or fault.alone else EndpointError
                    kind = RefusedError if fault.final else kind
                    raise kind(_line(f"{address}: {words}{later}")) from None
                if wait >= TOLD_WAIT:
                    self.on_wait(_line(f"{address}: {words}: trying again in {wait:.0f} s"))
                waited += wait
                self.pause(wait)
            number += 1

    def _sent(self, address: str, fits: Callable[[Any], bool], body: bytes) -> dict[str, Any]:
        return _understood(self._read(address, body), fits, self.key)

    def _read(self, address: str, body: bytes | None) -> str:
        headers = {"Content-Type": "application/json", "User-Agent": f"carrara/{__version__}"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        with Deadline(self.timeout) as deadline:
            try:
                request = urllib.request.Request(address, body, headers)
                opener = urllib.request.build_opener(_Staying, *deadline.handlers())
                with opener.open(request, timeout=self.timeout) as response:
                    return _whole(response, deadline)
            except urllib.error.HTTPError as fault:
                with fault:
                    raise _refused(fault, self.key) from None
            except (OSError, http.client.HTTPException) as fault:
                cause = fault.reason if isinstance(fault, urllib.error.URLError) else fault
                cause = "timed out" if deadline.over else cause
                raise _TryError(f"no answer ({cause})"[:300], again=type(cause) not in HOPELESS) from None
            except ValueError as fault:
                raise _TryError(f"the request cannot be sent ({fault})"[:300], again=False) from None


def _line(text: str) -> str:
    """Return a text as one line in which nothing acts on a terminal: a server's words stand in errors."""
    return plain(" ".join(text[:MESSAGE].split()))


class _TryError(Exception):
    """Why a try failed; whether another may succeed, after `wait` seconds if the server says how many.

    `alone`: it may be the fault of this request, and others be answered; `final`: this one never will be.
    """

    def __init__(self, said: str, *, again: bool, wait: float = 0.0, alone: bool = False, final: bool = False) -> None:
        super().__init__(said)
        self.again, self.wait, self.alone, self.final = again, wait, alone, final


class _Staying(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, since the key would be sent along."""

    def redirect_request(self, *_: Any) -> None:
        """Leave it to the caller."""


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and _is_plain(url)
    except ValueError:
        return False


def _is_plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url


def _whole(response: Any, deadline: Deadline) -> str:
    """Read a reply to its end; invalid UTF-8 becomes lone surrogates."""
    raw = bytearray()
    while part := response.read1(1 << 16):
        raw += part
        if len(raw) > LARGEST:
            raise _TryError(f"a reply of more than {LARGEST:,} bytes", again=False, alone=True)
    if deadline.over:
        raise TimeoutError
    if response.length:
        raise _TryError("the connection broke off", again=True)
    return raw.decode(errors="surrogateescape")


def _understood(raw: str, fits: Callable[[Any], bool], key: str) -> dict[str, Any]:
    try:
        body = json.loads(raw)
        if fits(body["choices"][0]):
            return dict(hidden_within(body, key))
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    said, words = error_words(hidden(raw, key))
    final = is_final(0, words)
    raise _TryError(
        f"a reply that cannot be read: {said or ascii(hidden(raw[:1000], key)[:80])}", again=not final, final=final
    )


def _is_chat(choice: Any) -> bool:
    return isinstance(choice["message"], dict)


def _is_text(choice: Any) -> bool:
    return isinstance(choice["text"], str)


def _refused(fault: urllib.error.HTTPError, key: str) -> _TryError:
    try:
        detail, words = error_words(hidden(fault.read(1 << 14).decode(errors="replace"), key))
    except (OSError, http.client.HTTPException):
        detail = words = ""
    said = SAID.get(fault.code) or detail or str(fault.reason)
    if fault.code in (403, 404) and detail:
        said += f" ({detail})"
    if 300 <= fault.code < 400:
        said = f"the server redirects to {fault.headers.get('Location')!r}: give that address"
    if fault.code == 413 and detail:
        said += f" ({detail})"
    final = is_final(fault.code, words)
    again, alone = fault.code in AGAIN and not final, fault.code in OF_REQUEST
    return _TryError(f"HTTP {fault.code}: {said}", again=again, wait=_seconds(fault.headers), alone=alone, final=final)


def _seconds(headers: Message) -> float:
    """Read Retry-After: seconds, or a date, which is compared with the server's own."""
    given = headers.get("Retry-After", "0")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(given) - parsedate_to_datetime(headers["Date"])).total_seconds())
    except (ValueError, LookupError, TypeError, OverflowError):
        return 0.0


def content_of(body: Mapping[str, Any]) -> str:
    """Return the text of a reply's first choice: a string, or parts of one; nothing if it has none."""
    choice = body["choices"][0]
    content = choice["message"].get("content") if "message" in choice else choice.get("text")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def unfinished(body: Mapping[str, Any]) -> str:
    """Return why a reply has no text or an incomplete one; empty if it is complete."""
    choice = body["choices"][0]
    reason = str(choice.get("finish_reason") or "stop").lower()
    if reason in CUT | HELD:
        return f"it was cut off ({reason})"
    if choice["message"].get("refusal"):
        return "it is a refusal"
    return "" if content_of(body) else "it has no text"


J = TypeVar("J")
R = TypeVar("R")


def asked(
    take: Callable[[], J | None], ask: Callable[[J], R], workers: int, stop: Event
) -> Iterator[tuple[J, R | Exception]]:
    """Yield jobs with what came of them, in the order in which it comes, with `workers` of them under way.

    `take` returns the next job, or None while there is none; `ask` runs in a thread. `stop` is set at the end, whatever
    ends it: requests that are still under way should look at it.
    """
    replies: SimpleQueue[tuple[J, R | Exception]] = SimpleQueue()

    def run(job: J) -> None:
        try:
            replies.put((job, ask(job)))
        except Exception as fault:
            replies.put((job, fault))

    running = 0
    try:
        while True:
            while running < workers and (job := take()) is not None:
                Thread(target=run, args=(job,), daemon=True).start()
                running += 1
            if not running:
                return
            running -= 1
            yield replies.get()
    finally:
        stop.set()
