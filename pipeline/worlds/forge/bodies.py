"""Functions over lists of numbers: the same steps in many spellings, as comprehensions, loops and helpers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from pipeline.worlds.forge.modules import Module, TooLongError, fitting
from pipeline.worlds.forge.names import words
from pipeline.worlds.forge.steps import Step

NAMED = 0.3
"""The share of numbers written as a constant of the module."""
NEGATED = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "==": "!=", "!=": "=="}
MARKS = {"times": "*", "plus": "+", "minus": "-", "over": "//", "rest": "%"}


def list_function(module: Module, name: str, steps: Sequence[Step], doc: str = "") -> None:
    """Write a function that carries out steps, with its helpers and constants, into a module."""
    while True:
        constants, functions = dict(module.constants), list(module.functions)
        try:
            body = Body(module, name, steps, doc)
            module.functions += [fitting(text) for text in (*body.helpers, body.text)]
        except TooLongError:
            module.constants, module.functions = constants, functions
        else:
            return


class Body:
    """A function over a list, being written line by line."""

    def __init__(self, module: Module, name: str, steps: Sequence[Step], doc: str) -> None:
        self.module, self.rng = module, module.namer.rng
        self.one, self.many = module.namer.thing()
        self.used = {self.one, self.many}
        self.helpers: list[str] = []
        self.lines: list[str] = []
        self.source = self.many
        """The list so far: a name, or code that has no name yet."""
        self.end = steps[-1] if steps[-1].sort == "end" else None
        body = steps[:-1] if self.end else steps
        runs = [(each, [*group]) for each, group in groupby(body, lambda step: step.sort in ("filter", "map"))]
        for at, (each, group) in enumerate(runs):
            if each:
                self.each(group, last=at == len(runs) - 1)
            else:
                for step in group:
                    self.whole(step)
        if not self.lines or not self.lines[-1].startswith("    return "):
            self.finish()
        returned = "int" if self.end else "list[int]"
        docstring = [f'    """{doc}"""'] if doc else []
        self.text = "\n".join([f"def {name}({self.many}: list[int]) -> {returned}:", *docstring, *self.lines])

    def new(self, kind: str, noun: str) -> str:
        """Draw a new name for a value in the function.

        Raises:
            TooLongError: if there are hardly any left.
        """
        for _ in range(20):
            name = f"{self.rng.choice(words()[kind])}_{noun}"
            if name not in self.used:
                self.used.add(name)
                return name
        raise TooLongError(noun)

    def number(self, number: int) -> str:
        """Return a number as code: itself, or a constant of the module."""
        return str(number) if self.rng.random() > NAMED else self.module.fresh_constant(number)

    def kept(self, kind: str = "kept") -> str:
        """Return a name for the list so far."""
        if not self.source.isidentifier():
            name = self.new(kind, self.many)
            self.lines.append(f"    {name} = {self.source}")
            self.source = name
        return self.source

    def condition(self, step: Step, value: str, *, negated: bool = False) -> str:
        """Return a filter as a condition, or the negation of it."""
        if step.kind in ("above", "below"):
            mark, number = (">" if step.kind == "above" else "<"), self.number(step.number)
            if number.isdigit() and self.rng.random() < 0.35:
                number, mark = str(step.number + (1 if mark == ">" else -1)), f"{mark}="
            return f"{value} {NEGATED[mark] if negated else mark} {number}"
        mark = "==" if step.kind == "multiple" else "!="
        return f"{value} % {self.number(step.number)} {NEGATED[mark] if negated else mark} 0"

    def changed(self, step: Step, value: str) -> str:
        """Return what a step makes of a value."""
        number, turned = self.number(step.number), self.rng.random() < 0.4
        if step.kind in ("at_most", "at_least"):
            called = "min" if step.kind == "at_most" else "max"
            return f"{called}({number}, {value})" if turned else f"{called}({value}, {number})"
        mark = MARKS[step.kind]
        return f"{number} {mark} {value}" if turned and mark in "*+" else f"{value} {mark} {number}"

    def each(self, steps: Sequence[Step], *, last: bool) -> None:
        """Write steps that apply to one number at a time."""
        style = self.rng.random()
        if style < 0.45:
            self.loop(steps, last=last)
        else:
            self.comprehension(steps, helper=style > 0.75)

    def loop(self, steps: Sequence[Step], *, last: bool) -> None:
        """Write a loop; the last one may add up or count its results."""
        source, counted = self.kept(), last and self.end is not None and self.end.kind in ("total", "number")
        counted = counted and self.rng.random() < 0.7
        name = self.counted() if counted else self.new("kept", self.many)
        self.lines.append(f"    {name} = 0" if counted else f"    {name}: list[int] = []")
        self.lines.append(f"    for {self.one} in {source}:")
        value = self.one
        for at, step in enumerate(steps):
            ends = at == len(steps) - 1
            if step.sort == "filter" and ends and self.rng.random() < 0.6:
                self.lines.append(f"        if {self.condition(step, value)}:")
                self.lines.append(f"            {self.taken(name, value, counted=counted)}")
                break
            if step.sort == "filter":
                self.lines += [f"        if {self.condition(step, value, negated=True)}:", "            continue"]
            elif ends:
                self.lines.append(f"        {self.taken(name, self.changed(step, value), counted=counted)}")
                break
            else:
                fresh = self.new("mapped", self.one)
                self.lines.append(f"        {fresh} = {self.changed(step, value)}")
                value = fresh
        else:
            self.lines.append(f"        {self.taken(name, value, counted=counted)}")
        self.source = name
        if counted:
            self.lines.append(f"    return {name}")

    def counted(self) -> str:
        """Return the name of a running total or count."""
        if self.end and self.end.kind == "number":
            return f"{self.one}_count"
        return f"total_{self.rng.choice(self.module.namer.domain.amounts)}"

    def taken(self, name: str, value: str, *, counted: bool) -> str:
        """Return the line that adds a value to the result."""
        if not counted:
            return f"{name}.append({value})"
        return f"{name} += 1" if self.end and self.end.kind == "number" else f"{name} += {value}"

    def comprehension(self, steps: Sequence[Step], *, helper: bool) -> None:
        """Write comprehensions, each with some filters and at most one change, as helpers or inline."""
        left = [*steps]
        while left:
            filters = [*_while_filters(left)]
            left = left[len(filters) :]
            change = left.pop(0) if left else None
            source = self.kept()
            value = self.helped(change) if helper and change else self.changed(change, self.one) if change else self.one
            asked = self.helped(filters.pop(0)) if helper and filters and not change else ""
            conditions = [*([asked] if asked else []), *(self.condition(step, self.one) for step in filters)]
            suffix = f" if {' and '.join(conditions)}" if conditions else ""
            self.source = f"[{value} for {self.one} in {source}{suffix}]"

    def helped(self, step: Step) -> str:
        """Write a helper for one number, and return its call."""
        one = self.one
        while (name := f"_{self.new('asked' if step.sort == 'filter' else 'mapped', one)}") in self.module.namer.taken:
            pass
        self.module.namer.taken.add(name)
        does = self.condition(step, one) if step.sort == "filter" else self.changed(step, one)
        kind = "bool" if step.sort == "filter" else "int"
        self.helpers.append(f"def {name}({one}: int) -> {kind}:\n    return {does}")
        return f"{name}({one})"

    def whole(self, step: Step) -> None:
        """Write a step that takes the list as a whole: its order, or a part of it."""
        rng, kind = self.rng, step.kind
        if step.sort == "order":
            if kind == "turned":
                source = self.kept()
                self.source = rng.choice((f"{source}[::-1]", f"list(reversed({source}))"))
            elif not self.source.isidentifier() or self.source == self.many or rng.random() < 0.6:
                turned = ", reverse=True" if kind == "falling" else ""
                self.source = f"sorted({self.kept() if len(self.source) > 40 else self.source}{turned})"
            else:
                self.lines.append(f"    {self.source}.sort({'reverse=True' if kind == 'falling' else ''})")
            return
        source, number = self.kept("ordered" if self.source.startswith("sorted") else "kept"), self.number(step.number)
        one, place = self.one, "index"
        spelled = {
            "first": (
                f"{source}[:{number}]",
                f"[{one} for {place}, {one} in enumerate({source}) if {place} < {number}]",
            ),
            "without": (
                f"{source}[{number}:]",
                f"[{one} for {place}, {one} in enumerate({source}) if {place} >= {number}]",
            ),
            "last": (f"{source}[-{number}:]",),
            "every": (
                f"{source}[::{number}]",
                f"[{one} for {place}, {one} in enumerate({source}) if {place} % {number} == 0]",
            ),
        }[kind]
        self.source = rng.choice(spelled)

    def finish(self) -> None:
        """Write the return statement."""
        rng, kind = self.rng, self.end.kind if self.end else ""
        if not kind:
            self.lines.append(f"    return {self.kept() if rng.random() < 0.3 else self.source}")
            return
        if kind == "total":
            source = self.source
            returned = f"sum({source[1:-1] if source.startswith('[') else source})"
        elif kind == "number":
            returned = f"len({self.source})"
        elif kind == "spread":
            source = self.kept()
            if rng.random() < 0.5:
                self.lines += [f"    if not {source}:", "        return 0"]
                returned = f"max({source}) - min({source})"
            else:
                returned = f"max({source}, default=0) - min({source}, default=0)"
        else:
            source, called = self.kept(), "max" if kind == "largest" else "min"
            returned = rng.choice((f"{called}({source}, default=0)", f"{called}({source}) if {source} else 0"))
        self.lines.append(f"    return {returned}")


def _while_filters(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the filters that steps begin with."""
    filters = list[Step]()
    for step in steps:
        if step.sort != "filter":
            break
        filters.append(step)
    return filters
