"""A build in a store has the bytes of one on a disk, goes on where it stopped, and is held to what it says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import HfApi

import builds
import corpus_shapes
from fake_stores import Faulty, faulty
from frozen_releases import carrara, error_line, succeeded, written
from loopback import Hub
from model_files import folder_of, small
from pipeline.artifacts.holds import HOLD_NAME
from pipeline.artifacts.recipes import read_recipes
from pipeline.corpora.importing import import_corpora
from pipeline.corpora.reading import Source
from pipeline.errors import BuildError
from pipeline.executors import MARK_PREFIX
from pipeline.storage import Lease, StorePath, parse_location, requests
from pipeline.storage import lease as leases

pytestmark = pytest.mark.usefixtures("small_shards")

OUT = StorePath("memory://bucket/v1.0.0")
ROW = OUT / "o200k" / "data" / "bio" / "32k" / "test-00001-of-00003.parquet"


@pytest.fixture(autouse=True)
def no_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is written to a folder of this machine that is called as the store is."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.glob("memory:*"))


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("recipe") / "tiny.toml")


@pytest.fixture(scope="module")
def local(recipe: Path) -> dict[str, str]:
    """The digest of every file of the release, built on a disk."""
    out = recipe.parent / "local" / "v1.0.0"
    builds.stages(recipe, out).build()
    return builds.contents(out)


@pytest.fixture(scope="module")
def pristine(recipe: Path, local: dict[str, str]) -> dict[str, bytes]:
    """The objects of the release, built in a store."""
    with faulty():
        builds.forget()
        builds.stages(recipe, OUT).build()
        return {str(path): path.read_bytes() for path in builds.files(OUT)}


@pytest.fixture
def store(pristine: dict[str, bytes]) -> Iterator[type[Faulty]]:
    """The release in a store of its own."""
    with faulty() as made:
        for url, content in pristine.items():
            StorePath(url).write_bytes(content)
        builds.forget()
        made.calls.clear()
        yield made


def puts(store: type[Faulty]) -> list[str]:
    """Return what was put, but for leases."""
    return [path for called, path in store.calls if called == "pipe_file" and HOLD_NAME not in path]


def test_bytes_are_those_of_a_disk(store: type[Faulty], local: dict[str, str]) -> None:
    assert builds.contents(OUT) == local


def test_a_second_build_makes_nothing(store: type[Faulty], recipe: Path, local: dict[str, str]) -> None:
    assert builds.stages(recipe, OUT).build()[0] is not None
    assert not puts(store)
    assert store.times("cat_file") < 4 * len(local)
    assert f"{OUT / 'samples'}: 0 of 4 files" in succeeded(carrara("build", "--until", "sample", recipe, "--out", OUT))
    shown = succeeded(carrara("plan", recipe, "--tokenizer", "o200k", "--out", OUT, "--json"))
    assert {(row["shards"], row["proven"]) for row in json.loads(shown)["shards"]} == {(3, 3), (1, 1)}
    assert builds.contents(OUT) == local


def test_a_build_goes_on_where_it_stopped(store: type[Faulty], recipe: Path, local: dict[str, str]) -> None:
    gone = [ROW, OUT / "o200k" / "manifest.json", *sorted((OUT / "samples" / "mrcr").rglob("*.parquet"))]
    for path in gone:
        path.unlink()
    (OUT / "segments" / "people.parquet").exists()
    store.calls.clear()
    builds.stages(recipe, OUT).build()
    assert builds.contents(OUT) == local
    made = {path.partition("/v1.0.0/")[2] for path in puts(store)}
    assert {str(path.relative_to(OUT)) for path in gone} <= made
    assert not [name for name in made if name.startswith("segments/")]


def test_a_fault_in_the_middle_is_a_line_and_costs_nothing(recipe: Path, local: dict[str, str]) -> None:
    with faulty() as store:
        puts_left = 9

        def put(self: Faulty, path: str, *args: object, **kwargs: object) -> None:
            nonlocal puts_left
            puts_left -= 1
            if puts_left < 0:
                raise ConnectionResetError("cut")
            super(store, self).pipe_file(path, *args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "pipe_file", put)
            line = error_line(carrara("build", recipe, "--tokenizer", "o200k", "--out", OUT))
        assert (
            "the store cannot be reached (cut): see whether 'memory://bucket' is up, and run the same command" in line
        )
        assert not [path for path in builds.files(OUT) if HOLD_NAME in path.name]
        done = carrara("build", recipe, "--tokenizer", "o200k", "--out", OUT)
        assert done.stderr == f"carrara: {OUT} disappears when this process ends: give another --out to keep it\n"
        assert builds.contents(OUT) == local


def test_rows_are_proven_from_what_the_store_has(store: type[Faulty], recipe: Path, local: dict[str, str]) -> None:
    assert "all exact" in succeeded(carrara("verify", OUT))
    assert len([path for called, path in store.calls if called == "cat_file" and path in str(ROW)]) == 1
    assert builds.contents(OUT) == local
    ROW.write_bytes(ROW.read_bytes()[:-100] + b"?" * 100)
    assert f"'{ROW}' differs from the bytes that were proven: the file is moved aside; run build" in error_line(
        carrara("verify", OUT)
    )
    assert ROW.with_name(f"{ROW.name}.corrupt").exists()
    assert not (OUT / "o200k" / "manifest.json").exists()
    succeeded(carrara("build", recipe, "--tokenizer", "o200k", "--out", OUT))
    assert builds.contents(OUT) == local


def other_release(recipe: Path, folder: Path) -> Path:
    path = folder / "other.toml"
    path.write_text(recipe.read_text(encoding="ascii").replace('"tiny"', '"other"'), encoding="ascii")
    return path


def test_another_release_is_refused(store: type[Faulty], recipe: Path, tmp_path: Path) -> None:
    line = error_line(carrara("build", other_release(recipe, tmp_path), "--tokenizer", "o200k", "--out", OUT))
    assert f"'{OUT}' holds tiny 1.0.0 chat, not other 1.0.0 chat: give another folder" in line
    assert not puts(store)


def test_recipes_are_found_without_a_listing(
    store: type[Faulty], recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ls", lambda *_, **__: [])
    assert [each.tier for each in read_recipes(OUT)] == ["32k"]
    line = error_line(carrara("build", other_release(recipe, tmp_path), "--tokenizer", "o200k", "--out", OUT))
    assert "holds tiny 1.0.0 chat, not other 1.0.0 chat" in line


def test_two_recipes_at_a_time(
    store: type[Faulty], recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "WATCHED", 0.0)
    seeded = written(tmp_path / "seeded.toml", seed=8)
    ours, theirs = (builds.stages(each, OUT) for each in (recipe, seeded))
    with theirs._holding_folder():
        with pytest.raises(BuildError, match=r"another recipe is being built in .* \(process \d+ on .*\): wait for it"):
            ours.build()
        with pytest.raises(BuildError, match=r"is being built \(process \d+ on .*\): verify it when that has ended"):
            ours.verify()
        with theirs._holding_folder():  # parts of one recipe go together
            pass
    dead = Lease(OUT / f"{HOLD_NAME}00000000-32k-000000000000")
    dead.path.write_bytes(dead.content.replace(b'"started": "', b'"started": "0'))
    client = Lease(OUT / MARK_PREFIX)
    client.path.write_bytes(dead.path.read_bytes())
    ours.build()
    assert not dead.path.exists()
    assert not client.path.exists()


def test_a_frozen_release_is_extended(store: type[Faulty], recipe: Path, local: dict[str, str]) -> None:
    disk = recipe.parent / "local" / "v1.0.0"
    for out in (OUT, disk):
        succeeded(carrara("freeze", out))
        assert "is frozen in" in succeeded(carrara("extend", out, "--tokenizer", "llama3.1"))
    assert builds.contents(OUT.parent) == builds.contents(disk.parent)
    seeded = written(recipe.with_name("seeded.toml"), seed=8)
    assert "is frozen as tiny 1.0.0" in error_line(carrara("build", seeded, "--tokenizer", "o200k", "--out", OUT))


def test_texts_and_models_of_ones_own_are_kept_there(tmp_path: Path) -> None:
    import_corpora("documents", Source(corpus_shapes.documents(tmp_path / "shape")), tmp_path)
    (corpus,) = tmp_path.glob("*.parquet")
    model, own = folder_of(small(), tmp_path / "small"), tmp_path / "own.toml"
    written(own, (("bio", "standard", [1], [4096], 1), ("recall", "niah_mk1", [1], [4096], 1)), seed=0xC0FFEE << 64)
    with faulty():
        for out in (OUT, tmp_path / "out"):
            succeeded(carrara("build", own, "--tokenizer", model, "--corpus", corpus, "--out", out))
        shutil.rmtree(model)
        corpus.unlink()
        for out in (OUT, tmp_path / "out"):
            assert "all recounted by transformers" in succeeded(carrara("verify", out))
        assert builds.contents(OUT) == builds.contents(tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
def test_a_repo_of_the_hub_is_a_store(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_OPEN", {})
    one = written(tmp_path / "one.toml", (("bio", "standard", [1], [2048], 1),))
    out = parse_location("hf://datasets/org/rows/v1")
    assert "no such" not in succeeded(carrara("plan", one, "--tokenizer", "o200k", "--out", out))
    assert "the bucket or repo does not exist" in error_line(
        carrara("build", one, "--tokenizer", "o200k", "--out", out)
    )
    HfApi(endpoint=hub.url).create_repo("org/rows", repo_type="dataset")
    requests._OPEN.clear()  # the client remembers which repos there are, for as long as a process lives
    for where in (out, tmp_path / "out"):
        succeeded(carrara("build", one, "--tokenizer", "o200k", "--out", where))
    assert builds.contents(out) == builds.contents(tmp_path / "out")


def test_what_needs_a_disk_says_so() -> None:
    for words in (("corpus", "write", "s3://b/x.jsonl"), ("profile", "add", "org/model", "--out", "s3://b/x")):
        assert "in a store: give a path on a disk" in error_line(carrara(*words))
