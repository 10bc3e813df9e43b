"""Options for all commands. This module must not load build code, since some commands build nothing."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.lite import LITE
from pipeline.artifacts.split import Selection
from pipeline.errors import RecipeError
from pipeline.storage import StorePath, parse_location, read_text


class Place(click.Path):
    """The path of a folder or file on a disk (``outputs/v1``) or in a store (``s3://bucket/v1``).

    Args:
        disk: whether it must be on a disk.
    """

    def __init__(self, *, disk: bool = False) -> None:
        super().__init__()
        self._disk = disk

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path.

        Raises:
            RecipeError: if it is the URL of an unknown store, or of any store where a disk is needed.
        """
        path = parse_location(value)
        if self._disk and isinstance(path, StorePath):
            raise RecipeError(f"{value!r} is in a store: give a path on a disk")
        return path


PLACE, DISK = Place(), Place(disk=True)


BASE_URLS = ["CARRARA_BASE_URL", "CARRARA_ENDPOINT", "OPENAI_BASE_URL"]
"""Environment variables for the address of a server; the first that is set counts."""


def server_options(*, required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options for a server, its model and the API key."""
    variables = BASE_URLS if required else BASE_URLS[:2]  # another program's variable must not make it ask a model
    otherwise = " or OPENAI_BASE_URL." if required else ".  [default: Carrara's grammars]"

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(
            [
                click.option(
                    "--base-url", envvar=variables, metavar="URL",
                    help="Address of an OpenAI-compatible server, such as http://localhost:8000/v1, or set "
                    f"CARRARA_BASE_URL{otherwise}",
                ),
                click.option(
                    "--model", envvar="CARRARA_MODEL", metavar="NAME",
                    help="Name of the model on the server, or set CARRARA_MODEL.",
                ),
                click.option(
                    "--api-key-env", metavar="NAME",
                    help="Environment variable that holds the API key.  [default: CARRARA_API_KEY or OPENAI_API_KEY]",
                ),
                click.option("--key-file", type=DISK, metavar="FILE", help="File that holds the API key."),
            ]
        ):  # fmt: skip
            command = option(command)
        return command

    return add


extra_body_option = click.option(
    "--extra-body",
    "options",
    multiple=True,
    metavar="NAME=JSON",
    help="Extra field of each request, or a JSON object of several; null removes a field. Repeatable.",
)


def extra_body(given: Sequence[str]) -> dict[str, Any]:
    """Return the fields given with --extra-body.

    Raises:
        RecipeError: for a value that cannot be read.
    """
    fields = dict[str, Any]()
    for each in given:
        name, _, value = each.partition("=")
        try:
            fields |= json.loads(each) if each.startswith("{") else {name: json.loads(value)}
        except ValueError:
            raise RecipeError(
                f"--extra-body {each}: give NAME=JSON, such as top_p=0.9 or stop='[\"END\"]', or a JSON object"
            ) from None
    return fields


def missing(**given: object) -> click.MissingParameter:
    """Return the error for the first of some required options that has no value."""
    context = click.get_current_context()
    params = (each for each in context.command.params if each.name in given and not given[each.name])
    return click.MissingParameter(ctx=context, param=next(params))


def api_key(path: Path | None, variable: str | None = None) -> str:
    """Return the API key from a file or the environment; on a command line, other users of the machine could read it.

    Args:
        path: the file.
        variable: the environment variable; by default CARRARA_API_KEY, then OPENAI_API_KEY.

    Raises:
        RecipeError: if there is no such file or variable, or both are given.
    """
    if path is not None and variable is not None:
        raise RecipeError("--key-file and --api-key-env both give the API key: give one of them")
    if variable is not None:
        if not os.environ.get(variable, "").strip():
            raise RecipeError(f"--api-key-env {variable}: this environment variable is not set")
        return os.environ[variable].strip()
    if path is None:
        return (os.environ.get("CARRARA_API_KEY") or os.environ.get("OPENAI_API_KEY") or "").strip()
    try:
        return read_text(path).strip()
    except (OSError, ValueError) as fault:
        raise RecipeError(
            f"--key-file {str(path)!r} cannot be read ({fault}): give a file that holds the key"
        ) from None


class Number(click.FloatRange):
    """A number within bounds; it rejects "nan", which passes click's comparisons with bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


WHERE = "SPLIT"
STACK = click.option(
    "--stack", multiple=True, metavar=WHERE, help="Another tier to score together with the first. Repeatable."
)
EXPORT = click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FOLDER",
    type=PLACE,
    help="Exported folder that was run: rows that it leaves out do not count as missing. Repeatable.  "
    "[default: the one that contains PREDICTIONS]",
)
QUIRK = click.option(
    "--quirk",
    "quirks",
    multiple=True,
    metavar="SCORER=RULE",
    help="Use another published scoring rule, such as mrcr=starts (see docs/scores.md). Repeatable.",
)


ALL = "all"
"""The value of --size that selects all rows."""


def selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose rows; the command passes them to `selection_of`."""
    for option in reversed(
        [
            click.option("--family", "families", multiple=True, metavar="NAME", help="Only this family. Repeatable."),
            click.option("--subtask", "subtasks", multiple=True, metavar="NAME", help="Only this subtask. Repeatable."),
            click.option("--tier", "tiers", multiple=True, metavar="NAME", help="Only this tier. Repeatable."),
            click.option(
                "--length",
                "lengths",
                type=int,
                multiple=True,
                metavar="N",
                help="Only this length, such as 8192. Repeatable.",
            ),
            click.option(
                "--complexity",
                "complexities",
                type=int,
                multiple=True,
                metavar="N",
                help="Only this complexity. Repeatable.",
            ),
            click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N rows of each stratum."),
            click.option(
                "--size",
                type=click.Choice([ALL, LITE]),
                default=ALL,
                show_default=True,
                help="All rows, or the small balanced subset 'lite' (see docs/costs.md).",
            ),
        ]
    ):
        command = option(command)
    return command


def selection_of(*, limit: int | None, size: str, **chosen: Sequence[Any]) -> Selection:
    """Return the selection that the options describe."""
    named = {name: tuple(values) for name, values in chosen.items()}
    return Selection(limit=limit, size="" if size == ALL else size, **named)
