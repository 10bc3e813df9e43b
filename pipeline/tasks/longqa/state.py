"""longqa.state and longqa.choice: who owned a property on a day.

What decides is the last sale that still stood: sales are set aside and restored, so that each of 1, 5 or 20 entries is
needed. Another property that shares a word of the name is mentioned as often, and changed hands but once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.base import Key, Published, Role, Sample, Turns
from pipeline.tasks.longqa import owners, proof, text
from pipeline.tasks.longqa.frame import Drawn, LongQa, Told, asked_property, buyers, days_at, quiet, rolls, strewn
from pipeline.tasks.longqa.histories import history
from pipeline.worlds.chronicle import Chronicle, new_year, written, year
from pipeline.worlds.chronicle.entries import LAST_DAY
from pipeline.worlds.chronicle.titles import SALE

OTHERS = 6
"""Steps of the asked property before and after those that decide."""
BALANCED = 5
"""Steps with which it is dealt how many sales come behind the owner's."""
BEHIND = 3
"""How many sales that may be: none, one or two."""
FEWEST = 4
"""Buyers of a property of which four are to choose from."""


@dataclass(frozen=True, slots=True)
class Past:
    """A history on its days: kinds and buyers, and which steps are needed."""

    steps: Sequence[tuple[str, str]]
    days: Sequence[int]
    needed: range

    @property
    def owner(self) -> str:
        """Who owns the property behind the steps needed."""
        return self.steps[self.needed.start][1]

    @property
    def buyers(self) -> list[str]:
        """Everybody who bought it, in order."""
        return [buyer for kind, buyer in self.steps if kind == SALE]

    @property
    def asked(self) -> range:
        """The days on which the answer is as it is asked."""
        last = self.needed.stop
        return range(self.days[last - 1] + 1, self.days[last] if last < len(self.days) else LAST_DAY)


