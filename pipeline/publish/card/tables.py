"""The facts of a card, and its tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from pipeline.artifacts.lite import LITE, lite_file
from pipeline.artifacts.manifest import (
    Chance,
    Manifest,
    PooledChance,
    StratumRecord,
    TierStratum,
    chances_in,
    pool_chances,
)
from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.split import Split
from pipeline.baselines import reader_of
from pipeline.errors import StageError
from pipeline.languages import languages_of
from pipeline.recipe import (
    Stratum,
)
from pipeline.rows import COLUMNS, Column, schema_of
from pipeline.storage import read_text
from pipeline.tasks import known_task
from pipeline.terminal.text import size
from pipeline.typed import (
    TIERS,
    K,
)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper on arXiv, and the families that follow it."""

    arxiv: str
    title: str
    families: tuple[str, ...]


PAPERS = (
    Paper(
        "2409.12640",
        "Michelangelo: Long Context Evaluations Beyond Haystacks via Latent Structure Queries",
        ("latent_list", "mrcr", "idk"),
    ),
    Paper("2506.02921", "A Controllable Examination for Long-Context Language Models", ("bio",)),
    Paper(
        "2410.02694",
        "HELMET: How to Evaluate Long-Context Language Models Effectively and Thoroughly",
        ("recall", "rag", "cite", "rerank", "icl", "longqa", "summ"),
    ),
    Paper("2404.06654", "RULER: What's the Real Context Size of Your Long-Context Language Models?", ("recall",)),
    Paper("2511.02817", "Oolong: Evaluating Long Context Reasoning and Aggregation Capabilities", ("tally",)),
)


def papers_of(families: Iterable[str]) -> list[Paper]:
    """Return the papers that some families follow, each with only those families."""
    known = set(families)
    papers = [replace(paper, families=tuple(name for name in paper.families if name in known)) for paper in PAPERS]
    return [paper for paper in papers if paper.families]


def license_text() -> str:
    """Return the text of the licence."""
    return _text("LICENSE")


def sources_text() -> str:
    """Return the sources of the word pools, with their licences."""
    return (resources.files("pipeline") / "worlds" / "pools" / "SOURCES.md").read_text(encoding="utf-8")


ENTRY = re.compile(r"^## \[?v?(\d[^\s\]]*)\]?([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""A version's entry in a changelog: ``## 1.0.0``, perhaps with a date, and all up to the next one."""

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Notes:
    """A version's entry in a changelog, in Markdown, and its date (``YYYY-MM-DD``) or ""."""

    text: str = ""
    date: str = ""


NOTHING = Notes()


def notes_of(version: str, file: Path | None = None) -> Notes:
    """Return the entry of a version in a changelog of the data, or the whole file if it has no entries.

    Without a file there are no notes, since Carrara's own changes are not news of a data set, but there is the date of
    Carrara's release of that version, if any.

    Raises:
        StageError: if the file cannot be read, or has entries but none of this version.
    """
    if file is None:
        own = {match[1]: _date(match[2]) for match in ENTRY.finditer(_text("CHANGELOG.md"))}
        return Notes(date=own.get(version, ""))
    text = _read(file)
    entries = {match[1]: Notes(match[3].strip(), _date(match[2])) for match in ENTRY.finditer(text)}
    if version in entries:
        return entries[version]
    if not entries:
        return Notes(text.strip())
    raise StageError(f"{str(file)!r} has no entry '## {version}': add one, or give another file with --changelog")


def _date(heading: str) -> str:
    match = DATE.search(heading)
    return match[0] if match else ""


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as fault:
        raise StageError(f"{str(file)!r} cannot be read ({fault}): give a text file with --changelog") from fault


def _text(name: str) -> str:
    """Return a file of the checkout, which an installed package has beside its modules."""
    inside = resources.files("pipeline") / name
    path = inside if inside.is_file() else Path(__file__).resolve().parents[3] / name
    return path.read_text(encoding="utf-8")


Curve = Mapping[str, Mapping[int, float]]
"""Mean scores (0 to 1) by length, for each simulated reader by name."""
ANCHORS = ("helmet", "ruler")
"""Variants that follow a benchmark; their titles combine both names, since Carrara-HELMET is not HELMET."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The Hub's size categories, by their upper limit in rows."""


def _public_column(column: Column) -> Column:
    """Return a column as described if keys are withheld."""
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
    itself). `licence` is that of users' texts in the rows. `figures` are captions and alternative texts by the names of
    the files in ``figures``. `gallery` is whether ``gallery.html`` is beside the card. `curve` has the scores of
    simulated readers by length.
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
        """The repo's tag for this version."""
        return f"v{self.manifest.version}"

    @property
    def short(self) -> str:
        """The repo's name without its owner."""
        return self.repo.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The data set's name for people."""
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

    def strata(self, tier: str) -> tuple[StratumRecord, ...]:
        """Return the strata of a tier."""
        return self.manifest.tiers[tier].strata

    @property
    def all_families(self) -> list[str]:
        """The families of all tiers."""
        return list(dict.fromkeys(family for names in self.families.values() for family in names))

    @property
    def languages(self) -> list[str]:
        """The codes of the languages of its texts and questions."""
        return languages_of(cell.subtask for cell in self.split.strata)

    @property
    def index(self) -> str:
        """The folder of the rows without text."""
        return "index" if self.withheld else "keys"

    @property
    def configs(self) -> list[Config]:
        """The configurations: tiers (the shortest is the default), their lite rows, the index, and tiers' families."""
        tiers = [Config(tier, f"data/*/{tier}/test-*.parquet", tier == self.tiers[0]) for tier in self.tiers]
        lite = [Config(f"{LITE}_{tier}", lite_file(tier)) for tier in self.tiers]
        index = [Config("index", f"{self.index}/*/*/test-*.parquet")]
        return tiers + lite + index + [
            Config(f"{family}_{tier}", f"data/{family}/{tier}/test-*.parquet")
            for tier, names in self.families.items()
            for family in names
        ]  # fmt: skip

    @property
    def columns(self) -> list[Column]:
        """The columns of the rows."""
        gone, own = self.manifest.withheld or (), schema_of(self.manifest.schema_version)
        shown = [replace(one, type=own.field(one.name).type) for one in COLUMNS if one.name not in gone]
        return [_public_column(column) for column in shown] if self.withheld else shown

    @property
    def size(self) -> str:
        """The Hub's name for the number of rows."""
        rows = self.manifest.totals.rows
        return next((name for limit, name in SIZES if rows < limit), "1M<n<10M")

    @property
    def own_corpus(self) -> bool:
        """Whether the rows contain the maintainer's own texts, whose licence Carrara does not know."""
        return bool(self.own_families)

    @property
    def own_families(self) -> list[str]:
        """The families with the maintainer's own texts."""
        return list(dict.fromkeys(cell.family for cell in self.split.strata if (cell.knobs or {}).get("corpus")))

    @property
    def real_texts(self) -> list[str]:
        """The texts in the rows that Carrara did not make."""
        speeches = any((cell.knobs or {}).get("haystack") == "addresses" for cell in self.split.strata)
        own, addresses = "the maintainer's own texts", "the State of the Union addresses"
        return [own] * self.own_corpus + [addresses] * speeches

    @property
    def checked(self) -> int:
        """The number of rows that were checked, not solved."""
        return sum(self.manifest.tiers[tier].proven.checked for tier in self.tiers)


