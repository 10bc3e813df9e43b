"""Who shares a machine with the maintainer learns neither seeds, nor keys, nor the API key."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import builds
from frozen_releases import CELLS, carrara, error_line, succeeded, written
from pipeline.artifacts.split import open_split
from pipeline.cli import cli
from pipeline.cli.options import api_key
from pipeline.errors import RecipeError
from pipeline.publish.staging import stage

SECRET = 0xD1B54A32D192ED03AAF51CB1E0F2C6B7
TELLING = ("recipes", "samples", "o200k/data", "o200k/keys", "o200k/manifest.json", "carrara.lock.json")


def open_to_others(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in builds.files(folder) if path.stat().st_mode & 0o077]


def test_what_tells_a_secret_seed_or_its_keys_is_for_its_owner_alone(tmp_path: Path) -> None:
    out = tmp_path / "v1.0.0"
    builds.stages(written(tmp_path / "tiny.toml", CELLS[1:2], seed=SECRET), out).build()
    succeeded(carrara("freeze", out, "--lock", tmp_path / "tiny.lock.json"))
    assert not [name for name in open_to_others(out) if name.startswith(TELLING)]
    assert (tmp_path / "tiny.lock.json").stat().st_mode & 0o077 == 0
    made = stage(open_split(out), tmp_path / "public", keys="withhold", repo="org/tiny")
    assert made.keys
    assert made.keys.stat().st_mode & 0o077 == 0
    assert open_to_others(made.keys) == []
    succeeded(carrara("extend", out, "--tokenizer", "cl100k"))
    assert not [name for name in open_to_others(tmp_path / "v1.1.0") if name.startswith(TELLING)]


def test_what_anyone_could_make_is_for_anyone(tmp_path: Path) -> None:
    builds.stages(written(tmp_path / "tiny.toml", CELLS[1:2]), tmp_path / "out").build()
    assert len(open_to_others(tmp_path / "out")) == len(builds.files(tmp_path / "out"))


@pytest.mark.parametrize("command", ["run", "corpus write"])
def test_an_api_key_is_not_taken_from_the_command_line(command: str, tmp_path: Path) -> None:
    """`ps` shows it to every user of the machine."""
    line = error_line(CliRunner().invoke(cli, [*command.split(), str(tmp_path), "--key", "sk-0123456789abcdef"]))
    assert "--key" in line
    assert "sk-" not in line


def test_an_api_key_is_read_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("sk-file\n", encoding="ascii")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    assert api_key(None) == "sk-theirs"
    monkeypatch.setenv("CARRARA_API_KEY", "sk-ours ")
    assert api_key(None) == "sk-ours"
    assert api_key(tmp_path / "key") == "sk-file"
    monkeypatch.setenv("OTHER", "sk-other")
    assert api_key(None, "OTHER") == "sk-other"
    with pytest.raises(RecipeError, match="--api-key-env MISSING: this environment variable is not set"):
        api_key(None, "MISSING")
    with pytest.raises(RecipeError, match="both give the API key"):
        api_key(tmp_path / "key", "OTHER")
    for bad in (tmp_path, tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(RecipeError, match=r"--key-file .* cannot be read"):
            api_key(bad)
