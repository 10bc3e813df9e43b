"""Profiles: golden ids, sums, templates, a user's own vocabularies, and what goes wrong."""

from __future__ import annotations

import base64
import builtins
import hashlib
import importlib
import json
import pickle
import random
import resource
import shutil
import string
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pipeline
from builds import SWEPT
from pipeline.errors import ProfileError
from pipeline.profiles import DEFAULT_PROFILES, Profile, counters, load_profile, shipped_profiles
from pipeline.profiles.spec import Template
from pipeline.profiles.template import render
from pipeline.profiles.vocabulary import optional_module, vocabulary_bytes
from repository import TESTS

ROOT = Path(pipeline.__file__).parents[1]
GOLDEN = json.loads((TESTS / "golden" / "token_ids.json").read_text(encoding="utf-8"))
SHIPPED = SWEPT
EXACT = tuple(sorted(GOLDEN["renderings"]))
GPT_PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CORPUS = [f">> a.append({n * 37 % 4001})\nMarta Okafor lives in Oslo and keeps {n} bees.\n" for n in range(400)]

every_profile = pytest.mark.parametrize("name", SHIPPED)
every_template = pytest.mark.parametrize("name", EXACT)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_shipped_profiles_are_the_documented_ones() -> None:
    assert set(SHIPPED) < set(shipped_profiles())
    assert list(shipped_profiles()) == sorted(shipped_profiles())
    assert set(DEFAULT_PROFILES) <= set(SHIPPED)
    assert tuple(sorted(GOLDEN["ids"])) == SHIPPED
    assert all(load_profile(name).name == name for name in SHIPPED)


# Ids


@every_profile
@pytest.mark.parametrize("text", GOLDEN["texts"])
def test_both_counters_give_the_ids_that_independent_sources_give(name: str, text: str) -> None:
    profile, content = load_profile(name), GOLDEN["texts"][text]
    fast, second = profile.counter(), profile.second()
    assert second is not None
    assert fast.name.split()[0] != second.name.split()[0]
    for counter in (fast, second):
        assert counter.encode(content) == GOLDEN["ids"][name][text], counter.name
        assert counter.count(content) == len(GOLDEN["ids"][name][text])


@every_profile
def test_special_tokens_spelled_out_are_ordinary_text(name: str) -> None:
    profile = load_profile(name)
    second = profile.second()
    assert second is not None
    for special, _ in profile.template.special:
        text = f"before {special} after"
        assert profile.counter().encode(text) == second.encode(text)
        assert profile.counter().count(text) > len(profile.counter().encode("before  after"))


def segments() -> st.SearchStrategy[str]:
    """Return what the renderers may write: one line, stripped, ASCII, with no leading slash."""
    printable = "".join(chr(code) for code in range(32, 127))
    words = st.sampled_from([">> a.append(", "-1729", ")", "it's", "Q X B", " ", "  ", '"k": [', "//", "<b>", "12345"])
    raw = st.lists(words | st.text(printable, max_size=8), min_size=1, max_size=12).map("".join).map(str.strip)
    return raw.filter(lambda text: text != "" and not text.startswith("/")).map(lambda text: text + "\n")


@every_profile
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(segments(), min_size=1, max_size=12))
def test_counts_of_segments_add_up_and_both_counters_agree(name: str, lines: list[str]) -> None:
    profile = load_profile(name)
    fast, second = profile.counter(), profile.second()
    assert second is not None
    text = "".join(lines)
    counts = fast.counts(lines)
    assert counts.dtype == np.int32
    assert counts.tolist() == second.counts(lines).tolist()
    assert fast.encode(text) == second.encode(text)
    assert counts.sum() == fast.count(text) == second.count(text) == len(fast.encode(text))


@every_profile
def test_counting_nothing(name: str) -> None:
    counter = load_profile(name).counter()
    assert counter.counts([]).tolist() == []
    assert (counter.encode(""), counter.count(""), counter.counts([""]).tolist()) == ([], 0, [0])


