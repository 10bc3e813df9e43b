"""The scorer `plain` on planted replies: digits of many scripts, in eleven languages, with what stands beside them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from pipeline.metrics import judge

DIGITS = {
    "ASCII": "0123456789",
    "Arabic": "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669",
    "Persian": "\u06f0\u06f1\u06f2\u06f3\u06f4\u06f5\u06f6\u06f7\u06f8\u06f9",
    "Devanagari": "\u0966\u0967\u0968\u0969\u096a\u096b\u096c\u096d\u096e\u096f",
    "Thai": "\u0e50\u0e51\u0e52\u0e53\u0e54\u0e55\u0e56\u0e57\u0e58\u0e59",
    "full width": "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19",
}
RIGHT = (
    "{v}",
    "{v}.",
    "**{v}**",
    "<answer>{v}</answer>",
    "<answer>{v}",
    "<answer>{o}</answer> <answer>{v}</answer>",
    "<think>{o}</think>{v}",
    "Zugangscode SKQ-317: {v}",
    "Der Wert ist {v}.",
    "Antwort: {v}\n\nGern geschehen!",
    "Respuesta: «{v}»",
    "La valeur est {v}.",
    "R\u00e9ponse\u00a0: {v}",
    "Odpowied\u017a: \u201e{v}\u201d",
    "Warto\u015b\u0107: {v}",
    "\u041e\u0442\u0432\u0435\u0442: {v}",
    "\u0417\u043d\u0430\u0447\u0435\u043d\u0438\u0435 \u2014 {v}.",
    "\u7b54\u6848\uff1a{v}",
    "\u7b54\u6848\u662f{v}\u3002",
    "\u5024\u306f{v}\u3067\u3059",
    "\u200f{v}\u200f",
    "\u2067{v}\u2069",
    "\u0627\u0644\u062c\u0648\u0627\u0628: {v}",
    "\u0e04\u0e33\u0e15\u0e2d\u0e1a\u0e04\u0e37\u0e2d{v}\u0e04\u0e23\u0e31\u0e1a",
    "{v}-\u0439",
    '{{"answer": "{v}"}}',
    "{a},{b},{c}",
    "{a} {b} {c}",
    "{a}.{b}.{c}",
    "{a}\u202f{b}\u202f{c}",
    "{a}\u200b{b}{c}",
    "\u0627\u0644\u062c\u0648\u0627\u0628: {v}\u061f",
    "\u0627\u0644\u0642\u064a\u0645\u0629 \u0647\u064a \u0627\u0644\u0640{v}.",
    "\u0627\u0644\u0642\u064a\u0645\u0629 \u0647\u064a: {a}\u066c{b}\u066c{c}",
    "\u0628\u0640{v}",
    "\u0631\u0645\u0632 \u0627\u0644\u062f\u062e\u0648\u0644 SKQ-317: {v}",
    "\u092e\u093e\u0928 {v} \u0939\u0948\u0964",
    "\u0909\u0924\u094d\u0924\u0930: {v}\u0964",
    "\u092e\u093e\u0928 \u2014 {v}\u0964",
    "\u300c{v}\u300d\u3067\u3059",
    "\u5024\uff1a{v}",
    "\u5024\u306f{a},{b},{c}\u3067\u3059\u3002",
    "\u30a2\u30af\u30bb\u30b9\u30b3\u30fc\u30c9 SKQ-317\uff1a{v}",
    "Nilainya adalah {v}.",
    "Jawaban: {a}.{b}.{c}",
)
WRONG = (
    "{o}",
    "{v}, {o}",
    "{v}\n{o}",
    "{o}\n{v}",
    "A: {o}\nB: {v}",
    "<answer>{v}, {o}</answer>",
    "<answer>{o}</answer> {v}",
    "{v}0",
    "9{v}",
    "{v}{v}",
    "x{v}",
    "{v}x",
    "-{v}",
    "{v}.5",
    "{v}/{o}",
    "SKQ-{v}",
    "{v} oder {o}",
    "\u7b54\u6848\u662f{v}\u548c{o}",
    "\u65e0",
    "\u041d\u0435\u0442",
    "brak",
    "keine",
    "ninguno",
    "aucune",
    "none",
    "[]",
    "",
    "{a}",
    "{b}{c}",
    "\u0915{v}\u0915",
    "\u0627{v}\u0627",
    "\u0301{v}\u0301",
    "{v} {o}",
    "<answer></answer>",
    "SKQ-317",
    "{v}-{o}",
    "{v} \u0648{o}",
    "\u0648{o} {v}",
    "{v} \u0623\u0648 {o}",
    "{v}\u060c {o}",
    "\u0644\u0627 \u064a\u0648\u062c\u062f",
    "{v}\u0627",
    "{v} \u0914\u0930 {o}",
    "{v} \u092f\u093e {o}",
    "\u0915\u094b\u0908 \u0928\u0939\u0940\u0902",
    "{v}\u0915\u094d",
    "{v}\u3068{o}",
    "{v}\u30fb{o}",
    "\u306a\u3057",
    "{v} dan {o}",
    "{v} atau {o}",
    "tidak ada",
)
ROWS = [
    {"scorer": "plain", "subtask": "niah_s1-de", "question": "Zugangscode SKQ-317", "answers": [value], "target": value}
    for value in ("4705563", "9018254")
]
OTHER = "1382746"


def written(form: str, value: str, digits: str) -> str:
    parts = {"v": value, "o": OTHER, "a": value[:1], "b": value[1:4], "c": value[4:]}
    table = str.maketrans(DIGITS["ASCII"], digits)
    return form.format(**{name: part.translate(table) for name, part in parts.items()})


def planted(forms: tuple[str, ...]) -> list[tuple[dict[str, Any], str]]:
    return [(row, written(form, row["target"], digits)) for row, form, digits in product(ROWS, forms, DIGITS.values())]


def test_more_than_five_hundred_replies_are_planted() -> None:
    assert len(planted(RIGHT)) + len(planted(WRONG)) >= 500


def test_every_right_reply_scores_one() -> None:
    assert [reply for row, reply in planted(RIGHT) if judge(row, reply) != 1.0] == []


def test_no_wrong_reply_scores() -> None:
    assert [reply for row, reply in planted(WRONG) if judge(row, reply)] == []


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("VD-262", 1.0),
        ("<answer>VD-262</answer>", 1.0),
        ("Das Grundst\u00fcck FR-313 geh\u00f6rt VD-262.", 1.0),
        ("FR-313: VD-262", 1.0),
        ("\u5730\u5757FR-313\u5c5e\u4e8e\u4e70\u65b9VD-262\u3002", 1.0),
        ("Grundst\u00fcck: FR-313\nK\u00e4ufer: VD-262", 1.0),
        ("<answer>VD-262, QK-207</answer>", 0.0),
        ("VD-262 oder QK-207", 0.0),
        ("VD-262\nQK-207", 0.0),
        ("FR-313", 0.0),
        ("QK-207", 0.0),
        ("VD-2623", None),
    ],
)
def test_a_code_is_judged_beside_the_one_that_the_question_names(reply: str, score: float | None) -> None:
    question = "Welchem K\u00e4ufer geh\u00f6rt das Grundst\u00fcck \u201eFR-313\u201c am Stichtag 2080-09-29?"
    row = {"scorer": "plain", "subtask": "state-de", "question": question, "answers": ["VD-262"], "target": "VD-262"}
    assert judge(row, reply) == score


def test_of_several_days_none_is_given() -> None:
    row = {
        "scorer": "plain",
        "subtask": "standard-de",
        "question": "",
        "answers": ["1974-01-03"],
        "target": "1974-01-03",
    }
    replies = (
        "1974-01-03",
        "\u0661\u0669\u0667\u0664-\u0660\u0661-\u0660\u0663",
        "1974-01-03 oder 2033-07-07",
        "1974-01-04",
    )
    assert [judge(row, reply) for reply in replies] == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("given", "score"), [("[]", 1.0), ("<answer>[]</answer>", 1.0), ("none", None), ("\u65e0", None), ("[x]", None)]
)
def test_nothing_is_said_by_a_form_and_by_no_word(given: str, score: float | None) -> None:
    row = {**ROWS[0], "answers": ["[]"], "target": "[]"}
    assert judge(row, given) == score


NAMED = {**ROWS[0], "question": "TK-19122", "answers": ["Clifford Rastogi"], "target": "Clifford Rastogi"}


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ("Clifford Rastogi", 1.0),
        ("Am Ende geht es an Mia Cordova.\n<answer>clifford rastogi.</answer>", 1.0),
        ("\u7b54\u6848\uff1a\u300cClifford Rastogi\u300d\u3002", 1.0),
        ("<answer>Mia Cordova</answer>", 0.0),
        ("<answer>Clifford Rastogi, Mia Cordova</answer>", 0.0),
        ("<answer>Rastogi</answer>", 0.0),
        ("Clifford Rastogi oder Mia Cordova", 0.0),
        ("", None),
    ],
)
def test_a_name_is_the_whole_answer(given: str, score: float | None) -> None:
    assert judge(NAMED, given) == score


@pytest.mark.parametrize(
    ("given", "score"), [("7", 1.0), ("<answer>\u096d</answer>", 1.0), ("7 oder 8", 0.0), ("17", 0.0), ("\u65e0", None)]
)
def test_a_single_digit_is_a_number(given: str, score: float | None) -> None:
    assert judge({**ROWS[0], "answers": ["7"], "target": "7"}, given) == score


SET = {"scorer": "members", "subtask": "niah_mv-zh", "question": "", "target": "4705563, 9018254", "choices": None}
SET["answers"] = [SET["target"]]


@pytest.mark.parametrize("digits", DIGITS.values(), ids=DIGITS)
@pytest.mark.parametrize(
    "form",
    [
        "{v}, {o}",
        "{v}\u3001{o}",
        "\u503c\u662f{v}\u548c{o}\u3002",
        "<answer>{v}, {o}</answer>",
        "Werte: {v}; {o}",
        "{v}\u060c {o}",
        "\u0627\u0644\u0642\u064a\u0645 \u0647\u064a {v} \u0648{o}.",
        "\u092e\u093e\u0928 {v} \u0914\u0930 {o} \u0939\u0948\u0902\u0964",
        "\u5024\u306f{v}\u3068{o}\u3067\u3059\u3002",
        "{v} dan {o}",
    ],
)
def test_sets_are_judged_in_the_digits_of_all_scripts(form: str, digits: str) -> None:
    table = str.maketrans(DIGITS["ASCII"], digits)
    both = form.format(v="4705563".translate(table), o="9018254".translate(table))
    assert judge(SET, both) == 1.0
    one = form.format(v="4705563".translate(table), o=OTHER.translate(table))
    assert judge(SET, one) == 0.5


@pytest.mark.parametrize("digits", DIGITS.values(), ids=DIGITS)
def test_numbers_are_judged_in_the_digits_of_all_scripts(digits: str) -> None:
    row = {"scorer": "latent_list", "subtask": "sum-zh", "question": "", "target": "-2734", "answers": ["-2734"]}
    said = "2734".translate(str.maketrans(DIGITS["ASCII"], digits))
    for form in ("-{}", "Output: -{}", "<answer>-{}</answer>"):
        assert judge(row, form.format(said)) == 1.0
    assert judge({**row, "scorer": "last_integer"}, f"-{said}") == 1.0
