"""Questions about annals: their proof finds what is planted, shortcuts stay low, and depths are uniform."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean

import numpy as np
import pytest

import surface_learner
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import score
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.tasks import TASKS, task_of
from pipeline.tasks.annals.solve import (
    CHILD,
    SALES,
    SENTENCE,
    Line,
    _patterns,
    about,
    day_of,
    owner_asked,
    read,
    statements_about,
    steps_of,
)
from pipeline.tasks.base import Sample
from pipeline.tasks.longqa import choice
from pipeline.tasks.longqa.base import LongQa, plan_entry
from pipeline.tasks.longqa.kin import paths
from pipeline.verify.row import answer_faults, cell_place
from pipeline.worlds.chronicle import chronicle, year
from pipeline.worlds.chronicle.entries import LAST_DAY, ON_ROLL, words_of

SUBTASKS = ("state", "kin", "when", "choice", "unanswerable", "turns")
ROWS = 10
OWNERS = ("state", "choice")


def cells(rows: int = ROWS, tier: str = "32k") -> tuple[Stratum, ...]:
    return tuple(
        Stratum("longqa", subtask, tier, 8192 if subtask in ("state", "choice", "turns") else 4096, complexity, rows)
        for subtask in SUBTASKS
        for complexity in TASKS["longqa", subtask].complexities
    )


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    made = make_plan(Recipe("longqa", "0", 11, "32k", cells()), ("o200k",), tmp_path_factory.mktemp("longqa"))
    assert all(Stages(made, Inline).build())
    return made


@pytest.fixture(scope="module")
def rows(plan: Plan) -> list[Row]:
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


def cell_of(row: Row) -> Stratum:
    place = row["family"], row["subtask"], row["length"], row["complexity"]
    return next(cell for cell in cells() if cell_place(cell) == place)


def first(rows: list[Row], subtask: str, complexity: int) -> Row:
    return next(row for row in rows if (row["subtask"], row["complexity"]) == (subtask, complexity))


def with_text(row: Row, prompt: str) -> Row:
    """Return a row of another prompt, whose digest and marks fit."""
    moved = len(prompt) - len(row["prompt"])
    metadata = {**json.loads(row["metadata"]), "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    changed = next((at for at, (one, other) in enumerate(zip(row["prompt"], prompt, strict=False)) if one != other), 0)
    needles = [
        {**n, **{name: n[name] + moved * (n["char_start"] >= changed) for name in ("char_start", "char_end")}}
        for n in row["needles"]
    ]
    start = row["question_start"] + moved
    return {**row, "prompt": prompt, "metadata": json.dumps(metadata), "needles": needles, "question_start": start}


def body(row: Row) -> list[str]:
    return row["prompt"].partition("\nAnnals:\n")[2].partition("\nThis is the end")[0].splitlines(keepends=True)


def swapped(row: Row) -> str:
    one, other = next((a, b) for a, b in zip(body(row)[5:], body(row)[6:], strict=False) if a[:12] != b[:12])
    return str(row["prompt"]).replace(one + other, other + one)


def sold_again(row: Row) -> str:
    """Tell of another sale of the asked property just before the day asked about."""
    prop, day = owner_asked(row["question"])
    line = [one for one in read(row["prompt"]) if one.day <= day][-1]
    heading = row["prompt"][line.start : line.end].partition(". ")[0]
    at = line.end
    return f"{row['prompt'][:at]}{heading}. Ann Tuck bought {prop} for 50 pounds.\n{row['prompt'][at:]}"


def unnamed(row: Row) -> str:
    """Leave out the entries that name the answer but are not needed."""
    text, spans = row["prompt"], [(n["char_start"], n["char_end"]) for n in row["needles"] if n["role"] == "relevant"]
    for line in reversed(about(read(text), row["answers"][-1])):
        if (line.start, line.end) not in spans:
            text = text[: line.start] + text[line.end :]
    return str(text)


@pytest.mark.parametrize(
    ("subtask", "complexity", "change", "fault"),
    [
        ("state", 5, swapped, "not in order of date"),
        ("kin", 2, swapped, "not in order of date"),
        ("when", 1, swapped, "not in order of date"),
        ("state", 1, sold_again, "the text gives"),
        ("state", 20, sold_again, "the text gives"),
        ("choice", 5, sold_again, "is 0 of the options"),
        ("unanswerable", 0, sold_again, "the sale that stands names its buyer in form b"),
        ("state", 5, unnamed, "named nowhere else"),
        ("kin", 3, unnamed, "named nowhere else"),
    ],
)
def test_what_is_planted_is_found(
    rows: list[Row], subtask: str, complexity: int, change: Callable[[Row], str], fault: str
) -> None:
    row = first(rows, subtask, complexity)
    assert answer_faults(row, cell_of(row)) == []
    changed = with_text(row, change(row))
    assert changed["prompt"] != row["prompt"]
    assert any(fault in one for one in answer_faults(changed, cell_of(row))), answer_faults(changed, cell_of(row))


def test_entries_stand_in_order_of_date_and_no_filler_names_what_is_asked(rows: list[Row]) -> None:
    for row in (row for row in rows if row["subtask"] in OWNERS):
        found, (prop, _) = read(row["prompt"]), owner_asked(row["question"])
        days = [one.day for one in found]
        assert days == sorted(days)
        spans = {(n["char_start"], n["char_end"]) for n in row["needles"]}
        assert {(one.start, one.end) for one in about(found, prop)} <= spans


def replies(rows: list[Row], name: str) -> dict[tuple[str, int], float]:
    """Return the mean score of a reader in each cell."""
    found = defaultdict(list)
    for row in rows:
        reply = READERS[name].replies(open_reading(row))
        assert reply is not None
        found[row["subtask"], row["complexity"]].append(score(row, reply))
    return {cell: fmean(some) for cell, some in found.items()}


PAIRED = ("unanswerable", "turns")


def test_first_and_last_mentions_do_not_pay(rows: list[Row]) -> None:
    """Of a pair both forms must be right: the bound is that of the smaller share."""
    for name in ("half-name", "last-match", "passage"):
        scores = replies(rows, name)
        for (subtask, complexity), mean in scores.items():
            if subtask in PAIRED:
                assert min(scores[subtask, 0], scores[subtask, 1]) <= 0.55, (name, subtask)
            elif (subtask, complexity, name) != (
                "state",
                1,
                "last-match",
            ):  # the last sale before the day decides there
                assert mean <= 0.45, (name, subtask, complexity, mean)


Rule = Callable[[list[tuple[str, str]]], str]


def kth_last(place: int) -> Rule:
    return lambda told: (sold := [buyer for kind, buyer in told if kind in SALES])[-min(place, len(sold))]


def kth_last_deed(place: int) -> Rule:
    return lambda told: told[-min(place, len(told))][1]


def before_last_undoing(told: list[tuple[str, str]]) -> str:
    undone = [at for at, (kind, _) in enumerate(told) if kind in ("undo", "undo2")]
    return kth_last(1)(told[: undone[-1]] if undone else told)


def last_not_undone_at_once(told: list[tuple[str, str]]) -> str:
    left = [buyer for (kind, buyer), (then, _) in pairwise([*told, ("", "")]) if kind in SALES and "undo" not in then]
    return left[-1] if left else ""


def only_the_last_step(told: list[tuple[str, str]]) -> str:
    return kth_last({"undo": 2, "undo2": 3}.get(told[-1][0], 1))(told)


def behind_a_cancellation(told: list[tuple[str, str]]) -> str:
    """Return who bought first just after a sale was set aside or restored, else who bought second."""
    found = [buyer for (then, _), (kind, buyer) in pairwise(told) if kind in SALES and then in ("undo", "redo")]
    return found[0] if found else [buyer for kind, buyer in told if kind in SALES][:2][-1]


RULES: dict[str, Rule] = {
    "first behind a cancellation": behind_a_cancellation,
    **{f"sale {place} from the end": kth_last(place) for place in range(1, 6)},
    **{f"deed {place} from the end": kth_last_deed(place) for place in range(1, 9)},
    "first sale": lambda told: next(buyer for kind, buyer in told if kind in SALES),
    "before the last undoing": before_last_undoing,
    "not undone at once": last_not_undone_at_once,
    "the last step alone": only_the_last_step,
    "a name only if the last deed is a sale": lambda told: told[-1][1] if told[-1][0] == "sale" else "",
}
WIDE = 80
"""Rows of a cell from which rules are judged without a prompt: no filler names the property."""
MOST = 0.42


def drawn_histories(subtask: str, complexity: int) -> list[tuple[list[tuple[str, str]], Sample]]:
    """Return the title's steps up to the day, with the buyers where they are named, and the samples of some rows."""
    forms = (1, 0) if subtask in PAIRED else (complexity,)
    both = {form: Stratum("longqa", subtask, "32k", 8192, form, WIDE) for form in forms}
    plan = make_plan(Recipe("longqa", "0", 11, "32k", tuple(both.values())), ("o200k",), Path("unused"))
    cell = both[complexity]
    found = []
    for index in range(WIDE):
        sample = draw_sample(plan, RowPlan(cell, index, ""))
        names = iter(sample.latent["buyers"])
        steps = [(kind, next(names) if kind == "sale" else "") for kind in sample.latent["steps"]]
        until = len(steps) if sample.latent.get("asked") == "information" else sample.latent["needed"][1]
        found.append((steps[:until], sample))
    return found