# Templates


@every_template
@pytest.mark.parametrize("key", GOLDEN["conversations"])
def test_templates_render_what_the_official_ones_render(name: str, key: str) -> None:
    messages = [(role, content) for role, content in GOLDEN["conversations"][key]]
    assert load_profile(name).render(messages, "chat") == GOLDEN["renderings"][name][key]


@pytest.mark.parametrize(
    ("name", "chat", "raw"),
    [
        ("cl100k", 7, 0),
        ("deepseek-v3", 3, 1),
        ("gemma3", 9, 1),
        ("glm4", 5, 0),
        ("llama3.1", 35, 1),
        ("mistral-tekken", 3, 1),
        ("o200k", 7, 0),
        ("qwen2.5", 29, 0),
    ],
)
def test_overhead_of_one_user_message(name: str, chat: int, raw: int) -> None:
    profile = load_profile(name)
    assert (profile.overhead(["user"], "chat"), profile.overhead(["user"], "raw")) == (chat, raw)


@every_profile
@pytest.mark.parametrize("turns", [1, 3, 41])
def test_what_is_sent_is_overhead_and_contents(name: str, turns: int) -> None:
    profile, rng = load_profile(name), random.Random(turns)
    roles = ["user" if turn % 2 == 0 else "assistant" for turn in range(turns)]
    lines = [[rng.choice(CORPUS) for _ in range(rng.randint(1, 5))] for _ in roles]
    messages = [(role, "".join(each).strip()) for role, each in zip(roles, lines, strict=True)]
    counter = profile.counter()
    contents = sum(counter.count(content) for _, content in messages)
    assert profile.sent_tokens(messages, "chat", counter) == profile.overhead(roles, "chat") + contents
    gaps = profile.gaps(roles, "chat")
    assert len(gaps) == turns + 1
    assert sum(gaps) == profile.overhead(roles, "chat")


@every_profile
def test_raw_is_the_bare_string_after_bos(name: str) -> None:
    profile = load_profile(name)
    messages = [("user", "Is it 7?")]
    assert profile.render(messages, "raw") == profile.template.bos + "Is it 7?"
    counter = profile.counter()
    assert profile.sent_tokens(messages, "raw", counter) == profile.overhead(["user"], "raw") + counter.count(
        "Is it 7?"
    )


@every_template
def test_gaps_say_where_contents_stand(name: str) -> None:
    profile, counter = load_profile(name), load_profile(name).counter()
    messages = [("user", "Is it 7?"), ("assistant", "No, 42."), ("user", ">> a.append(3)")]
    text = profile.render(messages, "chat")
    gaps = profile.gaps([role for role, _ in messages], "chat")
    start = text.index("No, 42.")
    bare = profile.render([("user", text[:start])], "raw").removeprefix(profile.template.bos)
    before = profile.sent_tokens([("user", bare)], "raw", counter) - profile.overhead(["user"], "raw")
    assert before == gaps[0] + counter.count("Is it 7?") + gaps[1]


@every_template
def test_special_tokens_are_single_ids_of_the_vocabulary(name: str) -> None:
    splintr = importlib.import_module("splintr")
    profile = load_profile(name)
    known = splintr.Tokenizer.from_pretrained(profile.vocabulary.entry)
    for special, number in profile.template.special:
        if special in known.special_tokens():
            assert known.special_tokens()[special] == number
        elif name == "gemma3":
            assert known.decode_token_bytes(number).decode() == special
        else:  # Tekken's newer ones: no name in that package, but an id below the ranks
            assert number < profile.vocabulary.first_id
        assert profile.sent_tokens([("user", special)], "raw", profile.counter()) == 1 + (profile.template.bos != "")


