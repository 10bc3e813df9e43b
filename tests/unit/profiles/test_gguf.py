"""A GGUF file is enough for a profile: vocabulary, merges, template and window are read from its metadata."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import tokenizers

import gguf_files
from frozen_releases import carrara, error_line, succeeded, written
from model_files import TEMPLATE, small, trained
from pipeline.errors import ProfileError
from pipeline.profiles import load_profile
from pipeline.profiles.gguf import SPLIT, read_metadata, unpacked
from pipeline.profiles.profile import plain_lines

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARRARA_VOCABULARIES", str(tmp_path / "cache"))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return gguf_files.write(tmp_path / "weights.gguf", gguf_files.metadata(small(), "llama-bpe"))


def test_the_tokens_are_those_of_the_model(weights: Path) -> None:
    own, read = trained(), tokenizers.Tokenizer.from_file(str(unpacked(weights) / "tokenizer.json"))
    for line in plain_lines(200):
        assert own.encode(line).ids == read.encode(line).ids
    assert read.encode("<|turn|>user").ids[0] == own.token_to_id("<|turn|>")


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [
        ("llama-bpe", "it's 12345", ["it", "'s", " ", "123", "45"]),
        ("qwen2", "it's 123", ["it", "'s", " ", "1", "2", "3"]),
        ("smollm", "it's 123", ["it", "'s", " ", "1", "2", "3"]),
        ("gpt-2", "it's 123 ab", ["it", "'s", " 123", " ab"]),
    ],
)
def test_texts_are_split_as_llama_cpp_does(tmp_path: Path, pre: str, text: str, pieces: list[str]) -> None:
    path = gguf_files.write(tmp_path / "weights.gguf", gguf_files.metadata(small(), pre))
    read = tokenizers.Tokenizer.from_file(str(unpacked(path) / "tokenizer.json"))
    found = [each.replace("\u0120", " ") for each, _ in read.pre_tokenizer.pre_tokenize_str(text)]
    assert found == pieces


def test_a_token_in_front_is_added_where_the_file_says_so(tmp_path: Path) -> None:
    data = gguf_files.metadata(small(), "qwen2", **{"tokenizer.ggml.add_bos_token": True})
    read = tokenizers.Tokenizer.from_file(str(unpacked(gguf_files.write(tmp_path / "a.gguf", data)) / "tokenizer.json"))
    assert read.encode("one").tokens[0] == "<s>"


def test_pieces_merge_by_their_scores(tmp_path: Path) -> None:
    """SentencePiece writes no merges: any two pieces that make a third may merge, those of the best score first."""
    pieces = {"<unk>": 0.0, "<s>": 0.0, "\u2581": -9.0, "a": -9.0, "b": -9.0, "c": -9.0, "ab": -2.0, "bc": -1.0}
    pieces |= {"\u2581a": -3.0, "\u2581abc": -4.0, "<0x7A>": 0.0}
    data = gguf_files.metadata(small(), "default") | {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": list(pieces),
        "tokenizer.ggml.scores": list(pieces.values()),
        "tokenizer.ggml.token_type": [2, 3, *[1] * 8, 6],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_space_prefix": False,
    }
    del data["tokenizer.ggml.merges"], data["tokenizer.ggml.eos_token_id"], data["tokenizer.chat_template"]
    read = tokenizers.Tokenizer.from_file(str(unpacked(gguf_files.write(tmp_path / "a.gguf", data)) / "tokenizer.json"))
    assert read.encode("abc ab z", add_special_tokens=False).tokens == ["a", "bc", "\u2581", "ab", "\u2581", "<0x7A>"]
    assert read.encode("abc").tokens == ["<s>", "a", "bc"]


def test_a_profile_and_a_build_by_a_gguf_file(weights: Path, tmp_path: Path) -> None:
    told = succeeded(carrara("profile", "add", weights, "--name", "own", "--out", tmp_path / "own"))
    assert "window: 8,192 tokens" in told
    assert load_profile(str(tmp_path / "own" / "profile.toml")).template.text == TEMPLATE
    recipe = written(tmp_path / "tiny.toml", (("bio", "standard", [1], [4096], 2),))
    done = succeeded(carrara("build", recipe, "--tokenizer", weights, "--out", tmp_path / "out", "--quiet"))
    assert "weights/data: 2 rows" in done
    assert "all exact" in done


def test_what_cannot_be_read_is_said(weights: Path, tmp_path: Path) -> None:
    assert "does not exist" in error_line(carrara("profile", "add", tmp_path / "none.gguf"))
    for name, value, words in (
        ("tokenizer.ggml.pre", "mine", "no pattern is known here (known: codeshell, command-r"),
        ("tokenizer.ggml.model", "bert", "a vocabulary of kind 'bert', which is not read from GGUF"),
    ):
        path = gguf_files.write(tmp_path / "odd.gguf", gguf_files.metadata(small(), "qwen2", **{name: value}))
        with pytest.raises(ProfileError) as fault:
            unpacked(path)
        assert words in str(fault.value)
    assert set(SPLIT) == {"qwen2", "llama-bpe"}


@pytest.mark.parametrize("size", [0, 3, 20, 60, 2000])
def test_a_file_that_is_cut_off_is_an_error(weights: Path, tmp_path: Path, size: int) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(weights.read_bytes()[:size])
    with pytest.raises(ProfileError, match="GGUF"):
        read_metadata(cut)


def test_counts_that_no_file_can_hold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    path.write_bytes(
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 4, 1 << 40)
    )
    with pytest.raises(ProfileError, match="a list of"):
        read_metadata(path)
