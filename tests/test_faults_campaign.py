"""Many kills and many flipped bytes: builds end with the same bytes, and nothing that is sound is moved or changed."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

import builds
from pipeline.cli import cli
from pipeline.streams import stream

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


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Random:
    return stream("campaign", request.node.name, time.time_ns() if MANY else 0)


@pytest.mark.faults
def test_killed_builds_end_with_the_same_bytes(recipe: Path, rng: Random, tmp_path: Path) -> None:
    def command(out: Path) -> tuple[object, ...]:
        return ("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", rng.choice((1, 2)))

    assert builds.run(*command(tmp_path / "whole")).returncode == 0
    whole = builds.contents(tmp_path / "whole")
    for number in range(KILLS):
        out, delay = tmp_path / str(number), rng.uniform(0.3, 3)
        with builds.Running(*command(out), pause=0.05):
            time.sleep(delay)
        ended = builds.run(*command(out))
        assert ended.returncode == 0, (delay, ended.stderr)
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
@pytest.mark.parametrize("name", AFTER)
def test_other_commands_end_with_the_same_bytes_when_they_were_killed(
    name: str, whole: Path, rng: Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fresh(folder: str) -> Path:
        shutil.copytree(whole, tmp_path / folder / "v1.0.0")
        monkeypatch.chdir(tmp_path / folder)
        if name != "freeze":
            assert builds.run(*AFTER["freeze"], small=False).returncode == 0
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
