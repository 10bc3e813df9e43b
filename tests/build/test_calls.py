"""Tasks whose prompts hold tool calls: exact and proven in profiles that send them, refused by name in others."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from pipeline.artifacts.lite import lite_file
from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.assemble.plan import Plan, make_plan
from pipeline.baselines import READERS, open_reading
from pipeline.cli import cli
from pipeline.errors import ExportError, FitError, RecipeError
from pipeline.executors import Inline
from pipeline.export import EXPORTS, export
from pipeline.inference.endpoint import Endpoint
from pipeline.inference.run import Predictions, run_rows
from pipeline.metrics import score
from pipeline.publish.staging import part, write_lite
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import DATA_SCHEMA, TOOLS_SCHEMA, Row, sha256_text
from pipeline.schema import schemas
from pipeline.stages import Stages
from pipeline.tasks import TASKS
from pipeline.turns import sent, turns_of
from pipeline.verify.row import RowChecker
from published_build import staged

PROFILES = ("qwen3", "glm4.5", "gpt-oss")
PLAIN = ("state", "which_call", "constraint", "audit", "resume", "rows")
CALLING = tuple(f"{name}-tools" for name in PLAIN)
LENGTH, ROWS = 8192, 2


def cells(*subtasks: str) -> tuple[Stratum, ...]:
    lengths = {"which_call": 2 * LENGTH, "audit": 2 * LENGTH}
    return tuple(
        Stratum("trace", name, "32k", lengths.get(name.removesuffix("-tools"), LENGTH), task.complexities[0], ROWS)
        for name in subtasks
        for task in [TASKS["trace", name]]
    )


def built(recipe: Recipe, profiles: tuple[str, ...], out: Path) -> Plan:
    plan = make_plan(recipe, profiles, out)
    assert all(Stages(plan, Inline, quiet=True).build())
    return plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Return a build of the tasks with calls, and of the same ones without, beside a task of real turns."""
    mixed = Stratum("mrcr", "chat", "32k", LENGTH, 2, 1)
    recipe = Recipe("calls", "0", 11, "32k", (*cells(*PLAIN, *CALLING), mixed))
    return built(recipe, PROFILES, tmp_path_factory.mktemp("calls"))


@pytest.fixture(scope="module")
def rows(plan: Plan) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for shard in plan.all_shards():
        found[shard.profile.name] += read_rows(shard.path(plan.out, "data"))
    return found


@pytest.fixture(scope="module")
def split(plan: Plan) -> Split:
    return open_split(plan.out / "qwen3")


def calling(some: list[Row]) -> list[Row]:
    return [row for row in some if row["subtask"] in CALLING]


def test_rows_are_exact_by_the_second_encoder(plan: Plan, rows: dict[str, list[Row]]) -> None:
    for profile in plan.profiles:
        second, counter = profile.second(), profile.counter()
        assert second is not None
        assert len(calling(rows[profile.name])) == ROWS * len(CALLING)
        for row in calling(rows[profile.name]):
            tokens = profile.sent_tokens(turns_of(row["messages"]), "chat", second)
            assert tokens + row["max_new_tokens"] == row["context_tokens"] == row["length"]
            assert tokens == row["prompt_tokens"] + row["template_tokens"]
            assert row["prompt_tokens"] == sum(counter.count(message["content"]) for message in row["messages"])


def test_both_forms_ask_the_same_in_every_profile(rows: dict[str, list[Row]]) -> None:
    def asked(row: Row) -> tuple[Any, ...]:
        same = json.loads(row["metadata"])["latent"]
        return row["question"], row["target"], row["answers"], row["complexity"], row["max_new_tokens"], same

    first = {row["id"]: asked(row) for row in rows["qwen3"]}
    for some in rows.values():
        assert {row["id"]: asked(row) for row in some} == first
        for row in calling(some):
            assert first[row["id"].replace("-tools", "")] == asked(row)


