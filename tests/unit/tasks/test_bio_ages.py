from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from math import factorial
from random import Random
from typing import Any

import pytest

from pipeline.assemble.cutter import in_order
from pipeline.metrics import score
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Needle, PublishedRow, Sample, Unit
from pipeline.tasks.bio import twodiff
from pipeline.tasks.bio.ages import Ages, biography
from pipeline.tasks.bio.calculation import Calculation
from pipeline.tasks.bio.rank import Rank
from pipeline.tasks.bio.solve import parse_biographies
from pipeline.tasks.bio.twodiff import Twodiff
from pipeline.worlds.people import FEW, OLDEST, SPAN, WIDEST, YOUNGEST, ages, few_ages, people, recurring

SEED = 5
CALCULATION, RANK, TWODIFF = Calculation(), Rank(), Twodiff()
TASKS: dict[str, Ages] = {task.subtask: task for task in (CALCULATION, RANK, TWODIFF)}
CELLS = {
    f"{subtask}{complexity}{name}": Stratum("bio", subtask, "32k", 8192, complexity, 60, knobs=knobs)
    for subtask, complexity in (("calculation", 2), ("rank", 2), ("rank", 5), ("twodiff", 2))
    for name, knobs in {
        "": (),
        "-half": (("density", 0.5),),
        "-alone": (("density", 0.0),),
        "-first": (("depth", "first"),),
        "-grid": (("depth", "grid"),),
        "-any": (("pairs", "any"),),
    }.items()
    if name != "-any" or subtask == "twodiff"
}
MARKED = ("relevant", "match", "demo", "decoy")


@lru_cache(maxsize=8)
def pool(cell: Stratum) -> tuple[Unit, ...]:
    (spec,) = TASKS[cell.subtask].pools(cell)
    return tuple(spec.make(Streams((SEED, "pool")), spec))


def streams(index: int, cell: Stratum) -> tuple[Streams, Streams]:
    path = (SEED, f"bio.{cell.subtask}@1", cell.tier, cell.length, cell.complexity)
    return Streams((*path, index)), Streams(path)


def drawn(index: int, cell: Stratum) -> Sample:
    return TASKS[cell.subtask].sample(cell, index, *streams(index, cell))


@lru_cache(maxsize=512)
def made(index: int, cell: Stratum, count: int = 60) -> PublishedRow:
    """Assemble a row from its layout, with `count` people of filler."""
    task, (row, shared) = TASKS[cell.subtask], streams(index, cell)
    sample = task.sample(cell, index, row, shared)
    layout = task.layout(sample, row, shared)
    units = [pool(cell)[i] for i in layout.filler.order.take(count)]
    parts, needles, used = [layout.head[0].text], [], 0
    for item in in_order(layout.placed):
        until = round(item.depth * count)
        parts += [unit.pieces[0].text for unit in units[used:until]]
        used, start, piece = max(used, until), len("".join(parts)), item.unit.pieces[0]
        parts.append(piece.text)
        if piece.role in MARKED:
            needles.append(Needle(piece.role, start, start + len(piece.text), item.depth))
    text = "".join([*parts, *(unit.pieces[0].text for unit in units[used:]), layout.tail[0].text])
    key = task.key(sample, units)
    return PublishedRow(cell, (("user", text),), text, sample.question, tuple(needles), key, {"latent": sample.latent})


def graded(row: PublishedRow, reply: str) -> float:
    task = TASKS[row.stratum.subtask]
    return score({"scorer": task.scorer, "question": row.question, **vars_of(row.key)}, reply)


def vars_of(key: Key) -> dict[str, Any]:
    return {"target": key.target, "answers": list(key.answers)}


def changed(row: PublishedRow, old: str, new: str) -> PublishedRow:
    assert old in row.text
    text, at, longer = row.text.replace(old, new, 1), row.text.index(old), len(new) - len(old)
    needles = tuple(
        replace(n, char_start=n.char_start + longer, char_end=n.char_end + longer) if n.char_start > at else n
        for n in row.needles
    )
    return replace(row, turns=(("user", text),), prompt=text, needles=needles)


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CELLS)
def test_rows_are_solved_and_checked(name: str, step: int) -> None:
    cell = CELLS[name]
    for index in range(0, 60, step):
        row = made(index, cell)
        assert TASKS[cell.subtask].solve(row.turns) == row.key.answers
        assert TASKS[cell.subtask].check(row) == []
        assert graded(row, row.key.target) == 1.0


