"""The manifest of a split: its strata, shards and proofs, with their digests.

Optional fields are None and not written: manifests of splits whose keys are withheld, and of older versions, lack some.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as dataclasses_replace
from math import fsum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct, to_builtins
from msgspec.structs import astuple, replace

from pipeline.artifacts.files import (
    atomic_write,
    exclusive_lock,
    file_digest,
    read_record,
)
from pipeline.artifacts.recipes import read_recipes
from pipeline.errors import BuildError
from pipeline.recipe import Knob, Recipe, is_secret
from pipeline.storage import prefetched
from pipeline.typed import (
    Frame,
    Identifier,
    Line,
    ModelName,
    Plain,
    Release,
    Sha256,
    ShardName,
    Subtask,
    Tier,
    Variant,
    Whole,
)

NO_SECOND = "none"
"""The name of the second encoder where there is none."""


class ProvenCounts(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """How many rows were proven exact, solved from their text, and recounted by an encoder other than `counter`.

    As in a shard's proof, `quick` recounted `quick_recounted` of them and `second` the others. Older manifests also
    name `quick` under `second`. Rows about users' own texts cannot be solved by a program and are only checked.
    """

    rows: Whole
    exact: Whole
    solved: Whole
    recounted: Whole
    counter: tuple[Line, ...]
    second: tuple[Line, ...]
    quick: tuple[Line, ...] | None = None
    quick_recounted: Whole | None = None

    @classmethod
    def of(cls, proofs: Sequence[ShardRecord]) -> ProvenCounts:
        """Return the sums over the proofs of some shards."""
        quick = {proof.quick for proof in proofs if proof.quick}
        rows = sum(proof.rows for proof in proofs)
        return cls(
            rows=rows,
            exact=rows,
            solved=sum(proof.solved or 0 for proof in proofs),
            recounted=sum(proof.recounted or 0 for proof in proofs),
            counter=tuple(sorted({proof.counter for proof in proofs if proof.counter})),
            second=tuple(sorted({proof.second for proof in proofs if proof.second})),
            quick=tuple(sorted(quick)) or None,
            quick_recounted=sum(proof.quick_recounted or 0 for proof in proofs) if quick else None,
        )

    @property
    def again(self) -> tuple[str, ...]:
        """The encoders that recounted rows; empty if no second encoder reads the vocabulary."""
        return tuple(sorted({*self.second, *(self.quick or ())} - {NO_SECOND}))

    @property
    def recounts(self) -> str:
        """How many rows each encoder recounted, in words."""
        others = ", ".join(name for name in self.again if name not in (self.quick or ()))
        if not self.again:
            return "none recounted: no second encoder reads this vocabulary"
        if not self.quick_recounted:
            return f"{describe_rows(self.recounted, self.rows)} recounted by {others}"
        quickly = f"{self.quick_recounted:,} by {', '.join(self.quick or ())}"
        left = self.recounted - self.quick_recounted
        return f"{describe_rows(self.recounted, self.rows)} recounted: {quickly}, {left:,} by {others}"

    @property
    def checked(self) -> int:
        """How many rows were checked and not solved."""
        return self.rows - self.solved

    @property
    def answers(self) -> str:
        """How the answers were proven, in words."""
        return describe_answers(self.solved, self.checked)


def describe_rows(count: int, rows: int) -> str:
    """Return "all" or a number of rows."""
    return "all" if count == rows else f"{count:,}"


def describe_answers(solved: int, checked: int) -> str:
    """Return in words how many rows' answers were solved, and how many checked."""
    if not checked:
        return "all re-solved from their text"
    return f"{solved:,} re-solved from their text, {checked:,} checked in it" if solved else "all checked in their text"


PROOF_NAME = re.compile(r"test-\d{5}-of-(\d{5})\.json")
MOST_NAMED = 6
"""The most families that a message names."""


def explain_unsealed_tier(folder: Path, recipe: Recipe) -> str:
    """Return in words what a profile's folder has of a recipe, and what is missing before it can be sealed."""
    there = {family: _proven_shards(folder / "proofs" / family / recipe.tier) for family in recipe.families}
    whole = [family for family, (count, of) in there.items() if count and count >= of]
    begun = [family for family, (count, of) in there.items() if 0 < count < of]
    none = [family for family, (count, _) in there.items() if not count]
    head = f"not sealed: in tier {recipe.tier},"
    if not none and not begun:
        return f"{head} everything is built and proven: run carrara verify on {str(folder.parent)!r} to seal it"
    if not whole and not begun:
        return f"{head} nothing is built and proven yet: run carrara build"
    parts = [f"{_named(whole)} {_is(whole)} built and proven"] if whole else []
    parts += [f"{family} has {there[family][0]} of {there[family][1]} shards" for family in begun[:MOST_NAMED]]
    parts += [f"{_named(none)} {_is(none)} missing"] if none else []
    wanted = " ".join(f"--family {family}" for family in (*whole, *begun))
    alone = f", or with {wanted} --only to seal a release without the rest" if none else ""
    return f"{head} {', '.join(parts)}: build without --family and --part to complete it{alone}"