def test_documented_overhead_is_that_of_each_message() -> None:
    profile = load_profile("o200k")
    assert profile.template_kind == "documented"
    assert profile.overhead(["user", "assistant", "user"], "chat") == 3 * (3 + 1) + 3
    assert profile.gaps(["user", "user"], "chat") == (3, 4, 4)
    with pytest.raises(ProfileError, match="not public"):
        profile.render([("user", "x")], "chat")


@pytest.mark.parametrize(
    ("name", "messages", "frame", "message"),
    [
        ("llama3.1", [("user", "x")], "chats", "unknown frame 'chats'"),
        ("llama3.1", [("user", "x"), ("user", "y")], "raw", "one bare string, not 2"),
        ("gemma3", [("assistant", "x")], "chat", "rejects the roles assistant: turns must alternate"),
    ],
)
def test_what_cannot_be_sent_is_an_error(name: str, messages: list[tuple[str, str]], frame: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        load_profile(name).render(messages, frame)


# Profiles as data


def test_windows() -> None:
    assert [load_profile("o200k").window(length) for length in (2048, 131072, 1048576)] == [2048, 128000, 1047576]
    assert load_profile("cl100k").window(131072) == 128000
    assert load_profile("llama3.1").window(131072) == 131072


@every_profile
def test_profiles_are_plain_data(name: str) -> None:
    profile = load_profile(name)
    assert pickle.loads(pickle.dumps(profile)) == profile
    assert hash(profile) == hash(load_profile(name))
    assert profile.counter() is load_profile(name).counter()
    assert profile.notice
    assert profile.check.cost
    assert len({load_profile(other).digest for other in SHIPPED}) == len(SHIPPED)


def test_loading_a_profile_opens_no_tokenizer() -> None:
    code = (
        "import sys; from pipeline.profiles import *; [load_profile(n).digest for n in shipped_profiles()];"
        "assert not {'splintr', 'tiktoken', 'tokenizers', 'sentencepiece', 'huggingface_hub'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_data_folder_does_not_hide_the_package_of_its_name() -> None:
    assert not list((ROOT / "tokenizers").glob("**/*.py"))
    code = "from tokenizers import Tokenizer; Tokenizer"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# A user's own


Write = Callable[[str], Profile]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a TOML beside the vocabularies and loads it."""

    def load(text: str) -> Profile:
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        return load_profile(str(tmp_path / "mine.toml"))

    return load


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small tokenizer.json, trained here."""
    tokenizers = importlib.import_module("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(GPT_PATTERN), "isolated")
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, level])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<s>", "<|turn|>", "<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    folder = tmp_path_factory.mktemp("json")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def sentencepiece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small SentencePiece model that puts a space before a text, as Llama 2's does."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "corpus.txt").write_text("".join(CORPUS) + string.printable.strip(), encoding="ascii")
    importlib.import_module("sentencepiece").SentencePieceTrainer.train(
        input=str(folder / "corpus.txt"),
        model_prefix=str(folder / "small"),
        model_type="bpe",
        vocab_size=500,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=True,
        minloglevel=3,
    )
    return folder / "small.model"


def assert_additive(profile: Profile) -> None:
    """Assert that a first segment's own count and the counts of those after it add up."""
    counter = profile.counter()
    for size in (1, 2, 50):
        first, *others = [line for text in CORPUS[:size] for line in text.splitlines(keepends=True)]
        assert counter.count(first + "".join(others)) == counter.count(first) + counter.counts(others).sum()


def test_a_tokenizer_json(write: Write, tmp_path: Path, trained: Path) -> None:
    shutil.copy(trained / "tokenizer.json", tmp_path)
    profile = write(f'[vocabulary]\nfile = "tokenizer.json"\nsha256 = "{digest(trained / "tokenizer.json")}"\n')
    assert (profile.name, profile.template_kind) == ("mine", "none")
    assert_additive(profile)
    second = profile.second()
    assert second is not None
    assert (profile.counter().name.split()[0], second.name.split()[0]) == ("tokenizers", "splintr-rs")
    assert second.encode("".join(CORPUS)) == profile.counter().encode("".join(CORPUS))
    assert profile.overhead(["user"], "raw") == 0
    with pytest.raises(ProfileError, match='no chat template: set frame = "raw" in the recipe'):
        profile.overhead(["user"], "chat")


def test_transformers_is_an_engine_for_a_folder(write: Write, tmp_path: Path, trained: Path) -> None:
    """The whole tokenizer class reads the folder; its counts are those of the plain engine, special words are text."""
    shutil.copytree(trained, tmp_path / "model")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>"}
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps(config))
    head = f'[vocabulary]\nfile = "model"\nsha256 = "{digest(trained / "tokenizer.json")}"\n'
    profile = write(head + '[fast]\nengine = "transformers"\n[second]\nengine = "tokenizers"\n')
    counter, second = profile.counter(), profile.second()
    assert second is not None
    assert (counter.name.split()[0], second.name.split()[0]) == ("transformers", "tokenizers")
    text = "".join(CORPUS) + "<|turn|> is no turn here"
    assert counter.encode(text) == second.encode(text)
    assert_additive(profile)
    (tmp_path / "model" / "tokenizer.json").write_text("{}")
    broken = f'[vocabulary]\nfile = "model"\nsha256 = "{digest(tmp_path / "model" / "tokenizer.json")}"\n'
    with pytest.raises(ProfileError, match="transformers cannot read its folder"):
        write(broken + '[fast]\nengine = "transformers"\n').counter()