Place = tuple[str, str]
BLIND = ("uniform", "any_reply")
"""The baselines that count as chance; of these, the first that a task has is used."""


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return records as a Markdown table, with numbers aligned right."""
    if not rows:
        return ""
    names = list(rows[0])
    marks = [
        "---:" if all(isinstance(row[name], int | float) or row[name] == "-" for row in rows) else "---"
        for name in names
    ]
    lines = [names, marks, *([_cell(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def kilo(length: int) -> str:
    """Return the short name of a length, such as 2K, 128K or 1M."""
    if length % K:
        return f"{length:,}"
    return f"{length // K // K}M" if length % (K * K) == 0 else f"{length // K}K"


def task_table(facts: Facts) -> str:
    """Return a table of tasks: what they ask, how they are scored, and their rows in each tier."""
    cells: dict[Place, list[TierStratum]] = {}
    for cell in facts.split.strata:
        cells.setdefault((cell.family, cell.subtask), []).append(cell)
    return markdown([_task_record(facts, place, own) for place, own in cells.items()])


def _task_record(facts: Facts, place: Place, cells: Sequence[TierStratum]) -> dict[str, Any]:
    steps = sorted({cell.complexity for cell in cells if cell.complexity is not None})
    rooms = sorted({cell.max_new_tokens for cell in cells})
    return {
        "family": f"`{place[0]}`",
        "subtask": f"`{place[1]}`",
        "what is asked": task.title if (task := known_task(*place)) else place[1],
        **({} if facts.withheld else {"complexity": ", ".join(map(str, steps))}),
        "reply tokens": ", ".join(f"{room:,}" for room in rooms),
        "scorer": ", ".join(dict.fromkeys(map(_scorer, cells))),
        **_guessed(facts, place),
        **{f"rows, {tier}": sum(cell.rows for cell in cells if cell.tier == tier) for tier in facts.tiers},
    }


def _guessed(facts: Facts, place: Place) -> dict[str, Any]:
    """Return what guessing scores on all rows of a task; empty if keys are withheld."""
    own = [chance for chance in chances_in(facts.manifest) if (chance.family, chance.subtask) == place]
    if facts.withheld or not own:
        return {} if facts.withheld else {"chance": "-", "best constant": "-"}
    means = pool_chances(own)
    chance = next((means.baselines[name] for name in BLIND if name in means.baselines), "-")
    return {"chance": chance, "best constant": means.best_constant}


def curve_table(curve: Curve) -> str:
    """Return a table of simulated readers' mean scores by length."""
    lengths = sorted({length for means in curve.values() for length in means})
    return markdown(
        [
            {
                "reader": f"`{name}`",
                "what it does": reader_of(name).title,
                **{kilo(length): means.get(length, "-") for length in lengths},
            }
            for name, means in curve.items()
        ]
    )


