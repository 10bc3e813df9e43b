"""A data-set repo on the Hub, accessed with huggingface_hub."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pipeline.errors import HubError, adding
from pipeline.publish.hub.faults import LOG_IN, ErrorTranslator, is_passing, wait_asked

PATIENCE = 120.0
"""Seconds without a byte until a connection counts as dead; by default, the client would wait forever."""


def load_client() -> Any:
    """Return huggingface_hub.

    Raises:
        HubError: if it is not installed.
    """
    try:
        import huggingface_hub
    except ImportError as fault:
        raise HubError(f"huggingface_hub is not installed: {adding('hub')}") from fault
    return huggingface_hub


def read_token() -> str | None:
    """Return the token of the environment or of the last login, if there is one.

    Raises:
        HubError: if it cannot be read, or has characters that cannot be sent.
    """
    hub = load_client()
    try:
        token = hub.get_token()
    except Exception as fault:  # this may renew the login, which can fail in many ways
        raise HubError(f"the token cannot be read ({type(fault).__name__}): {LOG_IN}") from None
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise HubError(f"the token has characters that cannot be sent: copy it again, then {LOG_IN}")
    return token or None


def quieten() -> None:
    """Silence the client's log (errors state what went wrong), show bars only on terminals, and set a timeout."""
    hub = load_client()
    own = hub.utils.get_session()
    more = {"event_hooks": own.event_hooks, "follow_redirects": own.follow_redirects, "timeout": PATIENCE}
    hub.set_client_factory(lambda: type(own)(**more))
    hub.utils.logging.set_verbosity(hub.utils.logging.CRITICAL)
    if not sys.stderr.isatty():
        hub.utils.disable_progress_bars()


BLOCK = 1 << 20
OWN = ".gitattributes"
"""A file that the Hub puts into every repo; it is ignored unless the folder has one too."""
BARRED = frozenset({".git", ".cache", ".huggingface"})
"""Folders whose files the client does not send."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to publish.

    Attributes:
        source: its path.
        size: its size in bytes.
        sha256: its SHA-256, which identifies a large file on the Hub.
        oid: its SHA-1 as a git blob, which identifies a regular file.
    """

    source: Path
    size: int
    sha256: str
    oid: str


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the Hub lists it; `sha256` is None for a regular (not large) file."""

    size: int
    oid: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """How a revision differs from a folder: paths that it lacks or that differ, and paths that only it has."""

    lacking: tuple[str, ...]
    spare: tuple[str, ...]

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return bool(self.lacking or self.spare)

    def __str__(self) -> str:
        """Return the first few paths."""
        paths = [*self.lacking, *(f"{path} (not in the folder)" for path in self.spare)]
        return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def read_folder(folder: Path) -> dict[str, LocalFile]:
    """Return every file below a folder by its path in the repo, in order.

    Raises:
        HubError: if there is none, or one cannot be read or is not allowed in a repo.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    if not paths:
        raise HubError(f"nothing to publish in {str(folder)!r}: give a folder with the files of a release")
    return {_named(path.relative_to(folder)): read_file(path) for path in paths}


def _named(path: Path) -> str:
    barred = BARRED.intersection(path.parts)
    if barred:
        raise HubError(
            f"{path.as_posix()!r} cannot be published, since the Hub takes nothing in {min(barred)}: remove it"
        )
    return path.as_posix()


