"""Commands that write pages: report, gallery."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.split import Selection, Split
from pipeline.cli.group import cli
from pipeline.cli.models import SPLIT, Asked, asked_from, models_of, splits_in
from pipeline.cli.options import EXPORT, PLACE, QUIRK, STACK, WHERE, Number, selecting, selection_of
from pipeline.cli.score import check_quirks
from pipeline.errors import PredictionsError, ReportError
from pipeline.publish.splits import open_any_split
from pipeline.report import build_page, gallery_page, score_page, write_page
from pipeline.score.lengths import THRESHOLD
from pipeline.score.reading import files_of
from pipeline.score.results import Scored
from pipeline.score.scoring import score_predictions
from pipeline.score.views import FAULT_KINDS, fault_title
from pipeline.storage import renaming, short_names
from pipeline.terminal.printing import say


@cli.command()
@click.argument("where", metavar=WHERE)
@click.argument("predictions", nargs=-1, metavar="[[NAME=]PREDICTIONS]...")
@click.option(
    "--out", type=PLACE, required=True, metavar="PATH", help="Folder to write to, or a file name ending in .html."
)
@STACK
@SPLIT
@selecting
@QUIRK
@EXPORT
@click.option(
    "--baselines",
    "simulated",
    multiple=True,
    type=PLACE,
    metavar="PATH",
    help="Predictions of simulated readers, drawn in grey: a file, or the folder from `carrara baselines`. Repeatable.",
)
@click.option(
    "--threshold",
    type=Number(0, 1, min_open=True),
    default=THRESHOLD,
    show_default=True,
    metavar="SHARE",
    help="Effective length: the share that a model must keep of its score at the shortest length.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    default=os.cpu_count() or 1,
    show_default="all cores",
    help="Number of worker processes.",
)
def report(
    *,
    where: str,
    predictions: Sequence[str],
    out: Path,
    stack: Sequence[str],
    others: Sequence[str],
    quirks: Sequence[str],
    exports: Sequence[Path],
    simulated: Sequence[Path],
    threshold: float,
    workers: int,
    **chosen: Any,
) -> None:
    """Write a report on PREDICTIONS: how far models read, curves with intervals, differences, and failures.

    Each model has one file or folder of predictions and is named NAME, or after that file or folder. The report is a
    single self-contained HTML file; if --out is a folder, the figures are also saved there as SVG and PNG. Without
    PREDICTIONS, the report describes the build: strata, depths, token budgets and what guessing scores.

    If SPLIT is a release folder, with a split for each tokenizer, each model is scored against the split that it was
    run on and compared with the others on the same questions.
    """
    selection = selection_of(**chosen)
    if not predictions:
        _refuse_choices(selection, [*quirks, *stack, *others, *exports, *simulated])
        say(write_page(build_page(splits_in(where)), out))
        return
    check_quirks(quirks)
    models, readers = models_of(predictions), _readers(simulated)
    asked = asked_from(where, stack, others, list(models))
    name = renaming(short_names(path for paths in (*models.values(), *readers.values()) for path in paths))
    sources = {label: asked.of(label, paths, exports) for label, paths in models.items()}
    first = next(iter(sources.values()))[0]
    scored = [
        score_predictions(
            splits, models[label], model=label, selection=selection, quirks=quirks, workers=workers, exports=folders
        ).renamed(name)
        for label, (splits, folders) in sources.items()
    ]
    grey = [
        score_predictions(
            _read(paths, asked, first), paths, model=label, selection=selection, quirks=quirks, workers=workers
        ).renamed(name)
        for label, paths in readers.items()
    ]
    lite = any(each.lite for each in scored)  # if so, all curves are computed as for lite
    scored, grey = ([replace(each, lite=lite) for each in some] for some in (scored, grey))
    say(write_page(score_page([splits for splits, _ in sources.values()], scored, grey, threshold), out))
    for line in _said(scored):
        say(line, err=True)


def _read(paths: Sequence[Path], asked: Asked, first: list[Split]) -> list[Split]:
    """Return the splits that a simulated reader read; if its file does not tell, those of the first model."""
    try:
        return asked.of("", paths, ())[0]
    except PredictionsError:
        return first


@cli.command()
@click.argument("where", metavar=WHERE)
@click.option(
    "--out", type=PLACE, required=True, metavar="PATH", help="Folder to write to, or a file name ending in .html."
)
def gallery(*, where: str, out: Path) -> None:
    """Write a page with one short prompt of every task in a split.

    Needles and demonstrations are marked with their depths. Below each prompt are the question, the accepted
    answers, chance, the scoring rule, and two replies with their scores explained.
    """
    say(write_page(gallery_page(open_any_split(where)), out))


def _refuse_choices(selection: Selection, more: Sequence[object]) -> None:
    if more or selection != Selection():
        raise ReportError(
            "options that choose rows, --quirk, --stack, --split, --export and --baselines need PREDICTIONS: a report "
            "on a build takes none of them"
        )


def _readers(given: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the file of each simulated reader by name; of a folder, all but `all`, which scores 1 everywhere."""
    found: dict[str, list[Path]] = {}
    for path in given:
        files = files_of([path])
        for file in files if path.is_dir() else [path]:
            if file.stem in found:
                raise ReportError(f"two simulated readers are called {file.stem!r}: give each of them once")
            if path.is_file() or file.stem != "all":
                found[file.stem] = [file]
    return found


def _said(scored: Sequence[Scored]) -> Iterator[str]:
    """Yield one line per kind of fault and model; the page lists each fault."""
    for each in scored:
        for kind in FAULT_KINDS:
            if count := sum(fault.kind == kind for fault in each.faults):
                yield f"{each.model}: {fault_title(kind, count)}"
