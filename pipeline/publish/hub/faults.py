"""Errors of the Hub's client as readable messages in one line, which never contain the token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipeline.errors import HubError

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses for which a retry may succeed."""
LOG_IN = "set HF_TOKEN or run `hf auth login`"
AGAIN = "run the same command again to continue"
FULL = ("storage", "quota", "payment", "billing")
"""Words of the Hub's errors when storage is used up."""
UNREACHED = frozenset({"ConnectError", "UnsupportedProtocol", "InvalidURL"})
STATES = {
    400: "the Hub rejected the request",
    403: "the token does not allow that: use one with write access",
    409: "it already exists",
    412: "it has changed in the meantime: check what changed",
}
CLIENT = frozenset({"huggingface_hub", "httpx", "httpx2", "httpcore", "httpcore2", "h11", "hf_xet"})
IN_WORDS = re.compile(r"HTTP status (?:client|server) error \((\d{3}) ")
"""How hf_xet, which is written in Rust, reports an HTTP status."""
LONGEST_SAID = 200


class ErrorTranslator:
    """Turns exceptions of the client into errors.

    Attributes:
        endpoint: the address of the Hub.
        token: the token, which messages must not contain.
    """

    def __init__(self, endpoint: str, token: str | None) -> None:
        self.endpoint = endpoint
        self.token = token

    def error(self, fault: BaseException, repo: str) -> HubError | None:
        """Return the error for an exception of the client; None if the exception is a bug in the program."""
        for each in chain(fault):
            message = self._card(each) or self._reply(each) or self._silence(each) or self._local(each)
            if message:
                return HubError(self.hidden(f"{repo}: {message}"), status=status(each))
        return None

    def hidden(self, text: str) -> str:
        """Return a text in one line, without the token."""
        line = " ".join(text.split())
        return line.replace(self.token, "***") if self.token else line

    def tells(self, fault: BaseException) -> bool:
        """Return whether a traceback of the exception would show the token."""
        return bool(self.token) and any(str(self.token) in f"{each} {each!r}" for each in chain(fault))

    def _reply(self, fault: BaseException) -> str:
        number, detail = status(fault), self._short(server_message(fault))
        if number in (402, 413, 507) or (number == 403 and any(word in detail.lower() for word in FULL)):
            return f"no storage left on the Hub ({detail}): free some or upgrade the plan, then {AGAIN}"
        if number == 401:
            return self._unknown()
        if number == 404:
            return _missing(fault, detail)
        if number == 429:
            return f"too many requests (HTTP 429): wait {wait_asked(fault) or 60:.0f} s, then {AGAIN}"
        if number >= 500:
            return f"the Hub is failing (HTTP {number}): wait a while, then {AGAIN}"
        return f"{STATES.get(number, f'the Hub rejected the request, HTTP {number}')} ({detail})" if number else ""

    def _unknown(self) -> str:
        if self.token:
            return f"the Hub does not accept the token (HTTP 401): create a new one, then {LOG_IN}"
        return f"the data set does not exist, or it is private and no token is set: check the name, or {LOG_IN}"

    def _silence(self, fault: BaseException) -> str:
        kinds = kinds_of(fault)
        if "OfflineModeIsEnabled" in kinds:
            return "HF_HUB_OFFLINE is set: unset it to reach the Hub"
        if "TimeoutException" in kinds:
            return f"no answer from {self.endpoint} in time: {AGAIN}"
        if kinds & UNREACHED:
            return f"cannot reach {self.endpoint} ({fault}): check the network and HF_ENDPOINT, then {AGAIN}"
        return f"the connection to {self.endpoint} broke off ({fault}): {AGAIN}" if "TransportError" in kinds else ""

    def _card(self, fault: BaseException) -> str:
        refused = isinstance(fault, ValueError) and str(fault).startswith("Invalid metadata in README.md")
        return f"the Hub rejected the card ({self._short(str(fault))}): fix the YAML of README.md" if refused else ""

    def _local(self, fault: BaseException) -> str:
        if isinstance(fault, OSError) and fault.strerror:
            where = f" {str(fault.filename)!r}" if fault.filename else ""
            return f"cannot read or write{where} ({fault.strerror}): fix that, then {AGAIN}"
        last = not (fault.__cause__ or fault.__context__)
        if last and (isinstance(fault, ValueError | RuntimeError | OSError) or is_clients(fault)):
            return f"the client failed ({self._short(f'{type(fault).__name__}: {fault}')}): {AGAIN}"
        return ""

    def _short(self, text: str) -> str:
        # The token is hidden first: cut in two, it would not be found.
        return self.hidden(text)[:LONGEST_SAID]


def _missing(fault: BaseException, detail: str) -> str:
    kinds = kinds_of(fault)
    if "RepositoryNotFoundError" in kinds:
        return (
            "the data set does not exist, or this token has no access to it: check the name, or log in with an "
            "account that has"
        )
    if "RevisionNotFoundError" in kinds:
        return "the revision does not exist: give one of its tags"
    return f"the Hub cannot find it ({detail}): check the name"


def is_clients(fault: BaseException) -> bool:
    """Return whether the client's own code raised an exception: when the network fails, its threads may fail oddly."""
    trace = fault.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).split(".")[0] in CLIENT


def kinds_of(fault: BaseException) -> set[str]:
    """Return the names of an exception's classes, which are the same for httpx and its renamed versions."""
    return {kind.__name__ for kind in type(fault).__mro__}


def chain(fault: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes, outermost first."""
    while fault is not None:
        yield fault
        fault = fault.__cause__ or fault.__context__


def status(fault: BaseException) -> int:
    """Return the HTTP status of an exception's reply; 0 if there was none."""
    response: Any = getattr(fault, "response", None)
    number = int(getattr(response, "status_code", 0) or 0)
    match = IN_WORDS.search(str(fault))
    return number or (int(match[1]) if match else 0)


def server_message(fault: BaseException) -> str:
    """Return the server's own message."""
    message = getattr(fault, "server_message", None) or next(iter(str(fault).strip().splitlines()), "")
    return str(message).strip() or "it gives no reason"


def wait_asked(fault: BaseException) -> float:
    """Return how many seconds the server asks to wait; 0 if it does not say.

    This reads ``Retry-After: 7``, or the Hub's ``RateLimit: "api";r=0;t=7`` (no requests left for 7 seconds).
    """
    headers: Any = getattr(getattr(fault, "response", None), "headers", {})
    after = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*", headers.get("Retry-After", ""))
    limit = re.search(r";\s*r=0\s*;\s*t=(\d+)", headers.get("RateLimit", ""))
    match = after or (limit if status(fault) == 429 else None)
    return float(match[1]) if match else 0.0


def is_passing(fault: BaseException) -> bool:
    """Return whether a retry may succeed."""
    for each in chain(fault):
        if status(each):
            return status(each) in PASSING
        if "TransportError" in kinds_of(each):
            return "UnsupportedProtocol" not in kinds_of(each)
    return False