@pytest.mark.parametrize("cell", [("state", 5), ("state", 20), ("choice", 5), ("choice", 20)])
def test_no_rule_of_place_finds_the_owner(cell: tuple[str, int]) -> None:
    drawn = drawn_histories(*cell)
    for name, rule in RULES.items():
        assert fmean(rule(told) == sample.key.answers[-1] for told, sample in drawn) <= MOST, name
    if cell[0] == "choice":
        for place in range(4):
            right = []
            for told, sample in drawn:
                offered = [buyer for _, buyer in told if buyer in (sample.key.choices or ())]
                right.append(offered[-min(place + 1, len(offered))] == sample.key.answers[-1])
            assert fmean(right) <= MOST, place


@pytest.mark.parametrize("complexity", [5, 20])
def test_no_window_of_steps_around_a_sale_tells_the_owner_from_other_options(complexity: int) -> None:
    """A table of how often each window is the owner's, counted in half of the histories, and tried on the others."""
    rng, drawn = Random(1), []
    dealt = [(0, 0), (1, 0), (1, 1), (2, 1)] if complexity == 5 else [(later, 0) for later in range(4)]
    for later in dealt * 300:
        steps, needed = choice.drawn(rng, complexity, later)
        drawn.append((steps, needed, sorted([needed.start, *choice.others(steps, needed, later)])))
    for before, after in ((0, 2), (0, 3), (2, 0), (2, 2)):
        counted: Counter[tuple[tuple[str, ...], bool]] = Counter()
        scores = []
        for index, (steps, needed, offered) in enumerate(drawn):
            told = [*[""] * before, *(kind for kind, _ in steps[: needed.stop]), *[""] * len(steps)]
            seen = {at: tuple(told[at : at + before + after + 1]) for at in offered if at < needed.stop}
            if index < len(drawn) // 2:
                counted.update((window, at == needed.start) for at, window in seen.items())
                continue
            worth = {
                at: (counted[window, True] + 1) / (counted[window, True] + counted[window, False] + 4)
                for at, window in seen.items()
            }
            best = [at for at in worth if worth[at] == max(worth.values())]
            scores.append((needed.start in best) / len(best))
        assert fmean(scores) <= MOST, (before, after)


