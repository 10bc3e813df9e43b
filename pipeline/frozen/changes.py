"""Versions of data sets: what changed between two locks, and the version that the change demands.

Major when any row changes or goes (a seed, a task, a pool, a vocabulary ...), minor when rows come in (a stratum, a
task, a tier, a profile), patch for the rest (the bytes of files that hold the same rows, the card).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline.errors import FrozenError, RecipeError
from pipeline.frozen.lock import Lock, ProfileLock, SplitLock, TierLock
from pipeline.recipe import Stratum

LEVELS = ("patch", "minor", "major")
SEMVER = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
SHOWN = 3
Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """Something that two versions do not share, and the level that it demands."""

    level: str
    what: str


def parse_version(version: str) -> Version:
    """Read a version of a data set.

    Raises:
        RecipeError: if it is not of the form 1.0.0.
    """
    found = SEMVER.fullmatch(version)
    if not found:
        raise RecipeError(f"version {version!r} cannot be frozen: give three numbers, such as 1.0.0")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def raised(version: str, level: str) -> str:
    """Return the next version of a level.

    >>> [raised("1.2.3", level) for level in LEVELS]
    ['1.2.4', '1.3.0', '2.0.0']
    """
    major, minor, patch = parse_version(version)
    nexts = {"major": (major + 1, 0, 0), "minor": (major, minor + 1, 0), "patch": (major, minor, patch + 1)}
    return ".".join(map(str, nexts[level]))


def check_version(old: Lock, new: Lock) -> None:
    """Check that a version is as high as what changed since an older lock demands.

    Raises:
        FrozenError: with what changed, and the right version.
    """
    found = list(changes(old, new))
    if (old.release, old.variant) != (new.release, new.variant):
        raise FrozenError(f"the older lock is of {old.title}, not of {new.release} {new.variant}".rstrip())
    if parse_version(new.version) < parse_version(old.version):
        raise FrozenError(f"{new.title} is lower than {old.version}, which is already frozen: give a higher version")
    if not found:
        return
    level = max((change.level for change in found), key=LEVELS.index)
    least = raised(old.version, level)
    if parse_version(new.version) < parse_version(least):
        said = listed(change.what for change in found if change.level == level)
        raise FrozenError(f"version {new.version}: since {old.version} {said}, which calls for {least} ({level})")


def listed(found: Iterable[str]) -> str:
    """Return the first few of some faults, and how many more there are."""
    every = list(found)
    more = f" (and {len(every) - SHOWN} more)" if len(every) > SHOWN else ""
    return "; ".join(every[:SHOWN]) + more


def changes(old: Lock, new: Lock) -> Iterator[Change]:
    """Yield what changed from an older lock to a newer one, causes before effects."""
    if (old.frame, old.schema_version) != (new.frame, new.schema_version):
        yield Change("major", f"frame or columns changed (formerly {old.frame} {old.schema_version})")
    for tier in old.tiers.keys() & new.tiers.keys():
        yield from tier_changes(old.tiers[tier], new.tiers[tier])
    yield from _come_and_gone("tier", old.tiers, new.tiers)
    for name in sorted(old.profiles.keys() & new.profiles.keys()):
        yield from _profile_changes(name, old.profiles[name], new.profiles[name])
    yield from _come_and_gone("profile", old.profiles, new.profiles)


def tier_changes(old: TierLock, new: TierLock) -> Iterator[Change]:
    """Yield what changed in the recipe of a tier and in what it draws from."""
    mine, theirs = old.recipe, new.recipe
    for name in ("seed", "reserve", "frame"):
        if getattr(mine, name) != getattr(theirs, name):
            yield Change("major", f"{name} of tier {mine.tier} changed")
    if old.tag != new.tag and mine.seed == theirs.seed:
        yield Change("major", f"ids of tier {mine.tier} end in {new.tag}, formerly {old.tag}")
    yield from _values("task", old.tasks, new.tasks)
    pools = ({name: replace(pool, key="") for name, pool in each.pools.items()} for each in (old, new))
    yield from _values("pool", *pools)
    before, after = ({str(cell): cell for cell in each.strata} for each in (mine, theirs))
    grown = {name for name, cell in before.items() if name in after and _grows(cell, after[name])}
    same = {name: before[name] if name in grown else cell for name, cell in after.items()}
    yield from _values(f"stratum of tier {mine.tier}:", before, same)
    if old.samples and new.samples:
        yield from _values(f"samples of tier {mine.tier}:", old.samples, new.samples, known=before)
    for name in after.keys() - before.keys():
        yield Change("minor", f"stratum {name} of tier {mine.tier} is new")
    for name in sorted(grown):
        yield Change(
            "minor", f"stratum {name} of tier {mine.tier} has {after[name].total} rows, formerly {before[name].total}"
        )


def _grows(old: Stratum, new: Stratum) -> bool:
    """Tell whether a stratum has but more blocks: the first ones stay as they are."""
    return new.blocks > old.blocks and replace(new, blocks=old.blocks) == old


def _profile_changes(name: str, old: ProfileLock, new: ProfileLock) -> Iterator[Change]:
    if old.vocabulary_sha256 != new.vocabulary_sha256:
        yield Change("major", f"vocabulary of profile {name} changed")
    elif old.digest != new.digest:
        yield Change("major", f"template, windows or counting of profile {name} changed")
    for tier in sorted(old.tiers.keys() & new.tiers.keys()):
        yield from _split_changes(f"{name} {tier}", old.tiers[tier], new.tiers[tier])
    yield from _come_and_gone(f"tier of profile {name}:", old.tiers, new.tiers)


def _split_changes(where: str, old: SplitLock, new: SplitLock) -> Iterator[Change]:
    yield from _values(f"rows of {where}:", old.strata, new.strata)
    if old.shards != new.shards and old.strata == new.strata:
        yield Change("patch", f"the files of {where} changed, but none of their rows")


def _values(kind: str, old: Mapping[str, Any], new: Mapping[str, Any], known: Iterable[str] = ()) -> Iterator[Change]:
    """Yield what changed or went; what came in is told by its strata."""
    for name, value in old.items():
        if name not in new:
            if name not in known:
                yield Change("major", f"{kind} {name} is gone")
        elif new[name] != value:
            yield Change("major", f"{kind} {name} changed{_difference(value, new[name])}")


def _difference(old: Any, new: Any) -> str:
    names = getattr(old, "__dataclass_fields__", {})
    found = [name for name in names if getattr(old, name) != getattr(new, name)]
    parts = [f"{name} {_brief(getattr(old, name))} to {_brief(getattr(new, name))}" for name in found if name != "key"]
    return f" ({', '.join(parts)})" if parts else ""


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:12]}...{text[-8:]}"


def _come_and_gone(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in sorted(old.keys() - new.keys()):
        yield Change("major", f"{kind} {name} is gone")
    for name in sorted(new.keys() - old.keys()):
        yield Change("minor", f"{kind} {name} is new")
