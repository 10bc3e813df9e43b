"""Functions of every other kind: they count, look up, label, read and join, and call what the module has and imports.

None of them takes just one list of numbers: such functions are written from steps, so that their behaviour is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline.worlds.forge.modules import Module, TooLongError, fitting, wrapped
from pipeline.worlds.forge.names import words

MARKS = {
    ":": "colon",
    "/": "slash",
    "-": "hyphen",
    ";": "semicolon",
    "|": "bar",
    "*": "star",
    "!": "exclamation mark",
    "?": "question mark",
}
"""The names of marks in docstrings."""
TOLD = 0.3
"""The share of functions with a docstring."""


class Plain(NamedTuple):
    """A function: the verbs and the thing for its name, its parameters, return type, lines and docstring."""

    verbs: Sequence[str]
    thing: str
    parameters: str
    returns: str
    lines: str
    doc: str


def plain_function(module: Module, callees: Sequence[str] = ()) -> None:
    """Write a function into a module; `callees` are functions of one number that it may call."""
    namer, rng = module.namer, module.namer.rng
    while True:
        constants, maker = dict(module.constants), rng.choice(MAKERS)
        if callees and rng.random() < 0.75:
            maker = rng.choice(CALLING)
        drawn = rng.choice(maker(module, callees))
        name = namer.function(drawn.thing, drawn.verbs)
        docstring = f'\n    """{drawn.doc[0].upper()}{drawn.doc[1:]}"""' if rng.random() < TOLD else ""
        lines = "".join(f"\n    {line}" for line in drawn.lines.split("\n"))
        try:
            head = wrapped(f"def {name}(", drawn.parameters, f") -> {drawn.returns}:")
            module.functions.append(fitting(head + docstring + lines))
            fitting("\n".join(f"{name} = {value}" for name, value in module.constants.items()))
        except TooLongError:
            module.constants = constants
            namer.taken.discard(name)
            namer.drawn.remove(name)
        else:
            return


def tally(module: Module, _: Sequence[str]) -> Sequence[Plain]:
    """Count words in a dictionary."""
    rng, word = module.namer.rng, _label(module)
    counts = f"{_adjective(module)}_{rng.choice(('counts', 'tally', 'totals'))}"
    size, letters = rng.randrange(2, 9), _letters(module)
    parameters, returns, start = f"{word}s: list[str]", "dict[str, int]", f"{counts}: dict[str, int] = {{}}\n"
    many = f"{word}s"
    return [
        Plain(
            ("count", "tally"),
            many,
            parameters,
            returns,
            f"{start}for {word} in {many}:\n    {counts}[{word}] = {counts}.get({word}, 0) + 1\nreturn {counts}",
            f"count how often each {word} occurs.",
        ),
        Plain(
            ("group", "count"),
            many,
            parameters,
            returns,
            f"{start}for {word} in {many}:\n    head = {word}[:{size}]\n"
            f"    {counts}[head] = {counts}.get(head, 0) + 1\nreturn {counts}",
            f"count {many} by their first {size} letters.",
        ),
        Plain(
            ("index", "place"),
            many,
            parameters,
            returns,
            f'{start}for index, {word} in enumerate({many}):\n    if {word}.startswith("{letters}"):\n'
            f"        {counts}[{word}] = index + {size}\nreturn {counts}",
            f"number all {many} from {size} on, and keep those that begin with {letters}.",
        ),
    ]


def lookup(module: Module, _: Sequence[str]) -> Sequence[Plain]:
    """Look a value up in a table of the module."""
    rng, label, amount = module.namer.rng, _label(module), module.namer.amount()
    table = {one: rng.randrange(3, 90) for one in rng.sample(words()["adjective"], rng.randrange(3, 5))}
    known = rng.choice(module.namer.domain.amounts)
    constant, usual, share = module.fresh_constant(table, known), rng.randrange(2, 40), rng.randrange(2, 6)
    verbs, thing = (f"{known}_for", f"{known}_of"), label
    return [
        Plain(
            verbs,
            thing,
            f"{label}: str",
            "int",
            f"return {constant}.get({label}, {usual})",
            f"return the {known} for one {label}, or the usual one.",
        ),
        Plain(
            verbs,
            thing,
            f"{label}: str, {amount}: int",
            "int",
            f"if {label} not in {constant}:\n    return {amount}\nreturn {constant}[{label}] + {amount} * {share}",
            f"return the {known} for one {label} and what is added, or {_in_words(amount)} alone.",
        ),
        Plain(
            ("total", "sum"),
            f"{label}s",
            f"{label}s: list[str]",
            "int",
            f"return sum({constant}.get({label}, {usual}) for {label} in {label}s)",
            f"add up the {known} of all {label}s.",
        ),
    ]


def label_of(module: Module, _: Sequence[str]) -> Sequence[Plain]:
    """Compose a label."""
    rng, label, amount = module.namer.rng, _label(module), module.namer.amount()
    size, mark, word, limit = rng.randrange(2, 9), rng.choice("-/:.#"), _adjective(module), rng.randrange(9, 90)
    verbs, parameters = ("format", "label", "show"), f"{label}: str, {amount}: int"
    return [
        Plain(
            verbs,
            label,
            parameters,
            "str",
            f'return {label}[:{size}].upper() + "{mark}" + str({amount})',
            f"return a short name in capitals, with {_in_words(amount)}.",
        ),
        Plain(
            ("shorten", "slug"),
            label,
            f"{label}: str",
            "str",
            f'tokens = {label}.strip().lower().split(" ")\nreturn "{mark}".join(token[:{size}] for token in tokens)',
            f"join the first {size} letters of all words.",
        ),
        Plain(
            verbs,
            label,
            parameters,
            "str",
            f'if {amount} > {limit}:\n    return "{word} " + {label}\n'
            f'return {label} + "{mark}" + str({amount} + {size})',
            f"return the {label}, marked as {word} above {limit}.",
        ),
        Plain(
            verbs,
            label,
            parameters,
            "str",
            f'return f"{{{label}:>{size + 6}}}{mark}{{{amount}:0{size % 4 + 2}d}}"',
            f"return a line of a list, {label} first.",
        ),
    ]


def clock(module: Module, _: Sequence[str]) -> Sequence[Plain]:
    """Read values from a text."""
    rng, label, amount = module.namer.rng, _label(module), module.namer.amount()
    first, second = rng.sample([many for _, many in module.namer.domain.things], 2)
    mark, times, less = rng.choice(":/-"), rng.choice((4, 6, 7, 12, 24, 60)), rng.randrange(2, 9)
    ends, counted, start = rng.choice(";|"), rng.choice("*!?"), rng.randrange(1, 50)
    return [
        Plain(
            ("parse", "read"),
            label,
            f"{label}: str",
            "int",
            f'{first}, {second} = {label}.split("{mark}")\nreturn int({first}) * {times} + int({second})',
            f"read {first} and {second} with a {MARKS[mark]} between them.",
        ),
        Plain(
            ("parse", "read"),
            label,
            f"{label}: str",
            "list[int]",
            f'fields = {label}.replace(" ", "").split("{mark}")\n'
            f"return [int(field) + {less} for field in fields if field]",
            f"read numbers with a {MARKS[mark]} between them, and add {less} to each.",
        ),
        Plain(
            ("number", "parse"),
            label,
            f"{label}: str",
            "dict[str, int]",
            f"{first}: dict[str, int] = {{}}\n"
            f'for token in {label}.split("{ends}"):\n    {first}[token.strip()] = len({first}) + {start}\n'
            f"return {first}",
            f"split at each {MARKS[ends]}, and number the parts from {start} on.",
        ),
        Plain(
            ("check", "dock"),
            label,
            f"{label}: str, {amount}: int",
            "int",
            f'found = {label}.count("{counted}")\nreturn {amount} - found * {less}',
            f"take off {less} for each {MARKS[counted]} in the {label}.",
        ),
    ]


def pairs(module: Module, _: Sequence[str]) -> Sequence[Plain]:
    """Go through two lists together."""
    rng = module.namer.rng
    (one, many), (other, others) = rng.sample(module.namer.domain.things, 2)
    share, limit = rng.randrange(2, 9), rng.randrange(3, 60)
    parameters = f"{many}: list[int], {others}: list[int]"
    return [
        Plain(
            ("weigh", "match"),
            many,
            parameters,
            "int",
            f"joined = zip({many}, {others}, strict=False)\n"
            f"return sum({one} * {other} + {share} for {one}, {other} in joined)",
            f"weigh {many} by {others}.",
        ),
        Plain(
            ("compare", "contrast"),
            many,
            parameters,
            "int",
            f"if len({many}) != len({others}):\n    return {limit}\n"
            f"return max({many}, default={share}) - min({others}, default={share})",
            f"compare the highest of {many} with the lowest of {others}.",
        ),
        Plain(
            ("balance", "compare"),
            many,
            parameters,
            "int",
            f"total = {limit}\nfor {one}, {other} in zip({many}, {others}, strict=False):\n"
            f"    total += {one} - {other} // {share}\nreturn total",
            f"set {many} off against {others}.",
        ),
    ]


def two_numbers(module: Module, _: Sequence[str]) -> Sequence[Plain]:
    """Compute something from two numbers."""
    rng, (one, other) = module.namer.rng, _two_amounts(module)
    share, limit = rng.randrange(2, 9), module.fresh_constant(rng.randrange(5, 80))
    parameters, first, second = f"{one}: int, {other}: int", _in_words(one), _in_words(other)
    bodies = {
        f"if {one} >= {limit}:\n    return {other} // {share}\nreturn {one} * {other}": (
            f"multiply {first} by {second} while {first} is below a limit."
        ),
        f"return min({one} * {share}, {limit}) + {other}": (
            f"add {second} to {share} times {first}, or to a limit if that is less."
        ),
        f"rest = max({one} - {other}, 0)\nreturn rest * {share} + {other} % {limit}": (
            f"weigh the excess of {first} over {second}."
        ),
    }
    return [Plain((), "", parameters, "int", body, doc) for body, doc in bodies.items()]


def table(module: Module, _: Sequence[str]) -> Sequence[Plain]:
    """Go through a dictionary."""
    rng, label, (_, many) = module.namer.rng, _label(module), module.namer.thing()
    limit, share = rng.randrange(2, 70), rng.randrange(2, 9)
    parameters, labels = f"{many}: dict[str, int]", f"{label}s"
    return [
        Plain(
            ("lift", "add_to"),
            many,
            parameters,
            "dict[str, int]",
            f"return {{{label}: {many}[{label}] + {share} for {label} in sorted({many})}}",
            f"add {share} for every {label}.",
        ),
        Plain(
            ("list", "busy"),
            labels,
            parameters,
            "list[str]",
            f"return [{label} for {label}, value in {many}.items() if value > {limit}]",
            f"return each {label} with more than {limit} {many}.",
        ),
        Plain(
            ("sum", "total"),
            many,
            parameters,
            "int",
            f"uneven = [value for value in {many}.values() if value % {share}]\nreturn sum(uneven) + {limit}",
            f"add {limit} to the sum of the {many} that are not multiples of {share}.",
        ),
        Plain(
            ("show", "list"),
            many,
            parameters,
            "list[str]",
            f'shown = [{label} + "=" + str(value) for {label}, value in {many}.items()]\n'
            f"return sorted(shown)[:{share}]",
            f"return the first {share} {many}, by {label}.",
        ),
    ]


def each_called(module: Module, callees: Sequence[str]) -> Sequence[Plain]:
    """Call another function for each item of a list, with a further number."""
    rng, (one, many), callee = module.namer.rng, module.namer.thing(), module.namer.rng.choice(callees)
    amount, share = _two_amounts(module)[0], rng.randrange(2, 9)
    amount = amount if amount != many else f"other_{many}"
    parameters = f"{many}: list[int], {amount}: int"
    return [
        Plain(
            (),
            many,
            parameters,
            "list[int]",
            f"return [{callee}({one}) + {amount} for {one} in {many}]",
            f"return one result for each of the {many}, plus {_in_words(amount)}.",
        ),
        Plain(
            (),
            many,
            parameters,
            "int",
            f"return sum({callee}({one} + {amount}) for {one} in {many}[:{share}])",
            f"add up what the first {share} {many} come to, each with {_in_words(amount)}.",
        ),
        Plain(
            ("top", "highest"),
            many,
            parameters,
            "int",
            f"highest = {amount}\nfor {one} in {many}:\n    highest = max(highest, {callee}({one}))\n"
            f"return highest * {share}",
            f"return {share} times the highest of {_in_words(amount)} and all results.",
        ),
    ]


def called_twice(module: Module, callees: Sequence[str]) -> Sequence[Plain]:
    """Call one or two functions with two numbers."""
    rng, (one, other) = module.namer.rng, _two_amounts(module)
    first, second, limit = rng.choice(callees), rng.choice(callees), rng.randrange(4, 70)
    parameters, times = f"{one}: int, {other}: int", limit % 7 + 2
    bodies = {
        f"if {one} > {limit}:\n    return {first}({other})\nreturn {second}({one}) + {other}": (
            f"use {_in_words(other)} alone where {_in_words(one)} is above {limit}."
        ),
        f"return {first}({one} + {limit}) - {second}({other})": f"set {_in_words(one)} off against {_in_words(other)}.",
        f"part = {first}({one})\nreturn part + {other} * {times}": f"add {times} times {_in_words(other)}.",
    }
    return [Plain((), "", parameters, "int", body, doc) for body, doc in bodies.items()]


def labelled(module: Module, callees: Sequence[str]) -> Sequence[Plain]:
    """Show what another function returns."""
    rng, label, amount = module.namer.rng, _label(module), module.namer.amount()
    callee, mark, less = rng.choice(callees), rng.choice("-/:="), rng.randrange(2, 30)
    wide, right = rng.randrange(6, 24), rng.randrange(2, 9)
    bodies = (
        f'return {label} + "{mark}" + str({callee}({amount}))',
        f'shown = {callee}({amount} - {less})\nreturn f"{{{label}:<{wide}}}{{shown:>{right}}}"',
    )
    parameters, doc = f"{label}: str, {amount}: int", f"return a line of a list, {label} first."
    return [Plain(("format", "label", "show"), label, parameters, "str", body, doc) for body in bodies]


def _in_words(name: str) -> str:
    """Return the name of a parameter in the words of a docstring."""
    return name.replace("_", " ")


def _label(module: Module) -> str:
    """Draw a label of the package's domain."""
    return module.namer.rng.choice(module.namer.domain.labels)


def _two_amounts(module: Module) -> tuple[str, str]:
    first = module.namer.amount()
    return first, next(other for other in iter(module.namer.amount, "") if other != first)


def _adjective(module: Module) -> str:
    return module.namer.rng.choice(words()["adjective"])


def _letters(module: Module) -> str:
    return "".join(module.namer.rng.sample("abcdefghiklmnoprstuw", 2))


Maker = Callable[[Module, Sequence[str]], Sequence[Plain]]
MAKERS: Sequence[Maker] = (tally, lookup, label_of, clock, pairs, two_numbers, table)
CALLING: Sequence[Maker] = (each_called, called_twice, labelled)
