"""A release: uploaded to a branch, proven there, moved to main in one commit, tagged.

Every step looks at what is there before it does anything, so that the same command goes on after any failure::

    tag there    -> the same files: done; other files: an error, a tag is never moved
    main is it   -> tag it
    otherwise    -> branch release-v<version>, upload what it lacks, compare every checksum
                    -> one commit on main, on top of the one that was seen at the start -> compare again -> tag it

The Hub moves no branch, so that main gets one commit of its own: large files are taken over from the branch by their
checksums, regular ones, which are small, are sent along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pipeline.errors import HubError
from pipeline.publish.hub.client import Edit, HubRepo, Refs, connect
from pipeline.publish.hub.fetching import check_name, newest, version_of
from pipeline.publish.hub.files import LocalFile, compared, read_folder
from pipeline.terminal.numbers import size

BATCH = 50
"""Files in one commit on the branch; the Hub advises less than 100."""
BATCH_BYTES = 256 * 1024 * 1024
"""Bytes in one; by LFS every file that has arrived is kept, by Xet those of a lot that is whole."""
MAIN = "main"
CARD = "README.md"


@dataclass(frozen=True, slots=True)
class Released:
    """What a release came to.

    Attributes:
        repo: ``org/name``.
        tag: of the version.
        commit: that the tag names.
        files: how many it has.
        fresh: False if it was there already, and nothing was done.
    """

    repo: str
    tag: str
    commit: str
    files: int
    fresh: bool


def release(
    folder: Path,
    repo: str,
    version: str,
    *,
    private: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Released:
    """Publish every file below a folder, and nothing else, as ``v<version>`` of a data-set repo.

    Args:
        folder: what is published, as it is.
        repo: ``org/name``; created if it is not there.
        version: of the data set, as in ``1.0.0``.
        private: the repo must be, or become, a private one.
        say: told of each step.
    """
    check_name(repo)
    check_version(version)
    files = read_folder(folder)
    return _Release(connect(repo, write=True), files, f"v{version}", private, say).run()


def check_version(version: str) -> None:
    """Check that a version is one.

    Raises:
        HubError: naming it.
    """
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?", version):
        raise HubError(f"version {version!r} is not valid: give three numbers, such as 1.0.0")


@dataclass(frozen=True, slots=True)
class _Release:
    hub: HubRepo
    files: Mapping[str, LocalFile]
    tag: str
    private: bool
    say: Callable[[str], None]

    @property
    def side(self) -> str:
        """The branch that is uploaded to."""
        return f"release-{self.tag}"

    def run(self) -> Released:
        whole = sum(file.size for file in self.files.values())
        self.say(f"{self.hub.name}: {self.tag} has {len(self.files)} files, {size(whole)}")
        self._open()
        refs = self.hub.refs()
        if self.tag in refs.tags:
            return self._there(refs)
        self._newest_of(refs)
        head = refs.branches[MAIN]
        if compared(self.files, self.hub.files(head)):
            head = self._move(self._fill(refs, head), head)
        self.hub.tag(self.tag, head)
        self.hub.drop_branch(self.side)
        self.say(f"{self.hub.name}: {self.tag} is published, {len(self.files)} files")
        return self._released(head, fresh=True)

    def _released(self, commit: str, *, fresh: bool) -> Released:
        return Released(self.hub.name, self.tag, commit, len(self.files), fresh)

    def _open(self) -> None:
        """Create the repo, or see that what is there is as private as it has to be."""
        found = self.hub.visibility()
        if not found:
            self.hub.create(private=self.private)
            self.say(f"{self.hub.name}: created")
        elif self.private and found != "private":
            raise HubError(f"{self.hub.name} is public, but these files must stay private: make the repo private first")

    def _there(self, refs: Refs) -> Released:
        """Compare with what the tag has; a branch that was left behind is not needed any more."""
        commit = refs.tags[self.tag]
        differs = compared(self.files, self.hub.files(commit))
        if differs:
            raise HubError(
                f"{self.hub.name}: {self.tag} already exists with different files ({differs}), and a tag is "
                "never moved: raise the version"
            )
        if self.side in refs.branches:
            self.hub.drop_branch(self.side)
        self.say(f"{self.hub.name}: {self.tag} already exists; nothing was uploaded")
        return self._released(commit, fresh=False)

    def _newest_of(self, refs: Refs) -> None:
        """Refuse to move main back to an older version."""
        last = newest(refs.tags)
        if last and version_of(last) > version_of(self.tag):
            raise HubError(f"{self.hub.name} is already at {last}, which is newer than {self.tag}: raise the version")

    def _fill(self, refs: Refs, head: str) -> str:
        """Make the branch what the folder is, and return its commit."""
        at = refs.branches.get(self.side, "")
        if not at:
            self.hub.branch(self.side, head)
            at = head
        differs = compared(self.files, self.hub.files(at))
        parts = list(batches(differs.lacking, {path: file.size for path, file in self.files.items()}))
        for number, part in enumerate(parts, 1):
            self.say(f"{self.hub.name}: uploading {len(part)} files ({number} of {len(parts)})")
            at = self._commit(at, Edit({path: self.files[path] for path in part}))
        for part in batches(differs.spare):
            at = self._commit(at, Edit({}, part))
        return self._proven(at, f"branch {self.side}")

    def _commit(self, at: str, change: Edit) -> str:
        try:
            return self.hub.put(self.side, change, f"Files of {self.tag}", at)
        except HubError as fault:
            if fault.status != 412:
                raise
            raise HubError(
                f"{self.hub.name}: somebody else is writing to branch {self.side}: wait until that has "
                "finished, then run this again",
                status=412,
            ) from fault

    def _proven(self, commit: str, where: str) -> str:
        """Compare every checksum of a commit with the folder, and return it."""
        differs = compared(self.files, self.hub.files(commit))
        if differs:
            raise HubError(
                f"{self.hub.name}: {where} does not match what was sent ({differs}): run the same command again"
            )
        self.say(f"{self.hub.name}: {len(self.files)} checksums agree on {where}")
        return commit

    def _move(self, side: str, head: str) -> str:
        """Put what the branch has on main in one commit, on top of the commit that was seen at the start."""
        differs, proven = compared(self.files, self.hub.files(head)), self.hub.files(side)
        large = [path for path in differs.lacking if proven[path].sha256]
        change = Edit({path: self.files[path] for path in differs.lacking}, differs.spare, large, side)
        try:
            at = self.hub.put(MAIN, change, f"Release {self.tag}", head)
        except HubError as fault:
            if fault.status != 412:
                raise
            raise HubError(
                f"{self.hub.name}: main has moved on from {head[:12]} in the meantime: check what changed, then "
                "run the same command again; nothing is uploaded twice",
                status=412,
            ) from fault
        return self._proven(at, "main")


def batches(paths: Sequence[str], sizes: Mapping[str, int] = MappingProxyType({})) -> Iterator[list[str]]:
    """Yield paths in lots that the Hub takes at once; the card, which it may refuse, alone and first.

    >>> list(batches(["a", "README.md", "b"]))
    [['README.md'], ['a', 'b']]
    """
    if CARD in paths:
        yield [CARD]
    lot: list[str] = []
    for path in paths:
        if path == CARD:
            continue
        if lot and (len(lot) == BATCH or sum(sizes.get(each, 0) for each in (*lot, path)) > BATCH_BYTES):
            yield lot
            lot = []
        lot.append(path)
    if lot:
        yield lot