FOLDER_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|turn|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)


@pytest.mark.parametrize("where", ["chat_template.jinja", "tokenizer_config.json"])
def test_a_folder_brings_its_own_template(write: Write, tmp_path: Path, trained: Path, where: str) -> None:
    shutil.copytree(trained, tmp_path / "model")
    config = {"bos_token": {"content": "<s>"}}
    if where == "chat_template.jinja":
        (tmp_path / "model" / where).write_text(FOLDER_TEMPLATE)
    else:
        config["chat_template"] = FOLDER_TEMPLATE  # type: ignore[assignment]
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps(config))
    profile = write(f'[vocabulary]\nfile = "model"\nsha256 = "{digest(trained / "tokenizer.json")}"\n')
    assert profile.template_kind == "exact"
    assert profile.render([("user", "Hi.")], "chat") == "<s><|turn|>user\nHi.<|end|><|turn|>assistant\n"
    counter = profile.counter()
    fixed = 4 + counter.count("user\n") + counter.count("assistant\n")
    assert profile.overhead(["user"], "chat") == fixed
    assert profile.overhead(["user"], "raw") == 1
    whole = counter._tokenizer  # type: ignore[attr-defined]
    whole.encode_special_tokens = False
    sent = profile.render([("user", CORPUS[0].strip())], "chat")
    assert len(whole.encode(sent, add_special_tokens=False).ids) == fixed + counter.count(CORPUS[0].strip())
    whole.encode_special_tokens = True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{% for m in messages %}{{ m.content }} {{ m.content }}{% endfor %}", "do(es)? not|depends"),
        ("{% for m in messages %}{{ m.content | upper }}{% endfor %}", "does not send the contents as they are"),
        ("User:{% for m in messages %} {{ m.content }}{% endfor %}\\n\\nReply:", "depends on the contents"),
        ("{{ strftime_now('%d') }}{{ messages[0].content }}", "strftime_now"),
        ("{% for m in messages %}", "not Jinja"),
        ("{{ messages[0].content }}{{ raise_exception('never') }}", "rejects the roles user: never"),
    ],
)
def test_templates_that_cannot_be_exact(write: Write, tmp_path: Path, trained: Path, text: str, message: str) -> None:
    shutil.copy(trained / "tokenizer.json", tmp_path)
    head = f'[vocabulary]\nfile = "tokenizer.json"\nsha256 = "{digest(trained / "tokenizer.json")}"\n'
    with pytest.raises(ProfileError, match=message):
        write(f'{head}[template]\ntext = """{text}"""\n').overhead(["user"], "chat")


