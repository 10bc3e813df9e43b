from __future__ import annotations

import pytest

from pipeline.metrics import score
from time_bounds import within

CHOICES = ["red", "green", "a heron", "I don't know"]
KNOWN = {"scorer": "choice_or_refusal", "target": "B", "answers": ["B"], "choices": CHOICES}
FIRST = {**KNOWN, "target": "A", "answers": ["A"]}
THIRD = {**KNOWN, "target": "C", "answers": ["C"]}
UNKNOWN = {**KNOWN, "target": "D", "answers": ["D"]}


@pytest.mark.parametrize(
    "reply",
    [
        "B",
        "b",
        "(B)",
        "(b)",
        "B.",
        "B)",
        "**B**",
        "**(B)**",
        "B) green",
        "(B) green",
        "(B) Green, not the red one",
        "B: green",
        "B - green",
        "Answer: B",
        "**Answer:** (B) green",
        "Final answer: green",
        "The answer is (B).",
        "The answer is B because the story says so.",
        "Option B",
        "I choose B.",
        "green",
        "Green.",
        "The coat was green.",
        "A man in the story wore a coat that was green.",
        "It could be (A).\nBut the story says so: (B)",
        "B\n\nHope that helps!",
        "(B)\n\nThe story says that the coat was green.",
        "<think>(A) or (D)?</think>\n(B)",
        "$\\boxed{B}$",
        "$\\boxed{\\text{B}}$",
        "Only one thing was red: the scarf.\nThe coat was green.",
        "The answer is B, not A.",
        "Not (A) but (B).",
        "(A) is the scarf and C is the hat, so the answer is B.",
        '{"answer": "B"}',
        "<answer>B</answer>",
        "[B]",
        "\u7b54\u6848\u662fB",
    ],
)
def test_the_right_choice_is_taken_from_a_reply(reply: str) -> None:
    assert score(KNOWN, reply) == 1.0
    assert score(UNKNOWN, reply) == score(FIRST, reply) == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "A",
        "(A) or (B)",
        "A or B",
        "A and B",
        "A, B",
        "A/B",
        "B or C",
        "The answer is B or C",
        "not A or B",
        "B, or not B",
        "not B",
        "It is not (B).",
        "(A) red (B) green (C) a heron (D) I don't know",
        "A, B, C, D",
        "red or green",
        "red, green",
        "not green",
        "The coat was not green.",
        "(B) red",
        "I don't know",
        "I don't know, perhaps green",
        "The text does not say that the coat was green.",
        "evergreen",
        "greenish",
        "<think>B</think>",
        "<think>B",
        "Answer:",
        "B\nOn second thoughts: (A)",
        "It was blue.",
    ],
)
def test_what_is_no_clear_choice_or_another_scores_nothing(reply: str) -> None:
    assert score(KNOWN, reply) == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        "A",
        "(A)",
        "A.",
        "A) red",
        "The answer is A.",
        "Answer: A",
        "Option A",
        "A red",
        "a",
        "ANSWER IS A",
        '{"answer":"A"}',
        "<answer>A</answer>",
        "[A]",
        "A!",
    ],
)
def test_an_a_that_is_a_letter_is_a_choice(reply: str) -> None:
    assert score(FIRST, reply) == 1.0


@pytest.mark.parametrize("reply", ["A man walks in.", "A coat", "The answer is a coat.", "The answer is A man."])
def test_an_a_that_is_an_article_is_no_choice(reply: str) -> None:
    assert score(FIRST, reply) == 0.0


@pytest.mark.parametrize("reply", ["a heron", "heron", "A heron.", "It was a heron.", "(C) heron", "C"])
def test_articles_of_choices_do_not_matter(reply: str) -> None:
    assert score(THIRD, reply) == 1.0
    assert score(FIRST, reply) == 0.0


REFUSALS = [
    "D",
    "(D)",
    "(D) I don't know",
    "(D) The scarf was red, but the coat has no colour.",
    "I don't know",
    "I don\u2019t know.",
    "I do not know.",
    "The text does not say.",
    "The story doesn't mention the colour of the coat.",
    "The colour is not mentioned.",
    "Not mentioned.",
    "It isn't stated in the text.",
    "It was never specified.",
    "It cannot be determined from the text.",
    "This can't be determined.",
    "There is no information about the coat.",
    "There is no mention of it.",
    "The text never tells us.",
    "The story provides no information on that.",
    "There is not enough information to answer.",
    "It is impossible to tell.",
    "Unknown",
    "I cannot answer this question.",
    "Answer: The text does not say",
    "The story does not explicitly state it.",
    "I do not have enough information to answer.",
    "I dont know",
    "I have no idea.",
    "I'm not sure.",
    "The scarf was red (A), so the answer is (D).",
]


@pytest.mark.parametrize("reply", REFUSALS)
def test_refusals_are_right_where_nothing_is_told_and_wrong_elsewhere(reply: str) -> None:
    assert score(UNKNOWN, reply) == 1.0
    assert score(KNOWN, reply) == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        "The text does not say, but I would guess green.",
        "It is not stated whether it was red or green.",
        "The coat was not green.",
        "A",
        "(A) or (D)",
        "(D) red",
        "Nothing.",
        "no",
    ],
)
def test_refusals_that_name_a_choice_score_nothing(reply: str) -> None:
    assert score(UNKNOWN, reply) == 0.0


@pytest.mark.parametrize(
    ("choices", "reply", "wanted"),
    [
        (["9:40", "19:40", "12:05", "I don't know"], "19:40", 1.0),
        (["9:40", "19:40", "12:05", "I don't know"], "At 9:40.", 0.0),
        (["11", "21", "12", "I don't know"], "There were 21.", 1.0),
        (["11", "21", "12", "I don't know"], "121", 0.0),
    ],
)
def test_times_and_numbers_are_whole(choices: list[str], reply: str, wanted: float) -> None:
    assert score({**KNOWN, "choices": choices}, reply) == wanted


@pytest.mark.parametrize("row", [KNOWN, UNKNOWN])
@pytest.mark.parametrize(
    "piece", ["a", "-", "1", " ", "(", "Answer: ", "<think>", "</think>", "not ", "no a ", "*", "a\n", "A, B or "]
)
def test_hostile_replies_score_nothing_and_cost_nothing(row: dict[str, object], piece: str) -> None:
    with within(1.0):
        assert score(row, piece * (1_000_000 // len(piece))) == 0.0


@pytest.mark.parametrize("reply", [None, 5, ["B"], {"a": "B"}, b"B"])
def test_what_is_no_text_scores_nothing(reply: object) -> None:
    assert score(KNOWN, reply) == 0.0
