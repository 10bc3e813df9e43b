"""code.changed: which commit gave a constant its present value, despite reverts and reapplied commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import (
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    Plain,
    PoolSpec,
    PublishedRow,
    Sample,
    Unit,
    depths,
    history_depths,
)
from pipeline.tasks.code import log, text
from pipeline.tasks.code.base import SPARES, CodeTask, Drawn, Packages, Written, plan_row
from pipeline.tasks.lines import Dealer
from pipeline.worlds.forge import (
    BODIES,
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
"""Files with a constant of the same name, and changes of the same kind."""
NEEDED_COMMITS = {1: (1,), 5: (5,), 20: (19, 21)}
"""How many commits are needed, by complexity: the one that is asked for, and pairs after it."""
VALUES = range(2, 90)
IN_TWO_OF_THREE = (False, True, True)
"""What is dealt for whether the last value is set again and reverted, and whether the right commit is reapplied."""
GAP_FACTOR = 0.2
"""The factor by which the gap after the right commit, and after each point where all is reverted, is shortened."""
VALUES_OF_CONSTANT = 4
"""Values that a constant takes, each more than once."""


class History(NamedTuple):
    """Commits about a constant: their units in order, the code of the right one, and all commits in order."""

    units: Sequence[Written]
    answer: str
    commits: Sequence[Commit]


class Changed(CodeTask):
    """The origin of a constant's value. `complexity` is roughly the number of commits needed."""

    __slots__ = ()

    subtask = "changed"
    version = 5
    title = "the commit that gave a constant its present value, despite reverts and reapplied commits"
    complexities = (1, 5, 20)
    reply = text.COMMIT
    fits = MappingProxyType({1: 8192, 5: 8192, 20: 16384})

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (PoolSpec(f"forge-commits-{stratum.tier}", 4, stratum.tier, f"{WORLD}:{source_digest()}", make_log),)

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw the history of a constant, and those of constants of the same name in two other files."""
        rng, world = dealer.rng("commits"), history(dealer.row_streams, dealer.stratum.tier)
        codes = world.codes(world.units * 4 + rng.randrange(1 << 30))
        packages, values = Packages(rng), rng.sample(VALUES, VALUES_OF_CONSTANT)
        _, namer = packages.new()
        name = namer.constant(of_row=True)
        module = rng.choice(namer.domain.modules)
        places = [setting(rng, *packages.new(namer.domain), name, module) for _ in range(FILES)]
        turns = [(dealer.deal("again", IN_TWO_OF_THREE), dealer.deal("reapplied", IN_TWO_OF_THREE))]
        turns += [(rng.choice(IN_TWO_OF_THREE), rng.choice(IN_TWO_OF_THREE)) for _ in range(FILES - 1)]
        histories = [
            HistoryWriter(rng, codes, place, values).write_history(
                rng.choice(NEEDED_COMMITS[dealer.stratum.complexity]), again=again, reapplied=reapplied
            )
            for place, (again, reapplied) in zip(places, turns, strict=True)
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
        """Interleave the histories of a row, each in order, among commits of the world."""
        stratum = sample.stratum
        files = iter(plan_row(self, stratum, sample.index, row_streams, stratum_streams).files)
        wanted = sorted(depths(stratum_streams, row_streams, stratum.rows, sample.index, len(sample.relevant)))
        rng, lines = row_streams.of("decoys"), list[tuple[float, Written]]()
        for at in range(0, len(wanted) - 1, 2):  # a reader who stops early rarely stops where all is reverted
            wanted[at] += (1 - GAP_FACTOR) * (wanted[at + 1] - wanted[at])
        for count in sample.latent["histories"]:
            some = [next(files) for _ in range(count)]
            lines += zip(history_depths(rng, [one.role for one in some], wanted), some, strict=True)
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

    def answers(self, text: str) -> tuple[str, ...]:
        """Replay the commits about the constant."""
        return log.answers(log.read_log(text))

    def faults(self, row: PublishedRow) -> Iterator[str]:
        """Prove that relevant commits are needed, that decoys are not, and that values are consistent."""
        return log.faults(row)


def make_log(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write the commits of a pool."""
    return iter(Plain(log_texts(streams, spec.tier)))


