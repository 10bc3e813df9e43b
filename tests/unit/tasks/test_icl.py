"""Labels that only examples explain: balanced, unseen tests, and not to be told by words alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import log
from statistics import fmean

import numpy as np
import pytest

from pipeline.metrics import score
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, PublishedRow, Sample
from pipeline.tasks.icl import TASKS, task
from pipeline.tasks.icl.solve import Examples, read
from pipeline.tasks.icl.text import CUE
from pipeline.verify.statistics import balance_faults

(TASK,) = TASKS
COUNTS = TASK.complexities
EXAMPLES = {2048: 55, 8192: 230, 32768: 960}
"""About how many examples a prompt of so many tokens holds."""
WORD = re.compile("[a-z']+")


def cell(count: int, rows: int = 16, **knobs: str) -> Stratum:
    return Stratum("icl", "intents", "32k", 32768, count, rows, knobs=tuple(sorted(knobs.items())))


def streams(stratum: Stratum, index: int) -> tuple[Streams, Streams]:
    path = (5, "icl.intents", stratum.complexity, str(stratum.knobs))
    return Streams((*path, index)), Streams(path)


@lru_cache(maxsize=4)
def lines_of(spec: task.PoolSpec) -> Sequence[str]:
    return [each.pieces[0].text for each in spec.make(Streams((5,)), spec)]


def drawn(stratum: Stratum, index: int) -> Sample:
    return TASK.sample(stratum, index, *streams(stratum, index))


def publish(stratum: Stratum, index: int, count: int) -> PublishedRow:
    """Fill a prompt with so many examples, a few spares among them, as packing does."""
    sample = drawn(stratum, index)
    layout = TASK.layout(sample, *streams(stratum, index))
    texts = lines_of(next(spec for spec in TASK.pools(stratum) if spec.name == layout.filler.pool))
    taken = np.concatenate([layout.filler.order.take(count), layout.filler.spares[::3]])
    if layout.filler.ranks is not None:
        taken = taken[np.argsort(layout.filler.ranks[taken], kind="stable")]
    parts = [*((piece.text, piece.role) for piece in layout.head), *((texts[at], "filler") for at in taken.tolist())]
    parts += [(piece.text, piece.role) for piece in layout.tail]
    start = sum(len(text) for text, _ in parts[:-2])
    needle = Needle("relevant", start, start + len(parts[-2][0]), None)
    text = "".join(text for text, _ in parts)
    return PublishedRow(stratum, (("user", text),), text, sample.question, (needle,), sample.key, {})


@lru_cache(maxsize=64)
def published(count: int, index: int = 0) -> PublishedRow:
    return publish(cell(count), index, max(230, 2 * count))


@pytest.mark.parametrize("count", COUNTS)
def test_the_solver_agrees_with_the_sampler_and_nothing_is_wrong(count: int) -> None:
    for index in (0, 1, 2):
        row = published(count, index)
        assert TASK.solve(row.turns) == row.key.answers == (row.key.target,)
        assert TASK.check(row) == []
        shown = read(row.text)
        assert {*shown.labels} == {*map(str, range(count))}
        assert shown.last == row.question not in shown.messages
        times = Counter(shown.labels)
        assert max(times.values()) - min(times.values()) <= 3


@pytest.mark.parametrize("count", [6, 68])
def test_examples_come_in_rounds_of_one_of_each_label(count: int) -> None:
    stratum = cell(count)
    layout = TASK.layout(drawn(stratum, 3), *streams(stratum, 3))
    size = task.examples_per_label("32k", task.labels_of(Streams((5,)), stratum, 0))
    order = layout.filler.order.take(8 * count) // size
    rounds = order.reshape(8, count)
    assert (np.sort(rounds, axis=1) == np.arange(count)).all()
    assert len({tuple(each) for each in rounds.tolist()}) == 8
    assert len({*layout.filler.spares.tolist()}) == len(layout.filler.spares) == min(24, 2 * count)
    assert max(Counter((layout.filler.spares // size).tolist()).values()) == (2 if count == 6 else 1)
    assert not {*layout.filler.spares.tolist()} & {*layout.filler.order.take(10**9).tolist()}


def test_labels_of_a_block_stand_side_by_side() -> None:
    row = publish(cell(50, rounds="blocked"), 2, 200)
    assert TASK.check(row) == []
    labels = read(row.text).labels
    assert sum(one != other for one, other in pairwise(labels)) == 49
    mixed = replace(published(50), stratum=row.stratum)
    assert "examples of a label do not stand side by side" in TASK.check(mixed)


def test_labels_may_be_words() -> None:
    for count, form in ((6, r"asks-[a-z]+"), (151, r"[a-z]+-[a-z]+(?:-[a-z]+)?")):
        row = publish(cell(count, labels="words"), 1, 320)
        assert TASK.check(row) == []
        assert all(re.fullmatch(form, label) for label in read(row.text).labels)
        keyed = {"scorer": "label", "question": row.question, **row.key.columns()}
        others = {*read(row.text).labels} - {row.key.target}
        assert score(keyed, f"label: {row.key.target}") == 1
        assert not any(score(keyed, other) for other in others)


def test_what_is_dealt_is_dealt_evenly_and_ways_of_dealing_differ() -> None:
    found = [drawn(cell(count, rows), index) for count in COUNTS for rows in (5, 25) for index in range(rows)]
    assert list(balance_faults(found)) == []
    ways = [task.labels_of(Streams((5,)), cell(77), which).intents for which in range(task.MAPPINGS)]
    assert len({*ways}) == 8
    assert fmean(one == other for one, other in zip(ways[0], ways[1], strict=True)) < 0.1
    assert len(TASK.pools(cell(6, 4))) == 2
    assert len(TASK.pools(cell(6, 25))) == 8


def test_short_prompts_of_a_long_tier_take_small_pools() -> None:
    small, large = (Stratum("icl", "intents", "1m", length, 6, 1) for length in (8192, 1048576))
    names = [TASK.pools(stratum)[0].name for stratum in (small, large)]
    assert names == ["messages-integers-6-0-32k-1m", "messages-integers-6-0-1m-1m"]


def changed(row: PublishedRow, old: str, new: str) -> PublishedRow:
    """Return a row with another text, and its mark moved along."""
    assert old in row.text
    text = row.text.replace(old, new, 1)
    (needle,) = row.needles
    by = len(text) - len(row.text)
    moved = replace(needle, char_start=needle.char_start + by, char_end=needle.char_end + by)
    return replace(row, turns=(("user", text),), prompt=text, needles=(moved,))


def test_planted_faults_are_found() -> None:
    row = published(68)
    shown: Examples = read(row.text)
    first, label = shown.messages[0], shown.labels[0]
    pair = f"{first}\n{CUE} {label}\n"
    other = str((int(label) + 1) % 68)
    again = [message for message, each in zip(shown.messages, shown.labels, strict=True) if each == label][1]
    planted = {
        "have the labels": changed(row, pair, f"{first}\n{CUE} {other}\n"),
        "comes twice": changed(row, pair, f"{again}\n{CUE} {label}\n"),
        "is not the last one": replace(row, needles=()),
        "labels$": replace(row, stratum=replace(row.stratum, complexity=77)),
        "the key": replace(row, key=replace(row.key, target=other, answers=(other,))),
    }
    for fault, wrong in planted.items():
        assert any(re.search(fault, found) for found in TASK.check(wrong)), (fault, TASK.check(wrong))
    merged = replace(row, turns=(("user", re.sub(rf"label: {other}\n", f"label: {label}\n", row.text)),))
    assert any("two intents" in found or "have examples" in found for found in TASK.check(merged))
    lopsided = replace(row, turns=(("user", re.sub(rf"[^\n]+\nlabel: {other}\n", "", row.text, count=9)),))
    assert any("examples" in found for found in TASK.check(lopsided))


@pytest.mark.parametrize("text", ["", "Examples:\nHello.\nlabel: 1\n", "\nExamples:\nHello.\n"])
def test_prompts_that_are_no_examples_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not hold examples"):
        TASK.solve((("user", text),))


# A reader of words alone


def centroid(shown: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]]) -> float:
    """Return how often the label whose messages are most alike in words, by TF-IDF, is the right one."""
    bags = [Counter(WORD.findall(message.lower())) for message, _ in shown]
    often = Counter(word for bag in bags for word in bag)
    places = {word: at for at, word in enumerate(often)}
    weights = np.array([log((1 + len(bags)) / (1 + times)) + 1 for times in often.values()])
    labels = sorted({label for _, label in shown})

    def vector(bag: Counter[str]) -> np.ndarray:
        found = np.zeros(len(places))
        for word, times in bag.items():
            if word in places:
                found[places[word]] = times
        found *= weights
        return found / max(float(np.linalg.norm(found)), 1e-9)

    sums = np.zeros((len(labels), len(places)))
    for bag, (_, label) in zip(bags, shown, strict=True):
        sums[labels.index(label)] += vector(bag)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    said = [labels[int(np.argmax(sums @ vector(Counter(WORD.findall(message.lower())))))] for message, _ in asked]
    return fmean(one == label for one, (_, label) in zip(said, asked, strict=True))


def centroid_scores(count: int, sizes: Sequence[int], asked: int = 150) -> list[float]:
    """Return the score of the centroid for prompts of so many examples, with messages of the reserve as tests."""
    row = publish(cell(count), 0, max(sizes))
    shown = read(row.text)
    pairs = list(zip(shown.messages, shown.labels, strict=True))
    return [centroid(pairs[:size], pairs[-asked:]) for size in sizes]


@pytest.mark.parametrize("count", COUNTS)
def test_words_alone_tell_more_with_every_example_but_never_all(count: int) -> None:
    """Messages that stand behind those learned from are the tests; docs have the table up to 128K."""
    few, some, many = centroid_scores(count, (max(55, count), 230, 800))
    assert 2 / count <= some <= 0.7
    assert few < some + 0.05
    assert few < many
    assert many > 1.2 * few
