"""Locks on files: what they keep out on a disk, on NFS and where a file belongs to somebody else."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import builds
from pipeline.artifacts import holds
from pipeline.artifacts.files import exclusive_lock
from pipeline.artifacts.holds import hold_for_build, hold_for_job, hold_for_verify
from pipeline.artifacts.recipes import write_recipe
from pipeline.errors import BuildError
from pipeline.inference.corpus import ReplyJournal
from pipeline.recipe import Recipe, load_recipe

flock, open_file = fcntl.flock, os.open


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Recipe, Recipe]:
    """Two recipes of one tier."""
    paths = [builds.recipe_file(tmp_path / f"{seed}.toml", seed=seed) for seed in (7, 8)]
    one, other = (load_recipe(str(path)) for path in paths)
    return one, other


@pytest.fixture(params=["disk", "NFS"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system: NFS locks for one alone only what is open for writing, and no folders for other machines."""

    def nfs(file: object, how: int) -> None:
        number = file if isinstance(file, int) else file.fileno()  # type: ignore[attr-defined]
        if stat.S_ISDIR(os.fstat(number).st_mode):
            return
        if how & fcntl.LOCK_EX and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(number, how)

    if request.param == "NFS":
        monkeypatch.setattr(fcntl, "flock", nfs)
    return str(request.param)


def entered(folder: Path, until: threading.Event) -> tuple[threading.Thread, threading.Event]:
    """Be alone in a folder in another thread; return the thread, and what is set once it is."""
    inside = threading.Event()

    def stay() -> None:
        with exclusive_lock(folder):
            inside.set()
            until.wait(30)

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    return thread, inside


def test_one_at_a_time_is_alone_in_a_folder(system: str, tmp_path: Path) -> None:
    leave = threading.Event(), threading.Event()
    first, inside = entered(tmp_path, leave[0])
    assert inside.wait(10)
    second, too = entered(tmp_path, leave[1])
    assert not too.wait(0.3)
    leave[0].set()
    assert too.wait(10)
    leave[1].set()
    for thread in (first, second):
        thread.join(10)
    assert list(tmp_path.iterdir()) == []


def test_verify_keeps_builds_out(system: str, pair: tuple[Recipe, Recipe], tmp_path: Path) -> None:
    write_recipe(tmp_path / "out", pair[0])
    with (
        hold_for_verify(tmp_path / "out", pair[0]),
        pytest.raises(BuildError, match="another command is verifying tier 32k"),
    ):
        hold_for_build(tmp_path / "out", pair[1]).__enter__()


def test_a_job_keeps_other_recipes_out_when_its_command_has_ended(
    system: str, pair: tuple[Recipe, Recipe], tmp_path: Path
) -> None:
    one, other = pair
    with hold_for_build(tmp_path, one):
        job = hold_for_job(tmp_path, one)
        job.__enter__()
    with pytest.raises(BuildError, match=rf"another recipe is being built in .* \(process {os.getpid()} on "):
        hold_for_build(tmp_path, other).__enter__()
    job.__exit__(None, None, None)
    with hold_for_build(tmp_path, other):
        pass


def test_a_job_without_a_build_is_not_done(pair: tuple[Recipe, Recipe], tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"the build of .* that this job belongs to has ended"):
        hold_for_job(tmp_path, pair[0]).__enter__()


def test_a_job_is_done_where_the_file_of_its_build_may_not_be_read(
    pair: tuple[Recipe, Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with hold_for_build(tmp_path, pair[0]):
        monkeypatch.setattr(holds, "_open_shared", closed)
        with hold_for_job(tmp_path, pair[0]):
            pass
        assert holds._hold_path(tmp_path, pair[0]).exists()


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Return what makes a file somebody else's, who alone may write it."""
    theirs = set[int]()

    def opened(path: str | os.PathLike[str], flags: int, *more: int, **named: int) -> int:
        known = os.path.exists(path) and os.stat(path).st_ino in theirs
        if known and flags & os.O_ACCMODE != os.O_RDONLY:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return open_file(path, flags, *more, **named)

    may = os.access
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(
        os, "access", lambda path, how: may(path, how) and not (how & os.W_OK and os.stat(path).st_ino in theirs)
    )
    return lambda path: theirs.add(path.stat().st_ino)


def test_a_build_of_two_users_goes_together(
    pair: tuple[Recipe, Recipe], tmp_path: Path, foreign: Callable[[Path], None]
) -> None:
    one, other = pair
    path = holds._hold_path(tmp_path, one)
    with hold_for_build(tmp_path, one):
        foreign(path)
        with hold_for_build(tmp_path, one), pytest.raises(BuildError, match="another recipe is being built"):
            hold_for_build(tmp_path, other).__enter__()
    path.unlink(missing_ok=True)
    path.write_text("process 1 on host\n", encoding="ascii")  # of a command that was killed
    foreign(path)
    with hold_for_build(tmp_path, one):
        assert path.read_text(encoding="ascii").startswith(f"process {os.getpid()} ")


def test_a_group_may_lock_what_its_members_made(pair: tuple[Recipe, Recipe], tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with hold_for_build(tmp_path, pair[0]):
            assert holds._hold_path(tmp_path, pair[0]).stat().st_mode & 0o777 == 0o664
    finally:
        os.umask(before)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_journal_is_written_where_there_are_no_locks(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", none)
    with ReplyJournal(tmp_path / "replies.jsonl", "wait"):
        pass
    with exclusive_lock(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["replies.jsonl"]
