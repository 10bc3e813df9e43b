"""What is sent, held to transformers' own `apply_chat_template` on the official templates, for every exact profile."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template

from pipeline.errors import ProfileError
from pipeline.profiles import Profile, load_profile, shipped_profiles, vocabulary
from pipeline.profiles.spec import Template
from pipeline.profiles.template import render
from pipeline.profiles.vocabulary import bpe_of_pieces, kept_in, pieces_of, ranks_of, vocabulary_bytes
from repository import TESTS

Messages = list[tuple[str, str]]
GOLDEN_FILES = TESTS / "golden"
GOLDEN = json.loads((GOLDEN_FILES / "token_ids.json").read_text(encoding="utf-8"))
UPSTREAM = json.loads((GOLDEN_FILES / "upstream" / "upstream.json").read_text(encoding="ascii"))
LONG = "Marta Okafor lives in Oslo; she'd kept 12345 bees.\n>> a.append(-1729)\n  x = {1: [2, 3]}\n\nQ X B Z?"
TALKS: dict[str, Messages] = {
    **{name: [(role, said) for role, said in talk] for name, talk in GOLDEN["conversations"].items()},
    "prompt": [("user", LONG)],
    "brief": [("system", "Answer in one word"), ("user", LONG)],
    "long": [("user" if turn % 2 == 0 else "assistant", f"{LONG} {turn}.") for turn in range(21)],
}
OFF, ON = {"enable_thinking": False}, {"enable_thinking": True}
OFFICIAL: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "deepseek-v3": [("deepseek-v3", {})],
    "deepseek-v3.1": [("deepseek-v3.1", {})],
    "deepseek-v3.2": [("deepseek-v3.1", {})],
    "deepseek-v4": [("deepseek-v4", {})],
    "gemma4": [("gemma4", {})],
    "gemma4-thinking": [("gemma4", ON)],
    "glm4": [("glm4", {})],
    "glm4.5": [("glm4.5", {}), ("glm4.6", {})],
    "glm4.5-nothink": [("glm4.5", OFF), ("glm4.6", OFF)],
    "glm4.7": [("glm4.7", {})],
    "glm4.7-flash": [("glm4.7", {})],
    "gpt-oss": [("gpt-oss", {})],
    "kimi-k2": [("kimi-k2", {})],
    "kimi-k2-thinking": [("kimi-k2-thinking", {})],
    "mistral-tekken": [("mistral-v7", {}), ("mistral-v11", {}), ("mistral-v13", {})],
    "qwen2.5": [("qwen2.5", {})],
    "qwen3": [("qwen3", {}), ("qwen3-instruct-2507", {})],
    "qwen3-nothink": [("qwen3", OFF)],
    "qwen3.5": [("qwen3.5", {}), ("qwen3.6", {})],
    "qwen3.5-nothink": [("qwen3.5", OFF), ("qwen3.6", OFF), ("qwen3.5-small", {})],
}
"""Of each profile the copies of official templates, and what is set beside the messages."""
UNFREE = {"gemma3", "llama3.1", "llama4", "minimax-m3"}
"""Profiles of whose official templates there are renderings alone."""
SPLITS = {
    "deepseek_v3": (
        r"\p{N}{1,3}",
        "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
}
"""The splits of a vocabulary's own tokenizer.json, where the profile joins several into one pattern."""


def is_here(name: str) -> bool:
    """Tell whether a profile's vocabulary is in the base install or has been fetched."""
    wanted = load_profile(name).vocabulary
    return not wanted.package or (kept_in() / wanted.sha256).is_file()


def digest_of(name: str) -> str:
    return load_profile(name).vocabulary.sha256


EXACT = sorted((n for n in shipped_profiles() if load_profile(n).template_kind == "exact"), key=digest_of)
"""Profiles with the same vocabulary stand together, so that it is read once."""
every_exact = pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if is_here(n) else pytest.mark.skip(reason="`carrara profile fetch` brings it"))
        for n in EXACT
    ],
)
TRAINED = """\
{%- set name = "outside" -%}
{%- for message in messages -%}
{%- if message.role == "assistant" -%}
<a>{% generation %}{%- set name = "inside" -%}{{ message.content }}{{ name }}
<end>{% endgeneration %}
{%- else -%}
<u>{{ message.content }}<end>
{%- endif -%}
{{ name }}
{%- endfor -%}
{%- if add_generation_prompt -%}<a>{%- endif -%}
"""


