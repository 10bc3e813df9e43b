"""A place in a store answers as a folder on a disk does, asks as little as it can, and names what is wrong."""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_stores import Faulty, faulty
from pipeline.artifacts import parquet
from pipeline.artifacts.files import atomic_folder, atomic_write
from pipeline.errors import BuildError, RecipeError
from pipeline.storage import (
    Lease,
    StoreError,
    StorePath,
    checked_file,
    holder_of,
    map_in_order,
    objects,
    on_disk,
    parse_location,
    prefetch,
    prefetched,
    prefetched_existing,
    readable,
    requests,
    write_file,
)
from pipeline.storage import lease as leases
from pipeline.storage import path as many

NAMES = st.sampled_from(["a", "b.json", "c.d.parquet", "test-00001", ".hid", "x y", "d%20", "e#1"])
PLACES = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PATTERNS = st.lists(
    st.sampled_from(["*", "a", "*.json", "test-*", "?", "[ab]*", "c.d.parquet", ".*", "x y"]), min_size=1, max_size=3
).map("/".join)


@pytest.fixture
def store() -> Iterator[type[Faulty]]:
    with faulty() as made:
        yield made


def without_clashes(places: list[str]) -> list[str]:
    """Drop places that are folders of others: a disk cannot have both."""
    return [one for one in places if not any(other != one and other.startswith(f"{one}/") for other in places)]


@settings(max_examples=40, deadline=None)
@given(st.lists(PLACES, unique=True, max_size=8).map(without_clashes), st.lists(PLACES, max_size=4), PATTERNS)
def test_a_store_says_what_a_disk_says(
    tmp_path_factory: pytest.TempPathFactory, kept: list[str], asked: list[str], pattern: str
) -> None:
    disk = tmp_path_factory.mktemp("twin")
    try:
        with faulty():
            there = StorePath("memory://bucket/twin")
            for number, name in enumerate(kept):
                (disk / name).parent.mkdir(parents=True, exist_ok=True)
                for root in (disk, there):
                    (root / name).write_bytes(b"%d\n" % number)
            for name in [*kept, *asked, *(str(PurePosixPath(name).parent) for name in kept)]:
                assert seen(disk, disk / name) == seen(there, there / name), name
            for names in (disk.glob, there.glob), (disk.rglob, there.rglob):
                here, far = (sorted(str(path.relative_to(root)) for path in found(pattern)) for root, found in
                             zip((disk, there), names, strict=True))  # fmt: skip
                assert here == far
            assert walked(disk) == walked(there)
            assert {path.relative_to(there).as_posix(): size for path, size in there.sizes().items()} == {
                name: len(b"%d\n" % number) for number, name in enumerate(kept)
            }
    finally:
        shutil.rmtree(disk)


def seen(root: Path, path: Path) -> list[Any]:
    """Return what a path says of itself, and of what is there."""
    said = [path.exists(), path.is_file(), path.is_dir(), path.is_symlink()]
    for act in (
        lambda: sorted(each.name for each in path.iterdir()),
        path.read_bytes,
        path.read_text,
        lambda: path.stat().st_size if path.is_file() else 0,
    ):
        try:
            said.append(act())
        except OSError as fault:
            kind = FileNotFoundError if isinstance(fault, NotADirectoryError) else type(fault)
            said.append("no object" if path.is_dir() else kind)
    return said


def walked(root: Path) -> list[tuple[str, list[str], list[str]]]:
    rows = root.walk() if isinstance(root, StorePath) else ((Path(top), *rest) for top, *rest in os.walk(root))
    return sorted(
        (os.path.join(".", *top.relative_to(root).parts), sorted(folders), sorted(files))
        for top, folders, files in rows
    )


