"""From a recipe to the ordered list of files to make, each with its content key.

A content key is the digest of everything that determines a file's content: strata, task versions, pools, profile and
schema. A file is done only if its footer has the plan's key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from pipeline.artifacts.manifest import StratumRecord, manifest_path
from pipeline.artifacts.recipes import recipe_path
from pipeline.assemble.row_order import Rows, check_pairs, numbered
from pipeline.errors import RecipeError, unknown
from pipeline.profiles import Profile, load_profile, shipped_profiles
from pipeline.recipe import Recipe, Stratum, digest
from pipeline.rows import SCHEMA_VERSION, TOOLS_VERSION
from pipeline.streams import Streams
from pipeline.tasks import check_stratum, task_of
from pipeline.tasks.base import PoolSpec, Task
from pipeline.typed import PLAIN

SHARD_TOKENS = 8 * 1024 * 1024
MOST_SHARDS = 9_000
"""The most shards of a family in a tier: the Hub asks for fewer than 10,000 files per folder."""
DISK_BYTES = 0.7
"""Bytes per token in compressed shards, over all families: 0.63 at 128k, 0.71 at 1m."""
RESERVED = frozenset({"samples", "segments", "recipes", "corpora"})
"""Names of folders in a release, which no profile may have."""
P = ParamSpec("P")
R = TypeVar("R")


class Affinity(NamedTuple):
    """Jobs with the same affinity need the same worlds; `longest` is the longest nominal length, in tokens."""

    family: str
    longest: int


class RowRange(NamedTuple):
    """Rows `start` to `stop - 1` of a family, which are shard `number` of `of` in every profile."""

    family: str
    number: int
    of: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows `start` to `stop - 1` of a family in one profile, as file `number` of `of`; `tokens` are nominal."""

    profile: Profile
    family: str
    tier: str
    number: int
    of: int
    start: int
    stop: int
    tokens: int
    key: str

    @property
    def row_range(self) -> RowRange:
        """The shard's rows, independent of the profile."""
        return RowRange(self.family, self.number, self.of, self.start, self.stop)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.stop - self.start

    @property
    def name(self) -> str:
        """The path below ``data``, ``keys`` and ``proofs``, without its ending."""
        return shard_name(self.family, self.tier, self.number, self.of)

    def path(self, out: Path, part: str) -> Path:
        """Return the shard's file in one part of the profile's folder: data, keys or proofs."""
        ending = "json" if part == "proofs" else "parquet"
        return out / self.profile.name / part / f"{self.name}.{ending}"


def shard_name(family: str, tier: str, number: int, of: int) -> str:
    """Return a shard's name, by the Hub's convention."""
    return f"{family}/{tier}/test-{number:05d}-of-{of:05d}"


def once(method: Callable[Concatenate[Plan, P], R]) -> Callable[Concatenate[Plan, P], R]:
    """Cache a plan's method in the plan."""

    @wraps(method)
    def remembered(plan: Plan, *args: P.args, **kwargs: P.kwargs) -> R:
        known: dict[Any, R] = plan.__dict__.setdefault("known", {})
        call = method.__name__, *args
        if call not in known:
            known[call] = method(plan, *args, **kwargs)
        return known[call]

    return cast("Callable[Concatenate[Plan, P], R]", remembered)