def read_file(path: Path) -> LocalFile:
    """Return a file with its size and checksums, read once.

    Raises:
        HubError: if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            sha256, oid = hashlib.sha256(), hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
            while block := file.read(BLOCK):
                sha256.update(block)
                oid.update(block)
    except OSError as fault:
        raise HubError(f"{str(path)!r} cannot be read ({fault.strerror}): make it readable") from fault
    return LocalFile(path, size, sha256.hexdigest(), oid.hexdigest())


def is_same(here: LocalFile, there: HubFile) -> bool:
    """Return whether a file on the Hub has the same bytes, by its checksum."""
    return here.sha256 == there.sha256 if there.sha256 else here.oid == there.oid


def compared(here: Mapping[str, LocalFile], there: Mapping[str, HubFile]) -> Difference:
    """Return what would have to be added and removed for a revision to equal the folder."""
    lacking = (path for path, file in here.items() if path not in there or not is_same(file, there[path]))
    return Difference(tuple(lacking), tuple(path for path in sorted(there) if path not in here and path != OWN))


T = TypeVar("T")
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between tries of a call that the client does not retry itself."""
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Refs:
    """Branches and tags of a repo, each with its commit."""

    branches: Mapping[str, str]
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Edit:
    """The changes of a commit.

    Attributes:
        files: files to add or replace, by path.
        dropped: paths to delete.
        copied: paths in `files` that are copied from the commit `source` and not sent; only large files can be.
        source: a commit of the same repo.
    """

    files: Mapping[str, LocalFile]
    dropped: Sequence[str] = ()
    copied: Sequence[str] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A data-set repo.

    Attributes:
        name: ``org/name``.
        api: the client.
        translator: turns the client's exceptions into errors.
        waits: seconds between tries of a call that the client does not retry itself.
        pause: a function that sleeps.
    """

    name: str
    api: Any
    translator: ErrorTranslator
    waits: Sequence[float] = WAITS
    pause: Callable[[float], None] = time.sleep

    def visibility(self) -> str:
        """Return ``public`` or ``private``, or "" if there is no such repo; not retried, since nothing is lost yet."""
        try:
            info = self._called(lambda: self.api.repo_info(self.name, repo_type="dataset"))
        except HubError as fault:
            # Without a token, the Hub answers 401 for repos that do not exist.
            if fault.status == 404 or (fault.status == 401 and not self.translator.token):
                return ""
            raise
        return "private" if info.private else "public"

    def create(self, *, private: bool) -> None:
        """Create the repo, unless it exists."""
        self._retried(lambda: self.api.create_repo(self.name, repo_type="dataset", private=private, exist_ok=True))

    def refs(self) -> Refs:
        """Return its branches and tags."""
        listed = self._retried(lambda: self.api.list_repo_refs(self.name, repo_type="dataset"))
        named = ({ref.name: ref.target_commit for ref in refs} for refs in (listed.branches, listed.tags))
        return Refs(*named)

    def files(self, revision: str) -> dict[str, HubFile]:
        """Return the files of a revision by path."""

        def listed() -> list[Any]:
            return list(self.api.list_repo_tree(self.name, repo_type="dataset", revision=revision, recursive=True))

        entries = (entry for entry in self._called(listed) if hasattr(entry, "blob_id"))
        return {e.path: HubFile(e.size, e.blob_id, e.lfs.sha256 if e.lfs else None) for e in entries}

    def fetch(self, commit: str, patterns: Sequence[str] | None, cache: Path | None) -> Path:
        """Return a folder with the files of a commit; files in the cache are not fetched again."""
        return self._called(
            lambda: Path(
                load_client().snapshot_download(
                    self.name,
                    repo_type="dataset",
                    revision=commit,
                    allow_patterns=list(patterns) if patterns else None,
                    cache_dir=cache,
                    endpoint=self.api.endpoint,
                    token=self.api.token,
                )
            )
        )

    def branch(self, name: str, at: str) -> None:
        """Create a branch at a commit, unless it exists."""
        self._retried(
            lambda: self.api.create_branch(self.name, repo_type="dataset", branch=name, revision=at, exist_ok=True)
        )

    def drop_branch(self, name: str) -> None:
        """Delete a branch, if it exists."""
        try:
            self._retried(lambda: self.api.delete_branch(self.name, repo_type="dataset", branch=name))
        except HubError as fault:
            if fault.status != 404:
                raise

    def tag(self, name: str, at: str) -> None:
        """Tag a commit.

        Raises:
            HubError: if the Hub refuses, or the tag already exists at another commit.
        """
        try:
            self._retried(lambda: self.api.create_tag(self.name, repo_type="dataset", tag=name, revision=at))
        except HubError as fault:
            if fault.status != 409:
                raise
            if self.refs().tags.get(name) != at:
                raise HubError(
                    f"{self.name}: somebody else has created tag {name} in the meantime: check what it holds"
                ) from fault

    def put(self, branch: str, change: Edit, message: str, parent: str) -> str:
        """Commit a change on top of `parent`, and return the commit.

        Large files that the Hub already has are not sent again; with LFS, that includes those of a commit that failed.

        Raises:
            HubError: if the Hub refuses; its status is 412 if the branch is not at `parent`.
        """
        hub = load_client()
        sent = {path: file for path, file in change.files.items() if path not in change.copied}
        added = [hub.CommitOperationAdd(path, str(file.source)) for path, file in sent.items()]
        copied = [hub.CommitOperationCopy(path, path, src_revision=change.source) for path in change.copied]
        dropped = [hub.CommitOperationDelete(path, is_folder=False) for path in change.dropped]
        # The client retries parts of an upload, but not the commit itself.
        self._called(
            lambda: self.api.preupload_lfs_files(
                self.name, added, repo_type="dataset", revision=branch, free_memory=False
            )
        )
        return self._committed(branch, [*added, *copied, *dropped], change, message, parent)

    def _committed(self, branch: str, operations: Sequence[Any], change: Edit, message: str, parent: str) -> str:
        """Send a commit, again if it fails; if only the reply to it was lost, find it on the branch."""
        tries: list[str] = []

        def once() -> str:
            at = self.refs().branches.get(branch, "") if tries else parent
            tries.append(at)
            return at if at != parent and self._has(at, change) else self._sent(branch, operations, message, parent)

        return self._retried(once)

    def _has(self, commit: str, change: Edit) -> bool:
        there = self.files(commit) if commit else {}
        kept = all(path in there and is_same(file, there[path]) for path, file in change.files.items())
        return kept and there.keys().isdisjoint(change.dropped)

    def _sent(self, branch: str, operations: Sequence[Any], message: str, parent: str) -> str:
        made = self.api.create_commit(
            self.name, operations, repo_type="dataset", revision=branch, commit_message=message, parent_commit=parent
        )
        return str(made.oid)

    def _retried(self, call: Callable[[], T]) -> T:
        """Make an idempotent call that the client does not retry itself."""
        return self._called(call, self.waits)

    def _called(self, call: Callable[[], T], waits: Sequence[float] = ()) -> T:
        """Make a call, and retry it after each wait; most calls need no `waits`, since the client retries them."""
        for wait in (*waits, None):
            try:
                return call()
            except HubError:  # a nested call has had its own tries
                raise
            except Exception as fault:
                asked = wait_asked(fault)
                if wait is None or asked > LONGEST_WAIT or not is_passing(fault):
                    self._give_up(fault)
                self.pause(asked or wait or 0)
        raise AssertionError("the last try has returned or raised")

    def _give_up(self, fault: Exception) -> NoReturn:
        error = self.translator.error(fault, self.name)
        if error is None:
            raise fault
        raise error from (None if self.translator.tells(fault) else fault)


def connect(name: str, *, write: bool, pause: Callable[[float], None] = time.sleep) -> HubRepo:
    """Return a repo; `write` adds retries to those of the client.

    Raises:
        HubError: if huggingface_hub is not installed, or `write` is set and there is no token.
    """
    token = read_token()
    if write and not token:
        raise HubError(f"{name}: publishing needs a token: {LOG_IN}")
    quieten()
    hub = load_client()
    # False, not None, or the client would look for a token again.
    api = hub.HfApi(endpoint=hub.constants.ENDPOINT, token=token or False)
    return HubRepo(name, api, ErrorTranslator(api.endpoint, token), WAITS if write else (), pause)
