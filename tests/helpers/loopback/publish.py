"""A script: `release FOLDER REPO VERSION` or `download REPO@TAG CACHE`, with the command line's handling of errors."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.group import OneLine
from pipeline.publish.hub import download, parse_repo, release


@click.group(cls=OneLine)
@click.option("--debug", is_flag=True)
def commands(*, debug: bool) -> None:
    """What a process of its own may do with a Hub."""


@commands.command("release")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("repo")
@click.argument("version")
def release_(folder: Path, repo: str, version: str) -> None:
    """Publish a folder."""
    release(folder, repo, version, say=click.echo)


@commands.command("download")
@click.argument("source")
@click.argument("cache", type=click.Path(path_type=Path))
def download_(source: str, cache: Path) -> None:
    """Fetch what was published."""
    click.echo(download(*parse_repo(source), cache=cache))


if __name__ == "__main__":
    commands()
