"""longqa.kin: a person's relative, two to four steps away, from entries about births, marriages and deaths.

Besides the asked family there are two others of the same form and with partly the same surnames. An entry that lists
people names the last couple of each once more, with another couple whose child an entry names, so that being listed and
a parent tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.annals import solve as annals_solver
from pipeline.tasks.annals.haystack import PlannedEntry
from pipeline.tasks.base import Key, PublishedRow, Role, Sample
from pipeline.tasks.longqa import solve as solver
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import ROLL, Drawn, LongQa, roll
from pipeline.worlds.chronicle import Chronicle, listed
from pipeline.worlds.chronicle.entries import FIRST_DAY, LAST_DAY, ON_ROLL
from pipeline.worlds.chronicle.world import STONES, YEAR, Names, parents, sex

FATHER, MOTHER, SPOUSE = "father", "mother", "spouse"
TOLD_AT = ("birth", "marriage", "burial")
"""The entries that may state a person's parents."""
TRIES = 4000


@dataclass(frozen=True, slots=True)
class Family:
    """A line of ancestors: its entries, first and last person, others, and the birthday of the last one's child."""

    entries: Sequence[PlannedEntry]
    first: str
    first_is_woman: bool
    last: str
    others: Sequence[str]
    bore: int


def paths(steps: int) -> list[tuple[str, ...]]:
    """Return every path of `steps` steps to an ancestor of a person, or of a person's husband or wife."""
    lines: list[tuple[str, ...]] = [()]
    for _ in range(steps - 1):
        lines = [(*line, step) for line in lines for step in (FATHER, MOTHER)]
    return [(*line, step) for line in lines for step in (FATHER, MOTHER)] + [(SPOUSE, *line) for line in lines]


def schedule(rng: Random, path: Sequence[str], day: int) -> tuple[list[int], list[str], int]:
    """Draw the days of a line's entries, one of which is `day`, and the kind of entry for each step.

    The third result is the birthday of the last person's child.

    Raises:
        ValueError: if the line does not fit into the annals.
    """
    for _ in range(TRIES):
        born, days, kinds = [0], [], []
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
            kinds.append(at)
            older = rng.randrange(-5 * YEAR, 5 * YEAR) if step == SPOUSE else -rng.randrange(24 * YEAR, 38 * YEAR)
            born.append(mine + older)
        shift = day - rng.choice(days)
        days = [one + shift for one in days]
        if min(days) >= FIRST_DAY and max(days) <= LAST_DAY and len(set(days)) == len(days):
            return days, kinds, born[-2] + shift
    raise ValueError("the line does not fit into the annals")


def family(
    rng: Random, names: Names, path: Sequence[str], day: int, role: Role, like: Sequence[str] = (), *, woman: bool
) -> Family:
    """Draw a line and plan its entries, one of them on `day`; it begins with a surname of one of the names `like`."""
    days, told_at, bore = schedule(rng, path, day)
    surname = rng.choice(like).split(" ")[1] if like else ""
    first = now = names.new(surname, woman=woman)
    partner = ""
    entries, others = list[PlannedEntry](), list[str]()
    is_woman = woman
    for step, at, when in zip(path, told_at, days, strict=True):
        if step == SPOUSE:
            spouse = names.new(woman=not is_woman)
            entries.append(PlannedEntry(when, "wedding", _couple(now, spouse, woman=is_woman), role))
            now, is_woman, partner = spouse, not is_woman, now
            continue
        father, mother = names.new(now.split(" ")[1], woman=False), names.new(woman=True)
        known = parents(father, mother)
        if at == "marriage":
            partner = partner or names.new(woman=not is_woman)
            kind = "bride" if is_woman else "groom"
            entries.append(PlannedEntry(when, kind, {**_couple(now, partner, woman=is_woman), **known}, role))
        else:
            who = "child" if at == "birth" else "person"
            entries.append(PlannedEntry(when, at, {who: now, **known, **sex(woman=is_woman)}, role))
        now, partner, is_woman = (father, mother, False) if step == FATHER else (mother, father, True)
        others.append(partner)
    return Family(entries, first, woman, now, others, bore)


def _couple(one: str, other: str, *, woman: bool) -> dict[str, str]:
    return {"husband": other, "wife": one} if woman else {"husband": one, "wife": other}


YOUNG, OLD, DEAD = 2 * YEAR, 18 * YEAR, 68 * YEAR
"""Days before and after the birth of a child within which its parents are alive, and after which both are dead."""
FAMILIES = 2
"""The number of other families."""
GRAND = {(FATHER, FATHER): "paternal grandfather", (FATHER, MOTHER): "paternal grandmother",
         (MOTHER, FATHER): "maternal grandfather", (MOTHER, MOTHER): "maternal grandmother",
         (SPOUSE, FATHER): "father-in-law", (SPOUSE, MOTHER): "mother-in-law"}  # fmt: skip
"""Names for two steps at once."""