@pytest.mark.parametrize("subtask", PAIRED)
def test_no_rule_of_place_is_right_in_both_forms(subtask: str) -> None:
    """A rule names the buyer of a sale, or refuses where that has none; of `sessions` it would name the wife."""
    forms = [drawn_histories(subtask, complexity) for complexity in (1, 0)]
    pairs = [pair for pair in zip(*forms, strict=True) if pair[0][1].latent.get("asked") != "sessions"]
    for name, rule in RULES.items():
        both = []
        for (told, stated), (silent, _) in pairs:
            both.append(rule(told) == stated.key.target and not rule(silent))
        assert fmean(both) <= MOST, name


@pytest.mark.parametrize("subtask", PAIRED)
def test_both_forms_of_a_pair_tell_as_many_deeds_of_every_kind(subtask: str) -> None:
    for (_, stated), (_, silent) in zip(*(drawn_histories(subtask, form) for form in (1, 0)), strict=True):
        assert Counter(stated.latent["steps"]) == Counter(silent.latent["steps"])
        assert stated.question == silent.question


def test_a_learner_that_sees_places_alone_finds_no_owner() -> None:
    """For each sale: how far from both ends it stands, among sales and among deeds, fitted on half of the rows."""
    drawn = drawn_histories("state", 5)
    seen: dict[bool, list[tuple[list[list[float]], list[bool]]]] = {False: [], True: []}
    for index, (told, sample) in enumerate(drawn):
        sales = [at for at, (kind, _) in enumerate(told) if kind in SALES]
        places = [[len(sales) - rank, rank, len(told) - at, at, at / len(told)] for rank, at in enumerate(sales)]
        features = [[float(min(place, 6) == value) for place in each[:4] for value in range(7)] for each in places]
        seen[index % 2 == 1].append((features, [told[at][1] == sample.key.target for at in sales]))
    learned = surface_learner.regression(
        np.array([one for rows_, _ in seen[False] for one in rows_]),
        np.array([float(one) for _, truth in seen[False] for one in truth]),
        np.array([0]),
        one=False,
        ridge=10.0,
    )
    right = [truth[int(np.argmax(learned(np.array(features))))] for features, truth in seen[True]]
    assert fmean(right) <= 0.7


