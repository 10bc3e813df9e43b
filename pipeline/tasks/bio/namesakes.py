"""Namesakes of the people who are asked about: who reads half of a name, or takes the nearest one, is led astray.

Beside everybody who is asked about by name stand others who share two of the three names, and have other values: by
default three, one of each kind (another first, another middle, another last name), the knob `namesakes` times as many.
A text holds no further namesakes of the asked, and as many at 8,192 tokens as at a million; shorter texts that have no
room for all hold fewer, any kinds of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Published
from pipeline.tasks.bio import haystack
from pipeline.tasks.bio.proof import mark_faults
from pipeline.tasks.bio.reader import Entry
from pipeline.worlds.people import NAMES, namesakes

KNOB = (1, 0, 3)
KNOBS: dict[str, tuple[Any, ...]] = haystack.KNOBS | {"namesakes": KNOB}
"""The family's knobs, and the number of namesakes of each kind."""
TOKENS = 110
"""About as many tokens has a biography where it has most, on average."""
ASKING = 40
"""About as many tokens a person takes in question or demonstration."""
FRAME = 300
"""Tokens of introduction and instruction, at the most."""
REST = 4
"""So many biographies at least are other people's."""
THRICE = 4096
"""The length from which every part of an asked name stands three times."""


def room(stratum: Stratum, people: int, reply: int) -> int:
    """Return how many biographies of namesakes a text has room for beside those of `people` who are needed in it.

    `reply` is the number of tokens kept for the reply.
    """
    free = stratum.length - reply - FRAME - people * (TOKENS + ASKING)
    return max(0, free // TOKENS - REST)


def promised(stratum: Stratum, asked: int, shots: int, reply: int) -> int:
    """Return how many namesakes of each of `asked` people stand in the texts of a stratum, of all kinds together."""
    wanted = len(NAMES) * int(stratum.knob("namesakes", KNOB[0]))
    return min(wanted, room(stratum, asked * (1 + shots), reply) // asked)


def near(people: Iterable[int]) -> set[int]:
    """Return all namesakes of some people: those who are not placed may not be in the text."""
    return {one for person in people for kind in namesakes(person) for one in kind}


def drawn(own: Streams, people: Sequence[int], count: int) -> list[list[int]]:
    """Draw `count` namesakes for each of some people: kinds by turns, in random order, and of each kind anybody."""
    return [_drawn(own, person, place, count) for place, person in enumerate(people)]


def _drawn(own: Streams, person: int, place: int, count: int) -> list[int]:
    rng, kinds = own.of("namesakes", place), namesakes(person)
    orders = [rng.sample(kind, len(kind)) for kind in kinds]
    turns = [rng.sample(orders, len(orders)) for _ in orders[0]]
    return [kind[turn] for turn, mixed in enumerate(turns) for kind in mixed][:count]


def alike(entries: Sequence[Entry], name: str) -> list[tuple[int, Entry]]:
    """Return the biographies of a person's namesakes, each with the number of the name that is another."""
    parts, found = name.split(" "), []
    first, last = f"{parts[0]} ", f" {parts[-1]}"
    for entry in [one for one in entries if one.name.startswith(first) or one.name.endswith(last)]:
        same = [one == other for one, other in zip(parts, entry.name.split(" "), strict=True)]
        if sum(same) == len(parts) - 1:
            found.append((same.index(False), entry))
    return found


def faults(row: Published, entries: Sequence[Entry], asked: Mapping[str, str], count: int) -> Iterator[str]:
    """Hold the asked (each with what is asked of them) to `count` namesakes, who are marked and state other values."""
    marked: list[Entry] = []
    times = Counter(" ".join(entry.name for entry in entries).split(" "))
    for name, attribute in asked.items():
        found = alike(entries, name)
        marked += [entry for _, entry in found]
        yield from kind_faults(name, [kind for kind, _ in found], count)
        yield from _value_faults(name, attribute, entries, [entry for _, entry in found])
        least = min(times[part] for part in name.split(" "))
        if row.stratum.length >= THRICE and count >= len(NAMES) and least < len(NAMES):
            yield f"a part of {name} stands {least} times"
    yield from mark_faults(row, "decoy", marked, "namesakes")


def kind_faults(name: str, kinds: Sequence[int], count: int) -> Iterator[str]:
    """Hold somebody's namesakes to their number, and to be of each kind equally often, within one."""
    times = [kinds.count(kind) for kind in range(len(NAMES))]
    if sum(times) != count or max(times) - min(times) > 1:
        yield f"{name} has {times} namesakes by kind, {count} were promised"


def _value_faults(name: str, attribute: str, entries: Sequence[Entry], found: Sequence[Entry]) -> Iterator[str]:
    own = {entry.stated.get(attribute, "") for entry in entries if entry.name == name}
    if any(entry.stated.get(attribute) is None or entry.stated[attribute] in own for entry in found):
        yield f"a namesake of {name} states no {attribute} of their own"
