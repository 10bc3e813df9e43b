"""Templates that strangers wrote, run with an allowance: what they do is paid for, and who runs out is refused.

Jinja's sandbox keeps a template from the machine, but not from its time and memory. Here each turn of a loop, each
call, each filter and each piece of output costs as many characters as it reads and makes, before it is made wherever it
could be much longer than what it is made of. Filters that pad, and chance, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import jinja2
import jinja2.nodes
import jinja2.sandbox
from jinja2.exceptions import SecurityError

ALLOWANCE, OF_CONTENT = 1 << 26, 64
"""Characters that a rendering may cost: so many, and so many more for each character of the contents."""
TURN = 256
"""What a turn of a loop, a call or a filter costs beside what it reads and makes."""
LARGEST, WIDEST = 1 << 64, 1 << 20
"""Numbers that may be reckoned with, and that may be a width or a count of a filter or a method."""
LEFT_OUT = ("batch", "center", "filesizeformat", "pprint", "random", "slice", "urlize", "wordwrap", "xmlattr")
REFUSED = frozenset({"expandtabs", "format_map", "translate", "maketrans"})
WIDE = re.compile(r"\d{4}|\*|\{[^}]*\{")
"""In a format: a width of four digits, or one that is given beside it."""


class Allowance(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """A sandbox whose templates pay for what they do; `allow` before each rendering."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **how: Any) -> None:
        self.left = ALLOWANCE  # constants are reckoned with when a template is compiled
        super().__init__(**how, finalize=self._written)
        for name in LEFT_OUT:
            del self.filters[name]
        for name in ("lipsum", "cycler", "joiner"):
            del self.globals[name]
        self.filters = {name: self.paid(name, made) for name, made in self.filters.items()}
        self.filters["turn"] = jinja2.pass_context(lambda context, cost: self.pay(cost))  # no constant, so never folded

    def allow(self, content: int) -> None:
        """Grant what a rendering of `content` characters may cost."""
        self.left = ALLOWANCE + OF_CONTENT * content

    def pay(self, cost: int) -> str:
        """Take `cost` characters from what is left.

        Raises:
            SecurityError: if there is too little.
        """
        self.left -= abs(cost)
        if self.left < 0:
            raise SecurityError("it does more than a template may: too many steps, or too much text")
        return ""

    def parsed(self, text: str) -> jinja2.nodes.Template:
        """Return a template in which each turn of a loop, and each joining of texts, is paid for."""
        tree = self.parse(text)
        for loop in list(tree.find_all(jinja2.nodes.For)):
            constants = sum(len(data.data) for data in loop.find_all(jinja2.nodes.TemplateData))
            turn = jinja2.nodes.Filter(jinja2.nodes.Const(TURN + constants), "turn", [], [], None, None)
            loop.body.insert(0, jinja2.nodes.ExprStmt(turn))
        for joined in list(tree.find_all(jinja2.nodes.Concat)):
            joined.nodes = [jinja2.nodes.Filter(each, "string", [], [], None, None) for each in joined.nodes]
        tree.set_environment(self)
        return tree

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Reckon, if what comes out is bounded."""
        if operator == "+" and isinstance(left, str) and isinstance(right, str):  # nearly all there is
            self.left -= TURN + len(left) + len(right)
            if self.left < 0:
                self.pay(0)
            return left + right
        numbers = [each for each in (left, right) if isinstance(each, int)]
        if operator == "*" and len(numbers) == 1:
            other = right if left is numbers[0] else left
            self.pay(TURN + _size(other) * max(0, numbers[0]))
        elif any(abs(each) > LARGEST for each in numbers) or (operator == "**" and not _is_small(left, right)):
            raise SecurityError("it reckons with numbers that are too large")
        elif operator == "%" and isinstance(left, str | bytes):
            self._check_format(left)
        self.pay(TURN + _size(left) + _size(right))
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, called: Any, *args: Any, **more: Any) -> Any:
        """Call what a template calls, paid for."""
        owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
        if isinstance(owner, str | bytes):
            args = self._prepaid(name, owner, args, more)
        self.pay(TURN + sum(map(_size, args)) if args else TURN)
        made = super().call(context, called, *args, **more)
        self.pay(_size(made))
        return made

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Check a text whose `format` is asked for."""
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            self._check_format(value.__self__)
        return wrapped

    def _prepaid(self, name: str, owner: Any, args: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, ...]:
        """Pay for a method of a text, or a filter on one, before it is called."""
        given = (*args, *more.values())
        if name in REFUSED or (given and any(isinstance(each, int) and each > WIDEST for each in given)):
            raise SecurityError(f"it calls {name} in a way that may have no end")
        if name == "format":  # the filter; the method is wrapped below
            self._check_format(str(owner))
        elif name == "replace" and len(args) >= 2:
            owner, old, new = map(str, (owner, *args[:2]))
            self.pay(owner.count(old) * len(new))
        elif name == "join" and args:
            args = (list(args[0]), *args[1:])
            self.pay(sum(_size(owner) + _size(each) for each in args[0]))
        elif name == "indent":
            width = args[0] if args else more.get("width", 4)
            self.pay(str(owner).count("\n") * (width if isinstance(width, int) else _size(width)))
        self.pay(_size(owner))
        return args

    def _check_format(self, text: str | bytes) -> None:
        if WIDE.search(text if isinstance(text, str) else text.decode(errors="replace")):
            raise SecurityError("it formats with a width that is too large")

    def paid(self, name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        """Return a filter that is paid for."""
        skipped = 1 if hasattr(made, "jinja_pass_arg") else 0

        @wraps(made)
        def run(*args: Any, **more: Any) -> Any:
            value, rest = args[skipped], args[skipped + 1 :]
            if name == "join":
                value = list(value)
                mark = rest[0] if rest else more.get("d", "")
                self.pay(sum(_size(mark) + _size(each) for each in value))
            else:
                rest = self._prepaid(name, value, rest, more)
            self.pay(TURN + _size(value))
            found = made(*args[:skipped], value, *rest, **more)
            self.pay(_size(found))
            return found

        return run

    def _written(self, value: Any) -> Any:
        self.left -= TURN + (len(value) if isinstance(value, str) else 8)
        if self.left < 0:
            self.pay(0)
        return value


def _size(value: Any) -> int:
    """Return how long a value is, or is when it is written, as far as that is quickly known."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list | tuple | dict | set | range):
        return 8 * len(value)
    return 8


def _is_small(base: Any, exponent: Any) -> bool:
    return (
        isinstance(base, int | float) and isinstance(exponent, int | float) and abs(base) <= WIDEST and exponent <= 16
    )
