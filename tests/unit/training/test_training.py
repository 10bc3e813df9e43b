"""Rows to train on: pure functions of their number, proven, with evidence; mixtures; shards; what keeps them apart."""

from __future__ import annotations

import json
import math
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import carrara
from fake_stores import faulty
from pipeline.artifacts.parquet import read_rows, write_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.caches import clear_caches
from pipeline.cli.train import train
from pipeline.errors import BuildError, CorruptError, FitError, RecipeError
from pipeline.recipe import load_recipe
from pipeline.rows import CANARY, DATA_SCHEMA, TRAIN_CANARY
from pipeline.storage import parse_location
from pipeline.streams import Streams
from pipeline.streams import stream as generator
from pipeline.tasks import TASKS
from pipeline.training import apart, evidence
from pipeline.training.epochs import EPOCH, epoch_of
from pipeline.training.mixing import Mix
from pipeline.training.shards import INDEX, TRAIN_SCHEMA
from pipeline.training.stream import Stream
from pipeline.verify.row import RowChecker
from pipeline.worlds import needles
from pipeline.worlds.chronicle import chronicle
from pipeline.worlds.desk import desk
from pipeline.worlds.gazetteer import Gazetteer, gazetteer
from pipeline.worlds.identifying import every_word
from pipeline.worlds.people import people

Row = dict[str, Any]


def rows_of(task: str = "bio.standard", *, length: int = 2048, **told: Any) -> Stream:
    return carrara.stream(task, tokenizer="o200k", length=length, seed=7, **told)


@pytest.fixture(scope="module")
def hopping() -> Row:
    """A row with ids of which the answer takes five people."""
    return rows_of("bio.multihop", length=4096, complexity=5, ids=True)[3]


def reply(ids: list[str], answer: str) -> str:
    return f"<evidence>{', '.join(ids)}</evidence><answer>{answer}</answer>"


def test_a_row_depends_on_its_number_alone() -> None:
    rows = rows_of()
    far = rows[10**9]
    near = [rows[index] for index in (EPOCH, 1, 0)]
    clear_caches()
    again = pickle.loads(pickle.dumps(rows))
    assert [again[index] for index in (0, 1, EPOCH)] == near[::-1]
    assert again[10**9] == far
    assert far["prompt_tokens"] + far["template_tokens"] + far["max_new_tokens"] == 2048
    assert json.loads(far["metadata"])["canary"] == TRAIN_CANARY
    assert list(far) == TRAIN_SCHEMA.names
    with pytest.raises(IndexError):
        rows[-1]


def test_no_two_seeds_share_a_row_and_none_reaches_an_evaluation() -> None:
    ours, other = rows_of(), replace(rows_of(), spec=replace(rows_of().spec, seed=8))
    assert ours[0]["question"] != other[0]["question"]
    roots = [epoch_of(ours.spec, number).root for number in range(3)]
    assert roots == ["train/7/0", "train/7/1", "train/7/2"]
    assert generator("7").random() != generator(7).random()  # a path holds the types of its parts


def test_shares_have_no_row_in_common_and_go_on_where_they_stopped() -> None:
    shares = [rows_of().shard(rank, 3) for rank in range(3)]
    found = [share.index(nth) for share in shares for nth in range(2 * EPOCH)]
    assert sorted(found) == list(range(6 * EPOCH))
    taken = iter(shares[1])
    first = [next(taken)["id"] for _ in range(3)]
    assert next(iter(shares[1].skip(2)))["id"] == first[2]
    with pytest.raises(RecipeError, match="share already"):
        shares[0].shard(0, 2)


def test_every_piece_has_an_id_and_the_evidence_is_what_is_needed(hopping: Row) -> None:
    body = hopping["prompt"][: hopping["question_start"]]
    heading = body.index("Biographies:\n") + len("Biographies:\n")
    lines = [line for line in body[heading:].splitlines() if not line.startswith("This is the end")]
    ids = [found[1] for line in lines if (found := evidence.ID_MARK.match(line))]
    assert len({*ids}) == len(ids) >= len(lines) - 2
    assert len(hopping["evidence"]) == 5
    assert {*hopping["evidence"]} <= {*ids}
    assert list(evidence.evidence_faults(hopping, "ids")) == []


