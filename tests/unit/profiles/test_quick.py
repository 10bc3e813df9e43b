"""The quick counter: its ids are tiktoken's, it counts ASCII alone, and a build says what it counted."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builds import recipe_file, stages
from pipeline.artifacts.manifest import NO_SECOND, ProvenCounts, ShardRecord
from pipeline.errors import ProfileError
from pipeline.profiles import load_profile, shipped_profiles
from pipeline.profiles import profile as profiles
from pipeline.profiles.counters import KINDS, Counter, ToktokCounter
from pipeline.profiles.spec import Engine
from pipeline.typed import read_json
from pipeline.verify import row
from pipeline.verify.shard import read_proof_file

pytest.importorskip("toktok")

QUICK = ("cl100k", "llama3.1", "qwen2.5", "o200k")
PARTS = (
    "'s",
    "'RE",
    "'ll",
    "'",
    "<|endoftext|>",
    "<|im_start|>",
    "[INST]",
    "\r\n",
    "\n\n",
    " ",
    "  ",
    "\t",
    "\x0b",
    "\x1c",
)
PARTS += (
    "\x00",
    "\x7f",
    "/",
    "//",
    "...",
    "?!",
    "a",
    "Zz",
    "ABC",
    "0",
    "1234567",
    "_",
    "don't",
    "I'M",
    ">> a.append(-1)",
)

every_vocabulary = pytest.mark.parametrize("name", QUICK)
hostile = st.lists(st.sampled_from(PARTS) | st.characters(max_codepoint=127), max_size=40).map("".join)


def counters(name: str) -> tuple[Counter, Counter]:
    """Return tiktoken and the quick counter of a profile."""
    second, quick = load_profile(name).second(), load_profile(name).quick_counter()
    assert second
    assert quick
    assert second.name.startswith("tiktoken")
    assert quick.name == "toktok-rs 0.3.0"
    return second, quick


@every_vocabulary
def test_its_ids_are_those_of_tiktoken(name: str) -> None:
    """On every joint of three kinds of characters, alone and in a long text, and on hostile texts."""
    second, quick = counters(name)
    texts = list(map("".join, product(KINDS, repeat=3)))
    assert [quick.encode(text) for text in texts] == [second.encode(text) for text in texts]
    long = "".join(f"{text}{KINDS[at % len(KINDS)]}x" for at, text in enumerate(texts))
    assert quick.encode(long) == second.encode(long)
    assert list(quick.counts(texts[:40])) == list(second.counts(texts[:40]))

    @given(text=hostile)
    @settings(max_examples=40, deadline=None, database=None)
    def same(text: str) -> None:
        ids = second.encode(text)
        assert quick.encode(text) == ids
        assert quick.count(text) == len(ids)

    same()


@pytest.mark.parametrize("text", ["a" * 200_000, "^" * 200_000, "1" * 100_000, " \n" * 50_000, "A" * 9 + "\r" * 20_000])
def test_no_text_takes_it_long_and_none_is_counted_otherwise(text: str) -> None:
    second, quick = counters("o200k")
    assert quick.count(text) == second.count(text)


def test_a_million_spaces_on_which_tiktoken_fails_are_counted() -> None:
    assert counters("o200k")[1].count(" " * 1_000_000) == load_profile("o200k").counter().count(" " * 1_000_000)


def test_it_starts_no_threads() -> None:
    _, quick = counters("o200k")
    tasks = Path("/proc/self/task")
    before = sorted(path.name for path in tasks.iterdir())
    quick.count("Marta Okafor lives in Oslo.\n" * 50_000)
    assert sorted(path.name for path in tasks.iterdir()) == before


def test_a_text_that_is_not_ascii_is_refused() -> None:
    _, quick = counters("o200k")
    for call in (quick.count, quick.encode, lambda text: quick.counts([text])):
        with pytest.raises(ProfileError, match="toktok counts ASCII alone"):
            call("na\u00efve")


def test_which_profiles_have_one() -> None:
    having = {name for name in shipped_profiles() if load_profile(name).quick}
    assert having == {*QUICK, "gpt-oss", "llama4", "qwen3", "qwen3-nothink", "qwen3.5", "qwen3.5-nothink"}
    assert all(load_profile(name).check.engine == "tiktoken" for name in having)
    assert load_profile("o200k").digest == replace(load_profile("o200k"), quick=None).digest


def test_none_is_used_that_is_missing_or_splits_a_text_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    cl100k = load_profile("cl100k")
    for entry in ("o200k_base", "qwen3.5"):
        assert replace(cl100k, quick=Engine("toktok", entry)).quick_counter() is None
    profiles._quick.cache_clear()
    monkeypatch.setitem(sys.modules, "toktok", None)
    assert cl100k.quick_counter() is None
    with pytest.raises(ProfileError, match="make extras EXTRAS=quick"):
        ToktokCounter(cl100k.vocabulary, "cl100k_base")
    profiles._quick.cache_clear()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('engine = "toktok"\nentry = "o200k"', "unknown entry 'o200k'"),
        ('engine = "tocktok"', "unknown engine 'tocktok'"),
        ('engine = "toktok"\nspeed = 3', "unknown key 'speed'"),
    ],
)
def test_a_table_that_names_no_quick_engine_is_refused(tmp_path: Path, table: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'base = "o200k"\n[quick]\n{table}\n', encoding="ascii")
    with pytest.raises(ProfileError, match=said):
        load_profile(str(path))


def test_a_base_gives_its_quick_engine_only_with_its_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "o200k"\n', encoding="ascii")
    assert load_profile(str(path)).quick == load_profile("o200k").quick
    own = f'[vocabulary]\nfile = "mine.tiktoken"\nsha256 = "{"0" * 64}"\npattern = "."\n'
    path.write_text(f'base = "o200k"\n{own}', encoding="ascii")
    assert load_profile(str(path)).quick is None


# Builds


def proven(out: Path) -> ProvenCounts:
    manifest = json.loads((out / "o200k" / "manifest.json").read_text(encoding="ascii"))
    return read_json(json.dumps(manifest["tiers"]["32k"]["proven"]), ProvenCounts)


def test_a_large_build_is_counted_by_it_and_a_sample_by_tiktoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, rows = recipe_file(tmp_path / "r.toml", rows=20), 40
    stages(recipe, tmp_path / "small").build()
    assert proven(tmp_path / "small").recounts == "all recounted by tiktoken 0.14.0"
    monkeypatch.setattr(row, "QUICK_FROM", 0)
    stages(recipe, tmp_path / "large").build()
    found = proven(tmp_path / "large")
    assert (found.recounted, found.quick_recounted) == (rows, rows - 3)
    assert found.recounts == "all recounted: 37 by toktok-rs 0.3.0, 3 by tiktoken 0.14.0"
    assert (found.second, found.quick) == (("tiktoken 0.14.0",), ("toktok-rs 0.3.0",))
    once = msgspec.structs.replace(found, second=("tiktoken 0.14.0", "toktok-rs 0.3.0"))  # what manifests once said
    assert (once.recounts, once.again) == (found.recounts, found.again)
    [proof] = (read_proof_file(path) for path in (tmp_path / "large").glob("o200k/proofs/*/*/*"))
    [plain] = (read_proof_file(path) for path in (tmp_path / "small").glob("o200k/proofs/*/*/*"))
    assert proof
    assert plain
    assert plain.quick is None
    assert "quick" not in msgspec.to_builtins(plain)
    assert proof.agrees(plain)
    assert plain.agrees(proof)
    old = {name: value for name, value in msgspec.to_builtins(proof).items() if not name.startswith("quick")}
    assert msgspec.convert(old, ShardRecord).agrees(proof)
    stages(recipe, tmp_path / "large").verify()
    assert proven(tmp_path / "large") == proven(tmp_path / "small")


def test_without_a_second_encoder_no_recount_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles.Profile, "second", lambda self: None)
    stages(recipe_file(tmp_path / "r.toml", rows=1), tmp_path / "out").build()
    [proof] = (read_proof_file(path) for path in (tmp_path / "out").glob("o200k/proofs/*/*/*"))
    assert proof
    assert (proof.second, proof.recounted, proof.quick) == (NO_SECOND, 0, None)
    found = proven(tmp_path / "out")
    assert (found.recounts, found.again) == ("none recounted: no second encoder reads this vocabulary", ())


def test_what_it_counts_otherwise_tiktoken_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row, "QUICK_FROM", 0)
    monkeypatch.setattr(ToktokCounter, "_count", lambda self, text: 7)
    stages(recipe_file(tmp_path / "r.toml", rows=3), tmp_path / "out").build()
    assert proven(tmp_path / "out").recounts == "all recounted by tiktoken 0.14.0"
