"""The command that sends rows to a model: run."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.asked import (
    AskedRecord,
    asked_record_of,
    left_out_of,
    read_asked,
    record_path,
    write_asked,
)
from pipeline.artifacts.split import Selection, Split
from pipeline.cli.costs import Costs, Rates, cost_lines, rate_options, reply_tokens
from pipeline.cli.group import REPORTED, cli
from pipeline.cli.options import (
    PLACE,
    WHERE,
    Number,
    api_key,
    extra_body,
    extra_body_option,
    missing,
    selecting,
    selection_of,
    server_options,
)
from pipeline.errors import CorruptError, PredictionsError, RecipeError, SplitError
from pipeline.inference.checking import window_of
from pipeline.inference.endpoint import Endpoint
from pipeline.inference.run import COLUMNS, Outcome, Predictions, run_rows
from pipeline.publish.splits import open_any_split
from pipeline.rows import Row
from pipeline.score.cells import Tables
from pipeline.score.joining import reader
from pipeline.score.scoring import score_predictions
from pipeline.score.views import headline_line
from pipeline.terminal.printing import say
from pipeline.terminal.progress import at_times, meter
from pipeline.terminal.text import row_count

MAX_MESSAGES = 10
"""Most messages printed for rows of a kind without a reply."""
NUMBER = re.compile(r"\d+")


def tell(
    out: Path, rows: Mapping[str, Row], left: Collection[str], kept: Predictions, found: Outcome, most: int | None
) -> bool:
    """Print the results of a run for the selected rows; return whether every row that was asked has a reply."""
    asked = rows.keys() - set(left)
    answered, empty, refused = kept.answered & asked, kept.empty & asked, kept.refused.keys() & asked
    new = found.replies - found.empty
    say(f"{out}: {len(answered):,} of {len(asked):,} rows have a prediction, {new:,} of them new")
    _tell_counts(found)
    for what, ids in (
        ("rejected for good, resent only with --again", refused),
        ("an empty reply, resent only with --again", empty),
        ("failed, resent by the next run", found.failed.keys()),
        ("cut off at max_new_tokens", kept.cut & asked),
        ("tool calls instead of an answer, scored 0", kept.called & asked),
        (f"left out by --max-length {most}, named in {left_out_of(record_path(out))}", left),
    ):
        if ids:
            say(f"{what}: {_by_length(rows, ids)}")
    _name({row_id: kept.refused[row_id] for row_id in sorted(refused)})
    _name(dict.fromkeys(sorted(empty), "the reply has no text"))
    _name(found.failed)
    return len(answered) == len(asked)


def _by_length(rows: Mapping[str, Row], ids: Collection[str]) -> str:
    """Return the number of rows, in all and of each length."""
    lengths = Counter(rows[row_id]["length"] for row_id in ids)
    shown = ", ".join(f"{count:,} of length {length}" for length, count in sorted(lengths.items()))
    return f"{row_count(len(ids))} ({shown})"


def _tell_counts(found: Outcome) -> None:
    if differing := sum(count for off, count in found.off.items() if off):
        least, most = min(found.off), max(found.off)
        say(
            f"the server's count of prompt tokens differs from the split's in {differing:,} of "
            f"{sum(found.off.values()):,} rows, by {least:+} to {most:+}: check that the model and its chat template "
            "belong to this tokenizer"
        )


def _name(problems: Mapping[str, str]) -> None:
    """Print the messages for rows of a kind; those that differ only in numbers are printed once."""
    alike: dict[str, list[str]] = {}
    for row_id, words in problems.items():
        alike.setdefault(NUMBER.sub("0", words), []).append(row_id)
    for ids in list(alike.values())[:MAX_MESSAGES]:
        others = f" (and {len(ids) - 1:,} like it)" if len(ids) > 1 else ""
        say(f"{ids[0]}: {problems[ids[0]]}{others}", err=True)
    if unnamed := [row_id for ids in list(alike.values())[MAX_MESSAGES:] for row_id in ids]:
        say(f"... and {len(unnamed):,} more", err=True)


BY = "carrara run"
SIZES = ["id", "length", "context_tokens", "prompt_tokens"]
PATIENCE = 5.0
"""Seconds to wait for a server's description of itself: most servers know only some of the paths."""
FIRST = 3
"""Rows after which a run warns of a server that counts tokens differently."""
STOP = "the headings of each prompt"
"""The recorded setting for the default stops of bare prompts."""
SAME = ("endpoint", "date")
"""Settings that may differ between the runs that write one file."""