def test_planted_faults_of_evidence_are_found(hopping: Row) -> None:
    first, second = evidence.ID_MARK.findall(hopping["prompt"])[:2]
    twice = {**hopping, "prompt": hopping["prompt"].replace(f"[{second}]", f"[{first}]")}
    assert any("stands twice" in fault for fault in evidence.evidence_faults(twice, "ids"))
    other = {**hopping, "evidence": [second, *hopping["evidence"][1:]]}
    assert any("relevant needles" in fault for fault in evidence.evidence_faults(other, "ids"))
    unasked = {**hopping, "prompt": hopping["prompt"][:-1]}
    assert any("does not ask" in fault for fault in evidence.evidence_faults(unasked, "ids"))


def test_a_form_with_evidence_is_the_row_without_it_in_all_that_is_asked() -> None:
    plain, marked, quoted = (rows_of(length=4096, **form)[5] for form in ({}, {"ids": True}, {"quotes": True}))
    for row in (marked, quoted):
        assert (row["question"], row["answers"]) == (plain["question"], plain["answers"])
    (place,) = quoted["evidence"]
    start, end = map(int, place.split("-"))
    passage = quoted["prompt"][start:end]
    assert carrara.reward(quoted, f"<evidence>{passage}</evidence><answer>{quoted['target']}</answer>")["score"] == 1
    assert carrara.reward(quoted, f"<evidence>{place}</evidence><answer>{quoted['target']}</answer>")["score"] == 1
    invented = f"<evidence>{passage}\n{'It is not so. ' * 40}</evidence><answer>{quoted['target']}</answer>"
    assert 0.5 < carrara.reward(quoted, invented)["score"] < 1
    assert carrara.reward(plain, plain["target"])["score"] == 1
    published = {name: plain[name] for name in DATA_SCHEMA.names}
    assert carrara.reward(published, plain["target"])["score"] == 1
    assert rows_of(length=4096, shots=0, reserve=marked["max_new_tokens"])[5]["evidence_form"] == ""


IDENTIFYING = {
    "people": lambda streams: {one.last for one in people(streams, "32k")},
    "towns and rivers": lambda streams: {
        thing.name.removeprefix("the ") for kind in ("town", "river") for thing in land(streams).cast.things[kind]
    },
    "surnames of firms": lambda streams: {thing.name.split(" ")[0] for thing in land(streams).cast.things["firm"]},
    "ships": lambda streams: {thing.name.split(" ")[-1] for thing in land(streams).cast.things["ship"]},
    "keys": lambda streams: {key.split(" ")[1] for key, _ in needles.pooled(streams, 2000)},
    "properties": lambda streams: {name.split(" ")[1] for name in chronicle(streams, "32k").properties},
    "residents": lambda streams: {name.split(" ")[1] for name in chronicle(streams, "32k").living(660_000)},
    "staff": lambda streams: {name.split(" ")[1] for name in desk(streams, "32k").staff},
}


def land(streams: Streams) -> Gazetteer:
    return gazetteer(streams, "32k")


@pytest.mark.parametrize("kind", IDENTIFYING)
def test_training_has_lists_of_its_own_for_what_identifies(kind: str) -> None:
    ours, theirs = (IDENTIFYING[kind](Streams((root, "row"))) for root in ("train/7/0", 7))
    written = every_word()
    assert len(ours) > 12
    assert {word.lower() for word in theirs} <= written
    assert not {word.lower() for word in ours} & written


def test_a_third_of_what_is_said_in_traces_is_for_evaluation() -> None:
    ours, theirs = (desk(Streams((root, "row")), "32k").lists for root in ("train/7/0", 7))
    for name in ("aim_tickets", "rule_all", "remark"):
        assert len(ours[name]) == math.ceil(2 * len(theirs[name]) / 3)
        assert {*ours[name]} < {*theirs[name]}


