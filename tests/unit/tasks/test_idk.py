from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.metrics import score
from pipeline.recipe import (
    Stratum,
)
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, Placed, PublishedRow, Sample
from pipeline.tasks.idk import solve
from pipeline.tasks.idk import task as pool
from pipeline.tasks.idk.chance import nearest, noun_positions, positions, share
from pipeline.tasks.idk.forms import LETTERS, UNKNOWN
from pipeline.tasks.idk.task import TASKS, QuestionPlan, draw, lines_of, make_letters, make_stories, specs
from pipeline.tasks.idk.text import END
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.stories import KINDS, Pair, names, namesakes, plot_named, plots, values_of, worded
from story_features import class_features, held_out_auc

BY_NAME = {task.subtask: task for task in TASKS}
STORIES = BY_NAME["stories"]
ROWS = {0: 70, 1: 30}


def cell_of(subtask: str, complexity: int, **changes: object) -> Stratum:
    cell = Stratum("idk", subtask, "32k", 4096, complexity, ROWS[complexity])
    return replace(cell, **changes)  # type: ignore[arg-type]


def drawn(cell: Stratum, index: int) -> tuple[Sample, Streams, Streams]:
    path = (5, f"idk.{cell.subtask}@1", cell.tier, cell.length, cell.complexity)
    row, shared = Streams((*path, index)), Streams(path)
    return BY_NAME[cell.subtask].sample(cell, index, row, shared), row, shared


@lru_cache(maxsize=2)
def filler(subtask: str) -> tuple[str, ...]:
    (spec,) = specs(subtask, "32k")
    return tuple(unit.pieces[0].text for unit in spec.make(Streams((5, "pool")), spec))


def published(cell: Stratum, index: int, change: Callable[[list[str], str], list[str]] | None = None) -> PublishedRow:
    """Assemble a row from its layout with some filler; `change` may tamper with the body before it is joined."""
    sample, row, shared = drawn(cell, index)
    layout = BY_NAME[cell.subtask].layout(sample, row, shared)
    pool_texts = filler(cell.subtask)
    body = [pool_texts[unit] for unit in layout.filler.order.take(20).tolist()]
    decoys = [item.unit.pieces[0].text for item in layout.placed[1:]]
    body[3:3] = decoys[:1]
    body[12:12] = decoys[1:]
    body.insert(7, sample.relevant[0])
    body = change(body, sample.relevant[0]) if change else body
    parts = [*(piece.text for piece in layout.head), *body, *(piece.text for piece in layout.tail)]
    roles = [*(piece.role for piece in layout.head), *("filler" for _ in body), *(piece.role for piece in layout.tail)]
    needles, at = [], 0
    for text, role in zip(parts, roles, strict=True):
        marked = "relevant" if text == sample.relevant[0] else "decoy" if text in decoys else role
        if marked in ("demo", "relevant", "decoy"):
            needles.append(Needle(marked, at, at + len(text), 0.5))
        at += len(text)
    prompt = "".join(parts)
    return PublishedRow(
        stratum=cell,
        turns=(("user", prompt),),
        prompt=prompt,
        question=sample.question,
        needles=tuple(needles),
        key=sample.key,
        metadata={"latent": dict(sample.latent)},
    )


def cases(count: int = 12) -> list[tuple[Stratum, int]]:
    return [(cell_of(task.subtask, kind), index) for task in TASKS for kind in (0, 1) for index in range(count)]


