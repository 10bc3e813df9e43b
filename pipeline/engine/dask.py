"""Dask: an executor on a running cluster, whose workers are looked at before any job is sent to them.

`Client.get_executor` of Dask is an executor too, and `run` takes it. This one adds what a person needs: what is wrong
with a cluster is said in one line, at the start where it can be known then, and nothing waits for ever.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import socket
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import getsource
from pathlib import Path
from typing import Any, TypeVar

from pipeline.engine import remote
from pipeline.engine.mark import Marked
from pipeline.engine.remote import Charge, Seen, look, unfit
from pipeline.engine.running import IN_FLIGHT, Watched
from pipeline.errors import BuildError, RecipeError

R = TypeVar("R")
WAIT = 25.0
"""Seconds to wait for a scheduler and its first worker, and for either once they are lost."""
ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?P<host>[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<port>\d{1,5})/?")
CLOSING = 3.0
"""Seconds that leaving a cluster may take."""
CONTINUE = "run the same command again to continue"


def dask(address: str, folder: Path, wait: float = WAIT) -> Callable[[], Executor]:
    """Return a factory of executors on a running Dask cluster whose workers share a folder.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``, or the path of the file that it wrote of itself.
        folder: absolute path of the folder that jobs read and write.
        wait: seconds to wait for the scheduler and its first worker.

    Raises:
        RecipeError: if Dask is not installed, or the address is none.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise RecipeError("--dask needs the package distributed: pip install 'carrara[dask]'") from None
    _hush()
    return Cluster(scheduler_at(address), folder, wait)


def scheduler_at(given: str) -> str:
    """Return the address of a scheduler, which may be in a file that it wrote.

    Raises:
        RecipeError: if that is no address.
    """
    if given.endswith(".json") or os.path.sep in given.partition("://")[0]:
        try:
            address = str(json.loads(Path(given).read_text(encoding="utf-8"))["address"])
        except (OSError, ValueError, LookupError, TypeError) as fault:
            raise RecipeError(
                f"--dask {given!r} cannot be read ({fault}): give the file that `dask scheduler --scheduler-file` wrote"
            ) from None
        return scheduler_at(address)
    found = ADDRESS.fullmatch(given)
    if not found or not 0 < int(found["port"]) < 65536:
        raise RecipeError(
            f"--dask {given!r} is not the address of a scheduler: give one such as tcp://host:8786, or the file that "
            "`dask scheduler --scheduler-file` wrote"
        )
    return given.rstrip("/") if "://" in given else f"tcp://{given.rstrip('/')}"


@dataclass
class Cluster:
    """A running cluster: opens executors on it, and knows whether it was ever there."""

    address: str
    folder: Path
    wait: float
    was_there: bool = False

    def __call__(self) -> Executor:
        """Open an executor.

        Raises:
            BuildError: if the scheduler or its workers are not there, or one of these is not fit.
        """
        try:
            opened = OnDask(self.address, self.folder, self.wait)
        except BrokenExecutor as fault:
            raise BuildError(f"{fault}: {CONTINUE}") from fault
        except UnreachableError as fault:
            lost = "the Dask scheduler was lost, and " if self.was_there else ""
            raise BuildError(f"{lost}{fault}") from fault
        self.was_there = True
        return opened


class UnreachableError(BuildError):
    """No scheduler answers."""


