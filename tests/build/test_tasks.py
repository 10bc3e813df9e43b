"""What every task must hold, in every profile, shown on the shipped smoke recipe and on planted faults."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import builds
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.cutter import NEEDLE_ROLES, in_order
from pipeline.assemble.fit import check_fit
from pipeline.assemble.jobs import draw_sample, render_job
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.errors import FitError
from pipeline.executors import Inline
from pipeline.metrics import SCORERS, score
from pipeline.recipe import Recipe, Stratum, load_recipe, shipped_recipes
from pipeline.schema import schemas
from pipeline.stages import Stages
from pipeline.tasks import NOTES, TASKS, check_stratum, families, task_of
from pipeline.tasks.base import Sample
from pipeline.verify.row import RowChecker, answer_faults, cell_place, turns_of
from shared_folders import shared_folder

Row = dict[str, Any]
UNEVEN = ("bfs", "count", "call", "callers")
"""Subtasks that have more relevant units in some rows of a stratum than in others."""
INDENTED = ("trace", "code")
"""Families whose prompts hold results of tools or code, in which spaces indent lines and align columns."""
BRACED = ("code",)
"""Families whose prompts hold code, in which braces are dictionaries and values in texts: their own tests run it."""
PROFILES = ("gemma3", "llama3.1", "mistral-tekken", "o200k")
"""One profile of each kind of vocabulary and template; the sweeps of `test_sweep` go over all of them."""
SHIPPED = list(map(load_recipe, shipped_recipes()))
slow = pytest.mark.slow


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory, places: list[builds.Place]) -> Plan:
    recipe = builds.with_every_task(load_recipe("smoke"))
    recipe = replace(recipe, strata=tuple(cell for cell in recipe.strata if (cell.family, cell.subtask) in places))

    def build(folder: Path) -> None:
        assert all(Stages(make_plan(recipe, PROFILES, folder), Inline).build())

    return make_plan(recipe, PROFILES, shared_folder(tmp_path_factory, "smoke", build))


@pytest.fixture(scope="session")
def rows(smoke: Plan) -> dict[str, list[Row]]:
    """All rows of the smoke build by profile."""
    found: dict[str, list[Row]] = defaultdict(list)
    for shard in smoke.all_shards():
        found[shard.profile.name] += read_rows(shard.path(smoke.out, "data"))
    return found


@pytest.fixture(scope="session")
def drawn(smoke: Plan) -> dict[Stratum, list[Sample]]:
    """Six samples of a stratum of every subtask in each of its complexities."""
    return {wide: draws_of(smoke, wide) for wide in one_of_each_form(smoke, 6)}


def draws_of(plan: Plan, cell: Stratum) -> list[Sample]:
    return [draw_sample(plan, RowPlan(cell, index, "")) for index in range(cell.rows)]


def cell_of(plan: Plan, row: Row) -> Any:
    return {cell_place(cell): cell for cell in plan.recipe.strata}[
        row["family"], row["subtask"], row["length"], row["complexity"]
    ]


def one_of_each_form(plan: Plan, rows: int) -> list[Stratum]:
    """Return a stratum of every subtask in each of its complexities, with so many rows."""
    cells = {(cell.family, cell.subtask, cell.complexity): cell for cell in plan.recipe.strata}
    return [replace(cell, rows=rows) for cell in cells.values()]


def with_pools_of(smoke: Plan, out: Path, *more: str) -> Path:
    """Give a folder the rendered pools of the smoke build, and `more` of its folders, as links to the same files."""
    for part in ("segments", *more):
        shutil.copytree(smoke.out / part, out / part, copy_function=os.link)
    return out


def test_the_build_holds_every_task_and_complexity(rows: dict[str, list[Row]], places: list[builds.Place]) -> None:
    seen = {(row["family"], row["subtask"], row["complexity"]) for row in rows["o200k"]}
    assert seen == {(*place, complexity) for place in places for complexity in TASKS[place].complexities}


def test_a_task_says_what_it_is(places: list[builds.Place]) -> None:
    for task in map(TASKS.__getitem__, places):
        for name in (task.family, task.subtask):
            assert re.fullmatch(r"[a-z][a-z0-9_-]*", name)
        assert task.scorer in SCORERS, f"{task.scorer!r} is no scorer of pipeline.metrics"
        assert task.version > 0
        assert 0 <= task.shots <= task.most_shots
        assert task.complexities
        for said in (task.title, NOTES[task.family]):
            assert said.isascii()
            assert said.strip() == said != ""
        assert not task.title.endswith(".")
        for cell in task.golden():
            check_stratum(cell)
        assert {cell.complexity for cell in task.golden()} == set(task.complexities)


def test_rows_are_exact_by_the_second_encoder(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    for profile in smoke.profiles:
        second = profile.second()
        assert second is not None
        for row in rows[profile.name]:
            sent = profile.sent_tokens(turns_of(row), row["frame"], second)
            assert sent == row["prompt_tokens"] + row["template_tokens"]
            assert sent + row["max_new_tokens"] == row["context_tokens"] == profile.window(row["length"])


def test_question_text_and_keys_are_the_same_in_every_profile(rows: dict[str, list[Row]]) -> None:
    def same(row: Row) -> tuple[Any, ...]:
        marked = [row["prompt"][n["char_start"] : n["char_end"]] for n in row["needles"]]
        own = ("prompt_sha256", "desired_msg_index", "filler")
        metadata = {name: value for name, value in json.loads(row["metadata"]).items() if name not in own}
        return row["id"], row["question"], row["target"], tuple(row["answers"]), tuple(marked), json.dumps(metadata)

    first, *others = ([same(row) for row in found] for found in rows.values())
    assert all(other == first for other in others)


def test_needles_count_the_tokens_before_them(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    for profile in smoke.profiles:
        counter, opening = profile.counter(), profile.gaps(("user",), "chat")[0]
        for row in [row for row in rows[profile.name] if not row["messages"]][::5]:
            for needle in row["needles"]:
                before = counter.count(row["prompt"][: needle["char_start"]])
                inside = counter.count(row["prompt"][: needle["char_end"]])
                assert (needle["token_start"], needle["token_end"]) == (opening + before, opening + inside)


def test_needles_of_real_turns_count_the_template_too(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    for profile in smoke.profiles:
        for row in [row for row in rows[profile.name] if row["messages"]]:
            gaps = profile.gaps([turn["role"] for turn in row["messages"]], "chat")
            counts = list(map(profile.counter().count, (turn["content"] for turn in row["messages"])))
            starts = {
                turn["content"]: sum(gaps[: at + 1]) + sum(counts[:at]) for at, turn in enumerate(row["messages"])
            }
            for needle in row["needles"]:
                said = row["prompt"][needle["char_start"] : needle["char_end"]]
                assert needle["token_start"] == starts[said]
                assert needle["token_end"] == starts[said] + profile.counter().count(said)


def test_keys_fit_the_reply_with_margin(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    for profile in smoke.profiles:
        for row in rows[profile.name]:
            assert max(map(profile.counter().count, row["answers"])) <= row["max_new_tokens"] * 0.8


def test_the_longest_keys_fit_the_reply(smoke: Plan, drawn: dict[Stratum, list[Sample]]) -> None:
    check_longest_keys(smoke, drawn)


@slow
def test_the_longest_keys_of_many_draws_fit_the_reply(smoke: Plan) -> None:
    check_longest_keys(smoke, {wide: draws_of(smoke, wide) for wide in one_of_each_form(smoke, 60)})


def check_longest_keys(smoke: Plan, drawn: dict[Stratum, list[Sample]]) -> None:
    longest = []
    for cell, samples in drawn.items():
        targets = sorted((sample.key.target for sample in samples), key=len)[-5:]
        longest += [(target, task_of(cell).max_new_tokens_of(cell)) for target in targets]
    for profile in smoke.profiles:
        counts = profile.counter().counts([target for target, _ in longest])
        assert all(count <= limit * 0.9 for count, (_, limit) in zip(counts, longest, strict=True))


def test_rows_and_keys_follow_their_schemas(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    shapes = schemas()
    whole, keys = (jsonschema.Draft202012Validator(shapes[f"{name}.schema.json"]) for name in ("row", "key"))
    for row in rows["llama3.1"]:
        whole.validate(row)
    for shard in smoke.all_shards():
        if shard.profile.name == "o200k":
            for key in read_rows(shard.path(smoke.out, "keys")):
                keys.validate(key)
    for profile in smoke.profiles:
        manifest = json.loads((smoke.out / profile.name / "manifest.json").read_text(encoding="ascii"))
        jsonschema.Draft202012Validator(shapes["manifest.schema.json"]).validate(manifest)


def test_the_right_answer_scores_one_and_others_do_not(rows: dict[str, list[Row]]) -> None:
    for row in rows["o200k"]:
        assert score(row, row["target"]) == 1.0
        assert all(score(row, answer) == 1.0 for answer in row["answers"])
        assert score(row, "") == 0.0
        unstated = (row["scorer"], row["target"]) == ("choice_or_refusal", "D")
        refused = unstated or (row["scorer"], row["complexity"]) == ("idk_pair", 0)
        assert score(row, "I cannot answer this question.") == float(refused)


def test_a_planted_fault_is_found_in_every_task(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    profile = next(each for each in smoke.profiles if each.name == "o200k")
    checker = RowChecker(smoke, profile, smoke.recipe.tag, full=True)
    firsts = {(row["family"], row["subtask"], row["complexity"]): row for row in rows["o200k"]}
    seen: set[str] = set()
    for row in firsts.values():
        assert checker.check(row) == []
        changes = of_a_task(row) if row["family"] in seen else {**of_a_task(row), **of_any_row(row)}
        seen.add(row["family"])
        for name, value in changes.items():
            assert checker.check({**row, name: value}), f"{row['id']}: a changed {name} went unseen"


def test_an_author_reads_what_is_wrong_with_a_task(
    smoke: Plan, rows: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = next(each for each in smoke.profiles if each.name == "o200k")
    checker = RowChecker(smoke, profile, smoke.recipe.tag, full=True)
    row = next(row for row in rows["o200k"] if (row["family"], row["scorer"]) == ("bio", "exact"))
    lettered = "it has choices, but scorer 'exact' wants no letter: leave out `choices`"
    assert lettered in checker.check({**row, "choices": ["Lyon", "Turin"]})

    def faults(task: object, row: object) -> list[str]:
        return {}["changes"]  # type: ignore[no-any-return]

    monkeypatch.setattr(type(task_of(cell_of(smoke, row))), "check", faults)
    (told,) = checker.check(row)
    assert re.fullmatch(r"it cannot be read as a row \(KeyError\('changes'\) in test_tasks\.py, line \d+\)", told)


def of_a_task(row: Row) -> dict[str, Any]:
    """Return changes to a row that its own task must find."""
    moved = [{**needle, "char_start": needle["char_start"] + 1} for needle in row["needles"]]
    return {"target": row["target"] + "1", "needles": moved}


def of_any_row(row: Row) -> dict[str, Any]:
    """Return changes to a row that are found without its task."""
    return {
        "prompt": row["prompt"] + " ",
        "prompt_tokens": row["prompt_tokens"] - 1,
        "template_tokens": row["template_tokens"] + 1,
        "context_tokens": row["context_tokens"] + 1,
        "max_new_tokens": row["max_new_tokens"] + 1,
        "tokenizer": "cl100k",
        "complexity": 999,
    }


def test_a_prompt_with_other_filler_is_found(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    for row in rows["o200k"]:
        relevant = next((n for n in row["needles"] if n["role"] == "relevant"), None)
        if relevant is None:
            assert (row["subtask"], row["complexity"]) == ("parents", 0)  # no edge of the graph leads to the node
            continue
        without = row["prompt"][: relevant["char_start"]] + row["prompt"][relevant["char_end"] :]
        assert answer_faults({**row, "prompt": without}, cell_of(smoke, row)), row["id"]


def test_depths_are_uniform_by_construction(smoke: Plan, drawn: dict[Stratum, list[Sample]]) -> None:
    """A unit that stands at a rank among ranked filler has no depth of its own: what is dealt of it shows elsewhere."""
    for wide, samples in drawn.items():
        if wide.family in ("mrcr", "longqa", "summ", "trace", "tabulate") or wide.subtask == "changed":
            continue  # ordinal, date or order and depth are dealt together: their own tests prove both
        wanted: dict[int, list[float]] = defaultdict(list)
        for index, sample in enumerate(samples):
            own, shared = row_streams(smoke, wide, index)
            layout = task_of(wide).layout(sample, own, shared)
            for number, item in enumerate(
                p for p in layout.placed if p.at is None and "relevant" in {each.role for each in p.unit.pieces}
            ):
                wanted[number].append(item.depth * wide.complexity - number if item.rank is not None else item.depth)
        for depths in wanted.values():
            bins = [int(depth * wide.rows) for depth in depths]
            if task_of(wide).knobs.get("depth", ("",))[0] == "grid":
                assert Counter(depths) == dict.fromkeys((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), wide.rows // 6), str(wide)
                continue
            assert len({*bins}) == len(bins), str(wide)
            assert len(bins) == wide.rows or wide.subtask in UNEVEN, str(wide)


def test_depths_are_filler_tokens_before_over_all(smoke: Plan, rows: dict[str, list[Row]]) -> None:
    """Each depth is what it says, and as near to the one wanted as the units beside it allow."""
    for profile in smoke.profiles[:2]:
        count, opening = profile.counter().count, profile.gaps(("user",), "chat")[0]
        for row in [row for row in rows[profile.name] if not row["messages"]]:
            planned = next(each for each in smoke.rows(row["family"]) if each.id == row["id"])
            own, shared = row_streams(smoke, planned.stratum, planned.index)
            layout = task_of(planned.stratum).layout(draw_sample(smoke, planned), own, shared)
            head = opening + count("".join(piece.text for piece in layout.head))
            placed = [n for n in row["needles"] if n["depth"] is not None]
            sizes = [count("".join(p.text for p in item.unit.pieces)) for item in in_order(layout.placed)]
            filler = opening + count(row["prompt"][: row["question_start"]]) - head - sum(sizes)
            kept = [
                (at, item)
                for at, item in enumerate(in_order(layout.placed))
                if any(piece.role in NEEDLE_ROLES for piece in item.unit.pieces)
            ]
            for needle, (at, item) in zip(placed, kept, strict=True):
                last = max(place for place, piece in enumerate(item.unit.pieces) if piece.role in NEEDLE_ROLES)
                own_tokens = count("".join(piece.text for piece in item.unit.pieces[: last + 1]))
                before = needle["token_end"] - own_tokens - head - sum(sizes[:at])
                assert needle["depth"] * filler == pytest.approx(before)
                if item.at is None:  # where a rank falls among those of the filler, the depth comes out
                    assert abs(needle["depth"] - item.depth) * filler <= 160


@pytest.mark.whole
def test_what_is_asked_is_balanced(rows: dict[str, list[Row]]) -> None:
    asked = Counter(
        json.loads(row["metadata"])["latent"].get("asked") for row in rows["o200k"] if row["subtask"] == "standard"
    )
    assert set(asked.values()) == {4}
    cells = Counter((row["subtask"], row["complexity"]) for row in rows["o200k"] if row["family"] == "latent_list")
    assert set(cells.values()) == {2}


def test_no_two_rows_are_the_same_and_ids_are_in_form(rows: dict[str, list[Row]]) -> None:
    for found in rows.values():
        for name in ("id", "prompt"):
            assert len({row[name] for row in found}) == len(found)
        assert all(len(row["id"]) <= 64 for row in found)


def test_prompts_are_clean_text(rows: dict[str, list[Row]]) -> None:
    for found in rows.values():
        for row in found:
            prompt = row["prompt"]
            assert prompt.isascii()
            assert prompt == prompt.strip()
            assert "  " not in prompt or row["family"] in INDENTED
            assert not re.search(r"\{\w*\}", prompt) or row["family"] in BRACED
            assert prompt[row["question_start"] - 1] == "\n"


@pytest.mark.whole
@pytest.mark.parametrize("family", families())
def test_every_stratum_fits_two_profiles(family: str, smoke: Plan, tmp_path: Path) -> None:
    """Of the tier 32k; the smoke recipe has been built in all of `PROFILES`."""
    recipes = [recipe for recipe in SHIPPED if recipe.variant != "smoke"]
    check_fits("32k", recipes, PROFILES[:2], family, with_pools_of(smoke, tmp_path))


@slow
@pytest.mark.whole
@pytest.mark.parametrize("family", families())
@pytest.mark.parametrize("tier", ["32k", "128k", "1m"])
def test_every_stratum_fits_every_profile(tier: str, family: str, tmp_path: Path) -> None:
    check_fits(tier, SHIPPED, builds.SWEPT, family, tmp_path)


def check_fits(tier: str, recipes: list[Recipe], profiles: tuple[str, ...], family: str, out: Path) -> None:
    recipes = [recipe for recipe in recipes if recipe.tier == tier and family in recipe.families]
    plans = [make_plan(recipe, profiles, out, (family,)) for recipe in recipes]
    assert len(plans) > 1
    for plan in plans:
        for spec in plan.all_pools():
            render_job(plan, spec).run()  # once for all recipes of the tier
        check_fit(plan, plan.profiles)


@pytest.mark.whole
@pytest.mark.parametrize("family", families())
@pytest.mark.parametrize(
    ("length", "reserve", "every"),
    [
        (2048, None, False),
        *(pytest.param(*each, True, marks=slow) for each in [(1024, None), (2048, None), (8192, 5120)]),
    ],
)
def test_what_fits_is_right_and_all_else_is_refused_before_it_is_packed(
    length: int, reserve: int | None, every: bool, family: str, smoke: Plan, tmp_path: Path
) -> None:
    """Tried in every complexity, or in the lowest and the highest."""
    fitting: list[Stratum] = []
    out = with_pools_of(smoke, tmp_path)
    short = Recipe("short", "0", smoke.recipe.seed, "32k", (), reserve=reserve)
    there = {*out.rglob("*.parquet")}
    for task in (task for (name, _), task in TASKS.items() if name == family and not task.has_calls):
        tried = task.complexities if every else {*task.complexities[:1], *task.complexities[-1:]}
        for forms in [task.complexities] if task.paired else [(each,) for each in sorted(tried)]:
            cells = tuple(Stratum(family, task.subtask, "32k", length, form, 2) for form in forms)
            plan = make_plan(replace(short, strata=cells), ("o200k",), out)
            if fits(plan):
                fitting += cells
                continue
            with pytest.raises(FitError):
                Stages(plan, Inline, quiet=True).build()
            made = {path.relative_to(out).parts[0] for path in {*out.rglob("*.parquet")} - there}
            assert made <= {"segments"}, task.subtask
    if fitting:
        plan = make_plan(replace(short, strata=tuple(fitting)), ("o200k",), out)
        assert all(Stages(plan, Inline, quiet=True).build())


def fits(plan: Plan) -> bool:
    try:
        check_fit(plan, plan.profiles)
    except FitError:
        return False
    return True


@pytest.mark.parametrize("shots", [0, 2])
def test_demonstrations_can_be_switched_off_and_on(
    shots: int, smoke: Plan, tmp_path: Path, places: list[builds.Place]
) -> None:
    wanted = {place: min(shots, TASKS[place].most_shots) for place in places}
    cells = tuple(
        Stratum(*place, "32k", 8192, form, 1, asked)
        for place, asked in wanted.items()
        for form in ((0, 1) if TASKS[place].paired else TASKS[place].complexities[:1])
    )
    out = with_pools_of(smoke, tmp_path, "o200k/counts")
    plan = make_plan(Recipe("shots", "0", smoke.recipe.seed, "32k", cells), ("o200k",), out)
    assert all(Stages(plan, Inline, quiet=True).build())
    for row in (row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))):
        assert row["shots"] == wanted[row["family"], row["subtask"]]
        assert sum(n["role"] == "demo" for n in row["needles"]) == row["shots"]


@pytest.mark.whole
def test_the_row_in_the_docs_is_a_real_one(root: Path, rows: dict[str, list[Row]]) -> None:
    text = (root / "docs" / "rows.md").read_text(encoding="utf-8")
    shown = json.loads(text.split("```json\n")[1].split("```")[0])
    row = next(row for row in rows["o200k"] if row["id"] == shown["id"])
    start, end = shown.pop("prompt").split(" [...] ")
    assert row["prompt"].startswith(start)
    assert row["prompt"].endswith(end)
    metadata = json.loads(row["metadata"])
    assert {name: metadata[name] for name in shown["metadata"]} == shown.pop("metadata")
    assert {name: row[name] for name in shown} == shown
