"""A proxy for an S3 server that can fail on demand, counts requests, and can return outdated listings."""

from __future__ import annotations

import http.client
import re
import time
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

from loopback.buckets import Buckets
from loopback.faults import Fault
from loopback.http import Reply, Request
from loopback.lagging import History, Listed, listing
from loopback.serving import Served

DROPPED = {"connection", "date", "expect", "keep-alive", "server", "transfer-encoding"}
"""Headers for one connection, or that every server sets itself."""
KINDS = (
    ("LIST", r"GET /[^/?]+/?(\?.*)?$"),
    ("UPLOAD", r"(POST|PUT|DELETE) .*\b(uploads|uploadId)\b"),
    ("PUT", "PUT "),
    ("GET", "GET "),
    ("HEAD", "HEAD "),
    ("DELETE", r"DELETE |POST .*\?delete"),
)
"""Kinds of requests with the pattern of their lines; the first match counts."""


class Proxy(Served):
    """The proxy; with `lag`, listings show a bucket as it was `lag` seconds ago."""

    def __init__(self, folder: Path, buckets: Buckets) -> None:
        self.lag = 0.0
        self.buckets = buckets
        self._history: dict[str, History] = {}
        super().__init__(folder)

    def answer(self, request: Request) -> Reply:
        """Forward a request, and note what it changed."""
        bucket, _, key = unquote(request.path).lstrip("/").partition("/")
        if self.lag and request.method == "GET" and not key and request.asks("list-type"):
            return listing(self._past(bucket).at(time.monotonic() - self.lag), bucket, request)
        if self.lag:
            self._past(bucket)
        reply = self._passed(request)
        if self.lag and request.method in ("PUT", "POST", "DELETE") and reply.status < 300:
            for each in [key] if key else re.findall(r"<Key>(.*?)</Key>", request.bytes().decode()):
                self._history[bucket].note(each, self._listed(bucket, each), time.monotonic())
        return reply

    def shown(self, bucket: str) -> list[str]:
        """Return the keys that a listing shows now."""
        return list(self._past(bucket).at(time.monotonic() - self.lag))

    def refusal(self, fault: Fault) -> Reply:
        """Refuse as S3 does."""
        code = "SlowDown" if fault.status == 503 else "InternalError" if fault.status >= 500 else "AccessDenied"
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{fault.message}</Message></Error>"
        return Reply(fault.status, text.encode(), {"Content-Type": "application/xml", **fault.headers})

    def counts(self) -> Counter[str]:
        """Return the number of requests of each kind."""
        return Counter(next((kind for kind, match in KINDS if re.match(match, one)), one) for one in self.lines())

    def _passed(self, request: Request) -> Reply:
        connection = http.client.HTTPConnection(self.buckets.host, self.buckets.port, timeout=30)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in DROPPED}
        body = request.bytes()
        headers |= {"Content-Length": str(len(body))} if body or request.method in ("PUT", "POST") else {}
        path = f"{request.path}?{request.query}" if request.query else request.path
        try:
            connection.request(request.method, path, body or None, headers)
            reply = connection.getresponse()
            passed = {name: value for name, value in reply.getheaders() if name.lower() not in DROPPED}
            return Reply(reply.status, reply.read(), passed)
        finally:
            connection.close()

    def _past(self, bucket: str) -> History:
        """Return the history of a bucket, which begins with its contents at the first call."""
        if bucket not in self._history:
            now = self.buckets.stamps(bucket)
            self._history[bucket] = History({key: made for key in now if (made := self._listed(bucket, key))})
        return self._history[bucket]

    def _listed(self, bucket: str, key: str) -> Listed | None:
        """Return an object as listed, or None if there is none."""
        try:
            there = self.buckets.client.head_object(Bucket=bucket, Key=key)
        except self.buckets.client.exceptions.ClientError:
            return None
        return Listed(there["ContentLength"], there["ETag"], there["LastModified"].strftime("%Y-%m-%dT%H:%M:%S.000Z"))
