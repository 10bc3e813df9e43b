"""The report on scores: curves with intervals, slices, heat maps, refusals, failures, and faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.errors import ReportError
from pipeline.figures.style import SERIES
from pipeline.report.blocks import Block, Failures, Heading, Mark, Note, Page, Section
from pipeline.report.builds import release_facts
from pipeline.report.failures import failures
from pipeline.report.models import Model
from pipeline.report.page import fit
from pipeline.report.plots import cumulative, curves, heat_maps, slices
from pipeline.report.tabular import faults, figures, refusals, subtasks, summary
from pipeline.score.cells import Tables
from pipeline.score.results import Scored
from pipeline.store.split import Split

NAME = 60
"""Letters that are shown of a model's name."""


def score_page(splits: Sequence[Split], scored: Sequence[Scored]) -> Page:
    """Return the page of one model's predictions or of several side by side.

    Args:
        splits: what was asked, stacked if several.
        scored: the results of each model against the same rows of these splits.

    Raises:
        ReportError: if there are no rows, or more models than figures can tell apart, or matplotlib is not installed.
    """
    if not scored or not scored[0].records:
        raise ReportError("no rows are selected, so there is nothing to report")
    if len(scored) > len(SERIES):
        raise ReportError(
            f"{len(scored)} models are too many for one page, whose figures can show {len(SERIES)}: make several pages"
        )
    models = [Model(Mark(_label(each.model), at), Tables(each)) for at, each in enumerate(scored)]
    count = "one model" if len(models) == 1 else f"{len(models)} models"
    return Page(
        title=f"Scores on {scored[0].split}",
        subtitle=f"{len(scored[0].records):,} rows, {count}, tokenizer {scored[0].tokenizer}.",
        facts=[*release_facts(splits), *_scoring_facts(models)],
        sections=[section for section in _sections(splits, models) if section.blocks],
        marks=[model.mark for model in models],
    )


def _label(model: str) -> str:
    """Return a model's name as it fits tables: on one line, and without its middle where it is very long."""
    name = " ".join(fit(model).split())
    return name if len(name) <= NAME else f"{name[: NAME // 2]}...{name[-NAME // 2 :]}"


def _sections(splits: Sequence[Split], models: Sequence[Model]) -> Iterator[Section]:
    yield Section("summary", "Summary", list(summary(models)))
    yield Section("faults", "What is missing or wrong", list(faults(models)))
    yield Section("length", "Score by length", list(curves(models)))
    yield Section("complexity", "Score by complexity", list(slices(models)))
    yield Section("cumulative", "Cumulative average score", list(cumulative(models)))
    yield Section("depth", "Score by depth and length", list(heat_maps(models)))
    yield Section("refusals", "Rows where refusing may be right", list(refusals(models)))
    yield Section("figures", "Figures apart", list(figures(models)))
    yield Section("subtasks", "Score by subtask", list(subtasks(models)))
    yield Section("failures", "Failures to look at", list(_failures(splits, models)))


def _scoring_facts(models: Sequence[Model]) -> list[tuple[str, str]]:
    quirks = sorted({quirk for model in models for quirk in model.scored.quirks})
    return [
        ("Scoring rules", ", ".join(quirks) or "the defaults of metrics.py"),
        ("Intervals", "95 % percentile bootstrap within strata, with both forms of a pair drawn together"),
        ("Rows without a reply", "score 0"),
    ]


def _failures(splits: Sequence[Split], models: Sequence[Model]) -> Iterator[Block]:
    found = failures(splits, [model.scored for model in models], [model.mark for model in models])
    if not found:
        return
    yield Note(
        "For each model, the worst rows of each family, shortest first and spread over the subtasks, with the "
        "replies of all models."
    )
    prompts = any(failure.parts for some in found.values() for failure in some)
    yield Note(
        "Needles are marked in the prompts, and long filler is folded."
        if prompts
        else "The prompts are not shown: only the keys were available."
    )
    for family, shown in sorted(found.items()):
        yield Heading(family)
        yield Failures(shown)
