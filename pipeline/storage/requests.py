"""Asking a store through fsspec: what is tried again, how long, and what is said when it does not answer.

Nothing here keeps a listing: another worker writes at the same time. A file system of fsspec may not cross a fork, so
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
"""Seconds between attempts at what may go well the next time."""
LONGEST = 15.0
"""Seconds after the first attempt when no other begins: with CONNECT and REPLY, a dead store is named within 32."""
CONNECT, REPLY = 5, 12
"""Seconds to wait for a connection, and for a first byte after a request has been sent."""
ONCE_MORE = 5.0
"""Seconds after an attempt that was under way and ended in silence when no other begins."""
SUSPECT = 60.0
"""Seconds in which a store that was silent is asked once and no more: what a command that fails clears away."""
LOOK = 0.5
"""Seconds between looks at how an upload gets on."""
OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "config_kwargs": {"connect_timeout": CONNECT, "read_timeout": REPLY, "retries": {"total_max_attempts": 1}},
        "max_concurrency": 1,
    },
    "gs": {"requests_timeout": 30},  # of a whole request, also of one that sends a shard
}
"""How the file system of a protocol is opened, beside what the user's configuration of fsspec says."""
LIMITED = frozenset({"gs"})
"""Protocols with a limit for whole requests: silence takes as long there as a slow line."""
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "hf": "HF_TOKEN",
}
"""What a user sets to be let in."""
ALIASES = {"s3a": "s3", "gcs": "gs"}
UNKNOWN_USER = (
    "NoCredentials", "PartialCredentials", "CredentialRetrieval", "DefaultCredentials", "TokenRetrieval", "SSOToken",
    "LocalTokenNotFound", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "ProfileNotFound",
)  # fmt: skip
"""Names, or parts of them, that libraries give to the lack of valid credentials."""
SLOW = ("Timeout", "TimedOut")
CUT = ("Connect", "Incomplete", "ClientPayload", "ServerDisconnected", "HTTPClientError", "ResponseParser")
"""... and to what the network is guilty of."""
BUSY = frozenset({429, 500, 502, 503, 504})
"""Status codes of a store that may answer the next time."""
AT_FAULT = frozenset({errno.EBUSY, getattr(errno, "EREMOTEIO", errno.EBUSY)})
"""... and what s3fs makes of them."""
MOVED = frozenset({409, 412})
"""... and of one where each change is a commit, and another came first."""
RANGE = 416
"""... and of one that has fewer bytes than were asked for."""
_OPEN: dict[tuple[str, int], Any] = {}
_SILENT: dict[str, float] = {}
"""Buckets that did not answer, and until when they are suspects."""


class StoreError(OSError):
    """A store does not do what it was asked; the text is one line, and names the place."""

    def __str__(self) -> str:
        """Return the line."""
        return f"{self.filename!r}: {self.strerror}"


def kind_of(url: str) -> str:
    """Return the protocol of a URL under its usual name."""
    protocol = url.partition("://")[0]
    return ALIASES.get(protocol, protocol)


def request(url: str, act: Callable[[Any], R]) -> R:
    """Return what a store says; what may pass is tried again, a few times and for a while.

    An attempt that took longer than a store may be silent was under way: a large object over a slow line. If it was
    cut, the while begins anew, so that it is tried as often as a small one; if silence ended it, it is tried once more.

    Args:
        url: what is asked for.
        act: asks a file system of fsspec.

    Raises:
        FileNotFoundError: if nothing is there.
        StoreError: if the store refuses or does not answer.
    """
    root = "/".join(url.split("/")[:3])
    end = time.monotonic() + (0 if time.monotonic() < _SILENT.get(root, 0) else LONGEST)
    for pause in (*PAUSES, None):
        begun = time.monotonic()
        try:
            found = act(system(url))
            _SILENT.pop(root, None)
            return found
        except StoreError:
            raise
        except Exception as fault:
            silent = any(map(_is_slow, _causes(fault)))
            if time.monotonic() - begun > CONNECT + REPLY + 2 * LOOK and not (silent and kind_of(url) in LIMITED):
                end = time.monotonic() + (ONCE_MORE if silent else LONGEST)
            again, told = _told(url, _explained(url, fault))
            if told is None:
                raise
            if not again or pause is None or time.monotonic() + pause > end:
                if silent:
                    _SILENT[root] = time.monotonic() + SUSPECT
                raise told from fault
        time.sleep(pause)
    raise AssertionError


class Sending(io.BytesIO):
    """The bytes of an object on their way to a store, which notes when some of them were last taken."""

    def __init__(self, whole: bytes) -> None:
        super().__init__(whole)
        self._size, self.moved = len(whole), time.monotonic()

    def __len__(self) -> int:
        """Return how many bytes there are in all."""
        return self._size

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        self.moved = time.monotonic()
        return super().read(size)


def send(opened: Any, url: str, data: bytes, **more: Any) -> None:
    """Put an object by one request, which ends when nothing of it has moved for as long as a store may be silent.

    What speaks S3 for us waits without end for a server that takes no more bytes: its timeout is for replies.

    Raises:
        TimeoutError: if the store is silent.
    """
    if kind_of(url) != "s3":
        opened.pipe_file(url, data, **more)
        return
    body = Sending(data)
    asked = asyncio.run_coroutine_threadsafe(opened._pipe_file(url, body, **more), opened.loop)
    try:
        while not wait([asked], LOOK).done:
            if time.monotonic() - body.moved > CONNECT + REPLY:
                raise TimeoutError
        asked.result()
    finally:
        asked.cancel()