def test_both_forms_tell_the_same_jobs_of_the_row(rows: dict[str, list[Row]]) -> None:
    plain = {row["id"]: row for row in rows["qwen3"]}
    for row in calling(rows["qwen3"]):
        twin = plain[row["id"].replace("-tools", "")]
        told = [
            [(n["role"], one["prompt"][n["char_start"] : n["char_end"]]) for n in one["needles"]] for one in (row, twin)
        ]
        assert [role for role, _ in told[0]] == [role for role, _ in told[1]]
        for (_, job), (_, lines) in zip(*told, strict=True):
            assert job.replace("Call: ", "> ", 1).split("\n")[0] in lines.replace("[user] ", "User: ")
            assert job.count("Result: ") >= lines.count("\n> ") + lines.startswith("> ")


def test_a_conversation_begins_with_a_note_and_ends_with_the_question(rows: dict[str, list[Row]]) -> None:
    for row in calling(rows["glm4.5"]):
        turns = turns_of(row["messages"])
        assert [role for role, _ in turns[:3]] == ["user", "call", "tool"]
        assert turns[-1][0] == "user"
        assert turns[-1][1].endswith("\n\nReply in plain text, and call no tool.")
        for role, text in turns:
            if role == "call":
                arguments = json.loads(text.partition(" ")[2])
                assert list(arguments) == sorted(arguments)
                assert all(type(value) in (str, int) for value in arguments.values())
            assert text == text.strip() != ""
        ids = [json.loads(each["tool_calls"])[0]["id"] for each in row["messages"] if each["tool_calls"]]
        assert [each["tool_call_id"] for each in row["messages"] if each["role"] == "tool"] == ids
        assert [int(each.rpartition(":")[2]) for each in ids] == list(range(len(ids)))
        assert not any(each["content"] for each in row["messages"] if each["tool_calls"])


def test_a_planted_fault_is_found(plan: Plan, rows: dict[str, list[Row]]) -> None:
    checker = RowChecker(plan, plan.profiles[0], plan.recipe.tag, full=True)
    for row in calling(rows["qwen3"])[::ROWS]:
        assert checker.check(row) == []
        for name, changed in planted(row):
            digest = sha256_text(changed.get("prompt", row["prompt"]))
            metadata = {**json.loads(row["metadata"]), "prompt_sha256": digest}
            assert checker.check({**row, "metadata": json.dumps(metadata), **changed}), f"{row['id']}: {name}"


