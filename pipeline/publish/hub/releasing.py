"""Releasing: upload to a branch, compare checksums, put everything on main in one commit, tag it.

Every step checks the present state first, so that the same command continues after any failure::

    tag exists     -> with the same files: done; with other files: an error, since a tag is never moved
    main is equal  -> tag it
    otherwise      -> branch release-v<version>, upload what it lacks, compare every checksum
                      -> one commit on main, on top of the one seen at the start -> compare again -> tag it

The Hub cannot move a branch, so main gets a commit of its own: large files are copied from the branch, and regular
files, which are small, are sent again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pipeline.errors import HubError
from pipeline.publish.hub.client import (
    Edit,
    HubFile,
    HubRepo,
    LocalFile,
    Refs,
    compared,
    connect,
    is_same,
    read_file,
    read_folder,
)
from pipeline.terminal.text import size

NAME = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?<![.-])", re.ASCII)
MAX_NAME_CHARACTERS = 96


def check_name(repo: str) -> None:
    """Check that a repo's name is valid.

    Raises:
        HubError: if it is not.
    """
    if not NAME.fullmatch(repo) or len(repo) > MAX_NAME_CHARACTERS:
        raise HubError(f"{repo!r} is not the name of a repo: give org/name, made of letters, digits and . _ -")


def parse_repo(text: str) -> tuple[str, str | None]:
    """Parse ``org/name@v1.0.0``; the tag is None if there is none.

    >>> parse_repo("org/name@v1.0.0")
    ('org/name', 'v1.0.0')

    Raises:
        HubError: if the name is not valid, or the tag is empty.
    """
    name, at, tag = text.removeprefix("hf://").removeprefix("datasets/").partition("@")
    check_name(name)
    if at and not tag:
        raise HubError(f"{text!r} has no tag after the @: give one, such as {name}@v1.0.0")
    return name, tag or None


def version_of(tag: str) -> tuple[tuple[int, ...], bool, str]:
    """Return the sort key of a version's tag; pre-releases come before their release."""
    number, _, early = tag.removeprefix("v").partition("-")
    return tuple(int(part) for part in number.split(".")), not early, early


def newest(tags: Iterable[str]) -> str:
    """Return the tag of the latest version, or "" if no tag is a version.

    >>> newest(["v1.9.0", "v1.10.0", "draft"])
    'v1.10.0'
    """
    versions = (tag for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", tag))
    return max(versions, key=version_of, default="")


def download(
    repo: str,
    revision: str | None,
    *,
    patterns: Sequence[str] | None = None,
    cache: Path | None = None,
) -> Path:
    """Return a folder with the files of a revision; files in the cache are not fetched again.

    Every file, even from the cache, is compared with its checksum on the Hub.

    Args:
        repo: ``org/name``.
        revision: a tag, or the id of a commit.
        patterns: fetch only files that match one of them, such as ``data/*/32k/*``.
        cache: the cache's folder; by default the client's own.
    """
    check_name(repo)
    hub = connect(repo, write=False)
    commit = commit_of(hub, revision)
    folder = hub.fetch(commit, patterns, cache)
    check_files(hub, folder, commit)
    return folder


def commit_of(hub: HubRepo, revision: str | None) -> str:
    """Return the commit of a tag; a commit's id is returned as it is.

    Raises:
        HubError: if there is no such tag, with the newest one.
    """
    refs = hub.refs()
    if revision in refs.tags:
        return refs.tags[str(revision)]
    if revision and re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    raise HubError(_untagged(hub.name, revision, refs))


def _untagged(name: str, revision: str | None, refs: Refs) -> str:
    last = newest(refs.tags)
    right = f"give a tag, such as {name}@{last}" if last else "it has no version tag, so nothing is published there"
    if revision in refs.branches:
        return f"{name}@{revision} is a branch, which can change: {right}"
    return f"{name} has no tag {revision!r}: {right}" if revision else f"{name} is named without a tag: {right}"


def check_files(hub: HubRepo, folder: Path, commit: str) -> None:
    """Check that every file of a snapshot has the checksum that the Hub lists.

    Raises:
        HubError: with the first file that has not.
    """
    for name, there in hub.files(commit).items():
        if (folder / name).exists():
            _check_file(hub.name, folder / name, name, there)


def _check_file(repo: str, path: Path, name: str, there: HubFile) -> None:
    if is_same(read_file(path), there):
        return
    # The client trusts its cache, so a wrong file must be removed from it.
    path.resolve().unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    raise HubError(
        f"{repo}: {name!r} differs from what was published: download it again; if that does not "
        "help, the copy on the Hub is damaged"
    )


BATCH = 50
"""The most files in one commit on the branch; the Hub advises fewer than 100."""
BATCH_BYTES = 256 * 1024 * 1024
"""The most bytes in one commit: if it fails, LFS keeps every uploaded file, but Xet only those of complete batches."""
MAIN = "main"
CARD = "README.md"


@dataclass(frozen=True, slots=True)
class Released:
    """The result of a release.

    Attributes:
        repo: ``org/name``.
        tag: the version's tag.
        commit: the tag's commit.
        files: the number of files.
        fresh: False if the release already existed.
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
    """Publish exactly the files below a folder as ``v<version>`` of a data-set repo.

    Args:
        folder: the folder to publish.
        repo: ``org/name``; created if it does not exist.
        version: the data set's version, such as ``1.0.0``.
        private: whether the repo must be private, or be created so.
        say: called with a line for each step.
    """
    check_name(repo)
    check_version(version)
    files = read_folder(folder)
    return _Release(connect(repo, write=True), files, f"v{version}", private, say).run()


def check_login(repo: str) -> None:
    """Check, without asking the Hub, that a repo can be written to.

    Raises:
        HubError: if its name is not valid, there is no token, or huggingface_hub is not installed.
    """
    check_name(repo)
    connect(repo, write=True)


def check_version(version: str) -> None:
    """Check that a version is valid.

    Raises:
        HubError: if it is not.
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
        """The branch for uploads."""
        return f"release-{self.tag}"

    def run(self) -> Released:
        whole = sum(file.size for file in self.files.values())
        self.say(f"{self.hub.name}: {self.tag} has {len(self.files)} files, {size(whole)}")
        self._open()
        refs = self.hub.refs()
        if self.tag in refs.tags:
            return self._check_tagged(refs)
        self._refuse_older(refs)
        head = refs.branches[MAIN]
        if compared(self.files, self.hub.files(head)):
            head = self._commit_to_main(self._upload_to_branch(refs, head), head)
        self.hub.tag(self.tag, head)
        self.hub.drop_branch(self.side)
        self.say(f"{self.hub.name}: {self.tag} is published, {len(self.files)} files")
        return self._released(head, fresh=True)

    def _released(self, commit: str, *, fresh: bool) -> Released:
        return Released(self.hub.name, self.tag, commit, len(self.files), fresh)

    def _open(self) -> None:
        """Create the repo, or check that an existing one is private if it must be."""
        visibility = self.hub.visibility()
        if not visibility:
            self.hub.create(private=self.private)
            self.say(f"{self.hub.name}: created")
        elif self.private and visibility != "private":
            raise HubError(f"{self.hub.name} is public, but these files must stay private: make the repo private first")

    def _check_tagged(self, refs: Refs) -> Released:
        """Compare with the files of an existing tag, and remove a leftover branch."""
        commit = refs.tags[self.tag]
        differs = compared(self.files, self.hub.files(commit))
        if differs:
            raise HubError(
                f"{self.hub.name}: {self.tag} already exists with different files ({differs}), and a tag is "
                "never moved: repeat the command with the same options, or raise the version"
            )
        if self.side in refs.branches:
            self.hub.drop_branch(self.side)
        self.say(f"{self.hub.name}: {self.tag} already exists; nothing was uploaded")
        return self._released(commit, fresh=False)

    def _refuse_older(self, refs: Refs) -> None:
        """Raise an error if a newer version is already published."""
        last = newest(refs.tags)
        if last and version_of(last) > version_of(self.tag):
            raise HubError(f"{self.hub.name} is already at {last}, which is newer than {self.tag}: raise the version")

    def _upload_to_branch(self, refs: Refs, head: str) -> str:
        """Make the branch equal to the folder, and return its commit."""
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

    def _commit_to_main(self, side: str, head: str) -> str:
        """Put the branch's files on main in one commit, on top of the commit seen at the start."""
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
                "run the same command again; what was uploaded stays",
                status=412,
            ) from fault
        return self._proven(at, "main")


