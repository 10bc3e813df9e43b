"""The command `carrara`: one module for each group of subcommands, loaded when it is called."""

from pipeline.cli.group import cli

__all__ = ["cli"]
