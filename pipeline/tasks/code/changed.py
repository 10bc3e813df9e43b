"""code.changed: which commit gave a constant its present value, behind all reverts and reapplied commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Filler, Key, Layout, Piece, Placed, Plain, PoolSpec, Published, Sample, Unit, depths
from pipeline.tasks.code import log, text
from pipeline.tasks.code.base import SPARES, CodeTask, Drawn, Packages, Written, plan_row
from pipeline.tasks.code.reading import Repository
from pipeline.tasks.lines import Dealer
from pipeline.worlds.forge import (
    WORLD,
    Codes,
    Commit,
    Setting,
    history,
    log_texts,
    named_only,
    set_to,
    setting,
    source_digest,
    taken_back,
)

FILES = 3
"""Files in which the same constant stands, with changes of the same kind."""
NEEDED = {1: (1,), 5: (5,), 20: (19, 21)}
"""How many commits decide, by complexity: the one that is asked for, and pairs behind it."""
VALUES = range(2, 90)
FEW = 4
"""Values that a constant goes through: each comes again."""


class Told(NamedTuple):
    """Commits about a constant as units in order, the code of the one that counts, and all of them in order."""

    units: Sequence[Written]
    answer: str
    commits: Sequence[Commit]


class Changed(CodeTask):
    """Where the value of a constant comes from. `complexity` is about how many commits decide it."""

    __slots__ = ()

    subtask = "changed"
    title = "the commit that gave a constant its present value, behind reverts and reapplied commits"
    complexities = (1, 5, 20)
    reply = text.COMMIT
    fits = MappingProxyType({1: 8192, 5: 8192, 20: 16384})

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (PoolSpec(f"forge-commits-{stratum.tier}", 1, stratum.tier, f"{WORLD}:{source_digest()}", make_log),)

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw the history of a constant, and those of constants of the same name in two other files."""
        rng, world = dealer.rng("commits"), history(dealer.row_streams, dealer.stratum.tier)
        codes = world.codes(world.units * 4 + rng.randrange(1 << 30))
        packages, values = Packages(rng), rng.sample(VALUES, FEW)
        _, namer = packages.new()
        name = namer.constant(of_row=True)
        module = rng.choice(namer.domain.modules)
        places = [setting(rng, *packages.new(namer.domain), name, module) for _ in range(FILES)]
        ends = [dealer.deal("end", range(3)), *rng.choices(range(3), k=FILES - 1)]
        histories = [
            told(rng, codes, place, values, rng.choice(NEEDED[dealer.stratum.complexity]), end)
            for place, end in zip(places, ends, strict=True)
        ]
        own = histories[0]
        files = list(own.units)
        shown = {
            "asked": "commit",
            "name": name,
            "paths": [place.path for place in places],
            "needed": sum(one.role == "relevant" for one in own.units),
            "histories": [len(one.units) for one in histories],
            "dealt": {thing: list(dealt) for thing, dealt in dealer.dealt.items()},
            "guesses": guesses(own),
        }
        files += [Written(one.text, "decoy") for other in histories[1:] for one in other.units]
        question = text.CHANGED.format(constant=name, path=places[0].path)
        return Drawn(question, Key.accepting(own.answer), files, shown)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Mingle the histories of a row, each in its order, among commits of the world."""
        stratum = sample.stratum
        files = iter(plan_row(self, stratum, sample.index, row_streams, stratum_streams).files)
        wanted = sorted(depths(stratum_streams, row_streams, stratum.rows, sample.index, len(sample.relevant)))
        rng, lines = row_streams.of("decoys"), list[tuple[float, Written]]()
        for count in sample.latent["histories"]:
            some = [next(files) for _ in range(count)]
            lines += zip(_spread(rng, some, wanted), some, strict=True)
            wanted = []
        lines.sort(key=lambda one: one[0])
        units = history(row_streams, stratum.tier).units
        spares = Shuffled(row_streams.of("spares"), units).take(SPARES)
        order = Shuffled(row_streams.of("filler"), units, frozenset(spares.tolist()))
        return Layout(
            head=(Piece(text.LOG_INTRODUCTION, "instruction"), Piece(text.LOG_START, "instruction")),
            placed=tuple(
                Placed.line(one.text, one.role, depth, rank=at) for at, (depth, one) in enumerate(lines, start=1)
            ),
            filler=Filler(self.pools(stratum)[0].name, order, spares),
            tail=(Piece(text.LOG_TAIL.format(reply=self.reply, question=sample.question), "question"),),
        )

    def solved(self, repository: Repository) -> tuple[str, ...]:
        """Refuse: there are no files."""
        raise NotImplementedError

    def answers(self, text: str) -> tuple[str, ...]:
        """Go through the commits about the constant."""
        return log.answers(log.read_log(text))

    def faults(self, row: Published) -> Iterator[str]:
        """Prove that each commit that is needed is, that no other is, and that values follow from one another."""
        return log.faults(row)


def make_log(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write the commits of a pool."""
    return iter(Plain(log_texts(streams, spec.tier)))


