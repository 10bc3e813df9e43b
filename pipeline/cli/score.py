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
from pipeline.cli.models import SPLIT, asked_from, is_release, models_of
from pipeline.cli.options import EXPORT, PLACE, QUIRK, STACK, WHERE, selecting, selection_of
from pipeline.errors import PredictionsError
from pipeline.metrics import scorers_of
from pipeline.score.cells import GROUPS, Tables
from pipeline.score.comparing import comparison_of, comparison_page
from pipeline.score.scoring import records_for_a_judge, score_predictions, write_judge_records
from pipeline.score.views import fault_lines, page, result_of
from pipeline.terminal.printing import say


@cli.command()
@click.argument("where", metavar=WHERE)
@click.argument("predictions", nargs=-1, required=True, metavar="[NAME=]PREDICTIONS...")
@STACK
@SPLIT
@selecting
@EXPORT
@click.option(
    "--group-by",
    "by",
    metavar="COLUMNS",
    help=f"Print one table by columns such as family,length. Columns: {', '.join(GROUPS)}.",
)
@click.option("--detailed", is_flag=True, help="Also print tables by subtask, complexity and depth.")
@QUIRK
@click.option("--model", default="", metavar="NAME", help="Label for a single model in the output.")
@click.option(
    "--out",
    type=PLACE,
    metavar="FILE",
    help="Also write the result, with the score of every row, to this JSON file.",
)
@click.option(
    "--judge-records",
    type=PLACE,
    metavar="FILE",
    help="Also write question, key points, target, reply and score of answered rows to FILE, for your own judge.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    default=os.cpu_count() or 1,
    show_default="all cores",
    help="Number of worker processes.",
)
def score(
    *,
    where: str,
    predictions: Sequence[str],
    stack: Sequence[str],
    others: Sequence[str],
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
    """Score PREDICTIONS against a split, with intervals and chance, and list what is wrong with them.

    PREDICTIONS are files or folders: JSON Lines or Parquet with columns id and prediction, or the unchanged output of
    `carrara run`, lm-eval (--log_samples), Inspect, lighteval (--save-details), EvalScope, verifiers, RULER, HELMET,
    LongBio-Benchmark, or an OpenAI or vLLM batch.

    All PREDICTIONS belong to one model, unless they are named, --split is given, or SPLIT is a release folder, with a
    split for each tokenizer. Then each is a model of its own, scored against the split that it was run on, and the
    models are compared in pairs over the rows that both answered.

    The headline is the mean over families of the mean over subtasks of the mean over lengths. A row without a reply
    scores 0; rows that an export or `carrara run` left out do not count. The exit code is 0 if every row that was sent
    has a reply, 2 if scores were printed but something was missing or wrong (listed on stderr), and 1 if nothing could
    be scored.
    """
    columns = tuple(filter(None, (by or "").replace(" ", "").split(",")))
    _check(columns, quirks)
    several = bool(others) or is_release(where)
    models, selection = models_of(predictions, together=not several), selection_of(**chosen)
    asked = asked_from(where, stack, others, list(models))
    sources = {label: asked.of(label, paths, exports) for label, paths in models.items()}
    if len(models) > 1 and (model or judge_records):
        raise PredictionsError("--model and --judge-records are for a single model: give only its PREDICTIONS")
    found = [
        Tables(
            score_predictions(
                splits, models[label], model=model or label, selection=selection, quirks=quirks, workers=workers,
                exports=folders,
            )
        )
        for label, (splits, folders) in sources.items()
    ]  # fmt: skip
    if out:
        with atomic_write(out) as aside:
            aside.write_text(json.dumps(_result(found, columns, rows=True), indent=1) + "\n", encoding="ascii")
    if judge_records:
        label, (splits, _) = next(iter(sources.items()))
        records = records_for_a_judge(found[0].scored, splits, models[label], selection)
        write_judge_records(judge_records, records)
    say(json.dumps(_result(found, columns), indent=1) if as_json else _page(found, columns, detailed=detailed))
    for tables in found:
        name = f"{tables.scored.model}: " if len(found) > 1 else ""
        for line in tables.scored.warnings:
            say(f"warning: {name}{line}", err=True)
        for line in fault_lines(tables.scored.faults):
            say(f"{name}{line}", err=True)
    if not all(tables.scored.complete for tables in found):
        sys.exit(REPORTED)


def _result(found: Sequence[Tables], columns: Sequence[str], *, rows: bool = False) -> dict[str, Any]:
    if len(found) == 1:
        return result_of(found[0], rows=rows, by=columns)
    return comparison_of(found, rows=rows, by=columns)


def _page(found: Sequence[Tables], columns: Sequence[str], *, detailed: bool) -> str:
    """Return the tables of one model; for several, their comparison, and each model's own tables if requested."""
    alone = [page(tables, columns, detailed=detailed) for tables in found]
    if len(found) == 1:
        return alone[0]
    own = [f"{tables.scored.model}: {text}" for tables, text in zip(found, alone, strict=True)]
    return "\n\n".join([comparison_page(found), *(own if columns or detailed else ())])


def _check(columns: Sequence[str], quirks: Sequence[str]) -> None:
    """Refuse unknown names before anything is read."""
    for column in columns:
        if column not in GROUPS:
            raise PredictionsError(f"--group-by {column}: the columns are {', '.join(GROUPS)}")
    check_quirks(quirks)


def check_quirks(quirks: Sequence[str]) -> None:
    """Refuse unknown quirks.

    Raises:
        PredictionsError: naming the first unknown one.
    """
    try:
        scorers_of(quirks)
    except ValueError as fault:
        raise PredictionsError(f"--quirk: {fault}") from None
