"""The routes of the Hub."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from loopback import reading, writing, xet
from loopback.access import role
from loopback.http import RefusedError, Reply, Request, says

if TYPE_CHECKING:
    from loopback.server import Hub

Route = Callable[..., Reply]


def whoami(hub: Hub, request: Request) -> Reply:
    """GET /api/whoami-v2."""
    who = role(hub, request)
    if not who:
        raise RefusedError(401, "Invalid username or password.")
    orgs = [] if who == "none" else [{"type": "org", "name": "org", "roleInOrg": who}]
    auth = {"type": "access_token", "accessToken": {"role": who, "displayName": "loopback"}}
    return says({"type": "user", "id": "0", "name": "writer", "fullname": "Writer", "orgs": orgs, "auth": auth})


REPO = r"(?P<repo>[^/]+/[^/]+?)"
REVISION = r"(?P<revision>[^/]+)"
HASH = r"(?P<name>[0-9a-f]{64})"
ROUTES: tuple[tuple[str, str, Route], ...] = (
    ("GET", r"/api/whoami-v2", whoami),
    ("POST", r"/api/repos/create", writing.create),
    ("POST", r"/api/validate-yaml", writing.validate_yaml),
    ("GET", rf"/api/datasets/{REPO}", reading.info),
    ("GET", rf"/api/datasets/{REPO}/revision/{REVISION}", reading.info),
    ("GET", rf"/api/datasets/{REPO}/tree/{REVISION}(?:/(?P<path>.*))?", reading.tree),
    ("POST", rf"/api/datasets/{REPO}/paths-info/{REVISION}", reading.paths_info),
    ("GET", rf"/api/datasets/{REPO}/refs", reading.refs),
    ("GET", rf"/api/datasets/{REPO}/commits/{REVISION}", reading.commits),
    ("HEAD|GET", rf"/datasets/{REPO}/resolve/{REVISION}/(?P<path>.+)", reading.resolve),
    ("HEAD|GET", rf"/{REPO}/resolve/{REVISION}/(?P<path>.+)", reading.model_file),
    ("POST", rf"/api/datasets/{REPO}/preupload/{REVISION}", writing.preupload),
    ("POST", rf"/datasets/{REPO}\.git/info/lfs/objects/batch", writing.lfs_batch),
    ("PUT", rf"/_lfs/{REPO}/(?P<oid>[0-9a-f]{{64}})", writing.lfs_put),
    ("POST", rf"/_lfs_verify/{REPO}", writing.lfs_verify),
    ("GET", rf"/api/datasets/{REPO}/xet-write-token/{REVISION}", xet.write_token),
    ("GET", rf"/_cas/v1/chunks/default/{HASH}", xet.chunk),
    ("POST", rf"/_cas/v1/xorbs/default/{HASH}", xet.xorb),
    ("POST", r"/_cas/(?P<version>v1|v2)/shards", xet.shard),
    ("POST", rf"/api/datasets/{REPO}/commit/{REVISION}", writing.commit),
    ("POST|DELETE", rf"/api/datasets/{REPO}/branch/(?P<name>[^/]+)", writing.branch),
    ("POST|DELETE", rf"/api/datasets/{REPO}/tag/{REVISION}", writing.tag),
)


def answer(hub: Hub, request: Request) -> Reply:
    """Answer a request, or raise a RefusedError."""
    for methods, pattern, route in ROUTES:
        match = re.fullmatch(pattern, request.path)
        if match and request.method in methods.split("|"):
            return route(hub, request, **{name: unquote(got) for name, got in match.groupdict().items() if got})
    raise RefusedError(404, f"Sorry, we can't find the page you are looking for: {request.path}")
