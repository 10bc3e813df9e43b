"""Conversations with tool calls: held to official templates by transformers, and the sum of their jobs' tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest
from jinja2.sandbox import SandboxedEnvironment
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from pipeline.errors import FitError, ProfileError
from pipeline.profiles import load_profile, shipped_profiles
from pipeline.profiles.template import render, sent_messages
from pipeline.streams import Streams, stream
from pipeline.tasks.trace.tools import job_turns
from pipeline.worlds.desk import DECLARED, pool_texts
from repository import TESTS
from test_transformers import OFFICIAL, is_here

Talk = list[tuple[str, str]]
TALKS, MESSAGES = 20, 40
SENDING = (
    *("deepseek-v3.1", "gemma4", "gemma4-thinking", "glm4.5", "glm4.5-nothink", "glm4.7", "glm4.7-flash", "gpt-oss"),
    *("kimi-k2", "kimi-k2-thinking", "qwen2.5", "qwen3", "qwen3-nothink", "qwen3.5", "qwen3.5-nothink"),
)
"""Profiles that send calls."""
DROPPING = ("deepseek-v3.1",)
"""Those among them whose official templates drop declared tools."""
DECLARING = tuple(name for name in SENDING if name not in DROPPING)
HEAD = [("user", "You are the agent.\n\nRead."), ("call", 'note {"text": "read"}'), ("tool", '{"ref": "b2b2b"}')]
TAIL = [("user", "Question: Is it 7?\n\nReply in plain text, and call no tool.")]


class Then(datetime):
    """The date of which Harmony's system message is pinned."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Then:
        return cls(2025, 8, 5, tzinfo=tz)


@lru_cache(maxsize=1)
def jobs() -> list[Talk]:
    """Return some jobs of the world, those that the user begins among them."""
    return [list(job_turns(text)) for text in pool_texts(Streams((7,)), "32k", 0.3)]


@lru_cache(maxsize=1)
def talks() -> list[Talk]:
    """Return conversations of 40 messages, of jobs in random order."""
    rng, found = stream("talks"), list[Talk]()
    pair = next(job for job in jobs() if len(job) == 2)
    three = next(job for job in jobs() if len(job) == 3)
    while len(found) < TALKS:
        body = list[tuple[str, str]]()
        room = MESSAGES - len(HEAD) - len(TAIL)
        while (left := room - len(body)) > 3:
            job = rng.choice(jobs())
            body += job if len(job) == left or len(job) <= left - 2 else pair
        found.append([*HEAD, *body, *{0: [], 2: pair, 3: three}[left], *TAIL])
    return found


@lru_cache(maxsize=1)
def tokenizer() -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))


def official(copy: str, talk: Talk, name: str, tools: str, more: dict[str, Any]) -> str:
    """Return what transformers makes of a talk with an official template."""
    template = load_profile(name).template
    text = (TESTS / "golden" / "upstream" / f"{copy}.jinja").read_text(encoding="utf-8") + "{#- compiled anew -#}"
    how = {"chat_template": text, "add_generation_prompt": True, "bos_token": template.bos, **more}
    messages, declared = sent_messages(template, talk), json.loads(tools) if tools else None
    return str(tokenizer().apply_chat_template(messages, tools=declared, tokenize=False, **how))


every = pytest.mark.parametrize("name", SENDING)


def test_every_profile_that_sends_calls_is_held_to_an_official_template() -> None:
    assert {*SENDING} == {name for name in shipped_profiles() if load_profile(name).template.tools}
    assert {len(talk) for talk in talks()} == {MESSAGES}
    assert sum(role == "user" for talk in talks() for role, _ in talk) > 3 * TALKS
    assert {role for job in jobs() for role, _ in job[-1:]} == {"tool"}


