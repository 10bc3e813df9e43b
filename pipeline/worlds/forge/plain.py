"""Functions of every other kind: they count, look up, label, read and join, and call what the module has and imports.

None of them takes one list of numbers alone: those are written from steps, so that it is known what they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.worlds.forge.modules import Module, TooLongError, fitting, wrapped
from pipeline.worlds.forge.names import words


def plain_function(module: Module, name: str, callees: Sequence[str] = (), doc: str = "") -> None:
    """Write a function into a module; `callees` are functions of one number that it may call."""
    rng = module.namer.rng
    while True:
        constants = dict(module.constants)
        maker = rng.choice(CALLING if callees and rng.random() < 0.75 else MAKERS)
        try:
            head, *lines = maker(module, name, callees).split("\n")
            while head.endswith("("):  # the parameters stand on a line of their own
                head, lines = "\n".join([head, *lines[:2]]), lines[2:]
            told = [f'    """{doc}"""'] if doc else []
            module.functions.append(fitting("\n".join([head, *told, *lines])))
        except TooLongError:
            module.constants = constants
        else:
            return


def tally(module: Module, name: str, _: Sequence[str]) -> str:
    """Count words in a dictionary."""
    rng, label = module.namer.rng, _label(module)
    counts, one = f"{_adjective(module)}_{rng.choice(('counts', 'tally', 'totals'))}", label
    head = f"def {name}({label}s: list[str]) -> dict[str, int]:\n    {counts}: dict[str, int] = {{}}\n"
    body = rng.choice(
        (
            f"    for {one} in {label}s:\n        {counts}[{one}] = {counts}.get({one}, 0) + {rng.randrange(1, 4)}\n",
            f"    for {one} in {label}s:\n        if {one} not in {counts}:\n            {counts}[{one}] = 0\n"
            f"        {counts}[{one}] += len({one}) - {rng.randrange(1, 4)}\n",
            f'    for place, {one} in enumerate({label}s):\n        if {one}.startswith("{_letters(module)}"):\n'
            f"            {counts}[{one}] = place\n",
        )
    )
    return f"{head}{body}    return {counts}"


def lookup(module: Module, name: str, _: Sequence[str]) -> str:
    """Look a value up in a table of the module."""
    rng, label, amount = module.namer.rng, _label(module), module.namer.amount()
    table = {one: rng.randrange(3, 90) for one in rng.sample(words()["adjective"], rng.randrange(3, 5))}
    constant = module.fresh_constant(table)
    fitting(f"{constant} = {module.constants[constant]}")
    usual = rng.randrange(2, 40)
    return rng.choice(
        (
            f"def {name}({label}: str) -> int:\n    return {constant}.get({label}, {usual})",
            wrapped(f"def {name}(", f"{label}: str, {amount}: int", ") -> int:")
            + f"\n    if {label} not in {constant}:\n        return {amount}\n"
            f"    return {constant}[{label}] + {amount} * {rng.randrange(2, 6)}",
            f"def {name}({label}s: list[str]) -> int:\n"
            f"    return sum({constant}.get({label}, {usual}) for {label} in {label}s)",
        )
    )


def label_of(module: Module, name: str, _: Sequence[str]) -> str:
    """Put a label together."""
    rng, label, amount = module.namer.rng, _label(module), module.namer.amount()
    size, mark = rng.randrange(2, 9), rng.choice("-/:.#")
    return rng.choice(
        (
            wrapped(f"def {name}(", f"{label}: str, {amount}: int", ") -> str:")
            + f'\n    return {label}[:{size}].upper() + "{mark}" + str({amount})',
            f'def {name}({label}: str) -> str:\n    parts = {label}.strip().lower().split(" ")\n'
            f'    return "{mark}".join(part[:{size}] for part in parts)',
            wrapped(f"def {name}(", f"{label}: str, {amount}: int", ") -> str:")
            + f"\n    if {amount} > {rng.randrange(9, 90)}:\n"
            f'        return "{_adjective(module)} " + {label}\n'
            f'    return {label} + "{mark}" + str({amount} + {rng.randrange(2, 30)})',
            wrapped(f"def {name}(", f"{label}: str, {amount}: int", ") -> str:")
            + f'\n    return f"{{{label}:>{size + 6}}}{mark}{{{amount}:0{size % 4 + 2}d}}"',
        )
    )


def clock(module: Module, name: str, _: Sequence[str]) -> str:
    """Read a value from a text."""
    rng, label, amount = module.namer.rng, _label(module), module.namer.amount()
    one, other = rng.sample([many for _, many in module.namer.domain.things], 2)
    mark, times = rng.choice(":/-x"), rng.choice((4, 6, 7, 12, 24, 60))
    return rng.choice(
        (
            f'def {name}({label}: str) -> int:\n    {one}, {other} = {label}.split("{mark}")\n'
            f"    return int({one}) * {times} + int({other})",
            f'def {name}({label}: str) -> list[int]:\n    fields = {label}.replace(" ", "").split("{mark}")\n'
            f"    return [int(field) + {rng.randrange(1, 9)} for field in fields if field]",
            f"def {name}({label}: str) -> dict[str, int]:\n    {one}: dict[str, int] = {{}}\n"
            f'    for line in {label}.split("{mark}"):\n        {one}[line.strip()] = len({one}) + '
            f"{rng.randrange(1, 50)}\n    return {one}",
            wrapped(f"def {name}(", f"{label}: str, {amount}: int", ") -> int:")
            + f'\n    marks = {label}.count("{_letters(module)}")\n    return {amount} - marks * {rng.randrange(2, 9)}',
        )
    )


def pairs(module: Module, name: str, _: Sequence[str]) -> str:
    """Go through two lists together."""
    rng, one, other = module.namer.rng, *module.namer.rng.sample(module.namer.domain.things, 2)
    share, limit = rng.randrange(2, 9), rng.randrange(3, 60)
    head = wrapped(f"def {name}(", f"{one[1]}: list[int], {other[1]}: list[int]", ") -> int:")
    return rng.choice(
        (
            head + f"\n    joined = zip({one[1]}, {other[1]})\n"
            f"    return sum({one[0]} * {other[0]} + {share} for {one[0]}, {other[0]} in joined)",
            head + f"\n    if len({one[1]}) != len({other[1]}):\n        return {limit}\n"
            f"    return max({one[1]}, default={share}) - min({other[1]}, default={share})",
            head + f"\n    balance = {limit}\n    for {one[0]}, {other[0]} in zip({one[1]}, {other[1]}):\n"
            f"        balance += {one[0]} - {other[0]} // {share}\n    return balance",
        )
    )


def two_numbers(module: Module, name: str, _: Sequence[str]) -> str:
    """Work something out of two numbers."""
    rng, one, other = module.namer.rng, module.namer.amount(), module.namer.amount()
    if one == other:
        raise TooLongError(one)
    share, limit = rng.randrange(2, 9), module.fresh_constant(rng.randrange(5, 80))
    head = wrapped(f"def {name}(", f"{one}: int, {other}: int", ") -> int:")
    return rng.choice(
        (
            head + f"\n    if {one} >= {limit}:\n        return {other} // {share}\n    return {one} * {other}",
            head + f"\n    return min({one} * {share}, {limit}) + {other}",
            head + f"\n    rest = max({one} - {other}, 0)\n    return rest * {share} + {other} % {limit}",
        )
    )


def table(module: Module, name: str, _: Sequence[str]) -> str:
    """Change a dictionary."""
    rng, label, (_, many) = module.namer.rng, _label(module), module.namer.thing()
    limit, share = rng.randrange(2, 70), rng.randrange(2, 9)
    head = f"def {name}({many}: dict[str, int]) -> "
    return rng.choice(
        (
            head + f"dict[str, int]:\n    return {{{label}: {many}[{label}] + {share} for {label} in sorted({many})}}",
            head + f"list[str]:\n    return [{label} for {label}, value in {many}.items() if value > {limit}]",
            head + f"int:\n    over = [value for value in {many}.values() if value % {share}]\n"
            f"    return sum(over) + {limit}",
            head + f'list[str]:\n    rows = [{label} + "=" + str(value) for {label}, value in {many}.items()]\n'
            f"    return sorted(rows)[:{share}]",
        )
    )


def each_called(module: Module, name: str, callees: Sequence[str]) -> str:
    """Call another function for each of a list, with a further number."""
    rng, (one, many), amount = module.namer.rng, module.namer.thing(), module.namer.amount()
    if amount == many:
        raise TooLongError(amount)
    callee, share = rng.choice(callees), rng.randrange(2, 9)
    head = f"def {name}({many}: list[int], {amount}: int) -> "
    return rng.choice(
        (
            head + f"list[int]:\n    return [{callee}({one}) + {amount} for {one} in {many}]",
            head + f"int:\n    return sum({callee}({one} + {amount}) for {one} in {many}[:{share}])",
            head + f"int:\n    highest = {amount}\n    for {one} in {many}:\n"
            f"        highest = max(highest, {callee}({one}))\n    return highest * {share}",
        )
    )


def called_twice(module: Module, name: str, callees: Sequence[str]) -> str:
    """Call one function or two, for two numbers."""
    rng, one, other = module.namer.rng, module.namer.amount(), module.namer.amount()
    if one == other:
        raise TooLongError(one)
    first, second, limit = rng.choice(callees), rng.choice(callees), rng.randrange(4, 70)
    head = wrapped(f"def {name}(", f"{one}: int, {other}: int", ") -> int:")
    return rng.choice(
        (
            head + f"\n    if {one} > {limit}:\n        return {first}({other})\n    return {second}({one}) + {other}",
            head + f"\n    return {first}({one} + {limit}) - {second}({other})",
            head + f"\n    part = {first}({one})\n    return part + {other} * {limit % 7 + 2}",
        )
    )


def labelled(module: Module, name: str, callees: Sequence[str]) -> str:
    """Show what another function returns."""
    rng, label, amount, callee = (
        module.namer.rng,
        _label(module),
        module.namer.amount(),
        module.namer.rng.choice(callees),
    )
    head = wrapped(f"def {name}(", f"{label}: str, {amount}: int", ") -> str:")
    return rng.choice(
        (
            head + f'\n    return {label} + "{rng.choice("-/:=")}" + str({callee}({amount}))',
            head + f"\n    shown = {callee}({amount} - {rng.randrange(2, 30)})\n"
            f'    return f"{{{label}:<{rng.randrange(6, 24)}}}{{shown:>{rng.randrange(2, 9)}}}"',
        )
    )


def _label(module: Module) -> str:
    return module.namer.rng.choice(module.namer.domain.labels)


def _adjective(module: Module) -> str:
    return module.namer.rng.choice(words()["adjective"])


def _letters(module: Module) -> str:
    return "".join(module.namer.rng.sample("abcdefghiklmnoprstuw", 2))


Maker = Callable[[Module, str, Sequence[str]], str]
MAKERS: Sequence[Maker] = (tally, lookup, label_of, clock, pairs, two_numbers, table)
CALLING: Sequence[Maker] = (each_called, called_twice, labelled)