def system(url: str) -> Any:
    """Return the file system of a URL, opened once in a process."""
    key = url.partition("://")[0], os.getpid()
    if key not in _OPEN:
        import fsspec
        from fsspec.config import conf

        options = {**OPTIONS.get(kind_of(url), {})}
        for name, value in conf.get(key[0], {}).items():
            ours = options.get(name)
            options[name] = {**ours, **value} if isinstance(ours, dict) and isinstance(value, dict) else value
        if lacking := _lacking(fsspec.get_filesystem_class(key[0]), options):
            said = f"a store of this kind needs more than its address: give fsspec its {lacking}, in its configuration"
            raise StoreError(errno.EINVAL, said, url)
        opened = fsspec.filesystem(key[0], skip_instance_cache=True, use_listings_cache=False, **options)
        _OPEN[key] = _once_only(opened, kind_of(url))
    return _OPEN[key]


def _lacking(kind: type[Any], options: Mapping[str, Any]) -> str:
    """Return the name of an argument that a file system cannot be opened without; nothing if it has all."""
    wanted = list(signature(kind.__init__).parameters.values())[1:]
    needed = (each.name for each in wanted if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD)
    return next((name for name in needed if name not in options), "")


def _once_only(opened: Any, kind: str) -> Any:
    """Have a file system make one attempt and say nothing: others are made here, for all protocols alike."""
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
    """Return what is said of credentials if more is asked for: a reply to HEAD has no body, and gives no reason."""
    if kind_of(url) != "s3" or not {_code(each) for each in _causes(fault)} & {"400", "403"}:
        return fault
    try:
        system(url).cat_file(url, start=0, end=1)
    except Exception as fuller:
        return fuller if _is_unknown_user(fuller) else fault
    return fault


def _told(url: str, fault: Exception) -> tuple[bool, OSError | None]:
    """Return whether a fault may pass, and what is said of it; None for a fault of the program."""
    chain = list(_causes(fault))
    names = " ".join(f"{type(each).__name__} {_code(each)}" for each in chain)
    said = next((line for each in chain if (line := _first_line(each))), type(fault).__name__)
    root = "/".join(url.split("/")[:3])
    if "NoSuchBucket" in names or "InvalidBucketName" in names:
        return False, StoreError(errno.EIO, f"no bucket {root!r}: create it, or give another", url)
    status = next((number for each in chain if (number := _status(each))), 0)
    if _is_unknown_user(fault) or (status == 401 and not isinstance(fault, FileNotFoundError)):
        wanted = CREDENTIALS.get(kind_of(url), "the credentials of this store")
        return False, StoreError(errno.EACCES, f"no valid credentials ({said}): set {wanted}", url)
    if isinstance(fault, FileNotFoundError) or status == 404:
        return False, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    if isinstance(fault, PermissionError) or status == 403 or said.startswith("Forbidden"):  # as gcsfs says it
        return False, StoreError(
            errno.EACCES, f"access is denied ({said}): use credentials that may read, write and list there", url
        )
    if isinstance(fault, NotImplementedError):
        return False, StoreError(errno.EROFS, "a store of this kind cannot be written", url)
    if any(map(_is_slow, chain)):
        return True, StoreError(errno.EIO, f"the store does not answer in time: {_continue(root)}", url)
    if any(isinstance(each, ConnectionError) or any(name in type(each).__name__ for name in CUT) for each in chain):
        return True, StoreError(errno.EIO, f"the store cannot be reached ({said}): {_continue(root)}", url)
    overtaken = status in MOVED and kind_of(url) == "hf"
    if status in BUSY or overtaken or getattr(fault, "errno", 0) in AT_FAULT:
        return True, StoreError(errno.EIO, f"the store is too busy or at fault ({said}): {_continue(root)}", url)
    if isinstance(fault, ValueError) and "endpoint" in said:
        return False, StoreError(errno.EINVAL, f"invalid store address ({said}): give a URL", url)
    if isinstance(fault, OSError | RuntimeError | ValueError) or type(fault).__module__.partition(".")[0] != "builtins":
        return False, StoreError(
            getattr(fault, "errno", 0) or errno.EIO, f"the store rejected the request ({said})", url
        )
    return False, None


def _is_slow(fault: BaseException) -> bool:
    return isinstance(fault, TimeoutError) or any(name in type(fault).__name__ for name in SLOW)


def _is_unknown_user(fault: Exception) -> bool:
    names = " ".join(f"{type(each).__name__} {_code(each)}" for each in _causes(fault))
    return any(name in names for name in UNKNOWN_USER)


def is_empty(fault: Exception) -> bool:
    """Tell whether a store says that an object has not one of the bytes that were asked for."""
    return any(_status(each) == RANGE for each in _causes(fault))


def _continue(root: str) -> str:
    return f"see whether {root!r} is up, and run the same command again to continue"


def _causes(fault: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it was raised from."""
    while fault is not None:
        yield fault
        fault = fault.__cause__ or fault.__context__


def _code(fault: BaseException) -> str:
    """Return the code of an error that a server of S3 sent."""
    response = getattr(fault, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def _status(fault: BaseException) -> int:
    """Return the HTTP status that an error of a library holds; 0 if there is none."""
    response = getattr(fault, "response", None)
    told = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    found = told or getattr(response, "status_code", None) or getattr(fault, "code", None)
    return int(found) if isinstance(found, int | str) and str(found).isdecimal() else 0


def _first_line(fault: BaseException) -> str:
    """Return the first line of what an error says, with the second if it ends in a colon."""
    first, *more = str(fault).strip().splitlines() or [""]
    return " ".join(" ".join([first, *more[:1]] if first.endswith(":") else [first]).split())[:200]
