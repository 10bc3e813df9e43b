"""The command `carrara`: one module for each group of subcommands."""

from pipeline.cli.group import cli

__all__ = ["cli"]
