"""Access rights, and the Hub's refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopback.http import RefusedError, Request

if TYPE_CHECKING:
    from loopback.repos import Commit, Repo
    from loopback.server import Hub


def role(hub: Hub, request: Request) -> str:
    """Return the role of a request's token: write, read, none, or "" without a token.

    Raises:
        RefusedError: if the token is unknown.
    """
    header = next((value for name, value in request.headers.items() if name.lower() == "authorization"), "")
    token = header.removeprefix("Bearer ")
    if token and token not in hub.roles:
        raise RefusedError(401, "Invalid credentials in Authorization header")
    return hub.roles.get(token, "")


def seen(hub: Hub, request: Request, name: str) -> Repo:
    """Return a repo if the request may read it; otherwise refuse as if it did not exist."""
    who = role(hub, request)
    repo = hub.repos.get(name)
    if repo is None or (repo.private and who not in ("write", "read")):
        raise RefusedError(404 if who else 401, "Repository not found", "RepoNotFound")
    return repo


def writable(hub: Hub, request: Request, name: str) -> Repo:
    """Return a repo if the request may write to it."""
    may_write(hub, request)
    return seen(hub, request, name)


def may_write(hub: Hub, request: Request) -> None:
    """Check that a request may write.

    Raises:
        RefusedError: if it has no token, or its token may not.
    """
    who = role(hub, request)
    if not who:
        raise RefusedError(401, "Invalid username or password.")
    if who != "write":
        raise RefusedError(403, "You don't have the rights to create or write under the namespace org")


def commit_at(repo: Repo, revision: str) -> Commit:
    commit = repo.at(revision)
    if commit is None:
        raise RefusedError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    return commit
