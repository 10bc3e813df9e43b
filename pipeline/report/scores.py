"""The page of predictions: curves with intervals, slices, heat maps, refusals, failures, and what was wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.figures.scores import Heat, Line, Point, curve_picture, heat_picture
from pipeline.figures.style import Picture, kilo
from pipeline.report.blocks import Block, Column, Gallery, Heading, Listing, Mark, Note, Page, Section, Table
from pipeline.report.builds import release_facts
from pipeline.report.failures import failures
from pipeline.report.page import fit
from pipeline.scoring.cells import BINS, Tables
from pipeline.scoring.results import Cell, Fault, Scored
from pipeline.scoring.views import SAID
from pipeline.splits import Split

NAMED = 100
"""Faults of one kind that a page lists."""

NOTHING = "-"
"""What stands in a table where there is no number."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model's results with its sign."""

    mark: Mark
    tables: Tables

    @property
    def scored(self) -> Scored:
        """Its records."""
        return self.tables.scored


def score_page(splits: Sequence[Split], scored: Sequence[Scored]) -> Page:
    """Return the page of one model's predictions or of several side by side, all against the same rows.

    Raises:
        ReportError: if matplotlib is not installed.
        CorruptError: if a shard cannot be read.
    """
    models = [Model(Mark(fit(each.model), at), Tables(each)) for at, each in enumerate(scored)]
    rows = len(scored[0].records)
    sections = [
        Section("summary", "Summary", list(_summary(models))),
        Section("faults", "What is missing or wrong", list(_faults(models))),
        Section("length", "Score by length", list(_curves(models))),
        Section("complexity", "Score by complexity", list(_slices(models))),
        Section("cumulative", "Cumulative average score", list(_cumulative(models))),
        Section("depth", "Score by depth and length", list(_heat(models))),
        Section("refusals", "Where a refusal may be right", list(_refusals(models))),
        Section("subtasks", "Score by subtask", list(_subtasks(models))),
        Section("failures", "Failures to look at", list(_failures(splits, models))),
    ]
    return Page(
        title=f"Scores on {scored[0].split}",
        subtitle=f"{rows:,} rows, {'one model' if len(models) == 1 else f'{len(models)} models'}, tokenizer {scored[0].tokenizer}.",
        facts=[*release_facts(splits), *_scoring_facts(models)],
        sections=[section for section in sections if section.blocks],
        marks=[model.mark for model in models],
    )


def _scoring_facts(models: Sequence[Model]) -> list[tuple[str, str]]:
    quirks = sorted({quirk for model in models for quirk in model.scored.quirks})
    return [
        ("Scoring rules", ", ".join(quirks) or "the defaults of metrics.py"),
        ("Intervals", "95 %, percentile bootstrap stratified by stratum; both forms of a pair are drawn together"),
        ("Rows without a reply", "score 0"),
    ]


def _summary(models: Sequence[Model]) -> Iterator[Block]:
    yield Note(
        "Mean scores in percent over all rows with their 95 % intervals. Chance is a blind draw among all answers; the best "
        "constant is what one reply scores that knows the kind of question and the answers of the split."
    )
    families = _joined(models, lambda tables: tables.by("family"), "family")
    whole = _joined(models, lambda tables: [cell for cell in [tables.overall] if cell], "")
    rows = [[str(place), *_row(cells)] for place, cells in families.items()]
    if len(families) > 1:
        rows += [["all, families alike", *_row(cells)] for cells in whole.values()]
    yield Table("Scores by family, %", [Column("family"), *_columns(models)], rows)


def _columns(models: Sequence[Model]) -> list[Column]:
    found = [Column("rows", numeric=True)]
    found += [Column(model.mark.label, numeric=True, mark=model.mark) for model in models]
    return [*found, Column("chance", numeric=True), Column("best constant", numeric=True)]


def _row(cells: Sequence[Cell | None]) -> list[str]:
    """Return rows, each model's mean with its interval, chance and the best constant."""
    known = next(cell for cell in cells if cell)
    return [
        f"{known.rows:,}",
        *(_scored(cell) for cell in cells),
        _value(known.chance),
        _value(known.best_constant),
    ]


