"""Recall: known faults of such sets are absent, what is promised is there, and what ignores the text scores little."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.plan import make_plan
from pipeline.baselines import COLUMNS, READERS, open_reading
from pipeline.errors import FitError
from pipeline.executors import Inline
from pipeline.metrics import score
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.streams import Streams, stream
from pipeline.tasks import TASKS
from pipeline.tasks.base import Sample
from pipeline.tasks.recall import lists, niah, niah_solve, niah_text, vt, vt_solve
from pipeline.verify.row import answer_faults, cell_place
from pipeline.verify.statistics import balance_faults
from pipeline.worlds import needles
from pipeline.worlds.frequencies import Bursts, arrivals, zipf
from pipeline.worlds.words import pool

SINGLE = ("json_kv", "niah_s1", "niah_s2", "niah_s3", "niah_mk1", "niah_mk2", "niah_mk3")
KNOBS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("json_kv", 1, {"stem": 24}),
    ("json_kv", 1, {"asks": "key", "depth": "uniform"}),
    ("json_kv", 1, {"stem": 0}),
    ("json_kv", 1, {"crossed": True}),
    ("niah_s1", 1, {"distractors": 4}),
    ("niah_s2", 1, {"haystack": "addresses", "distractors": 0}),
    ("niah_s3", 1, {"haystack_order": "shuffled"}),
    ("niah_s3", 1, {"crossed": True, "depth": "uniform"}),
    ("niah_mk1", 1, {"near": 16, "haystack": "addresses", "haystack_order": "shuffled"}),
    ("niah_mk2", 1, {"near": 0, "depth": "uniform"}),
    ("niah_mk3", 1, {"near": 16}),
    ("niah_mv", 8, {"near": 0, "distractors": 0}),
    ("niah_mv", 4, {"order": "text"}),
    ("niah_mq", 8, {"near": 16, "distractors": 0}),
    ("niah_mq", 2, {"distractors": 4}),
    ("vt", 2, {"twins": 3}),
    ("vt", 5, {"operations": "add"}),
    ("vt", 10, {"operations": "mixed"}),
    ("vt", 5, {"haystack": "noise", "twins": 0}),
    ("cwe", 10, {"ratio": 3}),
    ("cwe", 10, {"ratio": 2}),
    ("cwe", 10, {"bursts": 0}),
    ("fwe", 3, {"alpha": 1.5}),
    ("fwe", 3, {"alpha": 1.2}),
    ("fwe", 3, {"bursts": 0}),
)


def cell(subtask: str, rows: int, length: int = 4096, complexity: int | None = None, **knobs: Any) -> Stratum:
    told = tuple(sorted(knobs.items()))
    asked = TASKS["recall", subtask].complexities[0] if complexity is None else complexity
    return Stratum("recall", subtask, "32k", length, asked, rows, knobs=told)


def built(folder: Path, *cells: Stratum, reserve: int | None = None) -> Iterator[tuple[Stratum, Row]]:
    """Yield the rows of some strata, each with its stratum."""
    plan = make_plan(Recipe("tried", "0", 11, "32k", cells, reserve=reserve), ("o200k",), folder)
    assert all(Stages(plan, Inline).build())
    places = {cell_place(one): one for one in cells}
    for shard in plan.all_shards():
        for row in read_rows(shard.path(plan.out, "data")):
            yield places[cell_place_of(row)], row


def cell_place_of(row: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return row["family"], row["subtask"], row["length"], row["complexity"]


@cache
def sampled(stratum: Stratum) -> tuple[Sample, ...]:
    task, shared = TASKS["recall", stratum.subtask], Streams((5, "recall", stratum.subtask, stratum.length))
    return tuple(
        task.sample(stratum, index, Streams((*shared.path, "row", index)), shared) for index in range(stratum.rows)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all is built in, one after the other, as many tasks have the same filler."""
    return tmp_path_factory.mktemp("recall")


