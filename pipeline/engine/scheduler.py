"""Where the scheduler of a Dask cluster is, and whether there is one."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import warnings
from pathlib import Path
from typing import Any

from pipeline.errors import BuildError, RecipeError, first_line
from pipeline.paths import read_text
from pipeline.terminal.numbers import plain

ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?P<host>[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<port>\d{1,5})/?")
CONTINUE = "run the same command again to continue"


class UnreachableError(BuildError):
    """No scheduler answers."""


def scheduler_at(given: str, wait: float = 0) -> str:
    """Return the address of a scheduler, which may be in a file that it has written, or writes soon.

    Raises:
        RecipeError: if that is no address.
    """
    if given.endswith(".json"):
        given = _written(Path(given), time.monotonic() + wait)
    found = ADDRESS.fullmatch(given)
    if not found or not 0 < int(found["port"]) < 65536:
        raise RecipeError(
            f"--dask {given!r} is not the address of a scheduler: give one such as tcp://host:8786, or the .json file "
            "that `dask scheduler --scheduler-file` wrote"
        )
    return given.rstrip("/") if "://" in given else f"tcp://{given.rstrip('/')}"


def _written(path: Path, end: float) -> str:
    """Return the address that is in the file of a scheduler; one that has just been started may still write it."""
    while True:
        try:
            return str(json.loads(read_text(path))["address"])
        except (OSError, ValueError, LookupError, TypeError) as fault:
            if time.monotonic() > end:
                raise RecipeError(
                    f"--dask {str(path)!r} cannot be read ({fault}): give the file that `dask scheduler "
                    "--scheduler-file` wrote"
                ) from None
        time.sleep(0.1)


def connected(address: str, wait: float) -> Any:
    """Return a client of Dask, once it is clear that a scheduler is there: with others it may wait for ever.

    Raises:
        UnreachableError: if there is none, with what is there.
    """
    import distributed

    client: Any = distributed.Client
    try:
        kind = asyncio.run(_kind(address, wait))
        if kind == "Scheduler":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions, which are compared by us
                return client(address, timeout=wait, set_as_default=False, name="carrara")
        why = f"it is the address of a {kind}"
    except Exception as fault:
        why = "no reply" if isinstance(fault, TimeoutError) else first_line(fault)
    raise UnreachableError(
        f"no Dask scheduler answers at {address} within {plain(wait)} s ({why}): start one with `dask scheduler`, and "
        f"{CONTINUE}"
    )


async def _kind(address: str, wait: float) -> str:
    """Ask who is at an address: Scheduler, Worker, Nanny."""
    import distributed
    from distributed.comm import core

    connect: Any = core.connect
    security: Any = distributed.Security
    host = ADDRESS.fullmatch(address)
    await asyncio.get_running_loop().getaddrinfo(host["host"].strip("[]") if host else "", None)
    async with asyncio.timeout(wait):
        comm = await connect(address, timeout=wait, **security().get_connection_args("client"))
        try:
            await comm.write({"op": "identity", "reply": True})
            return str((await comm.read()).get("type"))
        finally:
            comm.abort()


def hush() -> None:
    """Keep Dask's own logs off the terminal: what matters of them is said in one line."""
    for name in ("distributed", "tornado", "asyncio", *sorted(logging.root.manager.loggerDict)):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
