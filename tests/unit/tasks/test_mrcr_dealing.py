"""What MRCR asks over many rows: on every topic, for texts of the row's own, at places that tell nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest

from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.recipe import Recipe, Stratum
from pipeline.streams import Streams, stream
from pipeline.tasks import task_of
from pipeline.tasks.base import Layout, Sample
from pipeline.tasks.mrcr.crowd import PoolShape, crowd
from pipeline.tasks.mrcr.task import depths
from pipeline.worlds.writing.corpus import Writing, freeze
from pipeline.worlds.writing.library import Label, grammar_library, library_of, runs, topics_of
from pipeline.worlds.writing.realise import formats
from pipeline.worlds.writing.topics import fits

ROWS = 64
CELLS = tuple(
    Stratum("mrcr", subtask, "32k", length, complexity, ROWS)
    for subtask, length in (("chat", 8192), ("transcript", 32768))
    for complexity in (2, 4, 8)
)


@dataclass(frozen=True)
class Drawn:
    """A sample, its layout, and what the turns of its conversation are asked to be, the matching ones left out."""

    sample: Sample
    layout: Layout
    turns: tuple[Label, ...]

    @property
    def depths(self) -> list[float]:
        """The depths of the matching replies."""
        return [item.depth for item in self.layout.placed]


def plan_of(*cells: Stratum, folder: Path = Path("unused")) -> Plan:
    return make_plan(Recipe("mrcr", "0", 11, cells[0].tier, cells), ("o200k",), folder)


def draw(plan: Plan, cell: Stratum, index: int) -> Drawn:
    sample, own = draw_sample(plan, RowPlan(cell, index, "")), row_streams(plan, cell, index)
    layout, shape = plan.task(cell).layout(sample, *own), PoolShape.of(cell)
    everybody = crowd(
        library_of(own[0], cell.tier, shape.corpus, str(plan.out / "corpora"), toned=shape.toned), shape.short
    )
    taken = layout.filler.order.take(int(0.8 * everybody.turns(cell)))
    entries = everybody.library.entries
    return Drawn(sample, layout, tuple(entries[everybody.members[index]].label for index in taken.tolist()))


@pytest.fixture(scope="session")
def drawn() -> list[Drawn]:
    plan = plan_of(*CELLS)
    return [draw(plan, cell, index) for cell in CELLS for index in range(ROWS)]


def by_complexity(drawn: Sequence[Drawn]) -> Iterator[tuple[int, list[Drawn]]]:
    for complexity in (2, 4, 8):
        yield complexity, [each for each in drawn if each.sample.stratum.complexity == complexity]


def test_every_tier_asks_for_a_hundred_topics(drawn: list[Drawn]) -> None:
    assert all(topics_of(tier) >= 100 for tier in ("32k", "128k", "1m"))
    asked = Counter(each.sample.latent["key"][1] for each in drawn)
    assert len(asked) >= 100
    assert max(asked.values()) <= 0.03 * len(drawn)


def test_no_topic_has_many_of_the_turns(drawn: list[Drawn]) -> None:
    turns = Counter(label.topic for each in drawn for label in each.turns)
    turns.update(topic for each in drawn for topic in [each.sample.latent["key"][1]] * each.sample.stratum.complexity)
    assert max(turns.values()) <= 0.02 * sum(turns.values())
    assert len(turns) == topics_of("32k")


def test_formats_are_dealt_and_suit_their_topics(drawn: list[Drawn]) -> None:
    for cell in CELLS:
        asked = [each.sample.latent["key"] for each in drawn if each.sample.stratum == cell]
        times = Counter(form for form, _, _ in asked)
        assert set(times) == set(formats())
        assert max(times.values()) - min(times.values()) <= 1
        assert all(fits(form, topic) for form, topic, _ in asked)
    assert all(fits(label.format, label.topic) for each in drawn for label in each.turns)


def test_no_format_and_topic_is_asked_for_twice_in_a_stratum_of_few_rows(drawn: list[Drawn]) -> None:
    for cell in CELLS:
        asked = Counter(tuple(each.sample.latent["key"]) for each in drawn if each.sample.stratum == cell)
        assert len(asked) >= ROWS - 1


def test_matching_texts_are_written_for_their_row(drawn: list[Drawn]) -> None:
    """They stand in no other row and not in the pool, and share no eight words in a row with each other."""
    library = grammar_library(Streams((11, "any")), "32k", toned=False)
    pool: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for index, entry in enumerate(library.entries):
        pool[entry.label.format, entry.label.topic].append(library.text(index))
    written = [text for each in drawn for text in each.sample.relevant]
    assert len(set(written)) == len(written) == sum(cell.rows * cell.complexity for cell in CELLS)
    assert set(written).isdisjoint(text for texts in pool.values() for text in texts)
    for each in drawn:
        bags = list(map(runs, each.sample.relevant))
        assert len(set().union(*bags)) == sum(map(len, bags))
    assert sum(tuple(each.sample.latent["key"][:2]) in pool for each in drawn) > 100


def test_matching_texts_have_the_lengths_of_the_others(drawn: list[Drawn]) -> None:
    library = grammar_library(Streams((11, "any")), "32k", toned=False)
    others = [len(library.text(index)) for index, entry in enumerate(library.entries) if not entry.shown]
    own = [len(text) for each in drawn for text in each.sample.relevant]
    for part in (10, 25, 50, 75, 90):
        assert abs(np.percentile(own, part) - np.percentile(others, part)) <= 30
    assert abs(mean(size <= 560 for size in own) - mean(size <= 560 for size in others)) <= 0.03


def test_ordinal_and_depth_are_even_and_tell_nothing_about_each_other(drawn: list[Drawn]) -> None:
    for complexity, own in by_complexity(drawn):
        table = np.zeros((complexity, 8))
        for each in own:
            place = each.sample.latent["place"] - 1
            table[place, int(8 * each.depths[place])] += 1
        expected = len(own) / table.size
        assert (table.sum(axis=0) == len(own) / 8).all()
        assert (table.sum(axis=1) == len(own) / complexity).all()
        # The mean of chi squared is its degrees of freedom; dealing together stays below what chance brings.
        assert ((table - expected) ** 2 / expected).sum() <= 7 * (complexity - 1)


def test_neighbours_in_depth_are_asked_for_each_ordinal_once() -> None:
    for rows, complexity in ((24, 8), (25, 4), (100, 2), (7, 8)):
        cell, streams = Stratum("mrcr", "chat", "32k", 8192, complexity, rows), Streams((5, rows, complexity))
        for block in range(2):
            found = [
                depths(cell, index, Streams((5, index)), streams) for index in range(block * rows, (block + 1) * rows)
            ]
            found.sort(key=lambda each: each[1][each[0]])
            asked = [place for place, _ in found]
            for start in range(0, rows - complexity + 1, complexity):
                assert sorted(asked[start : start + complexity]) == list(range(complexity))
            assert len(set(asked[rows - rows % complexity :])) == rows % complexity
            assert [int(rows * each[place]) for place, each in found] == list(range(rows))


def test_other_matches_stand_anywhere_before_and_behind(drawn: list[Drawn]) -> None:
    before, behind = [], []
    for each in drawn:
        place, found = each.sample.latent["place"] - 1, each.depths
        assert found == sorted(found)
        before += [depth / found[place] for depth in found[:place]]
        behind += [(depth - found[place]) / (1 - found[place]) for depth in found[place + 1 :]]
    for places in (before, behind):
        assert len(places) > 500
        counts, _ = np.histogram(places, bins=10, range=(0, 1))
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() <= 27.9  # 9 degrees of freedom, p = 0.001


def test_the_nth_of_k_is_seldom_in_the_nth_part(drawn: list[Drawn]) -> None:
    """So the order of the matches has to be tracked: where a reply stands does not tell which it is."""
    for complexity, own in by_complexity(drawn):
        hits = [int(complexity * depth) == place for each in own for place, depth in enumerate(each.depths)]
        assert mean(hits) <= {2: 0.72, 4: 0.5, 8: 0.36}[complexity]


def test_readers_that_do_not_count_score_one_in_k_and_chance(drawn: list[Drawn]) -> None:
    for complexity, own in by_complexity(drawn):
        score = {name: mean(each.sample.latent[name] for each in own) for name in ("any_match", "last_match")}
        assert 1 / complexity <= score["last_match"] <= 1 / complexity + 0.05
        assert 1 / complexity <= score["any_match"] <= 1 / complexity + 0.05
        assert sum(each.sample.latent["place"] == complexity for each in own) == len(own) / complexity
        assert mean(each.sample.latent["any_reply"] for each in own) <= 0.08
        assert mean(each.sample.latent["related_reply"] for each in own) <= 0.12


def test_other_requests_recur_too(drawn: list[Drawn]) -> None:
    """That a request stands k times in a conversation does not tell that it is the one that is asked for."""
    for each in drawn:
        if each.sample.stratum.length == 32768:
            times = Counter(each.turns)
            assert sum(count >= 4 for count in times.values()) >= 2
            assert max(times.values()) == 8
        if each.sample.stratum.length == 8192:
            assert max(Counter(each.turns).values()) >= 2


def test_what_is_dealt_is_told(drawn: list[Drawn]) -> None:
    for each in drawn:
        latent, count = each.sample.latent, each.sample.stratum.complexity
        assert task_of(each.sample.stratum).dealt(each.sample) == {
            f"ordinal of {count}": (latent["place"], count),
            "format": (latent["key"][0], len(formats())),
            "topic": (latent["key"][1], topics_of("32k")),
        }


def test_every_tier_has_the_most_distractors_that_may_be_asked_for() -> None:
    for tier, length in (("32k", 32768), ("128k", 131072), ("1m", 1048576)):
        cell = Stratum("mrcr", "chat", tier, length, 8, 4, knobs=(("distractors", 256),))
        each = draw(plan_of(cell), cell, 1)
        form, topic, _ = each.sample.latent["key"]
        hard = sum((label.format == form) != (label.topic == topic) for label in each.turns)
        assert hard == min(256, len(each.turns) // 2)


def words_of(*path: object) -> str:
    return " ".join("".join(stream(*map(str, path), word).choices("abcdefghij", k=5)) for word in range(60))


def corpus_cell(
    folder: Path, texts: int, complexity: int, rows: int, tones: Sequence[str] = ("",), **knobs: Any
) -> Stratum:
    writings = [
        Writing(form, topic, tone, words_of(form, topic, tone, number))
        for form in ("letter", "poem", "song", "email")
        for topic in map("topic {}".format, range(16))
        for tone in tones
        for number in range(texts)
    ]
    more = (("corpus", freeze(writings, folder / "corpora")), *knobs.items())
    return Stratum("mrcr", "chat", "32k", 8192, complexity, rows, knobs=more)


def test_texts_of_a_corpus_are_not_asked_for_again_while_there_are_others(tmp_path: Path) -> None:
    """Two topics are kept for demonstrations: four formats and fourteen topics have three pairs of texts each."""
    cell = corpus_cell(tmp_path, 7, 2, 168)
    plan = plan_of(cell, folder=tmp_path)
    samples = [draw_sample(plan, RowPlan(cell, index, "")) for index in range(168)]
    times = Counter(text for sample in samples for text in sample.relevant)
    assert len(times) == 336
    assert set(Counter(tuple(sample.latent["key"]) for sample in samples).values()) == {3}
    assert set(task_of(cell).dealt(samples[0])) == {"ordinal of 2"}


def test_more_rows_than_a_corpus_has_groups_take_each_as_often(tmp_path: Path) -> None:
    cell = corpus_cell(tmp_path, 4, 4, 112)
    plan = plan_of(cell, folder=tmp_path)
    samples = [draw_sample(plan, RowPlan(cell, index, "")) for index in range(112)]
    assert set(Counter(frozenset(sample.relevant) for sample in samples).values()) == {2}


def test_a_corpus_with_tones_gives_the_twins_itself(tmp_path: Path) -> None:
    cell = corpus_cell(tmp_path, 4, 2, 4, ("dry", "sad"), tone=True)
    each = draw(plan_of(cell, folder=tmp_path), cell, 0)
    form, topic, tone = each.sample.latent["key"]
    assert len(each.layout.placed) == 2
    assert sum((label.format, label.topic) == (form, topic) and label.tone != tone for label in each.turns) == 4


def test_tones_are_asked_against_twins_of_the_row() -> None:
    cell = Stratum("mrcr", "chat", "32k", 32768, 4, 6, knobs=(("tone", True),))
    plan = plan_of(cell)
    for index in range(cell.rows):
        each = draw(plan, cell, index)
        roles = [item.unit.pieces[-1].role for item in each.layout.placed]
        assert Counter(roles) == {"relevant": 1, "match": 3, "filler": 8}
        assert roles.index("relevant") == each.sample.latent["ahead"]
        texts = [item.unit.pieces[-1].text for item in each.layout.placed]
        assert len(set().union(*map(runs, texts))) == sum(len(runs(text)) for text in texts)
        form, topic, _ = each.sample.latent["key"]
        assert not [label for label in each.turns if (label.format, label.topic) == (form, topic)]
