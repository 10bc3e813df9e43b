"""A client of OpenAI-compatible endpoints: one request, its retries, and errors for a person."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import EndpointError

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""HTTP states that another try may mend."""
LONGEST_WAIT = 60.0
LARGEST = 64 * 1024 * 1024
SAID = {
    401: "it refuses the key: set CARRARA_API_KEY or OPENAI_API_KEY",
    403: "the key may not use this model",
    404: "no such address or model: give the part before /chat/completions, and a model that it has",
    413: "the request is too large for it",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and whom to ask. `timeout` is in seconds for each try; `tries` how often one request is sent."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 120.0
    tries: int = 6
    pause: Callable[[float], None] = time.sleep

    @property
    def address(self) -> str:
        """The address of chat completions."""
        return self.url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"

    def ask(self, messages: Sequence[Mapping[str, str]], **options: Any) -> dict[str, Any]:
        """Return the body of the reply to some messages; its first choice holds text.

        Raises:
            EndpointError: if it refuses, or no try brought a reply that can be read.
        """
        body = json.dumps({"model": self.model, "messages": list(messages), **options}).encode()
        for number in range(1, self.tries + 1):
            try:
                return self._sent(body)
            except _AgainError as fault:
                if number == self.tries:
                    raise EndpointError(f"{self.address}: {fault} ({number} tries): run it again later") from None
                self.pause(min(LONGEST_WAIT, fault.wait or 2.0 ** (number - 1)))
        raise EndpointError(f"tries = {self.tries}: give one at least")

    def _sent(self, body: bytes) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        try:
            request = urllib.request.Request(self.address, body, headers)
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return _understood(response.read(LARGEST))
        except urllib.error.HTTPError as fault:
            raise self._refused(fault) from None
        except (OSError, http.client.HTTPException) as fault:
            raise _AgainError(f"no answer ({getattr(fault, 'reason', None) or fault})") from None
        except ValueError as fault:
            raise EndpointError(f"--endpoint {self.url!r} is no address ({fault}): give http(s)://host/v1") from None

    def _refused(self, fault: urllib.error.HTTPError) -> Exception:
        said = f"HTTP {fault.code}: {SAID.get(fault.code) or _detail(fault)}"
        if fault.code in AGAIN:
            return _AgainError(said, _seconds(fault.headers.get("Retry-After")))
        return EndpointError(f"{self.address}: {said}")


class _AgainError(Exception):
    """A fault that another try may mend, after `wait` seconds if the server says how many."""

    def __init__(self, said: str, wait: float = 0.0) -> None:
        super().__init__(said)
        self.wait = wait


def content_of(body: Mapping[str, Any]) -> str:
    """Return the text of a reply's first choice."""
    return str(body["choices"][0]["message"]["content"])


def _understood(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
        if isinstance(body["choices"][0]["message"]["content"], str):
            return dict(body)
    except (ValueError, LookupError, TypeError):
        pass
    raise _AgainError(f"a reply without text: {raw[:80]!r}")


def _detail(fault: urllib.error.HTTPError) -> str:
    try:
        raw = fault.read(4096)
    except (OSError, http.client.HTTPException):
        return str(fault.reason)
    try:
        return " ".join(str(json.loads(raw)["error"]["message"]).split())[:200]
    except (ValueError, LookupError, TypeError):
        return str(fault.reason)


def _seconds(given: str | None) -> float:
    """Read a Retry-After header; a date, or nothing, is 0."""
    try:
        return max(0.0, float(given or 0))
    except ValueError:
        return 0.0
