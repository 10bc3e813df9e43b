"""A copy of a split, held to its manifest and its lock.

Nothing of the build is needed: rows are counted and solved from what is published. Where answers are withheld, what can
be checked is: that counts are exact, that each prompt has one answer, and, with the maintainer's own build at hand,
that it is the right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from pipeline.assemble.plan import Plan
from pipeline.engine import run
from pipeline.errors import CarraraError
from pipeline.frozen.guard import profile_fault
from pipeline.frozen.lock import Lock, ProfileLock, ShardLock
from pipeline.paths import StorePath
from pipeline.profiles import Profile
from pipeline.prove.copied import Checked, CheckJob, Place, check_shard
from pipeline.prove.held import differences
from pipeline.prove.seal import key_tables
from pipeline.recipe import Recipe, Stratum
from pipeline.store.journal import UNREADABLE
from pipeline.store.manifest import PARTS, Made, Manifest
from pipeline.store.parquet import read_rows
from pipeline.store.proven import told_answers
from pipeline.store.split import Split
from pipeline.tasks import task_of
from pipeline.terminal.progress import meter
from pipeline.worlds.corpora.store import has_all


@dataclass(frozen=True, slots=True)
class Copy:
    """A split to check, with what it is held to.

    `own` is the maintainer's folder of the same profile; `corpora` are folders in which texts of users may lie.
    """

    split: Split
    profile: Profile
    lock: Lock | None = None
    own: Path | None = None
    corpora: tuple[Path, ...] = ()

    @property
    def withheld(self) -> bool:
        """Whether answers are withheld: the manifest says so, or tells no seed."""
        manifest = self.split.manifest
        return manifest.withheld is not None or any(made.seed is None for made in manifest.tiers.values())

    @property
    def frozen(self) -> ProfileLock | None:
        """What the lock says of the profile."""
        return self.lock.profiles.get(self.split.tokenizer) if self.lock else None

    def jobs(self) -> Iterator[CheckJob]:
        """Yield a job for each shard."""
        for tier, made in self.split.manifest.tiers.items():
            recipe = published_recipe(self.split.manifest, tier)
            plan = Plan(recipe, (self.profile,), self.split.folder, recipe.families)
            drawn, corpora = self._drawn(recipe, tier)
            locked = self.frozen.tiers[tier].shards if self.frozen and tier in self.frozen.tiers else {}
            starts: Counter[str] = Counter()
            for shard in sorted(made.shards, key=lambda shard: shard.shard):
                family = shard.shard.partition("/")[0]
                keys = self.own / "keys" / f"{shard.shard}.parquet" if self.own and self.withheld else None
                lock = locked.get(shard.shard)
                start = starts[family]
                yield CheckJob(
                    self.split.folder, plan, shard, self.withheld, made.tag, lock, keys, drawn, corpora, start
                )
                starts[family] += shard.rows

    def _drawn(self, told: Recipe, tier: str) -> tuple[Plan | None, bool]:
        """Return the plan that a tier's samples are drawn from again, and whether the corpora that it needs are there.

        It is what the manifest tells, or where keys are withheld, the lock.
        """
        frozen = self.lock.tiers.get(tier) if self.lock else None
        recipe = told if not self.withheld else frozen.recipe if frozen else None
        if recipe is None:
            return None, False
        needed = {str(corpus) for cell in recipe.strata if (corpus := cell.knob("corpus", ""))}
        homes = [folder.parent for folder in self.corpora if needed and has_all(folder, needed)]
        plan = Plan(recipe, (self.profile,), homes[0] if homes else self.split.folder, recipe.families)
        return plan, bool(homes)


def published_recipe(manifest: Manifest, tier: str) -> Recipe:
    """Return a tier's recipe as far as a manifest tells it; with its seed, enough to draw every sample again."""
    made = manifest.tiers[tier]
    strata = tuple(
        Stratum(
            cell.family, cell.subtask, tier, cell.length, cell.complexity or 0, cell.rows // (cell.blocks or 1),
            cell.shots, tuple(sorted((cell.knobs or {}).items())), cell.blocks or 1,
        )
        for cell in made.strata
    )  # fmt: skip
    return Recipe(
        manifest.release, manifest.version, made.seed or 0, tier, strata, manifest.variant, manifest.frame, made.reserve
    )