def explain_unsealed(folder: Path) -> str:
    """Return what an unsealed folder has and lacks, in words; "" if its recipes cannot be read."""
    try:
        recipes = read_recipes(folder.parent)
    except BuildError:
        return ""
    built = [recipe for recipe in recipes if any((folder / "data").glob(f"*/{recipe.tier}"))]
    return "; ".join(explain_unsealed_tier(folder, recipe) for recipe in built)


def _proven_shards(folder: Path) -> tuple[int, int]:
    """Return how many shards of a family are proven, and how many there should be, from the names of the proofs."""
    counts = [int(match[1]) for path in folder.glob("test-*.json") if (match := PROOF_NAME.fullmatch(path.name))]
    return len(counts), max(counts, default=0)


def _named(families: list[str]) -> str:
    rest = len(families) - MOST_NAMED
    shown = ", ".join(families[: MOST_NAMED if rest > 0 else None])
    return f"{shown} and {rest} more" if rest > 0 else shown


def _is(families: list[str]) -> str:
    return "is" if len(families) == 1 else "are"


DEPTH_BINS = 10
PORTIONS = {"prompt": "prompt_tokens", "template": "template_tokens", "reply": "max_new_tokens"}
"""The parts of a window, and the columns that count them."""

PARTS = ("data", "index", "keys")
"""Folders in which a shard may have a file."""

Window = Annotated[int, Meta(ge=1, le=1 << 30)]
"""A length in tokens."""
Bins = Annotated[tuple[Whole, ...], Meta(min_length=DEPTH_BINS, max_length=DEPTH_BINS)]


