"""longqa.state and longqa.choice: who owned a property on a day.

What decides is the last sale that still stood: sales are set aside and restored, so that each of 1, 5 or 20 entries is
needed. Another property that shares a word of the name is mentioned as often, and changed hands but once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.caches import cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.annals import solve as reading
from pipeline.tasks.annals.haystack import PlannedEntry, asked_property, days_at
from pipeline.tasks.base import Key, Published, Role, Sample, Turns
from pipeline.tasks.longqa import solve as proof
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import Drawn, LongQa, buyers, quiet, rolls, scattered
from pipeline.worlds.chronicle import Chronicle, new_year, written, year
from pipeline.worlds.chronicle.entries import LAST_DAY
from pipeline.worlds.chronicle.world import REDO, SALE, UNDO, UNDO2, Step, Title, owner

STEPS = (SALE, SALE, SALE, SALE, SALE, UNDO, UNDO, UNDO, UNDO, REDO, REDO, REDO, UNDO2)
"""How often each step is tried."""


def _walk(rng: Random, title: Title, steps: int, told: int) -> Iterator[Step]:
    """Yield steps that can be taken, each one's buyer a new number, and take them."""
    for _ in range(steps):
        kind = rng.choice(_able(min(len(title.standing), 2), min(len(title.undone), 1)))
        buyer = str(told) if kind == SALE else ""
        told += kind == SALE
        title.take(kind, buyer)
        yield kind, buyer


@cache
def _able(standing: int, undone: int) -> list[str]:
    """Return the steps that can be taken where so many sales stand, and so many may be restored."""
    can = {SALE: True, UNDO: standing > 0, UNDO2: standing > 1, REDO: undone > 0}
    return [step for step in STEPS if can[step]]


def _buyers(steps: Sequence[Step]) -> int:
    return sum(kind == SALE for kind, _ in steps)


def _replay(steps: Sequence[Step]) -> Title:
    title = Title()
    for kind, buyer in steps:
        title.take(kind, buyer)
    return title


def changes(steps: Sequence[Step], without: int, right: str = "") -> bool:
    """Return whether the owner is another, or there is none, without one of the steps; `right` owns it with all."""
    try:
        return owner([*steps[:without], *steps[without + 1 :]]) != (right or owner(steps))
    except ValueError:
        return True


def _forgotten(rng: Random, count: int) -> tuple[list[Step], str]:
    """Draw steps, no single one of which matters once the property is sold again, and the number of that buyer."""
    while True:
        steps = list(_walk(rng, Title(), count, 0))
        mine = str(_buyers(steps))
        sold = [*steps, (SALE, mine)]
        if (not count or _replay(steps).standing) and not any(changes(sold, at, mine) for at in range(count)):
            return steps, mine


def _sold_on(rng: Random, title: Title, count: int, told: int) -> Iterator[Step]:
    """Yield steps of which the first is a sale: the owner asked for is not the last who is named."""
    if count:
        title.take(SALE, str(told))
        yield SALE, str(told)
        yield from _walk(rng, title, count - 1, told + 1)


def history(rng: Random, before: int, needed: int, after: int, behind: int = -1) -> list[Step]:
    """Draw a history: `needed` steps decide who owns it behind them, those `before` and `after` do not.

    Buyers are numbers, in order. `behind` is how many of the needed sales are to come after the owner's; negative for
    any number.
    """
    first, mine = _forgotten(rng, before)
    while True:
        title = _replay(first)
        title.take(SALE, mine)
        core = [(SALE, mine), *_walk(rng, title, needed - 1, int(mine) + 1)]
        if not title.standing or title.standing[-1] != mine or behind not in (-1, _buyers(core) - 1):
            continue
        steps = [*first, *core]
        if all(changes(steps, at, mine) == (at >= before) for at in range(len(steps))):
            return [*steps, *_sold_on(rng, title, after, _buyers(steps))]


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


