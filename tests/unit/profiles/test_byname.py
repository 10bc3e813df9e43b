"""Any model by its name: resolved once, pinned, kept with the rows; no network afterwards, and none of its code."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest
from transformers import PreTrainedTokenizerFast

import builds
import test_transformers
from frozen_releases import carrara, error_line, succeeded, written
from loopback import Hub
from loopback.client import hurried
from model_files import CODE, DATED, TEMPLATE, folder_of, saved, small, trained, with_code
from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.split import open_split
from pipeline.assemble.pools import PoolCache
from pipeline.errors import ProfileError
from pipeline.profiles import confined, counters, load_profile, profile
from pipeline.profiles.adopt import RequestedProfile, Source, adopt, made_folder, settled
from pipeline.profiles.agreement import agreed_engines
from pipeline.profiles.hub import parse_model, safe_name
from pipeline.publish.staging import stage
from repository import ROOT

pytestmark = pytest.mark.usefixtures("small_shards", "shared")

CELLS = (("bio", "standard", [1], [4096], 2), ("mrcr", "chat", [2], [16384], 1))
NAME = "org/small"
KEPT = "org__small"
SAME = ("id", "family", "subtask", "length", "complexity", "question", "target", "answers", "choices")


@pytest.fixture(scope="module")
def shared() -> Iterator[None]:
    """Make each pool once for all builds of this file, and measure how fast a counter is on few lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PoolCache, "clear", lambda self: None)
        patch.setattr(profile, "SPEED_LINES", 30)
        yield


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return written(tmp_path / "tiny.toml", CELLS)


@pytest.fixture(scope="module")
def built(shared: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build for a local folder, and a frozen one; no test touches it."""
    home = tmp_path_factory.mktemp("byname")
    folder_of(small(), home / "small")
    recipe = written(home / "tiny.toml", CELLS)
    succeeded(carrara("build", recipe, "--tokenizer", home / "small", "--out", home / "v1.0.0", "--quiet"))
    shutil.rmtree(home / "small")
    return home


def gone(hub: Hub) -> None:
    hub.stop()
    huggingface_hub.close_session()  # it may hold a connection that is served still


def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def test_names() -> None:
    assert parse_model("Qwen/Qwen3-8B@v1.1") is not None
    assert [parse_model(text) for text in ("./mine", "a/b/c", "o200k", "a/b@", "../b", "a/..")] == [None] * 6
    assert safe_name("Qwen/Qwen3-8B") == "Qwen__Qwen3-8B"
    assert safe_name("a/b c\u00e9!") == "a__b-c--"
    long = [safe_name("org/" + "x" * 90 + end) for end in "ab"]
    assert len(set(long)) == 2
    assert {len(name) for name in long} == {64}


def test_a_model_is_built_by_its_name_then_without_a_network(
    recipe: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.model(NAME, small())
    out = tmp_path / "out"
    done = succeeded(carrara("build", recipe, "--tokenizer", NAME, "--out", out, "--quiet"))
    assert f"{KEPT}/data: 3 rows" in done
    assert "recounted by transformers" in done
    assert not [line for line in hub.lines() if "safetensors" in line or ".py" in line]
    manifest = json.loads((out / KEPT / "manifest.json").read_text())["tokenizer"]
    profile = load_profile(str(out / KEPT / "tokenizer" / "profile.toml"))
    assert (manifest["name"], manifest["models"], manifest["digest"]) == (KEPT, [NAME], profile.digest)
    assert commit in manifest["notice"]
    assert "apache-2.0" in manifest["notice"]
    assert profile.vocabulary.revision == commit
    hub.model(NAME, small(size=500))  # the branch moves on, and then the Hub is gone
    gone(hub)
    shutil.rmtree(tmp_path / "cache")
    again = succeeded(carrara("build", recipe, "--tokenizer", NAME, "--out", out, "--quiet"))
    assert again.split(";")[0] == done.split(";")[0]
    assert "all recounted by transformers" in succeeded(carrara("verify", out, "--quiet"))
    (row, *_) = read_rows(next((out / KEPT / "data").glob("*/*/*.parquet")))
    assert row["tokenizer"] == KEPT
    assert row["id"] in succeeded(carrara("show", out, "--tokenizer", NAME))


def test_a_warm_cache_is_enough(recipe: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.model(NAME, small())
    succeeded(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "first"))
    seen = len(hub.log)
    offline(monkeypatch)
    succeeded(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "second"))
    assert len(hub.log) == seen
    texts = [(tmp_path / name / KEPT / "tokenizer" / "profile.toml").read_bytes() for name in ("first", "second")]
    assert texts[0] == texts[1]
    line = error_line(carrara("plan", recipe, "--tokenizer", "org/other", "--out", tmp_path / "third"))
    assert "org/other is not in the cache, and HF_HUB_OFFLINE is set: unset it, fetch it once" in line
    assert "hf download org/other" in line
    assert not (tmp_path / "third").exists()


def test_without_a_network_the_error_says_what_to_do(
    recipe: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.model(NAME, small())
    hurried(monkeypatch)
    succeeded(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "out"))
    gone(hub)
    succeeded(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "again"))  # the cache will do
    line = error_line(carrara("plan", recipe, "--tokenizer", "org/other", "--out", tmp_path / "other"))
    assert f"org/other is not in the cache, and {hub.url} cannot be reached: check the network" in line
    assert "or give a local folder" in line


def test_names_that_the_hub_does_not_have(
    recipe: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.model(NAME, small())
    hub.model("org/empty", {"README.md": b"# Nothing"})
    cases = {
        "org/nowhere": "has no model 'org/nowhere', or it is private, and there is no such folder: check the name",
        f"{NAME}@v9": "org/small has no revision 'v9': give a branch, tag or commit that it has",
        "org/empty": "org/empty has no tokenizer_config.json and no tokenizer.json",
        "o200": "unknown profile 'o200': did you mean 'o200k'",
        "gpt-4o": "'gpt-4o' is a model, not a profile: give o200k",
        "./nowhere": "there is no profile file 'nowhere'",
    }
    for given, told in cases.items():
        assert told in error_line(carrara("plan", recipe, "--tokenizer", given, "--out", tmp_path / "out"))


def test_a_file_that_the_hub_fails_to_give_is_not_taken_for_missing(
    recipe: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a model would lose its chat template to a network that fails halfway."""
    hub.model(NAME, small())
    hurried(monkeypatch)
    hub.fail("chat_template.jinja", 500, times=99)
    line = error_line(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "out"))
    assert f"cannot be fetched from {hub.url}: Server error '500" in line
    assert not (tmp_path / "out").exists()