@every
def test_what_is_sent_is_what_transformers_makes_of_the_official_template(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kimi's templates change lists, which needs another sandbox than transformers'."""
    monkeypatch.setattr(chat_template_utils, "datetime", Then)
    if name.startswith("kimi"):
        monkeypatch.setattr(chat_template_utils, "ImmutableSandboxedEnvironment", SandboxedEnvironment)
    profile = load_profile(name)
    for talk in talks():
        for copy, more in OFFICIAL[name]:
            for tools in ("", DECLARED) if name in DECLARING else ("",):
                assert profile.render(talk, "chat", tools) == official(copy, talk, name, tools, more)


@every
def test_what_is_sent_is_the_sum_of_its_jobs(name: str) -> None:
    profile = load_profile(name)
    if not is_here(name):
        pytest.skip("`carrara profile fetch` brings it")
    rng, counter = stream("sums"), profile.counter()
    counts = profile.job_tokens(jobs())
    ends = profile.opening_tokens(HEAD) + profile.closing_tokens(TAIL)
    more = profile.opening_tokens(HEAD, DECLARED) - profile.opening_tokens(HEAD) if name in DECLARING else 0
    for size in (0, 1, 2, 9, 60, 200):
        places = [rng.randrange(len(jobs())) for _ in range(size)]
        talk = [*HEAD, *(turn for place in places for turn in jobs()[place]), *TAIL]
        assert profile.sent_tokens(talk, "chat", counter) == ends + sum(counts[place] for place in places)
        if more:
            declared = profile.sent_tokens(talk, "chat", counter, DECLARED)
            assert declared == ends + more + sum(counts[place] for place in places)
        before = render(profile.template, talk[:-1], "chat", replies=False)
        assert profile.render(talk, "chat").startswith(before)


def test_calls_beyond_those_that_cost_the_same_are_refused() -> None:
    profile = load_profile("kimi-k2")
    pair = [("call", 'note {"text": "so"}'), ("tool", "kept")]
    sent = [
        profile.sent_tokens([*HEAD, *pair * more, *TAIL], "chat", profile.counter()) for more in (997, 998, 999, 1000)
    ]
    first, second, third = (after - before for before, after in pairwise(sent))
    assert first == second == profile.job_tokens([pair])[0]
    assert third > second
    profile.check_calls(1000, "a row")
    with pytest.raises(FitError, match="a row: 1,001 tool calls do not fit profile kimi-k2"):
        profile.check_calls(1001, "a row")


def test_profiles_without_them_refuse_calls() -> None:
    with pytest.raises(ProfileError, match=r"cannot send tool calls: it has no table \[template.tools\]"):
        load_profile("llama3.1").render([*HEAD, *TAIL], "chat")


@pytest.mark.parametrize("name", DROPPING)
def test_profiles_whose_template_drops_declared_tools_refuse_them(name: str) -> None:
    for copy, more in OFFICIAL[name]:
        assert official(copy, talks()[0], name, DECLARED, more) == official(copy, talks()[0], name, "", more)
    with pytest.raises(ProfileError, match=r"cannot declare tools: its table \[template.tools\] has no key declared"):
        load_profile(name).render(talks()[0], "chat", DECLARED)


def test_declared_tools_change_no_digest_and_need_their_place() -> None:
    profile = load_profile("gpt-oss")
    assert profile.template.tools
    tools = replace(profile.template.tools, declared_after="Channel may be left out.")
    other = replace(profile, template=replace(profile.template, tools=tools))
    assert (other.digest, other.tools_digest) == (profile.digest, profile.tools_digest)
    with pytest.raises(ProfileError, match=r"it sends no .Channel may be left out\.., after which tools are declared"):
        other.render(talks()[0], "chat", DECLARED)


def test_a_template_that_looks_ahead_is_refused() -> None:
    profile = load_profile("qwen3")
    assert profile.template.tools
    ahead = "{% for m in messages %}{{ messages | length }}{{ m.role }}<|im_end|>{% endfor %}"
    tools = replace(profile.template.tools, text=ahead)
    other = replace(profile, template=replace(profile.template, tools=tools))
    with pytest.raises(ProfileError, match="in another way if more calls follow"):
        other.job_tokens([HEAD[1:]])


def test_arguments_are_objects_or_text() -> None:
    (call,) = (m for m in sent_messages(load_profile("qwen3").template, HEAD) if m.get("tool_calls"))
    assert call["tool_calls"][0]["function"] == {"name": "note", "arguments": {"text": "read"}}
    (call,) = (m for m in sent_messages(load_profile("kimi-k2").template, HEAD) if m.get("tool_calls"))
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"text": "read"}
