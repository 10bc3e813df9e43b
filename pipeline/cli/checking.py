"""The command that checks a server before a long run: check-server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.split import Selection, Split
from pipeline.cli.group import REPORTED, cli
from pipeline.cli.options import (
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
from pipeline.errors import PredictionsError
from pipeline.inference.checking import Finding, check_server
from pipeline.inference.endpoint import Endpoint
from pipeline.inference.run import COLUMNS
from pipeline.profiles import Profile, load_profile
from pipeline.profiles.adopt import kept_profile
from pipeline.profiles.loading import shipped_profiles
from pipeline.publish.splits import open_any_split
from pipeline.rows import Row
from pipeline.terminal.printing import say
from pipeline.terminal.text import table


@cli.command("check-server")
@click.argument("where", metavar=WHERE)
@server_options(required=True)
@selecting
@click.option("--rows", type=click.IntRange(1, 100), metavar="N", default=4, show_default=True, help="Rows to send.")
@click.option(
    "--timeout", type=Number(1, 86400), metavar="SECONDS", default=600.0, show_default=True, help="Limit for each row."
)
@extra_body_option
def check(
    *,
    where: str,
    base_url: str | None,
    model: str | None,
    api_key_env: str | None,
    key_file: Path | None,
    rows: int,
    timeout: float,
    options: Sequence[str],
    **chosen: Any,
) -> None:
    """Check how a server handles the rows of a split, before a long run.

    This sends a few of the shortest rows and compares what the server reports with the split: prompt tokens, the chat
    template, a doubled BOS, whether the model thinks, and the window. The exit code is 2 if something is wrong.
    """
    if not (base_url and model):
        raise missing(base_url=base_url, model=model)
    selection = selection_of(**chosen)
    split = open_any_split(where, size=selection.size)
    sizes = list(split.rows(["id", "length", "context_tokens"], selection))
    if not sizes:
        raise PredictionsError("no row matches: change --family, --length or the other options that choose rows")
    asked = Endpoint(
        base_url, model, api_key(key_file, api_key_env), timeout, 1, {"temperature": 0, **extra_body(options)}
    )
    few = _few(split, sizes, rows)
    found = list(check_server(asked, few, profile_of(split), max(row["context_tokens"] for row in sizes)))
    say(table([_line(each) for each in found]))
    for each in found:
        if each.fault:
            say(f"{each.check}: {each.fault}")
    if any(each.fault for each in found):
        sys.exit(REPORTED)
    say("nothing is wrong, as far as the server reports")


def _few(split: Split, sizes: list[Row], count: int) -> list[Row]:
    """Return some of the shortest rows, from different strata."""
    wanted, found = {row["id"] for row in sizes}, list[Row]()
    for length in sorted({row["length"] for row in sizes}):
        rows = split.rows(COLUMNS, Selection(lengths=(length,), limit=1))
        found += islice((row for row in rows if row["id"] in wanted), count - len(found))
        if len(found) == count:
            break
    return found


def profile_of(split: Split) -> Profile | None:
    """Return the profile of a split, shipped or kept in its folder; None if neither has the split's digest."""
    kept = kept_profile(split.folder.parent, split.tokenizer)
    if kept is None and split.tokenizer not in shipped_profiles():
        return None
    profile = load_profile(kept or split.tokenizer)
    return profile if profile.digest == split.manifest.tokenizer.digest else None


def _line(each: Finding) -> dict[str, str]:
    return {
        "check": each.check,
        "reported by": each.means,
        "expected": each.expected,
        "found": each.found,
        "verdict": each.verdict,
    }
