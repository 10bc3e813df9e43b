"""Families of people who are not in the world: a line of ancestors, told at births, marriages and deaths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pipeline.tasks.base import Role
from pipeline.tasks.longqa.frame import Told
from pipeline.worlds.chronicle.entries import FIRST_DAY, LAST_DAY
from pipeline.worlds.chronicle.population import YEAR, Names
from pipeline.worlds.chronicle.world import parents, sex

FATHER, MOTHER, SPOUSE = "father", "mother", "spouse"
TOLD_AT = ("birth", "marriage", "burial")
"""Where it is told who somebody's parents are."""
TRIES = 4000


@dataclass(frozen=True, slots=True)
class Family:
    """A line of ancestors: everybody's entry, the name of the last, and who else is named."""

    told: Sequence[Told]
    first: str
    first_is_woman: bool
    last: str
    others: Sequence[str]


def paths(steps: int) -> list[tuple[str, ...]]:
    """Return every line of so many steps: ancestors of somebody, or of somebody's husband or wife."""
    lines: list[tuple[str, ...]] = [()]
    for _ in range(steps - 1):
        lines = [(*line, step) for line in lines for step in (FATHER, MOTHER)]
    return [(*line, step) for line in lines for step in (FATHER, MOTHER)] + [(SPOUSE, *line) for line in lines]


def schedule(rng: Random, path: Sequence[str], day: int) -> tuple[list[int], list[str]]:
    """Draw days of the entries of a line, one of which is `day`, and where each step is told.

    Raises:
        ValueError: if the line does not fit into the annals.
    """
    for _ in range(TRIES):
        born, days, told = [0], [], []
        for place, step in enumerate(path):
            mine = born[place]
            at = rng.choice(TOLD_AT)
            if step == SPOUSE or (place == 1 and path[0] == SPOUSE and at == "marriage"):
                at = "wedding" if step == SPOUSE else "birth"
            life = {"birth": 0, "burial": rng.randrange(46, 86), "marriage": 0, "wedding": rng.randrange(20, 32)}[at]
            wed = born[place - 1] - rng.randrange(300, 4 * YEAR) if place and path[place - 1] != SPOUSE else 0
            if at == "marriage":
                days.append(wed if place else mine + rng.randrange(20 * YEAR, 34 * YEAR))
            else:
                days.append(mine + life * YEAR + (rng.randrange(YEAR) if life else 0))
            told.append(at)
            older = rng.randrange(-5 * YEAR, 5 * YEAR) if step == SPOUSE else -rng.randrange(24 * YEAR, 38 * YEAR)
            born.append(mine + older)
        shift = day - rng.choice(days)
        days = [one + shift for one in days]
        if min(days) >= FIRST_DAY and max(days) <= LAST_DAY and len(set(days)) == len(days):
            return days, told
    raise ValueError("the line does not fit into the annals")


def family(
    rng: Random, names: Names, path: Sequence[str], day: int, role: Role, like: Sequence[str] = (), *, woman: bool
) -> Family:
    """Draw a line and tell it; one of its entries is of a day. `like` are names with whose surnames it begins."""
    days, told_at = schedule(rng, path, day)
    surname = rng.choice(like).split(" ")[1] if like else ""
    first = now = names.new(surname, woman=woman)
    partner = ""
    told, others = list[Told](), list[str]()
    is_woman = woman
    for step, at, when in zip(path, told_at, days, strict=True):
        if step == SPOUSE:
            spouse = names.new(woman=not is_woman)
            told.append(Told(when, "wedding", _couple(now, spouse, woman=is_woman), role))
            now, is_woman, partner = spouse, not is_woman, now
            continue
        father, mother = names.new(now.split(" ")[1], woman=False), names.new(woman=True)
        known = parents(father, mother)
        if at == "marriage":
            partner = partner or names.new(woman=not is_woman)
            kind = "bride" if is_woman else "groom"
            told.append(Told(when, kind, {**_couple(now, partner, woman=is_woman), **known}, role))
        else:
            who = "child" if at == "birth" else "person"
            told.append(Told(when, at, {who: now, **known, **sex(woman=is_woman)}, role))
        now, partner, is_woman = (father, mother, False) if step == FATHER else (mother, father, True)
        others.append(partner)
    return Family(told, first, woman, now, others)


def _couple(one: str, other: str, *, woman: bool) -> dict[str, str]:
    return {"husband": other, "wife": one} if woman else {"husband": one, "wife": other}
