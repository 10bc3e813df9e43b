"""The command that scores a model's replies: score."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.files import atomic_write
from pipeline.cli.group import REPORTED, cli
from pipeline.cli.options import EXPORT, PLACE, QUIRK, STACK, WHERE, selecting, selection_of
from pipeline.errors import PredictionsError
from pipeline.metrics import scorers_of
from pipeline.publish.splits import KEYS, split_from
from pipeline.score.cells import GROUPS, Tables
from pipeline.score.reading import files_of
from pipeline.score.scoring import records_for_a_judge, score_predictions, write_judge_records
from pipeline.score.views import fault_lines, page, result_of
from pipeline.terminal.printing import say


@cli.command()
@click.argument("where", metavar=WHERE)
@click.argument("predictions", nargs=-1, required=True, type=PLACE)
@STACK
@selecting
@EXPORT
@click.option(
    "--by", metavar="COLUMNS", help=f"One table grouped by these columns (comma-separated): {', '.join(GROUPS)}."
)
@click.option("--detailed", is_flag=True, help="Also print subtasks by length, complexity and depth.")
@QUIRK
@click.option("--model", default="", help="Label for the model in the output.")
@click.option(
    "--out",
    type=PLACE,
    help="Also write the result, with the score of each row, to this JSON file.",
)
@click.option(
    "--judge-records",
    type=PLACE,
    metavar="FILE",
    help="Also write question, key points or target, reply and score of each row to FILE, for a judge of your own.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="all cores",
    help="Number of worker processes.",
)
def score(
    *,
    where: str,
    predictions: Sequence[Path],
    stack: Sequence[str],
    by: str | None,
    detailed: bool,
    quirks: Sequence[str],
    model: str,
    out: Path | None,
    judge_records: Path | None,
    as_json: bool,
    workers: int,
    exports: Sequence[Path],
    **chosen: Any,
) -> None:
    """Score one model's PREDICTIONS against a split, with intervals, chance, and whatever is wrong with them.

    PREDICTIONS are files or folders: JSON Lines or Parquet with columns id and prediction, or the unchanged output of
    `carrara run`, lm-eval (--log_samples), Inspect, lighteval (--save-details), EvalScope, verifiers, RULER, HELMET,
    LongBio-Benchmark, or an OpenAI or vLLM batch.

    The headline is the mean over families of the mean over their subtasks of the mean over their lengths. It is over
    all selected rows that were asked: those that an export or `carrara run --max-length` has left out are counted
    apart; a row without a reply scores 0. The exit code is 0 if every row that was asked has a reply, 2 if the scores
    were printed but something was missing or wrong (listed on stderr), and 1 if nothing could be scored.
    """
    columns = tuple(filter(None, (by or "").replace(" ", "").split(",")))
    _check(columns, quirks)
    splits = [split_from(one, KEYS) for one in (where, *stack)]
    files, selection = files_of(predictions), selection_of(**chosen)
    scored = score_predictions(
        splits, files, model=model, selection=selection, quirks=quirks, workers=workers, exports=exports
    )
    tables = Tables(scored)
    if out:
        with atomic_write(out) as aside:
            aside.write_text(json.dumps(result_of(tables, rows=True, by=columns), indent=1) + "\n", encoding="ascii")
    if judge_records:
        write_judge_records(judge_records, records_for_a_judge(scored, splits, files, selection))
    say(json.dumps(result_of(tables, by=columns), indent=1) if as_json else page(tables, columns, detailed=detailed))
    for line in scored.warnings:
        say(f"warning: {line}", err=True)
    for line in fault_lines(scored.faults):
        say(line, err=True)
    if not scored.complete:
        sys.exit(REPORTED)


def _check(columns: Sequence[str], quirks: Sequence[str]) -> None:
    """Refuse unknown names before anything is read."""
    for column in columns:
        if column not in GROUPS:
            raise PredictionsError(f"--by {column}: columns are {', '.join(GROUPS)}")
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
