"""The facts on a card, taken from a split's manifest and shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pipeline.publish.card.papers import NOTHING, Notes
from pipeline.recipe import TIERS
from pipeline.rows import COLUMNS, Column
from pipeline.store.manifest import Cell, Manifest
from pipeline.store.split import Split

Curve = Mapping[str, Mapping[int, float]]
"""Mean scores from 0 to 1 by length, of each simulated reader by its name."""
ANCHORS = ("helmet", "ruler")
"""Variants that stand for a benchmark, whose name the title has: Carrara-HELMET is not HELMET."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The Hub's names of sizes, by the number of rows that they stay below."""


def _told(column: Column) -> Column:
    """Return a column as it is where keys are withheld."""
    return replace(column, note="JSON object: prompt sha256, canary") if column.name == "metadata" else column


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration of the data set: its name, and the glob of its files."""

    name: str
    path: str
    default: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """A split as its cards show it.

    `keys` is how its keys are published (``inline``, ``separate``, ``withhold``; ``private`` for the folder of keys
    itself); `licence` is that of users' texts in the rows; `figures` are captions and alternative texts by the names of
    the files in ``figures``; `gallery` tells whether ``gallery.html`` stands beside the card; `curve` is what simulated
    readers score by length.
    """

    split: Split
    repo: str
    keys: str
    siblings: tuple[str, ...] = ()
    notes: Notes = NOTHING
    figures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    gallery: bool = False
    curve: Curve = field(default_factory=dict)
    licence: str = ""

    @property
    def manifest(self) -> Manifest:
        """The manifest that is published."""
        return self.split.manifest

    @property
    def withheld(self) -> bool:
        """Whether the rows have no answers."""
        return self.keys in ("separate", "withhold")

    @property
    def tag(self) -> str:
        """The tag of this version in the repo."""
        return f"v{self.manifest.version}"

    @property
    def short(self) -> str:
        """The repo's name without its owner."""
        return self.repo.rpartition("/")[2]

    @property
    def title(self) -> str:
        """What a person calls the data set."""
        release, variant = self.manifest.release.capitalize(), self.manifest.variant
        named = f"{release}-{variant.upper()}" if variant in ANCHORS else f"{release} {variant}".rstrip()
        return f"{named} for {self.split.tokenizer}"

    @property
    def tiers(self) -> list[str]:
        """The tiers that were built, shortest first."""
        return [tier for tier in TIERS if tier in self.manifest.tiers]

    @property
    def families(self) -> dict[str, list[str]]:
        """The families of each tier, in the order of the recipe."""
        return {tier: list(dict.fromkeys(cell.family for cell in self.strata(tier))) for tier in self.tiers}

    def strata(self, tier: str) -> tuple[Cell, ...]:
        """Return the strata of a tier."""
        return self.manifest.tiers[tier].strata

    @property
    def all_families(self) -> list[str]:
        """The families of all tiers."""
        return list(dict.fromkeys(family for names in self.families.values() for family in names))

    @property
    def index(self) -> str:
        """The folder of the rows without text."""
        return "index" if self.withheld else "keys"

    @property
    def configs(self) -> list[Config]:
        """The configurations: tiers (the shortest is the default), the index, and each family of a tier."""
        tiers = [Config(tier, f"data/*/{tier}/test-*.parquet", tier == self.tiers[0]) for tier in self.tiers]
        index = [Config("index", f"{self.index}/*/*/test-*.parquet")]
        return tiers + index + [
            Config(f"{family}_{tier}", f"data/{family}/{tier}/test-*.parquet")
            for tier, names in self.families.items()
            for family in names
        ]  # fmt: skip

    @property
    def columns(self) -> list[Column]:
        """The columns of the rows."""
        gone = self.manifest.withheld or ()
        shown = [column for column in COLUMNS if column.name not in gone]
        return [_told(column) for column in shown] if self.withheld else shown

    @property
    def size(self) -> str:
        """The Hub's name for the number of rows."""
        rows = self.manifest.totals.rows
        return next((name for limit, name in SIZES if rows < limit), "1M<n<10M")

    @property
    def own_corpus(self) -> bool:
        """Whether texts of the maintainer's own are among the pools, whose licence Carrara does not know."""
        return bool(self.own_families)

    @property
    def own_families(self) -> list[str]:
        """The families with texts of the maintainer's own."""
        return list(dict.fromkeys(cell.family for cell in self.split.strata if (cell.knobs or {}).get("corpus")))

    @property
    def checked(self) -> int:
        """How many rows a program could only check, not solve."""
        return sum(self.manifest.tiers[tier].proven.checked for tier in self.tiers)