def _scorer(cell: TierStratum) -> str:
    """Return the name of a stratum's scorer, which may depend on knobs."""
    place, knobs = (cell.family, cell.subtask), tuple(sorted((cell.knobs or {}).items()))
    task = known_task(*place)
    if task is None:
        return "-"
    stratum = Stratum(*place, cell.tier, cell.length, cell.complexity or 0, cell.rows, cell.shots, knobs)
    return f"`{task.scorer_of(stratum)}`"


def strata_table(facts: Facts, tier: str) -> str:
    """Return a table of a tier's rows by task and length."""
    lengths = sorted({cell.length for cell in facts.strata(tier)})
    rows: dict[Place, dict[int, int]] = {}
    for cell in facts.strata(tier):
        own = rows.setdefault((cell.family, cell.subtask), {})
        own[cell.length] = own.get(cell.length, 0) + cell.rows
    return markdown(
        [
            {"task": f"`{family}.{subtask}`", **{kilo(length): own.get(length, 0) for length in lengths}}
            for (family, subtask), own in rows.items()
        ]
    )


def config_table(facts: Facts) -> str:
    """Return a table of configurations, with their rows and sizes."""
    return markdown([_config_record(facts, config.name) for config in facts.configs])


def _config_record(facts: Facts, name: str) -> dict[str, Any]:
    if name.startswith(f"{LITE}_"):
        return _lite_record(facts, name)
    shards = [shard for made in facts.manifest.tiers.values() for shard in made.shards]
    family, _, tier = name.rpartition("_")
    own = [
        shard
        for shard in shards
        if name == "index" or (shard.shard.split("/")[1] == tier and family in ("", shard.shard.split("/")[0]))
    ]
    part = facts.index if name == "index" else "data"
    return {
        "config": f"`{name}`" + (" (default)" if name == facts.tiers[0] else ""),
        "rows": sum(shard.rows for shard in own),
        "prompt tokens": sum(shard.prompt_tokens for shard in own) if name != "index" else 0,
        "size": size(sum(shard.file(part)[0] or 0 for shard in own)),
        "what": "all columns but `prompt` and `messages`" if name == "index" else f"`{family}`" if family else "all",
    }


def _lite_record(facts: Facts, name: str) -> dict[str, Any]:
    tier = name.partition("_")[2]
    path = facts.split.folder / lite_file(tier)
    sizes = [row["prompt_tokens"] for row in read_rows(path, ["prompt_tokens"])] if path.is_file() else []
    return {
        "config": f"`{name}`",
        "rows": len(sizes),
        "prompt tokens": sum(sizes),
        "size": size(path.stat().st_size if sizes else 0),
        "what": f"a balanced subset of `{tier}` that costs less to run",
    }


def window_table(facts: Facts) -> str:
    """Return a table of what to set as max_length, by length."""
    windows = {cell.length: cell.context_tokens for cell in facts.split.strata}
    return markdown(
        [
            {"length": kilo(length), "`context_tokens`": windows[length], "lm-eval's API backends": windows[length] + 1}
            for length in sorted(windows)
        ]
    )


def column_table(columns: Iterable[Column]) -> str:
    """Return a table of columns, with their types and descriptions."""
    kinds = {"list<element: string>": "list<string>"}
    return markdown(
        [
            {"column": f"`{one.name}`", "type": f"`{kinds.get(_kind(one), _kind(one))}`", "what": one.note}
            for one in columns
        ]
    )


def _kind(column: Column) -> str:
    text = str(column.type)
    return "list<struct>" if text.startswith("list<") and "struct" in text else text.replace("item: ", "")


def chance_table(facts: Facts, family: str) -> str:
    """Return a table of the scores of guessing on a family's rows in all tiers, by subtask and complexity."""
    groups: dict[tuple[str, int], list[Chance]] = {}
    for chance in chances_in(facts.manifest):
        if chance.family == family:
            groups.setdefault((chance.subtask, chance.complexity), []).append(chance)
    order = list(dict.fromkeys(cell.subtask for cell in facts.split.strata))
    places = sorted(groups, key=lambda place: (order.index(place[0]) if place[0] in order else -1, place[1]))
    names = sorted({name for own in groups.values() for chance in own for name in chance.baselines})
    return markdown([_chance_record(*place, pool_chances(groups[place]), names) for place in places])


def _chance_record(subtask: str, complexity: int, own: PooledChance, names: Sequence[str]) -> dict[str, Any]:
    return {
        "subtask": f"`{subtask}`",
        "complexity": complexity,
        "rows": own.rows,
        "best constant": own.best_constant,
        **{name.replace("_", " "): own.baselines.get(name, "-") for name in names},
    }
