"""Options of commands that build nothing too: this module loads nothing of a build."""

from __future__ import annotations

import os
from pathlib import Path

import click

from pipeline.cli.places import DISK
from pipeline.errors import RecipeError
from pipeline.paths import read_text

KEY_FILE = click.option(
    "--key-file", type=DISK,
    help="File with the API key.  [default: what CARRARA_API_KEY or OPENAI_API_KEY holds]",
)  # fmt: skip


def api_key(path: Path | None) -> str:
    """Return the API key in a file, or in the environment: on a command line every user of the machine could read it.

    Raises:
        RecipeError: if there is no such file.
    """
    if path is None:
        return (os.environ.get("CARRARA_API_KEY") or os.environ.get("OPENAI_API_KEY") or "").strip()
    try:
        return read_text(path).strip()
    except (OSError, ValueError) as fault:
        raise RecipeError(
            f"--key-file {str(path)!r} cannot be read ({fault}): give a file that holds the key"
        ) from None
