"""The house keeps its order: imports run one way, folders hold what they may, docs say what is there."""

from __future__ import annotations

import ast
import importlib
import json
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType

import click
import pytest
from click.testing import CliRunner

import pipeline
from pipeline.cli import cli
from pipeline.cli.group import COMMANDS, GROUPS
from pipeline.metrics.join import joined_metrics
from pipeline.schema import schemas

ORDER = (
    *("version", "errors", "terminal", "storage", "typed", "caches", "languages", "streams", "turns", "metrics"),
    *("recipe", "rows"),
    *("executors", "worlds", "corpora", "profiles", "tasks", "artifacts", "assemble", "verify", "baselines"),
    *("training", "stages", "release", "inference", "export", "figures", "publish", "score", "report", "schema", "cli"),
    *("bench", "__main__"),
)
"""The modules and folders below `pipeline`, from the ground up: each imports only what stands before it."""

FORBIDDEN = {
    "typed": {"storage"},
    "worlds": {"recipe", "tasks"},
    "recipe": {"worlds", "tasks", "profiles"},
    "tasks": {"profiles", "artifacts", "rows"},
    "artifacts": {"tasks", "profiles", "worlds"},
    "executors": {"tasks", "profiles", "recipe"},
    "score": {"assemble", "verify", "tasks", "profiles"},
    "export": {"assemble", "verify", "profiles"},
}


@cache
def import_nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path) -> set[str]:
    """Return the modules below `pipeline` that a file imports, by their first name."""
    found = set()
    for node in import_nodes(path):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import) or names == ["pipeline"]:
            names = [".".join([*names, alias.name]) for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("pipeline.")}
    return found


def modules(root: Path) -> list[tuple[str, Path]]:
    files = sorted((root / "pipeline").rglob("*.py"))
    named = [(path.relative_to(root / "pipeline").parts[0].removesuffix(".py"), path) for path in files]
    return [(name, path) for name, path in named if name != "__init__"]


def test_imports_run_one_way(root: Path) -> None:
    for name, path in modules(root):
        assert name in ORDER, f"{path} has no place in the order"
        later = {other for other in imports(path) if ORDER.index(other) > ORDER.index(name)}
        assert not later, f"{path} imports {sorted(later)}, which stand later"
        assert not imports(path) & FORBIDDEN.get(name, set()), f"{path} imports what it may not know"