HARMFUL = (
    "{{ 1/0 }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
    "{% for a in 'x' * 9999 %}{% for b in 'x' * 9999 %}{% for c in 'x' * 9999 %}{% endfor %}{% endfor %}{% endfor %}",
    "{{ 'a' * 10**10 }}",
    "{{ 10**10 * ['a'] }}",
    "{{ 10**10**10 }}",
    "{{ 2 ** 0.5 ** -9999 * 10**400 }}",
    "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x=9) %}{% for i in range(9999) %}{% set n.x = n.x * n.x %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x.replace('a', 'aa') %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x|replace('a', 'aa') %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x.join([n.x, n.x]) %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = [n.x, n.x]|join(n.x) %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
    "{{ '%10000000000d' % 1 }}",
    "{{ '%*d' % (10**10, 1) }}",
    "{{ '{:>10000000000}'.format(1) }}",
    "{{ '{:>{w}}'.format(1, w=10**10) }}",
    "{{ '%10000000000d'|format(1) }}",
    "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "{{ 'a'.ljust(10**10) }}",
    "{{ 'a'.zfill(10**10) }}",
    "{{ ('\\t' * 9999).expandtabs(10**9) }}",
    "{{ 'a'|center(10**10) }}",
    "{{ ('\\n' * 9999)|indent(10**8) }}",
    "{{ ('\\n' * 99999)|indent('x' * 99999) }}",
    "{{ [[1], [2]]|tojson(indent=10**9) }}",
    "{{ lipsum(n=10**6) }}",
    "{{ range(10**9)|list }}",
    "{{ 'abc'|random }}",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{{ " + "(" * 99999 + "1" + ")" * 99999 + " }}",
    "{% if 1 %}" * 9999 + "{% endif %}" * 9999,
    "{{ messages.__class__.__base__.__subclasses__() }}",
    "{{ ''.__class__ }}{{ self.__init__.__globals__ }}{{ cycler.__init__.__globals__.os.system('true') }}",
    "{{ raise_exception('a\\nb') }}",
    "x" * (1 << 19),
)


@pytest.mark.parametrize("text", HARMFUL, ids=lambda text: text[:60])
def test_a_template_that_is_made_to_harm_is_one_line_in_little_memory_and_time(text: str) -> None:
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ProfileError, match=r"the chat template ") as caught:
        render(Template("exact", text + "{{ messages[0].content }}"), [("user", "Hi.")], "chat")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert time.monotonic() - started < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000, "kilobytes"


def test_a_long_conversation_of_long_contents_is_within_the_allowance() -> None:
    messages = [(role, f"{number} " + "word " * 1000) for number in range(500) for role in ("user", "assistant")]
    text = (
        "{%- set n = namespace(last='') -%}{% for m in messages %}{% if loop.index0 > 0 %}{% set n.last = m.role %}"
        "{% endif %}{{ '<' + m['role'] + '>' }}{{ m.content | trim }}{{ m.content.strip()[:0] }}"
        "{% if '</think>' in m.content %}{{ m.content.split('</think>')[-1] }}{% endif %}{% endfor %}{{ n.last }}"
    )
    sent = render(Template("exact", text), messages, "chat")
    assert sent == "".join(f"<{role}>{content.strip()}" for role, content in messages) + "assistant"


def test_a_rank_file(write: Write, tmp_path: Path) -> None:
    source = load_profile("cl100k").vocabulary
    ranks = b"".join(vocabulary_bytes(source).splitlines(keepends=True)[:5000])
    (tmp_path / "small.tiktoken").write_bytes(ranks)
    profile = write(
        f"[vocabulary]\nfile = 'small.tiktoken'\nsha256 = '{hashlib.sha256(ranks).hexdigest()}'\n"
        f"pattern = '''{GPT_PATTERN}'''\n[windows]\n131072 = 100000\n"
    )
    assert_additive(profile)
    second = profile.second()
    assert second is not None
    assert (profile.counter().name.split()[0], second.name.split()[0]) == ("tiktoken", "splintr-rs")
    assert second.encode(CORPUS[0]) == profile.counter().encode(CORPUS[0])
    assert profile.window(131072) == 100000


