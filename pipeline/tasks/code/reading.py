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
    """Something that a module has, by the dotted name of the module and its own; a module itself has no own name."""

    module: str
    own: str


@dataclass(frozen=True, eq=False)
class File:
    """A file as parsed: its functions and constants by name, and for each name that it imports what that is."""

    module: str
    text: str
    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, ast.expr]
    imports: Mapping[str, Name]
    compiled: dict[str, Any] = field(default_factory=dict)
    """What the interpreter and others have made of functions, by name."""


@dataclass(frozen=True, eq=False)
class Repository:
    """All files of a prompt by the dotted name of their module, where each starts, and the question."""

    files: Mapping[str, File]
    starts: Mapping[str, int]
    question: str

    def without(self, module: str, file: File | None = None) -> Repository:
        """Return the same without a file, or with another one in its place."""
        files = {name: one for name, one in self.files.items() if name != module}
        return Repository({**files, module: file} if file else files, self.starts, self.question)

    def defined(self, name: Name) -> Name | None:
        """Return the function that a name stands for, through all imports; None if it is none of these files."""
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
        """Return the function that a called expression of a file stands for: a name, or one of a module's."""
        if isinstance(node, ast.Name):
            return self.defined(Name(file.module, node.id))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            held = file.imports.get(node.value.id)
            if held is None:
                return None
            module = held.module if not held.own else f"{held.module}.{held.own}"
            return self.defined(Name(module, node.attr))
        return None


@PROMPT.of
def read(text: str) -> Repository:
    """Read a prompt.

    Raises:
        ReadError: if it does not consist of files and a question, or a file cannot be parsed.
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
    """Parse one file, below its line with the path.

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


_parsed = LINES.of_each(parse)


def _imported(node: ast.stmt) -> Iterator[tuple[str, Name]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Name(alias.name, "")
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, Name(node.module or "", alias.name)


def bound(function: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function binds itself: parameters, and what it assigns."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(stored | {one.arg for one in function.args.args})


def calls(file: File, name: str) -> Sequence[ast.expr]:
    """Return what a function calls by a name that it does not bind itself, as it is written."""
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
    """Return the last names of all that the functions of a file call, such as ``f`` of ``a.f(1)``; found once."""
    if CALLED not in file.compiled:
        nodes = [node for name in file.functions for node in calls(file, name)]
        file.compiled[CALLED] = frozenset(
            node.attr if isinstance(node, ast.Attribute) else ast.unparse(node) for node in nodes
        )
    found: frozenset[str] = file.compiled[CALLED]
    return found


def _root(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Attribute) else node
