"""Data of strangers: names that are code or paths, records that are none, rows that lie. One line, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tomlkit.exceptions import TOMLKitError

import builds
import handmade
import hostile
from hostile import CLIMBING, CODE, DEEP, HOSTILE, held
from pipeline.artifacts.files import path_below
from pipeline.cli import cli
from pipeline.cli import group as groups
from pipeline.errors import BuildError, FrozenError, RecipeError
from pipeline.recipe import digest, load_recipe
from pipeline.rows import COLUMNS
from pipeline.verify.lock import read_lock
from time_bounds import within

CASES = int(os.environ.get("CARRARA_FAULT_CASES", "0"))
"""How many cases each fuzz tries; `make test-faults` sets thousands."""
few = settings(
    max_examples=CASES or 25,
    derandomize=not CASES,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a sound split, predictions for it, and a folder to write to; the command runs in it."""
    hostile.split(tmp_path / "home" / "o200k")
    handmade.lines(tmp_path / "home" / "predictions.jsonl", handmade.answers(hostile.ROWS))
    (tmp_path / "home" / "out").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def tried(home: Path, name: str) -> Any:
    args = hostile.commands(home / "o200k", home / "out", home / "predictions.jsonl")[name]
    done = held(args, home, home / "out")
    shutil.rmtree(home / "out")
    (home / "out").mkdir()
    return done


EVERY = list(hostile.commands(Path(), Path(), Path()))
EXPORT = [name for name in EVERY if name.startswith("export")]


def test_every_command_reads_the_sound_split(home: Path) -> None:
    ended = {name: tried(home, name).exit_code for name in EVERY}
    good = {"export lm-eval", "export inspect", "export ruler", "score", "gallery", "report", "show", "chance"}
    assert {name for name, code in ended.items() if not code} >= good


# Names


@pytest.mark.parametrize("column", ["id", "family", "subtask", "tier", "tokenizer", "frame", "scorer"])
def test_no_name_in_a_row_becomes_code_or_a_path(home: Path, column: str) -> None:
    for value in (CODE, CLIMBING, "a\nb: c", ""):
        hostile.recast(home / "o200k", column, value)
        for name in EXPORT:
            done = tried(home, name)
            assert done.exit_code == 1 or column in ("tokenizer", "frame", "scorer"), (name, value)


@pytest.mark.parametrize(
    "where",
    [
        *(("release",), ("version",), ("variant",), ("frame",), ("tokenizer", "name"), ("tokenizer", "models", 0)),
        *(("tiers", "32k", "tag"), ("tiers", "32k", "strata", 0, "family"), ("tiers", "32k", "strata", 0, "subtask")),
        *(("tiers", "32k", "shards", 0, "shard"), ("canary",), ("tokenizer", "title")),
    ],
    ids=lambda where: ".".join(map(str, where)),
)
def test_no_name_in_a_manifest_becomes_code_or_a_path(home: Path, where: tuple[Any, ...]) -> None:
    never = ["..", " ", CLIMBING] if where not in (("canary",), ("tokenizer", "title")) else []
    for value in (CODE, "a\nb: c", *never):
        hostile.change_manifest(home / "o200k", lambda manifest: hostile.put(manifest, where, value))  # noqa: B023
        for name in ("export lm-eval", "export inspect", "export verifiers", "gallery", "publish"):
            done = tried(home, name)
            assert done.exit_code == 1
            assert "manifest.json' is not a manifest" in done.stderr, (value, done.stderr)


@pytest.mark.parametrize("changed", [{"release": "../../x"}, {"release": ""}, {"version": ""}, {"variant": "a/b"}])
def test_recut_writes_nowhere_else(home: Path, changed: dict[str, str]) -> None:
    lock = hostile.lock(home / "carrara.lock.json", **changed)
    done = held(["recut", str(lock), "--seed", "random"], home, home / "out")
    assert done.exit_code == 1
    assert f"{next(iter(changed))}: give letters" in done.stderr
    recipe = builds.recipe_file(home / "r.toml", **changed)
    with pytest.raises(RecipeError, match=r"give letters, digits"):
        load_recipe(str(recipe))


def test_a_path_out_of_a_folder_is_refused(tmp_path: Path) -> None:
    assert path_below(tmp_path, "a", "b.txt") == tmp_path / "a" / "b.txt"
    for names in (("..", "x"), ("a", "../../x"), ("/etc/x",)):
        with pytest.raises(BuildError, match="leads out of"):
            path_below(tmp_path, *names)


# Records


