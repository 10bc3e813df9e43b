"""The report on scores: curves with intervals, slices, heat maps, refusals, failures, and faults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeline.artifacts.split import Split
from pipeline.errors import ReportError
from pipeline.figures.scores import GUESSES
from pipeline.figures.style import SERIES
from pipeline.metrics import versions
from pipeline.report.builds import release_facts
from pipeline.report.curves import cumulative, families, heat_maps, reach, slices
from pipeline.report.failures import failures, lists_of_failures
from pipeline.report.models import (
    NOTHING,
    Model,
    QuestionSet,
    columns_of,
    differences,
    interval,
    model_of,
    naive_of,
    ranged,
    row_of,
    share,
    side_by_side,
)
from pipeline.report.page import Block, Column, Failures, Heading, Listing, Mark, Note, Page, Section, Table, fit
from pipeline.score.languages import by_language
from pipeline.score.lengths import THRESHOLD, Curves
from pipeline.score.results import STATES, Fault, Scored
from pipeline.score.views import fault_title
from pipeline.terminal.text import row_count

TITLES = {"cut": "cut off"}
MAX_LISTED_FAULTS = 50
"""Most faults of one kind that a page lists."""


def summary(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the scores of each family, and the headline."""
    yield Note(
        "Mean scores in percent, with 95% intervals; rows without a reply score 0. The headline is the mean over "
        "families of the mean over subtasks of the mean over lengths. Chance is the score of a uniform guess; the best "
        "constant is the score of the best single reply for each kind of question, chosen with knowledge of the "
        "answers. A naive baseline is the score of one of the task's own guessers."
    )
    families = side_by_side(models, lambda model: model.tables.by("family"), "family")
    rows = [[str(family), *row_of(cells, naive_of(cells, models))] for (family,), cells in families.items()]
    if len(families) > 1:
        rows.append(["headline", *row_of([model.tables.overall for model in models], NOTHING)])
    yield Table("Scores by family, %", columns_of(models, "family", naive=True), rows)


