"""Rows that declare their tools: counted whole, sent with each request, and the same as those without in all else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loopback.threads import LoopbackServer
from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.cli import cli
from pipeline.errors import RecipeError
from pipeline.executors import Inline
from pipeline.export import EXPORTS, export
from pipeline.profiles import load_profile
from pipeline.publish.staging import part
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row
from pipeline.stages import Stages
from pipeline.turns import declared, tools_of, turns_of
from pipeline.verify.row import RowChecker
from pipeline.worlds.desk import DECLARED

PROFILES = ("qwen3", "gpt-oss")
LIST = {"qwen3": 2268, "gpt-oss": 1177}
"""The tokens of the declared tools."""
ALIKE = DECLARED.replace("Run a command.", "Run the command.")
"""Another list, of as many tokens."""
CELL = Stratum("trace", "state-tools", "32k", 12288, 1, 4)


def recipe(*, declares: bool) -> Recipe:
    return Recipe("calls", "0", 11, "32k", (replace(CELL, knobs=(("declared", True),) if declares else ()),))


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[Plan]:
    """Return the builds of a stratum with and without declared tools, which share filler and counts."""
    out = tmp_path_factory.mktemp("declared")
    made = [make_plan(recipe(declares=each), PROFILES, out / str(each)) for each in (True, False)]
    assert all(Stages(made[0], Inline, quiet=True).build())
    for name in ("segments", *(f"{profile}/counts" for profile in PROFILES)):
        shutil.copytree(made[0].out / name, made[1].out / name)
    assert all(Stages(made[1], Inline, quiet=True).build())
    return made


@pytest.fixture(scope="module")
def split(plans: list[Plan]) -> Split:
    return open_split(plans[0].out / "qwen3")


def rows_of(plan: Plan, name: str) -> list[Row]:
    return [
        row for each in plan.all_shards() if each.profile.name == name for row in read_rows(each.path(plan.out, "data"))
    ]


@pytest.mark.parametrize("name", PROFILES)
def test_the_list_is_counted_and_all_else_is_the_same(plans: list[Plan], name: str) -> None:
    profile, (ours, theirs) = load_profile(name), (rows_of(plan, name) for plan in plans)
    second = profile.second()
    assert second is not None
    assert len(ours) == CELL.rows
    for row, other in zip(ours, theirs, strict=True):
        turns = turns_of(row["messages"])
        tokens = profile.sent_tokens(turns, "chat", second, DECLARED)
        assert tokens + row["max_new_tokens"] == row["context_tokens"] == CELL.length
        assert tokens - profile.sent_tokens(turns, "chat", second) == LIST[name]
        assert profile.sent_tokens(turns_of(other["messages"]), "chat", second) == tokens
        same = ("id", "question", "target", "answers", "complexity", "max_new_tokens")
        assert [row[each] for each in same] == [other[each] for each in same]
        mine, its = (json.loads(each["metadata"]) for each in (row, other))
        assert (mine["tools"], mine["knobs"]) == (DECLARED, {"declared": True})
        assert "tools" not in its
        assert mine["latent"] == its["latent"]
        assert declared(other["metadata"]) == {}


def test_counts_are_shared_and_rows_are_not(plans: list[Plan]) -> None:
    ours, theirs = plans
    for profile in ours.profiles:
        (spec,) = ours.all_pools()
        assert ours.count_key(spec, profile) == theirs.count_key(spec, profile)
        tools = profile.template.tools
        assert tools
        other = replace(
            profile, template=replace(profile.template, tools=replace(tools, declared=f"{tools.declared}x"))
        )
        for plan, same in ((ours, False), (theirs, True)):
            assert (
                [each.key for each in plan.shards("trace", profile)]
                == [each.key for each in plan.shards("trace", other)]
            ) is same


def test_a_planted_fault_in_the_list_is_found(plans: list[Plan]) -> None:
    plan = plans[0]
    checker = RowChecker(plan, plan.profiles[0], plan.recipe.tag, full=True)
    (row, *_) = rows_of(plan, plan.profiles[0].name)
    metadata = json.loads(row["metadata"])
    assert checker.check(row) == []
    for tools in (None, "[]", DECLARED.replace("Run a command", "Run this command or that")):
        changed = (
            {**metadata, "tools": tools} if tools else {name: metadata[name] for name in metadata if name != "tools"}
        )
        assert any("tokens sent" in fault for fault in checker.check({**row, "metadata": json.dumps(changed)}))


def test_the_list_of_another_sample_is_found(plans: list[Plan]) -> None:
    (row, *_), plan = rows_of(plans[0], "qwen3"), plans[0]
    changed = {**row, "metadata": json.dumps({**json.loads(row["metadata"]), "tools": ALIKE})}
    checker = RowChecker(plan, plan.profiles[0], plan.recipe.tag, full=True, drawn=plan)
    sample = draw_sample(plan, plan.rows("trace")[0])
    assert checker.check(row, sample) == []
    assert checker.check(changed, sample) == ["it does not declare the tools of its sample"]


def test_profiles_that_cannot_declare_tools_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        RecipeError, match=r"trace.state-tools .* profile deepseek-v3.1 cannot declare tools: give one of gemma4, "
    ):
        make_plan(recipe(declares=True), ("deepseek-v3.1",), tmp_path)
    make_plan(recipe(declares=False), ("deepseek-v3.1",), tmp_path)


def test_batches_hold_the_list(split: Split, tmp_path: Path) -> None:
    export(EXPORTS["openai-batch"], split, Selection(), tmp_path / "out")
    lines = (tmp_path / "out" / "batch-00001.jsonl").read_text(encoding="ascii").splitlines()
    assert len(lines) == CELL.rows
    for body in (json.loads(line)["body"] for line in lines):
        assert body["tools"] == json.loads(DECLARED)
        assert body["tool_choice"] == "none"


def test_rows_without_answers_keep_the_list(plans: list[Plan], split: Split, tmp_path: Path) -> None:
    part(split, tmp_path / "public", tmp_path / "private")
    plan, (public,) = plans[0], (tmp_path / "public" / "data").rglob("*.parquet")
    checker = RowChecker(plan, plan.profiles[0], plan.recipe.tag, full=True, withheld=True)
    for row, own in zip(read_rows(public), rows_of(plan, "qwen3"), strict=True):
        assert tools_of(row["metadata"]) == DECLARED
        assert "knobs" not in json.loads(row["metadata"])
        assert checker.check(row, own=own) == []
        changed = {**row, "metadata": json.dumps({**json.loads(row["metadata"]), "tools": ALIKE})}
        assert checker.check(changed, own=own) == ["it does not declare the tools that were built"]


@pytest.fixture
def asked(split: Split) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Return the address of a server that answers rightly but whose first reply calls a tool, and what it was sent."""
    seen = list[dict[str, Any]]()
    targets = {row["question"]: row["target"] for row in split.rows(["question", "target"])}
    call = {"id": "x", "type": "function", "function": {"name": "stock", "arguments": "{}"}}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append({"path": self.path, **json.loads(self.rfile.read(int(self.headers["Content-Length"])))})
            last = seen[-1]["messages"][-1]["content"] if seen[-1].get("messages") else ""
            said = next((target for question, target in targets.items() if question in last), "yes")
            called = len(seen) == 1
            message = {"content": said, **({"tool_calls": [call]} if called else {})}
            self.answer(200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}})

        def do_GET(self) -> None:
            self.answer(404, {})

        def answer(self, status: int, body: dict[str, Any]) -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    server = LoopbackServer(Handler)
    yield f"http://127.0.0.1:{server.server_port}/v1", seen
    server.stop()