@cli.command()
@click.argument("where", metavar=WHERE)
@server_options(required=True)
@click.option("--out", type=PLACE, metavar="FILE", help="Prediction file (.jsonl) to write or continue.")
@selecting
@click.option(
    "--max-concurrency",
    type=click.IntRange(1, 1024),
    metavar="N",
    default=4,
    show_default=True,
    help="Requests in flight at a time.",
)
@click.option(
    "--timeout",
    type=Number(1, 86400),
    metavar="SECONDS",
    default=600.0,
    show_default=True,
    help="Limit for each attempt, and for the total delay that the server asks for.",
)
@click.option(
    "--max-retries",
    type=click.IntRange(0),
    metavar="N",
    default=5,
    show_default=True,
    help="Retries if a request fails.",
)
@click.option(
    "--temperature", default="0", show_default=True, metavar="NUMBER|none", help="Temperature to send; none omits it."
)
@click.option("--seed", type=int, metavar="N", help="Seed to send.  [default: none is sent]")
@click.option(
    "--max-length",
    type=click.IntRange(1),
    metavar="TOKENS",
    help="The model's window: rows that exceed it are left out and listed.",
)
@click.option("--again", is_flag=True, help="Also resend rows that were rejected for good or got an empty reply.")
@click.option("--completion-tokens", is_flag=True, help="Send max_completion_tokens instead of max_tokens.")
@extra_body_option
@click.option("--dry-run", is_flag=True, help="Send nothing: print rows, tokens, time and cost, and exit.")
@rate_options
@click.option("--quiet", is_flag=True, help="Do not show progress.")
def run(
    *,
    where: str,
    base_url: str | None,
    model: str | None,
    api_key_env: str | None,
    out: Path | None,
    key_file: Path | None,
    max_concurrency: int,
    timeout: float,
    max_retries: int,
    temperature: str,
    seed: int | None,
    max_length: int | None,
    again: bool,
    completion_tokens: bool,
    options: Sequence[str],
    dry_run: bool,
    speed: float | None,
    price_in: float | None,
    price_out: float | None,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Send the rows of a split to an OpenAI-compatible server and write its replies to a prediction file.

    SPLIT is the folder of one tokenizer, such as outputs/v3.0.0/o200k, or a published set, org/name@tag. --base-url,
    --model and --out are required, except with --dry-run.

    Rows with frame chat go to /chat/completions, as their own turns if they have any and as one user turn otherwise.
    Rows with frame raw go to /completions. Every request asks for at most the row's max_new_tokens.

    If the run is interrupted, repeat the command: rows that have a reply are not sent again, nor are rows that the
    server rejected for good (too long, or forbidden). Other failed rows are sent again. If rows are left without a
    reply, their number and examples are printed, and the exit code is 2. Beside FILE.jsonl, FILE.asked.json records
    what was asked and the settings.

    The headline is printed at the end; `carrara score` prints everything else.
    """
    selection = selection_of(**chosen)
    split = replace(open_any_split(where, size=selection.size), size="")  # the file may have other rows too
    if next(split.rows(["id"], selection), None) is None:
        raise SplitError(f"no row of {split.title} matches the selection: leave out an option")
    if dry_run:
        costs = _costs_of(split, selection, max_length)
        say("\n".join(cost_lines(costs, Rates(speed, price_in, price_out), total=True)))
        return
    if not (base_url and model and out):
        raise missing(base_url=base_url, model=model, out=out)
    sent = _options(temperature, seed, options)
    report = (lambda line: None) if quiet else at_times(lambda line: say(line, err=True))
    key = api_key(key_file, api_key_env)
    asked = Endpoint(base_url, model, key, timeout, max_retries + 1, sent, on_wait=report)
    name = "max_completion_tokens" if completion_tokens else "max_tokens"
    with Predictions(out, model, frozenset(split.tags.values()), again=again) as kept:
        sizes = {row["id"]: row for row in split.rows(SIZES, selection)}
        left = {row_id: row for row_id, row in sizes.items() if max_length and row["context_tokens"] > max_length}
        _note(out, split, selection, _settings(asked, sent, split.manifest.frame), left, max_length)
        _warn_of_window(asked, [row["context_tokens"] for row in sizes.values() if row["id"] not in left])
        with meter(
            "run", sum(row["prompt_tokens"] for row in sizes.values() if row["id"] not in left), quiet=quiet
        ) as shown:
            found = run_rows(
                asked,
                (row for row in split.rows(COLUMNS, selection) if row["id"] not in left),
                kept,
                workers=max_concurrency,
                limit_name=name,
                on_done=lambda row, answered: shown.advance(1, row["prompt_tokens"], worked=answered),
                on_count=_warner(),
            )
    whole = tell(out, sizes, left, kept, found, max_length)
    _tell_headline(split, out)
    if not whole:
        sys.exit(REPORTED)


def _costs_of(split: Split, selection: Selection, most: int | None) -> Costs:
    """Return the costs of the selected rows, by length."""
    columns = ["length", "context_tokens", "prompt_tokens", "template_tokens", "max_new_tokens"]
    try:
        rows = reader(split)([*columns, "target"], selection)
    except PredictionsError:  # it is published without keys
        rows = split.rows(columns, selection)
    costs = Costs("length")
    for row in sorted(rows, key=lambda row: int(row["length"])):
        if most is None or row["context_tokens"] <= most:
            sent = row["prompt_tokens"] + row["template_tokens"]
            expected = reply_tokens(row["target"]) if "target" in row else None
            costs.of(f"{row['length']:,}").add(1, sent, row["max_new_tokens"], expected)
    return costs


def _warn_of_window(asked: Endpoint, sizes: Sequence[int]) -> None:
    """Warn of rows that the server will reject, if it states its window."""
    window = window_of(replace(asked, timeout=min(asked.timeout, PATIENCE)))
    if window and (beyond := sum(size > window[1] for size in sizes)):
        say(
            f"the server's window is {window[1]:,} tokens ({window[0]}), so it will reject {row_count(beyond)} of "
            f"{len(sizes):,}: leave them out with --max-length {window[1]}",
            err=True,
        )


def _warner() -> Callable[[int], None]:
    """Return a function that takes differences in prompt tokens, and warns once if the first ones are all nonzero."""
    seen: list[int] = []

    def note(off: int) -> None:
        seen.append(off)
        if len(seen) == FIRST and all(seen):
            say(
                f"in the first {FIRST} rows, the server's count of prompt tokens differs from the split's by "
                f"{min(seen):+,} to {max(seen):+,}: `carrara check-server` shows why",
                err=True,
            )

    return note


def _settings(asked: Endpoint, sent: Mapping[str, Any], frame: str) -> dict[str, str]:
    """Return the recorded settings of a run: model, server, date, and what is sent besides the prompt."""
    stop = {"stop": STOP} if frame == "raw" else {}
    settings = {name: "none" if value is None else json.dumps(value)[:1000] for name, value in sent.items()}
    date = datetime.now(UTC).strftime("%Y-%m-%d")  # noqa: TID251 - a run is dated, no build is
    return {"model": asked.model, **stop, **settings, "endpoint": asked.url, "date": date}


def _note(
    out: Path, split: Split, selection: Selection, settings: dict[str, str], left: Mapping[str, Row], most: int | None
) -> None:
    """Record beside the predictions what is asked, in addition to what earlier runs asked.

    Raises:
        PredictionsError: if earlier runs had other settings.
    """
    path, selections, before = record_path(out), [selection], dict[str, str]()
    if path.is_file() and out.is_file() and out.stat().st_size:
        note = read_asked(path)
        _check_same(out, note.asked, settings)
        selections = list(dict.fromkeys([*note.asked.selections, selection]))
        now = {row["id"] for row in split.rows(["id"], selection)}
        before = {row_id: why for row_id, why in note.left_out().items() if row_id in left or row_id not in now}
    reasons = before | dict.fromkeys(left, f"longer than --max-length {most}")
    write_asked(path, asked_record_of(split, BY, selections, reasons.values(), settings=settings), reasons)


def _check_same(out: Path, asked: AskedRecord, settings: Mapping[str, str]) -> None:
    for name in sorted((asked.settings.keys() | settings.keys()) - set(SAME)):
        before, now = asked.settings.get(name, "none"), settings.get(name, "none")
        if before != now:
            raise PredictionsError(
                f"{str(out)!r} was made with {name} {before}, not {now}: give another --out, or the same settings"
            )


def _options(temperature: str, seed: int | None, given: Sequence[str]) -> dict[str, Any]:
    """Return the fields of each request: temperature, seed, and those of --extra-body.

    Raises:
        RecipeError: for a value that cannot be read.
    """
    return {"temperature": _temperature(temperature), "seed": seed, **extra_body(given)}


def _temperature(text: str) -> float | int | None:
    try:
        value = None if text == "none" else float(text)
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value <= 10:
        raise RecipeError(f"--temperature {text}: give a number from 0, or none to omit it")
    return int(value) if value is not None and value == int(value) else value


def _tell_headline(split: Split, out: Path) -> None:
    """Print the headline over all rows that the file was ever asked, as `score` does, if the split has its keys."""
    try:
        scored = score_predictions([split], [out], workers=os.cpu_count() or 1)
    except (PredictionsError, CorruptError) as fault:  # the replies are complete, whatever is wrong with the keys
        say(f"no headline: {fault}")
        return
    if whole := Tables(scored).overall:
        say(f"{headline_line(whole)}, over all {row_count(scored.counts['rows'])} that were sent ({out})")
