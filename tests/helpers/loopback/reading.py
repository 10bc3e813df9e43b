"""Routes that read a repo: its info, its listings, and the bytes of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

import yaml

from loopback.access import commit_at, seen
from loopback.http import RefusedError, Reply, Request, says
from loopback.repos import MODELS, Commit, File, Repo, git_sha1, pointer

if TYPE_CHECKING:
    from loopback.server import Hub

DATE = "2030-01-01T00:00:00.000Z"


def info(hub: Hub, request: Request, repo: str, revision: str = "main") -> Reply:
    """GET /api/datasets/{repo}[/revision/{revision}]: info on the repo."""
    found_in = seen(hub, request, repo)
    commit = commit_at(found_in, revision)
    card = card_data(found_in, commit)
    return says(
        {
            "_id": git_sha1("repo", repo.encode())[:24],
            "id": repo,
            "author": repo.split("/")[0],
            "sha": commit.oid,
            "lastModified": DATE,
            "createdAt": DATE,
            "private": found_in.private,
            "gated": False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": _tags(card),
            "cardData": card,
            "siblings": [_sibling(path, file, request) for path, file in commit.files.items()],
        }
    )


def card_data(repo: Repo, commit: Commit) -> dict[str, Any]:
    """Return the metadata of a card, or {}."""
    file = commit.files.get("README.md")
    text = repo.object(file.sha256).read_text(encoding="utf-8") if file else ""
    front = front_matter(text)
    card = yaml.safe_load(front) if front else {}
    return card if isinstance(card, dict) else {}


def front_matter(text: str) -> str:
    """Return the YAML between the first two lines of dashes, or ""."""
    match = re.match(r"---\r?\n(.*?)\r?\n---(\r?\n|$)", text, re.DOTALL)
    return match[1] if match else ""


def _tags(card: Mapping[str, Any]) -> list[str]:
    tags = [str(tag) for tag in card.get("tags") or []]
    for name in ("license", "language", "task_categories", "size_categories"):
        values = card.get(name) or []
        tags += [f"{name}:{value}" for value in ([values] if isinstance(values, str) else values)]
    return tags


def _sibling(path: str, file: File, request: Request) -> dict[str, Any]:
    if not request.wants("blobs"):
        return {"rfilename": path}
    listed = entry(path, file)
    large = {"lfs": {"sha256": file.sha256, "size": file.size, "pointerSize": 0}} if file.lfs else {}
    return {"rfilename": path, "size": file.size, "blobId": listed["oid"], **large}


def entry(path: str, file: File) -> dict[str, Any]:
    """Return a file's entry in a listing."""
    fields: dict[str, Any] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
    if file.lfs:
        fields["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": len(pointer(file.sha256, file.size))}
    return fields


def listing(commit: Commit, under: str, *, recursive: bool) -> list[dict[str, Any]]:
    """Return the folders and files below a folder, by path.

    Raises:
        RefusedError: if there is no such folder.
    """
    start = f"{under}/" if under else ""
    inside = {path: file for path, file in commit.files.items() if path.startswith(start)}
    if not inside and under:
        raise RefusedError(404, f"{under} does not exist on {commit.oid}", "EntryNotFound")
    entries: dict[str, dict[str, Any]] = {}
    for path, file in inside.items():
        names = path.removeprefix(start).split("/")
        for depth in range(1, len(names)) if recursive else range(1, min(2, len(names))):
            entries.setdefault(folder := start + "/".join(names[:depth]), _folder(commit, folder))
        if recursive or len(names) == 1:
            entries[path] = entry(path, file)
    return [entries[path] for path in sorted(entries)]


def _folder(commit: Commit, path: str) -> dict[str, Any]:
    inside = (f"{name} {file.oid}" for name, file in commit.files.items() if name.startswith(f"{path}/"))
    return {"type": "directory", "oid": git_sha1("tree", "\n".join(inside).encode()), "size": 0, "path": path}


