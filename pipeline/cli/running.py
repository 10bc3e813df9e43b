"""The command that queries a model: run."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.ask.endpoint import Endpoint
from pipeline.ask.predictions import Predictions
from pipeline.ask.run import COLUMNS, Outcome, run_rows
from pipeline.cli.base import KEY_FILE, api_key
from pipeline.cli.group import cli
from pipeline.cli.scoring import REPORTED
from pipeline.cli.selecting import WHERE, selecting, selection_of
from pipeline.errors import RecipeError
from pipeline.publish.opening import split_from
from pipeline.store.split import Selection, Split
from pipeline.terminal.printing import say
from pipeline.terminal.progress import meter

NAMED = 10
"""Rows without a reply that are named at the end."""


@cli.command()
@click.argument("where", metavar=WHERE)
@click.option(
    "--endpoint",
    envvar="CARRARA_ENDPOINT",
    required=True,
    help="Base URL of the server, such as http://localhost:8000/v1, or set CARRARA_ENDPOINT.",
)
@click.option(
    "--model", envvar="CARRARA_MODEL", required=True, help="Name of the model on the server, or set CARRARA_MODEL."
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="File of predictions (.jsonl) to write or continue."
)
@selecting
@KEY_FILE
@click.option(
    "--workers", type=click.IntRange(1, 1024), default=4, show_default=True, help="Requests in flight at a time."
)
@click.option(
    "--timeout", type=click.FloatRange(1, 86400), default=600.0, show_default=True, help="Seconds to wait for each try."
)
@click.option("--tries", type=click.IntRange(1), default=6, show_default=True, help="Tries per request.")
@click.option("--completion-tokens", is_flag=True, help="Send max_completion_tokens instead of max_tokens.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=JSON",
    help="Field to send with each request; null leaves it out. Repeatable.",
)
@click.option("--quiet", is_flag=True, help="Do not show progress.")
def run(
    *,
    where: str,
    endpoint: str,
    model: str,
    out: Path,
    key_file: Path | None,
    workers: int,
    timeout: float,
    tries: int,
    completion_tokens: bool,
    options: Sequence[str],
    quiet: bool,
    **chosen: Any,
) -> None:
    """Send the rows of a split to an OpenAI-compatible server and write its replies to a file of predictions.

    Rows with frame chat go to /chat/completions (as their own turns if they have any, else as one user turn), rows with
    frame raw to /completions, with temperature 0 and each row's max_new_tokens. If it is interrupted, run the same
    command again: rows that have a reply are not sent again. Rows that the server refuses are listed, stored without a
    prediction and sent again by the next run; the exit code is then 2.
    """
    split = split_from(where)
    asked = Endpoint(endpoint, model, api_key(key_file), timeout, tries, _options(options))
    name = "max_completion_tokens" if completion_tokens else "max_tokens"
    selection = selection_of(**chosen)
    with Predictions(out, model, frozenset(split.tags.values())) as kept:
        rows, tokens = _size(split, selection)
        with meter("run", tokens, quiet=quiet) as shown:
            found = run_rows(
                asked,
                split.rows(COLUMNS, selection),
                kept,
                workers=workers,
                limit_name=name,
                on_done=lambda row: shown.advance(1, row["prompt_tokens"]),
            )
    _tell(out, rows, found)


def _options(given: Sequence[str]) -> dict[str, Any]:
    """Read ``NAME=JSON`` options, beside temperature 0.

    Raises:
        RecipeError: for one that cannot be read.
    """
    options: dict[str, Any] = {"temperature": 0}
    for each in given:
        name, _, value = each.partition("=")
        try:
            options[name] = json.loads(value)
        except ValueError:
            raise RecipeError(f"--option {each}: must be NAME=JSON, such as top_p=0.9 or stop='[\"END\"]'") from None
    return options


def _size(split: Split, selection: Selection) -> tuple[int, int]:
    """Return how many rows and tokens are selected."""
    tokens = [row["prompt_tokens"] for row in split.rows(["prompt_tokens"], selection)]
    return len(tokens), sum(tokens)


def _tell(out: Path, rows: int, found: Outcome) -> None:
    without = len(found.failed)
    say(f"{out}: {rows - without:,} of {rows:,} rows have a prediction, {found.replies:,} of them new")
    if differing := sum(count for off, count in found.off.items() if off):
        least, most = min(found.off), max(found.off)
        say(
            f"the server's count of prompt tokens differs from the split's in {differing:,} of "
            f"{sum(found.off.values()):,} rows, by {least:+} to {most:+}: check that the model and its chat template "
            "belong to this tokenizer"
        )
    for row_id, said in list(found.failed.items())[:NAMED]:
        say(f"{row_id}: {said}", err=True)
    if without > NAMED:
        say(f"... and {without - NAMED:,} more", err=True)
    if without:
        sys.exit(REPORTED)
