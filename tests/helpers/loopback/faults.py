"""What goes wrong on purpose."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Fault:
    """What happens to requests that match, in the order: `then` is called, `delay` passes, the request fails.

    Attributes:
        match: a regular expression for ``"METHOD /path?query"``.
        status: the state that is replied; 0 means that nothing is wrong with the reply.
        message: what the error says.
        headers: sent along.
        cut: hang up when so many bytes of the body have come, or gone if the request has none.
        delay: seconds before anything is said.
        pace: seconds before each block of a body is taken.
        done: the request is carried out first, so that only its reply is lost.
        skip: how many matching requests are left in peace before.
        times: how many are struck; -1 means all.
        then: called when it strikes, with the request's path.
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
    """The faults of a server, each used up by the requests that it strikes."""

    def __init__(self) -> None:
        self._planned: list[Fault] = []
        self._lock = threading.Lock()

    def plan(self, fault: Fault) -> Fault:
        """Add a fault behind those that are planned."""
        with self._lock:
            self._planned.append(fault)
        return fault

    def clear(self) -> None:
        """Let all go well."""
        with self._lock:
            self._planned.clear()

    def strike(self, line: str) -> Fault | None:
        """Return the first fault that strikes a request."""
        with self._lock:
            for fault in self._planned:
                if fault.times and re.search(fault.match, line):
                    if fault.skip:
                        fault.skip -= 1
                        continue
                    fault.times -= 1
                    return fault
        return None
