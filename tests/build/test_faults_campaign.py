"""Many kills and many flipped bytes: builds end with the same bytes, and nothing that is sound is moved or changed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

import builds
from loopback import Hub
from loopback.client import environment
from loopback.server import WRITER
from pipeline.assemble import plan
from pipeline.cli import cli
from pipeline.streams import stream
from published_build import SEED

MANY = bool(int(os.environ.get("CARRARA_FAULT_CASES", "0")))
"""Whether this is a campaign, as of `make test-faults`, and no sample of one."""
KILLS, MORE, FLIPS = (100, 20, 200) if MANY else (2, 1, 10)
"""Kills of builds, kills of each other command, and bytes that are flipped."""
OUTPUTS = ("data", "keys")
RECORDS = ("manifest.json", "recipes", "proofs")
"""What `verify` reads, beside shards; all other files are inputs of a build, which alone reads them."""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.recipe_file(tmp_path_factory.mktemp("campaign") / "tiny.toml")


@pytest.fixture(scope="module")
def whole(recipe: Path) -> Path:
    """A finished build."""
    out = recipe.parent / "whole"
    assert all(builds.stages(recipe, out).build())
    return out


@pytest.fixture(scope="module")
def frozen(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That build, frozen."""
    home = tmp_path_factory.mktemp("frozen")
    shutil.copytree(whole, home / "v1.0.0")
    done = CliRunner().invoke(cli, ["freeze", str(home / "v1.0.0")])
    assert done.exit_code == 0, done.output
    return home / "v1.0.0"


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished build whose keys may be withheld."""
    folder = tmp_path_factory.mktemp("hidden")
    assert all(builds.stages(builds.recipe_file(folder / "tiny.toml", seed=SEED), folder / "out").build())
    return folder / "out"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Random:
    return stream("campaign", request.node.name, time.time_ns() if MANY else 0)


@pytest.mark.faults
def test_killed_builds_end_with_the_same_bytes(
    recipe: Path, rng: Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SHARD_TOKENS", builds.SHARD_TOKENS)

    def command(out: Path) -> tuple[object, ...]:
        return ("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", rng.choice((1, 2)))

    assert all(builds.stages(recipe, tmp_path / "whole").build())
    whole = builds.contents(tmp_path / "whole")
    for number in range(KILLS):
        out, delay = tmp_path / str(number), rng.uniform(0.3, 3)
        with builds.Running(*command(out), pause=0.05):
            time.sleep(delay)
        assert all(builds.stages(recipe, out).build()), delay
        assert builds.contents(out) == whole, delay
        shutil.rmtree(out)


COUNTED = re.compile(rb'"(counter|second)": (\[[^]]*\]|"[^"]*")|"recounted": \d+|"carrara": "[^"]*"')
"""Who counted, and with which version, is a note of the machine that did: another one may count with others."""
AFTER: dict[str, tuple[str, ...]] = {
    "freeze": ("freeze", "v1.0.0"),
    "extend": ("extend", "v1.0.0", "--tokenizer", "cl100k", "--workers", "1"),
    "publish": ("publish", "v1.0.0", "--repo", "org/tiny-{tokenizer}", "--dry-run"),
    "export": ("export", "lm-eval", "v1.0.0/o200k", "--out", "lm-eval"),
}


@pytest.mark.faults
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "publish" else ()) for name in AFTER]
)
def test_other_commands_end_with_the_same_bytes_when_they_were_killed(
    name: str, whole: Path, frozen: Path, rng: Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fresh(folder: str) -> Path:
        shutil.copytree(whole if name == "freeze" else frozen, tmp_path / folder / "v1.0.0")
        monkeypatch.chdir(tmp_path / folder)
        return tmp_path / folder

    home, begun = fresh("unharmed"), time.monotonic()
    assert builds.run(*AFTER[name], small=False).returncode == 0
    taken, unharmed = time.monotonic() - begun, builds.contents(home)
    for number in range(MORE):
        home, delay = fresh(str(number)), rng.uniform(0.1, taken)
        with builds.Running(*AFTER[name], small=False):
            time.sleep(delay)
        if builds.contents(home) != unharmed:  # an export that was done is not made again
            ended = builds.run(*AFTER[name], small=False)
            assert ended.returncode == 0, (delay, ended.stderr)
        assert builds.contents(home) == unharmed, delay
        shutil.rmtree(home)


def state(hub: Hub) -> dict[str, Any]:
    """Return all that a Hub shows: of each repo who may see it, its branches, tags and history, by their files."""
    return {
        name: {
            "private": repo.private,
            "branches": {branch: commit.files for branch, commit in repo.branches.items()},
            "tags": {tag: commit.files for tag, commit in repo.tags.items()},
            "history": [commit.summary for commit in repo.branches["main"].history()],
        }
        for name, repo in hub.repos.items()
    }


PUBLISH = ("publish", "v1.0.0", "--repo", "org/tiny-{tokenizer}", "--keys", "separate")


@pytest.mark.faults
def test_a_killed_publish_ends_with_the_same_hub(
    hidden: Path, rng: Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at a random moment, or at a random request before or after the Hub has done what it asks."""

    def fresh(folder: str) -> Path:
        shutil.copytree(hidden, tmp_path / folder / "v1.0.0")
        monkeypatch.chdir(tmp_path / folder)
        return tmp_path / folder

    def publish(hub: Hub, home: Path) -> subprocess.CompletedProcess[str]:
        return builds.run(*PUBLISH, small=False, env=environment(hub, home))

    home, begun = fresh("unharmed"), time.monotonic()
    with Hub(home / "hub") as hub:
        assert publish(hub, home).returncode == 0
        taken, requests, published = time.monotonic() - begun, len(hub.log), state(hub)
    assert [repo["private"] for repo in published.values()] == [False, True]
    unharmed = builds.below(builds.contents(home), "v1.0.0")
    for number in range(MORE):
        home, victim, said = fresh(str(number)), list[builds.Running](), []

        def kill(_: str, victim: list[builds.Running] = victim) -> None:
            victim[0].process.kill()
            victim[0].process.wait()

        where: float | tuple[int, bool] = rng.uniform(0.1, taken)
        with Hub(home / "hub") as hub:
            if number % 2 == 0 or not MANY:
                where = rng.randrange(requests), rng.random() < 0.5
                hub.fail(".", skip=where[0], done=where[1], then=kill)
            with builds.Running(*PUBLISH, small=False, env=environment(hub, home)) as running:
                victim.append(running)
                if isinstance(where, float):
                    time.sleep(where)
                    running.process.kill()
                said += running.process.communicate(timeout=60)
                assert isinstance(where, float) or running.process.returncode == -signal.SIGKILL, where
            hub.faults.clear()
            ended = publish(hub, home)
            said += [ended.stdout, ended.stderr]
            assert ended.returncode == 0, (where, ended.stderr)
            assert state(hub) == published, where
        assert builds.below(builds.contents(home), "v1.0.0") == unharmed, where
        assert not any(WRITER in each for each in said), where
        assert not any(WRITER.encode() in path.read_bytes() for path in builds.files(home)), where
        shutil.rmtree(home)