class HistoryWriter:
    """Writes the history of a constant: how it got its value, and what was changed and reverted before and after that.

    Its few values recur: the last one may also be set before, and after by a commit that is reverted.
    """

    def __init__(self, rng: Random, codes: Codes, place: Setting, values: Sequence[int]) -> None:
        self.rng, self.codes, self.place = rng, codes, place
        self.final, *self.others = rng.sample(values, len(values))
        self.units, self.commits = list[Written](), list[Commit]()

    def write_history(self, needed: int, *, again: bool, reapplied: bool) -> History:
        """Write all commits, of which `needed` are needed: the right one, and pairs that cancel out.

        With `reapplied`, one pair reverts and reapplies the right commit. With `again`, the last value is set once more
        and reverted. Commits that are not needed form one unit, so that they can be left out together.
        """
        rng = self.rng
        self.before()
        answer = self.set(self.commits[-1].new, self.final)
        self.write(answer, needed=True)
        gone, left = self.back(answer), needed - 1
        parts = [[gone, self.back(gone)]] if reapplied else []
        while sum(map(len, parts)) < left:
            parts.append(self.tried(left - sum(map(len, parts))))
        needs = [(part, bool(left)) for part in parts] + ([(self.nested(), False)] if again else [])
        for part, role in rng.sample(needs, len(needs)):
            for some in [[commit] for commit in part] if role else [part]:
                self.write(*some, needed=role)
        line = rng.choice(BODIES)
        for thing in rng.sample(self.place.namer.domain.things, rng.randrange(1, 3)):
            self.write(named_only(rng, self.codes, self.place, thing, line))
            line += rng.randrange(8, 30)
        return History(self.units, answer.code, self.commits)

    def write(self, *some: Commit, needed: bool = False) -> None:
        """Write commits as one unit."""
        self.commits.extend(some)
        self.units.append(Written("".join(one.text for one in some), "relevant" if needed else "decoy"))

    def set(self, old: int, new: int) -> Commit:
        """Return a commit that changes the constant."""
        return set_to(self.rng, self.codes, self.place, old, new)

    def back(self, commit: Commit) -> Commit:
        """Return a commit that reverts another."""
        return taken_back(self.rng, self.codes, self.place, commit)

    def before(self) -> None:
        """Write earlier changes, some of them to the final value, that do not last."""
        rng, now = self.rng, self.rng.choice(self.others)
        for _ in range(rng.randrange(2, 5)):
            new = rng.choice([one for one in (self.final, self.final, *self.others) if one != now])
            self.write(self.set(now, new))
            now = new
        if now == self.final:
            self.write(self.set(now, rng.choice(self.others)))
        now = self.commits[-1].new
        if rng.random() < 0.5:
            one = self.set(now, rng.choice([value for value in (self.final, *self.others) if value != now]))
            self.write(one, self.back(one))

    def nested(self) -> list[Commit]:
        """Return two changes, to another value and back to the final one, then their reverts in reverse order."""
        one = self.set(self.final, self.rng.choice(self.others))
        other = self.set(one.new, self.final)
        return [one, other, self.back(other), self.back(one)]

    def tried(self, left: int) -> list[Commit]:
        """Return a change and its revert, sometimes followed by a revert of the revert and its revert."""
        found = [self.set(self.final, self.rng.choice(self.others))]
        for _ in range(3 if left > 2 and self.rng.random() < 0.4 else 1):
            found.append(self.back(found[-1]))
        return found


def guesses(own: History) -> dict[str, float]:
    """Return the scores of guessers that know the right file, such as the last commit that sets the constant."""
    sets = [one for one in own.commits if one.new and not one.subject.startswith(("Revert ", "Reapply "))]
    final = next(one.new for one in sets if one.code == own.answer)
    to_it = [one.code for one in sets if one.new == final]
    reverted = "".join(one.text for one in own.commits if one not in sets)
    standing = [code for code in to_it if code not in reverted]
    return {
        "uniform": 1 / len(sets),
        "last_named": float(own.commits[-1].code == own.answer),
        "last_set": float(sets[-1].code == own.answer),
        "first_of_the_value": float(to_it[0] == own.answer),
        "last_of_the_value": float(to_it[-1] == own.answer),
        "never_reverted": float(bool(standing) and standing[-1] == own.answer),
    }