class ManifestRecord(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A table of a manifest."""


class Tokenizer(ManifestRecord, kw_only=True, frozen=True):
    """The profile that rows are cut for, with its digests; `windows` are true windows by nominal length, in tokens."""

    name: Plain
    title: Line
    models: tuple[ModelName, ...]
    notice: Line
    digest: Sha256
    vocabulary_sha256: Sha256
    template: Identifier
    windows: dict[str, Window]


class Totals(ManifestRecord, kw_only=True, frozen=True):
    """Sums over shards; `tokens` are context tokens."""

    rows: Whole
    tokens: Whole
    bytes: Whole

    @classmethod
    def of(cls, parts: Iterable[Totals]) -> Totals:
        """Return the sum of some totals."""
        rows, tokens, size = (sum(each) for each in zip(*map(astuple, parts), strict=True))
        return cls(rows=rows, tokens=tokens, bytes=size)

    @classmethod
    def of_shards(cls, shards: Sequence[ShardRecord]) -> Totals:
        """Return the totals of some shards."""
        sums = (sum(getattr(shard, name) for shard in shards) for name in ("rows", "tokens", "data_bytes"))
        return cls(**dict(zip(cls.__struct_fields__, sums, strict=True)))


class PoolRecord(ManifestRecord, kw_only=True, frozen=True):
    """A pool that filler was drawn from."""

    key: Sha256
    source: Line


class StratumRecord(ManifestRecord, kw_only=True, frozen=True):
    """A stratum; `rows` counts all blocks."""

    family: Identifier
    subtask: Subtask
    length: Window
    complexity: Whole | None = None
    rows: Whole
    blocks: Annotated[int, Meta(ge=1)] | None = None
    shots: Whole
    context_tokens: Window
    max_new_tokens: Whole
    task_version: Whole
    knobs: dict[Identifier, Knob] | None = None


class TierStratum(StratumRecord, kw_only=True, frozen=True):
    """A stratum with its tier (see `Split.strata`)."""

    tier: Tier


class Portions(ManifestRecord, kw_only=True, frozen=True):
    """Tokens of all rows of a length, by part of the window."""

    prompt: Whole
    template: Whole
    reply: Whole


COUNTED = ("recounted", "counter", "second", "quick", "quick_recounted")
"""The fields in which builds with the same rows may differ: which encoders counted, and how many rows twice."""


class ShardRecord(ManifestRecord, kw_only=True, frozen=True):
    """What was proven about one shard, in its proof and in the manifest; a public manifest states less.

    `tokens` are context tokens. Of the `recounted` rows, `quick` counted `quick_recounted` and `second` the others; if
    `second` is NO_SECOND, only `quick` recounted rows. Rows that are not `solved` from their text are checked.
    """

    shard: ShardName
    key: Sha256 | None = None
    rows: Whole
    tokens: Whole
    prompt_tokens: Whole
    fewest_tokens: Whole
    most_tokens: Whole
    solved: Whole | None = None
    recounted: Whole | None = None
    counter: Line | None = None
    second: Line | None = None
    row_digest: Sha256 | None = None
    data_bytes: Whole
    data_sha256: Sha256
    index_bytes: Whole | None = None
    index_sha256: Sha256 | None = None
    keys_bytes: Whole | None = None
    keys_sha256: Sha256 | None = None
    quick: Line | None = None
    quick_recounted: Whole | None = None

    def file(self, part: str) -> tuple[int | None, str | None]:
        """Return size and SHA-256 of the shard's file in ``data``, ``index`` or ``keys``; None where it has none."""
        return getattr(self, f"{part}_bytes"), getattr(self, f"{part}_sha256")

    @property
    def is_proof(self) -> bool:
        """Whether it has every field of a shard's proof."""
        return None not in (
            self.key, self.solved, self.recounted, self.counter, self.second, self.row_digest, self.keys_bytes,
            self.keys_sha256,
        )  # fmt: skip

    def agrees(self, other: ShardRecord) -> bool:
        """Return whether two proofs agree, apart from COUNTED; `other` may have recounted fewer rows."""
        counted = replace(self, **{name: getattr(other, name) for name in COUNTED})
        return counted == other and (other.recounted or 0) <= (self.recounted or 0)


class TierManifest(ManifestRecord, kw_only=True, frozen=True):
    """A tier of a split, made from one recipe."""

    seed: int | None = None
    tag: Plain
    reserve: Whole | None
    recipe_digest: Sha256 | None = None
    longest: Window
    pools: dict[Plain, PoolRecord] | None = None
    strata: Annotated[tuple[StratumRecord, ...], Meta(min_length=1)]
    chance: tuple[Chance, ...] | None = None
    depths: dict[Identifier, Bins] | None = None
    budgets: dict[str, Portions] | None = None
    proven: ProvenCounts
    totals: Totals
    shards: Annotated[tuple[ShardRecord, ...], Meta(min_length=1)]

    @property
    def is_counted_twice(self) -> bool:
        """Whether every row was recounted, or there is no second encoder."""
        return not self.proven.again or self.proven.recounted == self.totals.rows


class Manifest(ManifestRecord, kw_only=True, frozen=True):
    """The manifest of a split; `withheld` are columns that are not published."""

    release: Release
    version: Plain
    variant: Variant
    frame: Frame
    carrara: Line
    schema_version: Whole
    canary: Line
    tokenizer: Tokenizer
    withheld: tuple[Identifier, ...] | None = None
    tiers: Annotated[dict[Tier, TierManifest], Meta(min_length=1)]
    totals: Totals

    def __post_init__(self) -> None:
        """Check that shards are listed under their tier."""
        for tier, shard in ((tier, shard) for tier, made in self.tiers.items() for shard in made.shards):
            if shard.shard.split("/")[1] != tier:
                raise ValueError(f"tier {tier} lists {shard.shard}, which is of another tier")

    @property
    def title(self) -> str:
        """Release, version and variant, for messages."""
        return " ".join(filter(None, (self.release, self.version, self.variant)))

    @property
    def text(self) -> str:
        """The content of its file."""
        table = to_builtins(self)
        for made in table["tiers"].values() if self.withheld else ():  # the order in which they were first published
            for cell in made["strata"]:
                cell["rows"] = cell.pop("rows")
            made |= {name: made.pop(name) for name in ("budgets", "totals", "shards") if name in made}
        return json.dumps(table, indent=1) + "\n"


def shard_faults(folder: Path, shard: ShardRecord) -> Iterator[tuple[str, Path, str]]:
    """Compare a shard's files with the manifest, reading all bytes.

    Yields:
        The part of the folder (data, keys or index), the file, and what is wrong with it.
    """
    for part in PARTS:
        path = folder / part / f"{shard.shard}.parquet"
        if shard.file(part)[1] is None:
            continue
        if not path.is_file():
            yield part, path, "is missing"
            continue
        with prefetched(path):
            if (path.stat().st_size, file_digest(path)) != shard.file(part):
                yield part, path, "differs from the bytes that were proven"


def manifest_path(out: Path, profile: str) -> Path:
    """Return the path of a profile's manifest."""
    return out / profile / "manifest.json"


def read_manifest(out: Path, profile: str) -> Manifest | None:
    """Return a profile's manifest, or None if there is no valid one.

    Raises:
        BuildError: if the file may exist but cannot be read.
    """
    path = manifest_path(out, profile)
    try:
        return read_record(path, Manifest)
    except (OSError, ValueError):
        return None


def read_tier(out: Path, profile: str, tier: str) -> TierManifest | None:
    """Return a tier of a profile's manifest, or None if that is not sealed; raises as `read_manifest` does."""
    manifest = read_manifest(out, profile)
    return manifest.tiers.get(tier) if manifest else None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest, readable by its owner only if it contains a secret seed."""
    with atomic_write(path, secret=any(is_secret(made.seed or 0) for made in manifest.tiers.values())) as aside:
        aside.write_text(manifest.text, encoding="ascii")


def unseal_tier(path: Path, tier: str) -> None:
    """Remove a tier from a manifest; remove the manifest if it is broken or has no other tier."""
    with exclusive_lock(path.parent):
        manifest = read_manifest(path.parent.parent, path.parent.name)
        left = {name: kept for name, kept in manifest.tiers.items() if name != tier} if manifest else {}
        if manifest is None or not left:
            path.unlink(missing_ok=True)
            return
        write_manifest(path, replace(manifest, tiers=left, totals=Totals.of(kept.totals for kept in left.values())))


def differences(claimed: Any, actual: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield where two values differ as JSON: the place, and both values, shortened."""
    if not place:
        claimed, actual = (msgspec.json.decode(msgspec.json.encode(each)) for each in (claimed, actual))
    if isinstance(claimed, dict) and isinstance(actual, dict):
        for name in dict.fromkeys((*actual, *claimed)):
            yield from differences(claimed.get(name), actual.get(name), f"{place}.{name}".lstrip("."))
    elif isinstance(claimed, list) and isinstance(actual, list) and len(claimed) == len(actual):
        for at, (old, new) in enumerate(zip(claimed, actual, strict=True)):
            yield from differences(old, new, f"{place}[{at}]")
    elif claimed != actual:
        yield place, _short(claimed), _short(actual)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True, slots=True)
