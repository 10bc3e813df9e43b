"""A frozen release: what its lock says, what it is held to, and what may not be built into it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import jsonschema
import pytest

import builds
from frozen_releases import CELLS, SHARD, carrara, error_line, succeeded, written
from pipeline.errors import FrozenError
from pipeline.recipe import load_recipe
from pipeline.release.freeze import make_lock
from pipeline.schema import schemas
from pipeline.tasks import TASKS
from pipeline.verify.lock import LOCK_NAME, Lock, read_lock, write_lock

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frozen release that no test touches, in a folder with its recipe."""
    home = tmp_path_factory.mktemp("frozen")
    recipe = written(home / "tiny.toml")
    builds.stages(recipe, home / "v1.0.0", ("o200k", "llama3.1")).build()
    succeeded(carrara("freeze", home / "v1.0.0", "--lock", home / "tiny.lock.json"))
    return home


@pytest.fixture
def home(pristine: Path, tmp_path: Path) -> Path:
    """A frozen release to break."""
    shutil.copytree(pristine, tmp_path / "home")
    return tmp_path / "home"


def test_a_lock_holds_the_recipe_and_every_digest(pristine: Path) -> None:
    lock = read_lock(pristine / "v1.0.0" / LOCK_NAME)
    assert lock == read_lock(pristine / "tiny.lock.json")
    assert lock.tiers["32k"].recipe == load_recipe(str(pristine / "tiny.toml"))
    assert {name: task.version for name, task in lock.tiers["32k"].tasks.items()} == {
        f"{family}.{subtask}": TASKS[family, subtask].version for family, subtask, *_ in CELLS
    }
    for name, profile in lock.profiles.items():
        manifest = json.loads((pristine / "v1.0.0" / name / "manifest.json").read_text(encoding="ascii"))
        (tier,) = manifest["tiers"].values()
        assert profile.vocabulary_sha256 == manifest["tokenizer"]["vocabulary_sha256"]
        assert profile.tiers["32k"].strata.keys() == {str(cell) for cell in lock.tiers["32k"].recipe.strata}
        for shard in tier["shards"]:
            frozen = profile.tiers["32k"].shards[shard["shard"]]
            assert (frozen.row_digest, frozen.data_sha256) == (shard["row_digest"], shard["data_sha256"])
    assert lock.libraries["parquet"].startswith("parquet-cpp-arrow version ")


def test_a_lock_has_the_form_of_its_schema(pristine: Path) -> None:
    text = (pristine / "tiny.lock.json").read_text(encoding="ascii")
    jsonschema.validate(json.loads(text), schemas()["lock.schema.json"])


def test_freezing_again_changes_no_byte(home: Path) -> None:
    before = builds.stamps(home)
    assert "already frozen" in succeeded(carrara("freeze", home / "v1.0.0", "--lock", home / "tiny.lock.json"))
    assert builds.stamps(home) == before
    (home / "v1.0.0" / LOCK_NAME).unlink()
    succeeded(carrara("freeze", home / "v1.0.0"))
    assert builds.contents(home)["v1.0.0/" + LOCK_NAME] == builds.contents(home)["tiny.lock.json"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"seed": 8}, "seed of tier 32k changed"),
        ({"version": "1.0.1"}, "the recipe is tiny 1.0.1"),
        ({"tier": "128k"}, "tier 128k is not part of it"),
        (
            {"cells": (*CELLS[1:], ("bio", "standard", [1], [2048, 4096], 4))},
            "standard length 2048 complexity 1 changed",
        ),
        ({"cells": CELLS[1:]}, "stratum of tier 32k: bio.standard length 2048 complexity 1 is gone"),
        ({"cells": (*CELLS, ("bio", "pronoun", [1], [4096], 1))}, "stratum bio.pronoun length 4096 complexity 1 of"),
    ],
)
def test_nothing_else_is_built_over_what_is_frozen(home: Path, changed: dict, told: str) -> None:
    before = builds.stamps(home / "v1.0.0")
    other = written(home / "other.toml", **changed)
    for until in ([], ["--until", "sample"], ["--until", "pack"]):
        line = error_line(carrara("build", *until, other, "--out", home / "v1.0.0", "--tokenizer", "o200k"))
        assert "is frozen as tiny 1.0.0" in line
        assert told in line
    assert builds.stamps(home / "v1.0.0") == before


