"""Reasoning is no part of a reply, however a family of models marks it; a reply that holds nothing else is none."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.metrics import END, SCORERS, score, without_reasoning
from test_replies import CORPUS
from time_bounds import within

WRONG, RIGHT = "Is it 41? No, wait: the answer is 41.", "42"
SHAPES = {
    "DeepSeek R1, Qwen3, GLM-4.5, MiniMax M2": "<think>\n{}\n</think>\n\n{}",
    "the same, opened by the template": "{}\n</think>\n\n{}",
    "Qwen3 without thinking": "<think>\n\n</think>\n\n{1}",
    "Hunyuan": "<think>\n{}\n</think>\n<answer>\n{}\n</answer>",
    "ERNIE 4.5": "{}\n</think>\n\n<response>\n{}\n</response>\n",
    "Seed-OSS": "<seed:think>{}<seed:cot_budget_reflect>9</seed:cot_budget_reflect></seed:think>{}<seed:eos>",
    "MiniMax M3": "<mm:think>{}</mm:think>{}[e~[",
    "LongCat": "<longcat_think>\n{}</longcat_think>\n{}</longcat_s>",
    "Magistral": "[THINK]{}[/THINK]{}</s>",
    "Kimi-VL": "\u25c1think\u25b7{}\u25c1/think\u25b7{}<|im_end|>",
    "Kimi K3": "<|open|>think<|sep|>{}<|close|>think<|sep|><|open|>response<|sep|>{}<|close|>response<|sep|>"
    "<|close|>message<|sep|><|end_of_msg|>",
    "gpt-oss": "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "gpt-oss, after a preamble": "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>commentary"
    "<|message|>It is 40, I think.<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "gpt-oss, a format asked for": "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final "
    "<|constrain|>json<|message|>{}<|return|>",
    "gpt-oss, special tokens left out": "analysis{}assistantfinal{}",
    "gpt-oss, the same with a preamble": "analysis{}assistantcommentaryIt is 40.assistantfinal{}",
    "Gemma 4": "<|channel>thought\n{}<channel|>{}<turn|>",
    "Gemma 4 without thinking": "<|channel>thought\n<channel|>{1}<turn|>",
    "MedGemma": "<unused94>thought\n{}<unused95>{}<end_of_turn>",
    "Command A": "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "Apertus": "<|inner_prefix|>{}<|inner_suffix|>{}<|assistant_end|>",
    "OpenThinker": "<|begin_of_thought|>\n{}\n<|end_of_thought|>\n<|begin_of_solution|>\n{}\n<|end_of_solution|>",
    "Granite 3.2": "Here is my thought process:\n{}\nHere is my response:\n{}",
    "Granite, as its quantised forms have it": "Here's my thought process: {}\nHere's my response: {}",
    "prompted": "<thinking>{}</thinking>\n<answer>{}</answer>",
    "reasons behind the answer": "<answer>{1}</answer>\n<reasoning>{0}</reasoning>",
    "twice": "<think>{0}</think>{0}<think>{0}</think>{1}",
    "none": "{1}",
}
"""What models send, {0} their reasoning and {1} their reply, as their chat templates and servers' parsers have it."""
CUT = {
    "<think>{}": "<think>\n{}",
    "opened again": "<think>{}</think><think>{}",
    "Harmony": "<|channel|>analysis<|message|>{}",
    "Harmony, no final channel": "<|channel|>analysis<|message|>{}<|end|><|start|>assistant",
    "Harmony, special tokens left out": "analysisWe need the answer. {}",
    "Kimi": "\u25c1think\u25b7{}",
    "Kimi K3": "<|open|>think<|sep|>{}",
    "Gemma 4": "<|channel>thought\n{}",
    "Magistral": "[THINK]{}",
    "Command A": "<|START_THINKING|>{}",
    "Granite": "Here is my thought process: {}",
    "MiniMax M3": "<mm:think>{}",
    "too long to be read whole": "<think>" + "Hm. " * 100_000 + "{}",
}
"""Replies that were cut off while the model reasoned."""
INTEGER = {"scorer": "last_integer", "question": "How many years?", "answers": ["42"], "target": "42", "choices": None}


@pytest.mark.parametrize("name", SHAPES)
def test_the_reply_behind_the_reasoning_is_judged(name: str) -> None:
    assert score(INTEGER, SHAPES[name].format(WRONG, RIGHT)) == 1
    assert score(INTEGER, SHAPES[name].format("It is 42.", "41")) == 0


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if "answer>" not in shape])
def test_a_text_is_given_back_as_it_stands(name: str) -> None:
    """Likeness is judged to the letter: no mark may stay but one that ends a turn, as in the published graders.

    Models write marks around an answer where the prompt asks for them, which no row does.
    """
    text = "jjJk395FSuVH" + "How to Lower a Drawbridge\n\nTurn the wheel.\nWait for the boat."
    left = without_reasoning(SHAPES[name].format("jjJk395FSuVHHow to raise it", text)).strip()
    assert END.sub("", left) == text


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_reasoning_alone_is_no_answer(scorer: str, name: str) -> None:
    rows = {id(each.row): each for each in CORPUS if each.scorer == scorer and each.right and each.judged}
    for each in rows.values():
        assert score(each.row, each.reply) == 1
        assert without_reasoning(CUT[name].format(each.reply, each.reply)) == ""
        assert score(each.row, CUT[name].format(f"It is: {each.reply}", each.reply)) == 0


@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_nothing_is_no_answer(scorer: str) -> None:
    row: dict[str, Any] = next(each.row for each in CORPUS if each.scorer == scorer)
    for nothing in ("", "\n", "<think></think>", "<|return|>", "</think>"):
        assert score(row, nothing) == 0


@pytest.mark.parametrize(
    "said", ["analysis: 42", "Analysis\n42", "I do not think> 42", "The channel is 42", "[thinking aloud] 42"]
)
def test_words_that_only_look_like_marks_stay(said: str) -> None:
    assert without_reasoning(said) == said


@pytest.mark.parametrize(
    ("lead", "part"),
    [
        ("", "<think>"),
        ("", "</think>"),
        ("", "<|channel|>final"),
        ("", "analysis assistantfina"),
        ("", "Here is my response:\n"),
        ("", "<a_"),
        ("", "<|open|>"),
        ("", "\n"),
        ("Here is my thought process:", "\n"),
        ("Here's my thought process:", "\n "),
        ("<|channel|>", "analysis "),
        ("<|channel|>", "analysis"),
    ],
)
def test_marks_without_end_take_no_time(lead: str, part: str) -> None:
    with within(1.0):
        without_reasoning(lead + part * (400_000 // len(part)))
