"""The command `carrara`; `group.py` lists its subcommands."""

from pipeline.cli.group import cli

__all__ = ["cli"]
