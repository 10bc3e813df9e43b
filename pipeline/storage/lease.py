"""Leases: objects in a store that say that a process is at work, where a disk would have locks.

A lease is put again every few seconds for as long as its process lives. One of this machine is known to be dead when
its process is; one of another machine when it has not been put again for a while, which is watched and not reckoned,
since clocks differ. On the Hub each renewal would be a commit: a lease there is not renewed, and held until it is gone.
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
"""Seconds after which a lease is put again."""
WATCHED = 20.0
"""Seconds without a renewal after which a lease of another machine is dead."""
LOOK = 1.0
ENDING = 5.0
"""Seconds to wait for a renewal that is under way when a lease is to be removed, and for its removal after a fault."""
UNKNOWN = "a process of another machine"


class Lease:
    """A lease of this process, held while the block runs.

    Args:
        path: its name is the beginning of that of the lease; the rest is no other's.
    """

    def __init__(self, path: StorePath) -> None:
        self.path = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        self._renews = kind_of(str(path)) != "hf"
        said = {"host": socket.gethostname(), "renewed": self._renews, **_self()}
        self._said = json.dumps(said).encode()
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True, name="carrara-lease")

    @property
    def content(self) -> bytes:
        """What the lease says."""
        return self._said

    def __enter__(self) -> Self:
        """Put the lease, and go on to put it.

        Raises:
            StoreError: if the store does not take it.
        """
        try:
            self.path.write_bytes(self._said)
        except BaseException:
            self._remove()  # it may be there all the same
            raise
        if self._renews:
            self._renewing.start()
        return self

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED):
            with suppress(OSError):  # it is put again later
                self.path.write_bytes(self._said)
            if self._ended.is_set():  # and perhaps no longer waited for
                self._remove()

    def __exit__(self, kind: object = None, *_: object) -> None:
        """Remove the lease; after a fault for no more than a few seconds, since the store may be dead."""
        self.end(WATCHED if kind is None else ENDING)

    def end(self, seconds: float = ENDING) -> None:
        """Remove the lease, and wait for no more than some seconds until it is gone."""
        self._ended.set()
        ending = threading.Thread(target=self._end, daemon=True, name="carrara-lease-end")
        ending.start()
        ending.join(seconds)

    def _end(self) -> None:
        if self._renewing.is_alive():
            self._renewing.join(ENDING)
        self._remove()

    def _remove(self) -> None:
        with suppress(OSError):  # it is dead all the same
            self.path.unlink(missing_ok=True)


def holder_of(path: StorePath, seconds: float = WATCHED) -> str:
    """Return who holds a lease; a dead one is removed, and held by nobody.

    Args:
        path: the lease.
        seconds: how long one of another machine is watched; one that is watched for less than WATCHED is held.

    Raises:
        StoreError: if the store does not say.
    """
    try:
        before, said = path.info(), _read(path)
    except FileNotFoundError:
        return ""
    who = f"process {said.get('process')} on {said.get('host')}" if said else UNKNOWN
    if said.get("space") == _self()["space"]:
        alive = _start_of(said.get("process")) == said.get("started")
    else:
        held = seconds < WATCHED or said.get("renewed") is False
        alive = held or _is_renewed(path, before, time.monotonic() + seconds)
    if alive:
        return "".join(filter(str.isprintable, who))
    with suppress(StoreError):
        path.unlink(missing_ok=True)
    return ""


def clear_dead(path: Path, *kept: Path) -> None:
    """Remove the leases of dead processes of this machine whose names begin as that of a path does.

    Args:
        path: where leases are asked for; on a disk there are none.
        kept: leases that are left as they are.
    """
    for other in path.parent.glob(f"{path.name}-*") if isinstance(path, StorePath) else ():
        if other not in kept:
            holder_of(other, 0)


def _read(path: StorePath) -> dict[str, Any]:
    try:
        said = json.loads(path.read_bytes())
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _is_renewed(path: StorePath, before: object, end: float) -> bool:
    while time.monotonic() < end:
        time.sleep(LOOK)
        try:
            if path.info() != before:
                return True
        except FileNotFoundError:
            return False
    return False


def _self() -> dict[str, Any]:
    """Return what tells this process from all others: its number, whose number that is, and when it began."""
    return {"process": os.getpid(), "started": _start_of(os.getpid()), "space": _space()}


def _space() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _start_of(process: object) -> str:
    """Return when a process began, in ticks since the machine did; nothing if there is none."""
    try:
        return Path(f"/proc/{int(str(process))}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, ValueError, IndexError):
        return ""