def past(world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Past:
    """Draw a history: each of the steps needed is uniform in its share of the annals, others are before and after."""
    needed = stratum.complexity
    depths = [(at + spread(stratum_streams.of("depth", at), stratum.rows, index)) / needed for at in range(needed)]
    least = int(needed > 1)  # what is set aside first must leave an owner
    first = least + deal(stratum_streams.of("before"), stratum.rows, index, OTHERS + 1 - least)
    behind = deal(stratum_streams.of("behind"), stratum.rows, index, BEHIND) if needed == BALANCED else -1
    rng = row_streams.of("history")
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

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw a history in which there is a day to ask about."""
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        found = self.past(world, stratum, index, row_streams, stratum_streams)
        rng = row_streams.of("asked")
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, found.asked))
        told = [
            PlannedEntry(
                day, kind, {"prop": prop, **({"buyer": buyer} if buyer else {})}, role_of(needed=at in found.needed)
            )
            for at, ((kind, buyer), day) in enumerate(zip(found.steps, found.days, strict=True))
        ]
        other = twins(world, row_streams.of("near"), twin, len(told), found.buyers)
        told += other
        told += rolls(world, row_streams.of("rolls"), buyers(told))
        shown = {
            "property": prop,
            "twin": twin,
            "steps": [kind for kind, _ in found.steps],
            "needed": [found.needed.start, found.needed.stop],
            "buyers": found.buyers,
        }
        return Drawn(
            question, self.keyed(found, row_streams, stratum_streams, stratum, index), told, (prop, twin), shown
        )

    def past(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Past:
        """Draw a history between whose steps there is a day to ask about."""
        turn = 0
        while not (found := past(world, stratum, index, _turn(row_streams, turn), stratum_streams)).asked:
            turn += 1
        return found

    def keyed(self, found: Past, row_streams: Streams, stratum_streams: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: the owner's name."""
        return Key(found.owner, (found.owner,))

    def answers(self, text: str) -> tuple[str, ...]:
        """Read what befell the property, and say whose it was."""
        return (reading.owned(text),)

    def faults(self, row: Published) -> Iterable[str]:
        """Prove that each entry needed is, that no other is, and that the other property is mentioned as often."""
        return proof.state_faults(row)

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


def _turn(row_streams: Streams, turn: int) -> Streams:
    return Streams((*row_streams.path, "turn", turn)) if turn else row_streams


def role_of(*, needed: bool) -> Role:
    """Return the role of an entry about the asked property."""
    return "relevant" if needed else "decoy"


def twins(world: Chronicle, rng: Random, prop: str, count: int, taken: Sequence[str]) -> list[PlannedEntry]:
    """Return as many entries about another property: one sale, and what changes no owner."""
    kinds, sale = quiet(rng, count), rng.randrange(count)
    found = []
    for at, day in enumerate(scattered(world, rng, count)):
        if at == sale:
            buyer = rng.choice([one for one in world.living(day) if one not in taken])
            found.append(PlannedEntry(day, SALE, {"prop": prop, "buyer": buyer}, "decoy"))
        else:
            found.append(PlannedEntry(day, kinds[at], {"prop": prop}, "decoy"))
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

    def past(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Past:
        """Draw a history with four buyers or more."""
        turn = 0
        while True:
            found = super().past(world, stratum, index, _turn(row_streams, turn), stratum_streams)
            if len(found.buyers) >= FEWEST:
                return found
            turn += 1

    def keyed(self, found: Past, row_streams: Streams, stratum_streams: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: a letter, dealt evenly."""
        rng, letter = row_streams.of("options"), self.letter(stratum_streams, stratum, index)
        others = rng.sample([one for one in found.buyers if one != found.owner], len(text.LETTERS) - 1)
        names = (*others[:letter], found.owner, *others[letter:])
        forms = text.accepted(text.LETTERS[letter], found.owner)
        return Key(forms[0], forms, names)

    @staticmethod
    def letter(stratum_streams: Streams, stratum: Stratum, index: int) -> int:
        """Return which letter is right."""
        return deal(stratum_streams.of("letter"), stratum.rows, index, len(text.LETTERS))

    def asking(self, sample: Sample) -> str:
        """Return the question with its options."""
        return sample.question + text.options(sample.key.choices or ())

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read whose the property was, and say by which letter that is offered."""
        return text.accepted(*reading.lettered(turns[-1][1]))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return what the task without options gives, but for a uniform guess among four."""
        return {**super().baselines(sample, key), "uniform": 1 / len(text.LETTERS)}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the right letter, and what the task without options deals."""
        return {**super().dealt(sample), "letter": (sample.key.target, len(text.LETTERS))}


LATER = 2
"""Sales after the day asked about, and other things that befell the property."""
UNDONE = 3
"""How many sales may have been set aside before the one that answers: none, one or two."""


class Unanswerable(LongQa):
    """Pairs of rows: with the sale that answers (`complexity` 1), and with a happening in its place (0)."""

    __slots__ = ()

    subtask = "unanswerable"
    title = "who owned a property on a day, in pairs of rows with and without the sale that tells"
    scorer = "idk_pair"
    complexities = (0, 1)
    paired = True
    version = 2
    reply = text.MAY_LACK

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw entries about a property: sales before the one that tells are set aside, and others come later."""
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        place = spread(stratum_streams.of("depth"), stratum.rows, index)
        undone = deal(stratum_streams.of("undone"), stratum.rows, index, UNDONE)
        rng, many = row_streams.of("history"), LATER
        before = sorted(place * rng.random() for _ in range(2 * undone))
        later = sorted(place + (1 - place) * rng.random() for _ in range(many))
        quiets, days = quiet(rng, many + 1), days_at(world, [*before, place, *later])
        kinds = [*(SALE, UNDO) * undone, SALE if stratum.complexity else quiets[-1], *[SALE] * many]
        told, taken = list[PlannedEntry](), dict[str, int]()
        for at, (kind, day) in enumerate(zip(kinds, days, strict=True)):
            about = {"prop": prop}
            if kind != UNDO:
                name = rng.choice([one for one in world.living(day) if one not in taken])
                taken[name] = day
            if kind == SALE:
                about["buyer"] = name
            told.append(PlannedEntry(day, kind, about, role_of(needed=at == len(before))))
        told += [
            PlannedEntry(day, kind, {"prop": prop}, "decoy")
            for kind, day in zip(quiets, scattered(world, rng, many), strict=False)
        ]
        start, stop = days[len(before)], days[len(before) + 1]
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, range(start + 1, max(stop, start + 2))))
        other = twins(world, row_streams.of("near"), twin, len(told), [*taken])
        told += [*other, *rolls(world, row_streams.of("rolls"), {**taken, **buyers(other)})]
        forms = ([*taken][undone],) if stratum.complexity else text.REFUSALS
        shown = {"property": prop, "twin": twin, "buyers": [*taken], "undone": undone}
        return Drawn(question, Key(forms[0], forms), told, (prop, twin), shown)

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read whose the property was, or find that nothing tells."""
        found = reading.owned(turns[-1][1], known=False)
        return (found,) if found else text.REFUSALS

    def faults(self, row: Published) -> Iterable[str]:
        """Prove that one sale tells whose the property was, or none."""
        return proof.pair_faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of who names any buyer, the first, and of who always refuses; no reply is right in both."""
        stated = sample.stratum.complexity == 1
        return {
            "uniform": stated / len(sample.latent["buyers"]),
            "first_buyer": float(stated and not sample.latent["undone"]),
            "refusal": float(not stated),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return how many sales were set aside before the one that tells."""
        return {"sales set aside": (sample.latent["undone"], UNDONE)}
