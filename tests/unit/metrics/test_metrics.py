from __future__ import annotations

import re
from itertools import pairwise

import pytest

from pipeline.metrics import SCORERS, score, scorers_of
from pipeline.streams import stream
from repository import ROOT
from time_bounds import within

HOBBY = {
    "scorer": "exact",
    "question": "What is the favourite hobby of Ann Bee Cee?",
    "target": "model railway building",
    "answers": ["model railway building"],
}
BORN = {
    "scorer": "exact",
    "question": "On what date was Ann Bee Cee born?",
    "target": "14 March 1976",
    "answers": ["14 March 1976", "March 14, 1976", "1976-03-14"],
}
SUM = {"scorer": "latent_list", "subtask": "sum", "target": "-120", "answers": ["-120"]}
PRINT = {"scorer": "latent_list", "subtask": "print", "target": "[1, -2]", "answers": ["[1, -2]"]}

CODES = {
    "scorer": "members",
    "question": "What are all the access codes filed under amber kite?",
    "target": "1234567, 2345678, 3456789, 4567890",
}
ROUTE = {
    "scorer": "route",
    "question": "Which nodes do you reach from node 3f9a1c07be, in order?",
    "target": "0a1b2c3d4e, 6655443322, abcdefabcd",
}


@pytest.mark.parametrize(
    "reply",
    [
        "model railway building",
        "Model railway building.",
        "The favourite hobby of Ann Bee Cee is model railway building.",
        "Answer: **Model railway building**",
        "**Answer:** model railway building\n\nHope that helps!",
        "Let me look.\nShe likes chess? No.\nFinal answer: model railway building",
        "<think>chess, golf or knitting</think>\nmodel railway building",
        "chess</think>model railway building",
        "$\\boxed{model railway building}$",
        "```\nmodel railway building\n```",
        "model railway building, as stated in her biography",
    ],
)
def test_exact_takes_the_answer_from_a_reply(reply: str) -> None:
    assert score(HOBBY, reply) == 1.0


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "chess",
        "model railway",
        "chess, golf, model railway building",
        "golf and model railway building",
        "golf or model railway building",
        "model railway building/golf",
        "<think>it is model railway building</think>",
        "<think>model railway building",
        "Answer: chess\nThough model railway building was there as well, Answer: golf",
        "remodel railway building",
        "not model railway building",
        "chess golf knitting rowing model railway building",
    ],
)
def test_exact_does_not_reward_other_answers_or_lists(reply: str) -> None:
    assert score(HOBBY, reply) == 0.0


@pytest.mark.parametrize("reply", ["March 14, 1976", "14 March 1976.", "1976-03-14", "Ann was born on March 14, 1976."])
def test_exact_takes_every_accepted_form(reply: str) -> None:
    assert score(BORN, reply) == 1.0


@pytest.mark.parametrize("reply", ["14 March 1977", "4 March 1976", "14 March 1976, 15 March 1976", "1976"])
def test_exact_takes_no_other_date(reply: str) -> None:
    assert score(BORN, reply) == 0.0


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("-120", 1.0),
        ("\u2212120", 1.0),
        ("Output: -1,200", 0.0),
        ("Output: -120", 1.0),
        (">> sum(a[1:3])\n-120", 1.0),
        ("<think>1 + 2 = 3</think>-120", 1.0),
        ("The sum is -100", 1 - 20 / 120),
        ("\\boxed{-60}", 0.5),
        ("120", 0.0),
        ("-1000000", 0.0),
        ("-120.0", 0.0),
        ("none", 0.0),
    ],
)
def test_numeric_views_are_scored_as_the_paper_has_it(reply: str, wanted: float) -> None:
    assert score(SUM, reply) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("[1, -2]", 1.0),
        ("Output: [1, -2]", 1.0),
        ("`[1, -2]`", 1.0),
        ("a starts as [1, 2, 3, 4, 5, 6], so\n[1, -2]", 1.0),
        ("[1,-2]", 0.0),
        ("[1, 2]", 0.0),
        ("1, -2", 0.0),
    ],
)
def test_printed_lists_are_exact(reply: str, wanted: float) -> None:
    assert score(PRINT, reply) == wanted


