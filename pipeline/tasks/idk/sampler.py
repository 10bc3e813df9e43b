"""Draws a story and a question with its choices, so that nothing but the meaning of one sentence tells the class.

The asked thing is either one of a pair. Answerable or not, the detail that the sentence about the pair states is among
the choices, at a place that is dealt: it is the detail of the asked thing, or of the other. The same draws give in both
classes the same story, question and choices, but for the words that say of which of the two the detail is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pipeline.streams import Permutation, Streams, deal
from pipeline.tasks.idk.text import LETTERS, UNKNOWN, question
from pipeline.worlds.plots import KINDS, Plot, plots
from pipeline.worlds.stories import PAIRS, Story, draw_story, drawn

STATED = (1, 1, 2, 2, 3)
"""How many of the three choices a story states, each in its share of the rows of either class."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is dealt over the rows of a stratum.

    Of the asked thing: the number of its `pair`, and its `side`, which of the two it is. Of the choices: how many are
    `stated`, and at which `place` the one stands that the sentence about the pair states.
    """

    plot: Plot
    stated: int
    place: int
    pair: int
    side: int
    answerable: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A story, the noun whose detail is asked, and the four choices, `letter` being the right one."""

    story: Story
    noun: str
    question: str
    choices: tuple[str, ...]
    letter: str


def wish(shared: Streams, rows: int, index: int, *, answerable: bool) -> Wish:
    """Deal row `index` of a stratum its plot, its counts and its places."""

    def dealt(name: str, kinds: Sequence[int]) -> int:
        return kinds[deal(shared.of(name), rows, index, len(kinds))]

    plot = _plot(shared, rows, index)
    pair, side = divmod(dealt("asked", range(2 * PAIRS)), 2)
    return Wish(plot, dealt("stated", STATED), dealt("place", range(3)), pair, side, answerable)


def _plot(shared: Streams, rows: int, index: int) -> Plot:
    """Deal a plot in rounds of all, each in runs that hold every kind once."""
    block, place = divmod(index, rows)
    turn, nth = divmod(block * rows + Permutation(shared.of("plots", block), rows)[place], len(plots()))
    place, nth = divmod(nth, len(KINDS))
    run = Permutation(shared.of("runs", turn), len(plots()) // len(KINDS))[place]
    return plots()[run * len(KINDS) + Permutation(shared.of("kinds", turn, place), len(KINDS))[nth]]


def any_wish(rng: Random, *, answerable: bool) -> Wish:
    """Draw what a row of a stratum is dealt."""
    plot, stated, place = rng.choice(plots()), rng.choice(STATED), rng.randrange(3)
    return Wish(plot, stated, place, rng.randrange(PAIRS), rng.randrange(2), answerable)


def draw(rng: Random, name: str, wished: Wish) -> Asked:
    """Draw a story about `name`, and ask for a detail that it states, or mentions without stating it."""
    owner = wished.side if wished.answerable else 1 - wished.side
    story = draw_story(rng, name, wished.plot, {wished.pair: owner})
    pair = story.pairs[wished.pair]
    lures = rng.sample([other.value for other in story.pairs if other is not pair], PAIRS - 1)
    others = [*lures[: wished.stated - 1], *_unstated(rng, story, 3 - wished.stated)]
    rng.shuffle(others)
    others.insert(wished.place, pair.value)
    letter = LETTERS[wished.place] if wished.answerable else LETTERS[-1]
    noun = pair.nouns[wished.side]
    return Asked(story, noun, question(wished.plot, noun, name), (*others, UNKNOWN), letter)


def _unstated(rng: Random, story: Story, count: int) -> list[str]:
    """Draw values of the kind that is asked which the story does not hold, in whatever role."""
    found: list[str] = []
    while len(found) < count:
        (value,) = drawn(rng, story.plot.values, 1, found)
        if not holds(story.text, value):
            found.append(value)
    return found


def holds(text: str, value: str) -> bool:
    """Tell whether a text holds a value, as whole words and without its article."""
    bare = value.removeprefix("a ").removeprefix("an ")
    return re.search(rf"(?<![\w:]){re.escape(bare)}(?![\w:])", text, re.IGNORECASE) is not None