def truth(sample: Sample) -> str:
    """Work the answer out from the latent structure, by other code than both the sampler's and the solver's."""
    everybody, latent = people(Streams((SEED,)), sample.stratum.tier), sample.latent
    known = {everybody[person].name: age for person, age in latent["people"]}
    if sample.stratum.subtask == "calculation":
        return str(max(known.values()) - min(known.values()))
    by_age = sorted(known, key=lambda name: known[name], reverse=latent["asked"] == "oldest")
    return ("; " if sample.stratum.subtask == "rank" else " and ").join(by_age)


@pytest.mark.parametrize("name", ["calculation2", "rank2", "rank5", "twodiff2"])
def test_keys_are_true_over_many_draws(name: str) -> None:
    for length in range(5):
        cell = replace(CELLS[name], length=2048 + length)
        for index in range(60):
            sample = drawn(index, cell)
            assert sample.key.target == sample.key.answers[0] == truth(sample)


def test_ages_are_dealt() -> None:
    for tier in ("32k", "1m"):
        times = Counter(ages(Streams((SEED,)), tier).tolist())
        assert set(times) == set(range(YOUNGEST, OLDEST + 1))
        assert max(times.values()) - min(times.values()) == 1
        first, second = few_ages(Streams((SEED,)), tier).tolist()
        assert set(first) == set(second) == set(recurring(Streams((SEED,)), tier))
        assert all(one != other for one, other in zip(first, second, strict=True))
        assert max(Counter(second).values()) < 1.6 * len(second) / FEW


def test_no_two_ages_of_a_text_but_the_pairs_are_so_many_years_apart() -> None:
    rng = Random(5)
    for years in range(twodiff.SMALLEST_DIFFERENCE, twodiff.LARGEST_DIFFERENCE + 1):
        for _ in range(20):
            found = twodiff.draw(rng, years, rng.sample(range(YOUNGEST, WIDEST + 1), FEW))
            every = [*found.pair, *found.single, *found.common]
            assert len(set(every)) == len(every)
            assert len(found.single) == twodiff.MOST_DECOYS
            assert len(found.common) >= twodiff.FEWEST_COMMON_AGES
            assert [(one, other) for one in every for other in every if other - one == years] == [found.pair]


@pytest.mark.parametrize("name", ["calculation2", "rank2", "rank5", "twodiff2"])
def test_nobody_is_asked_about_twice_in_a_stratum(name: str) -> None:
    cell = replace(CELLS[name], rows=120)
    asked = [person for index in range(120) for person, _ in drawn(index, cell).latent["people"]]
    assert len(set(asked)) == len(asked) == 120 * cell.complexity


def test_orders_are_dealt_evenly() -> None:
    for complexity in (2, 5):
        cell = replace(CELLS[f"rank{complexity}"], rows=240)
        samples = [drawn(index, cell) for index in range(240)]
        assert set(Counter(sample.latent["asked"] for sample in samples).values()) == {120}
        for naive in ("as_named", "as_in_text"):
            scores = [RANK.baselines(sample, sample.key)[naive] for sample in samples]
            assert sum(scores) == 240 / factorial(complexity)
    samples = [drawn(index, replace(CELLS["calculation2"], rows=120)) for index in range(120)]
    older = [max(sample.latent["people"], key=lambda one: one[1])[0] for sample in samples]
    first = Counter(
        (sample.latent["named"][0] == one, sample.latent["people"][0][0] == one)
        for sample, one in zip(samples, older, strict=True)
    )
    assert set(first.values()) == {30}


def test_needles_are_drawn_like_filler() -> None:
    """Ages of the asked are as those of everybody, and no form tells them."""
    for name in ("calculation2", "rank5"):
        cell = replace(CELLS[name], tier="1m", rows=400)
        seen = [age for index in range(400) for _, age in drawn(index, cell).latent["people"]]
        assert abs(sum(seen) / len(seen) - (YOUNGEST + OLDEST) / 2) < 1.5
        assert min(seen) == YOUNGEST
        assert max(seen) == OLDEST