def test_whoever_owns_a_property_lives() -> None:
    """Of all who buy a property that is asked about nobody dies in the annals, or is a child when buying."""
    plan = make_plan(Recipe("longqa", "0", 11, "32k", cells(20)), ("o200k",), Path("unused"))
    for cell in (cell for cell in cells(20) if cell.subtask in (*OWNERS, "unanswerable")):
        for index in range(cell.rows):
            own, shared = row_streams(plan, cell, index)
            world, task = chronicle(own, cell.tier), task_of(cell)
            assert isinstance(task, LongQa)
            souls = {one.name: one for one in world.population.souls}
            for one in plan_entry(task, cell, index, own, shared)[0].entries:
                if "buyer" in one.about:
                    buyer = souls[one.about["buyer"]]
                    assert buyer.dies > LAST_DAY
                    assert 20 * 365 < one.day - buyer.born < 48 * 365


def test_the_buyer_named_most_often_is_not_the_owner(rows: list[Row]) -> None:
    right = defaultdict(list)
    for row in (row for row in rows if row["subtask"] == "state"):
        buyers = json.loads(row["metadata"])["latent"]["buyers"]
        times = Counter({name: len(re.findall(rf"\b{name}\b", row["prompt"])) for name in buyers})
        most = [name for name in buyers if times[name] == max(times.values())]
        right[row["complexity"]].append((row["target"] in most) / len(most))
    assert all(fmean(some) <= 0.4 for some in right.values()), right


def test_both_properties_are_named_as_often(rows: list[Row]) -> None:
    for row in (row for row in rows if row["subtask"] in (*OWNERS, "unanswerable")):
        latent, found = json.loads(row["metadata"])["latent"], read(row["prompt"])
        assert len(about(found, latent["property"])) == len(about(found, latent["twin"]))


def test_depths_of_what_is_needed_are_uniform() -> None:
    """Steps that decide are as frequent in each quarter of the annals; those of kin and turns anywhere."""
    wide: dict[Stratum, list[float]] = {cell: [] for cell in cells(64)}
    plan = make_plan(Recipe("longqa", "0", 11, "32k", tuple(wide)), ("o200k",), Path("unused"))
    for cell, found in wide.items():
        for index in range(cell.rows):
            own, shared = row_streams(plan, cell, index)
            layout = task_of(cell).layout(draw_sample(plan, RowPlan(cell, index, "")), own, shared)
            placed = [one for one in layout.placed if any(piece.role == "relevant" for piece in one.unit.pieces)]
            found += [one.depth for one in placed]
        below = [float(np.mean(np.array(found) < share)) for share in (0.25, 0.5, 0.75)]
        spare = 0.2 if cell.subtask in ("kin", "turns") else 0.1
        assert below == pytest.approx([0.25, 0.5, 0.75], abs=spare), str(cell)


