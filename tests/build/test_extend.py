"""A frozen release takes more profiles, tiers and strata as its next minor version, and no row of it changes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import builds
from frozen_releases import CELLS, carrara, error_line, succeeded, written
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.plan import Plan
from pipeline.profiles import Profile
from pipeline.release.extend import link_frozen, next_folder
from pipeline.tasks import TASKS
from pipeline.verify.lock import LOCK_NAME, changes, read_lock

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frozen release that no test touches, in a folder with its recipe."""
    home = tmp_path_factory.mktemp("extend")
    builds.stages(written(home / "tiny.toml"), home / "v1.0.0").build()
    succeeded(carrara("freeze", home / "v1.0.0", "--lock", home / "tiny.lock.json"))
    return home


@pytest.fixture
def home(pristine: Path, tmp_path: Path) -> Path:
    """A frozen release to extend."""
    shutil.copytree(pristine, tmp_path / "home")
    return tmp_path / "home"


SAME = ("id", "family", "subtask", "length", "complexity", "question", "target", "answers", "choices")


def rows_of(out: Path, profile: str, tier: str = "32k") -> list[dict[str, Any]]:
    return [row for path in sorted((out / profile / "data").glob(f"*/{tier}/*.parquet")) for row in read_rows(path)]


def relevant(row: dict[str, Any]) -> list[str]:
    return [row["prompt"][each["char_start"] : each["char_end"]] for each in row["needles"]]


def test_a_new_profile_has_the_same_questions_texts_and_keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = builds.stamps(home / "v1.0.0")
    monkeypatch.chdir(home)
    line = succeeded(carrara("extend", "v1.0.0", "--tokenizer", "llama3.1"))
    assert "tiny 1.1.0 is frozen in v1.1.0: tiers 32k, profiles llama3.1, o200k" in line
    monkeypatch.chdir(home / "v1.0.0")
    assert next_folder(Path(), None) == Path("../v1.1.0")
    assert builds.stamps(home / "v1.0.0") == before
    old, new = rows_of(home / "v1.1.0", "o200k"), rows_of(home / "v1.1.0", "llama3.1")
    assert len(old) == 11
    for mine, theirs in zip(old, new, strict=True):
        assert [mine[name] for name in SAME] == [theirs[name] for name in SAME]
        assert relevant(mine) == relevant(theirs)
        assert mine["prompt"] != theirs["prompt"]
    for part in ("data", "keys"):
        for path in sorted((home / "v1.0.0" / "o200k" / part).rglob("*.parquet")):
            assert path.samefile(home / "v1.1.0" / path.relative_to(home / "v1.0.0")), "no byte is written twice"
    succeeded(carrara("verify", home / "v1.1.0"))
    assert "already frozen" in succeeded(carrara("freeze", home / "v1.1.0", "--lock", home / "tiny.lock.json"))
    locks = read_lock(home / "v1.0.0" / LOCK_NAME), read_lock(home / "v1.1.0" / LOCK_NAME)
    assert [(each.level, each.what) for each in changes(*locks)] == [("minor", "profile llama3.1 is new")]


def test_a_profile_is_added_to_a_lock_alone(home: Path) -> None:
    """What an extension of the folder gives, without the folder."""
    succeeded(carrara("extend", home / "tiny.lock.json", "--tokenizer", "llama3.1", "--out", home / "alone" / "v1.1.0"))
    succeeded(carrara("extend", home / "v1.0.0", "--tokenizer", "llama3.1"))
    assert not (home / "alone" / "v1.1.0" / "o200k").exists()
    assert (home / "alone" / "v1.1.0" / LOCK_NAME).read_bytes() == (home / "v1.1.0" / LOCK_NAME).read_bytes()


def test_an_interrupted_extension_goes_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.release.extend.freeze", lambda *_, **__: 1 / 0)
        assert carrara("extend", home / "v1.0.0", "--tokenizer", "llama3.1").exit_code == 1
    assert not (home / "v1.1.0" / LOCK_NAME).exists()
    before = builds.below(builds.stamps(home / "v1.1.0"), "llama3.1")
    succeeded(carrara("extend", home / "v1.0.0", "--tokenizer", "llama3.1"))
    assert builds.below(builds.stamps(home / "v1.1.0"), "llama3.1") == before
    assert (home / "v1.1.0" / LOCK_NAME).exists()