def subtasks(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the scores of each subtask."""
    found = side_by_side(models, lambda model: model.tables.by("family", "subtask"), "family", "subtask")
    rows = [
        [f"{family}.{subtask}", *row_of(cells, naive_of(cells, models))] for (family, subtask), cells in found.items()
    ]
    yield Table("Scores by subtask, %", columns_of(models, "family and subtask", naive=True), rows)


def refusals(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the accuracy of each class on rows where a refusal may be right."""
    rows = [
        [
            f"{each.place['family']}.{each.place['subtask']}",
            model.mark.label,
            *map(interval, (each.stated, each.unstated)),
            share(each.balanced),
            interval(each.pairs),
        ]
        for model in models
        for each in model.tables.classes()
    ]
    if not rows:
        return
    yield Note(
        "Rows are scored one by one. In stated rows the text gives the answer. Balanced is the mean of both kinds, so "
        "always refusing scores 50. A pair counts if both rows are right."
    )
    titles = ("stated", "not stated", "balanced", "pairs")
    columns = [Column("family and subtask"), Column("model"), *(Column(title, numeric=True) for title in titles)]
    yield Table("Accuracy by class, %", columns, sorted(rows, key=lambda row: row[0]))


def languages(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the scores by language of text and question, and their differences from English over the same rows."""
    rows = []
    for model in models:
        for each in by_language(model.tables):
            gain = each.english
            difference = ranged(gain.mean, gain.low, gain.high) if gain and gain.mean is not None else NOTHING
            count = f"{gain.better} / {gain.worse}" if gain else NOTHING
            rows.append(
                [each.text, each.asked, model.mark.label, f"{each.cell.rows:,}", interval(each.cell), difference, count]
            )
    if not rows:
        return
    yield Note(
        "Rows with the same number have the same keys, values and depths in every language. The difference from "
        "English is over the rows that were answered in both, and has its own interval."
    )
    titles = ("rows", "score", "minus English", "better / worse")
    named = (Column("text"), Column("asked"), Column("model"))
    yield Table("Scores by language, %", [*named, *(Column(title, numeric=True) for title in titles)], rows)


def figures(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the figures behind scores, for scorers that have several."""
    places = ("family", "subtask", "figure")
    found = side_by_side(models, lambda model: model.tables.figures(), *places)
    rows = [[f"{family}.{subtask}: {figure}", *row_of(cells)] for (family, subtask, figure), cells in found.items()]
    if rows:
        yield Note("Scores of these subtasks combine several components, which show what goes wrong.")
        yield Table("Components, %", columns_of(models, "family, subtask and component"), rows)


def faults(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the numbers of rows by state, and everything that was wrong with the predictions."""
    states = ("rows", *STATES, "unparsed", "cut", "predictions")
    columns = [Column("model"), *(Column(TITLES.get(state, state), numeric=True) for state in states)]
    columns.append(Column("never asked", numeric=True))
    rows = [[model.mark.label, *(f"{model.scored.counts.get(state, 0):,}" for state in states)] for model in models]
    for row, model in zip(rows, models, strict=True):
        row.append(f"{sum(model.scored.never_asked.values()):,}")
    yield Note(
        "Rows are those that were asked. A refused row is one that the server rejected for good; an unparsed reply "
        "is one that its scorer cannot read, and scores 0; a reply cut off reached its token limit, and is scored as "
        "it is. Rows never asked were left out by an export or run, and count in no score."
    )
    yield Table("Rows and replies", columns, rows)
    for model in models:
        for reason, count in model.scored.never_asked.items():
            yield Note(f"{model.mark.label}: {row_count(count)} not sent ({reason}).")
        for warning in model.scored.warnings:
            yield Note(f"{model.mark.label}: {warning}.")
    if all(not model.scored.faults for model in models):
        yield Note("Every row has exactly one reply, and every reply belongs to a row.")
    for model in models:
        yield from _listings(model)


def settings(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the tokenizer, the largest window and the settings of each model's run."""
    columns = [Column("setting"), *(Column(model.mark.label, mark=model.mark) for model in models)]
    rows = [
        ["tokenizer of the prompts", *(model.scored.tokenizer for model in models)],
        ["largest window, tokens", *(f"{model.scored.window:,}" for model in models)],
    ]
    names = list(dict.fromkeys(name for model in models for name in model.scored.settings))
    if not names:
        yield Note("The predictions do not say with which settings they were made, or when.")
    rows += [[name, *(model.scored.settings.get(name, "not recorded") for model in models)] for name in names]
    yield Table("Settings of the runs", columns, rows)


def _listings(model: Model) -> Iterator[Block]:
    kinds: dict[str, list[Fault]] = defaultdict(list)
    for fault in model.scored.faults:
        kinds[fault.kind].append(fault)
    for kind, found in kinds.items():
        lines = [fault.message for fault in found[:MAX_LISTED_FAULTS]]
        more = [f"... and {len(found) - MAX_LISTED_FAULTS:,} more"] if len(found) > MAX_LISTED_FAULTS else []
        yield Listing(f"{model.mark.label}: {fault_title(kind, len(found))}", [*lines, *more])


NAME = 60
"""Most characters that are shown of a model's name."""

READERS = len(GUESSES) - 2
"""Most simulated readers that a figure can show besides chance and the best constant."""


def score_page(
    splits: Sequence[Sequence[Split]],
    scored: Sequence[Scored],
    readers: Sequence[Scored] = (),
    threshold: float = THRESHOLD,
) -> Page:
    """Return the page of one model's predictions, or of several models side by side.

    Args:
        splits: the splits that each model was asked, stacked if several.
        scored: the results of each model; all were asked the same questions, each for its own tokenizer.
        readers: the results of simulated readers on these rows, drawn in grey.
        threshold: the share of the score at the shortest length that must be kept for an effective length.

    Raises:
        ReportError: if there are no rows, more models or readers than figures can distinguish, or matplotlib is not
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
    asked = QuestionSet(models, {_label(each.model): Curves(each) for each in readers}, threshold)
    count = "one model" if len(models) == 1 else f"{len(models)} models"
    names = list(dict.fromkeys(each.tokenizer for each in scored))
    every = list({str(split.folder): split for own in splits for split in own}.values())
    rows = len({record.id for each in scored for record in each.records})
    own = f"tokenizer {names[0]}" if len(names) == 1 else f"tokenizers {', '.join(names)}"
    return Page(
        title=f"Scores on {_title(splits[0]) if len(names) > 1 else scored[0].split}",
        subtitle=f"{row_count(rows)}, {count}, {own}.",
        facts=[*release_facts(every), *_scoring_facts(models)],
        sections=[section for section in _sections(splits, asked) if section.blocks],
    )


def _title(splits: Sequence[Split]) -> str:
    """Return the title of splits without their tokenizer."""
    return " + ".join(dict.fromkeys(split.manifest.title for split in splits))


def _label(model: str) -> str:
    """Return a model's name for tables: on one line, and without its middle if it is long."""
    name = " ".join(fit(model).split())
    return name if len(name) <= NAME else f"{name[: NAME // 2]}...{name[-NAME // 2 :]}"


def _sections(splits: Sequence[Sequence[Split]], asked: QuestionSet) -> Iterator[Section]:
    models = asked.models
    yield Section("reach", "How far each model reads", list(reach(asked)))
    yield Section("length", "Score by length", list(families(asked)))
    yield Section("summary", "Scores", list(summary(models)))
    yield Section("differences", "Models compared", list(differences(asked)))
    yield Section("faults", "Replies", [*faults(models), *settings(models)])
    yield Section("complexity", "Score by complexity", list(slices(asked)))
    yield Section("depth", "Score by depth and length", list(heat_maps(models)))
    yield Section("cumulative", "Cumulative average score", list(cumulative(models)))
    yield Section("refusals", "Rows where refusing may be right", list(refusals(models)))
    yield Section("languages", "Score by language", list(languages(models)))
    yield Section("figures", "Components", list(figures(models)))
    yield Section("subtasks", "Score by subtask", list(subtasks(models)))
    yield Section("failures", "Failures", list(_failures(splits, models)))


def _scoring_facts(models: Sequence[Model]) -> list[tuple[str, str]]:
    quirks = sorted({quirk for model in models for quirk in model.scored.quirks})
    known = versions({"scorer": record.scorer} for model in models for record in model.scored.records)
    return [
        ("Scoring rules", ", ".join(quirks) or "the defaults of metrics.py"),
        ("Versions of scorers", ", ".join(f"{name} {version}" for name, version in known.items())),
        ("Intervals", "95% percentile bootstrap within strata, with both rows of a pair drawn together"),
        ("Rows without a reply", "score 0 in tables of scores; left out of curves, differences and depths"),
    ]


def _failures(splits: Sequence[Sequence[Split]], models: Sequence[Model]) -> Iterator[Block]:
    lists = lists_of_failures(models)
    found = failures(splits, [model.scored for model in models], [model.mark for model in models])
    if not found:
        return
    yield Note(
        "Each family has some of each model's worst rows, from the longest and shortest lengths and across subtasks, "
        "longest first, with all models' replies. Below them is a list of failed rows of all lengths."
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
