"""cwe and fwe: the most frequent words of a long list (RULER, section 3.3, common and frequent words)."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from string import ascii_lowercase
from typing import Any

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams, spread, stream, words
from pipeline.tasks.base import (
    Filler,
    Key,
    Layout,
    Order,
    Piece,
    Placed,
    PoolSpec,
    PublishedRow,
    Sample,
    Task,
    Unit,
    unit,
)
from pipeline.tasks.haystacks import SPARES
from pipeline.tasks.solving import PROMPT, ReadError, whole_lines
from pipeline.worlds.frequencies import Bursts, arrivals, zipf
from pipeline.worlds.words import pool, pool_digest

INTRODUCTION = """\
Below is a long list of {what}, one on each line. Some come more often than others, and you will be asked which come \
most often.
"""
EXAMPLE = "Example:\n{lines}Question: {question}\nAnswer: {answer}\n"
QUESTION = "Which {count} words come most often in the list?"
COUNTS = {3: "three", 10: "ten"}
START, END = "List:\n", "This is the end of the list."
TAIL = f"{END} Reply with these words alone, separated by commas.\n\nQuestion: {{question}}\nAnswer:"

WORD = re.compile("[a-z]+")
ASKED = re.compile(r"^Question: Which (three|ten) words come most often in the list\?\nAnswer:$", re.MULTILINE)
SHOWN = re.compile(r"^Example:\n((?:[a-z]+\n)+)Question: Which .*\nAnswer: (.+)\n", re.MULTILINE)


@PROMPT.cached
def count_words(text: str) -> Counter[str]:
    """Return how often each line of the list in a prompt occurs."""
    return Counter(read_list(text))


def read_list(text: str) -> list[str]:
    """Return the lines of the list in a prompt."""
    start, end = text.rfind(f"\n{START}") + 1 + len(START), text.rfind(f"\n{END}") + 1
    if start < len(START) + 1 or end < start:
        raise ReadError("the prompt holds no list")
    return text[start:end].splitlines()


def parse_question(text: str) -> int:
    """Return how many words are asked for."""
    asked = [match[1] for match in whole_lines(ASKED, "Question: ", text)]
    if len(asked) != 1:
        raise ReadError(f"{len(asked)} questions are asked")
    return next(count for count, word in COUNTS.items() if word == asked[0])


def most_frequent(lines: Counter[str], count: int) -> tuple[list[str], int, int]:
    """Return the most frequent words in alphabetical order, and the counts of the last of them and of the next one."""
    most_common = lines.most_common(count + 1)
    last, following = (*(times for _, times in most_common[count - 1 :]), 0, 0)[:2]
    if last == following:
        raise ReadError(f"no {count} words come more often than all others")
    return sorted(word for word, _ in most_common[:count]), last, following


MOST = 1.25
"""How many times the words that a list has in most profiles are dealt."""
MANY = 4
"""If there are more than this many times the words needed, drawing some is quicker than shuffling all."""
KEPT = 0.9
"""A list is dealt again if less than this share of its usual words fit, or more than were dealt."""
END_TOKENS = 4096
"""Tokens at the end of a list that the baseline ``last_4k`` reads."""
LEAST_TRIALS, MOST_TRIALS, TRIED = 8, 200, 1_000_000
"""How many lists that baseline deals: enough for TRIED words together, within bounds."""
BURST, SHARE = 0.6, 0.4
"""How often a word of a burst comes, relative to the last asked word, and in what share of the list."""


class Listed(Task):
    """The most frequent words are asked for; `complexity` is how many.

    The whole list is dealt, so that counts are what they should be whatever its length. Where a reply takes much of the
    window, the list is dealt for the words that are left: half of a list is not a list of half the words, since some
    bursts are over in it and others have not begun. Where the most frequent words have few tokens, it is dealt for
    more. One occurrence of each asked word is placed by itself and marked.
    """

    family = "recall"
    version = 2
    scorer = "members"
    max_new_tokens = 128
    shortest = 2048
    count: int
    what: str
    fixed: int
    """About how many tokens of a prompt are not the list."""
    tokens_per_word: tuple[float, float]
    """Tokens of a word with its newline: in most of the shipped profiles, and in the one that needs most."""
    gap: float
    """By how much the last asked word leads, at least, as a share of its own count."""

    @abstractmethod
    def weights(self, stratum: Stratum, part: float = 1) -> Sequence[int]:
        """Return the relative frequencies of a list's words, the most frequent first.

        A list with a `part` of the usual words may have fewer different ones.
        """

    @abstractmethod
    def bursts(self, stratum: Stratum, part: float = 1) -> Bursts:
        """Return the words that come in only one stretch of the list, and there more often than asked words."""

    @abstractmethod
    def words(self, streams: Streams) -> Sequence[str]:
        """Return all words that lists of a seed may have, in the order of their pool."""

    def places(self, stratum: Stratum, part: float = 1, *, least: bool = False) -> int:
        """Return how many words a list of a stratum, or a part of one, has in most profiles, or at least."""
        return int(part * self._list_tokens(stratum.length) / self.tokens_per_word[least])

    def _list_tokens(self, length: int) -> int:
        """Return about how many tokens a list has in prompts of a length, with room for the reply."""
        return length - self.max_new_tokens - self.fixed

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw the words that come most often."""
        vocabulary = self.words(row_streams)
        asked = sorted(vocabulary[place] for place in self._places(stratum, row_streams)[: self.count].tolist())
        answer = ", ".join(asked)
        question = QUESTION.format(count=COUNTS[self.count])
        relevant = tuple(f"{word}\n" for word in asked)
        return Sample("", stratum, index, {"words": asked}, relevant, question, Key.accepting(answer))

    def _places(self, stratum: Stratum, row_streams: Streams) -> Indices:
        """Draw words: those of the list, the most frequent first, then bursts, spares, and those of examples."""
        listed = len(self.weights(stratum)) + self.bursts(stratum).count
        size = listed + SPARES + self.most_shots * 2 * self.count
        rng, known = row_streams.of("words"), len(self.words(row_streams))
        if MANY * size < known:
            return Shuffled(rng, known).take(size)
        return np.asarray(np.argsort(words(rng, known), kind="stable")[:size], dtype=np.int64)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Deal the list, with words that come once as spares."""
        stratum, places = sample.stratum, self._places(sample.stratum, row_streams)
        spares, example_places = np.split(places[len(self.weights(stratum)) + self.bursts(stratum).count :], [SPARES])
        usual = self._dealt(stratum, row_streams, places)

        def dealt(part: float) -> Indices:
            return self._dealt(stratum, row_streams, places, part)

        def fitted(room: int, tokens: Indices) -> Order:
            return Given(_full(usual, dealt, self.places(stratum), room, tokens))

        placed = [
            Placed.line(line, "relevant", spread(stratum_streams.of("depth", number), stratum.rows, sample.index))
            for number, line in enumerate(sample.relevant)
        ]
        shown = [self.words(row_streams)[place] for place in example_places.tolist()]
        return Layout(
            head=tuple(self._head(stratum, row_streams, shown)),
            placed=tuple(placed),
            filler=Filler(
                self.pools(stratum)[0].name,
                Given(usual),
                spares,
                fitted=fitted,
                least=int(KEPT * self._list_tokens(self.shortest) / self.tokens_per_word[True]),
            ),
            tail=(Piece(TAIL.format(question=sample.question), "question"),),
        )

    def _dealt(self, stratum: Stratum, row_streams: Streams, places: Indices, part: float = 1) -> Indices:
        """Deal a list, or one of fewer or more words, from the words at `places`, in the order of `_places`."""
        weights, bursts = self.weights(stratum, min(part, 1)), self.bursts(stratum, part)
        ranks = arrivals(row_streams.of("filler"), weights, int(MOST * self.places(stratum, part)), bursts)
        ranks[ranks >= len(weights)] += len(self.weights(stratum)) - len(weights)
        return places[ranks]

    def _head(self, stratum: Stratum, row_streams: Streams, shown: Sequence[str]) -> Iterator[Piece]:
        yield Piece(INTRODUCTION.format(what=self.what), "instruction")
        for shot in range(self.shots_of(stratum)):
            words = shown[2 * self.count * shot :][: 2 * self.count]
            yield Piece(_example(row_streams.of("example", shot), words, self.count), "demo")
        yield Piece(START, "instruction")

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and in longer prompts the score of counting the last 4K tokens alone."""
        scores = super().baselines(sample, key)
        cell = replace(sample.stratum, rows=1, blocks=1, full=1, shots=None)
        return {**scores, "last_4k": _last_4k(self, cell)} if cell.length > END_TOKENS else scores

    def answers(self, text: str) -> tuple[str, ...]:
        lines = count_words(text)
        return (", ".join(most_frequent(lines, parse_question(text))[0]),)

    def faults(self, row: PublishedRow) -> Iterator[str]:
        lines = count_words(row.text)
        asked, last, following = most_frequent(lines, self.count)
        if last - following < self.gap * last:
            yield f"an asked word comes {last} times and another {following} times: they are too near"
        marked = row.marked("relevant")
        if sorted(marked) != [f"{word}\n" for word in asked]:
            yield "the marked lines are not one of each asked word"
        if not all(map(WORD.fullmatch, lines)):
            yield "a line of the list is not a word"
        for match in whole_lines(SHOWN, "Example:\n", row.text):
            shown, answer = match.groups()
            if answer.split(", ") != most_frequent(Counter(shown.splitlines()), self.count)[0]:
                yield "the answer of an example is wrong"


