"""Requests to a store through fsspec: retries, timeouts, and error messages.

Listings are not cached, since other workers write at the same time. fsspec's file systems must not cross a fork, so
every process opens its own.
"""

from __future__ import annotations

import asyncio
import errno
import io
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import wait
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar

R = TypeVar("R")
PAUSES = (0.1, 0.3, 0.9, 2.0, 3.0, 4.0)
"""Seconds between attempts."""
LONGEST = 15.0
"""Seconds after which no further attempt starts: with CONNECT and REPLY, a dead store is reported within 32 seconds."""
CONNECT, REPLY = 5, 12
"""Seconds to wait for a connection, and for the first byte of a reply."""
ONCE_MORE = 5.0
"""The same as LONGEST, after an attempt that was in progress when the store fell silent."""
SUSPECT = 60.0
"""Seconds during which a silent store gets no retries, so that a failing command's cleanup ends soon."""
LOOK = 0.5
"""Seconds between checks of an upload's progress."""
OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "config_kwargs": {"connect_timeout": CONNECT, "read_timeout": REPLY, "retries": {"total_max_attempts": 1}},
        "max_concurrency": 1,
    },
    "gs": {"requests_timeout": 30},  # for a whole request, even one that sends a shard
}
"""Options to open a protocol's file system, in addition to the user's configuration of fsspec."""
LIMITED = frozenset({"gs"})
"""Protocols whose timeout is for whole requests, so that silence and a slow line look the same."""
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "hf": "HF_TOKEN",
}
"""Where a user sets credentials."""
ALIASES = {"s3a": "s3", "gcs": "gs"}
UNKNOWN_USER = (
    "NoCredentials", "PartialCredentials", "CredentialRetrieval", "DefaultCredentials", "TokenRetrieval", "SSOToken",
    "LocalTokenNotFound", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "ProfileNotFound",
)  # fmt: skip
"""Names of errors, or parts of them, for missing or invalid credentials."""
SLOW = ("Timeout", "TimedOut")
CUT = ("Connect", "Incomplete", "ClientPayload", "ServerDisconnected", "HTTPClientError", "ResponseParser")
"""Parts of the names of timeouts, and of errors of the network."""
BUSY = frozenset({429, 500, 502, 503, 504})
"""HTTP statuses after which a retry may succeed."""
AT_FAULT = frozenset({errno.EBUSY, getattr(errno, "EREMOTEIO", errno.EBUSY)})
"""The error codes that s3fs turns these into."""
MOVED = frozenset({409, 412})
"""HTTP statuses of the Hub, where each change is a commit, if another commit came first."""
RANGE = 416
"""The HTTP status for a range outside the object."""
_OPEN: dict[tuple[str, int], Any] = {}
_SILENT: dict[str, float] = {}
"""Buckets that did not answer, and until when they get no retries."""


class StoreError(OSError):
    """A store refused or failed a request; the message is one line that names the place."""

    def __str__(self) -> str:
        """Return the message."""
        return f"{self.filename!r}: {self.strerror}"


def kind_of(url: str) -> str:
    """Return the protocol of a URL, with aliases resolved."""
    protocol = url.partition("://")[0]
    return ALIASES.get(protocol, protocol)


def request(url: str, act: Callable[[Any], R]) -> R:
    """Return the result of a request, after retrying temporary errors a few times within LONGEST seconds.

    An attempt that took longer than a store may be silent was in progress, as with a large object over a slow line. If
    its connection broke, the time starts anew, as for a small object; if the store fell silent, it is retried once.

    Args:
        url: the object or folder.
        act: makes the request with one of fsspec's file systems.

    Raises:
        FileNotFoundError: if nothing is there.
        StoreError: if the store refuses or does not answer.
    """
    root = "/".join(url.split("/")[:3])
    end = time.monotonic() + (0 if time.monotonic() < _SILENT.get(root, 0) else LONGEST)
    for pause in (*PAUSES, None):
        begun = time.monotonic()
        try:
            result = act(system(url))
            _SILENT.pop(root, None)
            return result
        except StoreError:
            raise
        except Exception as fault:
            silent = any(map(_is_slow, _causes(fault)))
            if time.monotonic() - begun > CONNECT + REPLY + 2 * LOOK and not (silent and kind_of(url) in LIMITED):
                end = time.monotonic() + (ONCE_MORE if silent else LONGEST)
            again, error = _classify(url, _explained(url, fault))
            if error is None:
                raise
            if not again or pause is None or time.monotonic() + pause > end:
                if silent:
                    _SILENT[root] = time.monotonic() + SUSPECT
                raise error from fault
        time.sleep(pause)
    raise AssertionError


