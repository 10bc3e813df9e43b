"""The usual kind of task: a question about some lines in a haystack.

Such a task draws a row (`draw`), answers it from the text alone (`answers`) and sets its wording as attributes; the
rest of `Task` (`sample`, `layout`, `check` and so on) is implemented here. ``docs/add-a-task.md`` has an example.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, TypeVar

from pipeline.errors import RecipeError
from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.base import Filler, Key, Layout, Placed, PoolSpec, PublishedRow, Role, Sample, Task
from pipeline.tasks.haystacks.filler import Haystack

Kind = TypeVar("Kind")


class Line(NamedTuple):
    """A line that is placed: its text ends in a newline.

    Its `role` is ``relevant`` if the answer needs it, else ``decoy``. Without a `depth`, the depths of relevant lines
    are uniform over the stratum, and those of decoys random. `at` is a rank among ranked filler, as in `Placed`, and
    then determines the depth.
    """

    text: str
    role: Role = "relevant"
    depth: float | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row is made of: its placed lines, the question, and all accepted answers (the first is the target).

    `guesses` are the expected scores of guessers, from 0 to 1; that of ``uniform`` is shown as chance (see
    `Task.baselines`). `choices` are the options of a question that is answered with a letter. `latent` contains plain
    JSON values that are published in the row's metadata.
    """

    lines: Sequence[Line]
    question: str
    answers: tuple[str, ...]
    guesses: Mapping[str, float]
    choices: tuple[str, ...] | None = None
    latent: Mapping[str, Any] = field(default_factory=dict)


class Dealer:
    """All randomness of one row: draws dealt evenly over the rows of its stratum, and free draws."""

    def __init__(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> None:
        self.stratum, self.row_streams = stratum, row_streams
        self._index, self._stratum_streams = index, stratum_streams
        self.dealt: dict[str, tuple[int, int]] = {}
        """For each dealt thing, the number of its kind and the number of kinds."""

    def deal(self, thing: str, kinds: Sequence[Kind]) -> Kind:
        """Return the row's kind of a thing. Kinds are equally frequent in a stratum, to within one row.

        Each thing is dealt by itself. If two must be balanced together, deal their pairs as one thing.
        """
        number = deal(self._stratum_streams.of(thing), self.stratum.rows, self._index, len(kinds))
        self.dealt[thing] = (number, len(kinds))
        return kinds[number]

    def spread(self, thing: str) -> float:
        """Return the row's number in [0, 1) for a thing; those of a stratum's rows are uniform by construction."""
        return spread(self._stratum_streams.of(thing), self.stratum.rows, self._index)

    def rng(self, purpose: str) -> Random:
        """Return the row's generator for one purpose: further draws from it change nothing elsewhere."""
        return self.row_streams.of(purpose)


class LineTask(Task):
    """A task whose prompts are an introduction, lines among filler, and a question. Define attributes and two methods.

    `check` proves that all marked lines match `line` and differ, that the prompt ends in the question, that the text
    gives the key's answers, and that it does so without any one ``decoy`` but not without any one ``relevant`` line. A
    task that promises more extends `faults`.
    """

    __slots__ = ()

    haystack: Haystack
    """What surrounds the lines, unless the task has a pool of its own."""
    introduction: str
    """The text before the haystack; it ends in a newline."""
    tail: str
    """The text after the haystack, with ``{question}`` and without a final newline."""
    line: re.Pattern[str]
    """A whole line that states something, with its newline."""
    states_alone: bool = True
    """Whether only placed lines match `line`, and no filler does."""

    @abstractmethod
    def draw(self, dealer: Dealer) -> Drawn:
        """Draw a row."""

    @abstractmethod
    def answers(self, text: str) -> tuple[str, ...]:
        """Return the accepted answers, from the text of a prompt alone.

        Raises:
            ValueError: if it cannot be read, or does not state exactly one answer.
        """

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        if not hasattr(self, "haystack"):
            raise RecipeError(
                f"{self.family}.{self.subtask} has no filler: give `haystack`, or override `pools` and `filler`"
            )
        return (self.haystack.pool(stratum),)

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return a row's filler. A task with a pool of its own overrides this and `pools`."""
        return self.haystack.filler(row_streams, sample.stratum)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        dealer = Dealer(stratum, index, row_streams, stratum_streams)
        drawn = self.draw(dealer)
        latent = {
            **drawn.latent,
            "lines": [list(line) for line in drawn.lines],
            "dealt": {thing: list(dealt) for thing, dealt in dealer.dealt.items()},
            "guesses": dict(drawn.guesses),
        }
        relevant = tuple(line.text for line in drawn.lines if line.role == "relevant")
        key = Key(drawn.answers[0], drawn.answers, drawn.choices)
        return Sample("", stratum, index, latent, relevant, drawn.question, key)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Place lines at their depths; by default uniform over the stratum if relevant, and random if not."""
        rng, placed, stratum = row_streams.of("depths"), list[Placed](), sample.stratum
        for number, values in enumerate(sample.latent["lines"]):
            line = Line(*values)
            if (depth := line.depth) is None:
                even = line.role == "relevant"
                where = stratum_streams.of("depth", number)
                depth = spread(where, stratum.rows, sample.index) if even else rng.random()
            placed.append(Placed.line(line.text, line.role, depth, at=line.at))
        filler = self.filler(sample, row_streams)
        return Layout.haystack(self.introduction, placed, filler, self.tail.format(question=sample.question))

    def faults(self, row: PublishedRow) -> Iterator[str]:
        text, marked = row.text, row.spans("relevant", "decoy")
        stated = {found.span() for found in self.line.finditer(text)}
        if not stated.issuperset(marked) or (self.states_alone and len(stated) != len(marked)):
            yield "the marked lines are not those that state something"
        if len({*row.marked("relevant", "decoy")}) != len(marked):
            yield "two marked lines are equal"
        if not text.endswith(self.tail.format(question=row.question)):
            yield "the prompt does not end in the question"
        if self.answers(text) != row.key.answers:
            yield f"the text answers {self.answers(text)}, the key {row.key.answers}"
        for role in ("relevant", "decoy"):
            for start, end in row.spans(role):
                same = self._answers_without(text, start, end) == row.key.answers
                if same == (role == "relevant"):
                    yield f"{text[start:end].strip()!r} is marked as {role}, but the answer without it is " + (
                        "the same" if same else "another"
                    )

    def _answers_without(self, text: str, start: int, end: int) -> tuple[str, ...]:
        try:
            return self.answers(text[:start] + text[end:])
        except ValueError:
            return ()