def test_scorers_need_the_standard_library_alone() -> None:
    for node in ast.walk(ast.parse(joined_metrics())):
        for alias in node.names if isinstance(node, ast.Import) else []:
            assert alias.name.split(".")[0] in sys.stdlib_module_names
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, and of each what it imports by name, in dots."""
    found = set()
    for node in import_nodes(path):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        else:
            found |= {alias.name for alias in node.names}
    return found


def test_no_family_knows_the_inside_of_another(root: Path) -> None:
    families = {path.parent.name: [*path.parent.glob("*.py")] for path in root.glob("pipeline/tasks/*/__init__.py")}
    for shared in ("haystacks", "documents", "annals", "corpus"):
        del families[shared]
    seen = {
        (name, other)
        for name, paths in families.items()
        for module in set().union(*map(imported, paths))
        for other in families
        if other != name and f"{module}.".startswith(f"pipeline.tasks.{other}.")
    }
    assert not seen


def test_no_solver_reads_the_words_of_its_writer(root: Path) -> None:
    seen = set()
    for path in root.glob("pipeline/tasks/*/*solve.py"):
        parts = (module.split(".") for module in imported(path) if module.startswith("pipeline.tasks."))
        if any(part == "text" or part.endswith("_text") for module in parts for part in module[2:]):
            seen.add(f"{path.parent.name}/{path.stem}")
    assert not seen


def test_public_methods_say_what_they_do_or_override_one_that_does() -> None:
    found = (each.name for each in walk_packages(pipeline.__path__, "pipeline."))
    names, bare = [name for name in found if not name.endswith(".__main__")], []
    for module in map(importlib.import_module, names):
        for kind in (kind for name, kind in vars(module).items() if isinstance(kind, type) and name[0] != "_"):
            for name, member in vars(kind).items() if kind.__module__ == module.__name__ else ():
                method = isinstance(member, FunctionType | property | classmethod | staticmethod)
                public = getattr(member, "__name__", name) == name and not name.startswith("_")
                if method and public and not member.__doc__:
                    inherited = (vars(base)[name] for base in kind.__mro__[1:] if name in vars(base))
                    bare += [f"{kind.__qualname__}.{name}"] if not any(each.__doc__ for each in inherited) else []
    assert not bare, f"no docstring, own or inherited: {bare}"


@pytest.mark.parametrize("folder", ["tokenizers", "schemas", "outputs"])
def test_data_folders_hold_no_python(root: Path, folder: str) -> None:
    tracked = subprocess.run(["git", "ls-files", folder], cwd=root, capture_output=True, text=True, check=True).stdout
    assert tracked.strip()
    assert not [name for name in tracked.split() if name.endswith(".py")]


def test_the_folder_of_profiles_does_not_shadow_hugging_face(root: Path) -> None:
    run = "from tokenizers import Tokenizer; print(Tokenizer.__name__)"
    seen = subprocess.run([sys.executable, "-c", run], cwd=root, capture_output=True, text=True, check=True)
    assert seen.stdout == "Tokenizer\n"


def test_schemas_are_those_of_the_code(root: Path) -> None:
    written = {path.name: json.loads(path.read_text(encoding="ascii")) for path in (root / "schemas").glob("*.json")}
    assert written == schemas(), "run `make schemas`"


def test_the_list_of_commands_is_short_and_whole() -> None:
    seen = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.splitlines()
    listed = [line for line in seen[seen.index("Build:") :] if line.startswith("  ")]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert [line for line in seen if line.removesuffix(":") in GROUPS] == [f"{title}:" for title in GROUPS]
    assert all(line.endswith(".") and not line.endswith("..") for line in listed)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_is_one_that_it_takes(name: str) -> None:
    context = click.Context(cli)
    command, words = cli, shlex.split(COMMANDS[name].example)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found
        command = found
    options, arguments, _ = command.make_parser(click.Context(command)).parse_args(words)
    wanted = [each for each in command.params if isinstance(each, click.Argument) and each.required]
    assert all(options[each.name] for each in wanted if each.name)
    assert not arguments
    assert f"Example: carrara {COMMANDS[name].example}" in " ".join(
        CliRunner().invoke(cli, [name, "--help"]).output.split()
    )


def test_a_missing_argument_is_named_with_an_example() -> None:
    seen = CliRunner().invoke(cli, ["build"])
    assert seen.exit_code == 1
    start, end = (
        "carrara: Missing argument 'RECIPE': give 128k, ",
        "; for example, `carrara build smoke --tokenizer o200k`\n",
    )
    assert seen.stderr.startswith(start)
    assert seen.stderr.endswith(end)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_starts_light(option: str) -> None:
    heavy = ("numpy", "pyarrow", "jinja2", "tiktoken", "splintr", "huggingface_hub", "matplotlib", "pipeline.tasks")
    run = (
        "import sys\nfrom pipeline.cli import cli\n"
        f"try:\n    cli([{option!r}])\nfinally:\n"
        f"    print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)"
    )
    seen = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert seen.stdout
    assert seen.stderr.split() == []


@pytest.mark.parametrize("command", ["score", "report", "run"])
def test_commands_that_build_nothing_load_no_task(command: str) -> None:
    run = (
        f"import sys\nfrom pipeline.cli import cli\ntry:\n    cli([{command!r}, '--help'])\nfinally:\n"
        "    print(*(name for name in ('pipeline.tasks', 'pipeline.assemble') if name in sys.modules), file=sys.stderr)"
    )
    seen = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert seen.stdout
    assert seen.stderr.split() == []


def test_nothing_tracked_names_a_host_of_packages(root: Path) -> None:
    pattern = "|".join(["index" + "-url", "/simple" + "/", "files[.]python" + "hosted"])
    seen = subprocess.run(
        ["git", "grep", "-lE", pattern, "--", ":!tests/unit/docs/test_house.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not seen.stdout


@pytest.mark.parametrize("room", ["tasks", "worlds", "corpora"])
def test_what_jobs_keep_is_registered(root: Path, room: str) -> None:
    """A process that needs the room clears what is registered: a plain cache of functools would stay."""
    for path in sorted((root / "pipeline" / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set()
            plain = isinstance(node, ast.ImportFrom) and node.module == "functools" and names & {"cache", "lru_cache"}
            assert not plain, f"{path}: import {sorted(names)} from pipeline.caches"