def test_no_profile_is_built_into_what_is_frozen(home: Path) -> None:
    line = error_line(carrara("build", home / "tiny.toml", "--out", home / "v1.0.0", "--tokenizer", "qwen2.5"))
    assert "profile qwen2.5 is not part of it" in line
    assert not (home / "v1.0.0" / "qwen2.5").exists()


def test_a_raised_task_leaves_what_is_frozen_in_peace(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lock `verify` would take every shard for another recipe's and move it aside."""
    task = TASKS["bio", "standard"]
    version = task.version
    monkeypatch.setattr(type(task), "version", version + 1)
    before = builds.stamps(home / "v1.0.0")
    for words in (["verify", home / "v1.0.0"], ["build", home / "tiny.toml", "--out", home / "v1.0.0"]):
        line = error_line(carrara(*words, "--tokenizer", "o200k"))
        assert f"task bio.standard changed (version {version} to {version + 1})" in line
    assert builds.stamps(home / "v1.0.0") == before


def test_a_broken_shard_of_a_frozen_folder_is_made_again_to_the_byte(home: Path) -> None:
    whole = builds.contents(home / "v1.0.0")
    shard = home / "v1.0.0" / "o200k" / "data" / f"{SHARD}.parquet"
    builds.flip(shard, shard.stat().st_size // 3)
    assert str(shard) in error_line(carrara("verify", home / "v1.0.0"))
    succeeded(carrara("build", home / "tiny.toml", "--out", home / "v1.0.0", "--tokenizer", "o200k"))
    after = builds.contents(home / "v1.0.0")
    assert {name: after[name] for name in whole} == whole
    assert "already frozen" in succeeded(carrara("freeze", home / "v1.0.0"))


def test_only_what_is_wholly_proven_is_frozen(home: Path) -> None:
    out = home / "v1.0.0"
    (out / LOCK_NAME).unlink()
    path = out / "llama3.1" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="ascii"))
    manifest["tiers"]["32k"]["proven"]["recounted"] -= 1
    path.write_text(json.dumps(manifest), encoding="ascii")
    assert "rows of llama3.1 32k were counted twice: run carrara verify" in error_line(carrara("freeze", out))
    path.unlink()
    assert "llama3.1' is not sealed: in tier 32k, everything is built and proven" in error_line(carrara("freeze", out))
    assert not (out / LOCK_NAME).exists()


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("flip", "differs from the bytes that were proven"),
        ("empty", "differs from the bytes"),
        ("remove", "is missing"),
    ],
)
@pytest.mark.parametrize("part", ["data", "keys"])
def test_a_folder_with_a_broken_file_is_not_frozen(home: Path, part: str, harm: str, told: str) -> None:
    (home / "v1.0.0" / LOCK_NAME).unlink()
    shard = home / "v1.0.0" / "o200k" / part / f"{SHARD}.parquet"
    if harm == "flip":
        builds.flip(shard, 40)
    elif harm == "empty":
        shard.write_bytes(b"")
    else:
        shard.unlink()
    line = error_line(carrara("freeze", home / "v1.0.0"))
    assert str(shard) in line
    assert told in line


def test_nothing_is_frozen_where_nothing_is_built(tmp_path: Path) -> None:
    assert "no build in" in error_line(carrara("freeze", tmp_path))


def test_a_version_that_is_no_number_is_not_frozen(tmp_path: Path) -> None:
    recipe = written(tmp_path / "tiny.toml", cells=CELLS[:1], version="1.0-beta")
    builds.stages(recipe, tmp_path / "out").build()
    assert "version '1.0-beta' cannot be frozen: give three numbers, such as 1.0.0" in error_line(
        carrara("freeze", tmp_path / "out")
    )


