"""Which version a change demands: one place, held to every kind of change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pipeline.errors import FrozenError, RecipeError
from pipeline.recipe import Recipe, Stratum
from pipeline.verify.lock import (
    Lock,
    PoolLock,
    ProfileLock,
    ShardLock,
    SplitLock,
    TaskLock,
    TierLock,
    changes,
    check_version,
    parse_version,
)

CELL = Stratum("bio", "standard", "32k", 2048, 1, 4)
SHARD = ShardLock("k" * 64, 4, "r" * 64, 100, "d" * 64, 10, "e" * 64)
SPLIT = SplitLock({str(CELL): "r"}, {"bio/32k/test-00000-of-00001": SHARD})


def lock() -> Lock:
    recipe = Recipe("tiny", "1.0.0", 7, "32k", (CELL,))
    tier = TierLock(
        recipe,
        recipe.tag,
        {"bio.standard": TaskLock(1, "exact", 64)},
        {"people-32k": PoolLock(1, "files", "key")},
        (),
        {str(CELL): "s"},
    )
    profiles = {"o200k": ProfileLock("p" * 64, "v" * 64, ("one",), ("two",), {"32k": SPLIT})}
    return Lock("tiny", "1.0.0", "", "chat", "1.0.0", 1, {"pyarrow": "26"}, {"32k": tier}, profiles)


def tier(old: Lock, **changed: Any) -> Lock:
    return replace(old, tiers={"32k": replace(old.tiers["32k"], **changed)})


def recipe(old: Lock, **changed: Any) -> Lock:
    return tier(old, recipe=replace(old.tiers["32k"].recipe, **changed))


def profile(old: Lock, **changed: Any) -> Lock:
    return replace(old, profiles={"o200k": replace(old.profiles["o200k"], **changed)})


CHANGES: dict[str, tuple[Callable[[Lock], Lock], str, str]] = {
    "nothing": (lambda old: old, "", ""),
    "libraries": (lambda old: replace(old, libraries={"pyarrow": "27"}, carrara="1.1.0"), "", ""),
    "bytes": (
        lambda old: profile(old, tiers={"32k": replace(SPLIT, shards={"a": replace(SHARD, data_sha256="f" * 64)})}),
        "patch",
        "the files of o200k 32k changed, but none of their rows",
    ),
    "a profile": (
        lambda old: replace(old, profiles={**old.profiles, "mine": old.profiles["o200k"]}),
        "minor",
        "profile mine is new",
    ),
    "a tier": (lambda old: replace(old, tiers={**old.tiers, "1m": old.tiers["32k"]}), "minor", "tier 1m is new"),
    "a stratum": (
        lambda old: recipe(old, strata=(CELL, replace(CELL, length=4096))),
        "minor",
        "stratum bio.standard length 4096 complexity 1 of tier 32k is new",
    ),
    "a tier less": (lambda old: replace(old, tiers={}), "major", "tier 32k is gone"),
    "a profile less": (lambda old: replace(old, profiles={}), "major", "profile o200k is gone"),
    "a stratum less": (lambda old: recipe(old, strata=()), "major", "bio.standard length 2048 complexity 1 is gone"),
    "rows of a stratum": (
        lambda old: recipe(old, strata=(replace(CELL, rows=5),)),
        "major",
        "bio.standard length 2048 complexity 1 changed (rows 4 to 5)",
    ),
    "seed": (lambda old: recipe(old, seed=8), "major", "seed of tier 32k changed"),
    "reserve": (lambda old: recipe(old, reserve=9), "major", "reserve of tier 32k changed"),
    "task": (
        lambda old: tier(old, tasks={"bio.standard": TaskLock(2, "exact", 64)}),
        "major",
        "task bio.standard changed (version 1 to 2)",
    ),
    "pool": (
        lambda old: tier(old, pools={"people-32k": PoolLock(1, "others", "key")}),
        "major",
        "pool people-32k changed (source files to others)",
    ),
    "samples": (lambda old: tier(old, samples={str(CELL): "x"}), "major", "samples of tier 32k: bio.standard"),
    "rows": (
        lambda old: profile(old, tiers={"32k": replace(SPLIT, strata={str(CELL): "x"})}),
        "major",
        "rows of o200k 32k: bio.standard length 2048 complexity 1 changed",
    ),
    "vocabulary": (
        lambda old: profile(old, vocabulary_sha256="w" * 64),
        "major",
        "vocabulary of profile o200k changed",
    ),
    "template": (lambda old: profile(old, digest="q" * 64), "major", "template, windows or counting of profile o200k"),
    "frame": (lambda old: replace(old, frame="raw"), "major", "frame or columns changed"),
    "columns": (lambda old: replace(old, schema_version=2), "major", "frame or columns changed"),
}
ENOUGH = {"": "1.0.0", "patch": "1.0.1", "minor": "1.1.0", "major": "2.0.0"}
BELOW = {"patch": "1.0.0", "minor": "1.0.7", "major": "1.9.3"}


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_demands_its_level(name: str) -> None:
    change, level, what = CHANGES[name]
    old = lock()
    new = change(old)
    found = list(changes(old, new))
    assert {each.level for each in found} == ({level} if level else set())
    assert any(what in each.what for each in found) == bool(level)
    check_version(old, replace(new, version=ENOUGH[level]))
    check_version(old, replace(new, version="3.0.0"))
    if level:
        said = f"version {BELOW[level]}: since 1.0.0 .*, which calls for {ENOUGH[level].replace('.', '[.]')} .{level}.$"
        with pytest.raises(FrozenError, match=said):
            check_version(old, replace(new, version=BELOW[level]))


def test_many_changes_are_cut_short() -> None:
    cells = tuple(replace(CELL, length=1024 * at) for at in range(3, 13))
    old = recipe(lock(), strata=cells)
    with pytest.raises(FrozenError, match=r"is gone; .*is gone; .*is gone \(and 7 more\), which calls for 2.0.0"):
        check_version(old, replace(recipe(old, strata=()), version="1.4.0"))


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", ""])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(RecipeError, match=r"give three numbers, such as 1\.0\.0"):
        parse_version(version)
