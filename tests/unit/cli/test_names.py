"""Names: earlier ones and those of other tools work, and what is missing is said with what could be given."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import builds
from pipeline.artifacts.split import Split
from pipeline.cli import cli
from pipeline.cli.names import COMMANDS, OPTIONS, OTHERS, current_options

RUN = {
    "--base-url",
    "--model",
    "--out",
    "--max-concurrency",
    "--max-retries",
    "--extra-body",
    "--max-length",
    "--limit",
}


def carrara(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.parametrize("name", COMMANDS)
def test_an_earlier_command_works_and_names_the_new_one(name: str) -> None:
    done = carrara(name, "--help")
    assert done.exit_code == 0
    assert done.stderr == f"carrara: `{name}` is now `{' '.join(COMMANDS[name])}`\n"
    assert f"\n  {name} " not in carrara("--help").stdout


def test_earlier_options_become_the_new_ones(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--endpoint", "http://h/v1", "--tries=3", "--workers", "8", "--option", "top_p=0.9", "--out", "m.jsonl"]
    assert current_options(words, RUN) == [
        *("--base-url", "http://h/v1", "--max-retries=2", "--max-concurrency", "8"),
        *("--extra-body", "top_p=0.9", "--out", "m.jsonl"),
    ]
    assert capsys.readouterr().err.splitlines() == [
        f"carrara: {old} is now {OPTIONS[old]}" for old in ("--endpoint", "--tries", "--workers", "--option")
    ]
    assert current_options(["--tries", "1"], RUN) == ["--max-retries=0"]
    assert current_options(["--workers", "2"], {"--workers", "--max-concurrency"}) == ["--workers", "2"]


def test_options_of_other_tools_are_taken_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--base_url", "u", "--num_concurrent", "4", "-o", "f", "--max-model-len=9", "--", "--endpoint", "x_y"]
    assert current_options(words, RUN) == [
        *("--base-url", "u", "--max-concurrency", "4", "--out", "f", "--max-length=9", "--", "--endpoint", "x_y"),
    ]
    assert current_options(["--no_such", "--kept"], RUN) == ["--no_such", "--kept"]
    assert capsys.readouterr().err == ""
    assert not OPTIONS.keys() & OTHERS.keys()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan"], "Missing argument 'RECIPE': give 128k, "),
        (["show"], "Missing argument 'SPLIT': give the folder of a split"),
        (["score", "here"], "give the file that `carrara run` or a harness wrote"),
        (["export", "foo", "here"], "unknown harness 'foo' (known: "),
        (["build", "smoke", "--size", "lite"], "build the default size, then use run --size lite"),
    ],
)
def test_what_is_missing_is_said_with_what_could_be_given(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = carrara(*words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert said in done.stderr


def test_splits_that_are_there_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outputs" / "v1" / "o200k").mkdir(parents=True)
    (tmp_path / "outputs" / "v1" / "o200k" / "manifest.json").touch()
    assert "give a split, such as outputs/v1/o200k; " in carrara("export", "lm-eval").stderr
    assert "give a split, such as outputs/v1/o200k; " in carrara("score").stderr


def test_a_run_needs_a_server_but_a_dry_run_does_not(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CARRARA_BASE_URL", "CARRARA_ENDPOINT", "OPENAI_BASE_URL", "CARRARA_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert "Missing option '--base-url'" in carrara("run", split.folder).stderr
    assert "Missing option '--model'" in carrara("check-server", split.folder, "--base-url", "http://h/v1").stderr
    done = carrara("run", split.folder, "--dry-run", "--input-price", "1", "--output-price", "2", "--length", "2048")
    assert done.exit_code == 0, done.output
    rows = [row for row in split.rows() if row["length"] == 2048]
    sent = sum(row["prompt_tokens"] + row["template_tokens"] for row in rows)
    most = sum(row["max_new_tokens"] for row in rows)
    head, first, *_ = done.stdout.splitlines()
    assert head.split() == ["length", "rows", "prompt", "tokens", "reply", "at", "most", "cost"]
    words = first.split()
    assert (words[0], words[1], words[2], words[4]) == ("2,048", str(len(rows)), f"{sent:,}", f"{most:,}")
    assert 0 < int(words[3].replace(",", "")) < most
    assert words[-1] == f"${(sent + 2 * most) / 1e6:.2f}"
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_plan_shows_what_a_run_on_it_costs(tmp_path: Path) -> None:
    recipe = builds.recipe_file(tmp_path / "tiny.toml", rows=30)
    done = carrara("plan", recipe, "--tokenizer", "o200k", "--tokens-per-second", "1000")
    table = done.stdout.partition("to run a model on it (o200k)\n")[2].splitlines()[:3]
    assert [line.split()[0] for line in table] == ["size", "lite", "all"]
    assert "time" in table[0]
    assert [line.split()[1] for line in table[1:]] == ["48", "60"]
    assert max(map(len, table)) <= 80