def _spread(rng: Random, units: Sequence[Written], needed: Sequence[float]) -> Iterator[float]:
    """Yield a depth for each unit of a history: those that are needed have theirs, others lie anywhere between."""
    edges, at = [0.0, *needed, 1.0], 0
    roles = [one.role == "relevant" and bool(needed) for one in units]
    while roles:
        run = next((count for count, role in enumerate(roles) if role), len(roles))
        yield from sorted(rng.uniform(edges[at], edges[at + 1]) for _ in range(run))
        roles = roles[run + 1 :] if run < len(roles) else []
        if run < len(units) and at < len(needed):
            at += 1
            yield edges[at]


def told(rng: Random, codes: Codes, place: Setting, values: Sequence[int], needed: int, end: int) -> Told:
    """Write how a constant came to its value, and what was changed, tried and taken back before and behind that.

    Each of few values comes again: the last one may have been set before, and behind by a commit that is reverted.
    """
    units, commits = list[Written](), list[Commit]()
    final, *others = rng.sample(values, len(values))
    now = rng.choice(others)

    def write(*some: Commit, role: bool = False) -> None:
        nonlocal now
        commits.extend(some)
        units.append(Written("".join(one.text for one in some), "relevant" if role else "decoy"))
        now = some[-1].new

    def tried(value: int) -> None:
        first = set_to(rng, codes, place, now, value)
        write(first, taken_back(rng, codes, place, first))

    for value in early(rng, final, others, now):
        write(set_to(rng, codes, place, now, value))
    if rng.random() < 0.5:
        tried(rng.choice([one for one in values if one != now]))
    answer = set_to(rng, codes, place, now, final)
    write(answer, role=True)
    left = needed - 1
    while left:
        some = [*pairs(rng, codes, place, answer, [final, *others], left // 2, again=bool(end) and left == needed - 1)]
        for commit in some:
            write(commit, role=True)
        left -= len(some)
    if needed == 1 and end:
        write(*nested(rng, codes, place, [final, rng.choice(others), final]))
    elif needed == 1 and rng.random() < 0.5:
        tried(rng.choice(others))
    for _ in range(rng.randrange(1, 3)):
        named = named_only(rng, codes, place)
        commits.append(named)
        units.append(Written(named.text, "decoy"))
    return Told(units, answer.code, commits)


def early(rng: Random, final: int, others: Sequence[int], now: int) -> Sequence[int]:
    """Draw the values before the last one, which may be among them; none stands twice in a row."""
    found = [now]
    for _ in range(rng.randrange(2, 5)):
        found.append(rng.choice([one for one in (final, final, *others) if one != found[-1]]))
    if found[-1] == final:
        found.append(rng.choice(others))
    return found[1:]


def pairs(
    rng: Random, codes: Codes, place: Setting, answer: Commit, values: Sequence[int], left: int, *, again: bool
) -> Sequence[Commit]:
    """Return commits that take one another back, one pair or two: of other changes, or of the one that stands.

    With `again` the value that stands is set once more, and that is reverted.
    """
    final, *others = values
    kind = 0 if again else rng.randrange(4)
    if left > 1 and kind == 0:
        one = rng.choice(others)
        return nested(
            rng, codes, place, [final, one, final if again else rng.choice([value for value in values if value != one])]
        )
    found = [set_to(rng, codes, place, final, rng.choice(others))]
    if kind == 2 and not again and left < 9:
        found = [taken_back(rng, codes, place, answer)]
    for _ in range(3 if left > 1 and kind == 1 else 1):
        found.append(taken_back(rng, codes, place, found[-1]))
    return found


def nested(rng: Random, codes: Codes, place: Setting, values: Sequence[int]) -> Sequence[Commit]:
    """Return two changes, from the first value to the others, and their reverts, the last change first."""
    first, second, third = values
    one, other = set_to(rng, codes, place, first, second), set_to(rng, codes, place, second, third)
    return [one, other, taken_back(rng, codes, place, other), taken_back(rng, codes, place, one)]


def guesses(own: Told) -> dict[str, float]:
    """Return the scores of naive readers of the right file: the last commit that names the constant, or sets it."""
    sets = [one for one in own.commits if one.new and not one.subject.startswith(("Revert ", "Reapply "))]
    final = next(one.new for one in sets if one.code == own.answer)
    to_it = [one.code for one in sets if one.new == final]
    return {
        "uniform": 1 / len(sets),
        "last_named": float(own.commits[-1].code == own.answer),
        "last_set": float(sets[-1].code == own.answer),
        "first_of_the_value": float(to_it[0] == own.answer),
        "last_of_the_value": float(to_it[-1] == own.answer),
    }
