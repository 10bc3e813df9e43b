"""The world of stories: short invented ones, each about one person, with details that are stated or left out.

Whatever is asked later, a story is drawn the same way, and what it leaves out it mentions as often and at the same
length as what it states: every slot is in one or two clauses, and the one clause that states the detail takes the
place of one that does not. Four sentences of two clauses each put, as a rule, the mention of one thing beside the
detail of another: in two of them where their clauses meet, in the other two where the sentences meet. So whether a
thing stands inside of a sentence or at its edge does not tell whether its detail is stated.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from pipeline.recipe import TIERS
from pipeline.streams import Shuffled, Streams
from pipeline.worlds.plots import Plot, Slot, values_of
from pipeline.worlds.words import pool

WORLD = "stories@1"
TOKENS_PER_STORY = 36
"""One story for so many tokens of the tier: three times what a prompt of stories can hold."""
TOLD = (3, 4)
"""How many of a plot's slots a story states."""
TWICE = 3
"""How many slots stand in two clauses; the others stand in one."""
MINOR = ("weekday", "month", "town", "friend", "food")
"""Details of openings and closings: always stated and never asked."""
JOINERS = (", and ", ", and ", "; ")
BESIDE = ", while "
"""One more way to join clauses, but not of times and animals: there it would say that both were at one time."""
WITHOUT_BESIDE = ("time", "animal")


@dataclass(frozen=True, slots=True)
class Story:
    """A story as told: `stated` details by noun, and for each noun the stated ones next to which it stands."""

    name: str
    plot: Plot
    text: str
    stated: Mapping[str, str]
    beside: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Clause:
    """What one clause is about, whether it states the detail, and in which of its two wordings."""

    slot: Slot
    states: bool
    form: int


Pair = tuple[Clause, Clause]


def names(streams: Streams, tier: str) -> Sequence[str]:
    """Return the full names of all people of a tier's stories, no two the same."""
    return _names(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_STORY)


@lru_cache(maxsize=4)
def _names(world: Streams, count: int) -> Sequence[str]:
    firsts, lasts = pool("first"), pool("last")
    pairs = Shuffled(world.of("names"), len(firsts) * len(lasts)).take(count)
    return [f"{firsts[pair // len(lasts)]} {lasts[pair % len(lasts)]}" for pair in pairs.tolist()]


def draw_story(rng: Random, name: str, plot: Plot, told: int) -> Story:
    """Draw a story that states the detail of `told` slots of a plot."""
    first = name.partition(" ")[0]
    pairs = _arranged(rng, plot, told)
    nouns = [clause.slot.noun for pair in pairs for clause in pair if clause.states]
    stated = dict(zip(nouns, drawn(rng, plot.values, told, (first,)), strict=True))
    minor = {kind: drawn(rng, kind, 1, (first,))[0] for kind in MINOR} | {"name": name, "first": first}
    opening, closing = (rng.choice(texts).format_map(minor) for texts in (plot.openings, plot.closings))
    joiners = JOINERS if plot.kind in WITHOUT_BESIDE else (*JOINERS, BESIDE)
    sentences = [_sentence(rng.choice(joiners), pair, stated, first) for pair in pairs]
    return Story(name, plot, " ".join([opening, *sentences, closing]) + "\n", stated, _beside(pairs))


def drawn(rng: Random, kind: str, count: int, without: Sequence[str]) -> list[str]:
    """Draw distinct values of a kind, none of them in `without`."""
    found: list[str] = []
    values = values_of(kind)
    while len(found) < count:
        value = rng.choice(values)
        if value not in found and value not in without:
            found.append(value)
    return found


def _arranged(rng: Random, plot: Plot, told: int) -> list[Pair]:
    """Pair the clauses of a story so that no sentence is about one thing alone, in random order."""
    slots = rng.sample(plot.slots, len(plot.slots))
    twice = rng.sample(slots, TWICE)
    states = [(slot, True) for slot in slots[:told]]
    mentions = [(slot, False) for slot in [*slots[told:], *twice]]
    while True:
        rng.shuffle(mentions)
        both = list(zip(states, mentions, strict=False))
        both += zip(mentions[told::2], mentions[told + 1 :: 2], strict=True)
        rng.shuffle(both)
        pairs = _placed(rng, both)
        if _clear(pairs):
            return pairs


def _placed(rng: Random, both: Sequence[tuple[tuple[Slot, bool], tuple[Slot, bool]]]) -> list[Pair]:
    """Choose the order and the wording of the clauses of each sentence.

    Where a sentence is as it comes, its noun and its value meet in its middle: a statement that comes first ends in its
    value, and the mention after it begins with its noun; a mention that comes first ends in its noun, and the statement
    after it has its value early. Two neighbours are turned inside out, so that they meet each other in this way.
    """
    first, behind = rng.randrange(len(both) - 1), rng.random() < 0.5
    pairs = []
    for number, (left, right) in enumerate(both):
        turned = number in (first, first + 1)
        ordered = (right, left) if (behind if turned else rng.random() < 0.5) else (left, right)
        one, other = (
            Clause(slot, states, place if states != turned else 1 - place)
            for place, (slot, states) in enumerate(ordered)
        )
        pairs.append((one, other))
    return pairs


def _clear(pairs: Sequence[Pair]) -> bool:
    """Tell whether every sentence is about two things, and no clause stands twice."""
    clauses = [(clause.slot.noun, clause.states, clause.form) for pair in pairs for clause in pair]
    return all(left.slot is not right.slot for left, right in pairs) and len(set(clauses)) == len(clauses)


def _beside(pairs: Sequence[Pair]) -> dict[str, tuple[str, ...]]:
    """Return for each noun whose detail a neighbouring clause states, where their ends meet."""
    clauses = [clause for pair in pairs for clause in pair]
    found: dict[str, tuple[str, ...]] = {}
    for left, right in itertools.pairwise(clauses):
        for one, other in ((left, right), (right, left)):
            if other.states and not one.states and one.form == other.form == int(one is left):
                found[one.slot.noun] = (*found.get(one.slot.noun, ()), other.slot.noun)
    return found


def _sentence(joiner: str, pair: Pair, stated: Mapping[str, str], first: str) -> str:
    left, right = (_said(clause, stated, first) for clause in pair)
    text = left + joiner + right
    return f"{text[0].upper()}{text[1:]}."


def _said(clause: Clause, stated: Mapping[str, str], first: str) -> str:
    wordings = clause.slot.statements if clause.states else clause.slot.mentions
    value = stated.get(clause.slot.noun, "") if clause.states else ""
    return wordings[clause.form].format(first=first, v=value)