class Sending(io.BytesIO):
    """The bytes of an object being sent; `moved` is when some of them were last read."""

    def __init__(self, whole: bytes) -> None:
        super().__init__(whole)
        self._size, self.moved = len(whole), time.monotonic()

    def __len__(self) -> int:
        """Return the total number of bytes."""
        return self._size

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        self.moved = time.monotonic()
        return super().read(size)


def send(opened: Any, url: str, data: bytes, **more: Any) -> None:
    """Put an object by one request, which is given up if no byte was sent for as long as a store may be silent.

    The S3 library's timeout covers only replies: it would wait forever for a server that takes no more bytes.

    Raises:
        TimeoutError: if the store is silent.
    """
    if kind_of(url) != "s3":
        opened.pipe_file(url, data, **more)
        return
    body = Sending(data)
    sending = asyncio.run_coroutine_threadsafe(opened._pipe_file(url, body, **more), opened.loop)
    try:
        while not wait([sending], LOOK).done:
            if time.monotonic() - body.moved > CONNECT + REPLY:
                raise TimeoutError
        sending.result()
    finally:
        sending.cancel()


def system(url: str) -> Any:
    """Return the file system of a URL, opened once per process."""
    key = url.partition("://")[0], os.getpid()
    if key not in _OPEN:
        import fsspec
        from fsspec.config import conf

        options = {**OPTIONS.get(kind_of(url), {})}
        for name, value in conf.get(key[0], {}).items():
            ours = options.get(name)
            options[name] = {**ours, **value} if isinstance(ours, dict) and isinstance(value, dict) else value
        if lacking := _lacking(fsspec.get_filesystem_class(key[0]), options):
            message = (
                f"a store of this kind needs more than its address: give fsspec its {lacking}, in its configuration"
            )
            raise StoreError(errno.EINVAL, message, url)
        opened = fsspec.filesystem(key[0], skip_instance_cache=True, use_listings_cache=False, **options)
        _OPEN[key] = _once_only(opened, kind_of(url))
    return _OPEN[key]


def _lacking(kind: type[Any], options: Mapping[str, Any]) -> str:
    """Return the name of a required argument that is missing to open a file system; "" if there is none."""
    wanted = list(signature(kind.__init__).parameters.values())[1:]
    needed = (each.name for each in wanted if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD)
    return next((name for name in needed if name not in options), "")


def _once_only(opened: Any, kind: str) -> Any:
    """Switch off a file system's own retries and messages, since `request` retries for all protocols alike."""
    if kind == "s3":
        opened.retries = 1
    if kind == "gs":
        logging.getLogger("gcsfs").setLevel(logging.CRITICAL + 1)
        if single := getattr(type(opened)._request, "__wrapped__", None):
            opened._request = partial(single, opened)
    if kind == "hf":
        import_module("huggingface_hub.utils").disable_progress_bars()
    return opened


def _explained(url: str, fault: Exception) -> Exception:
    """Return the error of a GET if it is about credentials: a reply to HEAD has no body, and so gives no reason."""
    if kind_of(url) != "s3" or not {_code(each) for each in _causes(fault)} & {"400", "403"}:
        return fault
    try:
        system(url).cat_file(url, start=0, end=1)
    except Exception as fuller:
        return fuller if _is_unknown_user(fuller) else fault
    return fault


