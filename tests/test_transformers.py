"""What is sent, held to transformers' own `apply_chat_template`, for every profile whose template is exact."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.utils.chat_template_utils import render_jinja_template

from pipeline.errors import ProfileError
from pipeline.profiles import Profile, load_profile, shipped_profiles
from pipeline.profiles.pieces import bpe_of_pieces
from pipeline.profiles.spec import Template
from pipeline.profiles.template import render
from pipeline.profiles.vocabulary import ranks_of

Messages = list[tuple[str, str]]
GOLDEN = json.loads((Path(__file__).parent / "golden" / "token_ids.json").read_text(encoding="utf-8"))
EXACT = [name for name in shipped_profiles() if load_profile(name).template_kind == "exact"]
LONG = "Marta Okafor lives in Oslo; she'd kept 12345 bees.\n>> a.append(-1729)\n  x = {1: [2, 3]}\n\nQ X B Z?"
TALKS: dict[str, Messages] = {
    **{name: [(role, said) for role, said in talk] for name, talk in GOLDEN["conversations"].items()},
    "prompt": [("user", LONG)],
    "long": [("user" if turn % 2 == 0 else "assistant", f"{LONG} {turn}.") for turn in range(21)],
}
SPLITS = {
    "deepseek-v3": (
        r"\p{N}{1,3}",
        "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
}
"""The splits of a vocabulary's own tokenizer.json, where the profile joins several into one pattern."""
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


def as_transformers_sends(profile: Profile, talk: Messages, **how: Any) -> Any:
    messages = [{"role": role, "content": said} for role, said in talk]
    template, variables = profile.template.text, json.loads(profile.template.variables)
    return fast_tokenizer(profile.name).apply_chat_template(
        messages, chat_template=template, add_generation_prompt=True, **variables, **how
    )


@lru_cache(maxsize=1)
def fast_tokenizer(name: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer as transformers makes one of a profile's vocabulary."""
    profile = load_profile(name)
    special = [special for special, _ in profile.template.special]
    made = bpe_of_pieces(tokenizers, profile.vocabulary) if profile.vocabulary.form == "pieces" else of_ranks(profile)
    made.add_special_tokens([AddedToken(each, normalized=False, special=True) for each in special])
    assert {each: made.token_to_id(each) for each in special} == dict(profile.template.special)
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token=profile.template.bos or None)


def of_ranks(profile: Profile) -> Tokenizer:
    """Return what transformers makes of a list of ranks, its special tokens among the vocabulary.

    Merges are found for the tokens of ASCII text alone, which is quicker: all that is sent here is ASCII.
    """
    ranks = {token: rank for token, rank in ranks_of(profile.vocabulary).items() if token.isascii() or len(token) == 1}
    reader = TikTokenConverter()
    reader.load_tiktoken_bpe = lambda _: ranks
    vocabulary, merges = reader.extract_vocab_merges_from_model("")
    numbered = {token: rank + profile.vocabulary.first_id for token, rank in vocabulary.items()}
    made = Tokenizer(models.BPE({**numbered, **dict(profile.template.special)}, merges, ignore_merges=True))
    patterns = SPLITS.get(profile.name, (profile.check.pattern or profile.vocabulary.pattern,))
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


@pytest.mark.parametrize("talk", TALKS)
@pytest.mark.parametrize("name", EXACT)
def test_text_and_tokens_are_those_of_transformers(name: str, talk: str) -> None:
    profile, messages = load_profile(name), TALKS[talk]
    text = as_transformers_sends(profile, messages, tokenize=False)
    assert profile.render(messages, "chat") == text
    sent = as_transformers_sends(profile, messages, tokenize=True, return_dict=False)
    assert as_we_send(profile, messages) == sent
    assert profile.sent_tokens(messages, "chat", profile.counter()) == len(sent)
    contents = sum(map(profile.counter().count, (said for _, said in messages)))
    assert profile.overhead([role for role, _ in messages], "chat") + contents == len(sent)


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
