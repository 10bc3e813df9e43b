"""Endpoints: every reply is kept, faults are one clear line, keys stay hidden, and a run goes on where it stopped."""

from __future__ import annotations

import json
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pipeline.cli import cli
from pipeline.errors import BuildError, EndpointError, RequestError
from pipeline.inference.corpus import ATTEMPTS, ReplyJournal, TextRequest, ask_corpus, plain, replies_path
from pipeline.inference.endpoint import LARGEST, LONGEST_WAIT, MESSAGE, Endpoint, content_of, unfinished
from pipeline.streams import stream
from pipeline.worlds.writing.corpus import read_corpus

if str(Path(__file__).parents[2] / "helpers") not in sys.path:
    sys.path.append(str(Path(__file__).parents[2] / "helpers"))
import builds
from loopback.threads import LoopbackServer

KEY = "sk-test-0123456789abcdef"
MODEL = "tiny-writer"
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "zu")


# A server that does as it is told


@dataclass(frozen=True)
class Act:
    """What a server does with one request: `cut` is how many bytes of the body it sends before it hangs up."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    drip: float = 0.0


def prose(seed: object, words: int = 70) -> str:
    drawn = stream(f"{seed}").choices(SYLLABLES, k=3 * words)
    return " ".join("".join(drawn[at : at + 3]) for at in range(0, 3 * words, 3)).capitalize() + "."


def body_of(content: Any, reason: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
    return {"id": f"reply-{stream(repr(content)).getrandbits(32)}", "object": "chat.completion", "choices": [choice]}


def says(content: Any, reason: str = "stop", **message: Any) -> Act:
    return Act(json.dumps(body_of(content, reason, **message)).encode())


def fails(status: int, message: str = "no", **headers: str) -> Act:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act(json.dumps({"error": {"message": message}}).encode(), status, named)


Script = Callable[[int, str], Act]


def writes(number: int, prompt: str) -> Act:
    return says(prose(prompt))


class Server:
    """An endpoint on the loopback; `script` is given the number of a request, from 0, and its prompt."""

    def __init__(self, script: Script = writes, port: int = 0) -> None:
        self.script, self.asked = script, list[str]()
        self.headers = list[dict[str, str]]()
        self.sent = list[dict[str, Any]]()
        self._lock, self._stopping = threading.Lock(), threading.Lock()
        self._http = LoopbackServer(self._handler(), port)
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def stop(self) -> None:
        """Close the port. Of two threads that do so at a time neither returns before it is free."""
        with self._stopping:
            self._http.stop()

    def note(self, payload: dict[str, Any], headers: dict[str, str]) -> tuple[int, str]:
        with self._lock:
            self.asked.append(payload["messages"][0]["content"])
            self.headers.append(headers)
            self.sent.append(payload)
            return len(self.asked) - 1, self.asked[-1]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                act = server.script(*server.note(payload, dict(self.headers)))
                time.sleep(act.delay)
                with suppress(OSError):
                    self.act(act)

            def do_GET(self) -> None:
                server.asked.append("GET")
                self.act(Act(b"{}"))

            def act(self, act: Act) -> None:
                self.send_response(act.status)
                for name, value in act.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(act.body)))
                self.end_headers()
                if act.drip:
                    for byte in act.body:
                        self.wfile.write(bytes([byte]))
                        time.sleep(act.drip)
                    return
                self.wfile.write(act.body[: act.cut])
                if act.cut is not None:
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture(autouse=True)
def straight(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy stands before the loopback, and no key comes from outside."""
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "OPENAI_API_KEY",
        "CARRARA_API_KEY",
        "CARRARA_BASE_URL",
        "CARRARA_ENDPOINT",
        "OPENAI_BASE_URL",
        "CARRARA_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    running: list[Server] = []

    def start(script: Script = writes, port: int = 0) -> Server:
        running.append(Server(script, port))
        return running[-1]

    yield start
    for server in running:
        server.stop()


def answering(*acts: Act) -> Script:
    """Do one thing after another, and the last of them for ever."""
    return lambda number, prompt: acts[min(number, len(acts) - 1)]


def client(server: Server, **more: Any) -> tuple[Endpoint, list[float]]:
    """Return an endpoint that does not wait, and the list of what it would have waited."""
    waits: list[float] = []
    return Endpoint(server.url, MODEL, KEY, **{"timeout": 5.0, "pause": waits.append, **more}), waits


ASKED = [{"role": "user", "content": "Write."}]


# One request


def test_a_request_is_what_openai_documents(serve: Callable[..., Server]) -> None:
    server = serve()
    endpoint, waits = client(server, options={"max_tokens": 99})
    assert content_of(endpoint.ask(ASKED)) == prose("Write.")
    assert server.sent == [{"model": MODEL, "messages": ASKED, "max_tokens": 99}]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["User-Agent"].startswith("carrara/")
    assert not waits


def test_without_a_key_none_is_sent(serve: Callable[..., Server]) -> None:
    server = serve()
    Endpoint(server.url, MODEL).ask(ASKED)
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize("url", ["http://h/v1", "http://h/v1/", "http://h/v1/chat/completions"])
def test_any_form_of_an_address_leads_to_chat_completions(url: str) -> None:
    assert Endpoint(url, MODEL).address == "http://h/v1/chat/completions"