def split_faults(copy: Copy) -> Iterator[str]:
    """Yield what is wrong with a manifest by itself, beside its folder, and beside its lock."""
    manifest = copy.split.manifest
    tokenizer = manifest.tokenizer
    if fault := profile_fault(copy.profile, tokenizer.digest, tokenizer.vocabulary_sha256):
        yield f"manifest.json: {fault}"
    for tier, made in manifest.tiers.items():
        if not copy.withheld and published_recipe(manifest, tier).tag != made.tag:
            yield f"manifest.json: tier {tier} has tag {made.tag}, which does not follow from its seed and version"
        yield from (f"manifest.json: tier {tier} {fault}" for fault in _sum_faults(made))
        yield from (f"manifest.json: tier {tier} {fault}" for fault in _table_faults(copy, tier, made))
    named = {path for part in PARTS for path in copy.split.shards(part)}
    for path in sorted(path for part in PARTS for path in (copy.split.folder / part).rglob("*")):
        if path not in named and (path.is_file() if isinstance(path, StorePath) else not path.is_dir()):
            yield f"{path.relative_to(copy.split.folder)} is not in the manifest"
    if copy.lock:
        yield from (f"manifest.json: {fault}" for fault in _lock_faults(copy, copy.lock))


def _sum_faults(made: Made) -> Iterator[str]:
    for name, part in (("rows", "rows"), ("tokens", "tokens"), ("bytes", "data_bytes")):
        said, total = getattr(made.totals, name), sum(getattr(shard, part) for shard in made.shards)
        if said != total:
            yield f"says {said} {name}, but its shards add up to {total}"


def _table_faults(copy: Copy, tier: str, made: Made) -> Iterator[str]:
    """Hold the tables about rows to the keys that are there."""
    if copy.withheld:
        return
    paths = [path for path in copy.split.shards("keys") if path.parent.name == tier]
    try:
        tables = key_tables(lambda columns: (row for path in paths for row in read_rows(path, columns)))
    except (CarraraError, *UNREADABLE):
        return  # keys that cannot be read are named with their shard
    for place, said, fresh in differences({name: getattr(made, name) for name in tables}, tables):
        yield f"says {place} is {said}, where its keys give {fresh}"


def _lock_faults(copy: Copy, lock: Lock) -> Iterator[str]:
    manifest, frozen = copy.split.manifest, copy.frozen
    for name in ("release", "version", "variant", "frame", "schema_version"):
        if getattr(manifest, name) != getattr(lock, name):
            yield f"{name} is {getattr(manifest, name)!r}, but was frozen as {getattr(lock, name)!r}"
    if frozen is None:
        yield f"profile {copy.split.tokenizer} is not in the lock of {lock.title}"
        return
    tokenizer = manifest.tokenizer
    if (tokenizer.digest, tokenizer.vocabulary_sha256) != (frozen.digest, frozen.vocabulary_sha256):
        yield f"profile {copy.split.tokenizer} has a different digest from the frozen one"
    if sorted(manifest.tiers) != sorted(frozen.tiers):
        yield f"its tiers are {', '.join(manifest.tiers)}, but {', '.join(frozen.tiers)} were frozen"
    for tier in sorted(manifest.tiers.keys() & frozen.tiers.keys()):
        yield from _tier_faults(manifest.tiers[tier], lock, tier, frozen.tiers[tier].shards)


def _tier_faults(made: Made, lock: Lock, tier: str, shards: Mapping[str, ShardLock]) -> Iterator[str]:
    if made.tag != lock.tiers[tier].tag:
        yield f"tier {tier} has tag {made.tag}, but was frozen as {lock.tiers[tier].tag}"
    if made.seed is not None and made.seed != lock.tiers[tier].recipe.seed:
        yield f"tier {tier} has a different seed from the frozen one"
    found = {shard.shard for shard in made.shards}
    yield from (f"{name} was frozen but is missing" for name in sorted(shards.keys() - found))
    yield from (f"{name} is there but was not frozen" for name in sorted(found - shards.keys()))


