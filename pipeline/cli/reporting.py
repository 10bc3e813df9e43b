"""Commands that make pages: report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pipeline.cli.group import cli
from pipeline.cli.scoring import check_quirks
from pipeline.cli.selecting import WHERE, selecting, selection_of
from pipeline.errors import ReportError
from pipeline.publish.opening import KEYS, split_from
from pipeline.report import build_page, gallery_page, score_page, write_page
from pipeline.score.reading import files_of
from pipeline.score.results import Scored
from pipeline.score.scoring import score_predictions
from pipeline.score.views import SAID
from pipeline.store.split import Selection, Split, open_split


@cli.command()
@click.argument("where", metavar=WHERE)
@click.argument("predictions", nargs=-1, metavar="[[NAME=]PREDICTIONS]...")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A folder, or a file that ends in .html.")
@click.option("--stack", multiple=True, metavar=WHERE, help="Another split to stack; may be repeated.")
@selecting
@click.option("--quirk", "quirks", multiple=True, metavar="mrcr=starts", help="Another published rule; see the README.")
@click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="all cores")
def report(
    *,
    where: str,
    predictions: Sequence[str],
    out: Path,
    stack: Sequence[str],
    quirks: Sequence[str],
    workers: int,
    **chosen: Any,
) -> None:
    """Write a page with curves, intervals, heat maps and failures from PREDICTIONS, one file or folder a model.

    The page is one HTML file that needs nothing else; in a folder its figures stand beside it as SVG and PNG. A model
    is called NAME, or as its file. Without PREDICTIONS the page is of the build: strata, depths, token budgets and
    what guessers score; a release's folder then gives all its tokenizers on one page.
    """
    selection = selection_of(**chosen)
    if not predictions:
        _refuse_choices(selection, quirks, stack)
        click.echo(write_page(build_page(_builds(where)), out))
        return
    check_quirks(quirks)
    splits = [split_from(one, KEYS) for one in (where, *stack)]
    scored = [
        score_predictions(splits, paths, model=label, selection=selection, quirks=quirks, workers=workers)
        for label, paths in _models(predictions).items()
    ]
    click.echo(write_page(score_page(splits, scored), out))
    for line in _said(scored):
        click.echo(line, err=True)


@cli.command()
@click.argument("where", metavar=WHERE)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A folder, or a file that ends in .html.")
def gallery(*, where: str, out: Path) -> None:
    """Write a page with a short prompt of every task of a split.

    Needles, decoys and demonstrations are marked, with their depth; below each prompt stand the question, the accepted
    answers, chance, the rule of its scorer, and two replies with what they score and why.
    """
    click.echo(write_page(gallery_page(split_from(where)), out))


def _builds(where: str) -> list[Split]:
    """Return the split in a folder, or those of all tokenizers of a release."""
    inside = sorted(path.parent for path in Path(where).glob("*/manifest.json"))
    if inside and not (Path(where) / "manifest.json").exists():
        return [open_split(folder) for folder in inside]
    return [split_from(where, KEYS)]


def _refuse_choices(selection: Selection, quirks: Sequence[str], stack: Sequence[str]) -> None:
    if quirks or stack or replace(selection, limit=None) != Selection() or selection.limit:
        raise ReportError("a report of a build takes no choice of rows, --quirk or --stack: give PREDICTIONS with them")


def _models(given: Sequence[str]) -> dict[str, list[Path]]:
    """Return the files of each model by its label; the files of one NAME are brought together."""
    found: dict[str, list[Path]] = {}
    for text in given:
        name, path = _labelled(text)
        if name is None and Path(path).stem in found:
            raise ReportError(f"two models are called {Path(path).stem!r}: give NAME=PREDICTIONS")
        found.setdefault(name or Path(path).stem, []).append(Path(path))
    return {label: files_of(paths) for label, paths in found.items()}


def _labelled(text: str) -> tuple[str | None, str]:
    name, equals, path = text.partition("=")
    return (name, path) if name and equals and not Path(text).exists() else (None, text)


def _said(scored: Sequence[Scored]) -> Iterator[str]:
    """Yield one line for each kind of fault of each model; the page names them one by one."""
    for each in scored:
        for kind, said in SAID.items():
            count = sum(fault.kind == kind for fault in each.faults)
            if count:
                yield f"{each.model}: {count:,} {said}"