@pytest.mark.parametrize(
    "act",
    [
        fails(429),
        fails(500),
        fails(503),
        fails(529),
        Act(b"\x00\xff\xfe junk"),
        Act(b"[" * 100_000),
        Act(b""),
        Act(b'{"error": {"message": "the provider is overloaded"}}'),
        Act(b'{"id": "x", "choices": []}'),
        Act(b'{"choices": [{"text": "of the old kind"}]}'),
        Act(json.dumps(body_of(prose(1))).encode(), cut=100),
        Act(json.dumps(body_of(prose(1))).encode(), cut=0),
    ],
    ids=lambda act: f"{act.status} {act.body[:12]!r} {act.cut}",
)
def test_what_another_try_may_mend_is_tried_again(serve: Callable[..., Server], act: Act) -> None:
    server = serve(answering(act, act, says("done")))
    endpoint, waits = client(server)
    assert content_of(endpoint.ask(ASKED)) == "done"
    assert waits == [1.0, 2.0]
    server = serve(answering(act))
    endpoint, waits = client(server, tries=3)
    with pytest.raises(EndpointError, match=r"\(3 tries\): run it again later") as caught:
        endpoint.ask(ASKED)
    assert len(server.asked) == 3
    assert waits == [1.0, 2.0]
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After": "0"}, 1.0),
        ({"Retry-After": "-3"}, 1.0),
        ({"Retry-After": "3600"}, LONGEST_WAIT),
        ({"Retry-After": "nan"}, 1.0),
        ({"Retry-After": "1e400"}, LONGEST_WAIT),
        ({"Retry-After": "9" * 4300}, LONGEST_WAIT),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_WAIT),
        ({"Retry-After": "Fri, 31 Dec 99999 23:59:59 GMT"}, 1.0),
        ({"Retry-After": "soon"}, 1.0),
        ({}, 1.0),
    ],
)
def test_the_wait_is_what_the_server_says(serve: Callable[..., Server], headers: dict[str, str], wait: float) -> None:
    endpoint, waits = client(serve(answering(Act(b"{}", 429, headers), says("done"))), timeout=60.0)
    endpoint.ask(ASKED)
    assert waits == [wait]


WITHOUT_WAITING = {"Retry-After": "3600"}, {"Retry-After": "1e400"}, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}


@pytest.mark.parametrize("headers", WITHOUT_WAITING)
def test_a_server_is_not_waited_for_beyond_the_timeout(serve: Callable[..., Server], headers: dict[str, str]) -> None:
    endpoint, waits = client(serve(answering(Act(b"{}", 429, headers))), timeout=30.0)
    with pytest.raises(RequestError, match=r"HTTP 429.*it asks for a wait that is longer than the timeout, 30 s"):
        endpoint.ask(ASKED)
    assert waits == []


def test_all_waits_that_a_server_asks_for_are_within_the_timeout_and_told(serve: Callable[..., Server]) -> None:
    told: list[str] = []
    script = answering(Act(b"{}", 429, {"Retry-After": "20"}))
    endpoint, waits = client(serve(script), timeout=50.0, tries=9, on_wait=told.append)
    with pytest.raises(RequestError, match="longer than the timeout"):
        endpoint.ask(ASKED)
    assert waits == [20.0, 20.0]
    assert told == [f"{endpoint.address}: HTTP 429: Too Many Requests: trying again in 20 s"] * 2


ECHOES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "base64": lambda key: b64encode(key.encode()).decode(),
    "base64 of the header": lambda key: b64encode(f"Bearer {key}".encode()).decode(),
    "base64 of more": lambda key: b64encode(f"x: {key};".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "capitals": str.upper,
    "spaced": " ".join,
    "dashes": "-".join,
    "lines": lambda key: "\n".join(key[at : at + 5] for at in range(0, len(key), 5)),
    "first half": lambda key: key[: len(key) // 2],
    "second half": lambda key: key[len(key) // 2 :],
    "backwards": lambda key: key[::-1],
    "percent": lambda key: "".join(f"%{ord(each):02x}" for each in key),
}
"""Forms in which a server may say a key."""


@pytest.mark.parametrize("form", ECHOES)
@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500])
def test_a_key_is_hidden_in_every_form(serve: Callable[..., Server], form: str, status: int) -> None:
    said = ECHOES[form](KEY)
    for act in (fails(status, f"the key {said} is bad"), Act(f"<p>{said}</p>".encode(), status)):
        endpoint, _ = client(serve(answering(act)), tries=1)
        with pytest.raises(EndpointError) as caught:
            endpoint.ask(ASKED)
        plain = re.sub("[^A-Za-z0-9]", "", str(caught.value)).lower()
        kept = re.sub("[^A-Za-z0-9]", "", said).lower()
        assert not any(kept[at : at + 8] in plain for at in range(len(kept) - 7)), str(caught.value)


