"""Dask: an executor on a running cluster, whose workers are checked before any job is sent to them.

`run` also takes Dask's own `Client.get_executor`. This executor adds readable errors in one line, at the start if
possible, and never waits forever.
"""

from __future__ import annotations

import asyncio
import json
import logging
import operator
import pickle
import platform
import re
import secrets
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

from pipeline.errors import BuildError, RecipeError, adding, first_line
from pipeline.executors.run import IN_FLIGHT, MonitoredExecutor
from pipeline.executors.shared_folder import MarkedFolder, existing_mark
from pipeline.executors.worker import (
    Failed,
    FolderMark,
    JobContext,
    WorkerEnvironment,
    inspect_environment,
    missing_environment,
    unfit,
)
from pipeline.storage import read_text
from pipeline.terminal.printing import say
from pipeline.terminal.text import plain

Worker = Mapping[str, Any]
"""A scheduler's info on a worker."""


def blocking_worker(workers: Mapping[str, Worker]) -> str:
    """Return a message about a worker that holds jobs up, with advice; "" if all jobs can end.

    A paused worker ends its job. So it holds jobs up only if it runs none, and jobs wait in it or all are paused.

    Args:
        workers: all workers of a cluster, by address.
    """
    paused = [name for name, each in workers.items() if each["status"] == "paused" and not _has(each, "executing")]
    holding = [name for name in paused if _has(workers[name], "ready")]
    name = min(holding or (paused if len(paused) == len(workers) else []), default="")
    return f"worker {name} {_explain_pause(workers[name])}" if name else ""


def _has(worker: Worker, state: str) -> int:
    """Return how many tasks of a worker are in a state."""
    return int(worker.get("metrics", {}).get("task_counts", {}).get(state, 0))


def _explain_pause(worker: Worker) -> str:
    limit = (worker.get("memory_limit") or 0) >> 20
    return f"is paused for lack of memory, and jobs wait: start workers with more than {limit:,} MiB (--memory-limit)"


ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?P<host>[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<port>\d{1,5})/?")
CONTINUE = "run the same command again to continue"


class UnreachableError(BuildError):
    """No scheduler answers."""


def scheduler_at(address: str, wait: float = 0) -> str:
    """Return the address of a scheduler, given as such or as the JSON file that it writes at its start.

    Raises:
        RecipeError: if it is not an address, or the file cannot be read within `wait` seconds.
    """
    if address.endswith(".json"):
        address = _written(Path(address), time.monotonic() + wait)
    match = ADDRESS.fullmatch(address)
    if not match or not 0 < int(match["port"]) < 65536:
        raise RecipeError(
            f"--dask {address!r} is not the address of a scheduler: give one such as tcp://host:8786, or the .json "
            "file that `dask scheduler --scheduler-file` wrote"
        )
    return address.rstrip("/") if "://" in address else f"tcp://{address.rstrip('/')}"


def _written(path: Path, end: float) -> str:
    """Return the address in a scheduler's file, waiting for the file until `end`."""
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
    """Return a Dask client, after checking that the address is a scheduler's; otherwise it might wait forever.

    Raises:
        UnreachableError: if it is not, with what is there.
    """
    import distributed

    client: Any = distributed.Client
    try:
        kind = asyncio.run(_kind(address, wait))
        if kind == "Scheduler":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about versions, which `unfit` compares
                return client(address, timeout=wait, set_as_default=False, name="carrara")
        why = f"it is the address of a {kind}"
    except Exception as fault:
        why = "no reply" if isinstance(fault, TimeoutError) else first_line(fault)
    raise UnreachableError(
        f"no Dask scheduler answers at {address} within {plain(wait)} s ({why}): start one with `dask scheduler`, and "
        f"{CONTINUE}"
    )


async def _kind(address: str, wait: float) -> str:
    """Return what is at an address: Scheduler, Worker or Nanny."""
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


def silence_logs() -> None:
    """Keep Dask's own logs off the terminal, since our errors report what matters."""
    for name in ("distributed", "tornado", "asyncio", *sorted(logging.root.manager.loggerDict)):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


R = TypeVar("R")
WAIT = 25.0
"""Default seconds to wait for a first worker, and the most to wait for a reply."""
CLOSING = 3.0
"""Seconds that disconnecting from a cluster may take."""
COUNTED = 10.0
"""Seconds after which workers are counted again, since new ones need more jobs in flight."""
CALL = (resolve_name, "pipeline.executors.worker:call")
"""A Dask task that resolves `call`: the scheduler, which unpickles tasks, then needs only the standard library."""


