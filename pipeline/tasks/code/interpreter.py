"""An interpreter for a small subset of Python.

It turns each function into closures, one per node; Python itself compiles and executes nothing. It refuses whatever is
not listed here (other nodes, builtins and methods), recursion, and too many loop steps.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.tasks.code.reading import File, Name, Repository
from pipeline.tasks.solving import ReadError

MOST_STEPS = 100_000
"""The most loop steps that a call may take, with all that it calls."""
LARGEST_FACTOR, LONGEST_COLLECTION = 1 << 64, 10_000
"""Bound of the numbers that may be multiplied; the longest string or collection."""
FORM = re.compile(r"[<>0]?\d{1,2}d?")
Do = Callable[["Frame"], Any]
NEXT, SKIP = object(), object()
"""What a statement gives that does not return: go on, or continue the loop."""
OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, some: one in some,
    ast.NotIn: lambda one, some: one not in some,
}
BUILTINS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "enumerate": enumerate,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "range": range,
    "reversed": reversed,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "zip": zip,
}
METHODS: Mapping[type, frozenset[str]] = {
    list: frozenset({"append", "sort"}),
    dict: frozenset({"get", "items", "values"}),
    str: frozenset({"count", "join", "lower", "replace", "split", "startswith", "strip", "upper"}),
}


@dataclass(slots=True)
class Frame:
    """A running call: its local values, its machine, and its file."""

    values: dict[str, Any]
    machine: Machine
    file: File


@dataclass(eq=False)
class Machine:
    """Calls functions of a repository; `path` lists the calls in order."""

    repository: Repository
    left: int = MOST_STEPS
    path: list[Name] = field(default_factory=list)
    _open: list[Name] = field(default_factory=list)

    def call(self, name: Name, *given: Any) -> Any:
        """Call a function.

        Raises:
            ReadError: if it does not exist, is outside the subset, fails, or takes too long.
        """
        found = self.repository.defined(name)
        if found is None:
            raise ReadError(f"there is no function {name.module}.{name.own}")
        if found in self._open:
            raise ReadError(f"{found.own} calls itself")
        file = self.repository.files[found.module]
        names, body = made(file, found.own)
        if len(names) != len(given):
            raise ReadError(f"{found.own} takes {len(names)} values, not {len(given)}")
        self.path.append(found)
        self._open.append(found)
        try:
            value = body(Frame(dict(zip(names, given, strict=True)), self, file))
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise error if isinstance(error, ReadError) else ReadError(f"{found.own}: {error}") from error
        self._open.pop()
        return None if value is NEXT else value

    def turn(self) -> None:
        """Count a loop step."""
        self.left -= 1
        if self.left < 0:
            raise ReadError("a call takes too many steps")


def made(file: File, name: str) -> tuple[Sequence[str], Do]:
    """Return the parameters and the cached closure of a function.

    Raises:
        ReadError: for a node outside the subset.
    """
    if name not in file.compiled:
        function = file.functions[name]
        args = function.args
        if function.decorator_list or args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults:
            raise ReadError(f"{name}: only plain parameters are allowed")
        try:
            file.compiled[name] = ([one.arg for one in args.args], block(function.body))
        except RecursionError as error:
            raise ReadError(f"{name} is nested too deeply") from error
    found: tuple[Sequence[str], Do] = file.compiled[name]
    return found


def block(nodes: Sequence[ast.stmt]) -> Do:
    """Return the closure of consecutive statements."""
    parts = [statement(node) for node in nodes]

    def run(frame: Frame) -> Any:
        for part in parts:
            value = part(frame)
            if value is not NEXT:
                return value
        return NEXT

    return run


def statement(node: ast.stmt) -> Do:
    """Return the closure of a statement."""
    if isinstance(node, ast.Return) and node.value:
        return expression(node.value)
    if isinstance(node, ast.Continue):
        return lambda _: SKIP
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Constant):
            return lambda _: NEXT
        return _then_next(expression(node.value))
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return _assigning(node.targets[0], expression(node.value))
    if isinstance(node, ast.AnnAssign) and node.value:
        return _assigning(node.target, expression(node.value))
    if isinstance(node, ast.AugAssign):
        return _assigning(node.target, _binary(type(node.op), expression(node.target), expression(node.value)))
    if isinstance(node, ast.If):
        test, yes, no = expression(node.test), block(node.body), block(node.orelse)
        return lambda frame: yes(frame) if test(frame) else no(frame)
    if isinstance(node, ast.For) and not node.orelse:
        return _loop(node)
    raise ReadError(f"{type(node).__name__} is not of this part of Python")


def _then_next(do: Do) -> Do:
    def run(frame: Frame) -> Any:
        do(frame)
        return NEXT

    return run


def _loop(node: ast.For) -> Do:
    bind, over, body = binding(node.target), expression(node.iter), block(node.body)

    def run(frame: Frame) -> Any:
        for one in over(frame):
            frame.machine.turn()
            bind(frame, one)
            value = body(frame)
            if value is not NEXT and value is not SKIP:
                return value
        return NEXT

    return run


def _assigning(target: ast.expr, do: Do) -> Do:
    bind = binding(target)

    def run(frame: Frame) -> Any:
        bind(frame, do(frame))
        return NEXT

    return run


def binding(target: ast.expr) -> Callable[[Frame, Any], None]:
    """Return a function that assigns a value to a target: a name, a tuple, or an item of a dictionary or list."""
    if isinstance(target, ast.Name):
        name = target.id

        def put(frame: Frame, value: Any) -> None:
            frame.values[name] = value

        return put
    if isinstance(target, ast.Tuple):
        parts = [binding(one) for one in target.elts]

        def spread(frame: Frame, value: Any) -> None:
            for part, one in zip(parts, value, strict=True):
                part(frame, one)

        return spread
    if isinstance(target, ast.Subscript):
        held, place = expression(target.value), expression(target.slice)

        def store(frame: Frame, value: Any) -> None:
            held(frame)[place(frame)] = value

        return store
    raise ReadError(f"nothing can be assigned to {type(target).__name__}")


def expression(node: ast.expr) -> Do:
    """Return the closure of an expression."""
    maker = EXPRESSIONS.get(type(node))
    if maker is None:
        raise ReadError(f"{type(node).__name__} is not of this part of Python")
    return maker(node)


def _constant(node: ast.Constant) -> Do:
    value = node.value
    if not isinstance(value, int | str):
        raise ReadError(f"{value!r} is not of this part of Python")
    return lambda _: value


def _name(node: ast.Name) -> Do:
    name = node.id

    def run(frame: Frame) -> Any:
        if name in frame.values:
            return frame.values[name]
        return constant(frame.machine, frame.file, name)

    return run


def constant(machine: Machine, file: File, name: str) -> Any:
    """Return the value of a module's constant."""
    if name not in file.constants:
        raise ReadError(f"{file.module}: {name} has no value")
    return expression(file.constants[name])(Frame({}, machine, file))


