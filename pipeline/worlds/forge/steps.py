"""What a function does to a list of numbers, as steps: drawn, carried out, put into words, and changed into decoys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import ne
from random import Random
from typing import Any, NamedTuple

from pipeline.caches import cache
from pipeline.streams import stream
from pipeline.worlds.forge.names import is_of_row, words

FILTERS = ("above", "below", "multiple", "uneven")
MAPS = ("times", "plus", "minus", "over", "rest", "at_most", "at_least")
ORDERS = ("rising", "falling", "turned")
CUTS = ("first", "last", "without", "every")
ENDS = ("total", "largest", "smallest", "number", "spread")
KINDS = {"filter": FILTERS, "map": MAPS, "order": ORDERS, "cut": CUTS, "end": ENDS}
SORT_OF = {kind: sort for sort, kinds in KINDS.items() for kind in kinds}
NUMBERS = range(2, 10)
WAYS = ("turned round", "numbers", "end", "step")
"""How a decoy differs: two steps swapped, two numbers swapped, another end, another step."""
LEAST_SEEN = 3
"""In how many of the tried lists a step must make a difference."""

NONE, TRUE, MISLEADING = "none", "true", "misleading"
JOINED = ", then "
ROOM = 77
"""The most characters of a one-line docstring."""

Value = int | list[int]


class Step(NamedTuple):
    """One step, with its number, if any."""

    kind: str
    number: int = 0

    @property
    def sort(self) -> str:
        """Whether it filters numbers, changes, orders or cuts them, or ends in one."""
        return SORT_OF[self.kind]


ACTS: Mapping[str, Callable[[list[int], int], Value]] = {
    "above": lambda items, number: [one for one in items if one > number],
    "below": lambda items, number: [one for one in items if one < number],
    "multiple": lambda items, number: [one for one in items if one % number == 0],
    "uneven": lambda items, number: [one for one in items if one % number],
    "times": lambda items, number: [one * number for one in items],
    "plus": lambda items, number: [one + number for one in items],
    "minus": lambda items, number: [one - number for one in items],
    "over": lambda items, number: [one // number for one in items],
    "rest": lambda items, number: [one % number for one in items],
    "at_most": lambda items, number: [min(one, number) for one in items],
    "at_least": lambda items, number: [max(one, number) for one in items],
    "rising": lambda items, _: sorted(items),
    "falling": lambda items, _: sorted(items, reverse=True),
    "turned": lambda items, _: items[::-1],
    "first": lambda items, number: items[:number],
    "last": lambda items, number: items[-number:],
    "without": lambda items, number: items[number:],
    "every": lambda items, number: items[::number],
    "total": lambda items, _: sum(items),
    "largest": lambda items, _: max(items, default=0),
    "smallest": lambda items, _: min(items, default=0),
    "number": lambda items, _: len(items),
    "spread": lambda items, _: max(items, default=0) - min(items, default=0),
}


def result(steps: Sequence[Step], values: list[int]) -> Value:
    """Return what steps make of a list."""
    value: Value = values
    for step in steps:
        if isinstance(value, list):
            value = ACTS[step.kind](value, step.number)
    return value


@cache
def tried() -> Sequence[list[int]]:
    """Return the lists that behaviours are distinguished by."""
    rng = stream("forge", "lists")
    return [[rng.randrange(-3, 28) for _ in range(rng.randrange(9, 15))] for _ in range(6)]


def behaviour(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return what steps make of the tried lists."""
    return tuple(str(result(steps, values)) for values in tried())


def draw_steps(rng: Random, count: int, *, of_row: bool) -> Sequence[Step]:
    """Draw `count` steps, each of which makes a difference; their behaviour is reserved for rows, or is the pool's."""
    while True:
        steps = _drawn(rng, count)
        results = behaviour(steps)
        if is_of_row("|".join(results)) == of_row and is_sound(steps, results):
            return steps


def is_sound(steps: Sequence[Step], results: Sequence[str]) -> bool:
    """Return whether each step makes a difference, none makes all numbers equal, and lists have different results."""
    if len({*results}) < len(results) - 2 or "[]" in results:
        return False
    stages = [_stages(steps, values) for values in tried()]
    for at, step in enumerate(steps):
        rest = steps[at + 1 :]
        differs = (result(rest, stage[at]) != stage[-1] for stage in stages)
        if sum(islice(filter(None, differs), LEAST_SEEN)) < LEAST_SEEN:
            return False
        if step.sort == "map" and len({one for stage in stages for one in stage[at + 1]}) < 2:
            return False
    return True