def dask(address: str, folder: Path, wait: float = WAIT, *others: Path, writes: bool = True) -> Callable[[], Executor]:
    """Return a factory of executors on a running Dask cluster whose workers share a folder.

    Args:
        address: the scheduler's address, such as ``tcp://host:8786``, or the path of its JSON file.
        folder: absolute path of the folder that jobs read, or also write.
        wait: seconds to wait for a first worker, and for a new one if all are gone.
        others: further folders that jobs read.
        writes: whether jobs write; if not, nothing is written to the folders, not even a temporary mark.

    Raises:
        RecipeError: if Dask is not installed, or the address is not valid.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise RecipeError(f"--dask needs the package distributed: {adding('dask')}") from None
    silence_logs()
    return Cluster(scheduler_at(address, min(wait, WAIT)), (folder, *others), wait, writes)


@dataclass
class Cluster:
    """A running cluster: opens executors on it, and knows whether it was ever reached."""

    address: str
    folders: tuple[Path, ...]
    wait: float
    writes: bool = True
    was_there: bool = False

    def __call__(self) -> Executor:
        """Open an executor.

        Raises:
            BuildError: if the scheduler or its workers cannot be reached, or a worker is not fit.
        """
        try:
            opened = OnDask(self.address, self.folders, self.wait, again=self.was_there, writes=self.writes)
        except BrokenExecutor as fault:
            raise BuildError(f"{fault}: {CONTINUE}") from fault
        except UnreachableError as fault:
            lost = "the Dask scheduler was lost, and " if self.was_there else ""
            raise BuildError(f"{lost}{fault}") from fault
        if not self.was_there and opened.most_threads > 1:
            say(
                f"carrara: workers at {self.address} have up to {opened.most_threads} threads, but run one job at a "
                "time: start more of them, with --nthreads 1",
                err=True,
            )
        self.was_there = True
        return opened


class OnDask(MonitoredExecutor):
    """An executor on the workers of a Dask cluster, all of which are checked first."""

    def __init__(self, address: str, folders: Sequence[Path], wait: float, *, again: bool, writes: bool) -> None:
        self._address, self._wait = address, wait
        self._reply = min(wait, WAIT) / 2
        self._flying: dict[Future[Any], Any] = {}
        self._since: dict[str, float] = {}
        self._end = time.monotonic() + wait
        self.pulse = max(0.2, min(2.0, wait / 4))
        self.most_threads = 1
        self._client = connected(address, self._reply if again else 2 * self._reply)
        self._marked_folders: list[MarkedFolder] = []
        try:
            self._context = JobContext(inspect_environment(), *self._marks(folders, writes=writes))
            self._sent = pickle.dumps(self._context)
            refuse_unfit(self._first_workers(), self._context.here)
        except BaseException:
            self.shutdown()
            raise

    def _marks(self, folders: Sequence[Path], *, writes: bool) -> tuple[FolderMark, tuple[FolderMark, ...]]:
        """Mark the folders, or, if jobs do not write, find a file in each; folders without files are left out."""
        for folder in folders if writes else ():
            self._marked_folders.append(MarkedFolder(folder))
        marks = (
            [each.mark for each in self._marked_folders] if writes else list(filter(None, map(existing_mark, folders)))
        )
        if not marks:
            raise BuildError(f"{str(folders[0])!r} holds no file to read: give the folder of a split")
        return marks[0], tuple(marks[1:])

    def _first_workers(self) -> dict[str, WorkerEnvironment]:
        """Wait for workers, and return the environment of each.

        Raises:
            BuildError: if there are none.
        """
        while not (seen := self._inspect_workers() if self._threads() else {}):
            if time.monotonic() > self._end:
                raise BuildError(
                    f"no workers at {self._address} within {plain(self._wait)} s: start some with `dask worker "
                    f"{self._address} --nthreads 1`, or wait longer with --dask-wait"
                )
            time.sleep(self.pulse / 4)
        return seen

    def _threads(self) -> Mapping[str, int]:
        """Return the workers' numbers of threads, and set `window` so that all workers are busy.

        Raises:
            BrokenExecutor: if the scheduler does not answer.
        """
        threads: Mapping[str, int] = self._ask_scheduler(self._client.scheduler.ncores)
        self._counted = time.monotonic()
        self.window = max(IN_FLIGHT, 2 * len(threads))
        self.most_threads = max([1, *threads.values()])
        return threads

    def _ask_scheduler(self, ask: Callable[[], Any]) -> Any:
        """Return the scheduler's answer.

        Raises:
            BrokenExecutor: if it does not answer.
        """
        try:
            return self._client.sync(ask, callback_timeout=self._reply)
        except Exception as fault:
            raise BrokenExecutor(f"the scheduler at {self._address} does not answer") from fault

    def _inspect_workers(self) -> dict[str, WorkerEnvironment]:
        """Return the environment of each worker; a worker that has just gone is left out."""
        seen = self._run_on_workers(inspect_environment, self._context.mark, *self._context.others)
        lacking = [name for name, each in seen.items() if isinstance(each, Exception)]
        if lacking:
            hosts = self._run_on_workers(platform.node, workers=lacking)
            versions = self._run_on_workers(resolve_name, "pipeline:__version__", workers=lacking)
            for name in lacking:
                host = str(hosts.get(name, "?"))
                seen[name] = missing_environment(seen[name], host, versions.get(name), self._context.here)
        return seen

    def _run_on_workers(self, fn: Callable[..., Any], *args: object, **chosen: object) -> dict[str, Any]:
        """Return what a function returns or raises on each worker; the scheduler does not unpickle it."""
        left = max(self._end - time.monotonic(), CLOSING)
        try:
            results = self._client.run(fn, *args, **chosen, on_error="return", callback_timeout=min(left, WAIT))
        except Exception as fault:
            raise BuildError(
                f"not all workers at {self._address} say in time what is installed there ({first_line(fault)}): "
                f"restart them, and {CONTINUE}"
            ) from fault
        return {name: each for name, each in sorted(results.items()) if not isinstance(each, OSError)}

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Send a call to the cluster.

        Raises:
            BrokenExecutor: if the scheduler is lost.
        """
        if time.monotonic() - self._counted > COUNTED:
            self._threads()
        outer: Future[R] = Future()
        work = pickle.dumps((partial(fn, **kwargs), *args))
        try:
            key = f"carrara-{secrets.token_hex(16)}"
            inner = self._client.get({key: (operator.call, CALL, work, self._sent)}, key, sync=False)
        except Exception as fault:
            raise BrokenExecutor(f"the scheduler at {self._address} is lost") from fault
        self._flying[outer] = inner
        self._client.loop.add_callback(self._hand_over, outer, inner)
        return outer

    async def _hand_over(self, outer: Future[Any], inner: Any) -> None:
        """Hand over the result of a call, in the client's event loop, since a thread might wait for it forever."""
        try:
            result = pickle.loads(await inner)
        except BaseException as fault:
            outer.set_exception(self._job_error(fault))
        else:
            outer.set_exception(result.fault) if isinstance(result, Failed) else outer.set_result(result)
        finally:
            self._since = {}
            self._flying.pop(outer, None)

    def _job_error(self, fault: BaseException) -> Exception:
        """Return the error for a job that the cluster did not run to its end."""
        if isinstance(fault, ImportError | AttributeError | TypeError):
            return BuildError(
                f"a worker that joined {self._address} late cannot run jobs ({first_line(fault)}): install Carrara "
                f"{self._context.here.version} wherever workers start"
            )
        place = f"{type(fault).__name__} at {self._address}"
        return BrokenExecutor(f"{place}: {first_line(fault)}" if isinstance(fault, RuntimeError) else place)

    def check(self) -> None:
        """Check that there are workers, and that they work.

        Raises:
            BrokenExecutor: if the scheduler does not answer.
            BuildError: if all workers are gone, or one holds jobs up, for longer than the time to wait.
        """
        gone = "" if self._threads() else f"all workers of {self._address} are gone, and none came"
        held = gone or blocking_worker(self._ask_scheduler(self._client.scheduler.identity)["workers"])
        now = time.monotonic()
        began = self._since.get(held, now)
        self._since = {held: began} if held else {}
        if held and now - began > self._wait:
            why = f"{held} within {plain(self._wait)} s: start some" if gone else held
            raise BuildError(f"{why}, and {CONTINUE}")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Cancel jobs that have not ended, and disconnect from the cluster, which keeps running."""
        for marked in self._marked_folders:
            marked.remove()
        with suppress(Exception):
            self._client.cancel(list(self._flying.values()), force=True)
        with suppress(Exception):
            self._client.close(timeout=CLOSING)


def refuse_unfit(seen: Mapping[str, WorkerEnvironment], here: WorkerEnvironment) -> None:
    """Check that all workers can make the same files as this machine.

    Raises:
        BuildError: with the first that cannot, and what it lacks.
    """
    faults = [f"worker {name} on {each.host!r} {fault}" for name, each in seen.items() if (fault := unfit(each, here))]
    if faults:
        raise BuildError(faults[0] + (f" (and {len(faults) - 1} more workers are unfit)" if faults[1:] else ""))
