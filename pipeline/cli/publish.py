"""The command that publishes a build on the Hub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Split, open_split
from pipeline.cli.group import cli
from pipeline.cli.options import DISK, PLACE
from pipeline.errors import StageError
from pipeline.executors import processes
from pipeline.publish.card.tables import notes_of
from pipeline.publish.staging import KEYS_SUFFIX, MODES, Draw, Read, Staged, stage
from pipeline.storage import StorePath
from pipeline.terminal.printing import say
from pipeline.terminal.text import table

if TYPE_CHECKING:
    from pipeline.publish.hub import FileAction

PLACEHOLDER = "{tokenizer}"


@cli.command()
@click.argument("folder", metavar="FOLDER", type=PLACE)
@click.option(
    "--repo", required=True, metavar="ORG/NAME", help="Repo on the Hub; {tokenizer} becomes each profile's name."
)
@click.option(
    "--keys",
    type=click.Choice(MODES),
    default="inline",
    show_default=True,
    help="Where the keys go: with the rows, to a second, private repo, or to your disk.",
)
@click.option(
    "--tokenizer",
    "tokenizers",
    multiple=True,
    metavar="NAME",
    help="Publish only this profile. Repeatable.  [default: all]",
)
@click.option(
    "--out",
    type=PLACE,
    metavar="FOLDER",
    help="Local folder for what is uploaded.  [default: published in the release folder]",
)
@click.option(
    "--changelog",
    type=DISK,
    metavar="FILE",
    help="Markdown file with notes on each version.  [default: none]",
)
@click.option(
    "--licence", default="", metavar="TEXT", help="Licence of your own texts in the rows; required if there are any."
)
@click.option("--private", is_flag=True, help="Make the repo private if it is new.")
@click.option("--dry-run", is_flag=True, help="Write the folders and list their files, but upload nothing.")
def publish(
    *,
    folder: Path,
    repo: str,
    keys: str,
    tokenizers: Sequence[str],
    out: Path | None,
    changelog: Path | None,
    licence: str,
    private: bool,
    dry_run: bool,
) -> None:
    """Publish the sealed splits in FOLDER on the Hugging Face Hub, one repo per tokenizer.

    FOLDER is a release folder or one tokenizer's folder in it. The rows are uploaded to a branch and verified there;
    then main moves to them and the tag v<version> is set. If the upload is interrupted, repeat the command: large
    files that the Hub already has are not uploaded again.
    """
    if isinstance(out, StorePath):
        raise StageError(f"--out {str(out)!r} is in a store, but uploads are made from a disk: give a local folder")
    splits = _splits(folder, tokenizers)
    names = {split.tokenizer: _repo_of(repo, split, splits) for split in splits}
    targets = {split.tokenizer: path_below(out or _published(folder, split), split.tokenizer) for split in splits}
    if not dry_run:  # before minutes of staging
        _check_login(names.values())
    staged = []
    for split in splits:
        others = [name for profile, name in names.items() if profile != split.tokenizer]
        notes = notes_of(split.manifest.version, changelog)
        made = stage(
            split,
            targets[split.tokenizer],
            keys=keys,
            repo=names[split.tokenizer],
            siblings=others,
            notes=notes,
            draw=_drawing(),
            exhibit=_exhibit(),
            read=_reading(),
            licence=licence,
        )
        staged.append((names[split.tokenizer], made))
    for name, made in staged:
        _release(made, name, upload_keys=keys == "separate", private=private, dry_run=dry_run)


def _splits(folder: Path, tokenizers: Sequence[str]) -> list[Split]:
    """Return the sealed splits to publish.

    Raises:
        StageError: if a tokenizer has no sealed split.
    """
    inside = sorted(path.parent.name for path in folder.glob("*/manifest.json"))
    if not inside or (folder / "manifest.json").is_file():
        return [open_split(folder)]
    for name in tokenizers:
        if name not in inside:
            raise StageError(f"{str(folder)!r} has no sealed split for {name!r}: give one of {', '.join(inside)}")
    return [open_split(folder / name) for name in (dict.fromkeys(tokenizers) or inside)]


def _repo_of(repo: str, split: Split, splits: Sequence[Split]) -> str:
    if not repo.strip():
        raise StageError(f"--repo is empty: give a name such as 'org/name-{PLACEHOLDER}'")
    if len(splits) > 1 and PLACEHOLDER not in repo:
        raise StageError(
            f"--repo {repo!r} is one repo for {len(splits)} tokenizers: put {PLACEHOLDER} in the name, or choose one "
            "with --tokenizer"
        )
    return repo.replace(PLACEHOLDER, split.tokenizer)


def _published(folder: Path, split: Split) -> Path:
    """Return the default staging folder: beside the profiles, in the release folder.

    Raises:
        StageError: if that is in a store, since uploads are read from a disk.
    """
    if isinstance(folder, StorePath):
        raise StageError(
            f"{str(folder)!r} is in a store, but uploads are made from a disk: give a local folder with --out"
        )
    return (folder.parent if split.folder == folder else folder) / "published"


def _exhibit() -> Callable[[Split], str]:
    """Return the function that writes the gallery."""
    from pipeline.report import gallery_page, html_of

    return lambda split: html_of(gallery_page(split))


def _reading() -> Read:
    """Return the function that runs simulated readers."""
    from pipeline.baselines.files import curve_of

    return lambda split: curve_of(split, processes(os.cpu_count() or 1))


def _check_login(repos: Iterable[str]) -> None:
    """Check that repos have valid names, and that a token is there to write to them."""
    from pipeline.publish.hub import check_login

    for repo in repos:
        check_login(repo)


def _drawing() -> Draw:
    """Return the function that draws the figures."""
    from pipeline.figures import figures_of

    return figures_of


def _release(made: Staged, repo: str, *, upload_keys: bool, private: bool, dry_run: bool) -> None:
    """Release a staged folder, and its keys if they get their own repo; on a dry run, show what would be done."""
    from pipeline.publish.hub import preview, release

    parts = [(made.folder, repo, private)]
    parts += [(made.keys, repo + KEYS_SUFFIX, True)] if made.keys and upload_keys else []
    for folder, name, hidden in parts:
        if dry_run:
            seen = preview(folder, name, made.version)
            card = f"card: {folder / 'README.md'}"
            say("\n".join([f"{name} v{made.version}: {seen.note}", table(_records(seen.lines)), card]))
        else:
            release(folder, name, made.version, private=hidden, say=say)
    if made.keys and not upload_keys:
        say(f"{made.keys}: the keys stay here; keep this folder, because {repo} can be scored only with it")


def _records(lines: Iterable[FileAction]) -> list[dict[str, Any]]:
    return [{"": each.action, "file": each.path, "bytes": each.size, "sha256": each.sha256[:12]} for each in lines]
