"""Join the modules of this package into the one file, `metrics.py`, that is published and exported.

``python -m pipeline.metrics.join [FILE]`` writes the file, or prints it. It needs nothing but the standard library,
does what the package does, and runs by itself. The text depends on the sources alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

PACKAGE = "pipeline.metrics"
MODULES = (
    *("scorer", "dates", "reply", "text", "glosses", "published", "scripts", "numbers", "forms", "values", "parts"),
    *(
        "labels",
        "sets",
        "sources",
        "rankings",
        "summaries",
        "tables",
        "echo",
        "choices",
        "registry",
        "means",
        "command",
    ),
)
"""The modules in the order of the joined file: each imports only from earlier ones."""
ENDING = """

if __name__ == "__main__":
    sys.exit(main())
"""


@cache
def joined_metrics() -> str:
    """Return the text of ``metrics.py``.

    Raises:
        ValueError: if a module imports a later one, or two modules define the same name.
    """
    head = _source("__init__")
    imports, bodies, homes = dict[str, set[str]](), list[str](), dict[str, str]()
    for at, module in enumerate(MODULES):
        text = _source(module)
        tree = ast.parse(text)
        for name in _defined(tree):
            if homes.setdefault(name, module) != module:
                raise ValueError(f"{name} is defined in {homes[name]} and in {module}")
        for origin, names in _standard_imports(tree, MODULES[:at], module):
            imports.setdefault(origin, set()).update(names)
        bodies.append(_body(text, tree))
    title = ast.get_source_segment(head, ast.parse(head).body[0])
    plain = [f"import {name}" for name in sorted(name for name, held in imports.items() if not held)]
    named = [f"from {name} import {', '.join(sorted(held))}" for name, held in sorted(imports.items()) if held]
    blocks = "\n".join([*plain, *named])
    return f"{title}\n\nfrom __future__ import annotations\n\n{blocks}\n\n" + "\n\n".join(bodies) + ENDING


def write_metrics(path: Path) -> None:
    """Write ``metrics.py``."""
    path.write_bytes(joined_metrics().encode("utf-8"))


def _source(module: str) -> str:
    return (files(PACKAGE) / f"{module}.py").read_text(encoding="utf-8")


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines at its top level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for one in targets for each in ast.walk(one) if isinstance(each, ast.Name))


def _standard_imports(tree: ast.Module, before: Sequence[str], module: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each module that a module imports from the standard library, with the names imported from it, if any."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            if (node.module or "").removeprefix(f"{PACKAGE}.") not in before or any(a.asname for a in node.names):
                raise ValueError(f"{module} imports {node.module}, which does not stand before it, or by another name")
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            yield str(node.module), [alias.name for alias in node.names]


def _body(text: str, tree: ast.Module) -> str:
    """Return a module's source without imports, its docstring turned into a comment."""
    title = ast.get_docstring(tree) or ""
    last = max(node.end_lineno or 0 for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    lines = text.splitlines()[last:]
    return (
        "\n".join([*(f"# {line}".rstrip() for line in title.splitlines()), "", *lines]).replace("\n\n\n\n", "\n\n\n")
        + "\n"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_metrics(Path(sys.argv[1]))
    else:
        sys.stdout.write(joined_metrics())