@pytest.fixture(scope="module")
def rows(folder: Path) -> dict[str, list[Row]]:
    """Twelve rows of each subtask at 8K, by subtask."""
    found: dict[str, list[Row]] = defaultdict(list)
    cells = [
        cell(subtask, 4 if len(task.complexities) > 1 else 12, 8192, complexity)
        for (family, subtask), task in TASKS.items()
        if family == "recall"
        for complexity in task.complexities
    ]
    for _, row in built(folder, *cells):
        found[row["subtask"]].append(row)
    return found


def said(reader: str, row: Row, **changed: object) -> str:
    reply = READERS[reader].replies(open_reading({**{column: row[column] for column in COLUMNS}, **changed}))
    assert reply is not None
    return reply


def mean(reader: str, some: list[Row], **changed: object) -> float:
    return fmean(score(row, said(reader, row, **changed)) for row in some)


@pytest.mark.parametrize(("subtask", "complexity", "knobs"), KNOBS, ids=[f"{one[0]}-{one[2]}" for one in KNOBS])
def test_every_knob_gives_exact_and_proven_rows(
    subtask: str, complexity: int, knobs: dict[str, Any], folder: Path
) -> None:
    for stratum, row in built(folder, cell(subtask, 1, 6144, complexity, **knobs)):
        assert answer_faults(row, stratum) == []
        assert json.loads(row["metadata"])["knobs"] == knobs


def test_answers_stand_at_all_points_of_the_grid_equally_often() -> None:
    for subtask in SINGLE:
        for rows in (25, 30, 120):
            depths = Counter(sample.latent["depth"] for sample in sampled(cell(subtask, rows)))
            assert set(depths) == {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}
            assert max(depths.values()) - min(depths.values()) <= 1


@pytest.mark.parametrize("subtask", SINGLE)
def test_the_same_question_is_asked_at_all_six_depths_if_a_recipe_says_so(subtask: str) -> None:
    stratum = cell(subtask, 25, crossed=True)
    samples, task = sampled(stratum), TASKS["recall", subtask]
    for start in range(0, 24, 6):
        six = samples[start : start + 6]
        assert sorted(sample.latent["depth"] for sample in six) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        assert len({sample.question for sample in six}) == len({sample.key for sample in six}) == 1
        assert len({json.dumps({**sample.latent, "depth": 0}) for sample in six}) == 1
    assert len({sample.question for sample in samples}) == 5
    assert [*balance_faults(samples)] == []
    shared = Streams((5, "recall", subtask, stratum.length))
    laid = [task.layout(sample, Streams((*shared.path, "row", sample.index)), shared) for sample in samples[5:7]]
    here, there = (layout.filler.order.take(40).tolist() for layout in laid)
    again = task.layout(samples[4], Streams((*shared.path, "row", 4)), shared)
    assert again.filler.order.take(40).tolist() == here
    assert [item for item in again.placed if item.unit.pieces[0].role != "relevant"] == [
        item for item in laid[0].placed if item.unit.pieces[0].role != "relevant"
    ]
    assert subtask == "niah_s1" or here != there


def test_depths_of_one_question_are_even_where_they_are_no_grid() -> None:
    samples = sampled(cell("niah_s2", 30, crossed=True, depth="uniform"))
    for start in range(0, 30, 6):
        assert sorted(int(6 * sample.latent["depth"]) for sample in samples[start : start + 6]) == [0, 1, 2, 3, 4, 5]