@pytest.mark.parametrize(
    "text", [b"{", b"", b"null", b"[]", b'{"tiers": null}', DEEP.encode(), b"\xff\xfe", b'{"a":' * 99_999, b"1" * 9999]
)
def test_what_is_no_manifest_lock_or_recipe_is_one_line(home: Path, text: bytes) -> None:
    (home / "o200k" / "manifest.json").write_bytes(text)
    for name in EVERY:
        assert tried(home, name).exit_code == 1 or name in ("chance", "show row"), name
    (home / "x.json").write_bytes(text)
    assert held(["recut", "x.json", "--seed", "1"], home, home / "out").exit_code == 1
    (home / "recipes").mkdir(exist_ok=True)
    (home / "recipes" / "32k.json").write_bytes(text)
    assert held(["freeze", str(home)], home, home / "out").exit_code == 1


def test_a_recipe_that_is_nested_without_end_is_one_line(home: Path) -> None:
    (home / "r.toml").write_text(f"release = {DEEP}", encoding="ascii")
    assert "is not TOML" in held(["recut", "r.toml", "--seed", "1"], home, home / "out").stderr


def test_a_manifest_without_end_is_not_read(home: Path) -> None:
    path = home / "o200k" / "manifest.json"
    with path.open("ab") as file:
        file.truncate(1 << 40)
    assert "larger than 64 MB" in tried(home, "report").stderr
    path.unlink()
    os.mkfifo(path)
    assert "a device or a pipe" in tried(home, "report").stderr


@pytest.mark.parametrize("rows", [0, -1, 10**9, 10**30])
def test_a_lock_or_recipe_of_a_billion_rows_ends_at_once(home: Path, rows: int) -> None:
    lock, recipe = hostile.lock(home / "carrara.lock.json", rows=rows), builds.recipe_file(home / "r.toml", rows=rows)
    with within(5.0):
        with pytest.raises(FrozenError, match=r"rows: "):
            read_lock(lock)
        held(["verify", "--against", "o200k", "--lock", str(lock), "--rebuild"], home, home / "out")
        with pytest.raises(RecipeError, match=r"rows"):
            load_recipe(str(recipe))


def test_a_lock_that_is_sealed_again_is_held_to_its_types(home: Path) -> None:
    path = hostile.lock(home / "carrara.lock.json")
    sound = {name: value for name, value in json.loads(path.read_text()).items() if name != "digest"}
    for place in [place for place in hostile.places(sound) if place != ("format",)]:
        for value in (None, DEEP[:20] + "]" * 20, {"a": {"b": 1}}, ...):
            table = json.loads(json.dumps(sound))
            hostile.put(table, place, value)
            path.write_text(json.dumps({**table, "digest": digest(table)}), encoding="ascii")
            with contextlib.suppress(FrozenError):
                read_lock(path)


@pytest.mark.parametrize("name", EVERY)
def test_metadata_that_is_none_is_one_line(home: Path, name: str) -> None:
    for text in ("{", "[]", "null", DEEP, '{"latent": 1}', '{"baselines": {"uniform": null}}', '{"n_needles": "../x"}'):
        hostile.recast(home / "o200k", "metadata", text)
        done = tried(home, name)
        assert done.exit_code == 1 or name in ("report", "show", "run", "readers") or name.startswith("export"), text


@pytest.mark.parametrize("name", ["score", "gallery", "report scores", "chance"])
def test_an_unknown_scorer_is_named(home: Path, name: str) -> None:
    hostile.recast(home / "o200k", "scorer", "rouge")
    assert "scorer 'rouge'" in tried(home, name).stderr or name == "chance"


@pytest.mark.parametrize("name", EXPORT)
def test_rows_with_one_id_are_one_line(home: Path, name: str) -> None:
    hostile.recast(home / "o200k", "id", "1")
    tried(home, name)


def test_a_length_that_no_stratum_has_is_named(home: Path) -> None:
    hostile.recast(home / "o200k", "length", 1)
    assert "rows of length 1, but its manifest has no such stratum" in tried(home, "report").stderr


# The command


def test_control_characters_are_shown_as_they_are_written(home: Path) -> None:
    hostile.recast(home / "o200k", "prompt", "\x1b[2J\x1b]0;title\x07 \u202e text\r")
    done = tried(home, "show row")
    assert "\\x1b[2J\\x1b]0;title\\x07 \\u202e text\\r" in done.stdout
    assert "\\x1b[2J" in held(["score", "\x1b[2J", "x"], home, home / "out").stderr