@pytest.mark.parametrize("form", [each for each in ECHOES if "half" not in each])
def test_a_key_is_hidden_in_replies_too(serve: Callable[..., Server], form: str) -> None:
    said = ECHOES[form](KEY)
    endpoint, _ = client(serve(answering(says(f"it is {said}!"))))
    assert content_of(endpoint.ask(ASKED)) == "it is ***!"


def test_replies_stay_as_they_are(serve: Callable[..., Server]) -> None:
    text = prose("long", 2000)
    endpoint, _ = client(serve(answering(says(text))))
    assert content_of(endpoint.ask(ASKED)) == text


def test_a_date_to_wait_for_is_held_against_the_servers_clock(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: "Wed, 21 Oct 2015 07:28:00 GMT")
    act = Act(b"{}", 503, {"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"})
    endpoint, waits = client(serve(answering(act, says("done"))), timeout=60.0)
    endpoint.ask(ASKED)
    assert waits == [30.0]


def test_waits_double_up_to_a_minute(serve: Callable[..., Server]) -> None:
    endpoint, waits = client(serve(answering(Act(b"{}", 500))), tries=9)
    with pytest.raises(EndpointError):
        endpoint.ask(ASKED)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (
            fails(401, f"Incorrect API key {KEY}"),
            "HTTP 401: the server rejected the API key: set CARRARA_API_KEY or OPENAI_API_KEY",
        ),
        (fails(403, "not your model"), "HTTP 403: the key may not use this model (not your model)"),
        (
            fails(404, "no model `x`"),
            "give the address without /chat/completions, and a model that is served there (no model `x`)",
        ),
        (fails(400, f"bad\nrequest of {KEY}"), "HTTP 400: bad request of ***"),
        (fails(400, "x" * 190 + KEY), "HTTP 400: xxx"),
        (Act(b"<html>\n<h1>nginx</h1>", 400), "HTTP 400: Bad Request"),
        (Act(b'{"error": "as ollama says it"}', 400), "HTTP 400: as ollama says it"),
    ],
)
def test_what_no_try_will_mend_is_told_at_once(serve: Callable[..., Server], act: Act, said: str) -> None:
    server = serve(answering(act))
    endpoint, waits = client(server)
    with pytest.raises(EndpointError) as caught:
        endpoint.ask(ASKED)
    assert said in str(caught.value)
    assert server.url in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY[:8] not in str(caught.value)
    assert (len(server.asked), waits) == (1, [])


def test_a_redirect_is_not_followed_for_the_key_would_go_along(serve: Callable[..., Server]) -> None:
    other = serve()
    for status in (301, 302, 303, 307, 308):
        endpoint, waits = client(serve(answering(Act(b"", status, {"Location": other.url + "/elsewhere"}))))
        with pytest.raises(EndpointError, match=rf"HTTP {status}: the server redirects to '{other.url}/elsewhere'"):
            endpoint.ask(ASKED)
        assert not waits
    assert other.asked == []


def test_silence_ends_with_the_timeout(serve: Callable[..., Server]) -> None:
    endpoint, waits = client(serve(answering(Act(delay=3.0))), timeout=0.1, tries=2)
    start = time.monotonic()
    with pytest.raises(EndpointError, match=r"no answer \(timed out\) \(2 tries\)"):
        endpoint.ask(ASKED)
    assert time.monotonic() - start < 2
    assert waits == [1.0]


def test_a_drip_ends_with_the_timeout_too(serve: Callable[..., Server]) -> None:
    act = Act(json.dumps(body_of(prose(1))).encode(), drip=0.02)
    endpoint, _ = client(serve(answering(act)), timeout=0.2, tries=1)
    start = time.monotonic()
    with pytest.raises(EndpointError, match="timed out"):
        endpoint.ask(ASKED)
    assert time.monotonic() - start < 2


class Raw:
    """A server that sends what it is given, byte by byte if it is told to, to everyone who asks."""

    def __init__(self, *parts: bytes, drip: float = 0.0) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._parts, self._drip = parts, drip
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        with line, suppress(OSError):
            line.recv(1 << 16)
            for part in self._parts[:-1]:
                line.sendall(part)
            while self._drip:
                line.sendall(self._parts[-1])
                time.sleep(self._drip)
            line.sendall(self._parts[-1])

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()


OK = b"HTTP/1.1 200 OK\r\n"
WITHOUT_END = {
    "status": (b"H",),
    "headers": (OK, b"X-"),
    "more headers": (OK, b"X-A: 1\r\n"),
    "100 Continue": (b"HTTP/1.1 100 Continue\r\n\r\n",),
    "body": (OK + b"Content-Length: 9999\r\n\r\n", b" "),
    "body of no length": (OK + b"\r\n", b" "),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\nffff\r\n", b" "),
    "error": (b"HTTP/1.1 401 No\r\nContent-Length: 9999\r\n\r\n", b" "),
    "TLS": (b"\x16\x03\x03\x40\x00", b"\x02"),
}


