"""Functions of one number: at most three small operations, one of which may call another such function."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from pipeline.worlds.forge.modules import Module, TooLongError, fitting
from pipeline.worlds.forge.names import words

IntFunction = Callable[[int], int]
TRIED = range(0, 60, 7)
"""The numbers that a condition must tell apart."""
NAMED = 0.25
"""The share of numbers written as a constant of the module."""


class Called(NamedTuple):
    """A function to call: its name in the module, and what it makes of a number."""

    name: str
    value: IntFunction


def scalar_function(module: Module, name: str, called: Called | None = None, doc: str = "") -> IntFunction:
    """Write a function of one number into a module, and return its behaviour."""
    while True:
        constants = dict(module.constants)
        try:
            text, value = _drawn(module, name, called, doc)
            module.functions.append(fitting(text))
        except TooLongError:
            module.constants = constants
        else:
            return value


def _drawn(module: Module, name: str, called: Called | None, doc: str) -> tuple[str, IntFunction]:
    rng, namer = module.namer.rng, module.namer
    parameter = namer.amount()
    lines = [f'    """{doc}"""'] if doc else []
    text, value = parameter, _same()
    if rng.random() < (0.5 if called else 0.7):
        text, value = operation(module, parameter)
    if called:
        text, value = f"{called.name}({text})", _after(value, called.value)
    if not text.isidentifier() and (not called or rng.random() < 0.5):
        fresh = _fresh(rng, module, parameter)
        lines.append(f"    {fresh} = {text}")
        text = fresh
    reached = [value(one) for one in TRIED]
    limits = range(max(8, min(reached)), min(60, max(reached)))
    if rng.random() < 0.45 and text.isidentifier() and limits:
        limit, (over, more), (under, less) = rng.choice(limits), operation(module, text), operation(module, text)
        while under == over:
            under, less = operation(module, text)
        value = _after(value, _either(limit, more, less))
        limited = module.fresh_constant(limit) if rng.random() < NAMED else str(limit)
        if rng.random() < 0.6:
            lines += [f"    if {text} > {limited}:", f"        return {over}", f"    return {under}"]
        else:
            lines.append(f"    return {over} if {text} > {limited} else {under}")
    else:
        last, does = operation(module, text)
        while len({does(one) for one in reached}) == 1 < len({*reached}):
            last, does = operation(module, text)
        lines.append(f"    return {last}")
        value = _after(value, does)
    return "\n".join([f"def {name}({parameter}: int) -> int:", *lines]), value


def _fresh(rng: Random, module: Module, parameter: str) -> str:
    """Draw the name of an intermediate value."""
    while True:
        name = f"{rng.choice(words()['mapped'])}_{rng.choice(module.namer.thing())}"
        if name != parameter:
            return name


def operation(module: Module, text: str) -> tuple[str, IntFunction]:
    """Draw a small operation on a value, as code and as a function; `text` binds as tightly as a name."""
    rng = module.namer.rng
    number, times, part = rng.randrange(2, 20), rng.randrange(2, 4), rng.randrange(5, 24)
    operand = module.fresh_constant(number) if rng.random() < NAMED else str(number)
    kind = rng.randrange(9 if text.isidentifier() else 8)  # a table uses the value twice
    if kind < 2:
        return f"{text} + {operand}", lambda one: one + number
    if kind == 2:
        return f"{text} * {times} + {operand}", lambda one: one * times + number
    if kind == 3:
        return f"{text} * {times} - {operand}", lambda one: one * times - number
    if kind == 4:
        return f"{text} % {part} + {operand}", lambda one: one % part + number
    if kind == 5:
        return f"{text} // {times} + {operand}", lambda one: one // times + number
    if kind == 6:
        return f"max({text} - {operand}, {times})", lambda one: max(one - number, times)
    if kind == 7:
        return f"abs({text} - {operand}) + {times}", lambda one: abs(one - number) + times
    table = rng.sample(range(2, 30), rng.randrange(3, 5))
    name = module.fresh_constant(table)
    return f"{text} + {name}[{text} % {len(table)}]", lambda one: one + table[one % len(table)]


def _same() -> IntFunction:
    return lambda one: one


def _after(first: IntFunction, then: IntFunction) -> IntFunction:
    return lambda one: then(first(one))


def _either(limit: int, more: IntFunction, less: IntFunction) -> IntFunction:
    return lambda one: more(one) if one > limit else less(one)