def test_what_is_kept_for_evaluation_or_takes_no_ids_is_refused_by_name() -> None:
    for task in ("mrcr.chat", "idk.letters", "summ.points", "longqa.turns", "trace.constraint"):
        with pytest.raises(RecipeError, match=rf"{re.escape(task)} is kept for evaluation and never streamed"):
            rows_of(task, length=16384)
    for task in ("recall.json_kv", "latent_list.sum", "cite.facets", "rerank.order", "bio.citation", "recall.niah_s1"):
        with pytest.raises(RecipeError, match=rf"{re.escape(task)} does not ask for evidence \("):
            rows_of(task, length=8192, ids=True)
    with pytest.raises(RecipeError, match=r"did you mean 'bio\.multihop'"):
        rows_of("bio.multihops")
    with pytest.raises(RecipeError, match="one of the two"):
        rows_of(ids=True, quotes=True)


def test_hacks_earn_what_the_page_says(hopping: Row) -> None:
    good, answer = hopping["evidence"], hopping["target"]
    every = evidence.ID_MARK.findall(hopping["prompt"])
    right = reply(good, answer)

    def earned(said: str, mode: str | None = None) -> float:
        return round(carrara.reward(hopping, said, mode)["score"], 3)

    assert earned(right) == earned(right, "gated") == earned(f"<think>{reply([], 'x')}</think>{right}<|im_end|>") == 1
    assert earned(reply([], answer)) == earned(reply(["abcde"], answer)) == 0.5
    assert earned(reply(good, "")) == earned(reply(good, "Yale")) == earned(reply(good, f"{answer}\nYale")) == 0.05
    assert earned(reply([good[0]] * 50, answer)) == earned(reply(good[:1], answer)) < 0.65
    assert earned(reply(every, answer)) < 0.85
    assert earned(reply(every, answer), "gated") < 0.4
    for nothing in (
        *("", answer, "x" * 10**5 + right, f"<think>{right}</think>", f"{right}<answer>{answer}</answer>"),
        *(reply(good + ["zzzzz"] * 20_000, answer), f"<answer>{answer}<evidence>{good[0]}</evidence></answer>"),
    ):
        assert carrara.reward(hopping, nothing) == {"score": 0, "answer": 0, "evidence": 0, "format": 0}
    assert carrara.reward(hopping, f"Sure! {right}")["format"] == 0
    with pytest.raises(RecipeError, match="longrlvr"):
        carrara.reward(hopping, right, mode="best")


TASKS_MIXED = {"bio.multihop": 2.0, "bio.multi_standard": 1.0, "graph.route": 1.0}


def mixture(**told: Any) -> Mix:
    lengths = (4096, 8192, 16384, 32768)
    return carrara.mix(
        TASKS_MIXED, tokenizer="o200k", lengths=lengths, curriculum=carrara.Curriculum(0.2, 0.8), seed=1, **told
    )


@pytest.mark.parametrize("strength", [0, 2, 4, 6])
def test_policies_of_known_strength_climb_to_where_they_learn(strength: float) -> None:
    mixed, rng, likely = mixture(), generator("policy", str(strength)), []
    for _ in range(50 * 4):
        cell, _ = mixed._draw()
        asked = cell.rows.spec.cell
        ease = strength - math.log2(asked.length / 4096) - 0.7 * math.log2(asked.complexity)
        likely.append(1 / (1 + math.exp(-ease)))
        for _ in range(8):
            mixed.report(f"row-{cell.rows.spec.tag}", float(rng.random() < likely[-1]))
    assert 0.2 <= sum(likely[-40:]) / 40 <= 0.8


def places(mixed: Mix) -> tuple[object, int]:
    cell, index = mixed._draw()
    return cell.rows.spec, index


def test_a_mixture_is_repeated_from_its_log(tmp_path: Path) -> None:
    log = tmp_path / "rewards.jsonl"
    first = mixture(log=log)
    for _ in range(40):
        cell, _ = first._draw()
        first.report(f"row-{cell.rows.spec.tag}", 1.0)
    with log.open("a", encoding="ascii") as file:
        file.write('[41, "row-')  # as after a kill
    again, loaded = mixture(log=log), mixture()
    assert len(log.read_text(encoding="ascii").splitlines()) == len(first.reported)
    loaded.load_state_dict(json.loads(json.dumps(first.state_dict())))
    drawn = [
        [(cell.rows.spec, index) for cell, index in (mixed._draw() for _ in range(30))]
        for mixed in (first, again, loaded)
    ]
    assert drawn[0] == drawn[1] == drawn[2]
    assert sum(cell.open for cell in first.cells) > len(TASKS_MIXED)
    ours, theirs = (mixture().shard(rank, 2) for rank in range(2))
    some = [{places(each) for _ in range(60)} for each in (ours, theirs)]
    assert not some[0] & some[1]
    with pytest.raises(RecipeError, match="no cell of this mixture"):
        first.report("row-0", 1.0)