@pytest.mark.parametrize("kind", WITHOUT_END)
def test_the_timeout_bounds_whatever_a_server_drips(kind: str) -> None:
    with Raw(*WITHOUT_END[kind], drip=0.01) as server:
        url = server.url.replace("http:", "https:") if kind == "TLS" else server.url
        endpoint = Endpoint(url, MODEL, KEY, timeout=0.2, tries=1)
        start = time.monotonic()
        with pytest.raises(EndpointError) as caught:
            endpoint.ask(ASKED)
        assert time.monotonic() - start < 3
        said = str(caught.value)
        assert "\n" not in said
        assert ("HTTP 401" if kind == "error" else "timed out") in said or kind == "headers", said


@pytest.mark.parametrize(
    "reply",
    [
        b"", b"\x00" * 99, b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 99999 No\r\n\r\n", b"x" * (1 << 17),
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 999, OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
        OK + b"Content-Length: -1\r\n\r\n{}", OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"\r\n" + b"[" * 99999, OK + b'\r\n{"choices": [{"message": {"content": ' + b"9" * 5000 + b"}}]}",
        OK + b"\r\n\xff\xfe\x1b]0;x\x07", OK + "Content-Type: text/\u00e9; charset=\r\n\r\n".encode(),
    ],
    ids=repr,
)  # fmt: skip
def test_a_reply_that_is_not_one_is_one_line(reply: bytes) -> None:
    with Raw(reply) as server:
        endpoint = Endpoint(server.url, MODEL, KEY, timeout=5, tries=2, pause=lambda seconds: None)
        with pytest.raises(EndpointError) as caught:
            endpoint.ask(ASKED)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 4 * MESSAGE


def test_a_reply_without_end_is_not_read_to_it(serve: Callable[..., Server]) -> None:
    server = serve(answering(Act(b" " * (LARGEST + 1))))
    endpoint, waits = client(server)
    with pytest.raises(EndpointError, match="a reply of more than 8,388,608 bytes"):
        endpoint.ask(ASKED)
    assert (len(server.asked), waits) == (1, [])


def test_no_server_at_all() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        waits: list[float] = []
        endpoint = Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", MODEL, tries=2, pause=waits.append)
        with pytest.raises(EndpointError, match=r"no answer \(.*refused.*\) \(2 tries\)"):
            endpoint.ask(ASKED)
    assert waits == [1.0]


def test_https_where_there_is_none_is_told_at_once(serve: Callable[..., Server]) -> None:
    waits: list[float] = []
    url = serve().url.replace("http:", "https:")
    with pytest.raises(EndpointError, match=r"no answer \(.*SSL.*\)$"):
        Endpoint(url, MODEL, KEY, timeout=5, pause=waits.append).ask(ASKED)
    assert not waits


def test_a_certificate_that_does_not_hold_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise urllib.error.URLError(ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed"))

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refuse)
    waits: list[float] = []
    with pytest.raises(EndpointError, match="certificate verify failed: self-signed"):
        Endpoint("https://127.0.0.1/v1", MODEL, KEY, pause=waits.append).ask(ASKED)
    assert not waits


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost:8000/v1", "file:///etc/passwd", "ftp://h/v1", "http://", "http://h:port/v1", "http://h h/v1"),
        *("http://h:99999/v1", "http://h\u00e9/v1", "http://h/v1\n", "http://[h/v1"),
    ],
)
def test_what_is_no_address_is_told_before_anything_is_sent(url: str) -> None:
    with pytest.raises(EndpointError, match=r"--base-url '.*' is not an address: give http\(s\)://host/v1"):
        Endpoint(url, MODEL)


@pytest.mark.parametrize("url", ["http://me:secret@h/v1", "http://h/v1?key=secret", "http://h/v1#secret"])
def test_an_address_that_holds_secrets_is_refused_unseen(url: str) -> None:
    with pytest.raises(EndpointError, match="contains a user or a query") as caught:
        Endpoint(url, MODEL)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", [KEY + "\n", "sk-\u201cquoted\u201d", "a\rb"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(key: str) -> None:
    with pytest.raises(EndpointError, match="the key has characters") as caught:
        Endpoint("http://h/v1", MODEL, key)
    assert key.strip() not in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_a_key_is_in_no_representation() -> None:
    assert KEY not in repr(Endpoint("http://h/v1", MODEL, KEY))


# What a reply says


@pytest.mark.parametrize(
    ("body", "content", "fault"),
    [
        (body_of("text"), "text", ""),
        (body_of([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}, "x"]), "in parts", ""),
        (body_of(None), "", "it has no text"),
        (body_of(7), "", "it has no text"),
        (body_of([]), "", "it has no text"),
        (body_of("half a", "length"), "half a", r"it was cut off \(length\)"),
        (body_of("half a", "MAX_TOKENS"), "half a", r"it was cut off \(max_tokens\)"),
        (body_of("", "content_filter"), "", r"it was cut off \(content_filter\)"),
        (body_of(None, refusal="I can't."), "", "it is a refusal"),
        ({"choices": [{"message": {"content": "bare"}}]}, "bare", ""),
        ({"choices": [{"message": {}, "finish_reason": None}]}, "", "it has no text"),
        ({"choices": [{"message": {"content": "odd"}, "finish_reason": ["length"]}]}, "odd", ""),
    ],
)
def test_the_text_of_a_reply(body: dict[str, Any], content: str, fault: str) -> None:
    assert content_of(body) == content
    assert re.fullmatch(fault, unfinished(body))