def test_a_default_second_that_cannot_follow_is_left_out(write: Write, tmp_path: Path) -> None:
    ranks = b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    (tmp_path / "bytes.tiktoken").write_bytes(ranks)
    toml = (
        f"[vocabulary]\nfile = 'bytes.tiktoken'\nsha256 = '{hashlib.sha256(ranks).hexdigest()}'\npattern = '(?s).++'\n"
    )
    assert write(toml).second() is None
    with pytest.raises(ProfileError, match="splintr cannot use this pattern"):
        write(toml + '[second]\nengine = "splintr"\n').second()


def test_a_sentencepiece_model_with_a_dummy_prefix(write: Write, tmp_path: Path, sentencepiece_model: Path) -> None:
    shutil.copy(sentencepiece_model, tmp_path)
    profile = write(f'[vocabulary]\nfile = "small.model"\nsha256 = "{digest(sentencepiece_model)}"\n')
    counter = profile.counter()
    assert (counter.count("bees"), counter.counts(["bees"]).tolist()) == (1, [2])
    assert_additive(profile)
    assert profile.second() is None


def test_a_hub_vocabulary(write: Write, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(repo: str, name: str, *, revision: str) -> str:
        assert (repo, revision) == ("org/model", "0" * 40)
        if not (trained / name).exists():
            raise FileNotFoundError(f"404: {name}\nmore")
        return str(trained / name)

    hub = importlib.import_module("huggingface_hub")
    monkeypatch.setattr(hub, "hf_hub_download", fetch)
    monkeypatch.setattr(counters, "check_call", lambda *_, **__: None)  # this process alone has that download
    head = (
        f'[vocabulary]\nhub = "org/model"\nrevision = "{"0" * 40}"\nsha256 = "{digest(trained / "tokenizer.json")}"\n'
    )
    assert_additive(write(head))
    with pytest.raises(ProfileError, match=r"vocabulary org/model@00000000: cannot get gone.json: 404: gone.json$"):
        write(head.replace("hub =", 'file = "gone.json"\nhub =')).counter()


# What goes wrong


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(ProfileError, match=r"unknown profile 'lama3.1': did you mean 'llama3.1'"):
        load_profile("lama3.1")


def test_another_vocabulary_names_both_digests(write: Write) -> None:
    path = ROOT / "tokenizers" / "llama3.1.toml"
    right = load_profile("llama3.1").vocabulary.sha256
    profile = write(path.read_text().replace(right, "f" * 64))
    with pytest.raises(
        ProfileError, match=f"vocabulary llama3: its sha256 is {right}, but the profile says {'f' * 64}"
    ):
        profile.counter()


def test_a_digest_that_is_missing_is_printed(write: Write, tmp_path: Path, trained: Path) -> None:
    shutil.copy(trained / "tokenizer.json", tmp_path)
    with pytest.raises(ProfileError, match=f'put sha256 = "{digest(trained / "tokenizer.json")}" into'):
        write('[vocabulary]\nfile = "tokenizer.json"\n')


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("name = ", "not a valid TOML"),
        ("", "lacks 'vocabulary'"),
        ("windws = 1", "unknown key 'windws': did you mean 'windows'"),
        ("name = 3\n[vocabulary]", "name = 3: give a string"),
        ("[vocabulary]\nfile = 'x.json'\nsha265 = ''", "unknown key 'sha265': did you mean 'sha256'"),
        ("[vocabulary]\nfile = 'x.json'\nentry = 'llama3'", "give one of entry, file, hub or package"),
        ("[vocabulary]\nfile = 'x.json'", "no such vocabulary file: .*x.json"),
        ("[vocabulary]\nfile = 'x.bin'", "unknown form"),
        ("[vocabulary]\nfile = 'x.tiktoken'", "pattern is missing"),
        ("[vocabulary]\nentry = 'llama33'\npattern = 'x'\nsize = 9", "the base install has no vocabulary 'llama33'"),
        ("[vocabulary]\nhub = 'a/b'\nrevision = 'main'", "revision = 'main': give a commit of 40 hexadecimal digits"),
        ("[vocabulary]\nentry = 'gemma3'\nform = 'pieces'", r"\[vocabulary.pieces\] is missing"),
        ("[vocabulary]\nfile = 'x.json'\nsha256 = 'f'\n[fast]\nengine = 'tokeniser'", "did you mean 'tokenizers'"),
        ("[vocabulary]\nfile = 'x.model'\nsha256 = 'f'\n[windows]\n131072 = 131073", "not longer than the length"),
        ("[vocabulary]\nfile = 'x.model'\nsha256 = 'f'\n[template]\nkind = 'exact'", 'kind = "exact" needs text'),
        ("[vocabulary]\nfile = 'x.model'\nsha256 = 'f'\n[template]\nkind = 'exat'", "did you mean 'exact'"),
    ],
)
def test_a_toml_that_cannot_be_meant(write: Write, toml: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message) as caught:
        write(toml)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ProfileError, match=r"there is no profile file 'nowhere\.toml'"):
        load_profile("nowhere.toml")