@dataclass(frozen=True)
class Plan:
    """The files that a recipe makes in one folder, for some profiles.

    Only the four fields are pickled, without cached results; all jobs of a process share one plan.
    """

    recipe: Recipe
    profiles: tuple[Profile, ...]
    out: Path
    families: tuple[str, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the fields."""
        return _shared_plan, (self.recipe, self.profiles, self.out, self.families)

    @property
    def root(self) -> int | str:
        """The root of all streams' paths: the seed of the recipe."""
        return self.recipe.seed

    @property
    def schema_version(self) -> int:
        """The version of the columns, which is higher if rows have tool calls."""
        return columns_version(self.recipe.strata)

    @once
    def task(self, cell: Stratum) -> Task:
        """Return the task of a stratum, with access to the corpora of this folder."""
        return task_of(cell).with_corpora(str(self.out / "corpora"))

    @once
    def rows(self, family: str) -> Rows:
        """Return a family's rows in the order of its shards: by length and subtask, mixed over complexities."""
        return numbered(self.recipe, self.recipe.of_family(family))

    @once
    def row_ranges(self, family: str) -> list[RowRange]:
        """Return the rows of each shard of a family, which depend neither on profile nor on workers."""
        bounds = _row_ranges(self.rows(family).lengths())
        return [RowRange(family, number, len(bounds), start, stop) for number, (start, stop) in enumerate(bounds)]

    @once
    def pools(self, family: str) -> tuple[PoolSpec, ...]:
        """Return the pools of a family, without duplicates."""
        specs = [spec for cell in self.recipe.of_family(family) for spec in self.task(cell).pools(cell)]
        return tuple({spec.name: spec for spec in specs}.values())

    @once
    def all_pools(self) -> tuple[PoolSpec, ...]:
        """Return the pools of all planned families, without duplicates."""
        specs = [spec for family in self.families for spec in self.pools(family)]
        return tuple({spec.name: spec for spec in specs}.values())

    @once
    def affinity(self, family: str) -> Affinity:
        """Return a family's affinity: that of the first family that shares a world with it, which is then made once."""
        worlds = {spec.source for spec in self.pools(family)} - {""}
        alike = (other for other in self.families if worlds & {spec.source for spec in self.pools(other)})
        return Affinity(next(alike, family), max(cell.length for cell in self.recipe.strata))

    @once
    def pool_affinity(self, spec: PoolSpec) -> Affinity:
        """Return the affinity of the first family that draws from a pool."""
        return self.affinity(next(family for family in self.families if spec in self.pools(family)))

    @once
    def sample_key(self, family: str) -> str:
        """Return the content key of a family's samples."""
        cells = self.recipe.of_family(family)
        versions = sorted({_version(cell) for cell in cells})
        sources = sorted(self.pool_key(spec) for spec in self.pools(family))
        return digest([SCHEMA_VERSION, self.recipe.tag, self.recipe.seed, cells, versions, sources])

    @once
    def pool_key(self, spec: PoolSpec) -> str:
        """Return the content key of a rendered pool."""
        return digest([SCHEMA_VERSION, self.recipe.seed, spec.name, spec.version, spec.tier, spec.source])

    @once
    def count_key(self, spec: PoolSpec, profile: Profile) -> str:
        """Return the content key of a pool's counts in one profile."""
        counted = profile.tools_digest if spec.has_calls else profile.digest
        return digest([self.pool_key(spec), counted, self.recipe.frame])

    @once
    def shards(self, family: str, profile: Profile) -> list[Shard]:
        """Return a family's shards in one profile."""
        lengths = self.rows(family).lengths()
        made_of = [self.sample_key(family), [self.count_key(spec, profile) for spec in self.pools(family)]]
        rules: list[Any] = sorted({_rule(cell) for cell in self.recipe.of_family(family)})
        rules += [self.schema_version] if self.schema_version != SCHEMA_VERSION else []
        if any(map(_declares, self.recipe.of_family(family))) and profile.template.tools:
            rules += [profile.template.tools.counted_declared()]
        return [
            Shard(
                profile, family, self.recipe.tier, number, of, start, stop,
                tokens=sum(islice(lengths, stop - start)),
                key=digest([made_of, rules, self.recipe.frame, self.recipe.reserve, start, stop, of]),
            )
            for _, number, of, start, stop in self.row_ranges(family)
        ]  # fmt: skip

    def all_shards(self) -> list[Shard]:
        """Return every shard, profile by profile, so that a worker loads few vocabularies."""
        return [
            shard for profile in self.profiles for family in self.families for shard in self.shards(family, profile)
        ]

    def of_profile(self, profile: Profile) -> list[Shard]:
        """Return the shards of all families of the recipe in one profile, planned or not."""
        return [shard for family in self.recipe.families for shard in self.shards(family, profile)]

    def samples_path(self, row_range: RowRange) -> Path:
        """Return the file of the samples of a shard, which all profiles share."""
        family, number, of, *_ = row_range
        return self.out / "samples" / f"{shard_name(family, self.recipe.tier, number, of)}.parquet"

    def pool_path(self, spec: PoolSpec) -> Path:
        """Return the file of a rendered pool."""
        return self.out / "segments" / f"{spec.name}.parquet"

    def counts_path(self, spec: PoolSpec, profile: Profile) -> Path:
        """Return the file of a pool's counts in one profile."""
        return self.out / profile.name / "counts" / f"{spec.name}.parquet"


def columns_version(cells: Iterable[Stratum] | Iterable[StratumRecord]) -> int:
    """Return the version of the columns of some strata, which is higher if rows have tool calls."""
    places = {(cell.family, cell.subtask) for cell in cells}
    called = any(task_of(Stratum(*place, "32k", 0, 0, 1)).has_calls for place in places)
    return TOOLS_VERSION if called else SCHEMA_VERSION


@lru_cache(maxsize=4)
def _shared_plan(recipe: Recipe, profiles: tuple[Profile, ...], out: Path, families: tuple[str, ...]) -> Plan:
    return Plan(recipe, profiles, out, families)


def make_plan(recipe: Recipe, profiles: tuple[str, ...], out: Path, families: tuple[str, ...] = ()) -> Plan:
    """Check all names of a recipe and return its plan. Writes nothing.

    Raises:
        RecipeError: for an unknown family, subtask, complexity or knob, with the nearest known name, for pairs that are
            not complete, or for profiles whose names are not allowed or that cannot send tool calls or declare tools.
    """
    for stratum in recipe.strata:
        check_stratum(stratum)
    check_pairs(recipe)
    for family in families:
        if family not in recipe.families:
            raise RecipeError(unknown("family in this recipe:", family, recipe.families))
    loaded = tuple(load_profile(name) for name in dict.fromkeys(profiles))
    for profile in loaded:
        _check_calls(recipe, profile)
        if not re.search(PLAIN, profile.name) or profile.name in RESERVED:
            raise RecipeError(
                f"a profile cannot be called {profile.name!r}, since its name becomes a folder's: use letters "
                "and digits"
            )
    twice = [name for name, times in Counter(profile.name for profile in loaded).items() if times > 1]
    if twice:
        raise RecipeError(f"two profiles are called {twice[0]!r}: rename one, since they would share a folder")
    return Plan(recipe, loaded, out, families or recipe.families)


def _check_calls(recipe: Recipe, profile: Profile) -> None:
    """Refuse tool calls that a profile cannot send, and tools that it cannot declare."""
    named = next((cell for cell in recipe.strata if task_of(cell).has_calls), None)
    if named is None:
        return
    if recipe.frame != "chat":
        raise RecipeError(f'{named}: tool calls need frame = "chat"')
    if profile.template.tools is None:
        able = [name for name in shipped_profiles() if load_profile(name).template.tools]
        raise RecipeError(
            f"{named}: profile {profile.name} cannot send tool calls: give one of {', '.join(able)}, or leave out "
            f"{named.family}.{named.subtask}"
        )
    named = next(filter(_declares, recipe.strata), None)
    if named and not profile.template.tools.declared:
        tools = {name: load_profile(name).template.tools for name in shipped_profiles()}
        able = [name for name, each in tools.items() if each and each.declared]
        raise RecipeError(
            f"{named}: profile {profile.name} cannot declare tools: give one of {', '.join(able)}, or leave out the "
            "knob declared"
        )


def _declares(cell: Stratum) -> bool:
    """Return whether the rows of a stratum declare tools to the model."""
    return bool(cell.knob("declared", default=False))


def _version(cell: Stratum) -> tuple[str | int, ...]:
    """Return what determines how the rows of a stratum are drawn and worded, besides the recipe."""
    task = task_of(cell)
    return (cell.subtask, task.version, *([task.wording] if task.wording else []))


def _rule(cell: Stratum) -> tuple[str, str, int]:
    """Return what determines how replies to the rows of a stratum are scored."""
    task = task_of(cell)
    return task.subtask, task.scorer_of(cell), task.max_new_tokens_of(cell)


def _row_ranges(lengths: Iterable[int]) -> list[tuple[int, int]]:
    """Return row ranges of about equal nominal tokens: about SHARD_TOKENS or less, unless there were too many."""
    ends = np.cumsum(np.fromiter(lengths, dtype=np.int64))
    goal = int(ends[-1]) / min(MOST_SHARDS, max(1, -(-int(ends[-1]) // SHARD_TOKENS)))
    ranges, start, before = [], 0, 0
    while start < len(ends):
        stop = min(int(np.searchsorted(ends, before + goal)) + 1, len(ends))
        ranges.append((start, stop))
        start, before = stop, int(ends[stop - 1])
    return ranges


def row_streams(plan: Plan, cell: Stratum, index: int) -> tuple[Streams, Streams]:
    """Return the streams of one row, and the streams that all rows of its stratum share."""
    task = task_of(cell)
    name = f"{cell.family}.{task.drawn_as or f'{cell.subtask}@{task.version}'}"
    path = (plan.root, name, cell.tier, cell.length, 1 if task.paired else cell.complexity)
    return Streams((*path, index)), Streams(path)


def remove(paths: Iterable[Path]) -> None:
    """Remove files that another recipe left, since readers find shards by pattern."""
    for path in paths:
        path.unlink(missing_ok=True)


def stale_samples(plan: Plan) -> Iterator[Path]:
    """Yield files of samples of this tier that the recipe does not make."""
    for family in plan.recipe.families:
        own = _sample_paths(plan, family)
        yield from (path for path in sorted(own[0].parent.glob("test-*")) if _final_path(path) not in own)


def stale_shards(plan: Plan, profile: Profile) -> Iterator[Path]:
    """Yield files of shards of this tier that the recipe does not make."""
    for part in ("data", "keys", "proofs"):
        own = {shard.path(plan.out, part) for shard in plan.of_profile(profile)}
        for path in sorted((plan.out / profile.name / part).glob(f"*/{plan.recipe.tier}/test-*")):
            if _final_path(path) not in own:
                yield path


def owned_files(plan: Plan, profile: Profile) -> list[Path]:
    """Return every file that a recipe makes for a profile."""
    files = [recipe_path(plan.out, plan.recipe.tier), manifest_path(plan.out, profile.name)]
    for family in plan.recipe.families:
        files += _sample_paths(plan, family)
        files += [plan.pool_path(spec) for spec in plan.pools(family)]
        files += [plan.counts_path(spec, profile) for spec in plan.pools(family)]
        shards = plan.shards(family, profile)
        files += [shard.path(plan.out, part) for shard in shards for part in ("data", "keys", "proofs")]
    return files


def _sample_paths(plan: Plan, family: str) -> list[Path]:
    return [plan.samples_path(row_range) for row_range in plan.row_ranges(family)]


def _final_path(path: Path) -> Path:
    """Return the final path of a file that is being written under a temporary name."""
    return path.with_name(path.name.partition(".part-")[0])