@settings(max_examples=100, deadline=None)
@given(PLACES, PLACES, NAMES)
def test_names_are_taken_apart_as_on_a_disk(first: str, second: str, name: str) -> None:
    here, there = (root / first / second for root in (Path("/bucket"), StorePath("s3://bucket")))
    assert isinstance(there, Path)
    assert str(there) == f"s3:/{here}" == there.as_uri()
    assert (there.name, there.stem, there.suffix, there.suffixes) == (here.name, here.stem, here.suffix, here.suffixes)
    assert there.parts[1:] == here.parts[1:]
    for changed in (
        lambda path: path.parent,
        lambda path: path.with_name(name),
        lambda path: path.with_suffix(".x"),
        lambda path: path / name,
        lambda path: path.joinpath(name, first),
        lambda path: (path / ".." / ".." / name).resolve(),
    ):
        assert str(changed(there)) == f"s3:/{changed(here)}"
    assert [str(each) for each in there.parents] == [f"s3:/{each}" for each in list(here.parents)[:-1]]
    root = StorePath(f"s3://bucket/{first}")
    assert there.is_relative_to(root)
    assert Path("/x") / there.relative_to(root) == Path("/x") / second
    again = pickle.loads(pickle.dumps(there))
    assert (again, hash(again), type(again), deepcopy(there)) == (there, hash(there), StorePath, there)
    assert there != here
    assert sorted([there, root]) == [root, there]
    assert there.match("*" + there.suffix)


def test_a_bucket_has_nothing_above_it() -> None:
    root = StorePath("s3://bucket")
    assert (root.parent, list(root.parents), str(root / "..")) == (root, [], "s3://bucket/..")
    assert (root / ".." / ".." / "x").resolve() == root / "x"
    assert root.is_absolute()
    assert root.absolute() is root
    assert root.expanduser() is root