@pytest.mark.parametrize(
    "content",
    [
        "One.\nTwo.",
        "\n One.\r\nTwo.  ",
        "```\nOne.\nTwo.\n```",
        "```text\nOne.\nTwo.\n```\n",
        "Sure! Here is a poem:\n\nOne.\nTwo.",
        "Here's your letter about tea:\n\n```\nOne.\nTwo.\n```",
        "<think>\nHm, a poem:\n\n</think>\n\nOne.\nTwo.",
    ],
)
def test_what_models_put_around_a_text_is_taken_off(content: str) -> None:
    assert plain(content) == "One.\nTwo."


def test_a_text_that_only_starts_like_a_remark_stays() -> None:
    for text in ("Here is where we met:\nby the gate.", "Sure enough, it rained.", "Here are: one, two.", "a ``` b"):
        assert plain(text) == text
    assert plain("e\u0301") == "\u00e9"


# A whole corpus


def wishes(count: int) -> list[TextRequest]:
    return [
        TextRequest(form, topic, "", number, f"Write a {form} about {topic}.")
        for number in range(-(-count // 4))
        for form in ("poem", "letter")
        for topic in ("tea", "chess")
    ][:count]


def asked(server: Server, corpus: Path, count: int = 12, **more: Any) -> int:
    """Ask for a corpus without waiting between tries."""
    workers, told = more.pop("workers", 4), more.pop("told", lambda: None)
    return ask_corpus(client(server, **more)[0], wishes(count), corpus, workers=workers, on_done=told)


def replies(corpus: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in replies_path(corpus).read_text(encoding="ascii").splitlines()]


def place(record: dict[str, Any]) -> tuple[str, str, int]:
    return record["format"], record["topic"], record["number"]


def command(server: Server | str, corpus: Path, *more: object) -> list[str]:
    url = server if isinstance(server, str) else server.url
    what = ["--format", "poem", "--format", "letter", "--topic", "tea", "--topic", "chess", "--texts", 3]
    how = ["--base-url", url, "--model", MODEL, "--max-retries", 0]
    return [str(word) for word in ["corpus", "write", corpus, *what, *how, *more]]


def carrara(*args: object, key: str = KEY) -> Result:
    done = CliRunner().invoke(cli, [str(arg) for arg in args], env={"CARRARA_API_KEY": key})
    assert KEY not in done.output
    return done


def failed(done: Result) -> str:
    """Return the one line of a command that failed as it should."""
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert done.stderr.startswith("carrara: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_good_run_gives_a_corpus_with_provenance(serve: Callable[..., Server], tmp_path: Path) -> None:
    most, now, lock = [0], [0], threading.Lock()

    def busy(number: int, prompt: str) -> Act:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.03)
        with lock:
            now[0] -= 1
        return writes(number, prompt)

    server, corpus, told = serve(busy), tmp_path / "new" / "c.jsonl", list[int]()
    assert asked(server, corpus, 40, told=lambda: told.append(1)) == 40
    assert len(told) == len(server.asked) == 40
    assert 2 <= most[0] <= 4
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    assert [(row["format"], row["topic"]) for row in rows] == [(wish.format, wish.topic) for wish in wishes(40)]
    assert [writing.text for writing in read_corpus(corpus)] == [row["text"] for row in rows]
    given = {reply["body"]["id"]: reply for reply in replies(corpus)}
    assert len(given) == 40
    for row in rows:
        assert (row["model"], row["endpoint"]) == (MODEL, server.url + "/chat/completions")
        assert given[row["reply"]]["text"] == row["text"]
        assert given[row["reply"]]["prompt"] in server.asked
    assert KEY not in corpus.read_text(encoding="utf-8") + replies_path(corpus).read_text(encoding="utf-8")
    assert sorted(path.name for path in corpus.parent.iterdir()) == ["c.jsonl", "c.jsonl.replies"]


def test_the_command_tells_what_it_did_and_asks_nothing_twice(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    done = carrara(*command(server, corpus), key=f" {KEY}\n")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{corpus}: 12 texts, 12 of them new; all replies are in {corpus}.replies\n"
    first = corpus.read_bytes()
    corpus.unlink()
    assert "12 texts, 0 of them new" in carrara(*command(server, corpus)).stdout
    assert corpus.read_bytes() == first
    assert "16 texts, 4 of them new" in carrara(*command(server, corpus, "--texts", 4)).stdout
    assert len(server.asked) == len(set(server.asked)) == 16
    assert "max_tokens" not in server.sent[0]
    assert carrara(*command(server, corpus, "--texts", 5, "--max-tokens", 500)).exit_code == 0
    assert server.sent[-1]["max_tokens"] == 500


def test_names_given_twice_are_asked_once(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    assert "12 texts, 12 of them new" in carrara(*command(server, corpus, "--topic", "tea")).stdout
    assert len(read_corpus(corpus)) == 12


def test_another_model_writes_another_corpus(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    carrara(*command(server, corpus))
    server.script = lambda number, prompt: says(prose(prompt + "again"))
    assert "12 texts, 12 of them new" in carrara(*command(server, corpus, "--model", "other")).stdout
    assert {json.loads(line)["model"] for line in corpus.read_text(encoding="utf-8").splitlines()} == {"other"}
    assert len(replies(corpus)) == 24
    assert "12 texts, 0 of them new" in carrara(*command(server, corpus)).stdout


def test_every_reply_is_kept_as_it_came(serve: Callable[..., Server], tmp_path: Path) -> None:
    odd = [
        says(None, refusal="I can't."), says("Too short."), says(prose(1), "length"), says([{"text": prose(2)}]),
        says(prose(3) + "\nUser: and now?"), says(prose(4) + "\ud800"), says(prose(5, 400)), says(""),
    ]  # fmt: skip
    left = list(odd)

    def script(number: int, prompt: str) -> Act:
        first = int(re.findall(r"number (\d+) of", prompt)[0]) < 1000
        return left.pop(0) if first and left else writes(number, prompt)

    server, corpus = serve(script), tmp_path / "c.jsonl"
    assert asked(server, corpus, 12, workers=1) == 12
    kept = replies(corpus)
    assert [reply["body"] for reply in kept if reply["attempt"] == 1][: len(odd)] == [json.loads(a.body) for a in odd]
    assert len(kept) == len(server.asked) == 12 + len(odd) - 1
    faults = Counter(reply["fault"].split("(")[0].split(",")[0] for reply in kept if reply["fault"])
    assert faults == {
        "it is a refusal": 1,
        "it has 10 characters": 1,
        "it was cut off ": 1,
        "a line of its text looks like the start of a turn in a transcript": 1,
        r"its text has '\ud800'": 1,
        "its text has 2800 bytes: give at most 2000": 1,
        "it has no text": 1,
    }
    assert len(read_corpus(corpus)) == 12


def test_what_cannot_be_used_is_asked_anew_and_then_named(serve: Callable[..., Server], tmp_path: Path) -> None:
    bad: dict[str, Callable[[str], str]] = {
        "poem about tea": lambda prompt: "I cannot.",
        "letter about tea": lambda prompt: prose("always the same"),
        "letter about chess": lambda prompt: prose(prompt, 900),
    }

    def script(number: int, prompt: str) -> Act:
        return says(next((say(prompt) for name, say in bad.items() if name in prompt), prose(prompt)))

    server, corpus = serve(script), tmp_path / "c.jsonl"
    said = failed(carrara(*command(server, corpus, "--texts", 2)))
    assert "5 of 8 texts could not be used: " in said
    assert "Write a poem about tea. (1): it has 9 characters, fewer than 200; " in said
    assert "Write a letter about tea. (2): it repeats an earlier text" in said
    assert "Write a letter about chess. (1): its text has 6300 bytes: give at most 2000" in said
    times = Counter(place(reply) for reply in replies(corpus))
    assert times[("poem", "tea", 0)] == times[("letter", "chess", 1)] == ATTEMPTS
    assert sorted(times[("letter", "tea", number)] for number in (0, 1)) == [1, ATTEMPTS]
    assert len(set(server.asked)) == len(server.asked), "every attempt has words of its own"
    assert len(read_corpus(corpus)) == 3
    server.script = writes
    done = carrara(*command(server, corpus, "--texts", 2))
    assert "8 texts, 5 of them new" in done.stdout
    assert len(set(server.asked)) == len(server.asked), "by another run too"
    assert len(read_corpus(corpus)) == 8


def test_many_that_cannot_be_used_are_counted(serve: Callable[..., Server], tmp_path: Path) -> None:
    said = failed(carrara(*command(serve(answering(says("No."))), tmp_path / "c.jsonl")))
    assert "12 of 12 texts could not be used" in said
    assert "(and 4 more)" in said


def test_nearly_the_same_text_is_not_used_twice(serve: Callable[..., Server], tmp_path: Path) -> None:
    same = prose("always")
    server = serve(lambda number, prompt: says(f"{same} {number}."))
    with pytest.raises(EndpointError, match=r"8 of 12 .* it is nearly the same as an earlier text"):
        asked(server, tmp_path / "c.jsonl", workers=1)
    assert len(read_corpus(tmp_path / "c.jsonl")) == 4, "one of each format and topic"


@pytest.mark.parametrize(
    ("status", "said"), [(401, "the server rejected the API key"), (404, "no such address or model")]
)
def test_a_fatal_answer_stops_the_command_at_once(
    serve: Callable[..., Server], tmp_path: Path, status: int, said: str
) -> None:
    server = serve(answering(fails(status, f"wrong {KEY}")))
    line = failed(carrara(*command(server, tmp_path / "c.jsonl", "--max-retries", 5)))
    assert said in line
    assert "[0 texts are kept; run the same command again to continue]" in line
    assert len(server.asked) <= 4
    assert not (tmp_path / "c.jsonl").exists()


def test_a_fatal_answer_keeps_what_is_still_to_come(serve: Callable[..., Server], tmp_path: Path) -> None:
    good = says(prose(1))
    slow = Act(good.body, delay=0.3)
    server = serve(lambda number, prompt: fails(401) if number == 1 else slow)
    with pytest.raises(EndpointError, match=r"HTTP 401.*\[1 texts are kept"):
        asked(server, tmp_path / "c.jsonl", workers=2)
    assert [reply["body"] for reply in replies(tmp_path / "c.jsonl")] == [json.loads(good.body)]


def test_after_a_fatal_answer_nobody_tries_again(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(lambda number, prompt: fails(401) if number == 1 else Act(b"{}", 503, delay=0.3))
    with pytest.raises(EndpointError, match="HTTP 401"):
        asked(server, tmp_path / "c.jsonl", workers=2, tries=50)
    assert len(server.asked) == 2


def test_a_server_that_dies_half_way_loses_nothing(serve: Callable[..., Server], tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"

    def dying(number: int, prompt: str) -> Act:
        if number >= 6:
            threading.Thread(target=dead.stop, daemon=True).start()
            return Act(b"{}", cut=0)
        return writes(number, prompt)

    dead = Server(dying)
    line = failed(carrara(*command(dead, corpus, "--max-concurrency", 2)))
    assert "the connection broke off" in line or "no answer" in line
    had = {place(reply) for reply in replies(corpus)}
    assert 5 <= len(had) <= 6
    assert f"[{len(had)} texts are kept; run the same command again to continue]" in line
    assert not corpus.exists()
    dead.stop()
    alive = serve(port=dead.port)
    done = carrara(*command(dead.url, corpus, "--max-concurrency", 2))
    assert f"12 texts, {12 - len(had)} of them new" in done.stdout, done.output
    assert len(alive.asked) == 12 - len(had)
    assert Counter(map(place, replies(corpus))).most_common(1)[0][1] == 1
    assert len(read_corpus(corpus)) == 12


def test_a_key_that_a_server_repeats_is_hidden(serve: Callable[..., Server], tmp_path: Path) -> None:
    def telling(number: int, prompt: str) -> Act:
        body = body_of(f"{prose(prompt)} {KEY}") | {"debug": {"authorization": f"Bearer {KEY}"}}
        return Act(json.dumps(body).encode())

    corpus = tmp_path / "c.jsonl"
    assert carrara(*command(serve(telling), corpus)).exit_code == 0
    assert KEY not in corpus.read_text(encoding="utf-8") + replies_path(corpus).read_text(encoding="utf-8")
    assert "Bearer ***" in replies_path(corpus).read_text(encoding="utf-8")
    failed(carrara(*command(serve(answering(Act(f"<p>{KEY}</p>".encode()))), tmp_path / "d.jsonl")))
    failed(carrara(*command(serve(answering(Act(b"", 302, {"Location": f"/{KEY}"}))), tmp_path / "d.jsonl")))


def test_a_word_in_place_of_a_key_is_no_secret(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(lambda number, prompt: says("EMPTY " + prose(prompt)))
    assert carrara(*command(server, tmp_path / "c.jsonl"), key="EMPTY").exit_code == 0
    assert all(writing.text.startswith("EMPTY ") for writing in read_corpus(tmp_path / "c.jsonl"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--base-url", "localhost"], "--base-url 'localhost' is not an address"),
        (["--model", ""], "--base-url without a model: give --model or set CARRARA_MODEL"),
        (["--topic", "tea."], "its topic is 'tea.': give a plain phrase"),
        (["--format", "talk about"], "its format is 'talk about'"),
        (["--tone", "very dry"], "its tone is 'very dry': give one word"),
        (["--max-concurrency", 0], "0 is not in the range"),
        (["--timeout", "inf"], "inf is not in the range"),
    ],
)
def test_what_cannot_be_meant_costs_nothing(
    serve: Callable[..., Server], tmp_path: Path, more: list[object], said: str
) -> None:
    server = serve()
    line = failed(carrara(*command(server, tmp_path / "c.jsonl", *more)))
    assert said in line or "cannot be told apart" in line
    assert server.asked == []


def test_a_corpus_needs_a_name(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve()
    assert "replies are kept beside a file" in failed(carrara(*command(server, Path("-"))))
    assert "give a file name ending in .jsonl" in failed(carrara(*command(server, tmp_path / "c.parquet")))
    assert server.asked == []


# The file of replies


def test_half_a_last_line_is_dropped(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    asked(server, corpus)
    whole = replies_path(corpus).read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (1, 7, len(lines[-1]) // 2, len(lines[-1]) - 2):
        replies_path(corpus).write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
        before = len(server.asked)
        assert asked(server, corpus) == 1
        assert len(server.asked) == before + 1
        assert sorted(replies_path(corpus).read_bytes().splitlines()) == sorted(whole.splitlines())


def test_a_last_line_that_only_lacks_its_end_is_kept(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    asked(server, corpus)
    whole = replies_path(corpus).read_bytes()
    replies_path(corpus).write_bytes(whole[:-1])
    assert asked(server, corpus) == 0
    assert replies_path(corpus).read_bytes() == whole


@pytest.mark.parametrize("line", ["{", "7", "{}", '{"format": 1}', "\x00\x00", "[" * 100_000])
def test_a_broken_line_is_named(serve: Callable[..., Server], tmp_path: Path, line: str) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    asked(server, corpus)
    first, rest = replies_path(corpus).read_text(encoding="ascii").split("\n", 1)
    broken = f"{first}\n{line}\n{rest}"
    replies_path(corpus).write_text(broken, encoding="ascii")
    said = failed(carrara(*command(server, corpus)))
    assert f"'{corpus}.replies', line 2 is not a stored reply" in said
    assert replies_path(corpus).read_text(encoding="ascii") == broken


def test_a_reply_is_judged_anew_by_the_rules_of_today(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    asked(server, corpus)
    first, *rest = replies(corpus)
    old = [first | {"text": "Model: " + first["text"]}, *rest]
    replies_path(corpus).write_text("".join(json.dumps(reply) + "\n" for reply in old), encoding="ascii")
    assert asked(server, corpus) == 1
    assert len(read_corpus(corpus)) == 12


def test_two_runs_do_not_share_a_file(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    with ReplyJournal(replies_path(corpus), MODEL):
        assert "is being written by another run" in failed(carrara(*command(server, corpus)))
    assert server.asked == []
    assert asked(server, corpus) == 12


def test_a_folder_that_cannot_be_written(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve()
    (tmp_path / "file").write_text("", encoding="ascii")
    assert "cannot be written" in failed(carrara(*command(server, tmp_path / "file" / "c.jsonl")))
    replies_path(tmp_path / "c.jsonl").mkdir()
    assert "cannot be written: Is a directory" in failed(carrara(*command(server, tmp_path / "c.jsonl")))
    assert server.asked == []


def test_a_full_disk_loses_nothing_that_was_written(
    serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"
    (tmp_path / "full").symlink_to("/dev/full")
    with ReplyJournal(replies_path(corpus), MODEL) as kept:
        whole = kept._file
        kept._file = (tmp_path / "full").open("ab", buffering=0)
        with pytest.raises(
            BuildError, match=r"cannot be written: No space left on device; run the same command again to continue"
        ):
            kept.keep(client(server)[0], wishes(1)[0], 1, body_of(prose(1)))
        whole.close()


def killed(signals: signal.Signals, server: Server, corpus: Path) -> tuple[int, str]:
    """Run the command in a process of its own and signal it once it has a few replies."""
    with builds.Running(*command(server, corpus), small=False, env={"CARRARA_API_KEY": KEY}) as run:
        run.when(lambda: replies_path(corpus).exists() and replies_path(corpus).read_bytes().count(b"\n") >= 4)
        run.process.send_signal(signals)
        return run.ended(5)


def held(number: int, prompt: str) -> Act:
    """Write eight texts, and keep those who ask for more waiting."""
    return Act(writes(number, prompt).body, delay=0.02 if number < 8 else 30)


def settled(server: Server) -> int:
    """Return how many requests came once no more of those come that a killed client had sent."""
    before = -1
    while before != len(server.asked):
        before = len(server.asked)
        time.sleep(0.2)
    return before


def test_a_killed_run_goes_on(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(held), tmp_path / "c.jsonl"
    assert killed(signal.SIGKILL, server, corpus)[0] == -signal.SIGKILL
    assert not corpus.exists()
    had = replies_path(corpus).read_bytes().count(b"\n")
    server.script, before = writes, settled(server)
    ended = carrara(*command(server, corpus))
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert f"12 texts, {12 - had} of them new" in ended.stdout
    assert len(server.asked) - before == 12 - had
    assert len(read_corpus(corpus)) == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "c.jsonl.replies"]


def test_ctrl_c_leaves_at_once(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(held), tmp_path / "c.jsonl"
    code, said = killed(signal.SIGINT, server, corpus)
    assert code == 130
    assert said.lstrip() == "carrara: interrupted: run the same command again to continue\n"
    server.script = writes
    had = len(replies(corpus))
    assert f"12 texts, {12 - had} of them new" in carrara(*command(server, corpus)).stdout


def test_a_limit_on_file_sizes_is_one_line(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, corpus = serve(), tmp_path / "c.jsonl"

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (7_000, 7_000))

    run = builds.command(*command(server, corpus), small=False, env={"CARRARA_API_KEY": KEY})
    ended = subprocess.run(**run, preexec_fn=limited, timeout=60, check=False)
    assert ended.returncode == 1
    assert re.fullmatch(
        r"carrara: '.*\.replies' cannot be written: .*; run the same command again to continue\n", ended.stderr
    )
    had, before = replies_path(corpus).read_bytes().count(b"\n"), settled(server)
    assert 0 < had < 12
    assert f"12 texts, {12 - had} of them new" in carrara(*command(server, corpus)).stdout
    assert len(server.asked) - before == 12 - had
