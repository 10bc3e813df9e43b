"""Profiles, vocabularies and templates of strangers: one line, little memory, soon, whatever engine reads them."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import assume, given
from hypothesis import strategies as st
from tomlkit.exceptions import TOMLKitError

import builds
from confined_runs import Ended
from hostile_fuzz import CASES, NASTY, changed, few, held, spoilt
from template_grammar import STATEMENTS

PATTERN = r"[^\s\p{L}\p{N}]+|\p{L}+|\p{N}{1,3}|\s+"
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}\n{{ message.content | trim }}<|end|>\n"
    "{% endfor %}<|turn|>assistant\n"
)
PROFILE: dict[str, Any] = {
    "name": "own",
    "title": "Own",
    "models": ["own/model"],
    "notice": "Ours.",
    "windows": {"16384": 16000},
    "template": {"text": TEMPLATE, "bos": "<s>", "special": {"<s>": 0, "<|turn|>": 1, "<|end|>": 2}},
}
PIECES = {"control": ["<pad>", "<unk>"], "bytes_from": 2, "whole": [[258, 259]]}
SOURCES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "x.tiktoken": ({"pattern": [PATTERN]}, ("tiktoken", "splintr")),
    "tokenizer.json": ({}, ("tokenizers", "splintr")),
    "pieces.txt": ({"form": "pieces", "size": 262, "pieces": PIECES}, ("tokenizers",)),
    "x.model": ({}, ("sentencepiece",)),
    "model": ({}, ("tokenizers", *(["transformers"] if CASES else []))),
}
"""Forms of vocabularies: what their profiles say beside the file, and the engines that read them."""


def ranks() -> bytes:
    tokens = [*(bytes([number]) for number in range(256)), b"the", b"an", b"in", b" a"]
    return b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def pieces() -> bytes:
    tokens = [b"", b"", *(bytes([number]) for number in range(256)), b"<b>", b"\n\n", b"th", b"the"]
    return b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def tokenizer_json() -> bytes:
    tokenizers = pytest.importorskip("tokenizers")
    made_up = tokenizers.Tokenizer(tokenizers.models.BPE())
    made_up.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made_up.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=270,
        special_tokens=["<s>", "<|turn|>", "<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made_up.train_from_iterator(["the rain in the plain of Spain stays mainly"] * 3, trainer)
    text: str = made_up.to_str()
    return text.encode()


def sentencepiece_model(folder: Path) -> bytes:
    (folder / "corpus").write_text("the rain in the plain of Spain stays mainly 0123456789\n" * 9, encoding="ascii")
    pytest.importorskip("sentencepiece").SentencePieceTrainer.train(
        input=str(folder / "corpus"), model_prefix=str(folder / "m"), model_type="bpe", vocab_size=300,
        byte_fallback=True, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    return (folder / "m.model").read_bytes()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small sound vocabulary of each form."""
    folder = tmp_path_factory.mktemp("sources")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (folder / "x.model").write_bytes(sentencepiece_model(tmp_path_factory.mktemp("sentencepiece")))
    (folder / "x.tiktoken").write_bytes(ranks())
    (folder / "pieces.txt").write_bytes(pieces())
    (folder / "tokenizer.json").write_bytes(tokenizer_json())
    (folder / "model").mkdir()
    (folder / "model/tokenizer.json").write_bytes(tokenizer_json())
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "chat_template": TEMPLATE}
    (folder / "model/tokenizer_config.json").write_text(json.dumps(config), encoding="ascii")
    (folder / "model/chat_template.jinja").write_text(TEMPLATE, encoding="ascii")
    recipe = builds.recipe_file(folder / "r.toml")
    recipe.write_text(recipe.read_text(encoding="ascii").replace("[2048, 4096]", "[16384]"), encoding="ascii")
    return folder


@pytest.fixture
def home(sources: Path, tmp_path: Path) -> Path:
    """That folder, to break, with a folder to write to."""
    shutil.copytree(sources, tmp_path / "home")
    return tmp_path / "home"


def profile(home: Path, name: str, engine: str, **more: Any) -> dict[str, Any]:
    """Return the sound profile of a vocabulary, pinned."""
    file = home / name / "tokenizer.json" if (home / name).is_dir() else home / name
    pinned = {"file": name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), **SOURCES[name][0]}
    template = {} if name == "model" else {"template": PROFILE["template"]}
    return {**PROFILE, "vocabulary": pinned, "fast": {"engine": engine}, **template, **more}


