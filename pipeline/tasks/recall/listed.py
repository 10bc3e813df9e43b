"""Lists of which the most frequent words are asked for: what `cwe` and `fwe` have in common (RULER, section 3.3)."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams, spread, words
from pipeline.tasks.base import Filler, Key, Layout, Order, Piece, Placed, Published, Sample, Task, Turns, unit
from pipeline.tasks.finding import whole_lines
from pipeline.tasks.haystacks import SPARES
from pipeline.tasks.recall import lists_text as text
from pipeline.worlds.frequencies import Bursts, arrivals

MOST = 1.25
"""A list is dealt for so many times the words that it has in most profiles."""
MANY = 4
"""Of so many times as many words it is quicker to draw some than to shuffle all."""
KEPT = 0.9
"""With fewer words than so many times those of most profiles, or more than were dealt, a list is dealt anew."""
BURST, SHARE = 0.6, 0.4
"""How often a word of a burst comes, in times of the last asked word, and in how much of the list."""


class Listed(Task):
    """The words that come most often are asked for; `complexity` is how many.

    The whole list is dealt, so that counts are what they should be whatever its length. Where a reply takes much of the
    window, it is dealt for the words that are left: half of a list is none of half the words, since some bursts are
    over in it and others have not begun. Where the words that come most often have few tokens, it is dealt for more.
    One occurrence of each asked word is placed by itself and marked.
    """

    family = "recall"
    scorer = "members"
    max_new_tokens = 128
    shortest = 2048
    count: int
    what: str
    fixed: int
    """Tokens of a prompt that are no list, about."""
    tokens_per_word: tuple[float, float]
    """Tokens of a word with its newline: in most of the shipped profiles, and in the one that needs most."""
    gap: float
    """By how much of its own count the last of the asked words leads, at least."""

    @abstractmethod
    def weights(self, stratum: Stratum, part: float = 1) -> Sequence[int]:
        """Return how often the words of a list come, in proportion, the most frequent first.

        A list of a `part` of the usual words may have fewer different ones.
        """

    @abstractmethod
    def bursts(self, stratum: Stratum, part: float = 1) -> Bursts:
        """Return the words that come in one stretch of the list alone, where more often than those that are asked."""

    @abstractmethod
    def words(self, streams: Streams) -> Sequence[str]:
        """Return all words that lists of a seed are made of, in the order of their pool."""

    def places(self, stratum: Stratum, part: float = 1, *, least: bool = False) -> int:
        """Return how many words a list of a stratum has in most profiles, or at least; or a part of them."""
        return int(part * self._room(stratum.length) / self.tokens_per_word[least])

    def _room(self, length: int) -> int:
        """Return about how many tokens a list has in prompts of a length that keep what a reply needs."""
        return length - self.max_new_tokens - self.fixed

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw the words that come most often."""
        every = self.words(own)
        asked = sorted(every[place] for place in self._places(stratum, own)[: self.count].tolist())
        answer = ", ".join(asked)
        question = text.QUESTION.format(count=text.COUNTS[self.count])
        relevant = tuple(f"{word}\n" for word in asked)
        return Sample("", stratum, index, {"words": asked}, relevant, question, Key(answer, (answer,)))

    def _places(self, stratum: Stratum, own: Streams) -> Indices:
        """Draw words: those of the list, the most frequent first, bursts, spares, and those of examples."""
        listed = len(self.weights(stratum)) + self.bursts(stratum).count
        size = listed + SPARES + self.most_shots * 2 * self.count
        rng, known = own.of("words"), len(self.words(own))
        if MANY * size < known:
            return Shuffled(rng, known).take(size)
        return np.asarray(np.argsort(words(rng, known), kind="stable")[:size], dtype=np.int64)

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Deal the list, with words that come once for spares."""
        stratum, places = sample.stratum, self._places(sample.stratum, own)
        spares, others = np.split(places[len(self.weights(stratum)) + self.bursts(stratum).count :], [SPARES])
        usual = self._dealt(stratum, own, places)

        def dealt(part: float) -> Indices:
            return self._dealt(stratum, own, places, part)

        def fitted(room: int, tokens: Indices) -> Order:
            return Given(_full(usual, dealt, self.places(stratum), room, tokens))

        placed = [
            Placed(unit(line, "relevant"), spread(shared.of("depth", number), stratum.rows, sample.index))
            for number, line in enumerate(sample.relevant)
        ]
        shown = [self.words(own)[place] for place in others.tolist()]
        return Layout(
            head=tuple(self._head(stratum, own, shown)),
            placed=tuple(placed),
            filler=Filler(
                self.pools(stratum)[0].name,
                Given(usual),
                spares,
                fitted=fitted,
                least=int(KEPT * self._room(self.shortest) / self.tokens_per_word[True]),
            ),
            tail=(Piece(text.TAIL.format(question=sample.question), "question"),),
        )

    def _dealt(self, stratum: Stratum, own: Streams, places: Indices, part: float = 1) -> Indices:
        """Deal a list, or one of a part of its words or more: of the words at some places, as `_places` has them."""
        weights, bursts = self.weights(stratum, min(part, 1)), self.bursts(stratum, part)
        ranks = arrivals(own.of("filler"), weights, int(MOST * self.places(stratum, part)), bursts)
        ranks[ranks >= len(weights)] += len(self.weights(stratum)) - len(weights)
        return places[ranks]

    def _head(self, stratum: Stratum, own: Streams, shown: Sequence[str]) -> Iterator[Piece]:
        yield Piece(text.INTRODUCTION.format(what=self.what), "instruction")
        for shot in range(self.shots_of(stratum)):
            words = shown[2 * self.count * shot :][: 2 * self.count]
            yield Piece(_example(own.of("example", shot), words, self.count), "demo")
        yield Piece(text.START, "instruction")

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Count the words.

        Raises:
            ValueError: if the list cannot be read, or two words tie.
        """
        lines = text.count_words(turns[-1][1])
        return (", ".join(text.most_frequent(lines, text.read_asked(turns[-1][1]))[0]),)

    def check(self, row: Published) -> list[str]:
        """Prove that the asked words lead by enough, that marks are of them, and that examples are right.

        Raises:
            ValueError: if the list cannot be read.
        """
        return list(self._faults(row))

    def _faults(self, row: Published) -> Iterator[str]:
        lines = text.count_words(row.text)
        asked, last, following = text.most_frequent(lines, self.count)
        if last - following < self.gap * last:
            yield f"an asked word comes {last} times and another {following} times: they are too near"
        marked = [row.prompt[n.char_start : n.char_end] for n in row.needles if n.role == "relevant"]
        if sorted(marked) != [f"{word}\n" for word in asked]:
            yield "the marked lines are not one of each asked word"
        if not all(map(text.WORD.fullmatch, lines)):
            yield "a line of the list is no word"
        for found in whole_lines(text.SHOWN, "Example:\n", row.text):
            shown, answer = found.groups()
            if answer.split(", ") != text.most_frequent(Counter(shown.splitlines()), self.count)[0]:
                yield "the answer of an example is wrong"


def _full(usual: Indices, dealt: Callable[[float], Indices], places: int, room: int, tokens: Indices) -> Indices:
    """Return a list that fills the room: the usual one, or one dealt anew for a part of its words or more."""
    order = usual
    if (part := _fit(tokens[order], room) / places) < KEPT:
        order = dealt(part)
    while tokens[order].sum() < room:
        order = dealt(_fit(tokens[order], room) / places)
    return order


def _fit(tokens: Indices, room: int) -> float:
    """Return how many words of a list fit; of words like these, where they do not fill the room."""
    sums = np.cumsum(tokens)
    return float(np.searchsorted(sums, room) * max(1, room / sums[-1]))


def _example(rng: Random, words: Sequence[str], count: int) -> str:
    """Return a short list: `count` words three times each, the others once, in any order."""
    lines = [*words[:count]] * 3 + [*words[count:]]
    rng.shuffle(lines)
    question, answer = text.QUESTION.format(count=text.COUNTS[count]), ", ".join(sorted(words[:count]))
    return text.EXAMPLE.format(lines="".join(f"{word}\n" for word in lines), question=question, answer=answer)