def _stages(steps: Sequence[Step], values: list[int]) -> list[Any]:
    """Return a list, and what each step in turn makes of it."""
    made: list[Any] = [values]
    for step in steps:
        made.append(ACTS[step.kind](made[-1], step.number))
    return made


def _drawn(rng: Random, count: int) -> Sequence[Step]:
    sorts = list[str]()
    ends = rng.random() < 0.65
    while len(sorts) < count - ends:
        sort = rng.choice(("filter", "filter", "map", "map", "order", "cut"))
        last = sorts[-1] if sorts else ""
        if sort != last and (sort in ("filter", "map") or sort not in sorts):
            sorts.append(sort)
    if ends:
        sorts.append("end")
    kinds = [rng.choice(KINDS[sort]) for sort in sorts]
    return [Step(kind, numbered(rng, kind)) for kind in kinds]


def numbered(rng: Random, kind: str) -> int:
    """Draw the number of a step, or 0 if it has none."""
    return 0 if SORT_OF[kind] in ("order", "end") else rng.choice(NUMBERS)


def near_misses(rng: Random, steps: Sequence[Step], count: int) -> Sequence[Sequence[Step]]:
    """Return variants of some steps, each different in one way, with distinct behaviours and evenly mixed ways.

    In a variant, too, every step makes a difference: code that sorts numbers to add them up would stand out.
    """
    variants, known = list[Sequence[Step]](), [behaviour(steps)]
    for at in range(count):
        change = WAYS[at % len(WAYS)]
        candidates = chain(_changed(rng, steps, change), *(_changed(rng, steps, other) for other in ("step", "end")))
        for candidate in candidates:
            results = behaviour(candidate)
            if all(sum(map(ne, results, one)) >= LEAST_SEEN for one in known) and is_sound(candidate, results):
                known.append(results)
                variants.append(candidate)
                break
    return variants


def _changed(rng: Random, steps: Sequence[Step], change: str) -> Iterator[Sequence[Step]]:
    """Yield steps changed in one way, in random order."""
    places = [(at, to) for at in range(len(steps)) for to in range(at + 1, len(steps))]
    rng.shuffle(places)
    body = len(steps) - (steps[-1].sort == "end")
    if change == "turned round":
        for at, to in (place for place in places if place[1] < body):
            yield _exchanged(steps, at, to, steps[to], steps[at])
    elif change == "numbers":
        for at, to in places:
            one, other = steps[at], steps[to]
            if one.number and other.number and one.number != other.number:
                yield _exchanged(steps, at, to, Step(one.kind, other.number), Step(other.kind, one.number))
    else:
        at = len(steps) - 1 if change == "end" else rng.randrange(body)
        kinds = [kind for kind in KINDS[steps[at].sort] if kind != steps[at].kind]
        for kind in rng.sample(kinds, len(kinds)):
            number = steps[at].number or numbered(rng, kind)
            yield [*steps[:at], Step(kind, number), *steps[at + 1 :]]


def _exchanged(steps: Sequence[Step], at: int, to: int, one: Step, other: Step) -> Sequence[Step]:
    return [*steps[:at], one, *steps[at + 1 : to], other, *steps[to + 1 :]]


def in_words(rng: Random, steps: Sequence[Step]) -> str:
    """Return steps in words, in order."""
    return JOINED.join(rng.choice(words()[f"say_{step.kind}"]).replace("N", str(step.number)) for step in steps)


def told_in_doc(rng: Random, steps: Sequence[Step], docs: str) -> str:
    """Return what a docstring says about steps: nothing, what they do, or what they do not.

    One line cannot hold all of them: it has the first and the last, or one of these.
    """
    if docs == NONE:
        return ""
    if docs == MISLEADING:
        misses = near_misses(rng, steps, 1)
        steps = misses[0] if misses else draw_steps(rng, len(steps), of_row=False)
    parts = [[steps[0], steps[-1]], [steps[0]], [steps[-1]]]
    text = next(text for text in (in_words(rng, part) for part in parts) if len(text) <= ROOM)
    return f"{text[0].upper()}{text[1:]}."
