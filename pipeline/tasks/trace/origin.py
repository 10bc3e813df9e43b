"""trace.which_call: which call set the value that a setting has, before it was copied from file to file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from pipeline.tasks.base import Key
from pipeline.tasks.trace import text
from pipeline.tasks.trace.base import Dealer, Drawn, Step, TraceTask
from pipeline.tasks.trace.histories import mixed, nothing_pairs
from pipeline.worlds.desk import Act, CallWriter, State, acts, apply, job_text
from pipeline.worlds.desk.jobs import USER, user_line
from pipeline.worlds.desk.lexicon import VALUES

SETS = 4
"""How often the setting is set in the file where the value comes from; which time counts is dealt."""


class Write(NamedTuple):
    """A call that writes a setting; `counts` if it works, `needed` if the answer needs it."""

    act: Act
    counts: bool
    needed: bool


class Chain(NamedTuple):
    """A history of copies as text: what sets the value, and what naive readers take for it."""

    steps: Sequence[Step]
    origin: str
    sets: Sequence[str]
    """The codes of all calls that set the setting where the value comes from, in order."""
    shown: Sequence[str]
    """The codes of all calls that set it to that value, whatever came of them."""


class WhichCall(TraceTask):
    """Where a value comes from. `complexity` is the number of copies."""

    __slots__ = ()

    subtask = "which_call"
    title = "the call that set a value, which was then copied from file to file"
    complexities = (1, 3, 6)
    reply = text.REF
    fits = MappingProxyType({1: 8192, 3: 8192, 6: 16384})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw a chain of copies, and one for each twin, through files with similar names."""
        size, rng = dealer.stratum.complexity, dealer.rng("names")
        families = list[Sequence[str]]()
        while len(families) <= size:
            family = dealer.desk.fresh("file", rng)
            if all(family[0] != other[0] and not {*family} & {*other} for other in families):
                families.append(family)
        place, end = dealer.deal("place", SETS), dealer.deal("end", 3)
        key = rng.choice([*VALUES])
        value = rng.choice(VALUES[key])
        paths = [*zip(*families, strict=True)][: 1 + dealer.knob("twins")]
        followed, *twins = [
            chain(dealer, files, key, value, (place, end) if not at else (rng.randrange(SETS), rng.randrange(3)))
            for at, files in enumerate(paths)
        ]
        question = text.ORIGIN.format(key=key, file=paths[0][-1])
        shown = [*followed.shown, *(ref for one in twins for ref in one.shown)]
        latent = {
            "asked": "origin",
            "names": [path for files in paths for path in files],
            "needed": size + 1,
            "dealt": dealer.dealt,
            "guesses": {
                "uniform": 1 / len(shown),
                "first_set": float(followed.sets[0] == followed.origin),
                "last_set": float(followed.sets[-1] == followed.origin),
                "any_that_shows_it": 1 / len(shown),
            },
        }
        decoys = [[Step(step.text, "decoy") for step in one.steps] for one in twins]
        return Drawn(question, Key.accepting(followed.origin), [followed.steps, *decoys], latent)


def chain(dealer: Dealer, files: Sequence[str], key: str, value: int, dealt: tuple[int, int]) -> Chain:
    """Write how a value is set in one file and copied on, and what else happens to the setting."""
    writer = dealer.writer(files[0])
    rng, (place, end) = writer.rng, dealt
    writes = [Write(acts.set_value(files[0], key, value), True, True)]
    writes += [Write(acts.copy_value(source, target, key), True, True) for source, target in pairwise(files)]
    others = [
        Write(acts.set_value(files[0], key, value if again else other_value(rng, key, value)), True, False)
        for again in (abs(number - place) > 1 and rng.random() < 0.7 for number in range(SETS) if number != place)
    ]
    writes = [*others[:place], *writes[:2], *mixed(rng, [writes[2:], others[place:]])]
    for at, path in enumerate(files[1:], start=1):
        if rng.random() < 0.5:
            write = Write(acts.set_value(path, key, other_value(rng, key, value)), True, False)
            early = at == len(files) - 1 or rng.random() < 0.5
            writes = _put(rng, writes, write, before=at if early else None, after=None if early else at + 1)
    nothing = [
        (acts.copy_value(files[0], files[-1], key) if len(files) > 2 and rng.random() < 0.4 else _set(rng, files, key))
        for _ in range(_failures(rng, len(files), dealer.errors))
    ]
    for act in nothing:
        writes.insert(rng.randrange(1, len(writes)), Write(act, False, False))
    if dealer.errors and end < 2:
        writes.append(Write(acts.set_value(files[-1], key, rng.choice(VALUES[key])), False, False))
    return _written(writer, writes, (files, key, value))


def other_value(rng: Random, key: str, value: int) -> int:
    """Draw a value other than the one that is followed."""
    return next(other for other in iter(lambda: rng.choice(VALUES[key]), None) if other != value)


def _set(rng: Random, files: Sequence[str], key: str) -> Act:
    return acts.set_value(rng.choice(files), key, rng.choice(VALUES[key]))


def _failures(rng: Random, size: int, errors: float) -> int:
    return round(size * errors) + (rng.random() < 0.5) if errors else 0


def _put(rng: Random, writes: Sequence[Write], write: Write, before: int | None, after: int | None) -> list[Write]:
    """Put a write before or after one of those that are needed, by its number among them."""
    needed = [at for at, one in enumerate(writes) if one.needed]
    first = 0 if after is None else needed[after] + 1
    last = len(writes) if before is None else needed[before]
    at = rng.randrange(first, last + 1)
    return [*writes[:at], write, *writes[at:]]


def _written(writer: CallWriter, writes: Sequence[Write], asked: tuple[Sequence[str], str, int]) -> Chain:
    files, key, value = asked
    state, steps, sets, shown = State(), list[Step](), list[str](), list[str]()
    for write in writes:
        pairs = [writer.done(write.act)] if write.counts else nothing_pairs(writer, write.act)
        if write.counts:
            apply(state, write.act, pairs[-1].ref)
            if write.act.args.get("file") == files[0]:
                sets.append(pairs[-1].ref)
        if write.act.args.get("value") == value:
            shown.append(pairs[-1].ref)
        user = user_line(writer.sentences, pairs[0].text) if writer.rng.random() < USER else ""
        steps.append(Step(job_text(pairs, user), "relevant" if write.needed else "decoy"))
    return Chain(steps, state.cells[files[-1], key][1], sets, shown)