def test_values_in_the_order_of_the_text_are_judged_by_their_order(folder: Path) -> None:
    for _, row in built(folder, *(cell("niah_mv", 3, 4096, complexity, order="text") for complexity in (2, 8))):
        marked = [row["prompt"][n["char_start"] : n["char_end"]] for n in row["needles"] if n["role"] == "relevant"]
        values = [line.split()[-1].rstrip(".") for line in marked]
        assert row["target"] == ", ".join(values)
        assert row["scorer"] == "route"
        assert "in the order in which they stand in the text" in row["question"]
        listed = "\n".join(f"{place}. {value}" for place, value in enumerate(values, 1))
        for reply in (row["target"], listed, f"The codes, in order, are {row['target']}.", said("all", row)):
            assert score(row, reply) == 1, reply
        assert score(row, ", ".join(values[::-1])) == 0
        assert score(row, ", ".join([*values[:-1], "1000000"])) == pytest.approx(1 - 1 / len(values))
        turned = row["prompt"].replace(marked[0], "", 1).replace(marked[-1], marked[-1] + marked[0], 1)
        assert answer_faults({**row, "prompt": turned}, cell("niah_mv", 3, 4096, row["complexity"], order="text"))
        plain = {**row, "prompt": row["prompt"].replace(", in the order in which they stand in the text?", "?")}
        assert any(
            "do not agree" in fault
            for fault in answer_faults(plain, cell("niah_mv", 3, 4096, row["complexity"], order="text"))
        )


def test_right_values_in_random_order_score_what_is_stated() -> None:
    for complexity in (2, 4, 8):
        (sample,) = sampled(cell("niah_mv", 1, complexity=complexity, order="text"))
        row, rng = {"scorer": "route", "question": sample.question, **sample.key.columns()}, stream("any order")
        values = sample.key.target.split(", ")
        found = fmean(score(row, ", ".join(rng.sample(values, len(values)))) for _ in range(600))
        stated = TASKS["recall", "niah_mv"].baselines(sample, sample.key)["any_order"]
        assert found == pytest.approx(stated, abs=0.05)


def test_answers_of_several_needles_stand_anywhere(rows: dict[str, list[Row]]) -> None:
    for subtask in ("niah_mv", "niah_mq", "cwe", "fwe"):
        depths = [n["depth"] for row in rows[subtask] for n in row["needles"] if n["role"] == "relevant"]
        bins = Counter(min(int(4 * depth), 3) for depth in depths)
        expected = len(depths) / 4
        assert sum((bins[place] - expected) ** 2 / expected for place in range(4)) < 16.3, (
            subtask
        )  # p = .001, 3 degrees


def test_rows_ask_for_different_things_and_have_different_answers() -> None:
    for (family, subtask), task in TASKS.items():
        if family == "recall":
            samples = sampled(cell(subtask, 100, complexity=task.complexities[-1]))
            assert len({sample.key.target for sample in samples}) == 100, subtask
            if subtask not in ("cwe", "fwe"):
                assert len({sample.question for sample in samples}) > 95, subtask


def test_asked_keys_are_drawn_from_all_words() -> None:
    keys = [sample.latent["keys"][0].split() for sample in sampled(cell("niah_s2", 600))]
    for place, name in enumerate((needles.ADJECTIVES, needles.NOUNS)):
        used = Counter(key[place] for key in keys)
        assert set(used) <= set(pool(name))
        assert len(used) > 300
        assert max(used.values()) <= 8


def test_no_two_prompts_of_a_cell_begin_with_the_same_paragraph(folder: Path) -> None:
    firsts: dict[object, list[str]] = defaultdict(list)
    cells = [cell("niah_s2", 12), cell("niah_mk1", 12, haystack="addresses")]
    for stratum, row in built(folder, *cells):
        lines = row["prompt"].partition(f"\n{niah_text.START}")[2].splitlines()
        firsts[stratum.subtask].append(next(line for line in lines if not niah_solve.STATED.match(line + "\n")))
    for lines in firsts.values():
        assert len(set(lines)) >= 11


def test_who_is_asked_for_all_values_or_variables_is_not_told_how_many(rows: dict[str, list[Row]]) -> None:
    for subtask in ("niah_mv", "vt"):
        texts = {re.sub(r"\d+|[a-z]+ [a-z]+(?=\?)", "", row["question"]) for row in rows[subtask]}
        assert len(texts) == 1, subtask
        assert len({row["complexity"] for row in rows[subtask]}) == 3


