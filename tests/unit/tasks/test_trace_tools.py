"""Jobs of a trace in turns: nothing is lost on the way, and what is no trace is refused."""

from __future__ import annotations

import pytest

from pipeline.streams import Streams
from pipeline.tasks import TASKS
from pipeline.tasks.solving import ReadError
from pipeline.tasks.trace import text
from pipeline.tasks.trace.tools import FlatTrace, job_turns
from pipeline.worlds.desk import pool_texts

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
            same = ("version", "scorer", "max_new_tokens", "complexities", "knobs")
            assert [getattr(task, name) for name in same] == [getattr(plain, name) for name in same]
