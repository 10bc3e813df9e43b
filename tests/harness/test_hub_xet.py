"""The same by Xet, which is how the client uploads unless it is told not to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loopback import Hub
from loopback.client import whole_environment
from loopback.folders import digests, noise, staged
from loopback.xet import chunks_of, ungrouped, unpacked

REPO = "org/small"


def released(hub: Hub, home: Path, folder: Path, version: str) -> subprocess.CompletedProcess[str]:
    """Publish in a process of its own: hf_xet keeps threads and a cache."""
    environment = {**whole_environment(hub, home), "HF_HUB_DISABLE_XET": "0"}
    args = [sys.executable, "-m", "loopback.publish", "release", str(folder), REPO, version]
    return subprocess.run(args, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files with chunks that pack well, that pack well once grouped, that do not pack, and that occur twice."""
    folder = staged(tmp_path / "staged", size=50_000)
    (folder / "plain.parquet").write_bytes(b"the same again and again. " * 20_000)
    (folder / "grouped.parquet").write_bytes(b"".join(number.to_bytes(4, "little") for number in range(100_000)))
    (folder / "twice.parquet").write_bytes(noise(9, 400_000) * 2)
    return folder


def test_a_release_by_xet_is_the_same(hub: Hub, folder: Path, tmp_path: Path) -> None:
    done = released(hub, tmp_path, folder, "1.0.0")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert hub.repos[REPO].contents("v1.0.0") == digests(folder)
    assert hub.lines("POST /_cas/v1/xorbs/")
    assert not hub.lines("PUT")
    before = hub.uploaded()
    assert before < sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    (folder / "plain.parquet").rename(folder / "moved.parquet")
    (folder / "grouped.parquet").write_bytes((folder / "grouped.parquet").read_bytes() + noise(10, 1000))
    assert released(hub, tmp_path, folder, "1.1.0").returncode == 0
    assert hub.repos[REPO].contents("v1.1.0") == digests(folder)
    assert hub.uploaded() - before < 200_000


def test_a_refusal_by_xet_is_one_line(hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.fail("/xorbs/", 403, times=-1)
    done = released(hub, tmp_path, folder, "1.0.0")
    assert done.returncode == 1
    assert done.stderr.startswith("carrara: org/small: the token does not allow that: use one with write access (")
    assert done.stderr.count("\n") == 1
    hub.faults.clear()
    assert released(hub, tmp_path, folder, "1.0.0").returncode == 0
    assert hub.repos[REPO].contents("v1.0.0") == digests(folder)


def test_chunks_are_unpacked() -> None:
    assert ungrouped(b"aeibfjcgdh") == b"abcdefghij"
    assert unpacked(b"abc", 0, 3) == b"abc"
    chunk = bytes([0, 3, 0, 0, 0, 3, 0, 0])
    assert list(chunks_of(chunk + b"abc" + chunk + b"def" + b"XETBLOB")) == [b"abc", b"def"]
