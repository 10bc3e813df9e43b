"""Names of releases, and what was released back on this disk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline.errors import HubError
from pipeline.publish.hub.client import HubRepo, Refs, connect
from pipeline.publish.hub.files import HubFile, is_same, read_file

NAME = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?<![.-])", re.ASCII)
LONGEST = 96


def check_name(repo: str) -> None:
    """Check that a repo has a name that the Hub takes.

    Raises:
        HubError: naming it.
    """
    if not NAME.fullmatch(repo) or len(repo) > LONGEST:
        raise HubError(f"{repo!r} is not the name of a repo: give org/name, made of letters, digits and . _ -")


def parse_repo(text: str) -> tuple[str, str | None]:
    """Read ``org/name@v1.0.0``; the tag is None where there is none.

    >>> parse_repo("org/name@v1.0.0")
    ('org/name', 'v1.0.0')

    Raises:
        HubError: if it is not the name of a repo.
    """
    name, at, tag = text.removeprefix("hf://").removeprefix("datasets/").partition("@")
    check_name(name)
    if at and not tag:
        raise HubError(f"{text!r} has no tag after the @: give one, such as {name}@v1.0.0")
    return name, tag or None


def version_of(tag: str) -> tuple[tuple[int, ...], bool, str]:
    """Return what tags of versions are ordered by; a version before a release comes before it."""
    number, _, early = tag.removeprefix("v").partition("-")
    return tuple(int(part) for part in number.split(".")), not early, early


def newest(tags: Iterable[str]) -> str:
    """Return the tag of the latest version, or nothing if no tag is one of a version.

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
    """Return a folder with the files of a tag of ``org/name``; what the cache has is not fetched again.

    Every file is held to the checksum that the Hub keeps of it, those of the cache too.

    Args:
        repo: ``org/name``.
        revision: a tag, or the id of a commit.
        patterns: only files that match one of them, as in ``data/*/32k/*``.
        cache: where to keep them; the client's own cache unless said.
    """
    check_name(repo)
    hub = connect(repo, write=False)
    commit = found(hub, revision)
    folder = hub.fetch(commit, patterns, cache)
    check_files(hub, folder, commit)
    return folder


def found(hub: HubRepo, revision: str | None) -> str:
    """Return the commit of a tag.

    Raises:
        HubError: if there is no such tag, naming the newest one.
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
        HubError: naming the first that has not.
    """
    for name, there in hub.files(commit).items():
        if (folder / name).exists():
            _check_file(hub.name, folder / name, name, there)


def _check_file(repo: str, path: Path, name: str, there: HubFile) -> None:
    if is_same(read_file(path), there):
        return
    # The client trusts what its cache has: what is wrong there must go, or it would be met again.
    path.resolve().unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    raise HubError(
        f"{repo}: {name!r} differs from what was published: download it again; if that does not "
        "help, the copy on the Hub is damaged"
    )
