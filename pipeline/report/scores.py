"""The report on scores: curves with intervals, slices, heat maps, refusals, failures, and faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.errors import ReportError
from pipeline.figures.scores import GUESSES
from pipeline.figures.style import SERIES
from pipeline.report.against import differences
from pipeline.report.blocks import Block, Failures, Heading, Mark, Note, Page, Section
from pipeline.report.builds import release_facts
from pipeline.report.curves import families, slices
from pipeline.report.failed import lists_of_failures
from pipeline.report.failures import failures
from pipeline.report.models import Asked, Model, model_of
from pipeline.report.page import fit
from pipeline.report.plots import cumulative, heat_maps
from pipeline.report.reach import reach
from pipeline.report.tabular import faults, figures, refusals, settings, subtasks, summary
from pipeline.score.effective import KEPT
from pipeline.score.lengths import Curves
from pipeline.score.results import Scored
from pipeline.store.split import Split

NAME = 60
"""Letters that are shown of a model's name."""

READERS = len(GUESSES) - 2
"""Simulated readers that a figure can show beside chance and the best constant."""


def score_page(
    splits: Sequence[Split], scored: Sequence[Scored], readers: Sequence[Scored] = (), kept: float = KEPT
) -> Page:
    """Return the page of one model's predictions or of several side by side.

    Args:
        splits: what was asked, stacked if several.
        scored: the results of each model against the same rows of these splits.
        readers: the results of simulated readers against these rows, which are drawn in grey.
        kept: the share of the shortest length's score that an effective length keeps.

    Raises:
        ReportError: if there are no rows, or more models or readers than figures can tell apart, or matplotlib is not
            installed.
    """
    if not scored or not scored[0].records:
        raise ReportError("no rows are selected, so there is nothing to report")
    if len(scored) > len(SERIES):
        raise ReportError(
            f"{len(scored)} models are too many for one page, whose figures can show {len(SERIES)}: make several pages"
        )
    if len(readers) > READERS:
        raise ReportError(f"{len(readers)} simulated readers are too many for one figure: give {READERS} at most")
    models = [model_of(Mark(_label(each.model), at), each) for at, each in enumerate(scored)]
    asked = Asked(models, {_label(each.model): Curves(each) for each in readers}, kept)
    count = "one model" if len(models) == 1 else f"{len(models)} models"
    return Page(
        title=f"Scores on {scored[0].split}",
        subtitle=f"{len(scored[0].records):,} rows, {count}, tokenizer {scored[0].tokenizer}.",
        facts=[*release_facts(splits), *_scoring_facts(models)],
        sections=[section for section in _sections(splits, asked) if section.blocks],
    )


def _label(model: str) -> str:
    """Return a model's name as it fits tables: on one line, and without its middle where it is very long."""
    name = " ".join(fit(model).split())
    return name if len(name) <= NAME else f"{name[: NAME // 2]}...{name[-NAME // 2 :]}"


def _sections(splits: Sequence[Split], asked: Asked) -> Iterator[Section]:
    models = asked.models
    yield Section("reach", "How far each model reads", list(reach(asked)))
    yield Section("length", "Score by length", list(families(asked)))
    yield Section("summary", "Scores", list(summary(models)))
    yield Section("differences", "Models against each other", list(differences(asked)))
    yield Section("faults", "Replies", [*faults(models), *settings(models)])
    yield Section("complexity", "Score by complexity", list(slices(asked)))
    yield Section("depth", "Score by depth and length", list(heat_maps(models)))
    yield Section("cumulative", "Cumulative average score", list(cumulative(models)))
    yield Section("refusals", "Rows where refusing may be right", list(refusals(models)))
    yield Section("figures", "Figures apart", list(figures(models)))
    yield Section("subtasks", "Score by subtask", list(subtasks(models)))
    yield Section("failures", "Failures to look at", list(_failures(splits, models)))


def _scoring_facts(models: Sequence[Model]) -> list[tuple[str, str]]:
    quirks = sorted({quirk for model in models for quirk in model.scored.quirks})
    return [
        ("Scoring rules", ", ".join(quirks) or "the defaults of metrics.py"),
        ("Intervals", "95 % percentile bootstrap within strata, with both forms of a pair drawn together"),
        ("Rows without a reply", "score 0 in tables of scores; left out of curves, differences and depths"),
    ]


def _failures(splits: Sequence[Split], models: Sequence[Model]) -> Iterator[Block]:
    lists = lists_of_failures(models)
    found = failures(splits, [model.scored for model in models], [model.mark for model in models])
    if not found:
        return
    yield Note(
        "For each model some of the worst rows of each family, of its longest and shortest lengths, longest first and "
        "spread over the subtasks, with the replies of all models. Below them is a list of failed rows of all lengths."
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
        yield lists[family]
