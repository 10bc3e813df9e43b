"""Commands for what models have said: score."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.cli.group import cli
from pipeline.cli.selecting import WHERE, selecting, selection_of
from pipeline.errors import PredictionsError
from pipeline.metrics import scorers_of
from pipeline.publish.opening import KEYS, split_from
from pipeline.score.cells import GROUPS, Tables
from pipeline.score.reading import files_of
from pipeline.score.scoring import score_predictions
from pipeline.score.views import fault_lines, page, result_of
from pipeline.store.files import written_aside

REPORTED = 2
"""The exit code that says that rows lack an answer, or that something was wrong with predictions."""


@cli.command()
@click.argument("where", metavar=WHERE)
@click.argument("predictions", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--stack", multiple=True, metavar=WHERE, help="Another split to stack; may be repeated.")
@selecting
@click.option("--by", metavar="COLUMNS", help=f"One table by these, with commas: {', '.join(GROUPS)}.")
@click.option("--quirk", "quirks", multiple=True, metavar="mrcr=starts", help="Another published rule; see the README.")
@click.option("--model", default="", help="A label for the model, in the output.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the result as JSON, with the score of each row.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of tables.")
@click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="all cores")
def score(
    *,
    where: str,
    predictions: Sequence[Path],
    stack: Sequence[str],
    by: str | None,
    quirks: Sequence[str],
    model: str,
    out: Path | None,
    as_json: bool,
    workers: int,
    **chosen: Any,
) -> None:
    """Score PREDICTIONS of one model against a split, with intervals, chance and all that is wrong with them.

    PREDICTIONS are files or folders: JSON Lines or Parquet with id and prediction, or the output files of lm-eval
    (--log_samples), Inspect, an OpenAI or vLLM batch, or `carrara run`, as they are.

    The headline is over all rows that are selected: a row without an answer scores 0. Exit code 0: every row has its
    answer; 2: the scores are there, and what was missing or wrong is named on stderr; 1: nothing could be scored.
    """
    columns = tuple(filter(None, (by or "").replace(" ", "").split(",")))
    _check(columns, quirks)
    splits = [split_from(one, KEYS) for one in (where, *stack)]
    scored = score_predictions(
        splits, files_of(predictions), model=model, selection=selection_of(**chosen), quirks=quirks, workers=workers
    )
    tables = Tables(scored)
    if out:
        with written_aside(out) as aside:
            aside.write_text(json.dumps(result_of(tables, rows=True, by=columns), indent=1) + "\n", encoding="ascii")
    click.echo(json.dumps(result_of(tables, by=columns), indent=1) if as_json else page(tables, columns))
    for line in fault_lines(scored.faults):
        click.echo(line, err=True)
    if not scored.complete:
        sys.exit(REPORTED)


def _check(columns: Sequence[str], quirks: Sequence[str]) -> None:
    """Refuse unknown names before anything is read."""
    for column in columns:
        if column not in GROUPS:
            raise PredictionsError(f"--by {column}: give some of {', '.join(GROUPS)}")
    check_quirks(quirks)


def check_quirks(quirks: Sequence[str]) -> None:
    """Refuse unknown quirks.

    Raises:
        PredictionsError: naming the first.
    """
    try:
        scorers_of(quirks)
    except ValueError as fault:
        raise PredictionsError(f"--quirk: {fault}") from None