def batches(paths: Sequence[str], sizes: Mapping[str, int] = MappingProxyType({})) -> Iterator[list[str]]:
    """Yield paths in batches for one commit each; the card, which the Hub may reject, comes alone and first.

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


DIGITS = 12


@dataclass(frozen=True, slots=True)
class FileAction:
    """One file: what would be done with it, its bytes, and the start of its SHA-256 ("" for a file to delete)."""

    action: str
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What a release would do.

    Attributes:
        lines: one for each file; its action is ``upload``, ``keep``, ``delete``, or ``?`` if the Hub was not reached.
        note: one sentence on what the Hub has, or why it was not reached.
    """

    lines: tuple[FileAction, ...]
    note: str


def preview(folder: Path, repo: str, version: str) -> Preview:
    """Return what `release` would do with a folder; without a network, `note` states why nothing was compared."""
    check_name(repo)
    check_version(version)
    files = read_folder(folder)
    note, there = _compared(repo, f"v{version}", files)
    return Preview(tuple(_lines(files, there)), note)


def _compared(repo: str, tag: str, files: Mapping[str, LocalFile]) -> tuple[str, dict[str, HubFile] | None]:
    try:
        return _compared_with(connect(repo, write=False), tag, files)
    except HubError as fault:
        return f"nothing could be compared: {fault}", None


def _compared_with(hub: HubRepo, tag: str, files: Mapping[str, LocalFile]) -> tuple[str, dict[str, HubFile]]:
    if not hub.visibility():
        return f"{hub.name} does not exist or is not visible to you: it would be created", {}
    refs = hub.refs()
    if tag in refs.tags:
        there = hub.files(refs.tags[tag])
        differs = compared(files, there)
        held = f"with different files: raise the version ({differs})" if differs else "with these files: nothing to do"
        return f"{hub.name} has {tag} {held}", there
    side = f"release-{tag}"
    begun = f", but part of {tag} has been uploaded" if side in refs.branches else ""
    return f"{hub.name} has no {tag}{begun}", hub.files(refs.branches.get(side, refs.branches[MAIN]))


def _lines(files: Mapping[str, LocalFile], there: Mapping[str, HubFile] | None) -> list[FileAction]:
    differs = compared(files, there or {})
    lines = []
    for path, file in files.items():
        action = "?" if there is None else "upload" if path in differs.lacking else "keep"
        lines.append(FileAction(action, path, file.size, file.sha256[:DIGITS]))
    return lines + [FileAction("delete", path, (there or {})[path].size, "") for path in differs.spare]
