"""Repos like the Hub's: commits of files, branches, tags, and objects on disk."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ATTRIBUTES = b"".join(
    b"*.%s filter=lfs diff=lfs merge=lfs -text\n" % name
    for name in (b"arrow", b"bin", b"gz", b"jpg", b"npy", b"parquet", b"png", b"tar", b"zip", b"zst")
)
"""The .gitattributes of a new repo."""


MODELS = "models/"
"""Prefix of the names of models' repos, which are separate from those of data sets."""


def git_sha1(kind: str, content: bytes) -> str:
    """Return git's id for some content."""
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class File:
    """One file of a commit; its bytes are stored as an object by their SHA-256."""

    sha256: str
    size: int
    oid: str
    lfs: bool

    @classmethod
    def of(cls, content: bytes) -> File:
        return cls(hashlib.sha256(content).hexdigest(), len(content), git_sha1("blob", content), lfs=False)

    @classmethod
    def large(cls, sha256: str, size: int) -> File:
        """Return a file that git stores as a pointer."""
        return cls(sha256, size, git_sha1("blob", pointer(sha256, size)), lfs=True)


def pointer(sha256: str, size: int) -> bytes:
    """Return git's pointer for a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


@dataclass(frozen=True)
class Commit:
    """One state of a repo."""

    oid: str
    parent: Commit | None
    summary: str
    files: Mapping[str, File]

    def history(self) -> Iterator[Commit]:
        """Yield this commit and its ancestors."""
        commit: Commit | None = self
        while commit:
            yield commit
            commit = commit.parent


@dataclass
class Repo:
    """A repo; `lock` is held while it changes."""

    name: str
    folder: Path
    private: bool = False
    branches: dict[str, Commit] = field(default_factory=dict)
    tags: dict[str, Commit] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        """Make the first commit, as the Hub does."""
        self.folder.mkdir(parents=True)
        self.commit("main", "initial commit", {".gitattributes": self.kept(ATTRIBUTES)})

    def object(self, sha256: str) -> Path:
        return self.folder / sha256

    def kept(self, content: bytes) -> File:
        """Store the bytes of a regular file."""
        file = File.of(content)
        self.object(file.sha256).write_bytes(content)
        return file

    def commit(self, branch: str, summary: str, files: Mapping[str, File]) -> Commit:
        """Make a new commit on a branch."""
        with self.lock:
            parent = self.branches.get(branch)
            parts = [
                self.name,
                parent.oid if parent else "",
                summary,
                *(f"{p} {f.oid}" for p, f in sorted(files.items())),
            ]
            commit = Commit(git_sha1("commit", "\n".join(parts).encode()), parent, summary, dict(sorted(files.items())))
            self.branches[branch] = self.commits[commit.oid] = commit
            return commit

    def at(self, revision: str) -> Commit | None:
        """Return the commit of a branch, a tag or an id."""
        named = self.branches.get(revision) or self.tags.get(revision) or self.commits.get(revision)
        return named or next((each for oid, each in self.commits.items() if oid[:7] == revision), None)

    def read(self, revision: str, path: str) -> bytes:
        """Return the bytes of a file; for tests."""
        commit = self.at(revision)
        assert commit, revision
        return self.object(commit.files[path].sha256).read_bytes()

    def contents(self, revision: str) -> dict[str, str]:
        """Return the SHA-256 of every file of a revision except .gitattributes; for tests."""
        commit = self.at(revision)
        assert commit, revision
        return {path: file.sha256 for path, file in commit.files.items() if path != ".gitattributes"}

    def put(self, path: str, content: bytes, branch: str = "main") -> Commit:
        """Commit one regular file, as another client would; for tests."""
        return self.commit(branch, f"Update {path}", {**self.branches[branch].files, path: self.kept(content)})

    def tamper(self, path: str, branch: str = "main", *, listed: bool) -> None:
        """Change the last byte of a stored file without a commit; with `listed`, listings show the new checksum."""
        commit = self.branches[branch]
        file = commit.files[path]
        bent = bytearray(self.object(file.sha256).read_bytes())
        bent[-1] ^= 1
        if not listed:
            self.object(file.sha256).write_bytes(bent)
            return
        regular = self.kept(bytes(bent))
        assert isinstance(commit.files, dict)
        commit.files[path] = File.large(regular.sha256, regular.size) if file.lfs else regular
