"""The two tasks of the family: a story among random letters, as in the paper, or among other stories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from pipeline.recipe import (
    Stratum,
)
from pipeline.streams import Indices, Permutation, Shuffled, Streams, deal, spread
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
    Task,
    Unit,
    unit,
)
from pipeline.tasks.idk import chance, text
from pipeline.tasks.idk import solve as solver
from pipeline.tasks.idk.forms import LETTERS, UNKNOWN, accepted
from pipeline.tasks.idk.text import question
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.stories import (
    KINDS,
    PAIRS,
    WORLD,
    Plot,
    Story,
    draw_story,
    drawn,
    names,
    namesakes,
    plot_named,
    plots,
    source_digest,
)

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FAIR_BYTES = len(ALPHABET) * (256 // len(ALPHABET))
"""Bytes from this value on are dropped, so that every letter is equally likely."""
LETTER_OF_BYTE = bytes(ALPHABET[byte % len(ALPHABET)] for byte in range(256))
FEWEST_LETTERS, MOST_LETTERS = 8, 64
"""The fewest and most letters of a line. The mean is 36, and a letter is about a token."""
LETTERS_PER_TOKEN = 1.5
SPARES = 64


def specs(subtask: str, tier: str) -> tuple[PoolSpec, ...]:
    """Return the one pool of a subtask and tier."""
    if subtask == "letters":
        return (PoolSpec(f"letters-{tier}", 1, tier, "", make_letters),)
    return (PoolSpec(f"stories-{tier}", 2, tier, f"{WORLD}:{source_digest()}", make_stories),)


def lines_of(tier: str) -> int:
    """Return the number of lines of letters in a tier."""
    return int(TIERS[tier] * LETTERS_PER_TOKEN) // ((FEWEST_LETTERS + MOST_LETTERS) // 2)


def make_letters(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Make different lines of random letters."""
    return Plain(_letters(streams, spec))


def _letters(streams: Streams, spec: PoolSpec) -> Iterator[str]:
    rng = streams.of("letters")
    seen: set[bytes] = set()
    while len(seen) < lines_of(spec.tier):
        drawn = rng.randbytes(2 * MOST_LETTERS).translate(LETTER_OF_BYTE, bytes(range(FAIR_BYTES, 256)))
        line = drawn[: rng.randint(FEWEST_LETTERS, MOST_LETTERS)]
        if line not in seen:
            seen.add(line)
            yield " ".join(line.decode("ascii")) + "\n"


