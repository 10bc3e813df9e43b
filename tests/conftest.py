from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loopback import Hub
from loopback.client import settled

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files again")


@pytest.fixture
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub on the loopback that this process's client talks to, as one that may write."""
    with Hub(tmp_path / "hub") as served:
        settled(served, tmp_path, monkeypatch)
        yield served
