"""Summaries of annals: their proof finds what is planted, and nobody scores who does not read."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

import surface_learner
from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.split import open_split
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline
from pipeline.metrics import SCORERS, figures, score, scorers_of
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.score.scoring import records_for_a_judge, score_predictions, write_judge_records
from pipeline.stages import Stages
from pipeline.streams import stream
from pipeline.tasks import task_of
from pipeline.tasks.annals.solve import OWNERSHIP_KINDS, Event
from pipeline.tasks.summ.solve import events_of, parse_question, person_and_year, read
from pipeline.tasks.summ.task import MIXTURES, f1, is_needed, titles
from pipeline.verify.row import answer_faults, cell_place
from pipeline.worlds.chronicle.world import SALE, UNDO, UNDO2, standing

CELLS = tuple(
    Stratum("summ", "points", "32k", length, complexity, rows)
    for length, complexity, rows in ((8192, 5, 6), (8192, 10, 6), (16384, 20, 4))
)
NAMED = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")
DATED = re.compile(r"^\[(\d{5})\] \d+ \w+ (\d{4})\. ", re.MULTILINE)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    made = make_plan(Recipe("summ", "0", 11, "32k", CELLS), ("o200k",), tmp_path_factory.mktemp("summ"))
    assert all(Stages(made, Inline).build())
    return made


@pytest.fixture(scope="module")
def rows(plan: Plan) -> list[Row]:
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


def cell_of(row: Row) -> Stratum:
    place = row["family"], row["subtask"], row["length"], row["complexity"]
    return next(cell for cell in CELLS if cell_place(cell) == place)


def entry(row: Row, role: str, form: str) -> str:
    """Return the first marked entry of a role that has a form."""
    texts = [row["prompt"][n["char_start"] : n["char_end"]] for n in row["needles"] if n["role"] == role]
    return next(text for text in texts if re.search(form, text))


def without(row: Row, gone: str) -> Row:
    return with_text(row, row["prompt"].replace(gone, ""), [n for n in row["needles"] if gone != marked(row, n)])


def marked(row: Row, needle: dict[str, int]) -> str:
    return str(row["prompt"][needle["char_start"] : needle["char_end"]])


def with_text(row: Row, prompt: str, needles: list[dict[str, int]] | None = None) -> Row:
    """Return a row of another prompt, whose digest and marks fit."""
    metadata = {**json.loads(row["metadata"]), "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest()}
    changed = next((at for at, (one, other) in enumerate(zip(row["prompt"], prompt, strict=False)) if one != other), 0)
    moved = len(prompt) - len(row["prompt"])
    shifted = [
        {**n, **{name: n[name] + moved * (n["char_start"] >= changed) for name in ("char_start", "char_end")}}
        for n in (row["needles"] if needles is None else needles)
    ]
    start = row["question_start"] + moved
    return {**row, "prompt": prompt, "metadata": json.dumps(metadata), "needles": shifted, "question_start": start}


def no_more_set_aside(row: Row) -> Row:
    """Leave out what sets aside the last purchase that does not stand."""
    prop = json.loads(row["metadata"])["latent"]["property"]
    told = events_of(read(row["prompt"]).lines, prop)
    undo = [event.line for event in told if event.kind in ("undo", "undo2")][-1]
    return without(row, row["prompt"][undo.start : undo.end])


def told_again(row: Row) -> Row:
    """Tell of another lease, just behind the entry of a key point."""
    prop = json.loads(row["metadata"])["latent"]["property"]
    line = entry(row, "relevant", prop.removeprefix("the "))
    head = re.match(r"\[\d+\] (\d+ \w+ \d+)\.", line)
    assert head
    more = f"[99999] {head[1]}. Ann Tuck bought {prop} for 50 pounds.\n"
    return with_text(row, row["prompt"].replace(line, line + more))


def one_number(row: Row) -> Row:
    one, other = DATED.findall(row["prompt"])[:2]
    return with_text(row, row["prompt"].replace(f"[{other[0]}]", f"[{one[0]}]"))


def vain_no_more(row: Row) -> Row:
    """Leave out an offer or a wish that came to nothing."""
    prop = json.loads(row["metadata"])["latent"]["property"]
    line = next(one.line for one in events_of(read(row["prompt"]).lines, prop) if one.kind in ("bid", "plea"))
    return without(row, row["prompt"][line.start : line.end])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (no_more_set_aside, "the text gives"),
        (told_again, "the text gives"),
        (one_number, "two entries have one number"),
        (vain_no_more, "are set aside, not asked for and in vain"),
    ],
)
def test_what_is_planted_is_found(rows: list[Row], change: Callable[[Row], Row], fault: str) -> None:
    row = next(row for row in rows if row["complexity"] == 20)
    assert answer_faults(row, cell_of(row)) == []
    changed = change(row)
    found = answer_faults(changed, cell_of(row))
    assert any(fault in one for one in found), found


def mean(rows: list[Row], replies: Callable[[Row], str | None]) -> dict[int, float]:
    found = defaultdict(list)
    for row in rows:
        found[row["complexity"]].append(score(row, replies(row) or ""))
    return {complexity: fmean(some) for complexity, some in found.items()}


def entries(row: Row) -> list[tuple[str, str, list[str]]]:
    """Return number, year and names of every entry, as a pattern finds them."""
    lines = [line for line in row["prompt"].splitlines() if DATED.match(line)]
    return [(*DATED.findall(line)[0], NAMED.findall(DATED.sub("", line))) for line in lines]


def every_name(row: Row) -> str:
    return "\n".join(f"{name}, {year} [{number}]." for number, year, names in entries(row) for name in names)


def of_the_property(row: Row) -> str:
    prop = json.loads(row["metadata"])["latent"]["property"].removeprefix("the ")
    lines = [line for line in row["prompt"].splitlines() if DATED.match(line) and prop in line]
    found = [(*DATED.findall(line)[0], NAMED.findall(DATED.sub("", line).replace(prop, ""))) for line in lines]
    return "\n".join(f"{name}, {year} [{number}]." for number, year, names in found for name in names[:1])


def most_frequent(row: Row) -> str:
    times = Counter(name for _, _, names in entries(row) for name in names)
    years = {name: year for _, year, names in reversed(entries(row)) for name in names}
    return "\n".join(f"{name}, {years[name]}." for name, _ in times.most_common(row["complexity"]))


def test_cheap_readers_stay_below_their_bounds(rows: list[Row]) -> None:
    """Who lists what a pattern finds: everywhere, beside the property, first, last, or most often."""
    assert max(mean(rows, every_name).values()) <= 0.27
    assert max(mean(rows, of_the_property).values()) <= 0.5
    assert max(mean(rows, most_frequent).values()) <= 0.1
    assert max(mean(rows, lambda row: "\n".join(every_name(row).splitlines()[:3])).values()) <= 0.15
    assert max(mean(rows, lambda row: "\n".join(every_name(row).splitlines()[-3:])).values()) <= 0.1
    for name, bound in (("half-name", 0.35), ("last-match", 0.1), ("passage", 0.35), ("no-context", 0.0)):
        replies = mean(rows, partial(said_by, name))
        assert max(replies.values()) <= bound, (name, replies)


def told(row: Row, events: list[Event]) -> str:
    annals = read(row["prompt"])
    return "\n".join(
        f"{one[0]}, {one[1]} [{annals.numbers[e.line.start]}]." for e in events if (one := person_and_year(e))
    )


def asked_kinds(row: Row) -> str:
    """Tell of all deeds of the kinds asked for up to the year."""
    what = parse_question(row["question"])
    found = events_of(read(row["prompt"]).lines, what.prop)
    return told(row, [event for event in found if event.kind in what.kinds and event.line.day <= what.last])


def not_undone_at_once(row: Row) -> str:
    """Tell of the same, but for sales after which the next step of the title is a cancellation."""
    what = parse_question(row["question"])
    found = [event for event in events_of(read(row["prompt"]).lines, what.prop) if event.line.day <= what.last]
    steps = [event for event in found if event.kind in OWNERSHIP_KINDS]
    gone = [one for one, then in pairwise(steps) if one.kind == "sale" and then.kind in ("undo", "undo2")]
    return told(row, [event for event in found if event.kind in what.kinds and event not in gone])


def last_told_struck(row: Row) -> str:
    """Tell of the same, but for the one or two sales that were told last before each cancellation."""
    what = parse_question(row["question"])
    found = [event for event in events_of(read(row["prompt"]).lines, what.prop) if event.line.day <= what.last]
    sales, gone = list[Event](), list[Event]()
    for event in found:
        if event.kind == "sale":
            sales.append(event)
        elif event.kind in ("undo", "undo2"):
            gone += sales[-1 - (event.kind == "undo2") :]
    return told(row, [event for event in found if event.kind in what.kinds and event not in gone])


def test_cancellations_are_worth_a_third_of_the_score(rows: list[Row]) -> None:
    """All of these know the property, the kinds and the year, and find every entry."""
    for reply, bound in ((asked_kinds, 0.67), (not_undone_at_once, 0.8), (last_told_struck, 0.72)):
        found = mean(rows, reply)
        assert max(found.values()) <= bound, (reply, found)


def said_by(name: str, row: Row) -> str | None:
    return READERS[name].replies(open_reading(row))


def test_the_target_has_all_figures_in_full_and_nothing_else_has(rows: list[Row]) -> None:
    sourced = scorers_of(["key_points=sourced"])
    for row in rows:
        assert figures(row, row["target"]) == {"recall": 1.0, "precision": 1.0, "sources": 1.0}
        assert score(row, row["prompt"]) < 0.3
        bare = re.sub(r" \[\d+\]", "", row["target"])
        assert (score(row, bare), score(row, bare, sourced)) == (1.0, 0.0)
        assert score(row, row["target"], sourced) == 1.0
        assert figures(row, ". ".join(row["target"].split(". ")[:-1]))["recall"] == 1 - 1 / row["complexity"]


def test_as_many_do_not_belong_in_a_summary_as_do(rows: list[Row]) -> None:
    for row in rows:
        left_out = row["answers"][1].partition("Left out: ")[2].split("; ")
        assert len(left_out) > MIXTURES[row["complexity"]].undone == row["complexity"]
        years = dict(DATED.findall(row["prompt"]))
        assert all(years[number] == year for year, number in re.findall(r"(\d{4}) \[(\d{5})\]", row["target"]))


@pytest.mark.parametrize("complexity", MIXTURES)
def test_every_step_of_a_title_is_needed(complexity: int) -> None:
    for number in range(20):
        rng, undone = stream("titles", complexity, number), MIXTURES[complexity].undone
        stand = rng.randrange(1, complexity - 1)
        steps = titles(rng, stand, undone, complexity - stand)
        assert len(standing(steps)) == stand
        assert sum(kind == SALE for kind, _ in steps) == stand + undone
        assert all(is_needed(steps, at, standing(steps)) for at in range(len(steps)))


@pytest.mark.parametrize("complexity", MIXTURES)
def test_the_place_of_a_purchase_does_not_tell_whether_it_stands(complexity: int) -> None:
    """Who knows all else keeps the first or last purchases, as many as are best, or drops as many as are set aside."""
    undone, scores = MIXTURES[complexity].undone, defaultdict[tuple[str, int], list[float]](list)
    for number in range(100):
        rng = stream("places", complexity, number)
        stand = rng.randrange(2 * complexity // 5, 3 * complexity // 5 + 1)
        steps = titles(rng, stand, undone, more := complexity - stand)
        right, buyers = standing(steps), [buyer for kind, buyer in steps if kind == SALE]
        for count in range(3 * complexity):
            cut = max(0, len(buyers) - count)
            for name, kept in (("first", buyers[:count]), ("not the last", buyers[:cut]), ("last", buyers[count:])):
                scores[name, count].append(f1(kept, right, more))
        struck = sum(kind in (UNDO, UNDO2) for kind, _ in steps)
        scores["as many as undoings", 0].append(f1(buyers[: max(0, len(buyers) - struck)], right, more))
    assert max(fmean(some) for some in scores.values()) <= 0.72


def test_depths_of_what_is_needed_are_uniform_up_to_the_time_asked_about() -> None:
    cells = tuple(Stratum("summ", "points", "32k", 16384, complexity, 12) for complexity in MIXTURES)
    plan = make_plan(Recipe("summ", "0", 11, "32k", cells), ("o200k",), Path("unused"))
    for cell in cells:
        shares, late, themes = list[float](), list[bool](), Counter[object]()
        for index in range(cell.rows):
            own, shared = row_streams(plan, cell, index)
            sample = draw_sample(plan, RowPlan(cell, index, ""))
            themes[tuple(sample.latent["theme"])] += 1
            placed = task_of(cell).layout(sample, own, shared).placed
            depths = [one.depth for one in placed if one.unit.pieces[0].role == "relevant"]
            shares += [depth / max(depths) for depth in depths[:-1]]
            late += [depth > 0.8 for depth in depths]
        assert set(themes.values()) == {2}
        below = [float(np.mean(np.array(shares) < share)) for share in (0.25, 0.5, 0.75)]
        assert below == pytest.approx([0.25, 0.5, 0.75], abs=0.1), str(cell)
        assert fmean(late) >= 0.09, str(cell)


def test_entries_that_count_look_like_those_that_do_not(rows: list[Row]) -> None:
    looks: dict[str, list[list[float]]] = {"relevant": [], "decoy": []}
    for row in rows:
        for needle in row["needles"]:
            if needle["role"] in looks:
                said = marked(row, needle)
                features = (len(said), said.count(","), said.count(". "), sum(map(str.isdigit, said)), said.count("of"))
                looks[needle["role"]].append([float(one) for one in features])
    for place in range(5):
        one, other = (np.array([each[place] for each in looks[role]]) for role in ("relevant", "decoy"))
        truth = np.array([1.0] * len(one) + [0.0] * len(other))
        assert 0.35 < surface_learner.auc(np.concatenate([one, other]), truth) < 0.65, place


def test_records_for_a_judge_hold_question_points_and_reply(plan: Plan, rows: list[Row], tmp_path: Path) -> None:
    split = open_split(plan.out / "o200k")
    predictions = tmp_path / "predictions.jsonl"
    replies = [{"id": row["id"], "prediction": f"<think>Hm.</think>{row['target']}"} for row in rows[1:]]
    predictions.write_text("".join(f"{json.dumps(one)}\n" for one in replies), encoding="ascii")
    scored = score_predictions([split], [predictions])
    out = tmp_path / "records.jsonl"
    write_judge_records(out, records_for_a_judge(scored, [split], [predictions]))
    records = {one["id"]: one for one in map(json.loads, out.read_text(encoding="ascii").splitlines())}
    assert set(records) == {row["id"] for row in rows[1:]}
    for row in rows[1:]:
        found = records[row["id"]]
        assert (found["question"], found["reply"], found["score"]) == (row["question"], row["target"], 1.0)
        assert found["figures"] == dict.fromkeys(SCORERS["key_points"].figures, 1.0)
        told = [f"{one['person']}, {one['year']} [{one['entries'][0]}]." for one in found["key_points"]]
        assert " ".join(told) == row["target"]