class OnDask(Watched):
    """The workers of a Dask cluster, all of them looked at."""

    def __init__(self, address: str, folder: Path, wait: float) -> None:
        self._address, self._wait = address, wait
        self._flying: dict[Future[Any], Any] = {}
        self._alone_since: float | None = None
        self._end = time.monotonic() + wait
        self.pulse = max(0.2, min(2.0, wait / 4))
        self._client = self._connected()
        try:
            self._marked = Marked(folder)
        except BaseException:
            self._close()
            raise
        try:
            self._charge = Charge(look(None), self._marked.mark)
            self._first_workers()
        except BaseException:
            self.shutdown()
            raise

    def _connected(self) -> Any:
        import distributed

        client: Any = distributed.Client
        host = ADDRESS.fullmatch(self._address)
        try:
            socket.getaddrinfo(host and host["host"].strip("[]"), None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions, which are held to ours below
                return client(self._address, timeout=self._wait, set_as_default=False, name="carrara")
        except socket.gaierror as fault:
            raise UnreachableError(f"the host of --dask {self._address} is not known ({fault.strerror})") from fault
        except Exception as fault:
            raise UnreachableError(
                f"no Dask scheduler answers at {self._address} within {self._wait:g} s ({_first_line(fault)}): start "
                f"one with `dask scheduler`, and {CONTINUE}"
            ) from fault

    def _first_workers(self) -> None:
        """Wait for workers, look at all of them, and set how many jobs are held.

        Raises:
            BuildError: if there are none, or if one of them is not fit; it is named.
        """
        while True:
            threads = self._threads()
            seen = self._looked() if threads else {}
            if seen or time.monotonic() > self._end:
                break
            time.sleep(self.pulse / 4)
        if not seen:
            raise BuildError(
                f"no workers at {self._address} within {self._wait:g} s: start some with `dask worker {self._address} "
                f"--nthreads 1`, or wait longer with --dask-wait"
            )
        faults = [
            f"worker {name} on {each.host!r} {fault}" for name, each in seen.items() if (fault := self._unfit(each))
        ]
        if faults:
            raise BuildError(
                faults[0] + (f" (and {len(faults) - 1} more workers are unfit)" if len(faults) > 1 else "")
            )

    def _unfit(self, seen: Seen) -> str:
        return unfit(seen, self._charge.here)

    def _threads(self) -> Mapping[str, int]:
        """Return the workers and their numbers of threads.

        Raises:
            BrokenExecutor: if the scheduler does not say.
        """
        try:
            found: Mapping[str, int] = self._client.sync(self._client.scheduler.ncores, callback_timeout=self._wait)
        except Exception as fault:
            raise BrokenExecutor(f"the scheduler at {self._address} does not answer") from fault
        self.window = max(IN_FLIGHT, 2 * sum(found.values()))
        return found

    def _looked(self) -> dict[str, Seen]:
        """Return what the workers see; one that has just gone is left out."""
        look_there = f"tuple(n['look'](n['Mark'](*{tuple(self._charge.mark)!r})))"
        text = f"(lambda n: (exec({getsource(remote)!r}, n), {look_there})[1])({{'__name__': 'carrara_look'}})"
        try:
            said = self._client.run(eval, text, on_error="return", callback_timeout=self._left())
        except Exception as fault:
            raise BuildError(
                f"not all workers at {self._address} say in time what is installed there "
                f"({_first_line(fault)}): restart them, and {CONTINUE}"
            ) from fault
        there = {name: each for name, each in sorted(said.items()) if not isinstance(each, OSError)}
        return {
            name: Seen("?", "", "", "", "", _first_line(each)) if isinstance(each, Exception) else Seen(*each)
            for name, each in there.items()
        }

    def _left(self) -> float:
        return max(self._end - time.monotonic(), min(CLOSING, self._wait))

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Send a call to the cluster.

        Raises:
            BrokenExecutor: if the scheduler is lost.
        """
        outer: Future[R] = Future()
        try:
            work = pickle.dumps((partial(fn, **kwargs), *args))
            inner = self._client.submit(remote.call, work, self._charge, pure=False)
        except Exception as fault:
            raise BrokenExecutor(f"the scheduler at {self._address} is lost") from fault
        self._flying[outer] = inner
        inner.add_done_callback(partial(self._ended, outer))
        return outer

    def _ended(self, outer: Future[Any], inner: Any) -> None:
        """Hand over what has ended; this runs in a thread of the client, where nothing may be raised."""
        self._flying.pop(outer, None)
        try:
            result = inner.result(timeout=self._wait)
        except BaseException as fault:
            outer.set_exception(self._told(fault))
        else:
            outer.set_result(result)

    def _told(self, fault: BaseException) -> BaseException:
        """Return what is said of a job that failed."""
        from distributed.scheduler import KilledWorker

        if isinstance(fault, KilledWorker | CancelledError | OSError):
            return BrokenExecutor(f"{type(fault).__name__}: {_first_line(fault)}")
        if isinstance(fault, ImportError | AttributeError):
            return BuildError(
                f"a worker that joined {self._address} late cannot run jobs ({_first_line(fault)}): install Carrara "
                f"{self._charge.here.version} wherever workers start"
            )
        return fault

    def check(self) -> None:
        """Look whether there are workers.

        Raises:
            BrokenExecutor: if the scheduler does not answer.
            BuildError: if all workers are gone for longer than was to be waited.
        """
        now = time.monotonic()
        if self._threads():
            self._alone_since = None
            return
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since > self._wait:
            raise BuildError(
                f"all workers of {self._address} are gone, and none came within {self._wait:g} s: start some, and "
                f"{CONTINUE}"
            )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Cancel what has not ended and leave the cluster, which goes on."""
        self._marked.remove()
        with suppress(Exception):
            self._client.cancel(list(self._flying.values()), force=True)
        self._close()

    def _close(self) -> None:
        with suppress(Exception):
            self._client.close(timeout=CLOSING)


def _first_line(fault: BaseException) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]


def _hush() -> None:
    """Keep Dask's own logs off the terminal: what matters of them is said in one line."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    for name in sorted(logging.root.manager.loggerDict):
        if name.startswith(("distributed.", "tornado.", "asyncio.")):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