def called(*line: object) -> str:
    return CliRunner().invoke(cli, [str(each) for each in line]).output


def test_a_run_sends_the_list_and_a_reply_that_calls_scores_nothing(
    split: Split, asked: tuple[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    (url, seen), out = asked, tmp_path / "predictions.jsonl"
    line = ("run", split.folder, "--base-url", url, "--model", "m", "--out", out, "--max-concurrency", 1)
    told = called(*line)
    assert "tool calls instead of an answer, scored 0: 1 row" in told, told
    requests = [each for each in seen if each["path"] == "/v1/chat/completions"]
    assert len(requests) == CELL.rows
    assert all(each["tools"] == json.loads(DECLARED) and each["tool_choice"] == "none" for each in requests)
    assert "0.750" in called("score", split.folder, out)


def test_tool_choice_can_be_left_out(split: Split, asked: tuple[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    (url, seen), more = asked, ("--extra-body", "tool_choice=null", "--limit", 1)
    called("run", split.folder, "--base-url", url, "--model", "m", "--out", tmp_path / "p.jsonl", *more)
    (request,) = (each for each in seen if each["path"] == "/v1/chat/completions")
    assert "tool_choice" not in request
    assert request["tools"] == json.loads(DECLARED)


def test_check_server_sends_the_list_wherever_it_sends_messages(
    split: Split, asked: tuple[str, list[dict[str, Any]]]
) -> None:
    url, seen = asked
    told = called("check-server", split.folder, "--base-url", url, "--model", "m")
    assert "tokens as sent" in told
    rows = [each for each in seen if len(each.get("messages", ())) > 1]
    assert {"/v1/chat/completions", "/tokenize", "/apply-template"} <= {each["path"] for each in rows}
    assert all(each["tools"] == json.loads(DECLARED) for each in rows)