def planned(home: Path, table: dict[str, Any] | str | bytes, **bounds: float) -> Ended:
    """Plan a recipe for a profile, which loads it and counts with it; the place of the plan is always the same."""
    if isinstance(table, dict):
        try:
            table = tomlkit.dumps(table)
        except (TypeError, ValueError, AttributeError, TOMLKitError):
            assume(False)
    raw = table.encode(errors="surrogatepass") if isinstance(table, str) else table
    (home / "own.toml").write_bytes(raw)
    return held(home, "plan", "r.toml", "--tokenizer", "own.toml", "--out", "/nowhere/carrara", **bounds)


CONFINED_MB = 2400
"""MB that a process which tries a tokenizer may take before it is refused more."""
REPLACED = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 300}
GROWING = {"type": "Sequence", "normalizers": [REPLACED] * 6}
TOKENIZERS: dict[str, tuple[str, Any]] = {
    "grows without end": ("normalizer", GROWING),
    "Precompiled": ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"}),
    "unknown post-processor": ("post_processor", {"type": "BertProcessing", "sep": ["x", 1 << 31], "cls": ["y", 5]}),
    "no such post-processor": ("post_processor", {"type": "Nonsense"}),
}
"""What a tokenizer.json may have in a place, that takes all memory or crashes an engine."""
FORMS = [(name, engine) for name, (_, engines) in SOURCES.items() for engine in engines]


IN_FOLDER = ("model/chat_template.jinja", "model/tokenizer.json", "model/tokenizer_config.json")


@pytest.mark.parametrize(("name", "engine"), FORMS)
def test_sound_profiles_plan(home: Path, name: str, engine: str) -> None:
    done = planned(home, profile(home, name, engine))
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.faults
@few
@given(data=st.data())
def test_any_profile(home: Path, data: st.DataObject) -> None:
    name, engine = data.draw(st.sampled_from(FORMS))
    table = profile(home, name, engine)
    if data.draw(st.booleans()):
        planned(home, changed(data.draw, table))
    else:
        planned(home, spoilt(data.draw, tomlkit.dumps(table).encode()))


LINES = st.sampled_from(
    [
        *(b"", b"YQ==", b"YQ== -1", b"YQ== 0", b"YQ== 4294967296", b"YQ== " + b"9" * 20, b"YQ== " + b"9" * 5000),
        *(b"YQ== 1 2", b"= 3", b" 7", b"\xff 5", b"YWJj 259", b"YQ==\x00 9", b"YQ== 1e3", "YQ== \u0663".encode()),
    ]
)  # fmt: skip


@pytest.mark.faults
@few
@given(data=st.data())
def test_any_vocabulary(home: Path, sources: Path, data: st.DataObject) -> None:
    name, engine = data.draw(st.sampled_from(FORMS))
    file = name if name != "model" else data.draw(st.sampled_from(IN_FOLDER))
    sound = (sources / file).read_bytes()
    table = profile(home, name, engine)
    try:
        if file.endswith("tokenizer.json") and data.draw(st.booleans()):
            at, value = data.draw(st.sampled_from(list(TOKENIZERS.values())))
            (home / file).write_text(json.dumps(json.loads(sound) | {at: value}), encoding="ascii")
        elif file.endswith(".json") and data.draw(st.booleans()):
            (home / file).write_text(json.dumps(changed(data.draw, json.loads(sound))), encoding="ascii")
        elif file.endswith((".tiktoken", ".txt")) and data.draw(st.booleans()):
            lines = sound.splitlines()
            at = data.draw(st.integers(0, len(lines) - 1))
            lines[at] = data.draw(LINES)
            (home / file).write_bytes(b"\n".join(lines))
        else:
            (home / file).write_bytes(spoilt(data.draw, sound))
        table["vocabulary"]["sha256"] = profile(home, name, engine)["vocabulary"]["sha256"]
        planned(home, table, most_mb=CONFINED_MB, most_seconds=40)
    finally:
        (home / file).write_bytes(sound)


@pytest.mark.faults
@few
@given(text=STATEMENTS, more=NASTY, around=st.booleans())
def test_any_template(home: Path, text: str, more: Any, around: bool) -> None:
    template = {**PROFILE["template"], "text": text + TEMPLATE if around else text}
    if more is not ...:
        template["variables"] = {"x": more}
    planned(home, profile(home, "x.tiktoken", "tiktoken", template=template))
