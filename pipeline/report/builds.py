"""The report on a build: strata, depths, lengths, token budgets by tokenizer, and chance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from pipeline.artifacts.manifest import (
    PORTIONS,
    Chance,
    PooledChance,
    Portions,
    TierManifest,
    TierStratum,
    Tokenizer,
    chances_in,
    pool_chances,
)
from pipeline.artifacts.parquet import columns_of
from pipeline.artifacts.split import Split
from pipeline.errors import SplitError
from pipeline.figures.builds import budget_picture, budgets_of, figures_of
from pipeline.report.page import Block, Column, Gallery, Note, Page, Section, Table
from pipeline.rows import Row, kilo
from pipeline.storage import map_in_order
from pipeline.terminal.text import size

COUNTED = ["tier", "family", "length", "prompt_tokens", "template_tokens", "max_new_tokens"]
DIGITS = 12
"""Hexadecimal digits shown of a digest."""


def build_page(splits: Sequence[Split]) -> Page:
    """Return the page of a release, with one split for each tokenizer."""
    first = splits[0].manifest
    counts = "one tokenizer" if len(splits) == 1 else f"each of {len(splits)} tokenizers"
    return Page(
        title=f"Build report: {first.title}",
        subtitle=f"{first.totals.rows:,} rows for {counts}, exact to the token.",
        facts=release_facts(splits),
        sections=[
            Section("totals", "Tokenizers", _totals(splits)),
            Section("strata", "Strata", _strata(splits[0])),
            Section("depth", "Depth", _depths(splits[0])),
            Section("budgets", "Token budgets", _budgets(splits)),
            *([Section("chance", "What guessers score", _chance(splits[0]))] if chances_in(first) else []),
        ],
    )


def release_facts(splits: Sequence[Split]) -> list[tuple[str, str]]:
    """Return facts about the origin of rows: release, tags, tokenizers, frame, versions, canary."""
    first = splits[0].manifest
    tags = {f"{tier} {tag}": None for split in splits for tier, tag in split.tags.items()}
    vocabularies = {split.tokenizer: _vocabulary(split.manifest.tokenizer) for split in splits}
    return [
        ("Release", first.title),
        ("Split tags", ", ".join(tags)),
        *((f"Tokenizer {name}", text) for name, text in vocabularies.items()),
        ("Frame", first.frame),
        ("Made with", f"Carrara {first.carrara}, schema {first.schema_version}"),
        ("Canary", first.canary),
    ]


def _vocabulary(made: Tokenizer) -> str:
    return f"{made.title}, vocabulary {made.vocabulary_sha256[:DIGITS]}, template {made.template}"


def _totals(splits: Sequence[Split]) -> list[Block]:
    columns = [Column("tokenizer"), *(Column(name, numeric=True) for name in ("rows", "tokens", "size", "solved"))]
    columns += [Column("counted again", numeric=True), Column("counter"), Column("second counter"), Column("template")]
    checked = any(made.proven.checked for split in splits for made in split.manifest.tiers.values())
    text = (
        "In every row the prompt, the template and the room for the reply add up to the window exactly. Each row was "
        f"solved from its own text{' or, if a user supplied that text, checked against it' if checked else ''}; the "
        "table says how many were also recounted by a second encoder."
    )
    return [Note(text), Table("Rows and tokens by tokenizer", columns, [_total(split) for split in splits])]


def _total(split: Split) -> list[str]:
    totals, proven = split.manifest.totals, [made.proven for made in split.manifest.tiers.values()]
    return [
        split.tokenizer,
        f"{totals.rows:,}",
        f"{totals.tokens:,}",
        size(totals.bytes),
        f"{sum(each.solved for each in proven):,}",
        f"{sum(each.recounted for each in proven):,}",
        ", ".join(sorted({name for each in proven for name in each.counter})),
        ", ".join(sorted({name for each in proven for name in each.again})) or "none",
        split.manifest.tokenizer.template,
    ]


def _strata(split: Split) -> list[Block]:
    """Return the blocks on strata, which are the same for every tokenizer."""
    return [
        Note("Strata, questions and keys are the same for every tokenizer; only the amount of filler differs."),
        Gallery([figures_of(split.manifest)["strata"]], wide=True),
        _subtasks(split),
    ]


def _subtasks(split: Split) -> Table:
    groups: dict[tuple[str, str, str], list[TierStratum]] = defaultdict(list)
    for cell in split.strata:
        groups[cell.family, cell.subtask, cell.tier].append(cell)
    titles = ("family and subtask", "tier", "complexity", "shots", "reply tokens", "lengths", "rows")
    columns = [Column(title, numeric=title == "rows") for title in titles]
    rows = [
        [f"{family}.{subtask}", tier, *_values(cells), _span(cells), f"{sum(cell.rows for cell in cells):,}"]
        for (family, subtask, tier), cells in groups.items()
    ]
    return Table("Strata by subtask", columns, rows)


def _values(cells: Sequence[TierStratum]) -> Iterator[str]:
    for name in ("complexity", "shots", "max_new_tokens"):
        yield ", ".join(str(value) for value in sorted({getattr(cell, name) for cell in cells} - {None})) or "-"


def _span(cells: Sequence[TierStratum]) -> str:
    lengths = sorted({cell.length for cell in cells})
    return kilo(lengths[0]) if len(lengths) == 1 else f"{kilo(lengths[0])} to {kilo(lengths[-1])}"


def _depths(split: Split) -> list[Block]:
    pictures = figures_of(split.manifest)
    if "depths" not in pictures:
        return [Note("The manifest of this build has no depths.")]
    text = "Depth is the share of all filler that comes before a needle: 0 is at the start, 1 at the end."
    return [Note(text), Gallery([pictures["depths"]], wide=True)]


def _budgets(splits: Sequence[Split]) -> list[Block]:
    budgets = {split.tokenizer: budgets_of(_spent(split)) for split in splits}
    text = (
        "The room for the reply is set by the task or the recipe; each further turn adds tokens of the chat template."
    )
    pictures = [budget_picture(made, f"budgets-{name}", name) for name, made in budgets.items()]
    return [Note(text), Gallery(pictures, wide=True), *(_budget_table(name, made) for name, made in budgets.items())]


def _budget_table(name: str, budgets: Mapping[int, Mapping[str, float]]) -> Table:
    parts = list(next(iter(budgets.values())))
    columns = [Column("length"), *(Column(part, numeric=True) for part in (*parts, "window"))]
    rows = [
        [kilo(length), *(f"{tokens[part]:,.1f}" for part in parts), f"{sum(tokens.values()):,.0f}"]
        for length, tokens in budgets.items()
    ]
    return Table(f"Mean tokens of a row by length, {name}", columns, rows, folded=True)


def _spent(split: Split) -> list[TierManifest]:
    """Return the tiers with the tokens of prompt, template and reply at each length, summed over the available rows.

    Raises:
        SplitError: if rows have a length that no stratum of the manifest has.
    """
    sums: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in _counted(split):
        into = sums[row["tier"]][str(row["length"])]
        into.update({part: row[name] for part, name in PORTIONS.items()})
    for tier, made in split.manifest.tiers.items():
        if unknown := sums.get(tier, {}).keys() - {str(cell.length) for cell in made.strata}:
            raise SplitError(
                f"{str(split.folder)!r} has rows of length {min(unknown)}, but its manifest has no such stratum: "
                "build it again"
            )
    spent = {tier: {length: Portions(**into) for length, into in by_length.items()} for tier, by_length in sums.items()}
    return [replace(made, budgets=spent.get(tier)) for tier, made in split.manifest.tiers.items()]


def _counted(split: Split) -> Iterable[Row]:
    """Return the columns COUNTED of all rows, from the keys if all are available, else from the data, else no rows."""
    for part, read in (("keys", split.key_rows), ("data", split.rows)):
        paths = split.shards(part)
        there = map_in_order(lambda path: path.is_file(), paths, split.folder)
        if paths and all(there) and set(COUNTED) <= set(columns_of(paths[0])):
            return read(COUNTED)
    return ()


def _chance(split: Split) -> list[Block]:
    text = (
        "The best constant is the best single reply for each kind of question, chosen with knowledge of all answers; "
        "rows with and without the answer in the text share it. The other baselines are uniform guesses and the "
        "tasks' own guessers."
    )
    return [Note(text), Table("What guessers score, %", *_chance_table(split))]


def _chance_table(split: Split) -> tuple[list[Column], list[list[str]]]:
    groups: dict[tuple[str, str, int], list[Chance]] = defaultdict(list)
    for each in chances_in(split.manifest):
        groups[each.family, each.subtask, each.complexity].append(each)
    titles = ("rows", "best constant", "uniform")
    columns = [Column("family and subtask"), Column("complexity", numeric=True)]
    columns += [*(Column(title, numeric=True) for title in titles), Column("other baselines")]
    return columns, [_chance_row(*place, pool_chances(each)) for place, each in groups.items()]


def _chance_row(family: str, subtask: str, complexity: int, own: PooledChance) -> list[str]:
    uniform = f"{100 * own.baselines['uniform']:.1f}" if "uniform" in own.baselines else "-"
    others = ", ".join(f"{name} {100 * mean:.1f}" for name, mean in own.baselines.items() if name != "uniform")
    return [
        f"{family}.{subtask}",
        str(complexity),
        f"{own.rows:,}",
        f"{100 * own.best_constant:.1f}",
        uniform,
        others or "-",
    ]
