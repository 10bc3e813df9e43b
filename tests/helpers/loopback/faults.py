"""Faults that servers simulate."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Fault:
    """A fault for matching requests, in this order: `then` is called, `delay` passes, the request fails.

    Attributes:
        match: a regular expression for ``"METHOD /path?query"``.
        status: the HTTP status of the reply; 0 for the normal reply.
        message: the error message.
        headers: headers of the reply.
        cut: hang up after so many bytes of the request's body, or of the reply's if the request has none.
        delay: seconds before the reply.
        pace: seconds before each block of a body is read.
        done: carry out the request first, so that only its reply is lost.
        skip: how many matching requests to let pass first.
        times: how many requests fail; -1 for all.
        then: called with the request's path.
    """

    match: str
    status: int = 0
    message: str = "on purpose"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    delay: float = 0.0
    pace: float = 0.0
    done: bool = False
    skip: int = 0
    times: int = 1
    then: Callable[[str], None] | None = None


class Faults:
    """The planned faults of a server."""

    def __init__(self) -> None:
        self._planned: list[Fault] = []
        self._lock = threading.Lock()

    def plan(self, fault: Fault) -> Fault:
        """Add a fault after the planned ones."""
        with self._lock:
            self._planned.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._planned.clear()

    def strike(self, line: str) -> Fault | None:
        """Return the first fault for a request, if any, and count it."""
        with self._lock:
            for fault in self._planned:
                if fault.times and re.search(fault.match, line):
                    if fault.skip:
                        fault.skip -= 1
                        continue
                    fault.times -= 1
                    return fault
        return None
