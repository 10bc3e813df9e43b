"""Looking at splits: of a release folder, of one tokenizer's, of a data set on the Hub, with and without keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from loopback import Hub
from loopback.client import CLIENTS_OWN
from pipeline.artifacts.split import Split
from pipeline.cli import cli
from pipeline.publish.hub import release
from pipeline.publish.staging import Staged
from published_build import REPO

HARD = "idk-stories-32k-4096-0000"


def carrara(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def row_id(split: Split) -> str:
    return f"{HARD}-{split.tags['32k']}"


def test_a_release_folder_and_a_tokenizers_folder_are_shown_alike(split: Split) -> None:
    for command in (["show"], ["show", row_id(split)], ["baselines"]):
        release_folder = carrara(command[0], split.folder.parent, *command[1:])
        assert release_folder.exit_code == 0
        assert carrara(command[0], split.folder, *command[1:]).stdout == release_folder.stdout


@CLIENTS_OWN
def test_a_data_set_is_shown_as_the_build_it_came_from(hub: Hub, split: Split, inline: Path) -> None:
    release(inline, REPO, "1.0.0")
    for command in (["show"], ["show", row_id(split)], ["baselines"]):
        there = carrara(command[0], f"{REPO}@v1.0.0", *command[1:])
        assert there.stdout == carrara(command[0], split.folder, *command[1:]).stdout
    assert hub.lines("GET")


@CLIENTS_OWN
def test_a_data_set_is_shown_by_its_url(hub: Hub, split: Split, inline: Path) -> None:
    """With a tag it is the same release; without one it is read in place, as it is now."""
    release(inline, REPO, "1.0.0")
    told = carrara("show", split.folder).stdout
    assert carrara("show", f"hf://datasets/{REPO}@v1.0.0").stdout == told
    fetched = len(hub.lines("GET"))
    assert carrara("show", f"hf://datasets/{REPO}").stdout == told
    assert len(hub.lines("GET")) > fetched


def test_where_keys_are_withheld_the_prompt_is_shown_and_nothing_else(apart: Staged, split: Split) -> None:
    listed = carrara("show", apart.folder)
    assert listed.exit_code == 0
    assert "complexity" not in listed.stdout
    done = carrara("show", apart.folder, row_id(split))
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "accepted: withheld")
    assert "[relevant" not in done.stdout
    assert "has no keys" in carrara("baselines", apart.folder).stderr
    assert carrara("baselines", apart.keys).stdout == carrara("baselines", split.folder).stdout
    assert "complexity" in carrara("show", apart.keys).stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["show", "{release}", "--tokenizer", "o20k"], "did you mean 'o200k'? (known: o200k)"),
        (["show", "{folder}", "--tokenizer", "qwen2.5"], "is one tokenizer's folder: leave out --tokenizer"),
        (
            ["show", "nowhere"],
            "no folder 'nowhere': give the folder of a split, or a published set with its tag, such as org/name@v1.0.0",
        ),
        (
            ["score", "org/name", "x.jsonl"],
            "no folder 'org/name': give the folder of a split, or a published set with its tag",
        ),
        (["export", "lm-eval", "hf://datasets/name@v1"], "'name' is not the name of a repo: give org/name"),
        (["score", "org/name@", "x.jsonl"], "has no tag after the @"),
    ],
)
def test_wrong_places_are_named_alike_by_all_commands(given: list[str], said: str, split: Split) -> None:
    done = carrara(*(each.format(release=split.folder.parent, folder=split.folder) for each in given))
    assert (done.exit_code, said in done.stderr) == (1, True), done.stderr


def test_a_complexity_is_not_asked_of_a_split_without_keys(apart: Staged) -> None:
    done = carrara("export", "openai-batch", apart.folder, "--complexity", "5", "--out", apart.folder / "never")
    assert (done.exit_code, "does not give the complexity of its rows" in done.stderr) == (1, True), done.stderr
