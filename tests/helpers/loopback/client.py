"""Points the Hub's client to a Hub on localhost, in this process or in another."""

from __future__ import annotations

import importlib
import os
import types
from pathlib import Path

import huggingface_hub.constants
import pytest

from loopback.server import WRITER, Hub

PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def settled(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point this process's client to a Hub; its constants are patched, since it has already read its environment."""
    constants = huggingface_hub.constants
    for name, value in environment(hub, home).items():
        monkeypatch.setenv(name, value)
    for name in (*PROXIES, "HF_HUB_OFFLINE", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    huggingface_hub.close_session()


def hurried(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Make the client not wait; return a list that collects the seconds it would have waited."""
    waits: list[float] = []
    still = types.SimpleNamespace(sleep=waits.append)
    monkeypatch.setattr(importlib.import_module("huggingface_hub.utils._http"), "time", still)
    return waits


def environment(hub: Hub, home: Path, token: str = WRITER) -> dict[str, str]:
    """Return the environment variables for a client."""
    return {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": token,
        "HF_HOME": str(home / "home"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "no_proxy": "127.0.0.1",
        "NO_PROXY": "127.0.0.1",
    }


def whole_environment(hub: Hub, home: Path, token: str = WRITER) -> dict[str, str]:
    """Return the whole environment for a process, without a token if `token` is empty."""
    kept = {name: value for name, value in os.environ.items() if name not in PROXIES and not name.startswith("HF_")}
    tests = Path(__file__).parent.parent
    own = {**environment(hub, home, token), "PYTHONPATH": os.pathsep.join([str(tests.parents[1]), str(tests)])}
    return {**kept, **{name: value for name, value in own.items() if value}}


CLIENTS_OWN = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
"""The client passes files to httpx in a deprecated way."""