@pytest.mark.parametrize("harm", ["seed", "digest", "cut", "format"])
def test_a_tampered_lock_is_refused(home: Path, harm: str) -> None:
    path = home / "v1.0.0" / LOCK_NAME
    text = path.read_text(encoding="ascii")
    harmed = {
        "seed": text.replace('"seed": 7', '"seed": 8'),
        "digest": text.replace('"digest": "', '"digest": "0', 1),
        "cut": text[: len(text) // 2],
        "format": text.replace('"format": 1', '"format": 2'),
    }[harm]
    assert harmed != text
    path.write_text(harmed, encoding="ascii")
    for words in (
        ["freeze", home / "v1.0.0"],
        ["verify", home / "v1.0.0"],
        ["verify", "--against", home / "v1.0.0"],
        ["extend", home / "v1.0.0", "--tokenizer", "qwen2.5"],
        ["recut", path, "--seed", "9", "--out", home / "never.toml"],
        ["build", home / "tiny.toml", "--out", home / "v1.0.0", "--tokenizer", "o200k"],
    ):
        assert str(path) in error_line(carrara(*words))
    assert not (home / "never.toml").exists()


def version_of(home: Path, version: str, **changed: object) -> Path:
    """Build another version beside the frozen one, its profile o200k alone."""
    out = home / f"v{version}"
    builds.stages(written(home / "next.toml", version=version, **changed), out).build()
    return out


@pytest.mark.parametrize(
    ("version", "changed", "told"),
    [
        ("1.0.1", {}, "since 1.0.0 profile llama3.1 is gone, which calls for 2.0.0 (major)"),
        ("1.5.0", {"seed": 8}, "since 1.0.0 seed of tier 32k changed; "),
    ],
)
def test_a_version_too_low_for_what_changed_beside_it_is_refused(
    home: Path, version: str, changed: dict, told: str
) -> None:
    out = version_of(home, version, **changed)
    line = error_line(carrara("freeze", out))
    assert told in line
    assert "which calls for 2.0.0 (major)" in line
    assert not (out / LOCK_NAME).exists()


def test_the_lock_of_another_place_counts_as_the_older_one(home: Path, tmp_path: Path) -> None:
    out = version_of(tmp_path, "0.9.0")
    line = error_line(carrara("freeze", out, "--lock", home / "tiny.lock.json"))
    assert "tiny 0.9.0 is lower than 1.0.0, which is already frozen: give a higher version" in line
    out = version_of(tmp_path, "2.0.0")
    succeeded(carrara("freeze", out, "--lock", home / "tiny.lock.json"))
    assert read_lock(home / "tiny.lock.json").version == "2.0.0"


def test_the_lock_of_another_release_is_not_written_over(home: Path, tmp_path: Path) -> None:
    recipe = builds.recipe_file(tmp_path / "other.toml", rows=1, release="other")
    builds.stages(recipe, tmp_path / "out").build()
    assert "the older lock is of tiny 1.0.0, not of other" in error_line(
        carrara("freeze", tmp_path / "out", "--lock", home / "tiny.lock.json")
    )


def test_freeze_needs_the_code_that_built(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "v1.0.0" / LOCK_NAME).unlink()
    task = TASKS["bio", "standard"]
    version = task.version
    monkeypatch.setattr(type(task), "version", version + 1)
    said_so = f"task bio.standard has version {version}, this Carrara has version {version + 1}"
    assert said_so in error_line(carrara("freeze", home / "v1.0.0"))


def test_a_lock_is_a_function_of_the_folder(home: Path, tmp_path: Path) -> None:
    lock: Lock = make_lock(home / "v1.0.0")
    shutil.rmtree(home / "v1.0.0" / "samples")
    builds.forget()
    again = make_lock(home / "v1.0.0")
    assert again == lock, "samples that are gone are drawn again"
    write_lock(tmp_path / "a.json", again)
    assert (tmp_path / "a.json").read_bytes() == (home / "tiny.lock.json").read_bytes()


def test_a_lock_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FrozenError, match=r"no lock '.*none.json' \(No such file"):
        read_lock(tmp_path / "none.json")


@pytest.mark.parametrize("where", ["/dev/null", "pipe"])
def test_a_lock_that_cannot_be_kept_freezes_nothing(where: str, home: Path) -> None:
    out = home / "v1.0.0"
    (out / LOCK_NAME).unlink()
    path = Path(where) if where.startswith("/") else home / where
    if where == "pipe":
        os.mkfifo(path)
    before = builds.contents(out)
    assert "is a device or a pipe" in error_line(carrara("freeze", out, "--lock", path))
    assert builds.contents(out) == before