class Then(datetime):
    """The date of which Harmony's system message is pinned."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Then:
        return cls(2025, 8, 5, tzinfo=tz)


def official(name: str) -> str:
    return (GOLDEN_FILES / "upstream" / f"{name}.jinja").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def fast_tokenizer(digest: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer as transformers makes one of a vocabulary, with the special tokens of all its profiles.

    It gets the tokens that stand somewhere in what is sent: merges come to no others.
    """
    profiles = [load_profile(name) for name in EXACT if digest_of(name) == digest]
    special = {token: number for profile in profiles for token, number in profile.template.special}
    first = profiles[0]
    if first.vocabulary.form == "json":
        made = Tokenizer.from_str(vocabulary_bytes(first.vocabulary).decode())
    else:
        sent = "".join(profile.render(talk, "chat") for profile in profiles for talk in TALKS.values())
        parts = set(re.split("|".join(map(re.escape, special)), sent))
        found = {part[at : at + size] for part in parts for size in range(1, 65) for at in range(len(part) - size + 1)}
        made = (of_pieces if first.vocabulary.form == "pieces" else of_ranks)(first, special, found)
    made.add_special_tokens([AddedToken(each, normalized=False, special=True) for each in special])
    assert {each: made.token_to_id(each) for each in special} == special
    fast = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    fast._tokenizer = made  # given above, it would be copied, which takes longer than making it
    return fast


def of_pieces(profile: Profile, special: dict[str, int], found: set[str]) -> Tokenizer:
    kept = {text.replace(" ", "\u2581") for text in found} | special.keys()
    pieces = [
        piece if piece in kept or re.fullmatch("<.+>", piece) else f"\0{number}"
        for number, piece in enumerate(pieces_of(profile.vocabulary))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "pieces_of", lambda _: pieces)
        return bpe_of_pieces(tokenizers, profile.vocabulary)


def of_ranks(profile: Profile, special: dict[str, int], found: set[str]) -> Tokenizer:
    """Return what transformers makes of a list of ranks, its special tokens among the vocabulary."""
    kept = {text.encode() for text in found}
    ranks = {token: rank for token, rank in ranks_of(profile.vocabulary).items() if token in kept or len(token) == 1}
    reader = TikTokenConverter()
    reader.load_tiktoken_bpe = lambda _: ranks
    known, merges = reader.extract_vocab_merges_from_model("")
    numbered = {token: rank + profile.vocabulary.first_id for token, rank in known.items()}
    made = Tokenizer(models.BPE({**numbered, **special}, merges, ignore_merges=True))
    patterns = SPLITS.get(profile.vocabulary.entry, (profile.check.pattern or profile.vocabulary.pattern,))
    splits = [pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False) for pattern in patterns]
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return made


def as_we_send(profile: Profile, talk: Messages) -> list[int]:
    """Return the ids of what is sent: special tokens are one each, what stands between them is encoded."""
    ids, text = dict(profile.template.special), profile.render(talk, "chat")
    found: list[int] = []
    while text:
        at, _, name = min(
            ((text.find(name), -len(name), name) for name in ids if name in text), default=(len(text), 0, "")
        )
        found += [*profile.counter().encode(text[:at]), *([ids[name]] if name else [])]
        text = text[at + len(name) :]
    return found


def test_every_exact_template_is_held_to_an_official_one() -> None:
    assert set(EXACT) == OFFICIAL.keys() | UNFREE
    assert set(GOLDEN["renderings"]) | UPSTREAM["renderings"].keys() | UPSTREAM["sent"].keys() >= UNFREE
    for name, source in UPSTREAM["sources"].items():
        data = (GOLDEN_FILES / "upstream" / f"{name}.jinja").read_bytes()
        assert hashlib.sha256(data).hexdigest() == source["sha256"], name
    assert {name for pairs in OFFICIAL.values() for name, _ in pairs} == UPSTREAM["sources"].keys()


