"""Reads files and the question from a prompt's text alone; each file is parsed, and never executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pipeline.tasks.solving import LINES, PROMPT, ReadError

FILES, END = "\nFiles:\n", "This is the end of the files."
ASKS = re.compile(r"\nQuestion: (.+)\nAnswer:\Z", re.DOTALL)
PATH = re.compile(r"==> ([a-z]+)/(\w+)\.py <==")
CALLED = "called names"
MODULE_LEVEL = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef)


class Name(NamedTuple):
    """A module's dotted name and the name of something in it; "" for the module itself."""

    module: str
    own: str


@dataclass(frozen=True, eq=False)
class File:
    """A parsed file: its functions and constants by name, and what each imported name refers to."""

    module: str
    text: str
    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, ast.expr]
    imports: Mapping[str, Name]
    compiled: dict[str, Any] = field(default_factory=dict)
    """A cache for the interpreter and for solvers, by name."""


@dataclass(frozen=True, eq=False)
class Repository:
    """All files of a prompt and their starts, by the dotted name of the module, and the question."""

    files: Mapping[str, File]
    starts: Mapping[str, int]
    question: str

    def without(self, module: str, file: File | None = None) -> Repository:
        """Return the repository without a file, or with another in its place."""
        files = {name: one for name, one in self.files.items() if name != module}
        return Repository({**files, module: file} if file else files, self.starts, self.question)

    def defined(self, name: Name) -> Name | None:
        """Return the function that a name refers to through all imports; None if it is not in these files."""
        seen = set[Name]()
        while name not in seen:
            seen.add(name)
            file = self.files.get(name.module)
            if file is None:
                return None
            if name.own in file.functions:
                return name
            if name.own not in file.imports:
                return None
            name = file.imports[name.own]
        raise ReadError(f"{name.module}.{name.own} is imported in a circle")

    def called(self, file: File, node: ast.expr) -> Name | None:
        """Return the function that a called expression in a file refers to: a name, or an attribute of a module."""
        if isinstance(node, ast.Name):
            return self.defined(Name(file.module, node.id))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            held = file.imports.get(node.value.id)
            if held is None:
                return None
            module = held.module if not held.own else f"{held.module}.{held.own}"
            return self.defined(Name(module, node.attr))
        return None


@PROMPT.cached
def read(text: str) -> Repository:
    """Read a prompt.

    Raises:
        ReadError: if it does not contain files followed by a question, or a file cannot be parsed.
    """
    start, end = text.find(FILES) + len(FILES), text.rfind(f"\n{END}") + 1
    asked = ASKS.search(text, max(0, text.rfind("\nQuestion: ")))
    if not len(FILES) <= start < end or not asked:
        raise ReadError("the prompt does not hold files and a question behind them")
    chunks = [f"==> {chunk}" for chunk in f"\n{text[start:end]}".split("\n==> ")[1:]]
    if not text.startswith("==> ", start):
        raise ReadError("the files do not begin with a path")
    chunks = [*(f"{chunk}\n" for chunk in chunks[:-1]), *chunks[-1:]]
    files, starts, at = dict[str, File](), dict[str, int](), start
    for file, chunk in zip(_parsed(chunks), chunks, strict=True):
        if file.module in files:
            raise ReadError(f"two files are the module {file.module}")
        files[file.module], starts[file.module] = file, at
        at += len(chunk)
    return Repository(files, starts, asked[1])


def parse(text: str) -> File:
    """Parse one file after the line with its path.

    Raises:
        ReadError: for anything but a docstring, imports, constants and functions.
    """
    head, _, code = text.partition("\n")
    path = PATH.fullmatch(head)
    if not path:
        raise ReadError(f"no path: {head!r}")
    module = path[1] if path[2] == "__init__" else f"{path[1]}.{path[2]}"
    try:
        tree = ast.parse(code)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ReadError(f"{module}: {error}") from error
    functions, constants = dict[str, ast.FunctionDef](), dict[str, ast.expr]()
    imports, names = dict[str, Name](), list[str]()
    for node in tree.body:
        if not isinstance(node, MODULE_LEVEL):
            raise ReadError(f"{module}: a module may not hold {type(node).__name__}")
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
            names.append(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
            names.append(node.targets[0].id)
        for alias, name in _imported(node):
            imports[alias] = name
            names.append(alias)
    if len({*names}) != len(names):
        raise ReadError(f"{module}: a name stands for two things")
    return File(module, text, functions, constants, imports)


_parsed = LINES.cached_map(parse, weight=3)  # few enough trees to stay below 1 GB, and all files of a tier of 1M tokens


def _imported(node: ast.stmt) -> Iterator[tuple[str, Name]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Name(alias.name, "")
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, Name(node.module or "", alias.name)


def bound(function: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function binds: its parameters and what it assigns."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(stored | {one.arg for one in function.args.args})


def calls(file: File, name: str) -> Sequence[ast.expr]:
    """Return the expressions that a function calls by names that it does not bind itself; cached."""
    place = f"{name} calls"
    if place not in file.compiled:
        function = file.functions[name]
        own = bound(function)
        file.compiled[place] = [
            node.func
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and not (isinstance(root := _root(node.func), ast.Name) and root.id in own)
        ]
    found: Sequence[ast.expr] = file.compiled[place]
    return found


def called_names(file: File) -> frozenset[str]:
    """Return the last names of all that a file's functions call, such as ``f`` in ``a.f(1)``; cached."""
    if CALLED not in file.compiled:
        nodes = [node for name in file.functions for node in calls(file, name)]
        file.compiled[CALLED] = frozenset(
            node.attr if isinstance(node, ast.Attribute) else ast.unparse(node) for node in nodes
        )
    found: frozenset[str] = file.compiled[CALLED]
    return found


def _root(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Attribute) else node