def _binary(kind: type[ast.AST], left: Do, right: Do) -> Do:
    if kind not in OPERATORS:
        raise ReadError(f"{kind.__name__} is not of this part of Python")
    act, product = OPERATORS[kind], kind is ast.Mult

    def run(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if product and not (isinstance(one, int) and isinstance(other, int) and abs(one) < LARGEST_FACTOR > abs(other)):
            raise ReadError("only numbers of a usual size are multiplied")
        return small(act(one, other))

    return run


def small(value: Any) -> Any:
    """Return a value, or raise an error if it is longer than such functions can legitimately make it."""
    if isinstance(value, str | list | dict | range) and len(value) > LONGEST_COLLECTION:
        raise ReadError(f"a {type(value).__name__} grows too long")
    return value


def _compare(node: ast.Compare) -> Do:
    if len(node.ops) != 1:
        raise ReadError("a comparison has two sides")
    return _binary(type(node.ops[0]), expression(node.left), expression(node.comparators[0]))


def _unary(node: ast.UnaryOp) -> Do:
    value = expression(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda frame: not value(frame)
    if isinstance(node.op, ast.USub):
        return lambda frame: -value(frame)
    raise ReadError(f"{type(node.op).__name__} is not of this part of Python")


def _logical(node: ast.BoolOp) -> Do:
    parts, wanted = [expression(one) for one in node.values], isinstance(node.op, ast.Or)

    def run(frame: Frame) -> Any:
        value = None
        for part in parts:
            value = part(frame)
            if bool(value) is wanted:
                break
        return value

    return run


def _either(node: ast.IfExp) -> Do:
    test, yes, no = expression(node.test), expression(node.body), expression(node.orelse)
    return lambda frame: yes(frame) if test(frame) else no(frame)


def _listed(node: ast.List) -> Do:
    parts = [expression(one) for one in node.elts]
    return lambda frame: [part(frame) for part in parts]


def _dictionary(node: ast.Dict) -> Do:
    names = [expression(one) for one in node.keys if one is not None]
    values = [expression(one) for one in node.values]
    return lambda frame: {name(frame): value(frame) for name, value in zip(names, values, strict=True)}


def _subscript(node: ast.Subscript) -> Do:
    held = expression(node.value)
    if isinstance(node.slice, ast.Slice):
        edges = [expression(one) if one else None for one in (node.slice.lower, node.slice.upper, node.slice.step)]
        return lambda frame: held(frame)[slice(*(edge(frame) if edge else None for edge in edges))]
    place = expression(node.slice)
    return lambda frame: held(frame)[place(frame)]


def _comprehension(node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> Do:
    if len(node.generators) != 1 or node.generators[0].is_async:
        raise ReadError("a comprehension goes through one list")
    part = node.generators[0]
    bind, over, tests = binding(part.target), expression(part.iter), [expression(one) for one in part.ifs]
    element = expression(node.value if isinstance(node, ast.DictComp) else node.elt)
    name = expression(node.key) if isinstance(node, ast.DictComp) else None

    def run(frame: Frame) -> Any:
        inner, found = Frame(dict(frame.values), frame.machine, frame.file), list[Any]()
        for one in over(frame):
            frame.machine.turn()
            bind(inner, one)
            if all(test(inner) for test in tests):
                found.append((name(inner), element(inner)) if name else element(inner))
        return dict(found) if name else found

    return run


def _call(node: ast.Call) -> Do:
    given = [expression(one) for one in node.args]
    named = {one.arg: expression(one.value) for one in node.keywords if one.arg}
    if len(named) != len(node.keywords):
        raise ReadError("a call lists what it gives")

    def values(frame: Frame) -> tuple[list[Any], dict[str, Any]]:
        return [one(frame) for one in given], {name: one(frame) for name, one in named.items()}

    target = node.func
    builtin = BUILTINS.get(target.id) if isinstance(target, ast.Name) else None
    held = expression(target.value) if isinstance(target, ast.Attribute) else None

    def run(frame: Frame) -> Any:
        own, more = values(frame)
        if isinstance(target, ast.Name) and target.id in frame.values:
            raise ReadError(f"{target.id} is a value, and cannot be called")
        found = frame.machine.repository.called(frame.file, target)
        if found is not None and not more:
            return frame.machine.call(found, *own)
        if builtin is not None:
            return small(builtin(*own, **more))
        if held is not None and isinstance(target, ast.Attribute):
            return small(method(held(frame), target.attr, own)(*own, **more))
        raise ReadError(f"{ast.unparse(target)} cannot be called")

    return run


def method(value: Any, name: str, given: Sequence[Any]) -> Callable[..., Any]:
    """Return a method of a list, dictionary or string, if it is in the subset."""
    if name not in METHODS.get(type(value), ()) or (name == "replace" and max(map(len, given)) > 1):
        raise ReadError(f"{type(value).__name__}.{name} is not of this part of Python")
    found: Callable[..., Any] = getattr(value, name)
    return found


def _formatted(node: ast.JoinedStr) -> Do:
    parts = [expression(one) for one in node.values]
    return lambda frame: "".join(part(frame) for part in parts)


def _filled(node: ast.FormattedValue) -> Do:
    value, form = expression(node.value), expression(node.format_spec) if node.format_spec else None
    if node.conversion != -1:
        raise ReadError("a value in a text has no conversion")

    def run(frame: Frame) -> str:
        spec = form(frame) if form else ""
        if spec and not FORM.fullmatch(spec):
            raise ReadError(f"{spec!r} is not a form of this part of Python")
        return format(value(frame), spec)

    return run


EXPRESSIONS: Mapping[type[ast.AST], Callable[[Any], Do]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: lambda node: _binary(type(node.op), expression(node.left), expression(node.right)),
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.BoolOp: _logical,
    ast.IfExp: _either,
    ast.List: _listed,
    ast.Dict: _dictionary,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Call: _call,
    ast.JoinedStr: _formatted,
    ast.FormattedValue: _filled,
}
"""The expressions in the subset."""
