"""The subtasks in prose: essays that tell nothing, and between them the biographies that are needed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import comb, perm
from pathlib import Path

import numpy as np
import pytest

from builds import SWEPT
from pipeline.assemble.cutter import NEEDLE_ROLES, in_order
from pipeline.profiles import load_profile
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, Placed, PublishedRow, Sample, Unit
from pipeline.tasks.bio import essay
from pipeline.tasks.bio.ages import biography as aged
from pipeline.tasks.bio.text import biography
from pipeline.tasks.haystacks.filler import prose
from pipeline.tasks.haystacks.solve import TELLS
from pipeline.worlds import essays
from pipeline.worlds.people import MONTHS, POOLS, people
from pipeline.worlds.words import pool
from pipeline.worlds.writing.realise import DAYS, unknown_references

if str(Path(__file__).parents[2] / "helpers") not in sys.path:
    sys.path.append(str(Path(__file__).parents[2] / "helpers"))
from shared_pools import pool_of
from test_writing import DEFECTS

SEED = 5
TASKS = {task.subtask: task for task in essay.TASKS}
CELLS = [(name, complexity) for name, task in TASKS.items() for complexity in task.complexities]


def cell_of(subtask: str, complexity: int, rows: int = 24, shots: int | None = None, **knobs: str) -> Stratum:
    return Stratum("bio", subtask, "32k", 8192, complexity, rows, shots, tuple(sorted(knobs.items())))


def streams(cell: Stratum, index: int, subtask: str = "") -> tuple[Streams, Streams]:
    path = (
        SEED,
        f"bio.{subtask}@{TASKS[cell.subtask].plain.version}"
        if subtask
        else f"bio.{cell.subtask}@{TASKS[cell.subtask].version}",
        cell.tier,
        cell.length,
        cell.complexity,
    )
    return Streams((*path, index)), Streams(path)


def drawn(cell: Stratum, index: int) -> Sample:
    return TASKS[cell.subtask].sample(cell, index, *streams(cell, index))


def published(cell: Stratum, index: int, paragraphs: int = 60, extra: Sequence[str] = ()) -> PublishedRow:
    """Assemble a row from its layout, with so many paragraphs and some more lines at the start."""
    task, sample, (row, shared) = TASKS[cell.subtask], drawn(cell, index), streams(cell, index)
    layout = task.layout(sample, row, shared)
    told = pool_of(SEED, task.pools(cell)[0]).texts(layout.filler.order.take(paragraphs))
    parts, needles, start = [layout.head[0].text, *extra], [], 0
    for item in in_order(layout.placed):
        stop = max(start, round(item.depth * paragraphs))
        parts += told[start:stop]
        start, (piece,) = stop, item.unit.pieces
        at = sum(map(len, parts))
        parts.append(piece.text)
        if piece.role in NEEDLE_ROLES:
            needles.append(Needle(piece.role, at, at + len(piece.text), item.depth))
    text = "".join([*parts, *told[start:], layout.tail[0].text])
    return PublishedRow(cell, (("user", text),), text, sample.question, tuple(needles), sample.key)


@pytest.fixture(scope="module", params=["32k", pytest.param("128k", marks=pytest.mark.slow)])
def texts(request: pytest.FixtureRequest) -> list[str]:
    """All paragraphs of a tier."""
    return list(essays.paragraphs(Streams((20261121, "any")), request.param))


# The world of essays


def test_every_rule_of_the_grammar_is_known_and_used() -> None:
    grammar = essays.reflection()
    assert list(unknown_references(grammar)) == []
    asked = {reference.name for _, reference in grammar.references()}
    assert set(grammar.rules) - asked == {"opening", "middle", "closing", "note"}
    assert {"mood", "moodly", "aside"}.isdisjoint(asked)


def test_prose_names_nobody_and_states_no_value(texts: list[str]) -> None:
    """Every run of words of the prose is looked up among all values that biographies may state."""
    values = {tuple(re.findall(r"[\w'-]+", value)) for name in POOLS for value in pool(name)}
    values |= {(word,) for word in (*MONTHS, *DAYS)}
    longest = max(map(len, values))
    for text in texts:
        words = re.findall(r"[\w'-]+", text)
        runs = {tuple(words[at : at + size]) for at in range(len(words)) for size in range(1, longest + 1)}
        assert runs.isdisjoint(values), runs & values
        assert not re.search(r"\d| old enough|years? old|\bborn\b|graduate|universit|hobb|\bmajor\b", text)
        within = re.sub(r"(^|[.?!] |: )[A-Z]", "", text)
        assert set(re.findall(r"[A-Z]\w*", within)) <= {"I"}, text


def test_the_ban_on_values_finds_what_it_should() -> None:
    assert essays.tells_nothing("I was late, and the kettle knew it.")
    for telling in ("He took up bird ringing", pool("hobbies")[3], pool("majors")[7], pool("cities")[2]):
        assert not essays.tells_nothing(f"I said: {telling}, again.") or telling.startswith("He")
    for telling in ("we were 3", "we met Ann there", "she was born there", "a hobby of mine"):
        assert not essays.tells_nothing(f"Once {telling}.")


def test_no_paragraph_has_a_defect(texts: list[str]) -> None:
    for name, pattern in DEFECTS.items():
        found = [hit for text in texts if (hit := re.search(pattern, text))]
        shown = [hit.string[max(0, hit.start() - 30) : hit.end() + 20] for hit in found[:5]]
        assert not found, f"{len(found)} paragraphs with {name}: {shown}"
    assert all(text.isascii() and text == text.strip() and "\n" not in text for text in texts)


def test_every_paragraph_is_another_and_most_runs_of_words_too(texts: list[str]) -> None:
    assert len(set(texts)) == len(texts) > 750
    words = [re.findall(r"[a-z0-9']+", text.lower()) for text in texts]
    grams = [tuple(said[at : at + 8]) for said in words for at in range(len(said) - 7)]
    assert len(set(grams)) / len(grams) >= 0.85


@pytest.mark.slow
def test_most_runs_of_words_of_a_1m_prompt_are_others() -> None:
    cell, seed = replace(cell_of("standard-essay", 1), tier="1m"), Streams((SEED, "any"))
    written = list(essays.paragraphs(seed, "1m"))
    taken = [written[one] for one in prose(streams(cell, 0)[0], cell).order.take(10_100).tolist()]
    assert sum(map(len, taken)) > 4_600_000
    words = [re.findall(r"[a-z0-9']+", text.lower()) for text in taken]
    grams = [tuple(said[at : at + 8]) for said in words for at in range(len(said) - 7)]
    assert len(set(grams)) / len(grams) >= 0.8


def test_paragraphs_have_60_to_200_tokens_in_every_profile(texts: list[str]) -> None:
    by_size = sorted(texts, key=len)
    extremes = [text + "\n" for text in by_size[:150] + by_size[-150:] + by_size[:: len(by_size) // 300]]
    for name in SWEPT:
        counts = load_profile(name).counter().counts(extremes)
        assert min(counts) >= 60
        assert max(counts) <= 200


def test_essays_are_whole_and_enough() -> None:
    every = essays.essays(Streams((SEED, "any")), "1m")
    assert every[0].start == 0
    assert all(one.start + one.count == other.start for one, other in pairwise(every))
    assert every[-1].start + every[-1].count >= 25_000
    assert {essay.count for essay in every} == {1, 4, 5, 6, 7}
    assert every[1].kinds[0] in ("opening", "note")
    topics = {essay.topic for essay in every}
    assert len(topics) == len(essays.subjects()) >= 380


def test_prose_depends_on_the_seed_alone() -> None:
    first, again = (list(essays.paragraphs(Streams((SEED, name)), "32k")) for name in ("one", "two"))
    assert first == again
    other = essays.paragraphs(Streams((SEED + 1, "one")), "32k")
    assert next(other) != first[0]


@pytest.mark.parametrize("tier", ["32k", "128k", "1m"])
def test_filler_is_essays_in_sequence_and_spares_are_notes(tier: str) -> None:
    cell = replace(cell_of("standard-essay", 1), tier=tier)
    every = essays.essays(Streams((SEED, "any")), tier)
    notes = {essay.start for essay in every if essay.count == 1}
    firsts = {essay.start: essay.count for essay in every if essay.count > 1}
    filler = prose(streams(cell, 0)[0], cell)
    assert filler.pool == f"essays-{tier}"
    assert len(set(filler.spares.tolist())) == 64
    assert set(filler.spares.tolist()) <= notes
    taken = filler.order.take(700).tolist()
    assert len(set(taken)) == 700
    assert notes.isdisjoint(taken)
    at = 0
    while at < len(taken):
        count = firsts[taken[at]]
        assert taken[at : at + count] == list(range(taken[at], taken[at] + count))[: len(taken) - at]
        at += count
    for count in (1, 4, 5, 99, 500):
        assert np.array_equal(filler.order.take(count), taken[:count])
    assert len(filler.order.take(10**6)) == sum(firsts.values())


# The subtasks


def test_all_five_are_there() -> None:
    names = ("standard", "multi_standard", "calculation", "multihop", "rank")
    assert set(TASKS) == {f"{name}-essay" for name in names}
    for task in TASKS.values():
        assert "density" not in task.knobs
        assert task.knobs["depth"] == task.plain.knobs["depth"]


@pytest.mark.parametrize(("subtask", "complexity"), CELLS)
def test_rows_are_solved_and_checked(subtask: str, complexity: int) -> None:
    for cell in (cell_of(subtask, complexity), cell_of(subtask, complexity, 12, shots=2, depth="grid")):
        for index in range(cell.rows):
            row = published(cell, index)
            assert TASKS[subtask].solve(row.turns) == row.key.answers
            assert TASKS[subtask].check(row) == []


@pytest.mark.parametrize(("subtask", "complexity"), CELLS)
def test_nothing_but_the_needed_biographies_stands_in_the_prose(subtask: str, complexity: int) -> None:
    for shots in (0, 2):
        for index in range(6):
            row = published(cell_of(subtask, complexity, shots=shots), index)
            parted, decoys = essay.parted(row.text), sum(needle.role == "decoy" for needle in row.needles)
            assert len(parted.places) == complexity * (1 + shots) + decoys
            assert len(parted.prose) == 60


@pytest.mark.parametrize(("subtask", "complexity"), CELLS)
def test_the_same_is_asked_as_without_essays(subtask: str, complexity: int) -> None:
    """Rows of a seed and place are pairs: a score and the score among other people differ in the haystack alone."""
    plain, cell = TASKS[subtask].plain, cell_of(subtask, complexity)
    for index in range(12):
        theirs = plain.sample(cell, index, *streams(cell, index, plain.subtask))
        ours = drawn(cell, index)
        assert (ours.question, ours.key, ours.latent) == (theirs.question, theirs.key, theirs.latent)
        placed = plain.layout(theirs, *streams(cell, index, plain.subtask)).placed
        layout = TASKS[subtask].layout(ours, *streams(cell, index))
        assert relevant(layout.placed) == relevant(placed)


def relevant(placed: Sequence[Placed]) -> list[tuple[Unit, float]]:
    return [(item.unit, item.depth) for item in placed if item.unit.pieces[0].role == "relevant"]


@pytest.mark.parametrize(("subtask", "complexity"), CELLS)
def test_questions_answers_and_depths_are_balanced(subtask: str, complexity: int) -> None:
    cell = cell_of(subtask, complexity, rows=120)
    samples = [drawn(cell, index) for index in range(cell.rows)]
    assert len({sample.question for sample in samples}) == cell.rows
    kinds = [sample.latent["asked"] for sample in samples]
    assert {kinds.count(kind) for kind in set(kinds)} == {cell.rows // len(set(kinds))}
    layouts = [
        TASKS[subtask].layout(sample, *streams(cell, index)) for index, sample in enumerate(samples[: cell.rows])
    ]
    for place in range(complexity):
        depths = [
            [item.depth for item in layout.placed if item.unit.pieces[0].role == "relevant"][place]
            for layout in layouts
        ]
        assert sorted(int((depth * complexity - place) * cell.rows) for depth in depths) == list(range(cell.rows))


def test_every_paragraph_is_prose_and_no_biography_is(texts: list[str]) -> None:
    assert not [text for text in texts if TELLS.search(text)]
    everybody = people(Streams((SEED, "any")), "128k")
    assert all(TELLS.search(biography(person)) and TELLS.search(aged(person, None)) for person in everybody)
    assert all(TELLS.search(biography(person, "birthdate")) for person in everybody)


def test_a_plain_reader_refuses_the_prose() -> None:
    for subtask, complexity in CELLS:
        row = published(cell_of(subtask, complexity), 0)
        said = row.text.replace("\nEssays and biographies:\n", "\nBiographies:\n")
        with pytest.raises(ValueError, match="the prompt asks nothing"):
            TASKS[subtask].plain.solve((("user", said),))


@pytest.mark.parametrize(("subtask", "complexity"), CELLS)
def test_without_a_needle_there_is_no_answer(subtask: str, complexity: int) -> None:
    for index in range(6):
        row = published(cell_of(subtask, complexity), index)
        for needle in row.needles:
            if needle.role == "relevant":
                text = row.text[: needle.char_start] + row.text[needle.char_end :]
                with pytest.raises(ValueError, match=r"no body|0 biographies|not there"):
                    TASKS[subtask].solve((("user", text),))


def edited(row: PublishedRow, text: str) -> PublishedRow:
    return replace(row, turns=(("user", text),), prompt=text)


@pytest.mark.parametrize(("subtask", "complexity"), CELLS)
def test_planted_faults_are_found(subtask: str, complexity: int) -> None:
    cell = cell_of(subtask, complexity)
    good = published(cell, 1)
    first = next(iter(essay.parted(good.text).prose))
    stranger = people(Streams((SEED, "any")), "32k")[drawn(cell, 1).latent.get("person", 0) + 1]
    told = aged(stranger, 44) if subtask.startswith(("calc", "rank")) else biography(stranger)
    value = good.key.answers[0].split("; ")[0]
    faults = {
        "are needed": published(cell, 1, extra=[told]),
        "are the same": published(cell, 1, extra=[first]),
        "a needle is not a paragraph": replace(
            good, needles=(replace(good.needles[0], char_start=1), *good.needles[1:])
        ),
        "wrong": replace(good, key=replace(good.key, target="wrong", answers=("wrong",))),
    }
    if value.islower():
        faults["stands in the prose"] = published(cell, 1, extra=[f"I once knew {value}.\n"])
    for said, row in faults.items():
        assert any(said in fault for fault in TASKS[subtask].check(row)), (said, TASKS[subtask].check(row))


def test_an_answer_in_the_prose_is_found() -> None:
    seen = 0
    for index in range(24):
        cell = cell_of("standard-essay", 1)
        row = published(cell, index)
        if row.key.target.islower():
            seen += 1
            told = published(cell, index, extra=[f"Nobody spoke, and {row.key.target} went on.\n"])
            assert TASKS["standard-essay"].check(told) == [f"the answer {row.key.target!r} stands in the prose"]
    assert seen


def test_prose_that_names_somebody_is_no_prose() -> None:
    row = published(cell_of("standard-essay", 1), 0)
    for telling in ("I met Ann Bo Lee there.\n", "We were 44 that day.\n"):
        at = row.text.index("\nEssays and biographies:\n") + len("\nEssays and biographies:\n")
        with pytest.raises(ValueError, match="no biography"):
            TASKS["standard-essay"].solve(edited(row, row.text[:at] + telling + row.text[at:]).turns)


@pytest.mark.parametrize(("subtask", "complexity"), CELLS)
def test_baselines_say_that_biographies_stand_out(subtask: str, complexity: int) -> None:
    sample = drawn(cell_of(subtask, complexity), 0)
    said = TASKS[subtask].baselines(sample, sample.key)
    guesses = perm(4 * complexity, complexity) if "multi_" in subtask else comb(4 * complexity, complexity)
    assert said["any_biography"] == (1 / 4 if "multihop" in subtask else 1 / guesses)
    assert said["uniform"] <= 0.5
