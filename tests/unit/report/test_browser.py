"""Report pages in a real browser: nothing is cut off at the width of a desk or of a phone, and nothing runs or loads.

Run by `make test-browser`; CHROMIUM names the browser, which has to be there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import builds
from pipeline.artifacts.split import open_split
from pipeline.report import build_page, html_of, score_page
from pipeline.score.scoring import score_predictions

pytestmark = pytest.mark.browser

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
    "--hide-scrollbars", "--virtual-time-budget=8000",
)  # fmt: skip
FRAME = """<!DOCTYPE html><html><body style="margin:0">
<iframe id="frame" style="border:0" width="{width}" height="900" src="page.html"></iframe>
<pre id="seen"></pre>
<script>
frame.onload = () => {{
  const page = frame.contentDocument, root = page.documentElement;
  const boxes = [...page.querySelectorAll("body *")].filter((each) => !each.closest(".scroll, pre, .skip, .unseen"));
  const wide = boxes.filter((each) => each.getBoundingClientRect().right > {width} + 1).map((each) => each.outerHTML);
  const shown = [...page.querySelectorAll("svg.figure")].filter((each) => each.checkVisibility());
  const drawn = shown.map((each) => each.getBoundingClientRect().width);
  const verdicts = [...page.querySelectorAll(".verdicts li")].map((each) => each.getBoundingClientRect().bottom);
  const scrolls = [...page.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth);
  const look = (each) => frame.contentWindow.getComputedStyle(each).backgroundImage;
  const fonts = [...page.querySelectorAll(".front text")].filter((each) => each.checkVisibility());
  seen.textContent = JSON.stringify({{
    room: root.clientWidth, wide: root.scrollWidth, cut: wide.slice(0, 3), narrowest: Math.min(...drawn),
    hacked: frame.contentWindow.hacked === true,
    loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
    opened: page.querySelectorAll("details[open]").length,
    verdicts: verdicts.length ? Math.max(...verdicts) : 0,
    fronts: [...page.querySelectorAll(".front svg")].filter((each) => each.checkVisibility()).length,
    letters: Math.min(...fonts.map((each) => each.getBoundingClientRect().height)),
    reachable: scrolls.every((each) => each.tabIndex === 0 && each.getAttribute("aria-label")),
    shadowed: scrolls.filter((each) => !each.querySelector("svg")).every((each) => look(each).includes("gradient")),
  }});
}};
</script></body></html>
"""
HOSTILE = "</pre><script>window.hacked = true</script><img src=x onerror='window.hacked = true'>" + "w" * 3000


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("browser")
    builds.stages(builds.recipe_file(out / "tiny.toml", rows=3), out / "built", ("o200k", "llama3.1")).build()
    splits = [open_split(out / "built" / name) for name in ("o200k", "llama3.1")]
    lines = (json.dumps({"id": row["id"], "prediction": HOSTILE}) for row in splits[0].key_rows(["id"]))
    (out / "said.jsonl").write_text("\n".join(lines), encoding="ascii")
    scored = [score_predictions(splits[:1], [out / "said.jsonl"], model=name) for name in ("m" * 90, HOSTILE, "short")]
    return {"scores": html_of(score_page([splits[:1]] * len(scored), scored)), "build": html_of(build_page(splits))}


def seen_by(html: str, width: int, folder: Path) -> dict[str, Any]:
    """Open a page at a width and return what the browser made of it."""
    (folder / "page.html").write_text(html, encoding="utf-8")
    (folder / "frame.html").write_text(FRAME.format(width=width), encoding="ascii")
    command = [os.environ.get("CHROMIUM") or "chromium", *QUIET, f"--user-data-dir={folder / 'profile'}"]
    command += ["--window-size=1500,1000", "--dump-dom", (folder / "frame.html").as_uri()]
    dumped = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="seen">(.+?)</pre>', dumped, re.DOTALL)
    assert found, "the page did not load"
    seen: dict[str, Any] = json.loads(unescape(found[1]))
    return seen


@pytest.mark.parametrize("width", [1440, 390, 320])
@pytest.mark.parametrize("kind", ["scores", "build"])
def test_nothing_is_cut_off_runs_or_loads(pages: dict[str, str], kind: str, width: int, tmp_path: Path) -> None:
    seen = seen_by(pages[kind], width, tmp_path)
    assert seen["wide"] == seen["room"] == width
    assert not seen["cut"]
    assert seen["narrowest"] >= 0.8 * min(width, 400)
    assert not seen["hacked"]
    assert seen["loaded"] == 0
    assert seen["opened"] == 0
    assert seen["reachable"], "what scrolls can be scrolled by key, and has a name"
    assert seen["shadowed"], "a table that goes on shows it"
    if kind == "scores":
        assert seen["fronts"] == 1
        assert 0 < seen["verdicts"] <= 900, "how far models read is said on the first screen"
        assert seen["letters"] >= 9
