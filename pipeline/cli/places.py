"""Paths on the command line: on a disk, or in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pipeline.errors import RecipeError
from pipeline.paths import StorePath, place


class Place(click.Path):
    """A folder or a file: ``outputs/v1``, or in a store ``s3://bucket/v1``.

    Args:
        disk: whether it must be on a disk.
    """

    def __init__(self, *, disk: bool = False) -> None:
        super().__init__()
        self._disk = disk

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path.

        Raises:
            RecipeError: if it is the URL of no store that is known, or of one where a disk is needed.
        """
        path = place(value)
        if self._disk and isinstance(path, StorePath):
            raise RecipeError(f"{value!r} is in a store: give a path on a disk")
        return path


PLACE, DISK = Place(), Place(disk=True)