@pytest.mark.parametrize("shots", [0, 2])
def test_rows_are_solved_and_checked(shots: int) -> None:
    for cell, index in cases():
        row = published(replace(cell, shots=shots), index)
        task = BY_NAME[cell.subtask]
        assert task.solve(row.turns) == row.key.answers
        assert task.check(row) == []
        assert sum(needle.role == "demo" for needle in row.needles) == shots


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 1]), st.sampled_from(["letters", "stories"]))
def test_the_reader_agrees_with_the_truth_of_any_sample(seed: int, complexity: int, subtask: str) -> None:
    cell = cell_of(subtask, complexity, rows=1)
    streams = Streams((seed, "any"))
    sample = BY_NAME[subtask].sample(cell, 0, streams, streams)
    told = solve.read_story(sample.relevant[0].rstrip("\n"))
    assert told.stated == sample.latent["details"]
    assert told.plot == sample.latent["plot"]
    assert told.mentioned == {slot.noun for slot in plot_named(told.plot).slots}
    assert (sample.key.target == "D") == (sample.latent["noun"] not in told.stated) == (complexity == 0)
    if complexity:
        assert sample.key.choices is not None
        assert sample.key.choices[LETTERS.index(sample.key.target)] == told.stated[sample.latent["noun"]]


def test_the_key_scores_one_in_every_form_and_other_choices_nothing() -> None:
    for cell, index in cases(20):
        sample, _, _ = drawn(cell, index)
        row = {"scorer": "choice_or_refusal", "target": sample.key.target, "choices": list(sample.key.choices or ())}
        assert all(score(row, answer) == 1.0 for answer in sample.key.answers)
        for letter, choice in zip(LETTERS, sample.key.choices or (), strict=True):
            if letter != sample.key.target:
                assert score(row, letter) == score(row, choice) == score(row, f"({letter}) {choice}") == 0.0


# ---- balance -----------------------------------------------------------------------------------------------------


def stratum(complexity: int, rows: int, subtask: str = "stories") -> list[Sample]:
    cell = cell_of(subtask, complexity, rows=rows)
    return [drawn(cell, index)[0] for index in range(rows)]


def shares(samples: Sequence[Sample], what: Callable[[Sample], object]) -> dict[object, float]:
    counted = Counter(map(what, samples))
    return {value: count / len(samples) for value, count in counted.items()}


def test_both_classes_state_the_same_numbers_of_choices_and_details_exactly() -> None:
    unknown, known = stratum(0, 70), stratum(1, 30)
    for name in ("stated", "pair", "side", "place"):
        counts = [shares(samples, lambda one, name=name: one.latent[name]) for samples in (unknown, known)]
        assert all(abs(counts[0][kind] - counts[1][kind]) < 0.02 for kind in counts[0]), name
    assert {len(sample.latent["details"]) for sample in (*unknown, *known)} == {3}
    assert shares(known, lambda one: one.latent["stated"]) == {1: 0.4, 2: 0.4, 3: 0.2}
    for sample in (*unknown, *known):
        choices = (sample.key.choices or ())[:3]
        held = [choice for choice in choices if positions(sample.relevant[0], choice)]
        assert len(held) == sample.latent["stated"] == sum(c in sample.latent["details"].values() for c in choices)


def test_letters_plots_and_kinds_are_dealt_evenly() -> None:
    known = stratum(1, 105)
    assert shares(known, lambda one: one.key.target) == {"A": 1 / 3, "B": 1 / 3, "C": 1 / 3}
    assert {sample.key.target for sample in stratum(0, 105)} == {"D"}
    for samples in (known, stratum(0, 105)):
        assert shares(samples, lambda one: one.latent["plot"]) == {plot.title: 1 / len(plots()) for plot in plots()}
        assert shares(samples, lambda one: one.latent["asked"]) == {kind: 1 / len(KINDS) for kind in KINDS}
    few = Counter(sample.latent["asked"] for sample in stratum(0, 10))
    assert set(few.values()) <= {1, 2}