def flipped(whole: Path, out: Path, rng: Random) -> Iterator[tuple[Path, int]]:
    """Yield copies of a build in which one byte of a file is another, of Parquet files often one of the footer."""
    names = [path.relative_to(whole) for path in builds.files(whole)]
    for number in range(FLIPS):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(whole, out)
        path = out / names[number % len(names)]
        raw = path.read_bytes()
        footer = path.suffix == ".parquet" and rng.random() < 0.5
        unproven = [range(*found.span()) for found in COUNTED.finditer(raw)] if path.suffix == ".json" else []
        places = builds.footer(raw) if footer else range(len(raw))
        at = rng.choice([at for at in places if not any(at in each for each in unproven)])
        builds.flip(path, at, 1 << rng.randrange(8))
        yield path, at


@pytest.mark.faults
def test_flipped_bytes_are_named_or_mended(recipe: Path, whole: Path, rng: Random, tmp_path: Path) -> None:
    out, before = tmp_path / "out", builds.contents(whole)
    for path, at in flipped(whole, out, rng):
        name, where = str(path.relative_to(out)), f"byte {at} of {path.relative_to(out)}"
        read = any(part in name for part in (*OUTPUTS, *RECORDS))
        done = CliRunner().invoke(cli, ["verify", str(out), "--workers", "1"])
        assert done.exit_code == (1 if read else 0), (where, done.output)
        assert done.exception is None or isinstance(done.exception, SystemExit), where
        left = builds.contents(out)
        assert {left[other] for other in before.keys() & left.keys() - {name}} <= set(before.values()), where
        assert all(each in left for each in before if any(part in each for part in OUTPUTS) and each != name), where
        if any(part in name for part in RECORDS):
            path.unlink(missing_ok=True)
        if not read:
            (out / "o200k/manifest.json").unlink()
            for each in out.glob("o200k/[dkp]*/**/test-*"):
                each.unlink()
        assert all(builds.stages(recipe, out).build()), where
        after = builds.contents(out)
        assert {each: after.get(each) for each in before} == before, where