def keys(cell: Stratum, draws: int) -> Iterator[Sample]:
    for length in range(-(-draws // 120)):
        fresh = replace(cell, tier="1m", length=cell.length + length, rows=120, shots=0)
        yield from (drawn(index, fresh) for index in range(120))


def test_without_the_context_a_difference_is_a_guess() -> None:
    targets = Counter(sample.key.target for sample in keys(CELLS["calculation2"], 5000))
    best = max(targets.values()) / targets.total()
    assert 0.03 < best < 0.047
    assert abs(targets["1"] / targets.total() - 2 * (SPAN - 1) / (SPAN * (SPAN - 1))) < 0.01


def test_without_the_context_an_order_is_a_guess() -> None:
    rng = Random(1)
    for complexity, chance in ((2, 0.5), (5, 1 / 120)):
        hits = draws = 0
        for sample in keys(CELLS[f"rank{complexity}"], 1200):
            names = sample.question.rstrip(".").split(": ")[1].split(", ")
            hits += "; ".join(rng.sample(names, complexity)) == sample.key.target
            draws += 1
        assert abs(hits / draws - chance) < 4 * (chance * (1 - chance) / draws) ** 0.5


def fitting(known: dict[str, int], years: int) -> list[frozenset[str]]:
    """Return the pairs that fit, by trying them all."""
    return [frozenset(pair) for pair in combinations(known, 2) if abs(known[pair[0]] - known[pair[1]]) == years]


@pytest.mark.parametrize("length", [2048, 4096, 8192, 32768])
def test_one_pair_fits_however_long_the_text(length: int) -> None:
    cell = replace(CELLS["twodiff2"], length=length, shots=0 if length == 2048 else 2)
    for index in range(0, 60, 5):
        row = made(index, cell, length // 80)
        known = {entry.name: int(entry.stated["age"]) for entry in parse_biographies(row.text)}
        pairs = fitting(known, row_years(row))
        assert pairs == [frozenset(row.key.target.split(" and "))]


def row_years(row: PublishedRow) -> int:
    return int(row.metadata["latent"]["years"])


NAIVE: dict[str, Callable[[list[tuple[str, int]], Random], list[str]]] = {
    "any two": lambda known, rng: [name for name, _ in rng.sample(known, 2)],
    "youngest and oldest": lambda known, rng: [min(known, key=age_of)[0], max(known, key=age_of)[0]],
    "first and last": lambda known, rng: [known[0][0], known[-1][0]],
    "neighbours": lambda known, rng: neighbours(known, rng.randrange(len(known) - 1)),
}


def age_of(one: tuple[str, int]) -> int:
    return one[1]


def neighbours(known: list[tuple[str, int]], at: int) -> list[str]:
    return [name for name, _ in known[at : at + 2]]


def rare_and_fitting(known: list[tuple[str, int]], rng: Random, years: int) -> list[str]:
    """Take anybody who is alone with their age, and whoever is alone with theirs and fits."""
    times = Counter(age for _, age in known)
    alone = {age: name for name, age in known if times[age] == 1}
    age = rng.choice(sorted(alone))
    return [alone[age], *(alone[other] for other in (age - years, age + years) if other in alone)]


@pytest.mark.parametrize("length", [4096, 8192, 32768])
def test_naive_solvers_do_not_find_the_pair(length: int) -> None:
    rng = Random(7)
    hits: Counter[str] = Counter()
    stated, found, draws = 0.0, 0, 100
    cell = replace(CELLS["twodiff2"], length=length, rows=draws)
    for index in range(draws):
        row = made(index, cell, length // 80)
        known = [(entry.name, int(entry.stated["age"])) for entry in parse_biographies(row.text)]
        for name, naive in NAIVE.items():
            hits[name] += graded(row, " and ".join(naive(known, rng))) == 1.0
        rare = graded(row, " and ".join(rare_and_fitting(known, rng, row_years(row)))) == 1.0
        stated += TWODIFF.baselines(drawn(index, cell), row.key)["two_rare"]
        found += rare
        if length >= 8192:
            assert sum(times == 1 for times in Counter(age for _, age in known).values()) >= 30
    assert max(hits.values()) / draws < 0.05, hits
    assert stated / draws < (0.065 if length >= 8192 else 0.15)
    assert abs(found - stated) < 4 * (stated + 1) ** 0.5


def test_decoys_stand_where_the_filler_has_no_rare_ages() -> None:
    lengths = {length: twodiff.decoys_of(replace(CELLS["twodiff2"], length=length)) for length in (2048, 4096, 32768)}
    assert lengths == {2048: 2, 4096: 12, 32768: 30}
    assert twodiff.decoys_of(replace(CELLS["twodiff2"], length=8192)) == 30
    assert not twodiff.decoys_of(CELLS["twodiff2-any"])
    assert not twodiff.decoys_of(CELLS["twodiff2-alone"])


def test_the_filler_of_a_whole_window_is_there() -> None:
    """Half of all people have a common age: enough for 1M tokens of the densest vocabulary, and for spares."""
    for tier, count in (("32k", 440), ("1m", 15000)):
        cell = Stratum("bio", "twodiff", tier, 32768, 2, 40)
        for index in range(5):
            row, shared = streams(index, cell)
            sample = TWODIFF.sample(cell, index, row, shared)
            filler = TWODIFF.layout(sample, row, shared).filler
            found = filler.order.take(count)
            assert len(found) == count
            everybody = len(people(row, tier))
            assert len({one % everybody for one in [*found.tolist(), *filler.spares.tolist()]}) == count + 64


def test_any_pair_is_right_where_ages_are_free() -> None:
    cell = CELLS["twodiff2-any"]
    for index in range(5):
        row = made(index, cell)
        known = {entry.name: int(entry.stated["age"]) for entry in parse_biographies(row.text)}
        pairs = fitting(known, row_years(row))
        assert len(pairs) > 1
        assert len(row.key.answers) == 2 + len(known)
        assert all(graded(row, " and ".join(sorted(pair))) == 1.0 for pair in pairs)
        wrong = [pair for pair in combinations(known, 2) if frozenset(pair) not in pairs][:50]
        assert not any(graded(row, " and ".join(pair)) for pair in wrong)
        assert graded(row, ", ".join(known)) == 0.0


@pytest.mark.parametrize("name", ["calculation2", "rank2", "rank5", "twodiff2"])
def test_planted_faults_are_found(name: str) -> None:
    cell = CELLS[name]
    task, good = TASKS[cell.subtask], made(3, cell)
    entries = parse_biographies(good.text)
    latent, everybody = good.metadata["latent"], people(Streams((SEED,)), "32k")
    own = everybody[latent["people"][0][0]]
    others = [e for e in entries if not any(n.char_start == e.start for n in good.needles)]
    line = good.text[others[0].start : others[0].end]
    twin = biography(replace(own, middle="Xenia"), latent["people"][0][1])
    shown = everybody[latent["shown"][0][0][0]].name
    age = int(latent["shown"][0][0][1])
    unmarked = tuple(needle for needle in good.needles if needle.role == "relevant")
    promised = "one was promised" if name == "twodiff2" else "3 were promised"
    faults = {
        "the same full name": changed(good, line, line + line),
        promised: changed(good, line, line + twin),
        "not their paragraphs": replace(good, needles=tuple(set(good.needles) - set(unmarked[:1]))),
        "demonstration 1 is wrong": changed(good, f"Answer: {shown} is {age}", f"Answer: {shown} is {age + 1}"),
        "other people state": changed(good, line, "The birthplace" + line.partition("The birthplace")[2]),
        "expected 3 biographies": replace(good, stratum=replace(cell, complexity=3)),
        "needles of demonstrations": replace(good, needles=unmarked),
    }
    for said, bad in faults.items():
        assert any(said in fault for fault in task.check(bad)), said
    with pytest.raises(ValueError, match="no question"):
        task.check(replace(good, question=good.question + "?"))
    missing = changed(good, biography(own, latent["people"][0][1]), "")
    with pytest.raises(ValueError, match=r"has 0 biographies|no two people"):
        task.solve(missing.turns)
    with pytest.raises(ValueError, match="no biography"):
        task.solve(changed(good, line, "A line about nobody.\n").turns)


def test_a_second_pair_and_a_lack_of_rare_ages_are_found() -> None:
    good = made(3, CELLS["twodiff2"])
    entries, latent = parse_biographies(good.text), good.metadata["latent"]
    places = {needle.char_start for needle in good.needles}
    line = next(good.text[entry.start : entry.end] for entry in entries if entry.start not in places)
    older = max(age for _, age in latent["people"])
    second = changed(good, line, re.sub(r"is \d+ years", f"is {older} years", line, count=1))
    assert any(fault.startswith("2 pairs are") for fault in TWODIFF.check(second))
    bare = replace(good, needles=tuple(needle for needle in good.needles if needle.role != "decoy"))
    assert any("decoys were promised" in fault for fault in TWODIFF.check(bare))
    moved = replace(good, needles=tuple(replace(n, role="relevant") if n.role == "decoy" else n for n in good.needles))
    assert any("not their paragraphs" in fault for fault in TWODIFF.check(moved))


def test_two_asked_people_of_one_age_have_no_order() -> None:
    good = made(3, CELLS["rank2"])
    (one, age), (other, other_age) = good.metadata["latent"]["people"]
    name = people(Streams((SEED,)), "32k")[other].name
    with pytest.raises(ValueError, match="the same age"):
        RANK.solve(changed(good, f"{name} is {other_age} years", f"{name} is {age} years").turns)
    assert one != other


LISTED = {
    "scorer": "all_in_order",
    "question": "Rank these people by age, from youngest to oldest: Di El Fox, Ann Bo Lee.",
}
RANKED = {**LISTED, "target": "Ann Bo Lee; Di El Fox", "answers": ["Ann Bo Lee; Di El Fox", "Ann Lee; Di Fox"]}
RIGHT_ORDER = (
    "Ann Bo Lee; Di El Fox",
    "Ann Bo Lee, Di El Fox.",
    "Ann is 30.\nFinal answer: Ann Bo Lee; Di El Fox",
    "Ann Bo Lee is 30, Di El Fox is 40.\n\n**Final answer:** Ann Bo Lee, Di El Fox",
    "Final answer:\n1. Ann Bo Lee\n2. Di El Fox",
    "From youngest to oldest:\n- Ann Bo Lee\n- Di El Fox",
    "Final answer: Ann Bo Lee (30), Di El Fox (40)",
    "Final answer: Ann Bo Lee (30 years old) and then Di El Fox (40 years old)",
    "Final answer: Ann Lee < Di Fox",
    "Final answer: Ann Lee -> Di El Fox",
    "<think>Di El Fox; Ann Bo Lee</think>ann bo lee; di el fox",
    "\\boxed{Ann Bo Lee; Di El Fox}",
    "1) Ann Bo Lee 2) Di El Fox",
    "Final answer:\n\nAnn Bo Lee; Di El Fox\n\nI hope that this helps you to go on.",
)
WRONG_ORDER = (
    "Di El Fox; Ann Bo Lee",
    "Ann Bo Lee",
    "Ann Bo Lee; Di El Fox; Ann Bo Lee",
    "Di El Fox; Ann Bo Lee; Di El Fox",
    "Ann Bo Lee; Di El Fox; Sam Oh Kay",
    "Ann Bo Lee, Sam Oh Kay, Di El Fox",
    "Ann Bo Lee; Di El Fox or Di El Fox; Ann Bo Lee",
    "not Ann Bo Lee; Di El Fox",
    "Final answer: Ann Bo Lee; Di El Fox\nFinal answer: Di El Fox; Ann Bo Lee",
    "Joann Bo Lee; Di El Fox",
    "Ann Bo Lee; Di El Foxe",
    "Ann; Di",
    "<think>Ann Bo Lee; Di El Fox",
    "",
    "Ann Bo Lee; Di El Fox " * 200,
)


@pytest.mark.parametrize("reply", RIGHT_ORDER)
def test_a_list_in_order_scores(reply: str) -> None:
    assert score(RANKED, reply) == 1.0


@pytest.mark.parametrize("reply", WRONG_ORDER)
def test_another_list_does_not_score(reply: str) -> None:
    assert score(RANKED, reply) == 0.0


def test_values_with_other_wordings_score_in_any_mix() -> None:
    row = {
        "scorer": "all_in_order",
        "question": "When was Ann Bo Lee born? Which university did Di El Fox graduate from? Where does she live?",
        "target": "14 March 1976; the University of Oslo; Trinidad and Tobago",
        "answers": [
            "14 March 1976; the University of Oslo; Trinidad and Tobago",
            "March 14, 1976; University of Oslo; Trinidad and Tobago",
        ],
    }
    assert all(score(row, answer) == 1.0 for answer in row["answers"])
    assert score(row, "March 14, 1976\nthe University of Oslo\nTrinidad and Tobago") == 1.0
    assert score(row, "1. 14 March 1976\n2. University of Oslo\n3. Trinidad and Tobago") == 1.0
    assert score(row, "15 March 1976; University of Oslo; Trinidad and Tobago") == 0.0
    assert score(row, "14 March 1976; 15 March 1976; University of Oslo; Trinidad and Tobago") == 0.0
    assert score(row, "14 March 1976; University of Oslo; University of Rome; Trinidad and Tobago") == 0.0
    assert score(row, "University of Oslo; 14 March 1976; Trinidad and Tobago") == 0.0


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("27", 1.0),
        ("61 - 34 = 27", 1.0),
        ("The ages are 61 and 34.\nFinal answer: 27", 1.0),
        ("Final answer: 27 years", 1.0),
        ("\\boxed{27}", 1.0),
        ("**Answer: 27**", 1.0),
        ("<think>34</think>\n27.", 1.0),
        ("Final answer: 27, or 28", 0.0),
        ("27\nFinal answer: 28", 0.0),
        ("Final answer: 61 - 34", 0.0),
        ("twenty-seven", 1.0),
        ("2.7", 0.0),
        ("127", 0.0),
        ("-27", 0.0),
        ("", 0.0),
    ],
)
def test_the_last_integer_scores(reply: str, wanted: float) -> None:
    assert score({"scorer": "last_integer", "target": "27", "answers": ["27"]}, reply) == wanted


NAMED = {"scorer": "pair", "question": "Name two people whose ages differ by exactly 10 years.", "target": "Ann Bo Lee"}
ONE_PAIR = {**NAMED, "answers": ["Ann Bo Lee and Di El Fox", "Di El Fox and Ann Bo Lee"]}
TABLE = ["Ann Bo Lee, 30", "Di El Fox, 40", "Sam Oh Kay, 40", "Mo Mi Ma, 31"]
ANY_PAIR = {**NAMED, "answers": [*ONE_PAIR["answers"], *TABLE]}


@pytest.mark.parametrize(
    ("reply", "one", "many"),
    [
        ("Ann Bo Lee and Di El Fox", 1.0, 1.0),
        ("Final answer: Di El Fox, Ann Bo Lee", 1.0, 1.0),
        ("Final answer: Di Fox (40) and Ann Lee (30)", 1.0, 1.0),
        ("40 - 30 = 10.\nFinal answer:\n- Ann Bo Lee\n- Di El Fox", 1.0, 1.0),
        ("The two people are Ann Bo Lee and Di El Fox.", 1.0, 1.0),
        ("Ann Bo Lee and Sam Oh Kay", 0.0, 1.0),
        ("Mo Mi Ma and Sam Oh Kay", 0.0, 0.0),
        ("Ann Bo Lee and Ann Bo Lee", 0.0, 0.0),
        ("Ann Bo Lee, Di El Fox and Sam Oh Kay", 0.0, 0.0),
        ("Ann Bo Lee and Di El Fox or Sam Oh Kay", 0.0, 0.0),
        ("Ann Bo Lee", 0.0, 0.0),
        ("not Ann Bo Lee and Di El Fox", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_a_pair_scores_in_any_order(reply: str, one: float, many: float) -> None:
    assert (score(ONE_PAIR, reply), score(ANY_PAIR, reply)) == (one, many)
