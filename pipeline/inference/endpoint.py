"""A client for OpenAI-compatible servers: requests, retries, and readable errors."""

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
    """Cuts connections opened within it after some seconds.

    A socket's timeout only bounds each wait for bytes: a server that sends them one by one, or ``100 Continue`` again
    and again, would block its client forever.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._lines: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        """Start the timer."""
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the timer."""
        self._timer.cancel()
        for line in self._lines:
            line.close()

    def handlers(self) -> tuple[urllib.request.BaseHandler, ...]:
        """Return urllib's handlers that open connections within the deadline."""
        return _Plain(self), _Tls(self)

    def connection(self, kind: Callable[..., Any]) -> Callable[..., Any]:
        """Return a factory of connections of a kind within the deadline."""

        def made(*args: Any, **how: Any) -> Any:
            line = kind(*args, **how)
            line._create_connection = self._connected
            return line

        return made

    def _connected(self, *args: Any, **how: Any) -> socket.socket:
        line = socket.create_connection(*args, **how)
        self._lines.append(line.dup())  # TLS takes over the original
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
"""HTTP statuses for which a retry may succeed."""
OF_REQUEST = frozenset({400, 413, 422})
"""HTTP statuses that may concern one request only, such as a prompt that is too long."""
HOPELESS = (ssl.SSLError, ssl.SSLCertVerificationError)
"""Errors that no retry will mend: a bad certificate, or no TLS. Other subclasses of SSLError are broken connections."""
LONGEST_WAIT, REPORTED_WAIT = 60.0, 5.0
"""The longest wait between tries, and the shortest that is reported, in seconds."""
MESSAGE = 600
"""The most characters of an error with a server's message."""
LARGEST = 8 * 1024 * 1024
"""The most bytes of a reply."""
STATUS_MESSAGES = {
    401: "the server rejected the API key: set CARRARA_API_KEY or OPENAI_API_KEY",
    403: "the key may not use this model",
    404: "no such address or model: give the address without /chat/completions, and a model that is served there",
    413: "the request is too large for the server",
}
"""Messages by HTTP status."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a server and the model to ask there.

    Attributes:
        url: ``http(s)://host/v1``, without user, password or query, since it appears in errors and in files.
        model: the model's name at this endpoint.
        key: sent as a bearer token; hidden wherever a server repeats it.
        timeout: seconds for each try, from connecting to the last byte; also the most seconds, over all tries of a
            request, that the client waits because the server asks for it.
        tries: how often one request is sent at most.
        options: further fields of each request; None removes a field.
        pause: a function that sleeps.
        on_wait: called with a message before a wait of REPORTED_WAIT seconds or more.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 120.0
    tries: int = 6
    options: Mapping[str, Any] = field(default_factory=dict)
    pause: Callable[[float], None] = time.sleep
    on_wait: Callable[[str], None] = lambda message: None

    def __post_init__(self) -> None:
        """Check the address, the key and the number of tries.

        Raises:
            EndpointError: if one is not valid; the message never contains the key.
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
        """The URL of chat completions."""
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
        """Return the body of the reply to some messages; its first choice has a message, perhaps without text.

        `more` are further fields of the request. There are no retries once `given_up` returns True.

        Raises:
            RefusedError: if the server will never answer this request.
            RequestError: if it refuses this request, or no try returned a readable reply.
            EndpointError: if it would refuse any request.
        """
        return self._post(self.address, _is_chat, {"messages": list(messages), **(more or {})}, given_up)

    def complete(
        self, prompt: str, *, more: Mapping[str, Any] | None = None, given_up: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Return the body of the completion of a bare string; see `ask`.

        Raises:
            RefusedError: if the server will never answer this request.
            RequestError: if it refuses this request, or no try returned a readable reply.
            EndpointError: if it would refuse any request.
        """
        return self._post(self._place("/completions"), _is_text, {"prompt": prompt, **(more or {})}, given_up)

    def look(self, path: str, what: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON at a path below a server's root, or None if there is none.

        With `what` the request is a POST, otherwise a GET. There are no retries, since no server has all paths.
        """
        root = self._place("").removesuffix("/v1")
        body = None if what is None else json.dumps(what).encode()
        try:
            return hidden_within(json.loads(self._read(root + path, body)), self.key)
        except (_TryError, ValueError, RecursionError):
            return None

    def _post(
        self, address: str, fits: Callable[[Any], bool], what: Mapping[str, Any], given_up: Callable[[], bool]
    ) -> dict[str, Any]:
        fields = {"model": self.model, **what, **self.options}
        body = json.dumps({name: value for name, value in fields.items() if value is not None}).encode()
        number, waited = 1, 0.0
        while True:
            try:
                return self._try_once(address, fits, body)
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
                if wait >= REPORTED_WAIT:
                    self.on_wait(_line(f"{address}: {words}: trying again in {wait:.0f} s"))
                waited += wait
                self.pause(wait)
            number += 1

    def _try_once(self, address: str, fits: Callable[[Any], bool], body: bytes) -> dict[str, Any]:
        return _parsed(self._read(address, body), fits, self.key)

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
    """Return a text, which may contain a server's message, as one line without terminal controls."""
    return plain(" ".join(text[:MESSAGE].split()))


class _TryError(Exception):
    """Why a try failed; `again` if a retry may succeed, after `wait` seconds if the server states these.

    With `alone`, the server may still answer other requests; with `final`, it will never answer this one.
    """

    def __init__(
        self, message: str, *, again: bool, wait: float = 0.0, alone: bool = False, final: bool = False
    ) -> None:
        super().__init__(message)
        self.again, self.wait, self.alone, self.final = again, wait, alone, final


class _Staying(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, since the key would be sent along."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that the redirect becomes an HTTPError."""


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


def _parsed(raw: str, fits: Callable[[Any], bool], key: str) -> dict[str, Any]:
    try:
        body = json.loads(raw)
        if fits(body["choices"][0]):
            return dict(hidden_within(body, key))
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    message, words = error_words(hidden(raw, key))
    final = is_final(0, words)
    raise _TryError(
        f"a reply that cannot be read: {message or ascii(hidden(raw[:1000], key)[:80])}", again=not final, final=final
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
    message = STATUS_MESSAGES.get(fault.code) or detail or str(fault.reason)
    if fault.code in (403, 404) and detail:
        message += f" ({detail})"
    if 300 <= fault.code < 400:
        message = f"the server redirects to {fault.headers.get('Location')!r}: give that address"
    if fault.code == 413 and detail:
        message += f" ({detail})"
    final = is_final(fault.code, words)
    again, alone = fault.code in AGAIN and not final, fault.code in OF_REQUEST
    return _TryError(
        f"HTTP {fault.code}: {message}", again=again, wait=_seconds(fault.headers), alone=alone, final=final
    )


def _seconds(headers: Message) -> float:
    """Return the seconds of Retry-After, which may be a date, compared then with the server's Date header."""
    value = headers.get("Retry-After", "0")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(headers["Date"])).total_seconds())
    except (ValueError, LookupError, TypeError, OverflowError):
        return 0.0


def content_of(body: Mapping[str, Any]) -> str:
    """Return the text of a reply's first choice, with parts joined; "" if it has none."""
    choice = body["choices"][0]
    content = choice["message"].get("content") if "message" in choice else choice.get("text")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def unfinished(body: Mapping[str, Any]) -> str:
    """Return why a reply has no text or an incomplete one; "" if it is complete."""
    choice = body["choices"][0]
    reason = str(choice.get("finish_reason") or "stop").lower()
    if reason in CUT | HELD:
        return f"it was cut off ({reason})"
    if choice["message"].get("refusal"):
        return "it is a refusal"
    return "" if content_of(body) else "it has no text"


J = TypeVar("J")
R = TypeVar("R")


def run_concurrently(
    take: Callable[[], J | None], ask: Callable[[J], R], workers: int, stop: Event
) -> Iterator[tuple[J, R | Exception]]:
    """Yield jobs with their results or exceptions in order of completion, with `workers` jobs at a time.

    `take` returns the next job, or None while there is none; `ask` runs in a thread. `stop` is set when iteration ends
    for any reason, so that requests still in flight can give up.
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