def _classify(url: str, fault: Exception) -> tuple[bool, OSError | None]:
    """Return whether a retry may succeed, and the error to raise; None for a bug in the program."""
    chain = list(_causes(fault))
    names = " ".join(f"{type(each).__name__} {_code(each)}" for each in chain)
    message = next((line for each in chain if (line := _first_line(each))), type(fault).__name__)
    root = "/".join(url.split("/")[:3])
    if "NoSuchBucket" in names or "InvalidBucketName" in names:
        return False, StoreError(errno.EIO, f"no bucket {root!r}: create it, or give another", url)
    status = next((number for each in chain if (number := _status(each))), 0)
    if _is_unknown_user(fault) or (status == 401 and not isinstance(fault, FileNotFoundError)):
        wanted = CREDENTIALS.get(kind_of(url), "the credentials of this store")
        return False, StoreError(errno.EACCES, f"no valid credentials ({message}): set {wanted}", url)
    if isinstance(fault, FileNotFoundError) or status == 404:
        return False, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    if isinstance(fault, PermissionError) or status == 403 or message.startswith("Forbidden"):  # as gcsfs says it
        return False, StoreError(
            errno.EACCES, f"access is denied ({message}): use credentials that may read, write and list there", url
        )
    if isinstance(fault, NotImplementedError):
        return False, StoreError(errno.EROFS, "a store of this kind cannot be written", url)
    if any(map(_is_slow, chain)):
        return True, StoreError(errno.EIO, f"the store does not answer in time: {_continue(root)}", url)
    if any(isinstance(each, ConnectionError) or any(name in type(each).__name__ for name in CUT) for each in chain):
        return True, StoreError(errno.EIO, f"the store cannot be reached ({message}): {_continue(root)}", url)
    overtaken = status in MOVED and kind_of(url) == "hf"
    if status in BUSY or overtaken or getattr(fault, "errno", 0) in AT_FAULT:
        return True, StoreError(errno.EIO, f"the store is too busy or at fault ({message}): {_continue(root)}", url)
    if isinstance(fault, ValueError) and "endpoint" in message:
        return False, StoreError(errno.EINVAL, f"invalid store address ({message}): give a URL", url)
    if isinstance(fault, OSError | RuntimeError | ValueError) or type(fault).__module__.partition(".")[0] != "builtins":
        return False, StoreError(
            getattr(fault, "errno", 0) or errno.EIO, f"the store rejected the request ({message})", url
        )
    return False, None


def _is_slow(fault: BaseException) -> bool:
    return isinstance(fault, TimeoutError) or any(name in type(fault).__name__ for name in SLOW)


def _is_unknown_user(fault: Exception) -> bool:
    names = " ".join(f"{type(each).__name__} {_code(each)}" for each in _causes(fault))
    return any(name in names for name in UNKNOWN_USER)


def is_empty(fault: Exception) -> bool:
    """Return whether an error means that an object has none of the requested bytes."""
    return any(_status(each) == RANGE for each in _causes(fault))


def _continue(root: str) -> str:
    return f"see whether {root!r} is up, and run the same command again to continue"


def _causes(fault: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    while fault is not None:
        yield fault
        fault = fault.__cause__ or fault.__context__


def _code(fault: BaseException) -> str:
    """Return the code of an error from an S3 server, or ""."""
    response = getattr(fault, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def _status(fault: BaseException) -> int:
    """Return the HTTP status of a library's error; 0 if there is none."""
    response = getattr(fault, "response", None)
    reported = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    status = reported or getattr(response, "status_code", None) or getattr(fault, "code", None)
    return int(status) if isinstance(status, int | str) and str(status).isdecimal() else 0


def _first_line(fault: BaseException) -> str:
    """Return the first line of an error's message, and the second if the first ends in a colon."""
    first, *more = str(fault).strip().splitlines() or [""]
    return " ".join(" ".join([first, *more[:1]] if first.endswith(":") else [first]).split())[:200]