def joint_faults(copy: Copy, checked: list[Checked]) -> Iterator[str]:
    """Yield faults that no shard shows alone: repeated ids, strata with more or fewer rows than the manifest says."""
    ids = Counter(each for shard in checked for each in shard.ids)
    yield from (f"id {name!r} occurs {times} times" for name, times in sorted(ids.items()) if times > 1)
    for tier, made in copy.split.manifest.tiers.items():
        found: Counter[Place] = Counter()
        for shard in checked:
            if shard.shard.split("/")[1] == tier:
                found.update(shard.places)
        wanted = {(cell.family, cell.subtask, cell.length, cell.complexity): cell.rows for cell in made.strata}
        for place in sorted(wanted.keys() | found.keys(), key=str):
            if wanted.get(place, 0) != found[place]:
                cell = " ".join(str(part) for part in place if part is not None)
                yield f"tier {tier}, {cell}: {found[place]} rows in place of {wanted.get(place, 0)}"


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of checking a copy: one line of text, and everything that is wrong with it."""

    line: str
    faults: tuple[str, ...]


def check(copy: Copy, open_executor: Callable[[], Executor], *, quiet: bool) -> Seen:
    """Check every byte and every row of a copy; nothing of it is changed."""
    jobs, checked = list(copy.jobs()), []
    with meter("verify", sum(job.shard.tokens for job in jobs), quiet=quiet) as shown:
        for job, found in zip(jobs, run(check_shard, jobs, open_executor), strict=True):
            checked.append(found)
            shown.advance(len(found.ids), job.shard.tokens)
    faults = [*split_faults(copy), *joint_faults(copy, checked), *(each for found in checked for each in found.faults)]
    return Seen(_line(copy, checked), tuple(faults))


def _line(copy: Copy, checked: Sequence[Checked]) -> str:
    rows, again = sum(len(found.ids) for found in checked), sum(found.recounted for found in checked)
    second = copy.profile.second()
    counted = (
        f"{'all' if again == rows else format(again, ',')} recounted by {second.name}" if second else "none recounted"
    )
    held = f"as in the lock of {copy.lock.title}" if copy.lock and not copy.withheld else "as its manifest says"
    only = _checked(copy)
    solved = told_answers(rows - only, only)
    if only and copy.withheld:  # without its answer, a row that no program solves tells nothing that could be checked
        solved = f"{rows - only:,} re-solved from their text, {only:,} that no program can solve"
    answers = ", ".join([solved, *_answers(copy, rows, sum(each.drawn for each in checked))])
    unseen = _unseen(copy, all_drawn=all(each.drawn == len(each.ids) for each in checked))
    return (
        f"{copy.split.title}: {rows:,} rows in {len(checked)} shard{'s' * (len(checked) != 1)}, {counted}, {answers}; "
        f"every byte {held}"
        f"{f' ({unseen})' if unseen else ''}"
    )


def _checked(copy: Copy) -> int:
    """Return how many rows a program can only check, not solve."""
    recipes = (published_recipe(copy.split.manifest, tier) for tier in copy.split.manifest.tiers)
    return sum(cell.total for recipe in recipes for cell in recipe.strata if task_of(cell).proof == "checked")


def _answers(copy: Copy, rows: int, drawn: int) -> Iterator[str]:
    """Yield what the questions and answers of a copy were held to."""
    if copy.withheld:
        yield "answers match the keys" if copy.own else "answers withheld"
    what = "questions and answers drawn again from the seed of the lock"
    what = what if copy.withheld else "questions and keys drawn again from the seed"
    if drawn == rows:
        yield what
    elif drawn or not copy.withheld or copy.lock:
        yield f"{what} in {drawn:,} rows; {rows - drawn:,} come from a corpus that is not here"


def _unseen(copy: Copy, *, all_drawn: bool) -> str:
    """Return what may be wrong with a copy that nobody could see who has no more than was given."""
    if copy.own or (copy.lock and not copy.withheld):
        return ""
    if copy.withheld:
        what = "text" if all_drawn else "question or text"
        return f"without the frozen folder, a {what} that was changed together with its digests is not seen"
    what = "filler" if all_drawn else "filler, or a text of a corpus with its key,"
    return f"without a lock, {what} that was changed together with its digests is not seen"