def test_a_cache_is_enough_if_the_hub_fails(
    recipe: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the repo does not have was noted in the cache when it was asked for first."""
    hub.model(NAME, small())
    hurried(monkeypatch)
    succeeded(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "first"))
    hub.fail("", 500, times=999)
    succeeded(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "second"))


def test_parts_that_are_started_at_once_make_one_profile(tmp_path: Path) -> None:
    """The first to end is kept; another is dropped, and a folder that holds something else stays as it is."""
    folder = tmp_path / "out" / "small" / "tokenizer"
    with made_folder(folder) as late:
        (late / "profile.toml").write_text("late")
        with made_folder(folder) as early:
            (early / "profile.toml").write_text("early")
    assert [path.read_text() for path in (tmp_path / "out").rglob("*.toml")] == ["early"]
    (folder / "profile.toml").rename(folder / "other.toml")
    with pytest.raises(ProfileError, match="cannot take a profile"), made_folder(folder):
        pass
    assert [path.name for path in folder.parent.rglob("*")] == ["tokenizer", "other.toml"]


def test_a_moved_revision_is_refused(recipe: Path, hub: Hub, tmp_path: Path) -> None:
    first = hub.model(NAME, small(), "v1")
    out = tmp_path / "out"
    succeeded(carrara("plan", recipe, "--tokenizer", f"{NAME}@v1", "--out", out))
    succeeded(carrara("plan", recipe, "--tokenizer", f"{NAME}@{first}", "--out", out))
    second = hub.model(NAME, small(size=500), "v1")
    line = error_line(carrara("plan", recipe, "--tokenizer", f"{NAME}@v1", "--out", out))
    assert f"has rows for {NAME}@{first[:12]}, but {NAME}@v1 is {NAME}@{second[:12]}" in line
    folder = tmp_path / "added"
    succeeded(carrara("profile", "add", f"{NAME}@{first}", "--out", folder))
    line = error_line(carrara("profile", "add", f"{NAME}@v1", "--out", folder))
    assert f"is pinned to {NAME}@{first}, but {NAME}@v1 is now {NAME}@{second}" in line


def test_code_of_a_model_is_never_run(recipe: Path, hub: Hub, tmp_path: Path) -> None:
    hub.model("org/code", with_code())
    line = error_line(carrara("plan", recipe, "--tokenizer", "org/code", "--out", tmp_path / "out"))
    assert "org/code makes its tokenizer by code of its own (auto_map in tokenizer_config.json), which is never" in line
    assert not [each for each in hub.lines() if ".py" in each]
    files = with_code()
    del files["tokenizer.json"]  # nothing is left that could be read without it
    local = folder_of(files, tmp_path / "local")
    assert "code of its own" in error_line(carrara("profile", "add", local))
    hidden = small() | {"config.json": json.dumps(CODE).encode()}
    assert "auto_map in config.json" in error_line(carrara("profile", "add", folder_of(hidden, tmp_path / "hidden")))


def test_an_edited_vocabulary_is_refused(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "home")
    out = tmp_path / "home" / "v1.0.0"
    path = out / "small" / "tokenizer" / "tokenizer.json"
    told = load_profile(str(path.with_name("profile.toml"))).vocabulary.sha256
    path.write_text(path.read_text() + "\n")
    line = error_line(carrara("verify", out, "--quiet"))
    assert "its sha256 is" in line
    assert f"but the profile says {told}" in line
    toml = path.with_name("profile.toml")
    shutil.copyfile(built / "v1.0.0" / "small" / "tokenizer" / "tokenizer.json", path)
    toml.write_text(toml.read_text().replace("<|turn|>assistant", "<|turn|>model"))
    assert "says tokenizer.digest is" in error_line(carrara("verify", out, "--quiet"))


def test_another_folder_of_that_name_is_refused(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "home")
    other = folder_of(small(size=500), tmp_path / "small")
    line = error_line(
        carrara("plan", built / "tiny.toml", "--tokenizer", other, "--out", tmp_path / "home" / "v1.0.0", "--json")
    )
    assert "has rows for sha256:" in line


def test_a_refused_build_leaves_nothing_behind(recipe: Path, tmp_path: Path) -> None:
    model, out = folder_of(small(), tmp_path / "small"), tmp_path / "out"
    other = written(tmp_path / "other.toml")
    other.write_text(other.read_text(encoding="ascii").replace('"tiny"', '"other"'), encoding="ascii")
    succeeded(carrara("build", "--until", "sample", other, "--out", out))
    before = builds.contents(out)
    assert "holds other 1.0.0 chat, not tiny" in error_line(
        carrara("build", recipe, "--tokenizer", model, "--out", out)
    )
    assert builds.contents(out) == before
    assert not (out / "small").exists()
    (model / "tokenizer.json").write_text("{}", encoding="ascii")
    error_line(carrara("build", recipe, "--tokenizer", model, "--out", tmp_path / "new" / "v1"))
    assert not (tmp_path / "new").exists()


def test_a_folder_is_kept_with_its_rows(built: Path, tmp_path: Path) -> None:
    """The folder is gone; all that reads splits goes on, and a released copy is verified with what is kept."""
    out = built / "v1.0.0"
    assert "all recounted by transformers" in succeeded(carrara("verify", out, "--quiet"))
    assert "small" in succeeded(carrara("plan", built / "tiny.toml", "--tokenizer", "small", "--out", out))
    rows = [row for path in sorted((out / "small" / "data").rglob("*.parquet")) for row in read_rows(path)]
    assert rows[0]["id"] in succeeded(carrara("show", out))
    succeeded(carrara("export", "openai-batch", out / "small", "--out", tmp_path / "exported"))
    (tmp_path / "said.jsonl").write_text(
        "".join(json.dumps({"id": row["id"], "prediction": f"<think>?</think>{row['target']}"}) + "\n" for row in rows)
    )
    scores = json.loads(succeeded(carrara("score", out / "small", tmp_path / "said.jsonl", "--json")))
    assert scores["overall"]["mean"] == 1
    assert "small" in succeeded(carrara("verify", "--against", out, "--quiet"))


def test_a_frozen_release_takes_a_model(built: Path, hub: Hub, tmp_path: Path) -> None:
    """Ids, questions and keys stay; the cost is told first; what was cut for a folder goes on without that folder."""
    shutil.copytree(built, tmp_path / "home")
    frozen = tmp_path / "home" / "v1.0.0"
    succeeded(carrara("verify", frozen, "--quiet"))
    succeeded(carrara("freeze", frozen))
    hub.model(NAME, small(size=700))
    assert "is frozen as tiny 1.0.0, without org/small" in error_line(
        carrara("build", built / "tiny.toml", "--tokenizer", NAME, "--out", frozen, "--quiet")
    )
    cost = succeeded(carrara("extend", frozen, "--tokenizer", NAME, "--dry-run", "--quiet"))
    head, line = cost.splitlines()
    assert head.split() == ["profile", "tier", "rows", "tokens", "on", "disk", "about"]
    assert line.split()[:4] == [KEPT, "32k", "3", "24,576"]
    done = succeeded(carrara("extend", frozen, "--tokenizer", NAME, "--quiet"))
    assert done.startswith(head)
    made = tmp_path / "home" / "v1.1.0"
    assert f"profiles {KEPT}, small" in done
    rows = [
        [row for path in sorted((made / name / "data").rglob("*.parquet")) for row in read_rows(path)]
        for name in ("small", KEPT)
    ]
    for old, new in zip(*rows, strict=True):
        assert [old[name] for name in SAME] == [new[name] for name in SAME]
    gone(hub)
    assert succeeded(carrara("verify", made, "--quiet")).count("all recounted by transformers") == 2
    assert succeeded(carrara("verify", "--against", made, "--quiet")).count("every byte as in the lock") == 2


def test_what_is_published_says_where_its_tokenizer_is(
    built: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy comes with the TOML alone: the vocabulary is the model owner's, and is fetched at its commit."""
    hub.model(NAME, small())
    out = tmp_path / "out"
    succeeded(carrara("build", built / "tiny.toml", "--tokenizer", NAME, "--out", out, "--quiet"))
    succeeded(carrara("verify", out, "--quiet"))
    copy = stage(open_split(out / KEPT), tmp_path / KEPT, repo=NAME).folder
    assert [path.name for path in (copy / "tokenizer").iterdir()] == ["profile.toml"]
    hub.model(NAME, small(size=500))
    monkeypatch.setattr(counters, "check_call", lambda *_, **__: None)  # this process alone knows that Hub
    assert "tiny 1.0.0" in succeeded(carrara("verify", "--against", copy, "--quiet"))


def test_the_process_that_tries_files_has_the_variables_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries read where the Hub is when they are imported."""
    monkeypatch.setattr(confined, "READ_ONCE", ("HF_",))
    monkeypatch.setattr(confined, "_servers", [])
    seen = []
    for place in ("here", "here", "there"):
        monkeypatch.setenv("HF_ENDPOINT", f"http://{place}")
        with confined._served() as server:
            seen.append(server)
    server.close()
    assert seen[0] is seen[1] is not server


def test_profile_add_says_what_it_found(tmp_path: Path) -> None:
    folder = folder_of(small(DATED), tmp_path / "small")
    out = tmp_path / "mine"
    done = succeeded(
        carrara(
            "profile", "add", folder, "--out", out, "--name", "mine", "--set", "enable_thinking=false",
            "--date", "2025-05-31", "--reserve", 900,
        )
    )  # fmt: skip
    told = {
        "counted by splintr-rs",
        "counted again by transformers",
        "the same ids on 400 lines of plain and 400 of foreign text",
        "with a system message, too",
        "options of the template: enable_thinking = False; set one with --set",
        "pinned to 2025-05-31, which may cost",
        "window: 40,960 tokens (max_position_embeddings in config.json)",
        "after a line's end",
    }
    assert not {each for each in told if each not in done}
    profile = load_profile(str(out / "profile.toml"))
    assert (profile.name, profile.reserve, profile.template.date) == ("mine", 900, "2025-05-31")
    sent = profile.render([("user", "Is it 7?")], "chat")
    assert sent.startswith("Today is 31 May 2025.\n<s><|turn|>user\nIs it 7?<|end|>")
    assert sent.endswith("<think>\n\n</think>\n\n")
    recipe = written(tmp_path / "tiny.toml", CELLS)
    succeeded(carrara("build", recipe, "--tokenizer", out, "--out", tmp_path / "v1.0.0", "--quiet"))
    rows = [row for path in sorted((tmp_path / "v1.0.0").glob("mine/data/*/*/*")) for row in read_rows(path)]
    assert {row["max_new_tokens"] for row in rows} == {900}
    assert {row["prompt_tokens"] + row["template_tokens"] + 900 - row["context_tokens"] for row in rows} == {0}
    manifest = json.loads((tmp_path / "v1.0.0" / "mine" / "manifest.json").read_text())
    assert manifest["tiers"]["32k"]["reserve"] == 900
    opened = succeeded(carrara("profile", "add", folder, "--out", tmp_path / "thinks", "--name", "thinks"))
    assert "thinking: a reply begins inside the reasoning, which needs room: give it a reserve" in opened


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "enable_thinkin=false"], "did you mean 'enable_thinking'"),
        (["--set", "enable_thinking"], "give OPTION=VALUE"),
        (["--date", "tomorrow"], "give a day such as 2025-01-31"),
        (["--name", "o200k"], "is the name of a shipped profile"),
        (["--name", "../up"], "letters, digits, dots and dashes"),
    ],
)
def test_what_profile_add_refuses(tmp_path: Path, words: list[str], told: str) -> None:
    folder = folder_of(small(), tmp_path / "small")
    assert told in error_line(carrara("profile", "add", folder, "--out", tmp_path / "made", *words))
    assert not (tmp_path / "made").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ messages[0].content | upper }}", "does not send the contents as they are"),
        ("{% for m in messages", "chat template fails|not Jinja"),
        ("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}{% if tools is not none %}x{% endif %}", ""),
        (
            "{% for i in range(10**9) %}{% endfor %}",
            "chat template fails|more than a template may|too large|Range too big",
        ),
        (
            "{% for a in range(50000) %}{% for b in range(50000) %}{% for c in range(50000) %}x{% endfor %}{% endfor %}"
            "{% endfor %}{{ messages[0].content }}",
            "chat template fails: .* more than a template may",
        ),
    ],
)
def test_templates_are_held_to_transformers(tmp_path: Path, text: str, told: str) -> None:
    folder = folder_of(small() | {"chat_template.jinja": text.encode()}, tmp_path / "small")
    done = carrara("profile", "add", folder, "--out", tmp_path / "made")
    if told:
        assert re.search(told, error_line(done)), error_line(done)
    else:
        succeeded(done)


def test_a_model_without_a_template_is_for_raw_frames(tmp_path: Path) -> None:
    files = {name: content for name, content in small().items() if name != "chat_template.jinja"}
    done = succeeded(carrara("profile", "add", folder_of(files, tmp_path / "base"), "--out", tmp_path / "made"))
    assert 'template: none: only recipes with frame = "raw" can be built' in done


def test_a_tokenizer_json_with_other_ids_than_transformers_has_is_written_anew(tmp_path: Path) -> None:
    path = folder_of(small(size=500), tmp_path / "small") / "tokenizer.json"
    read = PreTrainedTokenizerFast(tokenizer_object=trained())
    assert agreed_engines(read, path, "small").converted
    assert path.read_text() == read.backend_tokenizer.to_str()


def test_special_tokens_that_swallow_whitespace_are_counted_so(tmp_path: Path) -> None:
    held = json.loads(small()["tokenizer.json"])
    for token in held["added_tokens"]:
        token["rstrip"] = token["content"] == "<|end|>"
    files = small() | {"tokenizer.json": json.dumps(held).encode()}
    folder = folder_of(files, tmp_path / "strips")
    profile = adopt(Source(folder, "strips"), tmp_path / "made")
    assert profile.template.swallow == ("<|end|>",)
    plain = adopt(Source(folder_of(small(), tmp_path / "plain"), "plain"), tmp_path / "plainly")
    assert profile.overhead(["user"], "chat") == plain.overhead(["user"], "chat") - 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qwen2.5", "llama3.1", "deepseek-v3", "glm4", "gemma3", "mistral-tekken"])
def test_pinned_vocabularies_as_models(name: str, tmp_path: Path) -> None:
    """A folder made of a shipped profile's vocabulary gives the same counts and the same template as the profile."""
    shipped = load_profile(name)
    tokenizer = test_transformers.fast_tokenizer(shipped.vocabulary.sha256)
    tokenizer.bos_token = shipped.template.bos or None
    folder = saved(tokenizer, shipped.template.text, tmp_path / "model")
    made = adopt(Source(folder, "model"), tmp_path / "made", RequestedProfile(name="model"))
    text = test_transformers.LONG * 50
    assert made.counter().count(text) == shipped.counter().count(text)
    for roles in (("user",), ("user", "assistant", "user")):
        assert made.gaps(roles, "chat") == shipped.gaps(roles, "chat")
    assert settled(str(tmp_path / "made"), tmp_path / "out").endswith("model/tokenizer/profile.toml")


def test_a_release_folder_keeps_a_toml_with_what_it_names(tmp_path: Path) -> None:
    folder, root = folder_of(small(), tmp_path / "model"), tmp_path / "out"
    digest = hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest()
    forms = {
        "a folder": f'[vocabulary]\nfile = "model"\nsha256 = "{digest}"\n',
        "a date": (
            f'[vocabulary]\nfile = "model/tokenizer.json"\nsha256 = "{digest}"\n[template]\ndate = "2024-01-01"\n'
        ),
        "a base": 'base = "qwen2.5"\n[windows]\n8192 = 8000\n',
        "another window": 'base = "qwen2.5"\n[windows]\n8192 = 7000\n',
    }
    for form, text in forms.items():  # each in place of the one before, since nothing was built with that
        (tmp_path / "own.toml").write_text(text, encoding="ascii")
        given = load_profile(str(tmp_path / "own.toml"))
        kept = load_profile(settled(str(tmp_path / "own.toml"), root))
        assert (kept.digest, kept.name, kept.title) == (given.digest, "own", "own"), form
        assert str(root) in settled(str(tmp_path / "own.toml"), root)
    (root / "own" / "data").mkdir()
    (tmp_path / "own.toml").write_text(forms["a base"], encoding="ascii")
    with pytest.raises(ProfileError, match="has rows for another profile 'own'"):
        settled(str(tmp_path / "own.toml"), root)
    shipped = str(ROOT / "tokenizers" / "qwen2.5.toml")
    assert settled(shipped, root) == shipped


def test_the_template_is_the_small_models() -> None:
    assert TEMPLATE in DATED


def test_a_slow_counter_is_told_and_a_copy_is_left_as_it_is(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "home" / "v1.0.0"
    shutil.copytree(built, tmp_path / "home")
    done = succeeded(carrara("plan", built / "tiny.toml", "--tokenizer", "small", "--out", out))
    assert "small: transformers counts again, slowly (0.3 to 1 Mtok/s): a sample of the rows in `build`" in done
    model = folder_of(small(), tmp_path / "small")
    shutil.rmtree(out / "small" / "tokenizer")
    before = builds.stamps(out)
    assert "tiny 1.0.0 small" in succeeded(carrara("verify", "--against", out, "--tokenizer", model, "--quiet"))
    assert "is not a shipped one: give its TOML" in error_line(carrara("verify", "--against", out, "--quiet"))
    assert builds.stamps(out) == before


def test_a_folder_of_the_clients_cache_is_the_model(hub: Hub, tmp_path: Path, recipe: Path) -> None:
    commit = hub.model(NAME, small())
    folder = Path(huggingface_hub.hf_hub_download(NAME, "tokenizer.json")).parent
    huggingface_hub.hf_hub_download(NAME, "tokenizer_config.json")
    huggingface_hub.hf_hub_download(NAME, "chat_template.jinja")
    for _ in range(2):
        succeeded(carrara("plan", recipe, "--tokenizer", folder, "--out", tmp_path / "out"))
    succeeded(carrara("plan", recipe, "--tokenizer", f"{NAME}@{commit}", "--out", tmp_path / "out"))


@pytest.mark.parametrize("module", ["transformers", "huggingface_hub"])
def test_what_is_not_installed_is_named(
    recipe: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    hub.model(NAME, small())
    monkeypatch.setitem(sys.modules, module, None)
    line = error_line(carrara("plan", recipe, "--tokenizer", NAME, "--out", tmp_path / "out"))
    assert f"{module} is not installed: make extras EXTRAS=" in line
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