def test_what_a_row_was_dealt_is_balanced() -> None:
    for complexity in (0, 1):
        samples = stratum(complexity, 210)
        for name, (_, kinds) in STORIES.dealt(samples[0]).items():
            counts = Counter(STORIES.dealt(sample)[name][0] for sample in samples)
            assert set(counts) == set(range(kinds)), name
            assert set(counts.values()) == {210 // kinds}, name


def test_lures_stand_anywhere() -> None:
    places: Counter[int] = Counter()
    for sample in many()[0]:
        places.update(
            place
            for place, choice in enumerate((sample.key.choices or ())[:3])
            if positions(sample.relevant[0], choice)
        )
    assert max(places.values()) < 1.2 * min(places.values())


def test_nobody_is_asked_twice_in_a_stratum() -> None:
    for task in TASKS:
        assert len({sample.latent["person"] for sample in stratum(0, 70, task.subtask)}) == 70


def test_stories_of_both_classes_and_of_filler_are_equally_long() -> None:
    means = [sum(len(one.relevant[0]) for one in samples) / len(samples) for samples in many()]
    stories = filler("stories")
    means.append(sum(map(len, stories)) / len(stories))
    assert max(means) < 1.01 * min(means)


def test_choices_differ_and_the_last_is_no_answer() -> None:
    for sample in (*stratum(0, 200), *stratum(1, 200)):
        choices = sample.key.choices or ()
        assert len(set(choices)) == 4
        assert choices[3] == UNKNOWN


# ---- solvers that do not read ------------------------------------------------------------------------------------


def gaps(sample: Sample) -> list[tuple[int, int]]:
    """Return for each stated choice its least distance to the asked noun in words, signed, and the choice."""
    asked = noun_positions(sample.relevant[0], sample.latent["noun"])
    found = []
    for choice, text in enumerate((sample.key.choices or ())[:3]):
        places = positions(sample.relevant[0], text)
        if places:
            found.append((min((p - n for p in places for n in asked), key=abs), choice))
    return found


def only_stated(sample: Sample) -> list[int]:
    stated = [choice for _, choice in gaps(sample)]
    return stated if len(stated) == 1 else [0, 1, 2]


def placed(sample: Sample, pick: Callable[[Sequence[tuple[int, int]]], tuple[int, int]]) -> list[int]:
    found = [(place, choice) for choice, text in enumerate((sample.key.choices or ())[:3])
             for place in positions(sample.relevant[0], text)]  # fmt: skip
    return [pick(found)[1]]


SOLVERS: dict[str, Callable[[Sample], list[int]]] = {
    "only stated": only_stated,
    "earliest": lambda sample: placed(sample, min),
    "latest": lambda sample: placed(sample, max),
    "nearest": lambda sample: nearest(
        [positions(sample.relevant[0], text) for text in (sample.key.choices or ())[:3]],
        noun_positions(sample.relevant[0], sample.latent["noun"]),
    ),
}


@lru_cache(maxsize=1)
def many() -> tuple[list[Sample], list[Sample]]:
    """Return 1,470 samples of each class, of strata small enough to be dealt fast."""

    def of_class(complexity: int) -> list[Sample]:
        cells = [cell_of("stories", complexity, rows=105, length=2048 + number) for number in range(14)]
        return [drawn(cell, index)[0] for cell in cells for index in range(cell.rows)]

    return of_class(0), of_class(1)


def class_means(solver: Callable[[Sample], list[int]]) -> tuple[float, float]:
    def right(sample: Sample) -> float:
        return share("ABC".find(sample.key.target), solver(sample))

    unknown, known = many()
    return sum(map(right, unknown)) / len(unknown), sum(map(right, known)) / len(known)


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_that_do_not_read_are_no_better_than_the_constant(name: str) -> None:
    unknown, known = class_means(SOLVERS[name])
    assert 0.7 * unknown + 0.3 * known <= 0.7
    assert (unknown + known) / 2 <= 0.5


@pytest.mark.parametrize("signed", [False, True])
def test_no_rule_on_the_distance_of_the_nearest_choice_beats_the_constant(*, signed: bool) -> None:
    """Choose (D) or the nearest choice for each distance as is best in hindsight: hardly better than always (D)."""
    unknown, known = many()
    totals: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for samples, place in ((unknown, 0), (known, 1)):
        for sample in samples:
            gap, choice = min(gaps(sample), key=lambda found: abs(found[0]))
            right = place == 0 or LETTERS[choice] == sample.key.target
            totals[gap if signed else abs(gap)][place] += right / len(samples)
    assert sum(max(0.7 * missing, 0.3 * found) for missing, found in totals.values()) <= 0.705
    assert sum(max(missing, found) / 2 for missing, found in totals.values()) <= 0.57


def twins(subtask: str, count: int) -> list[tuple[Sample, Sample]]:
    """Return rows of both classes that are of the same draws, with what is dealt to the first of each two."""
    found = []
    for index in range(count):
        sample, row, shared = drawn(cell_of(subtask, 0, rows=count), index)
        other = BY_NAME[subtask].sample(cell_of(subtask, 1, rows=count), index, row, shared)
        found.append((sample, other))
    return found


@pytest.mark.parametrize("subtask", ["letters", "stories"])
def test_rows_of_both_classes_of_the_same_draws_look_the_same(subtask: str) -> None:
    for unknown, known in twins(subtask, 200):
        assert unknown.relevant != known.relevant
        assert unknown.question == known.question
        assert unknown.key.choices == known.key.choices
        assert class_features(unknown) == class_features(known)


def test_a_classifier_of_surface_and_places_learns_nothing_of_the_class() -> None:
    assert abs(held_out_auc(*(samples[:700] for samples in many())) - 0.5) < 0.08


def test_the_classifier_learns_a_tell_that_is_planted() -> None:
    """One comma more in the answerable stories."""
    unknown, known = (samples[:700] for samples in many())
    told = [replace(sample, relevant=(sample.relevant[0].replace(" and ", ", and ", 1),)) for sample in known]
    assert held_out_auc(unknown, told) > 0.58


@pytest.mark.slow
@pytest.mark.parametrize("subtask", ["letters", "stories"])
def test_a_classifier_of_surface_and_places_learns_nothing_of_many_rows(subtask: str) -> None:
    cells = [cell_of(subtask, complexity, rows=3000, tier="1m") for complexity in (0, 1)]
    unknown, known = ([drawn(cell, index)[0] for index in range(cell.rows)] for cell in cells)
    assert held_out_auc(unknown, known) < 0.54


def test_baselines_are_what_the_solvers_score() -> None:
    for sample in (*stratum(0, 60), *stratum(1, 60)):
        right = "ABC".find(sample.key.target)
        shown = STORIES.baselines(sample, sample.key)
        assert shown["uniform"] == 0.25
        assert shown["always_d"] == float(right < 0)
        assert shown["only_stated"] == pytest.approx(share(right, only_stated(sample)))
        assert shown["first_stated"] == pytest.approx(share(right, SOLVERS["earliest"](sample)))
        assert shown["last_stated"] == pytest.approx(share(right, SOLVERS["latest"](sample)))
        assert shown["lexical"] == pytest.approx(share(right, SOLVERS["nearest"](sample)))


# ---- planted faults ----------------------------------------------------------------------------------------------


def faults(row: PublishedRow) -> list[str]:
    """Return what solver and check say of a row; what cannot be read is a fault."""
    task = BY_NAME[row.stratum.subtask]
    try:
        solved = task.solve(row.turns)
        said = [] if solved == row.key.answers else [f"the text says {solved[0]}"]
        return said + task.check(row)
    except ValueError as fault:
        return [str(fault)]


def test_a_statement_planted_in_an_unanswerable_story_is_found() -> None:
    for index in range(20):
        sample, _, _ = drawn(cell_of("stories", 0), index)
        plot = plot_named(sample.latent["plot"])
        slot = plot.slot(sample.latent["noun"])
        value = (sample.key.choices or ())[index % 3]
        if value in sample.latent["details"].values():
            continue
        first = solve.read_story(sample.relevant[0].rstrip("\n")).name.split(" ")[0]
        other = next(one for one in plot.slots if one is not slot)
        planted = worded(plot.pairs[0], Pair((slot.noun, other.noun), 0, value), first)
        text = sample.relevant[0].replace(". ", f". {planted} ", 1)
        row = published(
            cell_of("stories", 0), index, lambda body, own, text=text: [text if t == own else t for t in body]
        )
        assert any("in more than one pair" in fault for fault in faults(row)), text


def test_a_detail_given_to_the_other_of_its_pair_is_found() -> None:
    """Say in every row of whichever class that the detail is of the other thing: the key is wrong then."""
    for complexity, index in product((0, 1), range(20)):
        cell = cell_of("stories", complexity)
        sample, row, _ = drawn(cell, index)
        person = names(row, cell.tier)[sample.latent["person"]]
        dealt = [sample.latent[name] for name in ("stated", "place", "pair", "side")]
        turned = QuestionPlan(plot_named(sample.latent["plot"]), *dealt, answerable=complexity == 0)
        text = draw(row.of("story"), person, turned).story.text
        assert text != sample.relevant[0]
        bad = published(cell, index, lambda body, own, text=text: [text if t == own else t for t in body])
        assert any("the text says" in fault for fault in faults(bad)), text


@pytest.mark.parametrize("subtask", ["letters", "stories"])
def test_other_planted_faults_are_found(subtask: str) -> None:
    cell = cell_of(subtask, 1)
    stranger, twin = filler("stories")[0], drawn(cell, 1)[0].relevant[0]
    name = solve.read_question(published(cell, 0).text).name
    other = solve.read_story(twin.rstrip("\n")).name
    faulty = {
        "a second story of the same person": lambda body, own: [*body, twin.replace(other, name)],
        "no story": lambda body, own: [text for text in body if text != own],
        "the story twice": lambda body, own: [*body, own],
        "a line of prose": lambda body, own: [*body, "Nobody ever said a word about it.\n"],
        "the wrong kind of filler": lambda body, own: [*body, stranger if subtask == "letters" else "A B C\n"],
        "two equal lines": lambda body, own: [*body, body[0]],
        "an unknown clause": lambda body, own: [text.replace(". ", ". It was all red. ", 1) for text in body],
    }
    for said, change in faulty.items():
        assert faults(published(cell, 0, change)), said


def test_swapped_and_wrong_choices_are_found() -> None:
    for complexity in (0, 1):
        good = published(cell_of("letters", complexity), 3)
        choices = list(good.key.choices or ())
        at = LETTERS.index(good.key.target) % 3
        swapped = good.text.replace(f"({LETTERS[at]}) {choices[at]}\n", "(X) nothing\n")
        assert faults(replace(good, turns=(("user", swapped),)))
        other = (at + 1) % 3
        choices[at], choices[other] = choices[other], choices[at]
        assert faults(replace(good, key=replace(good.key, choices=tuple(choices))))
        double = good.text.replace(f"({LETTERS[other]}) ", f"({LETTERS[other]}) {choices[other]}\n(Z) ")
        assert faults(replace(good, turns=(("user", double),)))


def test_false_marks_and_metadata_are_found() -> None:
    good = published(cell_of("stories", 1), 0)
    latent = good.metadata["latent"]
    assert faults(good) == []
    moved = replace(good, needles=(replace(good.needles[0], char_start=1),))
    fewer = replace(good, metadata={"latent": {**latent, "stated": latent["stated"] % 3 + 1}})
    untold = replace(good, metadata={"latent": {**latent, "details": {}}})
    as_unknown = replace(good, stratum=replace(good.stratum, complexity=0))
    renamed = replace(good, question="What colour was it?")
    for bad in (moved, fewer, untold, as_unknown, renamed):
        assert faults(bad)


def test_a_wrong_demonstration_is_found() -> None:
    good = published(cell_of("stories", 1, shots=2), 0)
    shown = re.findall(r"Answer: ([A-D])\n", good.text)
    assert sorted(letter == "D" for letter in shown) == [False, True]
    start = good.text.index(f"Answer: {shown[0]}\n") + len("Answer: ")
    wrong = good.text[:start] + LETTERS[(LETTERS.index(shown[0]) + 1) % 4] + good.text[start + 1 :]
    assert any("demonstration" in fault for fault in faults(replace(good, turns=(("user", wrong),))))


def test_missing_false_and_further_namesakes_are_found() -> None:
    good = published(cell_of("stories", 0), 2)
    decoys = [good.text[one.char_start : one.char_end] for one in good.needles if one.role == "decoy"]
    told = [solve.read_story(text.rstrip("\n")) for text in decoys]
    noun, name = good.metadata["latent"]["noun"], solve.read_question(good.text).name.split(" ")
    value = told[0].stated[noun]
    other = next(one for one in values_of(plot_named(told[0].plot).values) if one not in decoys[0] and one != name[0])
    someone = solve.read_story(filler("stories")[0].rstrip("\n")).name
    further = filler("stories")[0].replace(someone.split(" ")[0], name[0])
    faulty = {
        "none of a kind": lambda body, own: [text for text in body if text != decoys[0]],
        "one more of a kind": lambda body, own: [*body, further],
        "a detail that is no choice": lambda body, own: [text.replace(value, other) for text in body],
    }
    for said, change in faulty.items():
        assert any("namesakes" in fault for fault in faults(published(cell_of("stories", 0), 2, change))), said
    unmarked = replace(good, needles=tuple(one for one in good.needles if one.role != "decoy"))
    assert faults(unmarked) == ["the decoys are not the stories of namesakes"]


# ---- filler and layout -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", ["32k", "128k"])
def test_letters_are_random_lines_and_enough(tier: str) -> None:
    (spec,) = specs("letters", tier)
    lines = [unit.pieces[0].text for unit in make_letters(Streams((1, "pool")), spec)]
    assert len(set(lines)) == len(lines) == lines_of(tier)
    assert all(re.fullmatch(r"[A-Z]( [A-Z])+\n", line) for line in lines)
    assert sum(len(line) // 2 for line in lines) > 1.4 * TIERS[tier]
    letters = Counter("".join(lines).replace(" ", "").replace("\n", ""))
    assert len(letters) == 26
    assert max(letters.values()) < 1.25 * min(letters.values())
    assert {len(line) // 2 for line in lines[:2000]} >= set(range(10, 60))


def test_filler_stories_are_told_like_needles_about_everybody_else() -> None:
    (spec,) = specs("stories", "32k")
    units = list(make_stories(Streams((1, "pool")), spec))
    told = [solve.read_story(unit.pieces[0].text.rstrip("\n")) for unit in units]
    assert [one.name for one in told] == list(names(Streams((1, "pool")), "32k"))
    assert {len(one.stated) for one in told} == {3}
    assert {one.plot for one in told} == {plot.title for plot in plots()}
    assert all(len(unit.facts) == len(one.stated) for unit, one in zip(units, told, strict=True))


def test_filler_never_holds_the_asked_or_shown() -> None:
    for index in range(10):
        cell = cell_of("stories", 0, shots=2)
        sample, row, shared = drawn(cell, index)
        source = STORIES.layout(sample, row, shared).filler
        taken = [*source.spares.tolist(), *source.order.take(800).tolist()]
        assert len(set(taken)) == len(taken)
        near = [one for kind in namesakes(row, "32k", sample.latent["person"]) for one in kind]
        assert not {sample.latent["person"], *sample.latent["shown"], *near} & set(taken)


def test_two_namesakes_are_told_the_other_choices_alike_in_both_classes() -> None:
    """Nothing of them tells the class: the same draws give the same stories of namesakes."""
    places = Counter[int]()
    for index in range(60):
        told = []
        for complexity in (0, 1):
            cell = cell_of("stories", complexity, rows=60)
            _, row, shared = drawn(cell_of("stories", 0, rows=60), index)
            sample = STORIES.sample(cell, index, row, shared)
            placed = STORIES.layout(sample, row, shared).placed
            told.append([item.unit.pieces[0].text for item in placed[1:]])
            places.update(sum(item.depth < placed[0].depth for item in placed[1:]) for _ in range(complexity))
        assert told[0] == told[1]
        one, other = (solve.read_story(text.rstrip("\n")) for text in told[0])
        name = names(row, "32k")[sample.latent["person"]].split(" ")
        assert [one.name.split(" ")[0], other.name.split(" ")[1]] == name
        choices = (sample.key.choices or ())[:3]
        said = {story.stated[sample.latent["noun"]] for story in (one, other)}
        assert said == {choice for place, choice in enumerate(choices) if place != sample.latent["place"]}
    assert min(places[before] for before in range(3)) >= 10


@pytest.mark.parametrize("tier", TIERS)
def test_every_name_of_a_story_is_that_of_many(tier: str) -> None:
    streams = Streams((5, "any"))
    everybody = names(streams, tier)
    assert len(set(everybody)) == len(everybody)
    for place in (0, 1):
        times = Counter(name.split(" ")[place] for name in everybody)
        assert min(times.values()) >= 0.7 * len(times)
    for person in range(0, len(everybody), 397):
        first, last = everybody[person].split(" ")
        found = namesakes(streams, tier, person)
        assert [sorted(found[0]), sorted(found[1])] == [
            [one for one, name in enumerate(everybody) if one != person and name.split(" ")[place] == part]
            for place, part in enumerate((first, last))
        ]


def test_the_story_stands_first_if_asked_for() -> None:
    def depths(cell: Stratum) -> list[float]:
        found: list[Placed] = []
        for index in range(cell.rows):
            sample, row, shared = drawn(cell, index)
            found += BY_NAME[cell.subtask].layout(sample, row, shared).placed[:1]
        return sorted(item.depth for item in found)

    for task in TASKS:
        assert set(depths(cell_of(task.subtask, 1, knobs=(("depth", "first"),)))) == {0.0}
        assert [int(depth * 30) for depth in depths(cell_of(task.subtask, 1))] == list(range(30))


def test_prompts_end_in_the_question() -> None:
    for task in TASKS:
        row = published(cell_of(task.subtask, 1), 0)
        tail = row.text[row.text.index(END) :]
        assert f"\n\nQuestion: {row.question}\nChoices:\n(A) " in tail
        assert tail.endswith(f"\n(D) {UNKNOWN}\nAnswer:")


@pytest.mark.parametrize(
    "text",
    ["", "Answer:", f"\nThe text begins here.\n{END}\nQuestion: What?\nChoices:\n(A) a\n(B) b\n(C) c\n(D) d\nAnswer:"],
)
def test_what_is_no_prompt_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"prompt|question"):
        BY_NAME["letters"].solve((("user", text),))


def test_every_question_is_of_one_plot() -> None:
    for plot in plots():
        for slot in plot.slots:
            asked = plot.ask.format(it=slot.noun, name="Ann Bee")
            read = [title for title, pattern in solve._questions() if pattern.fullmatch(asked)]
            assert read == [plot.title]


def test_pools_are_one_for_each_subtask_and_tier() -> None:
    specs_seen = [spec for task in TASKS for tier in TIERS for spec in task.pools(cell_of(task.subtask, 0, tier=tier))]
    assert len({spec.name for spec in specs_seen}) == 6
    assert all(spec.make in (pool.make_letters, pool.make_stories) for spec in specs_seen)