def make_stories(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make a story for every name of a tier, with any plot."""
    rng = streams.of("stories")
    for name in names(streams, spec.tier):
        story = draw_story(rng, name, rng.choice(plots()))
        yield unit(story.text, facts=facts(story))


def facts(story: Story) -> tuple[str, ...]:
    """Return the details that a story states."""
    return tuple(f"{story.plot.kind}({noun}, {story.name}) = {value}" for noun, value in story.stated.items())


def filler(subtask: str, tier: str, row_streams: Streams, taken: frozenset[int]) -> Filler:
    """Return a row's filler, without the pool's stories about people who are `taken`."""
    size, without = (
        (lines_of(tier), frozenset[int]()) if subtask == "letters" else (len(names(row_streams, tier)), taken)
    )
    order = Shuffled(row_streams.of("filler"), size, without)
    return Filler(f"{subtask}-{tier}", _Rest(order, SPARES), order.take(SPARES))


class _Rest:
    """An order without its first `skip` indices, which are spares."""

    def __init__(self, order: Shuffled, skip: int) -> None:
        self._order, self._skip = order, skip

    def take(self, count: int) -> Indices:
        """Return the first `count` indices after the spares."""
        return self._order.take(count + self._skip)[self._skip :]


CHOICES_STATED = (1, 1, 2, 2, 3)
"""How many of the three choices a story states, dealt in these proportions in either class."""


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """What is dealt over the rows of a stratum.

    The asked thing is on one `side` of the sentence about a `pair` of things. `stated` is the number of choices that
    the story states, and `place` the index of the choice in that sentence.
    """

    plot: Plot
    stated: int
    place: int
    pair: int
    side: int
    answerable: bool


@dataclass(frozen=True, slots=True)
class DrawnQuestion:
    """A story, the noun whose detail is asked for, and the four choices, of which `letter` is right."""

    story: Story
    noun: str
    question: str
    choices: tuple[str, ...]
    letter: str


def plan_question(stratum_streams: Streams, rows: int, index: int, *, answerable: bool) -> QuestionPlan:
    """Deal what row `index` of a stratum asks."""

    def dealt(name: str, kinds: Sequence[int]) -> int:
        return kinds[deal(stratum_streams.of(name), rows, index, len(kinds))]

    plot = _plot(stratum_streams, rows, index)
    pair, side = divmod(dealt("asked", range(2 * PAIRS)), 2)
    return QuestionPlan(plot, dealt("stated", CHOICES_STATED), dealt("place", range(3)), pair, side, answerable)


def _plot(stratum_streams: Streams, rows: int, index: int) -> Plot:
    """Deal a plot, in rounds of all plots that consist of runs with every kind once."""
    block, place = divmod(index, rows)
    turn, nth = divmod(block * rows + Permutation(stratum_streams.of("plots", block), rows)[place], len(plots()))
    place, nth = divmod(nth, len(KINDS))
    run = Permutation(stratum_streams.of("runs", turn), len(plots()) // len(KINDS))[place]
    return plots()[run * len(KINDS) + Permutation(stratum_streams.of("kinds", turn, place), len(KINDS))[nth]]


def plan_any_question(rng: Random, *, answerable: bool) -> QuestionPlan:
    """Draw freely what a row of a stratum is dealt, for demonstrations."""
    plot, stated, place = rng.choice(plots()), rng.choice(CHOICES_STATED), rng.randrange(3)
    return QuestionPlan(plot, stated, place, rng.randrange(PAIRS), rng.randrange(2), answerable)


def draw(rng: Random, name: str, wished: QuestionPlan) -> DrawnQuestion:
    """Draw a story about `name`, and ask for the detail of a thing, which it states or not."""
    owner = wished.side if wished.answerable else 1 - wished.side
    story = draw_story(rng, name, wished.plot, {wished.pair: owner})
    pair = story.pairs[wished.pair]
    lures = rng.sample([other.value for other in story.pairs if other is not pair], PAIRS - 1)
    others = [*lures[: wished.stated - 1], *_unstated(rng, story, 3 - wished.stated)]
    rng.shuffle(others)
    others.insert(wished.place, pair.value)
    letter = LETTERS[wished.place] if wished.answerable else LETTERS[-1]
    noun = pair.nouns[wished.side]
    return DrawnQuestion(story, noun, question(wished.plot, noun, name), (*others, UNKNOWN), letter)


def _unstated(rng: Random, story: Story, count: int) -> list[str]:
    """Draw values of the asked kind that do not occur in the story."""
    found: list[str] = []
    while len(found) < count:
        (value,) = drawn(rng, story.plot.values, 1, found)
        if not holds(story.text, value):
            found.append(value)
    return found


def holds(text: str, value: str) -> bool:
    """Return whether a text contains a value, as whole words and without its article."""
    bare = value.removeprefix("a ").removeprefix("an ")
    return re.search(rf"(?<![\w:]){re.escape(bare)}(?![\w:])", text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Idk(Task):
    """A question about one story. `complexity` is the number of clauses that answer it: one, or none.

    Answerable rows differ from others only in which of two things a sentence gives a detail to. The story's words and
    their places, and how many of the three choices it states and where, are drawn alike in both. Unlike in the paper,
    the story may be anywhere in the text unless the knob `depth` is ``first``.

    The subtask `stories` adds stories of two namesakes, one with the same first and one with the same last name. Both
    have the same plot and state the asked detail, each as one of the two choices that are wrong in either class.
    """

    family = "idk"
    subtask: str
    title: str
    version = 6
    scorer = "choice_or_refusal"
    most_shots = 2
    complexities = (0, 1)
    knobs = MappingProxyType({"depth": ("uniform", "first")})
    shortest = 2048

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return specs(self.subtask, stratum.tier)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a story about a person whom no other row asks about, and a question that it answers or not."""
        everybody = names(row_streams, stratum.tier)
        shots = self.shots if stratum.shots is None else stratum.shots
        person = Permutation(stratum_streams.of("person"), len(everybody))[index % len(everybody)]
        wished = plan_question(stratum_streams, stratum.rows, index, answerable=stratum.complexity == 1)
        asked = draw(row_streams.of("story"), everybody[person], wished)
        shown = Shuffled(row_streams.of("shown"), len(everybody), frozenset({person})).take(shots).tolist()
        latent = {
            "class": "answerable" if wished.answerable else "unanswerable",
            "asked": wished.plot.kind,
            "plot": wished.plot.title,
            "noun": asked.noun,
            "details": dict(asked.story.stated),
            "stated": wished.stated,
            "pair": wished.pair,
            "side": wished.side,
            "place": wished.place,
            "person": person,
            "shown": shown,
        }
        story = asked.story.text
        return Sample("", stratum, index, latent, (story,), asked.question, _key(asked))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the story at a stratified depth of the filler, or first."""
        stratum = sample.stratum
        first = stratum.knob("depth", "uniform") == "first"
        depth = 0.0 if first else spread(stratum_streams.of("depth"), stratum.rows, sample.index)
        around = self._namesakes(sample, row_streams) if self.subtask == "stories" else ()
        demos = [Piece(example, "demo") for example in self._examples(sample, row_streams)]
        opening = text.INTRODUCTIONS[self.subtask] + (text.EXAMPLES if demos else "")
        return Layout(
            head=(Piece(opening, "instruction"), *demos, Piece(text.START, "instruction")),
            placed=(Placed.line(sample.relevant[0], "relevant", depth), *around),
            filler=filler(self.subtask, stratum.tier, row_streams, self._taken(sample, row_streams)),
            tail=(Piece(_tail(sample), "question"),),
        )

    def _taken(self, sample: Sample, row_streams: Streams) -> frozenset[int]:
        """Return the people whose stories are not filler: those placed or shown, and all namesakes of the asked one."""
        latent = sample.latent
        first, last = namesakes(row_streams, sample.stratum.tier, latent["person"])
        return frozenset({latent["person"], *latent["shown"], *first, *last})

    def _namesakes(self, sample: Sample, row_streams: Streams) -> Iterator[Placed]:
        """Yield the stories of a namesake of each kind, at random depths; none is shown or has a choice's name."""
        latent, tier = sample.latent, sample.stratum.tier
        everybody, rng = names(row_streams, tier), row_streams.of("namesakes")
        wrong = [choice for place, choice in enumerate((sample.key.choices or ())[:-1]) if place != latent["place"]]
        rng.shuffle(wrong)
        for kind, value in zip(namesakes(row_streams, tier, latent["person"]), wrong, strict=True):
            able = [one for one in kind if one not in latent["shown"] and everybody[one].split(" ")[0] not in wrong]
            name, plot = everybody[rng.choice(able)], plot_named(latent["plot"])
            story = draw_story(rng, name, plot, details={latent["noun"]: value})
            yield Placed.line(story.text, "decoy", rng.random())

    def _examples(self, sample: Sample, row_streams: Streams) -> list[str]:
        """Return the demonstrations, alternately answerable and not, about people who are not in the text."""
        everybody = names(row_streams, sample.stratum.tier)
        rng = row_streams.of("examples")
        start = rng.randrange(2)
        found = []
        for number, person in enumerate(sample.latent["shown"]):
            asked = draw(rng, everybody[person], plan_any_question(rng, answerable=(start + number) % 2 == 0))
            found.append(text.example(number + 1, asked.story.text, asked.question, asked.choices, asked.letter))
        return found

    def answers(self, text: str) -> tuple[str, ...]:
        return solver.solve(text)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return solver.faults(row, self.subtask)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        latent = sample.latent
        return {
            "plot": (plots().index(plot_named(latent["plot"])), len(plots())),
            "kind": (KINDS.index(latent["asked"]), len(KINDS)),
            "thing": (2 * latent["pair"] + latent["side"], 2 * PAIRS),
            "letter": (latent["place"], len(LETTERS) - 1),
        }

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return what guessers score."""
        return chance.baselines(sample, key)


def _key(asked: DrawnQuestion) -> Key:
    forms = accepted(asked.letter, asked.choices[LETTERS.index(asked.letter)])
    return Key(forms[0], forms, asked.choices)


def _tail(sample: Sample) -> str:
    return f"{text.INSTRUCTION}\n{text.asking(sample.question, sample.key.choices or ())}"


TASKS = (
    Idk("letters", "a detail that a story may not give, among random letters"),
    Idk("stories", "a detail that a story may not give, among other people's stories"),
)