def test_a_new_tier_is_cut_for_every_profile(home: Path) -> None:
    more = written(home / "more.toml", cells=CELLS[:1], tier="128k")
    succeeded(carrara("extend", home / "v1.0.0", "--recipe", more, "--tokenizer", "llama3.1"))
    lock = read_lock(home / "v1.1.0" / LOCK_NAME)
    assert list(lock.tiers) == ["128k", "32k"]
    assert {name: sorted(profile.tiers) for name, profile in lock.profiles.items()} == {
        "llama3.1": ["128k", "32k"],
        "o200k": ["128k", "32k"],
    }
    assert {tier.recipe.version for tier in lock.tiers.values()} == {"1.1.0"}
    assert len(rows_of(home / "v1.1.0", "o200k", "128k")) == 6
    succeeded(carrara("verify", "--against", home / "v1.1.0"))


def test_an_extension_that_was_killed_after_its_lock_ends_well_when_it_is_run_again(home: Path) -> None:
    words = ("extend", home / "v1.0.0", "--tokenizer", "llama3.1")
    line = succeeded(carrara(*words))
    before = builds.contents(home / "v1.1.0")
    assert succeeded(carrara(*words)) == line
    assert builds.contents(home / "v1.1.0") == before
    other = error_line(carrara("extend", home / "v1.0.0", "--tokenizer", "cl100k"))
    assert "profile cl100k is not part of it" in other
    assert builds.contents(home / "v1.1.0") == before


def test_new_strata_leave_the_rows_of_the_others_as_they_are(home: Path) -> None:
    more = written(home / "more.toml", cells=(("bio", "pronoun", [1], [2048], 2), *CELLS))
    succeeded(carrara("extend", home / "v1.0.0", "--recipe", more))
    old, new = ({row["id"]: row for row in rows_of(home / each, "o200k")} for each in ("v1.0.0", "v1.1.0"))
    assert len(new) == len(old) + 2
    assert {name: new[name] for name in old} == old
    locks = read_lock(home / "v1.0.0" / LOCK_NAME), read_lock(home / "v1.1.0" / LOCK_NAME)
    assert {each.level for each in changes(*locks)} == {"minor"}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"seed": 8}, "the recipe's seed differs from that of the frozen ones"),
        ({"version": "2.0.0"}, "the recipe has version 2.0.0, but 1.0.0 is frozen: the major version must be the same"),
        ({"cells": CELLS[1:]}, "bio.standard length 2048 complexity 1 is gone"),
        ({"cells": (*CELLS[1:], ("bio", "standard", [1], [2048, 4096], 4))}, "bio.standard length 2048 complexity 1"),
        ({"cells": (*CELLS, ("mrcr", "chat", [4], [8192], 1))}, "mrcr.chat length 8192 complexity 2 changed"),
    ],
)
def test_a_recipe_that_changes_a_frozen_row_is_refused(home: Path, changed: dict[str, Any], told: str) -> None:
    more = written(home / "more.toml", **changed)
    line = error_line(carrara("extend", home / "v1.0.0", "--recipe", more))
    assert told in line
    assert not (home / "v1.1.0").exists()


def test_a_number_of_blocks_adds_rows_and_none_are_ever_taken_away(home: Path) -> None:
    succeeded(carrara("extend", home / "v1.0.0", "--size", "2"))
    old, new = ({row["id"]: row for row in rows_of(home / each, "o200k")} for each in ("v1.0.0", "v1.1.0"))
    assert len(new) == 2 * len(old)
    assert {name: new[name] for name in old} == old
    line = error_line(carrara("extend", home / "v1.1.0", "--size", "default"))
    assert "and size 'default' only" in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["v1.0.0", "--tokenizer", "o200k"], "tiny 1.0.0 already has all of that: give a new profile, recipe or size"),
        (["v1.0.0"], "tiny 1.0.0 already has all of that"),
        (
            ["v1.0.0", "--tokenizer", "llama3.1", "--out", "{home}/v1.0.0"],
            "is frozen as tiny 1.0.0: extend that folder",
        ),
        (["tiny.lock.json", "--recipe", "{home}/tiny.toml"], "rows cannot be added to a lock alone"),
        (["v1.0.0", "--tokenizer", "llama3.1", "--part", "1/2"], "a version is frozen as a whole"),
        (["tiny.toml", "--tokenizer", "llama3.1"], "is not a lock: give a file that carrara freeze wrote"),
        (["v1.0.0", "--size", "1"], "tiny 1.0.0 already has all of that"),
        (["v1.0.0", "--size", "0"], "'0' is not a size: give default, full, or a whole number of blocks, such as 40"),
        (["none", "--tokenizer", "llama3.1"], "none' (No such file or directory): make one with carrara freeze"),
    ],
)
def test_what_adds_nothing_is_refused(home: Path, words: list[str], told: str) -> None:
    before = builds.stamps(home)
    line = error_line(carrara("extend", home / words[0], *(word.format(home=home) for word in words[1:])))
    assert told in line
    assert builds.stamps(home) == before


