"""One data-set repo on the Hub, through the Hub's own client."""

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
from pipeline.publish.hub.faults import LOG_IN, Speaker, is_passing, wait_asked

PATIENCE = 120.0
"""Seconds without a byte until a connection counts as dead; the client itself would wait for ever."""


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
        HubError: if none can be had where one is promised, or no request can carry it.
    """
    hub = load_client()
    try:
        token = hub.get_token()
    except Exception as fault:  # a login may be renewed at this moment, and fail in many ways
        raise HubError(f"the token cannot be read ({type(fault).__name__}): {LOG_IN}") from None
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise HubError(f"the token has characters that cannot be sent: copy it again, then {LOG_IN}")
    return token or None


def quieten() -> None:
    """Leave it to errors to say what went wrong, show bars on terminals only, and wait for no server for ever."""
    hub = load_client()
    own = hub.utils.get_session()
    more = {"event_hooks": own.event_hooks, "follow_redirects": own.follow_redirects, "timeout": PATIENCE}
    hub.set_client_factory(lambda: type(own)(**more))
    hub.utils.logging.set_verbosity(hub.utils.logging.CRITICAL)
    if not sys.stderr.isatty():
        hub.utils.disable_progress_bars()


BLOCK = 1 << 20
OWN = ".gitattributes"
"""What the Hub puts into every repo; no file of a release unless the folder has one too."""
BARRED = frozenset({".git", ".cache", ".huggingface"})
"""Folders that the client sends no file of."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to publish.

    Attributes:
        source: where it lies.
        size: in bytes.
        sha256: of its bytes, the name of a large file on the Hub.
        oid: SHA-1 as git has it, the name of a regular one.
    """

    source: Path
    size: int
    sha256: str
    oid: str


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the Hub lists it; `sha256` is None for a regular one."""

    size: int
    oid: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """What makes a revision differ from a folder: paths that it lacks or has otherwise, and paths it has too many."""

    lacking: tuple[str, ...]
    spare: tuple[str, ...]

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.lacking or self.spare)

    def __str__(self) -> str:
        """Name the first few paths."""
        said = [*self.lacking, *(f"{path} (not in the folder)" for path in self.spare)]
        return ", ".join(said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")


def read_folder(folder: Path) -> dict[str, LocalFile]:
    """Return every file below a folder by its path in the repo, in order.

    Raises:
        HubError: if there is none, one cannot be read, or one can have no place in a repo.
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
    """Return a file's size and both its names, read once.

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
    """Tell whether the Hub has these very bytes, by the checksum that it keeps of them."""
    return here.sha256 == there.sha256 if there.sha256 else here.oid == there.oid


def compared(here: Mapping[str, LocalFile], there: Mapping[str, HubFile]) -> Difference:
    """Return what a revision would have to get and lose to be the folder."""
    lacking = (path for path, file in here.items() if path not in there or not is_same(file, there[path]))
    return Difference(tuple(lacking), tuple(path for path in sorted(there) if path not in here and path != OWN))


T = TypeVar("T")
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between the tries of a call that the client sends only once."""
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Refs:
    """Branches and tags of a repo, each with the commit that it names."""

    branches: Mapping[str, str]
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Edit:
    """What a commit does.

    Attributes:
        files: what is there afterwards, by path.
        dropped: paths that are not.
        copied: those of the files that commit `source` has, large ones: they are not sent.
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
        speaker: words its faults.
        waits: seconds between the tries of a call that the client sends only once.
        pause: how to wait.
    """

    name: str
    api: Any
    speaker: Speaker
    waits: Sequence[float] = WAITS
    pause: Callable[[float], None] = time.sleep

    def visibility(self) -> str:
        """Return ``public`` or ``private``, or nothing if there is no such repo. Asked once: nothing is lost yet."""
        try:
            found = self._called(lambda: self.api.repo_info(self.name, repo_type="dataset"))
        except HubError as fault:
            # To somebody without a token the Hub does not say which repos there are.
            if fault.status == 404 or (fault.status == 401 and not self.speaker.token):
                return ""
            raise
        return "private" if found.private else "public"

    def create(self, *, private: bool) -> None:
        """Create the repo, unless it is there."""
        self._retried(lambda: self.api.create_repo(self.name, repo_type="dataset", private=private, exist_ok=True))

    def refs(self) -> Refs:
        """Return its branches and tags."""
        found = self._retried(lambda: self.api.list_repo_refs(self.name, repo_type="dataset"))
        named = ({ref.name: ref.target_commit for ref in refs} for refs in (found.branches, found.tags))
        return Refs(*named)

    def files(self, revision: str) -> dict[str, HubFile]:
        """Return the files of a revision by path."""

        def listed() -> list[Any]:
            return list(self.api.list_repo_tree(self.name, repo_type="dataset", revision=revision, recursive=True))

        entries = (entry for entry in self._called(listed) if hasattr(entry, "blob_id"))
        return {e.path: HubFile(e.size, e.blob_id, e.lfs.sha256 if e.lfs else None) for e in entries}

    def fetch(self, commit: str, patterns: Sequence[str] | None, cache: Path | None) -> Path:
        """Return a folder with the files of a commit; what the cache has is not fetched again."""
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
        """Start a branch at a commit, unless it is there."""
        self._retried(
            lambda: self.api.create_branch(self.name, repo_type="dataset", branch=name, revision=at, exist_ok=True)
        )

    def drop_branch(self, name: str) -> None:
        """Delete a branch, if it is there."""
        try:
            self._retried(lambda: self.api.delete_branch(self.name, repo_type="dataset", branch=name))
        except HubError as fault:
            if fault.status != 404:
                raise

    def tag(self, name: str, at: str) -> None:
        """Tag a commit.

        Raises:
            HubError: if the Hub refuses, or the tag names another commit.
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

    def put(self, branch: str, change: Edit, say: str, parent: str) -> str:
        """Commit a change on top of `parent`; returns the commit.

        Bytes that the Hub has are not sent again, and those that arrive stay there whatever becomes of the commit.

        Raises:
            HubError: if the Hub refuses; its status is 412 if the branch is not at `parent`.
        """
        hub = load_client()
        sent = {path: file for path, file in change.files.items() if path not in change.copied}
        added = [hub.CommitOperationAdd(path, str(file.source)) for path, file in sent.items()]
        copied = [hub.CommitOperationCopy(path, path, src_revision=change.source) for path in change.copied]
        dropped = [hub.CommitOperationDelete(path, is_folder=False) for path in change.dropped]
        # The client tries the parts of an upload again by itself; what is left for the commit it sends once.
        self._called(
            lambda: self.api.preupload_lfs_files(
                self.name, added, repo_type="dataset", revision=branch, free_memory=False
            )
        )
        return self._committed(branch, [*added, *copied, *dropped], change, say, parent)

    def _committed(self, branch: str, operations: Sequence[Any], change: Edit, say: str, parent: str) -> str:
        """Send a commit, until one arrives: the reply may be lost, and not what it answers."""
        tries: list[str] = []

        def once() -> str:
            at = self.refs().branches.get(branch, "") if tries else parent
            tries.append(at)
            return at if at != parent and self._has(at, change) else self._sent(branch, operations, say, parent)

        return self._retried(once)

    def _has(self, commit: str, change: Edit) -> bool:
        there = self.files(commit) if commit else {}
        kept = all(path in there and is_same(file, there[path]) for path, file in change.files.items())
        return kept and there.keys().isdisjoint(change.dropped)

    def _sent(self, branch: str, operations: Sequence[Any], say: str, parent: str) -> str:
        made = self.api.create_commit(
            self.name, operations, repo_type="dataset", revision=branch, commit_message=say, parent_commit=parent
        )
        return str(made.oid)

    def _retried(self, call: Callable[[], T]) -> T:
        """Make a call that the client sends once, and that may be sent again whatever became of it."""
        return self._called(call, self.waits)

    def _called(self, call: Callable[[], T], waits: Sequence[float] = ()) -> T:
        """Make a call, and again after each wait; the client sends most calls more than once by itself."""
        for wait in (*waits, None):
            try:
                return call()
            except HubError:  # a call within this one has had its own tries
                raise
            except Exception as fault:
                asked = wait_asked(fault)
                if wait is None or asked > LONGEST_WAIT or not is_passing(fault):
                    self._give_up(fault)
                self.pause(asked or wait or 0)
        raise AssertionError("the last try has returned or raised")

    def _give_up(self, fault: Exception) -> NoReturn:
        error = self.speaker.error(fault, self.name)
        if error is None:
            raise fault
        raise error from (None if self.speaker.tells(fault) else fault)


def connect(name: str, *, write: bool, pause: Callable[[float], None] = time.sleep) -> HubRepo:
    """Return a repo. Who only reads loses nothing by an error, and gets it at once.

    Raises:
        HubError: if there is no client, or no token where one is needed.
    """
    token = read_token()
    if write and not token:
        raise HubError(f"{name}: publishing needs a token: {LOG_IN}")
    quieten()
    hub = load_client()
    # False, and not None: the client would look for a token again.
    api = hub.HfApi(endpoint=hub.constants.ENDPOINT, token=token or False)
    return HubRepo(name, api, Speaker(api.endpoint, token), WAITS if write else (), pause)
