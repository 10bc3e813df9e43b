"""Draws a story and a question with its choices; what a row's class must not show is dealt alike in both classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from pipeline.streams import Streams, deal
from pipeline.tasks.idk.text import LETTERS, UNKNOWN, question
from pipeline.worlds.plots import KINDS, Plot, plots
from pipeline.worlds.stories import TOLD, Story, draw_story, drawn

Kind = TypeVar("Kind")
STATED = (1, 1, 2, 2, 3)
"""How many of the three choices a story states, each in its share of the rows of either class."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is dealt over the rows of a stratum. `place` is where the right choice stands, if there is one."""

    plot: Plot
    told: int
    stated: int
    place: int
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
    """Deal row `index` of a stratum its plot and counts. Where rows are few, which of them it gets is random too."""

    def dealt(name: str, kinds: Sequence[Kind]) -> Kind:
        rng = shared.of(name)
        order = rng.sample(kinds, len(kinds))
        return order[deal(rng, rows, index, len(order))]

    plot = _mixed(shared.of("plots"))[deal(shared.of("plot"), rows, index, len(plots()))]
    return Wish(plot, dealt("told", TOLD), dealt("stated", STATED), dealt("place", (0, 1, 2)), answerable)


def _mixed(rng: Random) -> list[Plot]:
    """Return all plots in random order, so that each run of as many as there are kinds still holds every kind."""
    runs = [plots()[start : start + len(KINDS)] for start in range(0, len(plots()), len(KINDS))]
    return [plot for run in rng.sample(runs, len(runs)) for plot in rng.sample(run, len(run))]


def any_wish(rng: Random, *, answerable: bool) -> Wish:
    """Draw what a row of a stratum is dealt."""
    plot, told, stated = rng.choice(plots()), rng.choice(TOLD), rng.choice(STATED)
    return Wish(plot, told, stated, rng.randrange(3), answerable)


def draw(rng: Random, name: str, wished: Wish) -> Asked:
    """Draw a story about `name`, and ask for a detail that it states, or mentions without stating it."""
    story = draw_story(rng, name, wished.plot, wished.told)
    untold = [slot.noun for slot in wished.plot.slots if slot.noun not in story.stated]
    noun = rng.choice(list(story.stated) if wished.answerable else untold)
    lures = _lures(rng, story, noun)[: wished.stated - wished.answerable]
    others = [*(story.stated[lure] for lure in lures), *_unstated(rng, story, 3 - wished.stated)]
    rng.shuffle(others)
    if wished.answerable:
        others.insert(wished.place, story.stated[noun])
    letter = LETTERS[wished.place] if wished.answerable else LETTERS[-1]
    return Asked(story, noun, question(wished.plot, noun, name), (*others, UNKNOWN), letter)


def _lures(rng: Random, story: Story, noun: str) -> list[str]:
    """Return the other stated nouns, first those next to which the asked one stands."""
    others = [other for other in story.stated if other != noun]
    rng.shuffle(others)
    near = story.beside.get(noun, ())
    return sorted(others, key=lambda other: other not in near)


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