class Kin(LongQa):
    """A relative. `complexity` is the number of steps, each stated in an entry of its own."""

    __slots__ = ()

    subtask = "kin"
    version = 7
    title = "a relative of somebody, through births, marriages and deaths"
    complexities = (2, 3, 4)
    rules = text.FAMILIES

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw the asked family, with one of its entries at the depth of the row, and two others."""
        every = paths(stratum.complexity)
        path = every[deal(stratum_streams.of("path"), stratum.rows, index, len(every))]
        woman = bool(deal(stratum_streams.of("sex"), stratum.rows, index, 2))
        depth = spread(stratum_streams.of("depth"), stratum.rows, index)
        found = _families(world, row_streams, path, world.day_at(depth), woman=woman)
        mine, others = found[0], found[1:]
        rng = row_streams.of("asked")
        question = rng.choice(text.RELATIVES).format(relative=phrase(rng, path, mine))
        entries = [*mine.entries, *(one for other in others for one in other.entries)]
        entries += _listed(world, row_streams, path, found)
        shown = {
            "asked": "-".join(path),
            "person": mine.first,
            "told": [one.kind for one in mine.entries],
        }
        return Drawn(question, Key(mine.last, (mine.last,)), entries, (), shown)

    def answers(self, text: str) -> tuple[str, ...]:
        """Follow the steps from entry to entry."""
        return (annals_solver.relative(text)[0],)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that each step needs its entry, and that no other entry states it."""
        return solver.kin_faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of any person in the families' entries, and of any last person or their partner."""
        return {"uniform": 1 / (2 * (FAMILIES + 1) * sample.stratum.complexity), "any_end": 1 / (2 * (FAMILIES + 1))}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the path that is asked for."""
        return {"path": (sample.latent["asked"], len(paths(sample.stratum.complexity)))}


def _listed(
    world: Chronicle, row_streams: Streams, path: Sequence[str], found: Sequence[Family]
) -> Iterable[PlannedEntry]:
    """Yield, for each family, an entry that lists its last couple and another, and one about a child of the other."""
    names = world.newcomers(row_streams.of("couples"))
    names.taken.update(name for one in found for planned in one.entries for name in planned.about.values())
    like = _namesakes(path, found[0])
    for at, one in enumerate(found):
        rng = row_streams.of("rolls", at)
        kind, days = _named_on(one.bore)
        while True:
            woman, step = rng.random() < 0.5, (rng.choice((FATHER, MOTHER)),)
            other = family(rng, names, step, world.day_at(rng.random()), "anchor", like, woman=woman)
            other_kind, other_days = _named_on(other.bore)
            both = range(max(days.start, other_days.start), min(days.stop, other_days.stop))
            if kind == other_kind and both:
                break
        day = rng.choice(both)
        some = [one.last, one.others[-1], other.last, other.others[-1]]
        yield from other.entries
        if kind == ROLL:
            yield PlannedEntry(*roll(world, rng, some, day), "anchor")
        else:
            every = [*some, *rng.sample(world.dead(day), rng.choice(ON_ROLL) - len(some))]
            yield PlannedEntry(day, STONES, {"names": listed(rng.sample(every, len(every)))}, "anchor")


def _named_on(bore: int) -> tuple[str, range]:
    """Return the kind and the days of entries that may list the parents of somebody born on a day, alive or dead."""
    alive = range(max(bore - YOUNG, FIRST_DAY), min(bore + OLD, LAST_DAY) + 1)
    return (ROLL, alive) if alive else (STONES, range(max(bore + DEAD, FIRST_DAY), LAST_DAY + 1))


def _namesakes(path: Sequence[str], mine: Family) -> Sequence[str]:
    """Return names whose surnames other families have; only that of the person asked about if fathers hand it on."""
    if all(step == FATHER for step in path[:-1]):
        return [mine.first]
    return [mine.first, mine.last, *mine.others]


def _families(world: Chronicle, row_streams: Streams, path: Sequence[str], day: int, *, woman: bool) -> list[Family]:
    """Draw the asked family, and others whose first people have surnames from it."""
    for turn in count():
        names = world.newcomers(row_streams.of("names", turn))
        rng = row_streams.of("families", turn)
        try:
            mine = family(rng, names, path, day, "relevant", woman=woman)
            like = _namesakes(path, mine)
            days = [world.day_at(rng.random()) for _ in range(FAMILIES)]
            others = [family(rng, names, path, one, "decoy", like, woman=woman) for one in days]
        except ValueError:  # a day near an end of the annals may leave no room for the others
            continue
        return [mine, *others]
    raise AssertionError


def phrase(rng: Random, path: Sequence[str], of: Family) -> str:
    """Return the relative at the end of a path in words; two steps may become one word, such as mother-in-law."""
    relative, at, woman = of.first, 0, of.first_is_woman
    while at < len(path):
        two = tuple(path[at : at + 2])
        if two in GRAND and rng.random() < 0.7:
            word, at = GRAND[two], at + 2
        else:
            word = ("husband" if woman else "wife") if path[at] == SPOUSE else path[at]
            at += 1
        relative = f"the {word} of {relative}"
    return relative