def test_samples_that_are_not_the_frozen_ones_are_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that changed rows and forgot to raise the task's version."""
    task = TASKS["bio", "standard"]

    class Other(type(task)):  # type: ignore[misc]
        def sample(self, stratum: Any, index: int, row: Any, cell: Any) -> Any:
            made = super().sample(stratum, index, row, cell)
            return replace(made, question=made.question + " ")

    shutil.rmtree(home / "v1.0.0" / "samples")
    other = Other(**{name: getattr(task, name) for name in task.__dataclass_fields__})
    monkeypatch.setitem(TASKS, ("bio", "standard"), other)
    line = error_line(carrara("extend", home / "v1.0.0", "--tokenizer", "llama3.1"))
    assert "samples of tier 32k: bio.standard length 2048 complexity 1 changed" in line
    assert not (home / "v1.1.0").exists()


def test_a_pool_of_other_files_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Plan.pools

    def other(plan: Plan, family: str) -> Any:
        return tuple(replace(spec, source="other") if "people" in spec.name else spec for spec in sound(plan, family))

    monkeypatch.setattr(Plan, "pools", other)
    line = error_line(carrara("extend", home / "v1.0.0", "--tokenizer", "llama3.1"))
    assert "pool people-standard-32k changed (source " in line


def test_another_vocabulary_under_a_frozen_name_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Profile.digest.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Profile, "digest", property(lambda self: sound(self)[::-1]))
    line = error_line(carrara("extend", home / "v1.0.0", "--tokenizer", "llama3.1", "--tokenizer", "o200k"))
    assert "profile o200k has digest " in line
    line = error_line(carrara("build", home / "tiny.toml", "--out", home / "v1.0.0", "--tokenizer", "o200k"))
    assert "is frozen as tiny 1.0.0, and profile o200k has digest" in line


def test_rows_are_all_counted_twice_also_where_that_is_slow(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Profile, "second_is_slow", property(lambda self: self.name == "llama3.1"))
    succeeded(carrara("extend", home / "v1.0.0", "--tokenizer", "llama3.1"))
    manifest = json.loads((home / "v1.1.0" / "llama3.1" / "manifest.json").read_text(encoding="ascii"))
    assert manifest["tiers"]["32k"]["proven"]["recounted"] == 11


def test_a_disk_without_links_gets_copies(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", refuse)
    link_frozen(home / "v1.0.0", home / "copied", read_lock(home / "tiny.lock.json"))
    made = builds.contents(home / "copied")
    assert made == {name: value for name, value in builds.contents(home / "v1.0.0").items() if name in made}
    assert any(name.startswith("o200k/data/") for name in made)


def test_a_release_from_a_corpus_takes_its_corpus_along(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.jsonl"
    succeeded(carrara("corpus", "write", corpus, "--texts", "4"))
    recipe = written(tmp_path / "tiny.toml", cells=CELLS[2:])
    succeeded(carrara("build", recipe, "--corpus", corpus, "--out", tmp_path / "v1.0.0", "--tokenizer", "o200k"))
    succeeded(carrara("freeze", tmp_path / "v1.0.0", "--lock", tmp_path / "alone" / "tiny.lock.json"))
    (digest,) = read_lock(tmp_path / "v1.0.0" / LOCK_NAME).tiers["32k"].corpora
    succeeded(carrara("extend", tmp_path / "v1.0.0", "--tokenizer", "llama3.1"))
    assert (tmp_path / "v1.1.0" / "corpora" / f"{digest}.parquet").is_file()
    alone = [
        "extend",
        tmp_path / "alone" / "tiny.lock.json",
        "--tokenizer",
        "llama3.1",
        "--out",
        tmp_path / "alone" / "v",
    ]
    assert f"the corpus {digest[:12]}... is needed" in error_line(carrara(*alone))
    again = ["--against", tmp_path / "v1.0.0", "--rebuild"]
    assert "rebuilt from the lock to the same bytes" in succeeded(carrara("verify", *again))
    assert json.loads((tmp_path / "v1.1.0" / LOCK_NAME).read_text(encoding="ascii"))["version"] == "1.1.0"