def past(world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Past:
    """Draw a history: each of the steps needed is uniform in its share of the annals, others are before and after."""
    needed = stratum.complexity
    depths = [(at + spread(shared.of("depth", at), stratum.rows, index)) / needed for at in range(needed)]
    least = int(needed > 1)  # what is set aside first must leave an owner
    first = least + deal(shared.of("before"), stratum.rows, index, OTHERS + 1 - least)
    behind = deal(shared.of("behind"), stratum.rows, index, BEHIND) if needed == BALANCED else -1
    rng = own.of("history")
    before = sorted(depths[0] * rng.random() for _ in range(first))
    after = sorted(depths[-1] + (1 - depths[-1]) * rng.random() for _ in range(OTHERS - first))
    days = days_at(world, [*before, *depths, *after])
    steps = history(rng, first, needed, OTHERS - first, behind)
    return Past(_named(world, rng, steps, days), days, range(first, first + needed))


def _named(
    world: Chronicle, rng: Random, steps: Sequence[tuple[str, str]], days: Sequence[int]
) -> list[tuple[str, str]]:
    """Return the steps with people of the time as buyers, nobody twice."""
    taken: set[str] = set()
    found = []
    for (kind, buyer), day in zip(steps, days, strict=True):
        if buyer:
            buyer = rng.choice([one for one in world.living(day) if one not in taken])
            taken.add(buyer)
        found.append((kind, buyer))
    return found


def when(rng: Random, days: range) -> str:
    """Return words for one of some days: the end of a year, in half of the cases where one is among them."""
    ends = [now for now in range(year(days.start), year(days.stop)) if new_year(now + 1) - 1 in days]
    if ends and rng.random() < 0.5:
        return text.END_OF.format(year=rng.choice(ends))
    return text.ON.format(day=written(rng.choice(days)))


class State(LongQa):
    """Who owned a property. `complexity` is the number of entries that decide it."""

    __slots__ = ()

    subtask = "state"
    version = 2
    title = "who owned a property on a day, as sales are made, set aside and restored"
    complexities: tuple[int, ...] = (1, 5, 20)
    shortest = 8192

    def drawn(self, world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Drawn:
        """Draw a history in which there is a day to ask about."""
        prop, twin = asked_property(world, index, own, shared)
        found = self.past(world, stratum, index, own, shared)
        rng = own.of("asked")
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, found.asked))
        told = [
            Told(day, kind, {"prop": prop, **({"buyer": buyer} if buyer else {})}, role_of(needed=at in found.needed))
            for at, ((kind, buyer), day) in enumerate(zip(found.steps, found.days, strict=True))
        ]
        other = twins(world, own.of("near"), twin, len(told), found.buyers)
        told += other
        told += rolls(world, own.of("rolls"), buyers(told))
        shown = {
            "property": prop,
            "twin": twin,
            "steps": [kind for kind, _ in found.steps],
            "needed": [found.needed.start, found.needed.stop],
            "buyers": found.buyers,
        }
        return Drawn(question, self.keyed(found, own, shared, stratum, index), told, (prop, twin), shown)

    def past(self, world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Past:
        """Draw a history between whose steps there is a day to ask about."""
        turn = 0
        while not (found := past(world, stratum, index, _turn(own, turn), shared)).asked:
            turn += 1
        return found

    def keyed(self, found: Past, own: Streams, shared: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: the owner's name."""
        return Key(found.owner, (found.owner,))

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read what befell the property, and say whose it was.

        Raises:
            ValueError: if the text cannot be read, or nobody owned it.
        """
        return (owners.owned(turns[-1][1]),)

    def check(self, row: Published) -> list[str]:
        """Prove that each entry needed is, that no other is, and that the other property is mentioned as often."""
        return list(proof.state_faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of who names any buyer, the first, the last, or the last before the day."""
        latent, owner = sample.latent, sample.latent["buyers"]
        before = sum(kind == SALE for kind in latent["steps"][: latent["needed"][1]])
        mine = sum(kind == SALE for kind in latent["steps"][: latent["needed"][0]])
        return {
            "uniform": 1 / len(owner),
            "first_buyer": float(mine == 0),
            "last_buyer": float(mine == len(owner) - 1),
            "last_before": float(mine == before - 1),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return how many sales come behind the owner's, where that is dealt."""
        if sample.stratum.complexity != BALANCED:
            return {}
        start, stop = sample.latent["needed"]
        sales = sum(kind == SALE for kind in sample.latent["steps"][start:stop])
        return {"sales behind the owner's": (sales - 1, BEHIND)}


def _turn(own: Streams, turn: int) -> Streams:
    return Streams((*own.path, "turn", turn)) if turn else own


def role_of(*, needed: bool) -> Role:
    """Return the role of an entry about the asked property."""
    return "relevant" if needed else "decoy"


def twins(world: Chronicle, rng: Random, prop: str, count: int, taken: Sequence[str]) -> list[Told]:
    """Return as many entries about another property: one sale, and what changes no owner."""
    kinds, sale = quiet(rng, count), rng.randrange(count)
    found = []
    for at, day in enumerate(strewn(world, rng, count)):
        if at == sale:
            buyer = rng.choice([one for one in world.living(day) if one not in taken])
            found.append(Told(day, SALE, {"prop": prop, "buyer": buyer}, "decoy"))
        else:
            found.append(Told(day, kinds[at], {"prop": prop}, "decoy"))
    return found


class Choice(State):
    """The same, with four to choose from, all of whom bought it at some time."""

    __slots__ = ()

    subtask = "choice"
    version = 2
    title = "which of four owners of a property it belonged to on a day"
    scorer = "choice"
    complexities = (1, 5)
    reply = text.LETTER

    def past(self, world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Past:
        """Draw a history with four buyers or more."""
        turn = 0
        while True:
            found = super().past(world, stratum, index, _turn(own, turn), shared)
            if len(found.buyers) >= FEWEST:
                return found
            turn += 1

    def keyed(self, found: Past, own: Streams, shared: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: a letter, dealt evenly."""
        rng, letter = own.of("options"), self.letter(shared, stratum, index)
        others = rng.sample([one for one in found.buyers if one != found.owner], len(text.LETTERS) - 1)
        names = (*others[:letter], found.owner, *others[letter:])
        forms = text.accepted(text.LETTERS[letter], found.owner)
        return Key(forms[0], forms, names)

    @staticmethod
    def letter(shared: Streams, stratum: Stratum, index: int) -> int:
        """Return which letter is right."""
        return deal(shared.of("letter"), stratum.rows, index, len(text.LETTERS))

    def asking(self, sample: Sample) -> str:
        """Return the question with its options."""
        return sample.question + text.options(sample.key.choices or ())

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read whose the property was, and say by which letter that is offered.

        Raises:
            ValueError: if the text cannot be read, or the owner is no option.
        """
        return text.accepted(*owners.lettered(turns[-1][1]))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return what the task without options gives, but for a uniform guess among four."""
        return {**super().baselines(sample, key), "uniform": 1 / len(text.LETTERS)}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the right letter, and what the task without options deals."""
        return {**super().dealt(sample), "letter": (sample.key.target, len(text.LETTERS))}