def test_shards_are_continued_and_proven_and_hold_no_evaluation(tmp_path: Path) -> None:
    out = tmp_path / "rl"
    told = ["write", str(out), "--task", "bio.standard", "--tokenizer", "o200k", "--length", "2048", "--rows", "3"]
    told += ["--ids", "--workers", "1", "--quiet"]
    assert CliRunner().invoke(train, told, catch_exceptions=False).output == f"{out}: 3 rows, all proven\n"
    (shard,) = out.glob("*/*.parquet")
    before = shard.stat().st_mtime_ns
    (half := shard.with_name(f"{shard.name}.part-host-1234-99999999")).write_bytes(b"PAR1")  # as after a kill
    CliRunner().invoke(train, told, catch_exceptions=False)
    assert shard.stat().st_mtime_ns == before
    assert not half.exists()
    for other in (("--rows", "2"), ("--seed", "1"), ("--reserve", "99"), ("--length", "2048", "--rows", "1")):
        with pytest.raises(BuildError, match="has other rows, or more, than would be written"):
            CliRunner().invoke(train, [*told, *other], catch_exceptions=False)
    assert CliRunner().invoke(train, [*told, "--rows", "4"]).output == f"{out}: 4 rows, all proven\n"
    said = CliRunner().invoke(train, ["verify", str(out)], catch_exceptions=False).output
    assert said == f"{out}: 4 rows match their streams, all proven\n"

    rows = list(read_rows(shard))
    planted = [{**rows[0], "metadata": rows[0]["metadata"].replace(TRAIN_CANARY, CANARY)}, *rows[1:]]
    for changed, fault in ((planted, "canary of evaluation"), ([{**rows[0], "target": "x"}], "not the row")):
        write_rows(shard, changed, TRAIN_SCHEMA, "key")
        with pytest.raises(CorruptError, match=fault):
            CliRunner().invoke(train, ["verify", str(out)], catch_exceptions=False)


def test_shards_in_a_store_have_the_bytes_of_those_on_a_disk_and_a_stop_changes_nothing(tmp_path: Path) -> None:
    told = ["--task", "bio.standard", "--tokenizer", "o200k", "--length", "2048", "--length", "4096", "--rows", "2"]
    with faulty():
        kept: list[dict[str, bytes]] = []
        for out in (str(tmp_path / "rl"), "memory://bucket/rl"):
            for _ in range(2):  # as after a stop: one shard is written again
                said = CliRunner().invoke(train, ["write", out, *told, "--workers", "1", "--quiet"])
                assert said.output == f"{out}: 4 rows, all proven\n"
                folder = parse_location(out)
                files = (*folder.glob("*/*"), folder / INDEX)
                kept.append(
                    {f"{path.parent.name}/{path.name}".removeprefix("rl/"): path.read_bytes() for path in files}
                )
                next(iter(folder.glob("bio.standard-4096-*/*.parquet"))).unlink()
    assert len(kept[0]) == 5
    assert kept == [kept[0]] * 4


def test_verify_of_an_evaluation_refuses_a_row_to_train_on() -> None:
    plan = make_plan(load_recipe("smoke"), ("o200k",), Path("unused"))
    checker = RowChecker(plan, plan.profiles[0], plan.recipe.tag, full=False)
    row = {name: value for name, value in rows_of()[0].items() if name in DATA_SCHEMA.names}
    assert checker.check(row) == ["it carries the canary of training"]


