"""The examples in docstrings."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path


def test_examples_show_what_they_say(root: Path) -> None:
    holding = [path for path in (root / "pipeline").rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    names = [".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for path in holding]
    found = {name: doctest.testmod(import_module(name)) for name in sorted(names)}
    assert [name for name, tried in found.items() if tried.failed] == []
    assert sum(tried.attempted for tried in found.values()) > 50