@pytest.mark.parametrize("use", [open, os.stat, os.scandir, os.fspath, os.mkdir, shutil.rmtree, shutil.copyfile])
def test_no_kernel_is_given_a_place_in_a_store(
    use: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: type[Faulty]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = StorePath("s3://bucket/x")
    with pytest.raises(TypeError, match="'s3://bucket/x' is in a store and no file of this machine"):
        use(*[path] * (2 if use is shutil.copyfile else 1))
    assert not list(tmp_path.iterdir())
    assert not store.calls


def test_files_are_opened_whole(store: type[Faulty]) -> None:
    path = StorePath("memory://bucket/a/b.txt")
    with path.open("w") as file:
        file.write("one\ntwo\n")
        assert not path.exists()
    assert (path.read_text(), path.read_bytes(), list(path.open())) == ("one\ntwo\n", b"one\ntwo\n", ["one\n", "two\n"])
    with suppress(ZeroDivisionError), path.open("wb") as file:
        file.write(b"lost")
        file.seek(1 // 0)
    assert path.read_text() == "one\ntwo\n"
    with pytest.raises(FileExistsError):
        path.open("x")
    for mode in ("a", "r+", "w+b", "ab"):
        with pytest.raises(StoreError, match="cannot be opened with mode"):
            path.open(mode)
    with pytest.raises(FileNotFoundError):
        (path.parent / "none").open()
    assert path.write_text("x\ny", newline="\r\n") == 3
    assert path.read_bytes() == b"x\r\ny"
    assert path.tail(2) == b"\ny"
    assert path.tail(99) == path.read_bytes()


def test_places_are_made_moved_and_removed(store: type[Faulty]) -> None:
    root = StorePath("memory://bucket/out")
    root.mkdir(parents=True)
    assert not root.exists()
    (root / "a").touch()
    with pytest.raises(FileExistsError):
        (root / "a").touch(exist_ok=False)
    with pytest.raises(FileExistsError):
        root.mkdir()
    root.mkdir(exist_ok=True)
    with pytest.raises(OSError, match="not empty") as fault:
        root.rmdir()
    assert fault.value.errno == errno.ENOTEMPTY
    (root / "a").write_bytes(b"1")
    assert (root / "a").replace(root / "b" / "c") == root / "b" / "c"
    assert [str(path.relative_to(root)) for path in sorted(root.rglob("*"))] == ["b", "b/c"]
    (root / "b" / "c").copy_to(StorePath("memory://other/c"))
    assert StorePath("memory://other/c").read_bytes() == b"1"
    with pytest.raises(IsADirectoryError):
        (root / "b").unlink()
    (root / "b" / "c").unlink()
    (root / "b" / "c").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        (root / "b" / "c").unlink()
    root.rmdir()
    assert not root.exists()
    with pytest.raises(FileNotFoundError):
        list(root.iterdir())
    for lacking in ("chmod", "symlink_to", "hardlink_to", "readlink", "owner"):
        with pytest.raises(StoreError, match="stores have no links"):
            getattr(root, lacking)()


def test_what_passes_is_tried_again_and_what_does_not_is_not(store: type[Faulty]) -> None:
    path = StorePath("memory://bucket/x")
    path.write_bytes(b"12")
    for passing in (TimeoutError(), ConnectionResetError("cut"), OSError(errno.EBUSY, "SlowDown")):
        store.faults["cat_file"] = [passing] * 3
        assert path.read_bytes() == b"12"
    store.calls.clear()
    store.faults["cat_file"] = [TimeoutError()] * 99
    with pytest.raises(StoreError, match=r"^'memory://bucket/x': the store does not answer in time: see whether"):
        path.read_bytes()
    assert store.times("cat_file") == 7
    for lasting, said in (
        (PermissionError("Forbidden"), r"access is denied \(Forbidden\): use credentials"),
        (OSError(errno.EINVAL, "bad"), "the store rejected the request"),
        (type("NoCredentialsError", (Exception,), {"__module__": "botocore"})("none"), "no valid credentials"),
        (type("NoSuchBucket", (FileNotFoundError,), {})("gone"), "no bucket 'memory://bucket': create it"),
        (NotImplementedError(), "cannot be written"),
        (OSError("Forbidden: b/x\nno"), r"access is denied \(Forbidden: b/x\)"),
        (ValueError("Parameter validation failed:\nInvalid bucket name"), "failed: Invalid bucket name"),
    ):
        store.calls.clear()
        store.faults["cat_file"] = [lasting]
        with pytest.raises(StoreError, match=said) as fault:
            path.read_bytes()
        assert store.times("cat_file") == 1
        assert "\n" not in str(fault.value)
        fault.value.__cause__ = fault.value.__context__ = None  # Dask lets causes be pickled, but these have no module
        assert str(pickle.loads(pickle.dumps(fault.value))) == str(fault.value)
    store.faults["cat_file"] = [KeyError("a fault of ours")]
    with pytest.raises(KeyError):
        path.read_bytes()


def refusal(code: str, status: int) -> Exception:
    """Return what the client of S3 raises."""
    fault = type("ClientError", (Exception,), {"__module__": "botocore"})(f"An error occurred ({code})")
    fault.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}  # type: ignore[attr-defined]
    return fault


def test_an_empty_object_has_no_last_bytes(store: type[Faulty]) -> None:
    path = StorePath("memory://bucket/x")
    path.write_bytes(b"")
    store.faults["cat_file"] = [refusal("InvalidRange", 416)]
    assert path.tail(8) == b""
    store.faults["cat_file"] = [refusal("InvalidRange", 416)]
    assert parquet.content_key(path) is None


@pytest.mark.parametrize(("code", "status"), [("ExpiredToken", 400), ("InvalidAccessKeyId", 403)])
def test_credentials_are_named_though_a_reply_to_head_has_no_reason(
    code: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing:
        def info(self, url: str) -> None:
            raise refusal(str(status), status)

        def cat_file(self, url: str, **_: int) -> None:
            raise refusal(code, status)

    monkeypatch.setattr(requests, "system", lambda url: Refusing())
    with pytest.raises(StoreError, match=rf"no valid credentials \(.*{code}.*\): set AWS_ACCESS_KEY_ID"):
        StorePath("s3://bucket/x").exists()
    monkeypatch.setattr(Refusing, "cat_file", lambda *_, **__: b"")
    with pytest.raises(StoreError, match="access is denied" if status == 403 else "the store rejected the request"):
        StorePath("s3://bucket/x").exists()


@pytest.mark.parametrize(("url", "tries"), [("gs://b/x", 1), ("s3://b/x", 7)])
def test_silence_is_no_slow_line_where_whole_requests_are_limited(
    url: str, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, made = [0.0], list[float]()

    def silent(_: object) -> None:
        made.append(clock[0])
        clock[0] += 30
        raise TimeoutError

    monkeypatch.setattr(requests, "system", lambda _: None)
    monkeypatch.setattr(requests, "_SILENT", {})
    monkeypatch.setattr(requests.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(requests.time, "sleep", lambda _: None)
    with pytest.raises(StoreError, match="does not answer in time"):
        requests.request(url, silent)
    assert len(made) == tries


def test_silence_behind_a_slow_line_is_asked_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt was under way for a minute; the second is silent from its beginning."""
    clock, takes = [0.0], [60.0, requests.CONNECT + requests.REPLY]

    def silent(_: object) -> None:
        clock[0] += takes.pop(0)
        raise TimeoutError

    monkeypatch.setattr(requests, "system", lambda _: None)
    monkeypatch.setattr(requests, "_SILENT", {})
    monkeypatch.setattr(requests.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(requests.time, "sleep", lambda _: None)
    with pytest.raises(StoreError, match="does not answer in time"):
        requests.request("s3://b/x", silent)
    assert takes == []


def test_a_file_system_of_google_makes_one_attempt() -> None:
    """What it repeats by itself is undone; `decorator`, which it uses, names what it wraps."""
    made = []

    class Google:
        def single(self, what: str) -> None:
            made.append(what)
            raise OSError(what)

        def _request(self, what: str) -> None:
            for _ in range(6):
                with suppress(OSError):
                    self.single(what)

        _request.__wrapped__ = single  # type: ignore[attr-defined]

    with pytest.raises(OSError, match="x"):
        requests._once_only(Google(), "gs")._request("x")
    assert made == ["x"]


def test_a_digest_of_google_is_known_beside_its_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    class Google:
        read = 0

        def pipe_file(self, url: str, data: bytes) -> None:
            digest = b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
            self.said = {"size": len(data), "type": "file", "etag": "CJ", "md5Hash": digest, "updated": "2026"}

        def info(self, url: str) -> dict[str, object]:
            return self.said

        def cat_file(self, url: str) -> bytes:
            self.read += 1
            return b""

    system = Google()
    monkeypatch.setattr(requests, "system", lambda url: system)
    objects.put("gs://b/x", b"12")
    assert system.read == 0


def test_a_fault_of_the_store_is_no_absence(store: type[Faulty]) -> None:
    path = StorePath("memory://bucket/x")
    for ask in (path.exists, path.is_file, path.is_dir, path.stat, lambda: list(path.glob("*")), path.unlink):
        store.faults.update(info=[PermissionError("no")], ls=[PermissionError("no")])
        with pytest.raises(StoreError, match="access is denied"):
            ask()


def test_what_was_put_is_looked_for(store: type[Faulty], monkeypatch: pytest.MonkeyPatch) -> None:
    path = StorePath("memory://bucket/x")
    store.faults["info"] = [FileNotFoundError()] * 3
    path.write_bytes(b"late")
    assert path.read_bytes() == b"late"
    monkeypatch.setattr(store, "cat_file", lambda *_, **__: b"othr")
    with pytest.raises(StoreError, match=r"4 bytes were put, but the store shows 4 other bytes: run"):
        path.write_bytes(b"mine")
    monkeypatch.setattr(store, "pipe_file", lambda *_, **__: None)
    with pytest.raises(StoreError, match=r"3 bytes were put, but the store shows nothing: run"):
        StorePath("memory://bucket/new").write_bytes(b"new")


def test_a_file_is_put_when_it_is_whole(store: type[Faulty], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = StorePath("memory://bucket/x")
    with write_file(path) as here:
        here.write_bytes(b"half")
        assert not path.exists()
        assert not list(tmp_path.iterdir())  # it has no name that a killed process could leave
        here.write_bytes(b"all of it")
    assert path.read_bytes() == b"all of it"
    with suppress(ZeroDivisionError), write_file(path) as here:
        here.write_bytes(b"lost")
        here.chmod(1 // 0)
    assert path.read_bytes() == b"all of it"
    store.faults["pipe_file"] = [PermissionError("Forbidden")]
    with pytest.raises(BuildError, match=r"^cannot write 'memory://bucket/x': access is denied"), atomic_write(path):
        pass
    with pytest.raises(BuildError, match="cannot take a whole folder at once"), atomic_folder(path):
        pass
    local = tmp_path / "deep" / "file"
    with write_file(local) as here:
        here.write_bytes(b"1")
    assert (local.read_bytes(), len(list(local.parent.iterdir()))) == (b"1", 1)


def test_objects_are_fetched_once_and_together(store: type[Faulty], tmp_path: Path) -> None:
    paths = [StorePath(f"memory://bucket/{number}") for number in range(50)]
    for number, path in enumerate(paths):
        path.write_bytes(b"%d" % number)
    store.calls.clear()
    with prefetched(*paths[:2], tmp_path / "none"):
        assert paths[0].read_bytes() + paths[1].tail(9) == b"01"
        assert readable(paths[1]).read() == b"1"  # type: ignore[union-attr]
        assert paths[1].stat().st_size == 1
    assert [called for called, _ in store.calls] == ["cat_file"] * 2
    ahead = prefetch(((path, 1) for path in paths), paths[0].parent)
    assert [path.read_bytes() for path in ahead] == [b"%d" % n for n in range(50)]
    assert store.times("cat_file") == 52
    assert list(map_in_order(lambda path: path.read_bytes(), paths, paths[0].parent)) == [b"%d" % n for n in range(50)]
    assert list(map_in_order(str, [1, 2], tmp_path)) == ["1", "2"]
    some = map_in_order(lambda path: path.read_bytes(), paths, paths[0].parent)
    assert next(some) == b"0"
    some.close()  # type: ignore[attr-defined]
    assert checked_file(paths[0]) is paths[0]
    assert sorted(path.name for path in on_disk(paths[0].parent).iterdir()) == sorted(map(str, range(50)))


def test_large_objects_are_fetched_few_at_a_time(store: type[Faulty], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "AHEAD", 1000)
    weighed: list[int] = []
    sizes = [300, 300, 300, 300, 5000, 1, 1]

    def size(at: int) -> int:
        """Return the bytes of an object, which is asked just before it is fetched, or waits for room."""
        weighed.append(at)
        return sizes[at]

    found = map_in_order(lambda at: at, range(7), StorePath("memory://b/x"), size)
    assert next(found) == 0
    assert weighed == [0, 1, 2, 3]
    assert [next(found), next(found), next(found)] == [1, 2, 3]
    assert weighed == [0, 1, 2, 3, 4]
    assert list(found) == [4, 5, 6]


def test_what_is_not_there_is_held_too_until_it_is_put(store: type[Faulty]) -> None:
    path = StorePath("memory://bucket/a")
    with prefetched_existing(path):
        store.calls.clear()
        assert not path.exists()
        with pytest.raises(FileNotFoundError):
            path.read_bytes()
        with pytest.raises(FileNotFoundError):
            readable(path)
        assert not store.calls
        path.write_bytes(b"1")
        assert path.read_bytes() == b"1"
        with prefetched_existing(path):
            path.unlink()
            assert not path.exists()


def test_what_changes_within_an_inner_block_is_no_longer_held_in_the_outer_one(store: type[Faulty]) -> None:
    path, other = StorePath("memory://bucket/a"), StorePath("memory://bucket/b")
    other.write_bytes(b"other")
    with prefetched_existing(path, other):
        with prefetched_existing(path, other):
            path.write_bytes(b"new")
        assert path.read_bytes() == b"new"
        store.calls.clear()
        assert other.read_bytes() == b"other"
        assert not store.calls


def test_what_a_user_types(tmp_path: Path) -> None:
    assert parse_location("outputs/v1") == Path("outputs/v1")
    assert parse_location(f"file://{tmp_path}") == tmp_path
    assert parse_location(StorePath("s3://bucket/x")) == StorePath("s3://bucket/x")
    assert str(parse_location("S3://Bucket//a/./b/")) == "s3://Bucket/a/b"
    assert str(parse_location("memory://x")) == "memory://x"
    for given_, said in (
        ("s4://bucket/x", "unknown kind of store 's4': did you mean 's3'"),
        ("s3://", "names no folder of a store: give one such as s3://bucket/release"),
        ("s3://bucket/../x", "names no folder"),
        ("s3:/bucket/x", "'s3:/bucket/x' is neither a path nor the URL of a store: give one such as s3://bucket/x"),
        ("s3:bucket/x", "give one such as s3://bucket/x"),
        ("s3a:bucket/x", "give one such as s3a://bucket/x"),
        ("arn:aws:s3:::bucket/x", "give one such as s3://bucket/release"),
        ("simplecache::s3://bucket/x", "give one such as s3://bucket/release"),
        ("file:/data/x", "give one such as file:///data/x"),
        ("file://localhost/data/x", "names no path from the root: give one such as file:///data/release"),
        ("file://", "names no path from the root"),
        ("http://127.0.0.1:9000/bucket/x", "is the address of a server: set AWS_ENDPOINT_URL to that"),
        ("", "a path is empty: give a folder or a file"),
    ):
        with pytest.raises(RecipeError, match=said):
            parse_location(given_)


def test_a_store_that_its_address_does_not_open() -> None:
    with pytest.raises(StoreError, match="needs more than its address: give fsspec its host, in its configuration"):
        parse_location("ftp://host/x").exists()


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(RecipeError, match=r"'gs://b/x' needs a package that is not installed: make extras EXTRAS=gs"):
        parse_location("gs://b/x")
    monkeypatch.setitem(sys.modules, "fsspec.registry", None)
    with pytest.raises(RecipeError, match=r"needs the package fsspec: make extras EXTRAS=s3"):
        parse_location("s3://b/x")


def test_a_lease_is_held_by_the_living(store: type[Faulty], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LOOK", 0.01)
    path = StorePath("memory://bucket/out/.building")
    with Lease(path) as own:
        assert holder_of(own.path) == f"process {os.getpid()} on {os.uname().nodename}"
        assert own.path.read_bytes() == own.content
    assert not path.parent.exists()
    assert holder_of(own.path) == ""
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    said = own.content.replace(b'"process": %d' % os.getpid(), b'"process": %d' % int(dead.stdout))
    path.write_bytes(said)
    assert holder_of(path) == ""
    assert not path.exists()
    elsewhere = own.content.replace(b'"space": "', b'"space": "elsewhere ')
    path.write_bytes(elsewhere)
    assert holder_of(path, 0) != ""
    assert holder_of(path, 0.05) != ""
    monkeypatch.setattr(leases, "WATCHED", 0.05)
    assert holder_of(path, 0.05) == ""
    assert not path.exists()


def test_a_lease_that_is_not_renewed_is_held_until_it_is_gone(
    store: type[Faulty], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the Hub each renewal would be a commit."""
    monkeypatch.setattr(leases, "kind_of", lambda url: "hf")
    monkeypatch.setattr(leases, "WATCHED", 0.05)
    path = StorePath("memory://bucket/out/.building")
    with Lease(path) as own:
        other = path.with_name("other")
        other.write_bytes(own.content.replace(b'"space": "', b'"space": "elsewhere '))
        assert holder_of(other, 0.05) != ""
        assert other.exists()


def test_a_lease_that_is_being_renewed_is_gone_in_the_end(store: type[Faulty], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEWED", 0.01)
    put, begun = StorePath.write_bytes, threading.Event()

    def late(path: StorePath, data: bytes) -> int:
        begun.set()
        time.sleep(0.2)
        return put(path, data)

    with Lease(StorePath("memory://bucket/out/.building")) as own:
        monkeypatch.setattr(StorePath, "write_bytes", late)
        assert begun.wait(5)
    assert not own.path.exists()
    assert not own._renewing.is_alive()


def test_a_lease_is_renewed(store: type[Faulty], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEWED", 0.02)
    monkeypatch.setattr(leases, "LOOK", 0.01)
    path = StorePath("memory://bucket/out/.building")
    with Lease(path) as own:
        elsewhere = own.path.with_name("other")
        own.path, own._content = elsewhere, own.content.replace(b'"space": "', b'"space": "elsewhere ')
        own.path.write_bytes(own.content)
        assert holder_of(elsewhere, 5) != ""
