"""A build that makes a sealed tier anew takes its seals away first: a folder never contradicts itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import builds
from fake_stores import faulty
from frozen_releases import carrara
from pipeline import stages as stage_module
from pipeline import tasks
from pipeline.assemble import plan as plans
from pipeline.errors import BuildError, CarraraError
from pipeline.storage import StorePath
from pipeline.tasks.bio.standard import Standard
from pipeline.verify import seal
from pipeline.verify.shard import ProveJob

pytestmark = pytest.mark.usefixtures("small_shards")

BOTH = ("o200k", "cl100k")
SEALED = ("recipes", *(f"{name}/{part}" for name in BOTH for part in ("data", "keys", "proofs", "manifest.json")))
SECOND = '[[strata]]\nfamily = "recall"\nsubtasks = ["niah_s1"]\ncomplexity = [1]\nlengths = [2048]\nrows = 1\n'
STORE = StorePath("memory://bucket/v1.0.0")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.recipe_file(tmp_path_factory.mktemp("recipe") / "tiny.toml", rows=3)


@pytest.fixture(scope="module")
def other(recipe: Path) -> Path:
    """The same recipe with other rows."""
    return builds.recipe_file(recipe.with_name("other.toml"), rows=3, seed=8)


@pytest.fixture(scope="module")
def wider(recipe: Path) -> Path:
    """The same recipe with a family more, of which no row is written yet."""
    path = recipe.with_name("wider.toml")
    path.write_text(f"{recipe.read_text(encoding='ascii')}\n{SECOND}", encoding="ascii")
    return path


@pytest.fixture(scope="module")
def pristine(recipe: Path) -> Path:
    """A sealed folder that no test touches."""
    out = recipe.parent / "out"
    builds.stages(recipe, out, BOTH).build()
    return out


@pytest.fixture
def built(pristine: Path, tmp_path: Path) -> Path:
    shutil.copytree(pristine, tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let builds stop after some shards."""

    def stop_after(shards: int) -> None:
        made: list[ProveJob] = []

        def run_pack_and_prove(job: ProveJob) -> Any:
            made.append(job)
            if len(made) > shards:
                raise BuildError("stopped")
            return run(job)

        monkeypatch.setattr(stage_module, "run_pack_and_prove", run_pack_and_prove)

    run = stage_module.run_pack_and_prove
    return stop_after


def stopped(recipe: Path, out: Path, profiles: tuple[str, ...] = ("o200k",)) -> None:
    with pytest.raises(BuildError, match="stopped"):
        builds.stages(recipe, out, profiles).build()


