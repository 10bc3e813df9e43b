"""The docs say what is so: tables and pictures come from the code, links lead somewhere, commands exist, blocks run."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from pipeline.artifacts.split import Split, open_split
from pipeline.cli import cli
from pipeline.cli.group import COMMANDS
from pipeline.export import EXPORTS
from pipeline.recipe import load_recipe
from pipeline.tasks.base import CorpusKnob

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
FENCE = re.compile(r"^```([a-z]*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def blocks(path: Path, *kinds: str) -> list[str]:
    return [body for kind, body in FENCE.findall(path.read_text(encoding="utf-8")) if kind in kinds]


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head).replace("`", "").lower() for head in heads)
    return {re.sub(r"[^\w\- ]", "", head).strip().replace(" ", "-") for head in plain}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of every `carrara` command of a page, of code blocks and of lines of code."""
    text = page.read_text(encoding="utf-8")
    code = [line for body in blocks(page, "bash", "console", "") for line in body.splitlines()]
    code += re.findall(r"^    (carrara .+)$", text, re.MULTILINE)
    for line in code:
        if line.removeprefix("$ ").startswith("carrara "):
            yield shlex.split(line.removeprefix("$ "), comments=True)[1:]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_take_what_pages_give_them(page: Path) -> None:
    for words in commands(page):
        with cli.make_context("carrara", list(words), resilient_parsing=False) as context:
            rest = [*context._protected_args, *context.args]
            if rest:
                name, command, given = cli.resolve_command(context, rest)
                assert name
                assert isinstance(command, click.Command)
                command.make_context(name, given, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_make_targets_of_pages_exist(page: Path) -> None:
    rules = re.findall(r"^([a-z0-9 -]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    targets = {name for rule in rules for name in rule.split()}
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"(?:`|^    |^)make ([a-z0-9-]+)", text, re.MULTILINE):
        assert name in targets, name


RUN = [path for path in PAGES if blocks(path, "python") and not path.name.startswith("add-")]


@pytest.mark.parametrize("page", RUN, ids=[str(path.relative_to(ROOT)) for path in RUN])
def test_python_on_pages_runs(page: Path, split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after another, beside a small build in the folder that pages name."""
    folder = tmp_path / "outputs" / "v3.0.0"
    folder.mkdir(parents=True)
    (folder / "o200k").symlink_to(split.folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    names: dict[str, object] = {}
    for body in blocks(page, "python"):
        exec(compile(body, str(page), "exec"), names)


def test_tables_come_from_the_code() -> None:
    tables = tool("write_tables")
    for page in tables.pages():
        assert page.read_text(encoding="utf-8") == tables.written(page), f"{page.name}: run `make docs-tables`"


def test_the_flow_is_drawn_as_it_is() -> None:
    flow = tool("draw_flow")
    assert (ROOT / flow.PICTURE).read_text(encoding="utf-8") == flow.picture(), "run `make docs-tables`"
    for name, _ in flow.USE:
        assert name in COMMANDS


def test_the_readme_has_the_commands_that_set_everything_up() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^    (make \S+)", readme, re.MULTILINE) == ["make build-128k", "make test"]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").endswith("exec make test\n")


def test_every_knob_is_on_the_page_of_its_family_with_its_values() -> None:
    for (family, subtask), task in tool("write_tables").TASKS.items():
        page = " ".join((ROOT / "docs" / "tasks" / f"{family}.md").read_text(encoding="utf-8").split())
        for name, allowed in task.knobs.items():
            values = "" if isinstance(allowed, CorpusKnob) else f" ({', '.join(map(str, allowed))}"
            assert f"`{name}`{values}".lower() in page.lower(), f"{family}.md: {name} of {subtask}{values})"


def test_every_family_of_a_recipe_has_a_page_and_every_harness_an_entry() -> None:
    index = (ROOT / "docs" / "tasks" / "index.md").read_text(encoding="utf-8")
    for family, subtask in tool("write_tables").TASKS:
        page = (ROOT / "docs" / "tasks" / f"{family}.md").read_text(encoding="utf-8")
        assert f"<!-- table: tasks_{family} -->" in page, f"{family}.md has no table of its subtasks"
        assert f"`{subtask}`" in page, f"{family}.md does not name {subtask}"
        assert f"({family}.md)" in index, f"index.md does not name {family}"
    page = (ROOT / "docs" / "harnesses" / "index.md").read_text(encoding="utf-8")
    told = re.findall(r"\*\*`(.+?)`\*\*", page)
    assert told == list(EXPORTS)


EXAMPLE = re.compile(
    r"^From `([a-z_]+-\S+)`.*?\n```text\n(.*?)^(?:relevant:.*\n)?answer: +(.+?)\n```$", re.DOTALL | re.MULTILINE
)
EXAMPLES = [path for path in PAGES if path.parent.name == "tasks" and path.name != "index.md"]


@pytest.mark.parametrize("page", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_of_tasks_are_rows_of_the_smoke_set(page: Path, release: Path) -> None:
    found = EXAMPLE.search(page.read_text(encoding="utf-8"))
    assert found, f"{page.name} has no example with the id of its row"
    rows = open_split(release / "o200k").rows(["id", "prompt", "target"])
    row = next((row for row in rows if row["id"] == found[1]), None)
    assert row, f"{page.name}: the smoke set has no row {found[1]}"
    prompt, place = " ".join(row["prompt"].split()), 0
    for part in found[2].split("[...]"):
        said = " ".join(part.split())
        place = prompt.find(said, place)
        assert place >= 0, f"{page.name}: not in the prompt of {row['id']}, or not there: {said}"
    assert row["target"].startswith(found[3].removesuffix("[...]").strip())


def test_errors_that_the_faq_quotes_are_in_the_code() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "pipeline").rglob("*.py")))
    code = re.sub(r'"\s*\n\s*f?"', "", text)  # literals that go on in the next line
    quoted = re.findall(r"^### `(.+)`$", (ROOT / "docs" / "faq.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert quoted
    for error in quoted:  # dots stand for a name, a number or the rest
        parts = map(re.escape, filter(None, re.split(r"\s*\.\.\.\s*", error)))
        assert re.search(r".{0,80}?".join(parts), code), f"no message says {error!r}"


def test_the_recipe_behind_a_page_has_the_rows_that_it_states() -> None:
    recipe = load_recipe(str(ROOT / "examples" / "weak.toml"))
    page = (ROOT / "docs" / "which-weakness.md").read_text(encoding="utf-8")
    assert f"on {sum(cell.rows for cell in recipe.strata)} rows" in page


def test_the_site_lists_every_page() -> None:
    said = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert str(page.relative_to(ROOT / "docs")) in said, f"{page.name} is missing in mkdocs.yml"