@every_exact
def test_text_and_tokens_are_those_of_transformers_on_the_official_template(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", Then)
    profile, counter = load_profile(name), load_profile(name).counter()
    tokenizer = fast_tokenizer(profile.vocabulary.sha256)
    own = [(profile.template.text, json.loads(profile.template.variables))]
    for talk in TALKS.values():
        messages = [{"role": role, "content": said} for role, said in talk]
        rendered = profile.render(talk, "chat")
        for text, more in own + [(official(copy), how) for copy, how in OFFICIAL.get(name, [])]:
            how = {"chat_template": text, "add_generation_prompt": True, "bos_token": profile.template.bos}
            how |= {"eos_token": "</s>", **more}
            assert tokenizer.apply_chat_template(messages, tokenize=False, **how) == rendered
        sent = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **how)
        assert as_we_send(profile, talk) == sent
        assert profile.sent_tokens(talk, "chat", counter) == len(sent)
        if name != "gpt-oss" or talk[0][0] != "system":
            contents = sum(counter.count(said) for _, said in talk)
            assert profile.overhead([role for role, _ in talk], "chat") + contents == len(sent)


@every_exact
def test_text_and_tokens_are_those_of_the_makers_own_code(name: str) -> None:
    """Where it is no template: DeepSeek's encoding, OpenAI's Harmony, Meta's reader; and MiniMax's renderings."""
    profile = load_profile(name)
    for key, wanted in UPSTREAM["renderings"].get(name, {}).items():
        assert profile.render(TALKS[key], "chat") == wanted
    for key, wanted in UPSTREAM["sent"].get(name, {}).items():
        assert (name, key) == ("gpt-oss", "system") or as_we_send(profile, TALKS[key]) == wanted


def test_a_server_that_sets_date_and_effort_changes_no_count() -> None:
    """Harmony's system message has today's date: any has as many tokens, and so has each effort."""
    profile = load_profile("gpt-oss")
    for day in ("2026-01-01", "2026-11-30", "2031-10-09"):
        for effort in ("low", "medium", "high"):
            other = replace(profile.template, variables=json.dumps({"current_date": day, "reasoning_effort": effort}))
            assert replace(profile, template=other).overhead(["user"], "chat") == profile.overhead(["user"], "chat")


@pytest.mark.parametrize(
    ("name", "variable"),
    [("deepseek-v3.2", "thinking"), ("deepseek-v4", "thinking"), ("glm4.7", "enable_thinking")],
)
def test_thinking_on_or_off_costs_the_same(name: str, variable: str) -> None:
    profile = load_profile(name)
    copy, _ = OFFICIAL[name][0]
    for talk in TALKS.values():
        counts = set()
        for value in (True, False):
            template = replace(profile.template, variables=json.dumps({variable: value}))
            messages = [{"role": role, "content": said} for role, said in talk]
            how = {"add_generation_prompt": True, "bos_token": template.bos, variable: value}
            (wanted,), _ = render_jinja_template([messages], chat_template=official(copy), **how)
            assert render(template, talk, "chat") == wanted
            counts.add(replace(profile, template=template).sent_tokens(talk, "chat", profile.counter()))
        assert len(counts) == 1


def test_a_system_message_that_cannot_be_counted_exactly_is_refused() -> None:
    """Harmony puts two line breaks behind it, which merge with a full stop."""
    with pytest.raises(ProfileError, match="costs 74 or 75 tokens, which depends on the contents"):
        load_profile("gpt-oss").overhead(["system", "user"], "chat")


def test_templates_that_mark_what_training_learns_are_read_as_transformers_reads_them() -> None:
    template = Template(kind="exact", text=TRAINED, bos="<s>")
    for talk in TALKS.values():
        messages = [{"role": role, "content": said} for role, said in talk]
        (wanted,), _ = render_jinja_template([messages], chat_template=TRAINED, add_generation_prompt=True)
        assert render(template, talk, "chat") == wanted
    assert "Hello, 42inside\n<end>outside" in render(template, TALKS["turns"], "chat")


@pytest.mark.parametrize("text", ["{% generation %}", "{% generation %}{% endfor %}", "{% endgeneration %}"])
def test_a_mark_that_is_not_closed_is_no_template(text: str) -> None:
    with pytest.raises(ProfileError, match="not Jinja"):
        render(Template(kind="exact", text=text), [("user", "Hi.")], "chat")