@lru_cache(maxsize=64)
def _last_4k(task: Listed, stratum: Stratum) -> float:
    """Return the score of the most frequent words at the end of a list, as a mean over some lists."""
    weights, bursts, size = task.weights(stratum), task.bursts(stratum), task.places(stratum)
    end = int(END_TOKENS / task.tokens_per_word[0])
    right, trials = 0.0, max(LEAST_TRIALS, min(MOST_TRIALS, TRIED // size))
    for trial in range(trials):
        rng = stream("last 4K", task.subtask, stratum.length, trial)
        counts = np.bincount(arrivals(rng, weights, size, bursts)[-end:], minlength=task.count + 1)
        counts[: task.count] += words(rng, task.count) < end / size * 2**32  # the occurrences placed by themselves
        least = np.sort(counts)[-task.count]
        sure, tied = counts > least, counts == least
        share = (task.count - sure.sum()) / tied.sum()
        right += sure[: task.count].sum() + share * tied[: task.count].sum()
    return round(float(right) / task.count / trials, 6)


def _full(usual: Indices, dealt: Callable[[float], Indices], places: int, room: int, tokens: Indices) -> Indices:
    """Return a list that fills the room: the usual one, or one dealt again for fewer or more words."""
    order = usual
    if (part := _fit(tokens[order], room) / places) < KEPT:
        order = dealt(part)
    while tokens[order].sum() < room:
        order = dealt(_fit(tokens[order], room) / places)
    return order


def _fit(tokens: Indices, room: int) -> float:
    """Return how many words of a list fit; if they do not fill the room, how many words like these would."""
    sums = np.cumsum(tokens)
    return float(np.searchsorted(sums, room) * max(1, room / sums[-1]))


def _example(rng: Random, words: Sequence[str], count: int) -> str:
    """Return a short list in random order: `count` words three times each, the others once."""
    lines = [*words[:count]] * 3 + [*words[count:]]
    rng.shuffle(lines)
    question, answer = QUESTION.format(count=COUNTS[count]), ", ".join(sorted(words[:count]))
    return EXAMPLE.format(lines="".join(f"{word}\n" for word in lines), question=question, answer=answer)


WORDS, CODED = "recall/words", "coded words@1"
RATIO = {"ratio": (10, 3, 2), "bursts": (20, 0)}
ALPHA = {"alpha": (2.0, 1.5, 1.2), "bursts": (10, 0)}
LEAST = {10: 2, 3: 4, 2: 9}
"""By ratio: how often each other word comes at least, so that counts are well apart."""


class CommonWords(Listed):
    """Ten of many words are several times as frequent as all others, which are equally frequent."""

    subtask = "cwe"
    title = "the ten words that occur most often in a list of words"
    what = "words"
    count = 10
    complexities = (10,)
    gap = 0.3
    shots = 1
    most_shots = 1
    knobs = RATIO
    others = 4880
    """The most other words that a list may have; the rest of the pool is for spares and the example."""
    fixed, tokens_per_word = 330, (2.8, 3.05)

    def weights(self, stratum: Stratum, part: float = 1) -> Sequence[int]:
        """Return the ratio for each asked word, then one for each other word: as many as come often enough."""
        ratio = int(stratum.knob("ratio", RATIO["ratio"][0]))
        asked = int(ratio * (self.count + BURST * _bursts(stratum, RATIO)))
        unasked = self.places(stratum, part, least=True) // LEAST[ratio] - asked
        return [ratio] * self.count + [1] * min(self.others, unasked)

    def bursts(self, stratum: Stratum, part: float = 1) -> Bursts:
        """Return words less than two thirds as frequent as the asked ones, but more frequent in their stretch."""
        ratio = int(stratum.knob("ratio", RATIO["ratio"][0]))
        return Bursts(_bursts(stratum, RATIO), BURST * ratio, SHARE, self.places(stratum, part))

    def words(self, streams: Streams) -> Sequence[str]:
        """Return common English words."""
        return pool(WORDS)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (PoolSpec(f"cwe-{stratum.tier}", 1, stratum.tier, pool_digest(WORDS), make_common),)


class FrequentWords(Listed):
    """Coded words follow Zipf's law; three are asked for."""

    subtask = "fwe"
    title = "the three words that occur most often in a list of coded words"
    what = "coded words"
    count = 3
    complexities = (3,)
    gap = 0.2
    max_new_tokens = 64
    fixed, tokens_per_word = 90, (4.3, 4.7)
    knobs = ALPHA
    size, letters, most = 16_384, 6, 2048
    """How many coded words a seed has, how many letters each has, and how many of them a list has at most."""

    def weights(self, stratum: Stratum, part: float = 1) -> Sequence[int]:
        """Return Zipf weights for one word per 64 tokens of the length, from 50 to `most` of them."""
        alpha = float(stratum.knob("alpha", ALPHA["alpha"][0]))
        return zipf(f"{alpha:g}", min(self.most, max(50, stratum.length // 64)))

    def bursts(self, stratum: Stratum, part: float = 1) -> Bursts:
        """Return words less frequent than the third, but more frequent than the second in their stretch."""
        weight = BURST * self.weights(stratum)[self.count - 1]
        return Bursts(_bursts(stratum, ALPHA), weight, SHARE / 2, self.places(stratum, part))

    def words(self, streams: Streams) -> Sequence[str]:
        """Return distinct random words."""
        return _coded(streams.world(CODED), self.size, self.letters)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (PoolSpec(f"fwe-{stratum.tier}", 1, stratum.tier, CODED, make_coded),)


def _bursts(stratum: Stratum, knobs: Mapping[str, Sequence[Any]]) -> int:
    return int(stratum.knob("bursts", knobs["bursts"][0]))


@lru_cache(maxsize=2)
def _coded(world: Streams, size: int, letters: int) -> Sequence[str]:
    rng = world.of("words")
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(rng.choices(ascii_lowercase, k=letters))] = None
    return tuple(words)


def make_common(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write every word once."""
    return (unit(f"{word}\n") for word in CommonWords().words(streams))


def make_coded(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write every coded word once."""
    return (unit(f"{word}\n") for word in FrequentWords().words(streams))