def tree(hub: Hub, request: Request, repo: str, revision: str, path: str = "") -> Reply:
    """GET .../tree/{revision}[/{path}]: a listing, page by page."""
    commit = commit_at(seen(hub, request, repo), revision)
    entries = listing(commit, path.strip("/"), recursive=request.wants("recursive"))
    if request.wants("expand"):
        entries = [{**each, "lastCommit": _last(commit), "securityFileStatus": None} for each in entries]
    start, size = int(request.asks("cursor") or 0), min(hub.page, int(request.asks("limit") or hub.page))
    headers = {}
    if start + size < len(entries):
        query = {**{name: values[0] for name, values in parse_qs(request.query).items()}, "cursor": str(start + size)}
        headers["Link"] = f'<{request.host}{request.path}?{urlencode(query)}>; rel="next"'
    return says(entries[start : start + size], headers=headers)


def _last(commit: Commit) -> dict[str, Any]:
    return {"id": commit.oid, "title": commit.summary, "date": DATE}


def paths_info(hub: Hub, request: Request, repo: str, revision: str) -> Reply:
    """POST .../paths-info/{revision}: the entries of some paths; missing ones are left out."""
    commit = commit_at(seen(hub, request, repo), revision)
    sent = request.bytes().decode()
    paths = request.json()["paths"] if sent.startswith("{") else parse_qs(sent).get("paths", [])
    entries = []
    for path in [paths] if isinstance(paths, str) else paths:
        if path in commit.files:
            entries.append(entry(path, commit.files[path]))
        elif any(name.startswith(f"{path}/") for name in commit.files):
            entries.append(_folder(commit, path))
    return says(entries)


def refs(hub: Hub, request: Request, repo: str) -> Reply:
    """GET .../refs: branches and tags."""
    named = seen(hub, request, repo)

    def entries_of(kind: str, refs: Mapping[str, Commit]) -> list[dict[str, str]]:
        return [{"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": at.oid} for name, at in refs.items()]

    return says(
        {"branches": entries_of("heads", named.branches), "tags": entries_of("tags", named.tags), "converts": []}
    )


def commits(hub: Hub, request: Request, repo: str, revision: str) -> Reply:
    """GET .../commits/{revision}: a commit and its ancestors."""
    commit = commit_at(seen(hub, request, repo), revision)
    authors = [{"user": "writer"}]
    entries = (
        {"id": c.oid, "title": c.summary, "message": "", "date": DATE, "authors": authors} for c in commit.history()
    )
    return says(list(entries))


def resolve(hub: Hub, request: Request, repo: str, revision: str, path: str) -> Reply:
    """HEAD or GET /datasets/{repo}/resolve/{revision}/{path}: the bytes, or a range of them."""
    named = seen(hub, request, repo)
    commit = commit_at(named, revision)
    file = commit.files.get(path)
    if file is None:
        raise RefusedError(404, "Entry not found", "EntryNotFound", **{"X-Repo-Commit": commit.oid})
    etag = f'"{file.sha256 if file.lfs else file.oid}"'
    headers = {"ETag": etag, "X-Repo-Commit": commit.oid, "Accept-Ranges": "bytes"}
    if file.lfs:
        headers |= {"X-Linked-Etag": etag, "X-Linked-Size": str(file.size)}
    return _ranged(request, Reply(200, b"", headers, named.object(file.sha256), 0, file.size))


def model_file(hub: Hub, request: Request, repo: str, revision: str, path: str) -> Reply:
    """HEAD or GET /{repo}/resolve/{revision}/{path}: the same for a model."""
    return resolve(hub, request, f"{MODELS}{repo}", revision, path)


def _ranged(request: Request, whole: Reply) -> Reply:
    asked = next((value for name, value in request.headers.items() if name.lower() == "range"), "")
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked)
    if not match:
        return whole
    first, last = match.groups()
    start = int(first) if first else max(0, whole.length - int(last))
    end = min(whole.length - 1, int(last) if first and last else whole.length - 1)
    if start > end:
        raise RefusedError(416, "Range not satisfiable", **{"Content-Range": f"bytes */{whole.length}"})
    headers = {**whole.headers, "Content-Range": f"bytes {start}-{end}/{whole.length}"}
    return Reply(206, b"", headers, whole.file, start, end - start + 1)
