"""The README of an export: a template of its own between a head and a foot that all exports share."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.export.base import Written
from pipeline.store.split import Selection, Split


def page(split: Split, selection: Selection, written: Written, name: str, values: dict[str, Any]) -> str:
    """Fill the template ``templates/<name>`` for the rows that were written.

    Beside `values` a template knows ``split``, ``manifest``, ``written``, ``cells`` (the strata that are wanted),
    ``windows`` (the true window of each length, in tokens), ``window`` (the largest of them), ``reply`` (the most
    tokens of a reply) and ``chat`` (whether rows are cut for a chat template).
    """
    cells = [cell for cell in split.strata if selection.wants(cell)]
    windows = {cell["length"]: cell["context_tokens"] for cell in sorted(cells, key=lambda cell: int(cell["length"]))}
    known = {
        "split": split,
        "manifest": split.manifest,
        "written": written,
        "cells": cells,
        "windows": windows,
        "window": max(windows.values()),
        "reply": max(cell["max_new_tokens"] for cell in cells),
        "chat": split.manifest["frame"] == "chat",
    }
    with as_file(files("pipeline.export") / "templates") as folder:
        shelf = Environment(
            loader=FileSystemLoader(folder), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
        )
        return shelf.get_template(name).render({**known, **values})
