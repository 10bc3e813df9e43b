"""The tutorial's commands print what the tutorial shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from frozen_releases import carrara

STEP = re.compile(
    r"```toml\n(?P<toml>.*?)```|(?P<commands>(?:^    carrara [^\n]*\n)+)|```text\n(?P<shown>.*?)```",
    re.MULTILINE | re.DOTALL,
)
ELSEWHERE = (["build", "smoke"], ["report", "outputs/v3.0.0-smoke/o200k"])
"""Commands that other tests run."""


def test_what_is_shown_is_printed(root: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "v3.0.0-smoke").symlink_to(release)
    tutorial = (root / "docs" / "tutorial.md").read_text(encoding="utf-8")
    printed, compared = "", 0
    for step in STEP.finditer(tutorial):
        if step["toml"]:
            (tmp_path / "mine.toml").write_text(step["toml"], encoding="utf-8")
        elif step["commands"]:
            commands = [line.split()[1:] for line in step["commands"].splitlines()]
            done = [carrara(*words) for words in commands if words[:2] not in ELSEWHERE]
            # A score of a reader that leaves out rows exits with 2.
            assert all(each.exit_code in (0, 2) for each in done), [each.output for each in done]
            printed = "".join(each.stdout for each in done)
        else:
            _found_in_order(step["shown"], printed)
            compared += 1
    assert compared == 4


def _found_in_order(shown: str, printed: str) -> None:
    at = 0
    for part in (part.strip() for line in shown.splitlines() for part in line.split("...")):
        at = printed.find(part, at)
        assert at >= 0, f"{part!r} is not printed, or not there:\n{printed}"
        at += len(part)