def planted(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield changes to a row, each of which must be found."""
    messages = row["messages"]
    yield "a needle elsewhere", {"needles": [{**n, "char_start": n["char_start"] + 1} for n in row["needles"]]}
    for name in ("prompt_tokens", "template_tokens"):
        yield name, {name: row[name] + 1}
    swapped = [*messages[:3], *messages[5:7], *messages[3:5], *messages[7:]]
    yield "calls in another order", {"messages": swapped}
    other = {**messages[2], "tool_call_id": "functions.note:1"}
    yield "a result of another call", {"messages": [*messages[:2], other, *messages[3:]]}
    yield "no note", {"messages": messages[3:], "prompt": row["prompt"][row["prompt"].index("\n\nCall: ") :]}
    said = [*messages[:-1], {**messages[-1], "role": "assistant", "content": "Well."}, messages[-1]]
    prompt = row["prompt"][: row["question_start"]] + "Model: Well.\n\n" + row["prompt"][row["question_start"] :]
    yield (
        "a unit that ends in words",
        {
            "messages": said,
            "prompt": prompt,
            "question_start": row["question_start"] + len("Model: Well.\n\n"),
        },
    )
    moved = [{**n, "role": {"relevant": "decoy", "decoy": "relevant"}[n["role"]]} for n in row["needles"]]
    yield "needed jobs as decoys", {"needles": moved}
    yield "tokens of a needle", {"target": row["target"] + "1"}


def test_columns_are_of_version_2_and_those_of_a_split_without_calls_of_version_1(
    plan: Plan, rows: dict[str, list[Row]], tmp_path: Path
) -> None:
    shape = jsonschema.Draft202012Validator(schemas()["row.schema.json"])
    for row in rows["qwen3"]:
        shape.validate(row)
    assert open_split(plan.out / "qwen3").manifest.schema_version == 2
    for shard in plan.all_shards():
        assert pq.read_schema(shard.path(plan.out, "data")).equals(TOOLS_SCHEMA)
    plain = built(Recipe("calls", "0", 11, "32k", plan.recipe.strata[-1:]), ("qwen3",), tmp_path)
    assert open_split(tmp_path / "qwen3").manifest.schema_version == 1
    (first,) = plain.all_shards()
    assert pq.read_schema(first.path(tmp_path, "data")).equals(DATA_SCHEMA)
    (old,) = open_split(tmp_path / "qwen3").rows()
    shape.validate(old)
    new = next(row for row in rows["qwen3"] if row["id"] == old["id"])
    assert sent(new["messages"]) == old["messages"]
    assert {**new, "messages": None} == {**old, "messages": None}


def test_profiles_that_cannot_send_calls_are_refused_by_name(tmp_path: Path) -> None:
    recipe = Recipe("calls", "0", 11, "32k", cells("state-tools"))
    for name in ("o200k", "llama3.1", "mistral-tekken", "deepseek-v3", "glm4", "gemma3"):
        with pytest.raises(RecipeError, match=rf"trace.state-tools .* profile {name} cannot send tool calls: give"):
            make_plan(recipe, (name,), tmp_path)
    with pytest.raises(RecipeError, match='tool calls need frame = "chat"'):
        make_plan(replace(recipe, frame="raw"), ("qwen3",), tmp_path)


def test_more_calls_than_a_template_takes_are_refused_before_anything_is_sampled(tmp_path: Path) -> None:
    cell = replace(cells("state-tools")[0], tier="128k", length=131072)
    stages = Stages(make_plan(Recipe("calls", "0", 11, "128k", (cell,)), ("kimi-k2",), tmp_path), Inline, quiet=True)
    with pytest.raises(FitError, match=r"trace.state-tools length 131072 .* tool calls do not fit profile kimi-k2"):
        stages.build()
    assert not (tmp_path / "samples").exists()


def test_simulated_readers_read_both_forms_alike(rows: dict[str, list[Row]]) -> None:
    for row in calling(rows["qwen3"]):
        assert score(row, str(READERS["all"].replies(open_reading(row)))) == 1.0
        assert score(row, str(READERS["no-context"].replies(open_reading(row)))) < 1.0


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_exports_send_calls_or_leave_their_rows_out_by_name(name: str, split: Split, tmp_path: Path) -> None:
    wanted, out = {row["id"] for row in calling(list(split.rows(["id", "subtask"])))}, tmp_path / "out"
    if name in ("longbio", "mrcr-v2"):
        with pytest.raises(ExportError, match=r"there are no rows to export .*: \d+ rows"):
            export(EXPORTS[name], split, Selection(), out)
        return
    written = export(EXPORTS[name], split, Selection(), out)
    left = {row_id: reason for reason, ids in written.left_out.items() for row_id in ids}
    readme = (out / "README.md").read_text(encoding="utf-8")
    if EXPORTS[name].calls:
        assert not wanted & left.keys()
        assert "Rows with tool calls are sent as they are." in readme
    else:
        assert wanted <= left.keys()
        assert "Rows with tool calls are left out and listed." in readme


def test_batches_hold_the_calls(split: Split, tmp_path: Path) -> None:
    export(EXPORTS["openai-batch"], split, Selection(subtasks=("rows-tools",)), tmp_path / "out")
    lines = (tmp_path / "out" / "batch-00001.jsonl").read_text(encoding="ascii").splitlines()
    for line in map(json.loads, lines):
        _, call, result = line["body"]["messages"][:3]
        assert call["tool_calls"][0]["function"]["name"] == "note"
        assert result["tool_call_id"] == call["tool_calls"][0]["id"]
        assert "tool_calls" not in result


def test_a_run_sends_calls_and_a_reply_that_calls_scores_nothing(
    split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list(split.rows(None, Selection(subtasks=("rows-tools", "state-tools"))))
    call = {"id": "x", "type": "function", "function": {"name": "stock", "arguments": "{}"}}
    replies: list[dict[str, Any]] = [
        {"content": asked[0]["target"]},
        {"content": asked[1]["target"], "tool_calls": [call]},
        {"content": f'<think>7</think><tool_call>{{"name": "stock", "arguments": {{"qty": {asked[2]["target"]}}}}}'},
        {"content": asked[3]["target"]},
    ]
    seen = list[Any]()

    def ask(self: Endpoint, messages: Any, **_: Any) -> dict[str, Any]:
        seen.append(messages)
        return {"choices": [{"finish_reason": "stop", "message": replies[len(seen) - 1]}], "usage": {}}

    monkeypatch.setattr(Endpoint, "ask", ask)
    out = tmp_path / "predictions.jsonl"
    tags = frozenset(split.tags.values())
    with Predictions(out, "m", tags) as kept:
        found = run_rows(Endpoint("http://127.0.0.1/v1", "m"), asked, kept, workers=1)
        assert kept.called == {asked[1]["id"], asked[2]["id"]}
        assert kept.answered == {row["id"] for row in asked}
    assert (found.replies, found.empty) == (4, 0)
    assert seen[0] == sent(asked[0]["messages"])
    assert seen[0][1]["tool_calls"][0]["function"]["arguments"].startswith('{"text": ')
    with Predictions(out, "m", tags) as again:
        assert again.called == {asked[1]["id"], asked[2]["id"]}
        assert all(again.is_done(row["id"]) for row in asked)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [line["prediction"] is None for line in lines] == [False, True, True, False]
    done = CliRunner().invoke(cli, ["score", str(split.folder), str(out), "--detailed"])
    assert re.search(r"rows-tools +2 +1 +0 +0\.500", done.output), done.output
    assert re.search(r"state-tools +2 +1 +0 +0\.500", done.output), done.output
    assert f"{asked[1]['id']}: it ended with tool_calls" in done.output


def test_the_card_says_how_calls_are_sent(split: Split, tmp_path: Path) -> None:
    folder = staged(split, tmp_path / "staged").folder
    rows, harnesses = ((folder / name).read_text(encoding="utf-8") for name in ("ROWS.md", "HARNESSES.md"))
    assert "In a call, `tool_calls` is a JSON list" in rows
    assert "Only the batches below send tool calls" in harnesses
    assert 'turn["tool_calls"] = json.loads(turn["tool_calls"])' in harnesses
    assert 'columns=["id", "max_new_tokens", "metadata", "messages", "prompt"]' in harnesses
    assert 'body |= {"tools": json.loads(tools), "tool_choice": "none"}' in harnesses
    assert "only if `metadata` has `tools`" in rows
    told = (folder / "croissant.json").read_text(encoding="utf-8")
    assert '"jsonPath": "tool_call_id"' in told


def test_what_is_published_has_the_columns_of_its_version(split: Split, tmp_path: Path) -> None:
    shown, _ = part(split, tmp_path / "public", tmp_path / "private")
    public = Split(tmp_path / "public", shown)
    write_lite(public)
    for row in public.rows(["id", "subtask", "messages"]):
        calls = any(each["tool_calls"] for each in row["messages"] or ())
        assert calls == (row["subtask"] in CALLING)
    own = next(iter((tmp_path / "public" / "data").rglob("*.parquet")))
    for path in (own, public.folder / lite_file("32k")):
        assert pq.read_schema(path).field("messages").type == TOOLS_SCHEMA.field("messages").type