def test_a_recipe_cut_anew_and_not_finished_is_not_sealed(
    recipe: Path, other: Path, built: Path, pristine: Path, stopping: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    stopping(1)
    stopped(other, built)
    assert capsys.readouterr().err == (
        f"carrara: tier 32k of '{built}' was sealed for another recipe or version (cl100k, o200k): it is not sealed "
        "again until all of it is built\n"
    )
    assert not list(built.glob("*/manifest.json"))
    monkeypatch.undo()
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
    owed = {
        "o200k": "not sealed: in tier 32k, bio has 1 of 3 shards: build without --family and --part to complete it",
        "cl100k": "not sealed: in tier 32k, nothing is built and proven yet: run carrara build",
    }
    seen = carrara("verify", built, "--workers", 1, "--quiet")
    lines = seen.stdout.splitlines()
    assert lines[0] == f"{built / 'cl100k'}: 0 of 3 shards verified; {owed['cl100k']}"
    assert lines[1].startswith(f"{built / 'o200k'}: 1 of 3 shards verified: ")
    assert lines[1].endswith(owed["o200k"])
    for name, why in owed.items():
        assert carrara("score", built / name, other).stderr == f"carrara: '{built / name}' is {why}\n"
    shown = carrara("plan", other, "--tokenizer", ",".join(BOTH), "--out", built, "--json")
    assert [row["proven"] for row in json.loads(shown.stdout)["shards"]] == [1, 0]
    builds.stages(other, built, BOTH).build()
    assert carrara("verify", built, "--workers", 1, "--quiet").exit_code == 0
    builds.stages(recipe, built, BOTH).build()
    assert builds.contents(built) == builds.contents(pristine)


def test_families_sealed_alone_keep_their_proofs_when_the_others_follow(
    wider: Path, built: Path, pristine: Path, stopping: Callable[[int], None]
) -> None:
    """Nothing of them is made again, and the same build with --only seals them as before."""
    before = builds.stamps(built)
    stopping(0)
    stopped(wider, built)
    after = builds.stamps(built)
    assert not list(built.glob("*/manifest.json"))
    assert {name for name in before if after.get(name) != before[name]} == {
        "cl100k/manifest.json", "o200k/manifest.json", "recipes/32k.json"
    }  # fmt: skip
    owed = (
        "not sealed: in tier 32k, bio is built and proven, recall is missing: build without --family and --part to "
        "complete it, or with --family bio --only to seal a release without the rest"
    )
    for name in BOTH:
        assert carrara("score", built / name, wider).stderr == f"carrara: '{built / name}' is {owed}\n"
    how = ("--out", built, "--tokenizer", ",".join(BOTH), "--quiet")
    done = carrara("build", wider, *how, "--family", "bio", "--only")
    assert (done.exit_code, done.stderr) == (0, "")
    sealed = builds.contents(built)
    assert {name: sealed[name] for name in builds.contents(pristine)} == builds.contents(pristine)


def test_a_build_that_finds_all_as_sealed_takes_no_seal(
    built: Path, recipe: Path, stopping: Callable[[int], None]
) -> None:
    """Another tier, a family alone, or a shard that is gone: what was sealed still holds."""
    before = builds.stamps(built)
    builds.stages(recipe, built).sample()
    elsewhere = builds.recipe_file(recipe.with_name("longer.toml"), rows=1, tier="128k")
    stopping(0)
    stopped(elsewhere, built)
    (built / "o200k/data/bio/32k/test-00001-of-00003.parquet").unlink()
    stopped(recipe, built)
    after = builds.stamps(built)
    for name in ("cl100k/manifest.json", "o200k/manifest.json", "recipes/32k.json"):
        assert after[name] == before[name]


def test_a_tier_that_is_cut_anew_leaves_the_seals_of_others(
    built: Path, recipe: Path, other: Path, stopping: Callable[[int], None]
) -> None:
    builds.stages(builds.recipe_file(recipe.with_name("longer.toml"), rows=1, tier="128k"), built).build()
    stopping(0)
    stopped(other, built)
    assert list(json.loads((built / "o200k/manifest.json").read_text(encoding="ascii"))["tiers"]) == ["128k"]
    assert not (built / "cl100k/manifest.json").exists()


@pytest.mark.parametrize("died_at", ["unseal_tier", "write_recipe"])
def test_a_build_that_dies_before_it_begins_leaves_what_can_be_sealed_again(
    died_at: str, built: Path, pristine: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*given: object) -> None:
        raise BuildError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(seal if died_at == "unseal_tier" else stage_module, died_at, die)
        stopped(other, built)
    assert carrara("verify", built, "--quiet").exit_code == 0
    wanted = {name: held for name, held in builds.contents(pristine).items() if name.startswith(SEALED)}
    assert wanted.items() <= builds.contents(built).items()


def test_a_recipe_that_does_not_fit_leaves_the_seals(built: Path, recipe: Path) -> None:
    before = builds.stamps(built)
    huge = builds.recipe_file(recipe.with_name("huge.toml"), rows=3, reserve=100_000)
    with pytest.raises(CarraraError, match="fit"):
        builds.stages(huge, built).build()
    after = builds.stamps(built)
    assert {name: after[name] for name in before} == before


def test_a_raised_task_version_takes_the_seal_of_what_is_built(
    built: Path, recipe: Path, stopping: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping(0)
    monkeypatch.setitem(tasks.TASKS, ("bio", "standard"), builds.altered(Standard, version=Standard.version + 1))
    stopped(recipe, built)
    assert [path.parent.name for path in built.glob("*/manifest.json")] == ["cl100k"]


def test_rows_of_an_unknown_profile_lose_their_seal_too(
    built: Path, other: Path, stopping: Callable[[int], None]
) -> None:
    (built / "cl100k").rename(built / "gone")
    stopping(0)
    stopped(other, built)
    assert not list(built.glob("*/manifest.json"))
    assert not list(built.glob("*/proofs/*/*/*.json"))
    assert len(list(built.glob("gone/data/bio/32k/*.parquet"))) == 3


def test_a_store_is_told_the_same(
    pristine: Path, other: Path, stopping: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with faulty():
        for path in builds.files(pristine):
            (STORE / str(path.relative_to(pristine))).write_bytes(path.read_bytes())
        stopping(1)
        stopped(other, STORE)
        assert not [path for path in builds.files(STORE) if path.name == "manifest.json"]
        owed = "bio has 1 of 3 shards: build without --family and --part to complete it"
        done = carrara("score", STORE / "o200k", other)
        assert done.stderr == f"carrara: '{STORE / 'o200k'}' is not sealed: in tier 32k, {owed}\n"
