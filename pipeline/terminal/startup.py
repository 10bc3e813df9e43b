"""What the command does before all else: signals are handled, and start-up is tuned. Imports next to nothing."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED = "carrara: interrupted: run the same command again to continue"
BOTH = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM came: everything is left as on Ctrl-C."""


def terminate(number: int, frame: object) -> None:
    """Handle SIGTERM."""
    raise Terminated


def leave(number: int, frame: object) -> None:
    """End at once: while modules load nothing is written, and what is raised then may end up in another error."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(128 + number)


@contextmanager
def handled(number: int, handler: Any) -> Iterator[None]:
    """Handle a signal in another way for a while, where that can be done: in the main thread, if it is not ignored."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(number) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back while workers start or end: a pool half-opened cannot be closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.signal(number, lambda it, frame: came.append(it)) for number in BOTH}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


COLLECTED = (20_000, 10, 10)
"""Allocations after which Python collects cycles, instead of 700: jobs make large tables that have none."""


def tune_startup() -> None:
    """Collect cycles less often, and not at exit, when everything goes anyway.

    The command and its workers call this; Python code that uses Carrara does not.
    """
    gc.set_threshold(*COLLECTED)
    atexit.register(gc.freeze)
