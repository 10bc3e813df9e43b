"""Routes that change a repo: creating it, uploads, commits, branches and tags."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from loopback.access import commit_at, may_write, writable
from loopback.http import RefusedError, Reply, Request, says
from loopback.reading import front_matter
from loopback.repos import Commit, File, Repo

if TYPE_CHECKING:
    from loopback.server import Hub

REGULAR_BYTES = 10 * 1024 * 1024
"""The largest regular file."""
LFS = {"Content-Type": "application/vnd.git-lfs+json"}


def create(hub: Hub, request: Request) -> Reply:
    """POST /api/repos/create."""
    may_write(hub, request)
    asked = request.json()
    name = f"{asked.get('organization') or 'writer'}/{asked['name']}"
    url = f"{request.host}/datasets/{name}"
    if asked.get("type") != "dataset":
        raise RefusedError(400, "this Hub has data sets only")
    if name.split("/")[0] not in ("org", "writer"):
        raise RefusedError(
            403, f"You don't have the rights to create a dataset under the namespace {name.split('/')[0]!r}"
        )
    with hub.lock:
        if name in hub.repos:
            return says({"error": "You already created this dataset repo", "url": url}, 409)
        private = bool(asked.get("private")) or asked.get("visibility") == "private"
        hub.repos[name] = Repo(name, hub.folder / "repos" / name, private)
    return says({"url": url, "name": name, "id": name})


def validate_yaml(hub: Hub, request: Request) -> Reply:
    """POST /api/validate-yaml: what is wrong with a card."""
    text = request.json()["content"]
    try:
        card = yaml.safe_load(front_matter(text))
    except yaml.YAMLError as fault:
        return says({"errors": [{"message": f"Invalid YAML: {' '.join(str(fault).split())}"}], "warnings": []}, 400)
    if card is not None and not isinstance(card, dict):
        return says({"errors": [{"message": '"value" must be of type object'}], "warnings": []}, 400)
    warned = [] if card else [{"message": "empty or missing yaml metadata in repo card"}]
    return says({"errors": [], "warnings": warned})


def preupload(hub: Hub, request: Request, repo: str, revision: str) -> Reply:
    """POST .../preupload/{revision}: which files are large, and the ids of existing files with their names."""
    named = writable(hub, request, repo)
    commit = commit_at(named, revision)
    files = [_mode(named, commit, asked) for asked in request.json()["files"]]
    return says({"files": files, "commitOid": commit.oid})


def _mode(repo: Repo, commit: Commit, asked: dict[str, Any]) -> dict[str, Any]:
    large = is_large(repo, commit, asked["path"], asked["size"], base64.b64decode(asked["sample"]))
    fields = {"path": asked["path"], "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
    there = commit.files.get(asked["path"])
    return fields | ({"oid": there.sha256 if there.lfs else there.oid} if there else {})


def is_large(repo: Repo, commit: Commit, path: str, size: int, sample: bytes) -> bool:
    """Return whether a file is stored as a pointer: by .gitattributes, by its size, or because it is binary."""
    rules = repo.object(commit.files[".gitattributes"].sha256).read_text() if ".gitattributes" in commit.files else ""
    patterns = [line.split()[0] for line in rules.splitlines() if "filter=lfs" in line]
    by_name = any(fnmatch(path.rsplit("/", 1)[-1], pattern) for pattern in patterns)
    return by_name or size > REGULAR_BYTES or b"\0" in sample


def lfs_batch(hub: Hub, request: Request, repo: str) -> Reply:
    """POST /datasets/{repo}.git/info/lfs/objects/batch: where to put large files that do not exist yet."""
    named = writable(hub, request, repo)
    objects = []
    for asked in request.json()["objects"]:
        fields = {"oid": asked["oid"], "size": asked["size"]}
        if not named.object(asked["oid"]).exists():
            put = {"href": f"{request.host}/_lfs/{repo}/{asked['oid']}"}
            fields["actions"] = {"upload": put, "verify": {"href": f"{request.host}/_lfs_verify/{repo}"}}
        objects.append(fields)
    return says({"transfer": "basic", "objects": objects}, headers=LFS)


def lfs_put(hub: Hub, request: Request, repo: str, oid: str) -> Reply:
    """PUT /_lfs/{repo}/{oid}: the bytes of a large file; without a token, as with a store's signed URL."""
    with request.body.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != oid:
        raise RefusedError(400, f"the bytes have SHA-256 {digest}, not {oid}")
    keep(hub, hub.repos[repo], request.body, oid)
    return says({})