class Chance:
    """Chance and baselines on rows of one kind; `asked` is the kind of question, which a guesser would know."""

    family: Identifier
    subtask: Subtask
    complexity: Whole
    asked: Line
    rows: Annotated[int, Meta(ge=1, le=1 << 30)]
    best_constant: int | float
    constant: str
    baselines: Mapping[Identifier, int | float]


class PooledChance(NamedTuple):
    """Means over rows; a baseline that a kind of row lacks counts as 0 there."""

    rows: int
    best_constant: float
    baselines: dict[str, float]


def pool_chances(chances: Sequence[Chance]) -> PooledChance:
    """Return the means over the rows of several kinds."""
    rows = sum(chance.rows for chance in chances)

    def mean(values: Iterable[float]) -> float:
        return fsum(chance.rows * value for chance, value in zip(chances, values, strict=True)) / rows

    names = sorted({name for chance in chances for name in chance.baselines})
    means = {name: mean(chance.baselines.get(name, 0.0) for chance in chances) for name in names}
    return PooledChance(rows, mean(chance.best_constant for chance in chances), means)


def chances_in(manifest: Manifest) -> list[Chance]:
    """Return the chance of all tiers of a manifest; empty if keys are withheld."""
    return [each for made in manifest.tiers.values() for each in one_constant(made.chance or ())]


def one_constant(chances: Sequence[Chance]) -> list[Chance]:
    """Return chances in which rows that differ only in complexity share one best constant, if 0 is among these.

    A manifest states the best reply for each complexity. Where complexity 0 means that the text lacks the answer, a
    guesser does not know a row's class: it gives one reply, which scores in its own class only.
    """
    groups: dict[tuple[str, str, str], list[Chance]] = defaultdict(list)
    for each in chances:
        groups[each.family, each.subtask, each.asked].append(each)
    chosen = {
        place: _best_constant(own)
        for place, own in groups.items()
        if len(own) > 1 and any(each.complexity == 0 for each in own)
    }
    return [_with_constant(chosen.get((each.family, each.subtask, each.asked)), each) for each in chances]


def _best_constant(own: Sequence[Chance]) -> str:
    """Return the constant reply with the highest score over rows of several complexities, the first of equals."""
    totals: dict[str, float] = defaultdict(float)
    for each in own:
        totals[each.constant] += each.rows * each.best_constant
    return max(totals, key=lambda constant: totals[constant])


def _with_constant(constant: str | None, chance: Chance) -> Chance:
    return (
        chance
        if constant is None or constant == chance.constant
        else dataclasses_replace(chance, constant=constant, best_constant=0.0)
    )
