"""Leases: objects that show that a process is at work in a store, which has no locks.

A lease is put again every few seconds as long as its process lives. A lease of this machine is dead when its process
is, and one of another machine when it is not renewed for a while, as observed, since clocks differ. On the Hub each
renewal would be a commit, so leases there are not renewed, and are held until they are removed.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from pipeline.storage.path import StorePath
from pipeline.storage.requests import StoreError, kind_of

RENEWED = 15.0
"""Seconds between renewals of a lease."""
WATCHED = 20.0
"""Seconds without a renewal after which another machine's lease is dead."""
LOOK = 1.0
ENDING = 5.0
"""Seconds to wait for a renewal in progress before removing a lease, and for its removal after an error."""
UNKNOWN = "a process of another machine"


class Lease:
    """A lease of this process, held while the block runs.

    Args:
        path: prefix of the lease's path; a unique suffix is added.
    """

    def __init__(self, path: StorePath) -> None:
        self.path = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        self._renews = kind_of(str(path)) != "hf"
        holder = {"host": socket.gethostname(), "renewed": self._renews, **_own_process()}
        self._content = json.dumps(holder).encode()
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True, name="carrara-lease")

    @property
    def content(self) -> bytes:
        """The content of the lease."""
        return self._content

    def __enter__(self) -> Self:
        """Put the lease, and start to renew it.

        Raises:
            StoreError: if the store refuses it.
        """
        try:
            self.path.write_bytes(self._content)
        except BaseException:
            self._remove()  # it may have been put all the same
            raise
        if self._renews:
            self._renewing.start()
        return self

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED):
            with suppress(OSError):  # the next renewal may succeed
                self.path.write_bytes(self._content)
            if self._ended.is_set():  # `_end` may have stopped waiting for this renewal
                self._remove()

    def __exit__(self, kind: object = None, *_: object) -> None:
        """Remove the lease; after an error, wait only a few seconds, since the store may be dead."""
        self.end(WATCHED if kind is None else ENDING)

    def end(self, seconds: float = ENDING) -> None:
        """Remove the lease, waiting at most some seconds."""
        self._ended.set()
        ending = threading.Thread(target=self._end, daemon=True, name="carrara-lease-end")
        ending.start()
        ending.join(seconds)

    def _end(self) -> None:
        if self._renewing.is_alive():
            self._renewing.join(ENDING)
        self._remove()

    def _remove(self) -> None:
        with suppress(OSError):  # a lease that stays is dead without renewals
            self.path.unlink(missing_ok=True)


def holder_of(path: StorePath, seconds: float = WATCHED) -> str:
    """Return the process that holds a lease, or "" after removing a dead one.

    Args:
        path: the lease.
        seconds: how long to watch another machine's lease; with less than WATCHED, it counts as held.

    Raises:
        StoreError: if the store does not answer.
    """
    try:
        before, holder = path.info(), _read_holder(path)
    except FileNotFoundError:
        return ""
    who = f"process {holder.get('process')} on {holder.get('host')}" if holder else UNKNOWN
    if holder.get("space") == _own_process()["space"]:
        alive = _start_of(holder.get("process")) == holder.get("started")
    else:
        held = seconds < WATCHED or holder.get("renewed") is False
        alive = held or _is_renewed(path, before, time.monotonic() + seconds)
    if alive:
        return "".join(filter(str.isprintable, who))
    with suppress(StoreError):
        path.unlink(missing_ok=True)
    return ""


def clear_dead(path: Path, *kept: Path) -> None:
    """Remove leases of this machine's dead processes.

    Args:
        path: prefix of the leases' paths; on a disk there are none.
        kept: leases to leave alone.
    """
    for other in path.parent.glob(f"{path.name}-*") if isinstance(path, StorePath) else ():
        if other not in kept:
            holder_of(other, 0)


def _read_holder(path: StorePath) -> dict[str, Any]:
    try:
        holder = json.loads(path.read_bytes())
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def _is_renewed(path: StorePath, before: object, end: float) -> bool:
    while time.monotonic() < end:
        time.sleep(LOOK)
        try:
            if path.info() != before:
                return True
        except FileNotFoundError:
            return False
    return False


def _own_process() -> dict[str, Any]:
    """Return what identifies this process: its number, the machine and PID namespace, and its start time."""
    return {"process": os.getpid(), "started": _start_of(os.getpid()), "space": _space()}


def _space() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _start_of(process: object) -> str:
    """Return when a process started, in ticks since boot; "" if there is no such process."""
    try:
        return Path(f"/proc/{int(str(process))}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, ValueError, IndexError):
        return ""
