"""A module being written: what it imports, its constants and functions, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.worlds.forge.names import FITS, Namer

HEAD, TAIL = "==> ", " <=="
"""What surrounds the path of a file, as ``tail`` prints it for each of several files."""


class TooLongError(Exception):
    """A line does not fit: the code is drawn again."""


@dataclass(slots=True)
class Module:
    """A module of a package; `imports` and `functions` are lines of code, values of `constants` are code."""

    package: str
    name: str
    namer: Namer
    doc: str = ""
    imports: list[str] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    callable: list[str] = field(default_factory=list)
    """Functions of one number, which others may call."""

    @property
    def dotted(self) -> str:
        """The name that it is imported by."""
        return self.package if self.name == "__init__" else f"{self.package}.{self.name}"

    @property
    def bound(self) -> frozenset[str]:
        """The names of its imports and functions."""
        defined = [
            line[4 : line.index("(")] for text in self.functions for line in text.split("\n") if line[:4] == "def "
        ]
        return frozenset([*defined, *(line.split()[-1] for line in self.imports)])

    @property
    def text(self) -> str:
        """The file as prompts have it, after a line with its path."""
        plain: dict[str, list[str]] = {}
        lines = list[tuple[str, str, str]]()
        for line in self.imports:
            if line.startswith("from "):
                source, _, name = line.removeprefix("from ").partition(" import ")
                if " as " in name:
                    lines.append((source, name, line))
                else:
                    plain.setdefault(source, []).append(name)
        lines += [(source, min(names), import_line(source, names)) for source, names in plain.items()]
        rows = sorted(line for line in self.imports if line.startswith("import "))
        rows += [line for _, _, line in sorted(lines)]
        parts = [
            f'"""{self.doc}"""' if self.doc else "",
            "\n".join(rows),
            "\n".join(f"{name} = {value}" for name, value in self.constants.items()),
        ]
        head = "\n\n".join(part for part in parts if part)
        body = "\n\n\n".join(part for part in (head, *self.functions) if part)
        return f"{HEAD}{self.package}/{self.name}.py{TAIL}\n{body}\n"

    def fresh_constant(self, value: object, amount: str = "") -> str:
        """Give a value a constant of its own, for an amount or any, and return its name."""
        while (name := self.namer.constant(amount)) in self.constants:
            pass
        self.constants[name] = written(value)
        return name


def import_line(source: str, names: Sequence[str]) -> str:
    """Return an import of some names, one per line if they do not fit in one line."""
    line = f"from {source} import {', '.join(sorted(names))}"
    if len(line) <= FITS:
        return line
    return f"from {source} import (\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")"


def written(value: object) -> str:
    """Return a value as formatted code."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(name)}: {written(one)}" for name, one in value.items()) + "}"
    return str(value)


def wrapped(head: str, inner: str, tail: str) -> str:
    """Return code with brackets on one line, or with their content on a line of its own."""
    line = head + inner + tail
    if len(line) <= FITS:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    broken = f"{head}\n{indent}    {inner}\n{indent}{tail}"
    if max(map(len, broken.split("\n"))) > FITS:
        raise TooLongError(line)
    return broken


def fitting(text: str) -> str:
    """Return code after checking that all of its lines fit.

    Raises:
        TooLongError: if one does not.
    """
    if any(len(line) > FITS for line in text.split("\n")):
        raise TooLongError(text)
    return text