@pytest.mark.parametrize(("reply", "wanted"), [("[1,-2]", 1.0), ("[ 1, -2 ]", 1.0), ("[1, 2]", 0.0), ("[-2, 1]", 0.0)])
def test_printed_lists_may_be_taken_by_their_numbers(reply: str, wanted: float) -> None:
    assert score(PRINT, reply, scorers_of(["latent_list=values"])) == wanted
    assert score(PRINT, reply) == score(PRINT, reply, scorers_of(["latent_list=characters"])) == 0.0


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("1234567, 2345678, 3456789, 4567890", 1.0),
        ("4567890, 3456789", 2 / 3),
        ("4567890", 2 / 5),
        ("1234567, 2345678, 3456789, 4567890, 5678901", 8 / 9),
        ("1234567, 2345678, 3456789, 5678901", 3 / 4),
        ("1234567, 1234567, 1234567", 2 / 5),
        ("The 4 codes are 1234567 and 2345678.", 2 / 3),
        ("5678901", 0.0),
        ("1234567, not 5678901", 2 / 5),
        ("none", 0.0),
    ],
)
def test_sets_are_scored_by_f1(reply: str, wanted: float) -> None:
    assert score(CODES, reply) == pytest.approx(wanted)
    assert score(CODES, reply, scorers_of(["members=f1"])) == score(CODES, reply)


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("0a1b2c3d4e, 6655443322, abcdefabcd", 1.0),
        ("3f9a1c07be -> 0a1b2c3d4e -> 6655443322 -> abcdefabcd", 1.0),
        ("0a1b2c3d4e, 6655443322", 2 / 3),
        ("0a1b2c3d4e, 6655443322, ffffffff00", 2 / 3),
        ("0a1b2c3d4e, ffffffff00, abcdefabcd", 1 / 3),
        ("6655443322, abcdefabcd", 0.0),
        ("0a1b2c3d4e, 6655443322, abcdefabcd, ffffffff00", 3 / 4),
        ("0a1b2c3d4e, ffffffff00, ffffffff01, ffffffff02", 1 / 4),
        ("0a1b2c3d4e, 6655443322, abcdefabcd, 0a1b2c3d4e, 6655443322, abcdefabcd", 1 / 2),
        ("", 0.0),
    ],
)
def test_routes_are_scored_up_to_the_first_wrong_node(reply: str, wanted: float) -> None:
    assert score(ROUTE, reply) == pytest.approx(wanted)


def test_a_quirk_may_stand_in_place_of_a_rule_or_add_to_it() -> None:
    row = {**CODES, "scorer": "exact", "target": "1234567", "answers": ["1234567"]}
    listing = "1234567, 2345678"
    assert [score(row, listing, scorers_of([f"exact={name}"])) for name in ("alone", "subem", "f1")] == [
        0.0,
        1.0,
        2 / 3,
    ]
    assert score(row, listing, scorers_of(["exact=subem", "exact=alone"])) == 1.0
    text = {"scorer": "mrcr", "target": "code" + "a" * 300, "random_string_to_prepend": "code"}
    both = scorers_of(["mrcr=starts", "mrcr=no-autojunk"])
    assert (score(text, "code" + "a" * 299, both) > 0.99, score(text, "So: code" + "a" * 299, both)) == (True, 0.0)


def test_every_quirk_is_explained() -> None:
    page = (ROOT / "docs" / "scores.md").read_text(encoding="ascii")
    for name, scorer in SCORERS.items():
        assert f"`{name}`" in page
        if scorer.quirks:
            (told,) = re.findall(rf"^- `{name}`: (.*(?:\n  .*)*)$", page.split("## Quirks")[1], re.MULTILINE)
            assert [quirk for quirk in scorer.quirks if f"`{quirk}`" not in told] == []
            assert told.startswith(f"`{next(iter(scorer.quirks))}`"), "the default comes first"


def test_a_target_of_zero_needs_zero() -> None:
    zero = {**SUM, "target": "0"}
    assert score(zero, "0") == 1.0
    assert score(zero, "1") == 0.0


@pytest.mark.parametrize("row", [HOBBY, BORN, SUM, PRINT, CODES, ROUTE])
@pytest.mark.parametrize(
    "piece", ["a", "-", "1", " ", "[", "Answer: ", "<think>", "</think>", "\\boxed{", "a, ", "*", "\n"]
)
def test_hostile_replies_score_nothing_and_cost_nothing(row: dict[str, object], piece: str) -> None:
    with within(1.0):
        assert score(row, piece * (1_000_000 // len(piece))) == 0.0


@pytest.mark.parametrize("reply", [None, 5, 1.5, ["-120"], {"a": 1}, b"-120"])
def test_what_is_no_text_scores_nothing(reply: object) -> None:
    assert score(SUM, reply) == 0.0


def test_unknown_scorers_are_named() -> None:
    with pytest.raises(KeyError, match="rouge"):
        score({**SUM, "scorer": "rouge"}, "1")


def test_every_scorer_is_of_a_task() -> None:
    from pipeline.tasks import TASKS, in_languages

    forms = [form("en", "en") for form in in_languages().values()]
    assert {task.scorer for task in (*TASKS.values(), *forms)} == set(SCORERS)


@pytest.mark.parametrize("steps", [64, 256, 512])
def test_a_long_route_is_read_to_its_end(steps: int) -> None:
    rng = stream("long routes", steps)
    nodes = [f"{rng.getrandbits(36):09x}7" for _ in range(steps + 1)]
    question = f"Which nodes are reached, in order, from node {nodes[0]} in the first {steps} steps?"
    row = {"scorer": "route", "question": question, "target": ", ".join(nodes[1:]), "answers": [", ".join(nodes[1:])]}
    pairs = [f"Step {at}: {one} -> {other}" for at, (one, other) in enumerate(pairwise(nodes), start=1)]
    for reply in (f"Final Answer: [{row['target']}]", row["target"], "\n".join(nodes[1:]), "\n".join(pairs)):
        assert score(row, reply) == 1.0
    assert score(row, ", ".join(nodes[1 : 1 + steps // 2])) == 0.5