def keep(hub: Hub, repo: Repo, body: Path, oid: str) -> None:
    """Move bytes to the objects of a repo.

    Raises:
        RefusedError: if the quota is full.
    """
    with hub.lock:
        held = sum(path.stat().st_size for path in sorted(repo.folder.iterdir()))
        if hub.quota is not None and held + body.stat().st_size > hub.quota:
            raise RefusedError(403, "Private repository storage limit reached, upgrade your plan to increase it")
        shutil.move(body, repo.object(oid))


def lfs_verify(hub: Hub, request: Request, repo: str) -> Reply:
    """POST /_lfs_verify/{repo}: whether a large file is complete."""
    asked = request.json()
    object_ = writable(hub, request, repo).object(asked["oid"])
    if not object_.exists() or object_.stat().st_size != asked["size"]:
        raise RefusedError(404, f"no object {asked['oid']} of {asked['size']} bytes")
    return says({}, headers=LFS)


def commit(hub: Hub, request: Request, repo: str, revision: str) -> Reply:
    """POST .../commit/{branch}: apply all changes, or none."""
    named = writable(hub, request, repo)
    items = [json.loads(line) for line in request.bytes().splitlines() if line.strip()]
    header = items[0]["value"]
    with named.lock:
        head = named.branches.get(revision)
        if head is None:
            raise RefusedError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        if header.get("parentCommit") not in (None, head.oid):
            raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
        files = dict(head.files)
        for item in items[1:]:
            _change(named, files, item["key"], item["value"])
        made = named.commit(revision, header["summary"], files)
    url = f"{request.host}/datasets/{repo}/commit/{made.oid}"
    return says({"success": True, "commitOid": made.oid, "commitUrl": url, "hookOutput": ""})


def _change(repo: Repo, files: dict[str, File], key: str, value: dict[str, Any]) -> None:
    path = value["path"]
    if key == "file":
        files[path] = repo.kept(base64.b64decode(value["content"]))
    elif key == "lfsFile":
        files[path] = _large(repo, path, value["oid"])
    elif key == "deletedFile":
        if files.pop(path, None) is None:
            raise RefusedError(404, "A file with this name doesn't exist", "EntryNotFound")
    elif key == "deletedFolder":
        for name in [name for name in files if name.startswith(path.rstrip("/") + "/")]:
            del files[name]
    else:
        raise RefusedError(400, f"unknown operation {key!r}")


def _large(repo: Repo, path: str, oid: str) -> File:
    if not repo.object(oid).exists():
        raise RefusedError(
            400, f"Your push was rejected because an LFS pointer pointed to a file that does not exist: {path}"
        )
    return File.large(oid, repo.object(oid).stat().st_size)


def branch(hub: Hub, request: Request, repo: str, name: str) -> Reply:
    """POST or DELETE .../branch/{name}."""
    named = writable(hub, request, repo)
    with named.lock:
        if request.method == "DELETE":
            if name == "main":
                raise RefusedError(403, "the branch main cannot be deleted")
            if named.branches.pop(name, None) is None:
                raise RefusedError(404, f"Reference does not exist: {name}", "RevisionNotFound")
            return says({})
        if name in named.branches:
            raise RefusedError(409, f"Reference already exists: {name}")
        named.branches[name] = commit_at(named, request.json().get("startingPoint", "main"))
    return says({})


def tag(hub: Hub, request: Request, repo: str, revision: str) -> Reply:
    """POST .../tag/{revision} with the tag's name in the body, or DELETE .../tag/{name}."""
    named = writable(hub, request, repo)
    with named.lock:
        if request.method == "DELETE":
            if named.tags.pop(revision, None) is None:
                raise RefusedError(404, f"Reference does not exist: {revision}", "RevisionNotFound")
            return says({})
        name = request.json()["tag"]
        if name in named.tags:
            raise RefusedError(409, f"Tag reference exists already: {name}")
        named.tags[name] = commit_at(named, revision)
    return says({})
