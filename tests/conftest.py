from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import pytest
from click.testing import CliRunner

import builds
from builds import SHARD_TOKENS, Place, chosen
from loopback import Hub
from loopback.client import settled
from pipeline.artifacts.split import Split, open_split
from pipeline.assemble import cache, jobs
from pipeline.assemble import plan as plans
from pipeline.cli import cli
from pipeline.errors import RecipeError
from pipeline.profiles import confined, profile
from pipeline.publish.staging import Staged
from pipeline.tasks import TASKS
from pipeline.terminal.startup import COLLECTED
from published_build import built, staged
from shared_folders import shared_folder
from shared_pools import pool_of

ROOT = Path(__file__).resolve().parent.parent
ORDINARY_SHARD = plans.SHARD_TOKENS
LONG = ("test_sweep.py", "test_tasks.py")
"""Files of long tests: they come first, so that no core waits for the other at the end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files again")
    parser.addoption("--task", default="", help="the only family, or family.subtask, to look at")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background: commands under test would ignore it too
        with suppress(ValueError):
            signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage as seldom as the command does, and not again in what was imported."""
    gc.set_threshold(*COLLECTED)
    _settle()


@pytest.fixture(scope="module", autouse=True)
def _settle_module() -> Iterator[None]:
    """Look for garbage once after each file, and not again in what is left, such as the caches of a session."""
    yield
    _settle()


def _settle() -> None:
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)
    if config.getoption("--task"):
        items[:] = [item for item in items if not item.get_closest_marker("whole")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "place" in metafunc.fixturenames:
        metafunc.parametrize("place", _chosen(metafunc.config), ids=".".join)


def _chosen(config: pytest.Config) -> list[Place]:
    try:
        return chosen(config.getoption("--task"))
    except RecipeError as fault:
        raise pytest.UsageError(str(fault)) from None


@pytest.fixture(scope="session", autouse=True)
def _room() -> None:
    """Let this process keep what it made: it holds more for tests than a worker may, and would forget at each build.

    It keeps the vocabularies that tests go over and the last pools, too: making one takes longer than most tests. The
    server that tries models' files stays whatever variables a test sets: a new one would import transformers again.
    """
    jobs.made_pool = pool_of
    cache.MOST = 1 << 40
    confined.READ_ONCE = ()
    for name in ("_opened", "_second"):
        setattr(profile, name, lru_cache(maxsize=None)(getattr(profile, name).__wrapped__))


@pytest.fixture(scope="module")
def small_shards() -> Iterator[None]:
    """Let the small recipe of `builds` have several shards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "SHARD_TOKENS", SHARD_TOKENS)
        yield


@pytest.fixture(scope="session")
def places(request: pytest.FixtureRequest) -> list[Place]:
    """The tasks that are looked at: all, or those that ``--task`` names, but for those with tool calls.

    Few profiles can send these: tests of their own build them.
    """
    found = [place for place in _chosen(request.config) if not TASKS[place].has_calls]
    return found or pytest.skip("tests/build/test_calls.py looks at tasks with tool calls")


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """A sealed split of every task, at the shortest lengths; its shards are of the ordinary size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "SHARD_TOKENS", ORDINARY_SHARD)
        return open_split(shared_folder(tmp_path_factory, "split", built) / "out")


@pytest.fixture(scope="session")
def inline(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It, staged with its keys."""
    return shared_folder(tmp_path_factory, "inline", lambda folder: staged(split, folder / "o200k")) / "o200k"


@pytest.fixture(scope="session")
def apart(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Staged:
    """It, staged in two."""
    return staged(split, tmp_path_factory.mktemp("apart") / "o200k", "separate")


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smoke recipe, built for o200k by the command. Commands that lock a build take a copy of it."""

    def build(folder: Path) -> None:
        command = ("build", "smoke", "--out", str(folder / "release"), "--tokenizer", "o200k", "--workers", "1")
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
        assert str(folder / "release" / "o200k" / "data") in done.stdout
        assert f"{builds.SMOKE_ROWS} rows" in done.stdout
        assert "all recounted by tiktoken" in done.stdout
        assert done.stderr == "", "progress is for terminals"

    return shared_folder(tmp_path_factory, "release", build) / "release"