def test_words_of_lists_are_as_common_at_every_length() -> None:
    for length in (2048, 32768):
        asked = Counter(word for sample in sampled(cell("cwe", 100, length)) for word in sample.latent["words"])
        assert set(asked) <= set(pool("recall/words"))
        assert len(asked) > 800


def test_counts_are_as_dealt(rows: dict[str, list[Row]]) -> None:
    for row in rows["cwe"]:
        found = Counter(lists.read_list(row["prompt"]))
        top = [count for _, count in found.most_common(11)]
        assert top[0] - top[9] <= 2
        assert top[9] - top[10] >= 0.3 * top[9]
    for row in rows["fwe"]:
        first, second, third, fourth = (count for _, count in Counter(lists.read_list(row["prompt"])).most_common(4))
        assert first / second == pytest.approx(4, rel=0.15)
        assert second / third == pytest.approx(9 / 4, rel=0.15)
        assert third - fourth >= 0.2 * third


@given(st.integers(0, 2**32), st.lists(st.integers(1, 20), min_size=2, max_size=40), st.integers(50, 2000))
@settings(max_examples=60, deadline=None)
def test_every_prefix_of_a_list_holds_each_word_as_often_as_its_share(
    seed: int, weights: list[int], count: int
) -> None:
    found = arrivals(stream("lists", seed), weights, count, Bursts(0, 0.0, 1.0, count))
    assert len(found) == count
    for stop in (count // 3, count // 2, count):
        counts = Counter(found[:stop].tolist())
        for rank, weight in enumerate(weights):
            assert abs(counts[rank] - stop * weight / sum(weights)) <= 1 + len(weights) * weight / sum(weights)


def test_bursts_are_frequent_where_they_come_and_rare_in_all() -> None:
    weights, bursts = [10] * 10 + [1] * 300, Bursts(20, 6.0, 0.4, 8000)
    found = arrivals(stream("bursts"), weights, 8000, bursts).tolist()
    whole, part = Counter(found), Counter(found[3000:4000])
    assert {rank for rank, _ in whole.most_common(10)} == set(range(10))
    assert len({rank for rank, _ in part.most_common(10)} - set(range(10))) >= 4


@pytest.mark.parametrize("knobs", [("cwe", 10, {}), ("fwe", 3, {}), *(one for one in KNOBS if one[0][1:] == "we")])
def test_lists_beside_long_replies_are_dealt_for_the_words_that_fit(
    knobs: tuple[str, int, dict[str, Any]], folder: Path
) -> None:
    subtask, complexity, told = knobs
    cells = [cell(subtask, 2, length, complexity, **told) for length in (4096, 6144, 8192)]
    for stratum, row in built(folder, *cells, reserve=1900):
        assert answer_faults(row, stratum) == []
        found = Counter(lists.read_list(row["prompt"])).most_common()
        last, following = found[complexity - 1][1], found[complexity][1]
        assert following >= 0.35 * last or not told.get("bursts", 1), "no word comes in a burst"


def test_lists_that_are_too_short_for_what_they_ask_are_refused_before_they_are_packed(folder: Path) -> None:
    for subtask in ("cwe", "fwe"):
        with pytest.raises(FitError, match=r"2048.*o200k: \d+ tokens .*\(enough to settle .*reserve \(900\)"):
            list(built(folder, cell(subtask, 2, 2048), reserve=900))


def test_zipf_weights_are_exact_integers() -> None:
    assert zipf("2", 4) == tuple((1 << 40) // rank**2 for rank in range(1, 5))
    first, second = zipf("1.5", 4)[0], zipf("1.5", 4)[3]
    assert first == 8 * second


@pytest.mark.parametrize("operations", ["none", "add", "mixed"])
def test_chains_hold_the_number_just_as_often_as_promised(operations: str) -> None:
    for seed in range(60):
        complexity, twins = (2, 5, 10)[seed % 3], (0, 1, 3)[seed // 3 % 3]
        drawn = vt.draw(Streams((seed, "vt")), complexity, operations, twins)
        steps = vt_solve.read_steps("".join(f"{line}\n" for chain in drawn.chains for line in chain))
        assert vt_solve.holders(steps, drawn.number) == drawn.holders
        assert len(drawn.holders) == complexity
        literal = [step for step in steps if not step.source and step.number == drawn.number]
        assert len(literal) == twins + (operations == "none")


def test_naming_all_variables_or_those_that_are_given_the_number_scores_little(rows: dict[str, list[Row]]) -> None:
    assert max(json.loads(row["metadata"])["baselines"]["all_marked"] for row in rows["vt"]) <= 0.4
    every = [", ".join({*re.findall(r"^VAR ([A-Z]+) =", row["prompt"], re.MULTILINE)}) for row in rows["vt"]]
    assert fmean(score(row, reply) for row, reply in zip(rows["vt"], every, strict=True)) < 0.1
    assert mean("half-name", [row for row in rows["vt"] if row["complexity"] > 2]) < 0.35


@pytest.mark.parametrize("subtask", [*SINGLE, "niah_mv", "niah_mq"])
def test_half_of_a_key_does_not_answer(rows: dict[str, list[Row]], subtask: str) -> None:
    if subtask in ("niah_s1", "niah_s2", "niah_s3"):
        assert all(len(json.loads(row["metadata"])["latent"]["decoys"]) == 1 for row in rows[subtask])
    else:
        assert mean("half-name", rows[subtask]) <= 0.5


def test_who_reads_a_quarter_of_a_list_takes_bursts_for_the_most_frequent(rows: dict[str, list[Row]]) -> None:
    for subtask, most in (("cwe", 0.75), ("fwe", 0.75)):
        for reader in ("last32k", "first32k"):
            assert mean(reader, rows[subtask], prompt_tokens=128 * 1024) <= most, (subtask, reader)
        assert mean("all", rows[subtask]) == 1.0


@pytest.mark.parametrize("subtask", [*SINGLE, "niah_mv", "niah_mq"])
def test_a_second_value_or_a_changed_one_is_found(rows: dict[str, list[Row]], subtask: str) -> None:
    row = rows[subtask][0]
    stratum = cell(subtask, 12, 8192, row["complexity"])
    assert answer_faults(row, stratum) == []
    needle = next(n for n in row["needles"] if n["role"] == "relevant")
    line = row["prompt"][needle["char_start"] : needle["char_end"]]
    other = line.replace(row["target"][:7], "8765432") if row["target"][:7] in line else line
    digit = "1" if other[-4] == "0" else "0"
    for text in (line + line, other[:-4] + digit + other[-3:], ""):
        changed = row["prompt"][: needle["char_start"]] + text + row["prompt"][needle["char_end"] :]
        assert answer_faults({**row, "prompt": changed}, stratum), text


def test_the_body_of_json_kv_is_json_at_every_length(folder: Path) -> None:
    for _, row in built(folder, cell("json_kv", 1, 4096), cell("json_kv", 1, 32768)):
        body = row["prompt"].partition("JSON object:\n")[2].rpartition("\nReply with")[0]
        pairs = json.loads(body)
        assert row["target"] in pairs.values()
        assert len(pairs) > row["length"] / 75


def test_pools_of_words_hold_no_word_twice_and_none_that_replies_are_full_of() -> None:
    for name in ("recall/adjectives", "recall/nouns", "recall/words"):
        words = pool(name)
        assert len({*words}) == len(words)
        assert all(re.fullmatch("[a-z]+", word) for word in words)
    assert not {*pool(needles.ADJECTIVES)} & {*pool(needles.NOUNS)}
    row = {"scorer": "members", "question": "Which ten words come most often in the list?"}
    words = pool("recall/words")
    for start in range(0, len(words), 10):
        target = ", ".join(words[start : start + 10])
        assert score({**row, "target": target, "answers": [target], "choices": None}, target) == 1.0, target


def test_a_grid_of_keys_gives_each_as_many_near_ones() -> None:
    for size, degree, unlike in ((3, 3, 3), (10, 3, 0), (9, 9, 0), (1, 1, 3)):
        grid, others = needles.draw_grid(stream("grid", size), size, degree, unlike)
        keys = [key for step in grid for key in step]
        assert len({*keys, *others}) == size * degree + unlike
        for key in keys:
            assert sum(key.adjective == other.adjective for other in keys) == degree
            assert sum(key.noun == other.noun for other in keys) == degree
        for step in (*grid, others):
            assert len({key.adjective for key in step}) == len({key.noun for key in step}) == len(step)


def test_entries_of_rows_are_left_out_of_their_haystack() -> None:
    streams = Streams((3, "row"))
    pooled = [key for key, _ in needles.pooled(streams, needles.POOLED)]
    assert sorted(needles.places(streams, pooled[40:44])) == [40, 41, 42, 43]
    assert needles.places(streams, pooled[-1:]) == {len(pooled) - 1}
    filler = niah.filler("words", cell("niah_mk2", 1), streams, pooled[:3000])
    assert filler.order.limit + len(filler.spares) == 32768 // 7 - 3000
    assert min(filler.order.take(1000).min(), filler.spares.min()) >= 3000


def parts(key: str) -> list[str]:
    """Return what near keys share: the words of a key, or the first digits of a UUID."""
    return key.split(" ") if " " in key else [key[:8]]


def told_by_form(row: Row) -> list[list[str]]:
    """Return the keys that the needles tell apart, those that look most like asked ones first: without the question."""
    found = niah_solve.read_needles(row["prompt"])
    codes = [one.key for one in found if one.thing == niah_solve.CODE]
    words = Counter(word for key in {*codes} for word in parts(key))
    filed, values = Counter(one.key for one in found), Counter(codes)
    forms: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for key in values:
        near = sum(words[word] for word in parts(key))
        forms[near, filed[key], values[key]].append(key)
    return [forms[form] for form in sorted(forms, reverse=True)]


@pytest.mark.parametrize(
    ("subtask", "most"),
    [("niah_mk1", 0.25), ("niah_mk2", 0.3), ("niah_mk3", 0.25), ("niah_mv", 0.4), ("niah_mq", 0.45)],
)
def test_the_needles_do_not_tell_what_is_asked_about(rows: dict[str, list[Row]], subtask: str, most: float) -> None:
    said, sizes = list[float](), list[int]()
    for row in rows[subtask]:
        asked = row["complexity"] if subtask == "niah_mq" else 1
        best = told_by_form(row)[0]
        sizes.append(len(best))
        chosen = stream("guess", row["id"]).sample(best, asked) if len(best) >= asked else best
        codes = niah_solve.read_needles(row["prompt"])
        values = [one.value for key in chosen for one in codes if (one.thing, one.key) == (niah_solve.CODE, key)]
        said.append(score(row, ", ".join(values)))
    assert fmean(said) <= most
    assert subtask == "niah_mk2" or min(sizes) >= 4


def test_a_key_that_stands_out_by_its_form_is_found(rows: dict[str, list[Row]]) -> None:
    for subtask in ("niah_mk1", "niah_mv", "niah_mq"):
        row = rows[subtask][0]
        changed = row["prompt"]
        asked = {*json.loads(row["metadata"])["latent"]["keys"]}
        for one in reversed(niah_solve.read_needles(changed)):
            if one.thing != niah_solve.CODE and one.key not in asked:
                changed = changed[: one.start] + changed[one.end :]
        faults = answer_faults({**row, "prompt": changed}, cell(subtask, 12, 8192, row["complexity"]))
        assert any("have the form of" in fault for fault in faults), faults
