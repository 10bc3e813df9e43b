"""What guessers score without following the program, in the spirit of Michelangelo, appendix B.1.

``uniform`` knows the list's initial numbers and those that relevant operations add, but not what becomes of them. For
``len`` it guesses any length that is asked for, and for ``min`` and ``max`` any of the numbers. For ``print`` and
``sum`` it keeps each number with probability one half, shuffles the kept ones and takes a random slice. The expectation
is exact, except that for ``sum`` it is a mean of 64 draws.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import comb, fsum, perm, prod

from pipeline.caches import lru_cache
from pipeline.metrics import closeness
from pipeline.streams import stream
from pipeline.tasks.base import Sample
from pipeline.tasks.latent_list.sample import lengths
from pipeline.worlds.programs import START, View

DRAWS = 64


def baselines(name: str, sample: Sample) -> dict[str, float]:
    """Return the scores of guessers: ``uniform``, the view of the initial list, and the last number added."""
    target = sample.key.target
    numbers = named(sample.latent["operations"])
    span = sample.latent["slice"]
    chances = {
        "uniform": uniform(name, sample, numbers),
        "initial": guess(name, target, _initial(View(name, tuple(span) if span else None))),
    }
    if name != "len":
        chances["last_number"] = guess(name, target, str([numbers[-1]]) if name == "print" else str(numbers[-1]))
    return chances


def named(operations: Sequence[str]) -> list[int]:
    """Return the numbers of the initial list, then those that operations add, in order."""
    added = [re.findall(r"-?\d+", line)[-1] for line in operations if line.startswith((">> a.append", ">> a.insert"))]
    return [*START, *map(int, added)]


def guess(name: str, target: str, reply: str) -> float:
    """Score a guess as the scorer does."""
    if name == "print" or not reply:
        return float(reply == target)
    return closeness(int(target), int(reply))


def _initial(view: View) -> str:
    try:
        return view.output(START)
    except ValueError:
        return ""


def uniform(name: str, sample: Sample, numbers: Sequence[int]) -> float:
    """Return the expected score of the uniform guesser."""
    if name == "print":
        return _printed(sample.latent["final"][slice(*sample.latent["slice"])], numbers)
    target = int(sample.key.target)
    if name == "len":
        guesses: Sequence[int] = lengths(sample.stratum.complexity)
    elif name == "sum":
        guesses = _sums(sample.latent["operations"], numbers)
    else:
        guesses = numbers
    return fsum(closeness(target, given) for given in guesses) / len(guesses)


def _printed(target: Sequence[int], numbers: Sequence[int]) -> float:
    """Return the chance that the slice is the target: that it is as wide, times that its numbers are the same."""
    have, want = Counter(numbers), Counter(target)
    ways = prod(perm(have[value], times) for value, times in want.items())
    return _widths(len(numbers))[len(target)] * ways / perm(len(numbers), len(target)) if ways else 0.0


def _sums(operations: Sequence[str], numbers: Sequence[int]) -> list[int]:
    rng = stream("latent_list chance", *operations)
    widths = rng.choices(range(len(numbers) + 1), _widths(len(numbers)), k=DRAWS)
    return [sum(rng.sample(numbers, width)) for width in widths]


@lru_cache(maxsize=64)
def _widths(count: int) -> tuple[float, ...]:
    """Return the chance of each width of a slice of a random part of `count` numbers; it is 0 if none is kept."""
    chances = [0.0] * (count + 1)
    for kept in range(count + 1):
        share = comb(count, kept) / 2**count
        if not kept:
            chances[0] += share
        for width in range(1, kept + 1):
            chances[width] += share * (kept - width + 1) * 2 / (kept * (kept + 1))
    return tuple(chances)
