"""Jobs of a trace in turns: nothing is lost on the way, and what is no trace is refused."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

import jsonschema
import pytest

from pipeline.streams import Streams
from pipeline.tasks import TASKS
from pipeline.tasks.solving import ReadError
from pipeline.tasks.trace import text
from pipeline.tasks.trace.tools import FlatTrace, job_turns
from pipeline.worlds.desk import DECLARED, pool_texts

HEAD = [("user", "You are the agent."), ("call", text.NOTE), ("tool", '{"ref": "b2b2b", "status": "kept", "note": 1}')]
TAIL = [("user", f"Question: Is it 7?{text.IN_TEXT}")]
PAIR = [("call", 'note {"text": "so"}'), ("tool", "kept\nas 7")]


@pytest.mark.parametrize("verbose", [False, True])
def test_jobs_in_turns_are_read_as_they_were_written(verbose: bool) -> None:
    jobs = list(pool_texts(Streams((3,)), "32k", 0.3, verbose=verbose))
    turns = [list(job_turns(job)) for job in jobs]
    told = FlatTrace.of([*HEAD, *(turn for some in turns for turn in some), *TAIL]).text
    assert told == f"You are the agent.\n{text.START}{''.join(jobs)}Question: Is it 7?{text.ANSWER}"
    assert all(said == said.strip() != "" for some in turns for _, said in some)
    assert {some[-1][0] for some in turns} == {"tool"}
    assert {some[0][0] for some in turns} == {"call", "user"}


@pytest.mark.parametrize(
    "body",
    [
        [("user", "Go."), ("user", "Go.")],
        [*PAIR, ("assistant", "Done.")],
        [("tool", "kept")],
        [PAIR[0]],
        [("user", "Go.")],
        [PAIR[0], *PAIR],
    ],
)
def test_turns_in_another_order_are_refused(body: list[tuple[str, str]]) -> None:
    with pytest.raises(ReadError, match="follows one of the role"):
        FlatTrace.of([*HEAD, *body, *TAIL])


def test_a_conversation_without_note_or_question_is_refused() -> None:
    with pytest.raises(ReadError, match="does not begin with a note"):
        FlatTrace.of([*HEAD[:1], *PAIR[:1], *TAIL])
    with pytest.raises(ReadError, match="does not end by asking for plain text"):
        FlatTrace.of([*HEAD, *PAIR, ("user", "Is it 7?")])


def test_both_forms_are_twins() -> None:
    for (family, subtask), task in TASKS.items():
        if task.has_calls:
            plain = TASKS[family, task.twin]
            assert subtask == f"{task.twin}-tools"
            same = ("version", "scorer", "max_new_tokens", "complexities")
            assert [getattr(task, name) for name in same] == [getattr(plain, name) for name in same]
            assert task.knobs == {**plain.knobs, "declared": (False, True)}


def calls() -> list[tuple[str, dict[str, str | int]]]:
    """Return the calls of all jobs of two worlds, and of those written for rows of every task and complexity."""
    jobs = [job for seed in (3, 7) for job in pool_texts(Streams((seed,)), "128k", 0.3)]
    for task in (task for task in TASKS.values() if task.family == "trace" and not task.has_calls):
        for cell in (replace(cell, rows=12) for cell in task.golden()):
            for index in range(cell.rows):
                path = (9, f"trace.{task.subtask}@{task.version}", "32k", cell.length, cell.complexity)
                streams = Streams((*path, index)), Streams(path)
                layout = task.layout(task.sample(cell, index, *streams), *streams)
                jobs += [item.unit.pieces[0].text for item in layout.placed]
    said = [called for job in jobs for turn, called in job_turns(job) if turn == "call"]
    return [(tool, json.loads(args)) for tool, _, args in (called.partition(" ") for called in (*said, text.NOTE))]


def test_declared_tools_allow_every_call_and_have_nothing_that_no_call_uses() -> None:
    declared = {each["function"]["name"]: each["function"] for each in json.loads(DECLARED)}
    made, used = calls(), defaultdict[str, dict[str, set[str | int]]](lambda: defaultdict(set))
    assert len(made) > 5_000
    schemas = {name: each["parameters"] | {"additionalProperties": False} for name, each in declared.items()}
    checks = {name: jsonschema.Draft202012Validator(schema) for name, schema in schemas.items()}
    for tool, args in made:
        checks[tool].validate(args)
        for name, value in args.items():
            used[tool][name].add(value)
    for tool, schema in schemas.items():
        every = [{*args} for other, args in made if other == tool]
        assert {*schema["properties"]} == set[str]().union(*every), tool
        assert {*schema["required"]} == set.intersection(*every), tool
        assert list(schema["properties"]) == sorted(schema["properties"])
        for name, value in schema["properties"].items():
            if name != "mode":
                assert used[tool][name] == {*value.get("enum", used[tool][name])}, (tool, name)


def test_tools_are_declared_in_one_sentence_each() -> None:
    for each in json.loads(DECLARED):
        assert list(each) == ["type", "function"]
        assert list(each["function"]) == ["name", "description", "parameters"]
        assert each["function"]["description"].endswith(".")
        assert each["function"]["description"].count(".") == 1
        assert all(value["description"] for value in each["function"]["parameters"]["properties"].values())
