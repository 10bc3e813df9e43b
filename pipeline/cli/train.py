"""The commands for training sets: write, verify, prove."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from pipeline.cli.base import executor_opener
from pipeline.cli.group import cli
from pipeline.cli.options import DISK, PLACE, Number
from pipeline.executors import run
from pipeline.executors.dask import WAIT
from pipeline.recipe import Knob
from pipeline.terminal.printing import say
from pipeline.terminal.progress import meter
from pipeline.training.apart import KINDS, joined, know_jobs, run_know, write_known
from pipeline.training.shards import verify_shards, write_shards
from pipeline.training.stream import stream

WORKERS = click.option(
    "--workers", type=click.IntRange(1), metavar="N", default=os.cpu_count() or 1, show_default="all cores",
    help="Number of worker processes.",
)  # fmt: skip
DASK = click.option("--dask", "address", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler.")
WAITING = click.option(
    "--dask-wait", "wait", type=Number(0, min_open=True), default=WAIT, show_default=True, metavar="SECONDS",
    help="Time to wait for a worker.",
)  # fmt: skip
QUIET = click.option("--quiet", is_flag=True, help="Do not show progress.")


@cli.group()
def train() -> None:
    """Write training rows, exact and proven like those of a build, and kept apart from evaluation."""


@train.command("write")
@click.argument("out", type=PLACE)
@click.option(
    "--task", "tasks", multiple=True, required=True, metavar="NAME", help="Task, such as bio.multihop. Repeatable."
)
@click.option("--tokenizer", required=True, metavar="NAME", help="Profile: a shipped one, or a TOML file.")
@click.option(
    "--length", "lengths", type=int, multiple=True, required=True, metavar="N", help="Length in tokens. Repeatable."
)
@click.option(
    "--complexity",
    "complexities",
    type=int,
    multiple=True,
    metavar="N",
    help="Complexity of the rows. Repeatable.  [default: each task's first]",
)
@click.option(
    "--rows", type=click.IntRange(1), required=True, metavar="N", help="Rows of each task, length and complexity."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Any whole number; no two seeds share a row."
)
@click.option("--ids", is_flag=True, help="Begin each passage with an id, and ask for the ids of the evidence.")
@click.option("--quotes", is_flag=True, help="Ask for the evidence word for word.")
@click.option(
    "--reserve", type=click.IntRange(1), metavar="N", help="Tokens for the reply, instead of each task's own number."
)
@click.option("--set", "knobs", multiple=True, metavar="KNOB=VALUE", help="Set a knob of the tasks. Repeatable.")
@click.option(
    "--apart",
    type=DISK,
    metavar="FILE",
    help="Digests from `carrara train prove`: rows that match one are left out and counted.",
)
@WORKERS
@DASK
@WAITING
@QUIET
def write(
    *,
    out: Path,
    tasks: Sequence[str],
    tokenizer: str,
    lengths: Sequence[int],
    complexities: Sequence[int],
    rows: int,
    seed: int,
    ids: bool,
    quotes: bool,
    reserve: int | None,
    knobs: Sequence[str],
    apart: Path | None,
    workers: int,
    address: str | None,
    wait: float,
    quiet: bool,
) -> None:
    """Write shards of rows to OUT, on disk or in a store. Finished shards are reused, not replaced."""
    given = dict(map(_knob, knobs))
    specs = [
        stream(
            task, tokenizer=tokenizer, length=length, complexity=complexity, seed=seed, ids=ids, quotes=quotes,
            reserve=reserve, knobs=given,
        ).spec
        for task in tasks
        for length in lengths
        for complexity in (complexities or (None,))
    ]  # fmt: skip
    open_executor = executor_opener(workers, address, wait, out)
    with meter("train", rows * len(specs), quiet=quiet) as shown:
        index = write_shards(specs, rows, out, open_executor, apart, lambda count: shown.advance(count, 0))
    dropped = dict(index["dropped"])
    unfit = f"; {count} left out because they do not fit" if (count := dropped.pop("fit", 0)) else ""
    left = ", ".join(f"{count} with a {kind}" for kind, count in sorted(dropped.items())) or "none"
    matched = f"; left out because they match {', '.join(index['apart_from'])}: {left}" if apart else ""
    say(f"{out}: {index['rows']} rows, all proven{unfit}{matched}")


def _knob(given: str) -> tuple[str, Knob]:
    name, _, value = given.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@train.command("verify", short_help="Regenerate and prove rows.")
@click.argument("out", type=PLACE)
def verify(*, out: Path) -> None:
    """Regenerate every row in OUT from its stream, prove it, and compare it with the shards."""
    say(f"{out}: {verify_shards(out)} rows match their streams, all proven")


@train.command("prove", short_help="Write digests of releases.")
@click.argument("releases", type=PLACE, nargs=-1, required=True, metavar="LOCK|FOLDER...")
@click.option("--out", type=DISK, required=True, metavar="FILE", help="File to write the digests to.")
@WORKERS
@DASK
@WAITING
@QUIET
def prove(*, releases: Sequence[Path], out: Path, workers: int, address: str | None, wait: float, quiet: bool) -> None:
    """Write digests of the texts, questions, names and keys of releases, for `carrara train write --apart`.

    Each release is a lock or the folder of a build. It is regenerated from its recipes, so its shards are not needed.
    """
    titles, jobs = know_jobs(releases)
    with meter("prove", len(jobs), quiet=quiet) as shown:
        parts = []
        for part in run(run_know, jobs, executor_opener(workers, address, wait, out.parent, writes=False)):
            parts.append(part)
            shown.advance(1, 0)
    known = joined(titles, parts)
    write_known(out, known)
    counts = ", ".join(f"{len(known.digests[kind])} {kind}s" for kind in KINDS if known.digests[kind])
    say(f"{out}: {counts} of {', '.join(titles)} in {known.size / 1e6:.1f} MB")