def test_what_nobody_foresaw_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr(groups.LazyGroup, "get_command", failing)
    done = CliRunner().invoke(cli, ["recipes"])
    assert done.exit_code == 1
    assert done.stderr.startswith("carrara: ZeroDivisionError: a b: ")
    assert "carrara --debug" in done.stderr
    assert done.stderr.count("\n") == 1
    assert isinstance(CliRunner().invoke(cli, ["--debug", "recipes"]).exception, ZeroDivisionError)


LOADING = (
    "import signal, sys, types; sys.argv = ['carrara', 'recipes']\n{when}\nfrom pipeline.__main__ import main\nmain()"
)
HOOK = """
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal({number})
sys.meta_path.insert(0, Hook())
"""


@pytest.mark.parametrize("module", ["pipeline.cli.group", "pipeline.cli.show", "pyarrow"])
def test_an_interrupt_while_modules_load_is_one_line(module: str) -> None:
    code = LOADING.format(when=HOOK.format(module=module, number=int(signal.SIGINT)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "carrara: interrupted: run the same command again to continue\n"


def test_sigterm_says_its_line_and_ends_the_process(tmp_path: Path) -> None:
    recipe = builds.recipe_file(tmp_path / "tiny.toml")
    out = tmp_path / "out"
    with builds.Running("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", 1, pause=0.05) as running:
        running.when(lambda: list(out.glob("o200k/data/bio/32k/*.part-*")))
        os.kill(running.process.pid, signal.SIGTERM)
        code, stderr = running.ended()
    assert code == -signal.SIGTERM
    assert builds.lines(stderr) == ["carrara: interrupted: run the same command again to continue"]
    assert not builds.halves(out)


# Fuzz

values = st.sampled_from([*HOSTILE, ...])


@pytest.mark.faults
@few
@given(data=st.data())
def test_any_manifest(home: Path, data: st.DataObject) -> None:
    path = home / "o200k" / "manifest.json"
    sound = path.read_bytes()
    manifest = json.loads(sound)
    for _ in range(data.draw(st.integers(1, 2))):
        hostile.put(manifest, data.draw(st.sampled_from(list(hostile.places(manifest)))), data.draw(values))
    try:
        path.write_text(json.dumps(manifest), encoding="ascii")
        tried(home, data.draw(st.sampled_from(EVERY)))
    finally:
        path.write_bytes(sound)


@pytest.mark.faults
@few
@given(column=st.sampled_from([column.name for column in COLUMNS]), value=values, name=st.sampled_from(EVERY))
def test_any_row(home: Path, column: str, value: Any, name: str) -> None:
    shutil.copytree(home / "o200k", home / "sound")
    try:
        hostile.recast(home / "o200k", column, None if value is ... else value)
        tried(home, name)
    finally:
        shutil.rmtree(home / "o200k")
        (home / "sound").rename(home / "o200k")


@pytest.mark.faults
@few
@given(data=st.data())
def test_any_lock(home: Path, data: st.DataObject) -> None:
    path = hostile.lock(home / "carrara.lock.json")
    table = {name: value for name, value in json.loads(path.read_text()).items() if name != "digest"}
    hostile.put(table, data.draw(st.sampled_from(list(hostile.places(table)))), data.draw(values))
    path.write_text(json.dumps({**table, "digest": digest(table)}), encoding="ascii")
    asked = data.draw(
        st.sampled_from(
            [
                ["recut", str(path), "--seed", "random", "--out", str(home / "out" / "r.toml")],
                ["verify", "--against", "o200k", "--lock", str(path), "--workers", "1"],
                ["freeze", str(home)],
            ]
        )
    )
    held(asked, home, home / "out")
    (home / "out" / "r.toml").unlink(missing_ok=True)


@pytest.mark.faults
@few
@given(data=st.data())
def test_any_recipe(home: Path, data: st.DataObject) -> None:
    cell = {
        "family": "bio",
        "subtasks": ["standard"],
        "complexity": [1],
        "lengths": [2048],
        "rows": 6,
        "knobs": {"depth": "first"},
    }
    recipe: dict[str, Any] = {"release": "made", "version": "1.0.0", "seed": 7, "tier": "32k", "strata": [cell]}
    hostile.put(recipe, data.draw(st.sampled_from(list(hostile.places(recipe)))), data.draw(values))
    try:
        (home / "r.toml").write_text(tomlkit.dumps(recipe), encoding="utf-8")
    except (TypeError, ValueError, TOMLKitError):
        return
    held(["recut", "r.toml", "--seed", "9", "--out", str(home / "out" / "new.toml")], home, home / "out")
    (home / "out" / "new.toml").unlink(missing_ok=True)
    held(["plan", "r.toml", "--tokenizer", "o200k", "--out", str(home / "out" / "v")], home, home / "out")