def test_the_year_asked_for_has_no_more_entries_than_others() -> None:
    """Of the entries that are written for a row, as few share a year with the answer as with the property's others."""
    cell = Stratum("longqa", "when", "32k", 4096, 1, 96)
    plan = make_plan(Recipe("longqa", "0", 11, "32k", (cell,)), ("o200k",), Path("unused"))
    beside: dict[bool, list[int]] = {True: [], False: []}
    for index in range(cell.rows):
        own, shared = row_streams(plan, cell, index)
        sample = draw_sample(plan, RowPlan(cell, index, ""))
        placed = task_of(cell).layout(sample, own, shared).placed
        years = Counter(year(one.at or 0) for one in placed)
        for one in placed:
            if sample.latent["property"].lower() in "".join(piece.text for piece in one.unit.pieces).lower():
                beside[year(one.at or 0) == int(sample.key.target)].append(years[year(one.at or 0)] - 1)
    assert len(beside[True]) == cell.rows
    assert abs(fmean(beside[True]) - fmean(beside[False])) < 0.15


def test_letters_and_ends_of_lines_are_balanced(plan: Plan) -> None:
    for row_cell in cells(40):
        samples = [draw_sample(plan, RowPlan(row_cell, index, "")) for index in range(row_cell.rows)]
        if row_cell.subtask == "choice":
            assert set(Counter(one.key.target for one in samples).values()) == {10}
            assert all(len(set(one.key.choices or ())) == 4 for one in samples)
            assert all(set(one.key.choices or ()) <= set(one.latent["buyers"]) for one in samples)
    assert [len(paths(steps)) for steps in (2, 3, 4)] == [6, 12, 24]


def test_forms_of_a_pair_ask_the_same_and_differ_in_what_tells(rows: list[Row]) -> None:
    for subtask in PAIRED:
        stated, silent = ([row for row in rows if row["subtask"] == subtask and row["complexity"] == c] for c in (1, 0))
        assert [row["question"] for row in stated] == [row["question"] for row in silent]
        assert {row["target"] for row in silent} == {"Not stated"}


def test_a_classifier_that_reads_no_words_cannot_tell_relevant_entries(rows: list[Row]) -> None:
    """Relevant entries and sales that are not needed look alike: length, commas, first letters, digits."""
    features: dict[str, list[list[float]]] = {"relevant": [], "decoy": []}
    for row in (row for row in rows if row["subtask"] == "state" and row["complexity"] == 1):
        for needle in (n for n in row["needles"] if n["role"] in features):
            said = row["prompt"][needle["char_start"] : needle["char_end"]]
            features[needle["role"]].append(look(said))
    # by hand: too few of a kind for a held-out fit of many features
    for place in range(len(features["relevant"][0])):
        one, other = (np.array([each[place] for each in features[role]]) for role in ("relevant", "decoy"))
        truth = np.array([1.0] * len(one) + [0.0] * len(other))
        assert 0.15 < surface_learner.auc(np.concatenate([one, other]), truth) < 0.85, place


def look(said: str) -> list[float]:
    return [float(len(said)), float(said.count(",")), float(said.count(". ")), float(sum(map(str.isdigit, said)))]


PERSON = re.compile(r"\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")
LISTED = re.compile(r": ((?:[A-Z][a-z]+ [A-Z][a-z]+, )*[A-Z][a-z]+ [A-Z][a-z]+ and [A-Z][a-z]+ [A-Z][a-z]+)\.")
"""A list of people at the end of a sentence."""
FIRST_NAMES = {*words_of("women"), *words_of("men")}
DATED = re.compile(r"^(?:\[\d+\] )?(\d+ \w+ \d{4})\. .*$", re.MULTILINE)


def test_entries_of_one_day_do_not_tell_what_is_asked_about(rows: list[Row]) -> None:
    """Two entries of one day are as rare among those that are written for a row as among all others."""
    doubled: dict[bool, list[bool]] = {False: [], True: []}
    for row in (row for row in rows if row["subtask"] != "turns"):
        spans = {n["char_start"] for n in row["needles"]}
        found = list(DATED.finditer(row["prompt"], 0, row["question_start"]))
        times = Counter(one[1] for one in found)
        for one in found:
            doubled[one.start() in spans].append(times[one[1]] > 1)
    assert len(doubled[True]) > 1000
    assert fmean(doubled[True]) <= fmean(doubled[False]) + 0.02