def _scored(cell: Cell | None) -> str:
    return NOTHING if cell is None else f"{100 * cell.mean:.1f} ({100 * cell.low:.1f} to {100 * cell.high:.1f})"


def _value(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}"


def _joined(
    models: Sequence[Model], made: Callable[[Tables], Iterable[Cell]], *names: str
) -> dict[str | int | float, list[Cell | None]]:
    """Return each model's cell by the value of one column, or of several joined by a dot; None where one has none."""
    found = [{_place(cell, names): cell for cell in made(model.tables)} for model in models]
    places = sorted({place for cells in found for place in cells}, key=lambda place: (str(type(place)), place))
    return {place: [cells.get(place) for cells in found] for place in places}


def _place(cell: Cell, names: Sequence[str]) -> str | int | float:
    values = [cell.place.get(name, "") for name in names]
    return values[0] if len(values) == 1 else ".".join(map(str, values))


def _curves(models: Sequence[Model]) -> Iterator[Block]:
    yield Note(
        "One line for each model, with a band for the 95 % interval; the dotted line is chance. Axes are the same in all "
        "figures: lengths double from left to right."
    )
    families = _by(models, "family", "length")
    pictures = [
        _curve(models, f"length-{family}", str(family), f"{family}: score by length.", cells, "length")
        for (family,), cells in families.items()
    ]
    yield Gallery(pictures)
    for (family,), cells in families.items():
        yield _length_table(models, f"{family}: score by length, %", cells, "length")


Cells = dict[int, list[Cell]]
"""Cells by the number of their model."""


def _by(models: Sequence[Model], *names: str) -> dict[tuple[str | int | float, ...], Cells]:
    """Return cells by all columns but the last, for each model in order of the last."""
    groups: dict[tuple[str | int | float, ...], Cells] = {}
    for at, model in enumerate(models):
        for cell in model.tables.by(*names):
            place = tuple(cell.place[name] for name in names[:-1])
            groups.setdefault(place, defaultdict(list))[at].append(cell)
    return dict(sorted(groups.items()))


def _curve(models: Sequence[Model], name: str, title: str, caption: str, cells: Cells, column: str) -> Picture:
    lines = [
        Line(models[at].mark.label, models[at].mark.style, [_point(cell, column) for cell in some])
        for at, some in cells.items()
    ]
    chance = {int(cell.place[column]): cell.chance for some in cells.values() for cell in some if cell.chance is not None}
    return curve_picture(name, title, caption, lines, chance)


def _point(cell: Cell, column: str) -> Point:
    return Point(int(cell.place[column]), cell.mean, cell.low, cell.high, cell.units)


def _length_table(models: Sequence[Model], caption: str, cells: Cells, column: str) -> Table:
    found = {at: {cell.place[column]: cell for cell in some} for at, some in cells.items()}
    lengths = sorted({int(cell.place[column]) for some in cells.values() for cell in some})
    rows = [[kilo(length), *_row([found.get(at, {}).get(length) for at in range(len(models))])] for length in lengths]
    return Table(caption, [Column("length"), *_columns(models)], rows, folded=True)


def _slices(models: Sequence[Model]) -> Iterator[Block]:
    groups = _by(models, "family", "complexity", "length")
    families: dict[str, list[Picture]] = defaultdict(list)
    for (family, complexity), cells in groups.items():
        name, title = f"complexity-{family}-{complexity}", f"{family}, complexity {complexity}"
        families[str(family)].append(_curve(models, name, title, f"{title}: score by length.", cells, "length"))
    sliced = {family: pictures for family, pictures in families.items() if len(pictures) > 1}
    if sliced:
        yield Note("Complexity is the number of relevant updates; 0 where the text does not state what is asked.")
    for family, pictures in sliced.items():
        yield Heading(family)
        yield Gallery(pictures)


def _cumulative(models: Sequence[Model]) -> Iterator[Block]:
    yield Note(
        "The mean over all rows up to a length. Where several tiers are stacked, rows of a bucket are weighted by one over "
        "the number of tiers that hold it, so that short rows do not outweigh long ones."
    )
    groups: dict[str, Cells] = {}
    for at, model in enumerate(models):
        for cell in model.tables.cumulative("family"):
            groups.setdefault(str(cell.place["family"]), defaultdict(list))[at].append(cell)
    yield Gallery(
        [
            _curve(models, f"cumulative-{family}", family, f"{family}: mean score up to a length.", cells, "up_to")
            for family, cells in sorted(groups.items())
        ]
    )
    for family, cells in sorted(groups.items()):
        yield _length_table(models, f"{family}: cumulative average score, %", cells, "up_to")


