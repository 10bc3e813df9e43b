"""What the command does first: it handles signals and tunes start-up. Imports next to nothing."""

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
    """Raised on SIGTERM, which ends the command as Ctrl-C does."""


def terminate(number: int, frame: object) -> None:
    """Handle SIGTERM."""
    raise Terminated


def leave(number: int, frame: object) -> None:
    """Exit at once, while modules load: nothing is being written, and an exception might surface as another error."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(128 + number)


@contextmanager
def handled(number: int, handler: Any) -> Iterator[None]:
    """Replace a signal's handler during the block; outside the main thread, or if it is ignored, do nothing."""
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
    """Delay Ctrl-C and SIGTERM while workers start or end: a half-opened pool cannot be closed."""
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
"""Thresholds of Python's garbage collector: higher than usual, since jobs make large tables without cycles."""


def tune_startup() -> None:
    """Collect cycles less often, and not at exit, when all memory is freed anyway.

    The command and its workers call this; `import carrara` does not.
    """
    gc.set_threshold(*COLLECTED)
    atexit.register(gc.freeze)
