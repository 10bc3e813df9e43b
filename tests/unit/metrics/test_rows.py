"""Tables in replies: what is right, where it fails, and that LongProc's rule is LongProc's."""

from __future__ import annotations

import json
from random import Random

import pytest

from pipeline.metrics import figures, judge, score, scorers_of
from pipeline.streams import stream
from repository import TESTS
from table_replies import REPLIES, table_and_reply

UPSTREAM = json.loads((TESTS / "golden" / "upstream" / "longproc.json").read_text(encoding="ascii"))
"""F1, precision and recall by the published code, which `tools/score_with_longproc.py` has run."""
HEAD = "name\tyear"
LINES = [f"Mill {number}\t{1700 + number}" for number in range(20)]


def row(subtask: str = "extract", lines: list[str] = LINES) -> dict[str, str]:
    return {"scorer": "rows", "subtask": subtask, "target": "\n".join([HEAD, *lines])}


def test_longproc_is_what_its_own_code_makes_of_a_thousand_replies() -> None:
    longproc, seen = scorers_of(["rows=longproc"]), set()
    assert len(UPSTREAM) == REPLIES
    for number, (f1, precision, recall) in enumerate(UPSTREAM):
        target, reply = table_and_reply(number)
        asked = {**row(), "target": target}
        found = figures(asked, reply, longproc)
        told = score(asked, reply, longproc), found["precision"], found["recall"]
        assert told == pytest.approx((f1, precision, recall), abs=1e-8), (number, reply)
        seen.add(round(f1, 2))
    assert len(seen) > 40


def test_a_right_row_that_is_given_twice_counts_twice_in_precision_alone() -> None:
    reply = "\n".join([HEAD, *LINES, *LINES])
    assert score(row(), reply) == pytest.approx(2 / 3)
    assert score(row(), reply, scorers_of(["rows=longproc"])) == 1.0


def test_a_table_without_a_head_loses_nothing() -> None:
    reply = "\n".join(LINES)
    assert score(row(), reply) == 1.0
    assert score(row(), reply, scorers_of(["rows=longproc"])) < 1.0


def test_order_counts_where_rows_are_to_be_sorted() -> None:
    turned = "\n".join([HEAD, *LINES[::-1]])
    assert score(row(), turned) == 1.0
    assert score(row("sort"), turned) == 1 / 20
    one_moved = "\n".join([HEAD, *LINES[1:], LINES[0]])
    assert score(row("sort"), one_moved) == 19 / 20
    assert score(row("sort"), "\n".join([HEAD, *LINES, *LINES])) == 1 / 2


def test_order_is_the_longest_common_subsequence() -> None:
    def slow(one: list[str], other: list[str]) -> int:
        best = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
        for at, mine in enumerate(one, 1):
            for to, yours in enumerate(other, 1):
                best[at][to] = best[at - 1][to - 1] + 1 if mine == yours else max(best[at - 1][to], best[at][to - 1])
        return best[-1][-1]

    for number in range(200):
        rng: Random = stream("common rows", number)
        wanted = [rng.choice(LINES) for _ in range(rng.randint(1, 16))]
        given = [rng.choice(LINES) for _ in range(rng.randint(1, 16))]
        found = figures(row(lines=wanted), "\n".join([HEAD, *given]))["order"]
        assert found == slow(wanted, given) / max(len(wanted), len(given))


def test_figures_tell_where_in_the_reply_a_model_fails() -> None:
    half = figures(row(), "\n".join([HEAD, *LINES[:10]]))
    assert (half["recall"], half["precision"], half["written"]) == (0.5, 1.0, 0.5)
    assert [half[f"tenth {place}"] for place in range(1, 11)] == [1.0] * 5 + [0.0] * 5
    late = figures(row(), "\n".join([HEAD, *LINES[:18], "Mill 18\t1000", "Mill 19\t1000"]))
    assert (late["written"], late["tenth 9"], late["tenth 10"]) == (1.0, 1.0, 0.0)
    assert figures(row(), "I do not know.") == dict.fromkeys(half, 0.0)


def test_a_reply_without_a_table_is_not_judged() -> None:
    assert judge(row(), "There are twenty mills.") is None
    assert judge(row(), "") is None
    assert judge(row(), f"{HEAD}\nMill 0\t1701") == 0.0


@pytest.mark.parametrize("reply", ["a" * 199_999, "a," * 99_999, '"' * 1000, 'a, "b\nc, d', "a\0b, c", "\tb" * 50_000])
def test_no_reply_is_too_strange(reply: str) -> None:
    assert score(row(), reply) == score(row(), reply, scorers_of(["rows=longproc"])) == 0.0


def test_a_table_of_256_rows_is_scored_in_milliseconds() -> None:
    lines = [f"Mill {number} of the Vale\tJane Foster\t{1700 + number % 300}\t{number}" for number in range(256)]
    asked = {"scorer": "rows", "subtask": "sort", "target": "\n".join(["name\tbuilder\tyear\tcost", *lines])}
    assert score(asked, "\n".join(lines[::-1])) == 1 / 256
