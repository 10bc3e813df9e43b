"""The Hub on localhost: its repos, users and routes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from loopback.faults import Fault
from loopback.http import RefusedError, Reply, Request, says
from loopback.repos import MODELS, Repo
from loopback.routes import answer
from loopback.serving import Served

WRITER = "hf_loopbackWriter0123456789"
READER = "hf_loopbackReader0123456789"
STRANGER = "hf_loopbackStranger01234567"


class Hub(Served):
    """A Hub with the organisation ``org``, where WRITER may write, READER may read, and STRANGER may do neither."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.repos: dict[str, Repo] = {}
        self.roles = {WRITER: "write", READER: "read", STRANGER: "none"}
        self.quota: int | None = None
        self.page = 1000
        self.lock = threading.RLock()
        super().__init__(folder, port)

    def model(self, name: str, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Commit a model's files to a branch, and return the commit's id."""
        if f"{MODELS}{name}" not in self.repos:
            self.repos[f"{MODELS}{name}"] = Repo(name, self.folder / f"model-{name.replace('/', '--')}")
        repo = self.repos[f"{MODELS}{name}"]
        return repo.commit(branch, "files", {path: repo.kept(content) for path, content in files.items()}).oid

    def answer(self, request: Request) -> Reply:
        """Answer as the Hub does."""
        try:
            return answer(self, request)
        except RefusedError as refused:
            return refused.reply

    def refusal(self, fault: Fault) -> Reply:
        """Refuse as the Hub does."""
        return says({"error": fault.message}, fault.status, {"X-Error-Message": fault.message, **fault.headers})

    def uploaded(self) -> int:
        """Return how many bytes of large files were received."""
        return sum(seen.received for seen in self.log if seen.method == "PUT" or "/xorbs/" in seen.path)

    def sent(self) -> int:
        """Return how many bytes of files were sent."""
        return sum(seen.sent for seen in self.log if seen.method == "GET" and "/resolve/" in seen.path)