def _heat(models: Sequence[Model]) -> Iterator[Block]:
    groups = _by(models, "family", "depth", "length")
    bins = [f"{at / BINS:.1f}-{(at + 1) / BINS:.1f}" for at in range(BINS)]
    families: dict[str, dict[int, list[Heat]]] = defaultdict(lambda: defaultdict(list))
    for (family, depth), cells in groups.items():
        for at, some in cells.items():
            heats = [Heat(int(c.place["length"]), round(float(depth) * BINS), c.mean, c.units) for c in some]
            families[str(family)][at] += heats
    if families:
        yield Note("Rows with one relevant segment, by the share of filler before it: 0 is the start of the prompt.")
    for family, found in families.items():
        yield Heading(family)
        yield Gallery([_heat_map(family, models[at].mark, cells, bins) for at, cells in found.items()])


def _heat_map(family: str, mark: Mark, cells: Sequence[Heat], bins: Sequence[str]) -> Picture:
    caption = f"{family}, {mark.label}: mean score in percent by depth and length."
    return heat_picture(f"depth-{family}-{mark.style + 1}", mark.label, caption, cells, bins)


def _refusals(models: Sequence[Model]) -> Iterator[Block]:
    rows = [
        [
            f"{each.place['family']}.{each.place['subtask']}",
            model.mark.label,
            *(_scored(cell) for cell in (each.stated, each.unstated)),
            _value(each.balanced),
            _scored(each.pairs),
        ]
        for model in models
        for each in model.tables.classes()
    ]
    if rows:
        yield Note(
            "Each row by itself. Balanced is the plain mean of both classes: always refusing scores 50. A pair counts if both "
            "of its forms are right."
        )
        titles = ("stated", "not stated", "balanced", "pairs")
        columns = [Column("family and subtask"), Column("model"), *(Column(title, numeric=True) for title in titles)]
        yield Table("Accuracy by class, %", columns, sorted(rows, key=lambda row: row[0]))


def _subtasks(models: Sequence[Model]) -> Iterator[Block]:
    found = _joined(models, lambda tables: tables.by("family", "subtask"), "family", "subtask")
    rows = [[str(place), *_row(cells)] for place, cells in found.items()]
    yield Table("Scores by subtask, %", [Column("family and subtask"), *_columns(models)], rows)


def _faults(models: Sequence[Model]) -> Iterator[Block]:
    columns = [Column("model"), *(Column(name, numeric=True) for name in ("rows", "answered", "missing", "unusable"))]
    rows = [[model.mark.label, *(f"{model.scored.counts[c.title]:,}" for c in columns[1:])] for model in models]
    yield Table("Rows and replies", columns, rows)
    if all(not model.scored.faults for model in models):
        yield Note("Every row has one reply, and every reply is of a row.")
    for model in models:
        yield from _listings(model)


def _listings(model: Model) -> Iterator[Block]:
    kinds: dict[str, list[Fault]] = defaultdict(list)
    for fault in model.scored.faults:
        kinds[fault.kind].append(fault)
    for kind, faults in kinds.items():
        lines = [fault.said for fault in faults[:NAMED]]
        if len(faults) > NAMED:
            lines.append(f"... and {len(faults) - NAMED:,} more")
        yield Listing(f"{model.mark.label}: {len(faults):,} {SAID[kind]}", lines)


def _failures(splits: Sequence[Split], models: Sequence[Model]) -> Iterator[Block]:
    found = failures(splits, [model.scored for model in models], [model.mark for model in models])
    if not found:
        return
    yield Note(
        "Of each model the worst rows of each family, the shortest first, of as many subtasks as there are; with the "
        "replies of all models. Needles are marked in the prompts, long filler is folded."
    )
    for family, shown in found.items():
        yield Heading(family)
        yield from shown


__all__ = ["Mapping", "score_page"]