def test_sessions_about_what_is_asked_span_as_many_days_as_others(rows: list[Row]) -> None:
    """Their two entries are as seldom of one day; a session is held when all that they tell of is over."""
    at_once: dict[bool, list[bool]] = {False: [], True: []}
    for row in (row for row in rows if row["subtask"] == "turns"):
        spans = {n["char_start"] for n in row["needles"]}
        for said in re.finditer(r"^User: (\d.+(?:\n.+)*)", row["prompt"], re.MULTILINE):
            held, *days = (day_of(*one) for one in re.findall(r"^(\d+) (\w+) (\d{4})\.", said[1], re.MULTILINE))
            assert 14 <= held - max(days) <= 20
            if len(days) == 2:
                at_once[bool({said.start(), said.start(1)} & spans)].append(days[0] == days[1])
    assert len(at_once[True]) > 200
    assert fmean(at_once[True]) <= fmean(at_once[False]) + 0.06


def test_lists_of_people_that_are_written_for_a_row_are_as_long_as_others(rows: list[Row]) -> None:
    sizes: dict[bool, Counter[int]] = {False: Counter(), True: Counter()}
    for row in rows:
        spans = [(n["char_start"], n["char_end"]) for n in row["needles"]]
        for found in LISTED.finditer(row["prompt"]):
            written = any(start <= found.start() < end for start, end in spans)
            sizes[written][found[1].count(",") + 2] += 1
    assert sizes[True].total() > 100
    assert set(sizes[True]) <= set(sizes[False]) == set(ON_ROLL)


def test_families_that_are_asked_about_have_surnames_of_the_town(rows: list[Row]) -> None:
    rare = list[bool]()
    for row in (row for row in rows if row["subtask"] == "kin"):
        spans = {n["char_start"]: n["role"] for n in row["needles"]}
        found = list(DATED.finditer(row["prompt"], 0, row["question_start"]))
        common = {name for one in found if one.start() not in spans for name in re.findall("[A-Z][a-z]+", one[0])}
        for one in found:
            if spans.get(one.start()) in ("relevant", "decoy"):
                rare += [last not in common for first, last in PERSON.findall(one[0]) if first in FIRST_NAMES]
    assert len(rare) > 300
    assert fmean(rare) <= 0.3


def test_couples_that_are_listed_and_have_a_child_are_not_the_answer(rows: list[Row]) -> None:
    """Of such couples of the right sex, those with the surname asked about if fathers hand it on, all look alike."""
    shares = []
    for row in (row for row in rows if row["subtask"] == "kin"):
        first, steps = steps_of(row["question"])
        told = dict(kin_events(row["prompt"]))
        lists = [said["names"] for said in told.values() if "names" in said]
        couples = [(said["father"], said["mother"]) for said in told.values() if "father" in said]
        couples = [two for two in couples if any(two[0] in names and two[1] in names for names in lists)]
        if {*steps[:-1]} <= {"father"}:
            couples = [two for two in couples if two[0].split()[1] == first.split()[1]] or couples
        found = {two[steps[-1] == "mother"] for two in couples}
        shares.append((row["target"] in found) / len(found))
    assert fmean(shares) <= 1 / 5


def kin_events(prompt: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the sentences of a prompt that tell of parents or list people, with the values of their slots."""
    forms = [(core, form) for kind, core, form in _patterns() if kind in (*CHILD, "roll", "stones")]
    for said in (said for line in read(prompt) for said in SENTENCE.split(line.text)):
        if found := next((match for core, form in forms if core in said and (match := form.fullmatch(said))), None):
            yield said, found.groupdict()


def test_sessions_with_and_without_what_is_told_have_one_form(rows: list[Row]) -> None:
    days: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    for row in (row for row in rows if row["subtask"] == "turns"):
        assert [turn["role"] for turn in row["messages"][:2]] == ["user", "assistant"]
        starts = [needle["char_start"] for needle in row["needles"]]
        for turn in row["messages"][2:-1:2]:
            start = row["prompt"].index(turn["content"])
            told = any(start <= at < start + len(turn["content"]) for at in starts)
            assert turn["content"].count("\n") in (1, 2)
            days[told][len(set(re.findall(r"^\d+ \w+ \d{4}", turn["content"], re.MULTILINE)))] += 1
    assert {*days[True]} == {*days[False]} == {2, 3}, days


def test_a_name_that_ends_like_another_is_not_taken_for_it() -> None:
    told = (
        "The font was used for Nan Cobbold, two days old, daughter of Bertha Figg by her husband Eustace Cobbold. "
        "The cradle was lent by Evan Cobbold, and nobody in Well Street was surprised."
    )
    (event,) = statements_about([Line(0, len(told), 0, told)], "Nan Cobbold")
    assert event.kind == "birth"