@pytest.mark.parametrize("name", ["tokenizer.json", "x.tiktoken", "x.model"])
def test_a_file_that_is_something_else(write: Write, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"no": "vocabulary"}')
    toml = f"[vocabulary]\nfile = '{name}'\npattern = 'x'\nsha256 = '{digest(tmp_path / name)}'\n"
    with pytest.raises(ProfileError, match=r"cannot read it|not a list of base64|not a SentencePiece model"):
        write(toml).counter()


def test_a_tokenizer_json_that_is_no_json(write: Write, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("none")
    with pytest.raises(ProfileError, match=r"tokenizer\.json is not JSON"):
        write(f"[vocabulary]\nfile = 'tokenizer.json'\nsha256 = '{digest(tmp_path / 'tokenizer.json')}'\n")


@pytest.mark.parametrize(
    ("module", "source", "extra"),
    [
        ("tokenizers", "file = 'tokenizer.json'", "tokenizers"),
        ("sentencepiece", "file = 'x.model'", "sentencepiece"),
        ("huggingface_hub", f"hub = 'a/b'\nrevision = '{'0' * 40}'\nform = 'model'", "hub"),
    ],
)
def test_an_extra_that_is_not_installed(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, source: str, extra: str
) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "x.model").write_text("{}")
    profile = write(f"[vocabulary]\n{source}\nsha256 = '{digest(tmp_path / 'x.model')}'\n")
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(counters, "check_call", lambda *_, **__: None)  # this process alone lacks the module
    with pytest.raises(
        ProfileError,
        match=rf"{module} is not installed: make extras EXTRAS={extra}, or pip install '\.\[{extra}\]'",
    ):
        profile.counter()


def test_the_default_profiles_need_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **named: Any) -> Any:
        assert name.split(".")[0] not in {"tokenizers", "sentencepiece", "huggingface_hub", "transformers"}
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for name in DEFAULT_PROFILES:
        profile = load_profile(name)
        assert profile.overhead(["user"], "chat") > 0
        assert profile.second() is not None


def test_a_folder_of_data_is_not_taken_for_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Hugging Face's package is missing, the checkout's own folder answers to its name."""
    (tmp_path / "only_data").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ProfileError, match=r"only_data is not installed: make extras EXTRAS=tokenizers, or pip"):
        optional_module("only_data", "tokenizers")