def test_what_an_evaluation_has_is_found_in_a_row(tmp_path: Path) -> None:
    recipe = load_recipe("smoke")
    recipe = replace(recipe, strata=tuple(cell for cell in recipe.strata if cell.subtask == "standard"))
    plan = make_plan(recipe, (), tmp_path)
    known = apart.joined(("smoke",), [apart.KnowJob(plan, "bio").run()])
    apart.write_known(tmp_path / "known", known)
    known = apart.read_known(tmp_path / "known")
    assert known.size < 200_000
    row = rows_of()[0]
    assert known.touched(row) == ""
    sample = draw_sample(plan, RowPlan(recipe.strata[0], 0, ""))
    name = next(apart.full_names([sample.question]))
    leaks = {
        "unit": {"prompt": row["prompt"] + "\n" + sample.relevant[0]},
        "question": {"question": sample.question, "target": sample.key.target},
        "name": {"prompt": row["prompt"] + f"\nThis was {name}."},
    }
    for kind, leak in leaks.items():
        assert known.touched({**row, **leak}) == kind
    keyed = replace(known, digests={**known.digests, "key": apart.hashed(["6419d58e-e96b-4de1-a54d-b68d80914b01"])})
    assert keyed.touched({**row, "target": "6419d58e-e96b-4de1-a54d-b68d80914b01"}) == "key"

    asked = apart.hashed([apart.question_key(row["question"], row["target"])])
    planted = replace(known, digests={**known.digests, "question": asked})
    taken = iter(rows_of(known=planted))
    assert next(taken)["id"] == rows_of()[1]["id"]
    assert (taken.taken, taken.dropped) == (2, {"question": 1})
    (tmp_path / "known").write_bytes(b"{}")
    with pytest.raises(CorruptError, match="holds no digests"):
        apart.read_known(tmp_path / "known")


def test_code_is_compared_by_functions_and_sums_by_nothing(tmp_path: Path) -> None:
    """Single lines of code, and answers to the same question about other programs, recur by chance."""
    plan = make_plan(load_recipe("smoke"), (), tmp_path)
    known = apart.joined(("smoke",), [apart.KnowJob(plan, "code").run()])
    row = rows_of("code.call", length=4096)[0]
    assert known.touched(row) == ""
    cell = next(cell for cell in plan.recipe.strata if cell.subtask == "call")
    files = "\n".join(draw_sample(plan, RowPlan(cell, 0, "")).relevant)
    function = re.search(r"^def .*\n(?: .*\n?)+", files, re.MULTILINE)
    assert function
    assert known.touched({**row, "prompt": f"{row['prompt']}\n\n{function[0]}\n\n"}) == "unit"
    assert known.touched({**row, "prompt": f"{row['prompt']}\n{function[0].splitlines()[0]}\n"}) == ""

    recipe = load_recipe("32k")
    cells = tuple(cell for cell in recipe.strata if (cell.family, cell.subtask) == ("latent_list", "sum"))
    plan = make_plan(replace(recipe, strata=cells), (), tmp_path)
    known = apart.joined(("32k",), [apart.KnowJob(plan, "latent_list").run()])
    sample = draw_sample(plan, next(iter(plan.rows("latent_list"))))
    row = rows_of("latent_list.sum")[0]
    assert known.touched({**row, "question": sample.question, "target": sample.key.target}) == ""


def test_a_row_that_does_not_fit_is_left_out_unless_it_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    tight, made = {1}, Stream.__getitem__

    def row(stream: Stream, index: int) -> Row:
        if index in tight:
            raise FitError("there is no room")
        return made(stream, index)

    monkeypatch.setattr(Stream, "__getitem__", row)
    taken = iter(rows_of())
    assert [next(taken)["id"], next(taken)["id"]] == [rows_of()[0]["id"], rows_of()[2]["id"]]
    assert (taken.taken, taken.dropped) == (3, {"fit": 1})
    tight.add(0)
    with pytest.raises(FitError, match="there is no room"):
        next(iter(rows_of()))


def test_every_task_is_streamed_or_kept_for_evaluation() -> None:
    refused = set()
    for family, subtask in TASKS:
        try:
            rows_of(f"{family}.{subtask}", length=32768)
        except RecipeError:
            refused.add(f"{family}.{subtask}")
    calling = {f"{family}.{subtask}" for (family, subtask), task in TASKS.items() if task.has_calls}
    assert refused == {f"{cell.family}.{cell.subtask}" for cell in load_recipe("transfer").strata} | calling
    with pytest.raises(RecipeError, match=r"has tool calls, which streams do not carry: train on trace\.rows"):
        rows_of("trace.rows-tools", length=32768)
