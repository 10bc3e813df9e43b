"""Figures of a build, drawn from its manifest: rows by stratum, depths of needles, token budgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.artifacts.manifest import Manifest, StratumRecord, TierManifest
from pipeline.figures.style import (
    GRID,
    HATCHES,
    INK,
    PAPER,
    SERIES,
    SOFT,
    Picture,
    canvas,
    panel,
    styled,
)
from pipeline.rows import kilo
from pipeline.terminal.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10
"""Bins of depth, each a tenth of the filler."""

PARTS = ("prompt", "template", "reply")
"""The parts of a window, in order."""

WIDTH = 720
DEPTH_COLUMNS = 4


def figures_of(manifest: Manifest) -> dict[str, Picture]:
    """Return the figures of a split's card and report, by name: `strata`, `depths`, `budgets`.

    A tier of the manifest has `strata`. It may have `depths` (for each family, the number of needles in each tenth of
    the filler); without any, the figure of depths is left out. It may have `budgets` (for each length, the tokens of
    prompt, template and reply over all its rows); without these, prompt and template are one part.
    """
    tiers = manifest.tiers
    depths = added(made.depths or {} for made in tiers.values())
    drawn = [strata_picture({tier: made.strata for tier, made in tiers.items()})]
    drawn += [depth_picture(depths)] if depths else []
    drawn.append(budget_picture(budgets_of(tiers.values())))
    return {picture.name: picture for picture in drawn}


def added(parts: Iterable[Mapping[str, Sequence[int]]]) -> dict[str, list[int]]:
    """Add tables of counts, name by name."""
    sums: dict[str, list[int]] = {}
    for part in parts:
        for name, counts in part.items():
            sums[name] = [have + more for have, more in zip(sums.get(name, [0] * len(counts)), counts, strict=True)]
    return sums


def budgets_of(tiers: Iterable[TierManifest]) -> dict[int, dict[str, float]]:
    """Return the mean tokens of a row's `prompt`, `template` and `reply` by length.

    If a tier has no `budgets`, the first part is `prompt and template`: the window less the room for the reply.
    """
    made = list(tiers)
    exact = all(tier.budgets for tier in made)
    sums: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for tier in made:
        for cell in tier.strata:
            into = sums[cell.length]
            into["rows"] += cell.rows
            if not exact:
                into["prompt and template"] += cell.rows * (cell.context_tokens - cell.max_new_tokens)
                into["reply"] += cell.rows * cell.max_new_tokens
        for length, tokens in (tier.budgets or {} if exact else {}).items():
            for part in PARTS:
                sums[int(length)][part] += getattr(tokens, part)
    return {
        length: {part: total / into["rows"] for part, total in into.items() if part != "rows"}
        for length, into in sorted(sums.items())
    }


def strata_picture(strata: Mapping[str, Sequence[StratumRecord]], name: str = "strata") -> Picture:
    """Draw the number of rows of each family at each length: a table for each tier, with darker cells for more rows."""
    counts = {tier: _rows(cells) for tier, cells in strata.items()}
    families = list(dict.fromkeys(family for cells in counts.values() for family, _ in cells))
    height = (60 + 30 * len(families)) * len(counts)
    with styled():
        figure = canvas(WIDTH, height)
        for at, (tier, cells) in enumerate(counts.items()):
            tall = height / len(counts)
            box = (104 / WIDTH, 1 - ((at + 1) * tall - 26) / height, 1 - 120 / WIDTH, (tall - 60) / height)
            _cells(figure.add_axes(box), f"tier {tier}", families, cells)
    return Picture(name, "Rows by family and length, for each tier.", _strata_words(counts), figure)


def _rows(cells: Sequence[StratumRecord]) -> dict[tuple[str, int], int]:
    rows: dict[tuple[str, int], int] = defaultdict(int)
    for cell in cells:
        rows[cell.family, cell.length] += cell.rows
    return dict(rows)


def _cells(axes: Axes, title: str, families: Sequence[str], cells: Mapping[tuple[str, int], int]) -> None:
    lengths, most = sorted({length for _, length in cells}), max(cells.values())
    axes.set(title=title, xlim=(0, len(lengths)), ylim=(len(families), 0))
    for row, family in enumerate(families):
        for column, length in enumerate(lengths):
            cell(axes, (column, row), cells.get((family, length), 0), most)
    axes.set_xticks([at + 0.5 for at in range(len(lengths))], [kilo(length) for length in lengths])
    axes.set_yticks([at + 0.5 for at in range(len(families))], families)
    bare(axes)


def cell(axes: Axes, place: tuple[float, float], value: float, most: float, words: str | None = None) -> None:
    """Fill one cell of a heat map, and write its value into it."""
    from matplotlib.patches import Rectangle

    share = value / most if most else 0.0
    color = shade(share) if value or words else PAPER
    axes.add_patch(Rectangle(place, 1, 1, facecolor=color, edgecolor=PAPER, linewidth=2))
    text = words if words is not None else f"{value:,.0f}" if value else "-"
    ink = (SOFT if color == PAPER else "#000000") if share < 0.66 else "#ffffff"
    axes.text(place[0] + 0.5, place[1] + 0.52, text, ha="center", va="center", fontsize=9.5, color=ink)


def shade(share: float) -> str:
    """Return a blue that is darker for a larger share, also when printed in grey."""
    light, dark = (226, 236, 246), (8, 58, 112)
    mixed = (round(a + (b - a) * min(1.0, max(0.0, share))) for a, b in zip(light, dark, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def bare(axes: Axes) -> None:
    """Remove grid, frame and tick marks from a plot."""
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _strata_words(counts: Mapping[str, Mapping[tuple[str, int], int]]) -> str:
    parts = []
    for tier, cells in counts.items():
        families: dict[str, int] = defaultdict(int)
        for (family, _), rows in cells.items():
            families[family] += rows
        lengths = sorted({length for _, length in cells})
        each = ", ".join(f"{family} {rows:,}" for family, rows in families.items())
        span = f"from {kilo(lengths[0])} to {kilo(lengths[-1])}" if len(lengths) > 1 else f"at {kilo(lengths[0])}"
        parts.append(f"Tier {tier}: {sum(cells.values()):,} rows {span}: {each}.")
    return " ".join(["Table of row counts by family and length.", *parts])


def depth_picture(depths: Mapping[str, Sequence[int]], name: str = "depths") -> Picture:
    """Draw the share of each family's needles in each tenth of the filler, with a line at an even 10%."""
    columns = min(DEPTH_COLUMNS, len(depths))
    lines = -(-len(depths) // columns)
    width, height = WIDTH, 10 + 160 * lines
    top = max(20.0, *(110 * max(counts) / (sum(counts) or 1) for counts in depths.values()))
    with styled():
        figure = canvas(width, height)
        for at, (family, counts) in enumerate(depths.items()):
            row, column = divmod(at, columns)
            wide = (width - 56) / columns
            box = ((56 + column * wide) / width, 1 - ((row + 1) * 160 - 38) / height, (wide - 20) / width, 94 / height)
            _histogram(figure.add_axes(box), family, counts, top=top, labelled=column == 0)
    words = ". ".join(_depth_words(family, counts) for family, counts in depths.items())
    caption = "Depth of needles by family: the share in each tenth of the filler; the line is an even 10%."
    return Picture(name, caption, f"Histograms of needle depth. {words}.", figure)


def _histogram(axes: Axes, family: str, counts: Sequence[int], *, top: float, labelled: bool) -> None:
    shares = [100 * count / (sum(counts) or 1) for count in counts]
    places = [(at + 0.5) / len(counts) for at in range(len(counts))]
    axes.bar(places, shares, width=0.86 / len(counts), color=SERIES[0])
    axes.axhline(100 / len(counts), color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.set(title=family, xlim=(0, 1), ylim=(0, top), xlabel="depth")
    axes.text(
        1, 1.02, f"n = {sum(counts):,}", transform=axes.transAxes, ha="right", va="bottom", fontsize=9, color=SOFT
    )
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_ylabel("% of needles" if labelled else "")
    axes.tick_params(labelleft=labelled)


def _depth_words(family: str, counts: Sequence[int]) -> str:
    total = sum(counts) or 1
    least, most = percent(min(counts) / total, 1), percent(max(counts) / total, 1)
    return f"{family}: {sum(counts):,} needles, {least} to {most} in each tenth"


def budget_picture(budgets: Mapping[int, Mapping[str, float]], name: str = "budgets", tokenizer: str = "") -> Picture:
    """Draw the parts of the window at each length: prompt, template and room for the reply, as shares of it.

    Args:
        budgets: mean tokens of each part by length, as `budgets_of` returns them.
        name: the picture's name.
        tokenizer: named in the caption, if given.
    """
    parts = list(dict.fromkeys(part for tokens in budgets.values() for part in tokens))
    with styled():
        figure, axes = panel(WIDTH, 82 + 34 * len(budgets), (46, 42, 250, 40))
        for at, part in enumerate(parts):
            before = [_share(tokens, parts[:at]) for tokens in budgets.values()]
            wide = [_share(tokens, [part]) for tokens in budgets.values()]
            axes.barh(
                range(len(budgets)), wide, left=before, height=0.62, color=SERIES[0] if at == 0 else PAPER,
                edgecolor=INK, linewidth=0.8, hatch=HATCHES[at], label=part,
            )  # fmt: skip
        for at, tokens in enumerate(budgets.values()):
            axes.text(102, at, _sum(tokens), va="center", fontsize=9.5)
        axes.set(xlim=(0, 100), ylim=(len(budgets) - 0.5, -0.5), xlabel="% of the window")
        axes.set_yticks(range(len(budgets)), [kilo(length) for length in budgets])
        axes.text(102, -0.85, "mean tokens", fontsize=9.5, color=SOFT, va="center")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, borderaxespad=0.2, fontsize=9.5)
        bare(axes)
        axes.grid(visible=True, axis="x", color=GRID)
    where = f"{tokenizer}: what" if tokenizer else "What"
    caption = f"{where} fills the window of each length (means over its rows)."
    return Picture(name, caption, f"{caption} {_budget_words(budgets)}", figure)


def _share(tokens: Mapping[str, float], parts: Sequence[str]) -> float:
    return 100 * sum(tokens[part] for part in parts) / sum(tokens.values())


def _sum(tokens: Mapping[str, float]) -> str:
    return " + ".join(f"{value:,.0f}" for value in tokens.values()) + f" = {sum(tokens.values()):,.0f}"


def _budget_words(budgets: Mapping[int, Mapping[str, float]]) -> str:
    each = (
        f"{kilo(length)}: " + ", ".join(f"{part} {value:,.0f}" for part, value in tokens.items())
        for length, tokens in budgets.items()
    )
    return "Mean tokens: " + ". ".join(each) + "."
