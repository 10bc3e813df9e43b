"""Packages that nobody has seen: they parse, run, and are formatted; rows and the pool have nothing in common."""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import keyword
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipeline.streams import Streams
from pipeline.tasks.code.interpreter import Machine
from pipeline.tasks.code.log import read_commit
from pipeline.tasks.code.reading import File, Name, Repository, bound, parse
from pipeline.tasks.code.solve import lists as proof_lists
from pipeline.tasks.code.solve import lost, wanted
from pipeline.tasks.solving import ReadError
from pipeline.worlds.forge import Namer, domains, draw_steps, forge, in_words, list_function, log_texts, pool_texts
from pipeline.worlds.forge.modules import FITS, Module
from pipeline.worlds.forge.names import is_of_row, words
from pipeline.worlds.forge.steps import KINDS, behaviour, near_misses, result, told_in_doc

STREAMS = Streams((5,))
SHARE = 700
"""Files of a prompt of 128K."""
VALUES: dict[str, Any] = {
    "int": lambda rng: rng.randrange(80),
    "list[int]": lambda rng: [rng.randrange(-5, 40) for _ in range(rng.randrange(14))],
    "str": lambda rng: rng.choice(("12:30", "north side", "a-b", "Ab Cd", "4-7", "3/5")),
    "list[str]": lambda rng: [rng.choice(("north", "abso", "Ax")) for _ in range(5)],
    "dict[str, int]": lambda rng: {name: rng.randrange(90) for name in "abcd"},
}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(pool_texts(STREAMS, "128k", "none"))


@pytest.fixture(scope="module")
def repository(texts: list[str]) -> Repository:
    """The files that a prompt of 32K may have: packages in the order of the pool."""
    return repository_of(texts[:200])


def repository_of(texts: list[str]) -> Repository:
    files = {file.module: file for file in map(parse, texts)}
    assert len(files) == len(texts)
    return Repository(files, {}, "")


def functions(repository: Repository) -> Iterator[tuple[File, str, ast.FunctionDef]]:
    for file in repository.files.values():
        for name, node in file.functions.items():
            yield file, name, node


def test_words_can_be_names() -> None:
    for domain in domains():
        things = {*(name for pair in domain.things for name in pair)}
        labels = {*domain.labels, *(f"{label}s" for label in domain.labels)}
        for name in things | labels | {*domain.modules, *domain.amounts}:
            assert name.isidentifier()
            assert not keyword.iskeyword(name)
        assert not {name for name in things | labels if hasattr(builtins, name)}
        assert len(things) + len(labels) + len(domain.amounts) == len(things | labels | {*domain.amounts})
        assert not {one[:4] for one in domain.labels} & {one[:4] for one in domain.amounts}, "no name has both"


def test_files_are_formatted_and_without_faults(texts: list[str], tmp_path: Path) -> None:
    for text in texts[:300]:
        head, _, code = text.partition("\n")
        path = tmp_path / head.split()[1]
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="ascii")
        assert max(map(len, text.split("\n"))) <= FITS
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["format", "--check"], ["check", "--select", "E,F,I,B,UP", "--line-length", str(FITS)]):
        done = subprocess.run(
            [*ruff, *command, "--isolated", str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_functions_do_in_python_what_the_interpreter_says(
    repository: Repository, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in texts[:200]:
        head, _, code = text.partition("\n")
        path = tmp_path / head.split()[1]
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="ascii")
    monkeypatch.syspath_prepend(str(tmp_path))
    rng, tried = Random(3), 0
    for file, name, node in functions(repository):
        real = getattr(importlib.import_module(file.module), name)
        given = [VALUES[ast.unparse(one.annotation)](rng) for one in node.args.args if one.annotation]
        try:
            value = real(*copy.deepcopy(given))
        except (ValueError, KeyError, IndexError):
            with pytest.raises(ReadError):
                Machine(repository).call(Name(file.module, name), *given)
            continue
        assert Machine(repository).call(Name(file.module, name), *given) == value, (file.module, name, given)
        tried += 1
    assert tried > 300


def test_any_beginning_of_the_packages_imports_what_is_there(texts: list[str]) -> None:
    world = forge(STREAMS, "128k")
    order = world.order(STREAMS.of("order")).tolist()
    assert sorted(order) == list(range(world.units))
    assert len(texts) == world.units + world.lone
    for count in (1, 7, 50, 333):
        assert not [*lost(repository_of([texts[at] for at in [*order[:count], *range(world.units, len(texts))]]))]


def test_no_name_stands_for_two_things(repository: Repository) -> None:
    for file, name, node in functions(repository):
        assert not bound(node) & {*file.functions, *file.imports, *file.constants}, (file.module, name)


def test_no_value_of_a_function_replaces_a_parameter_or_is_both_a_sum_and_an_item(texts: list[str]) -> None:
    for text in texts:
        for node in ast.walk(ast.parse(text.partition("\n")[2])):
            if isinstance(node, ast.FunctionDef):
                nodes = [*ast.walk(node)]
                given = {one.arg for one in node.args.args}
                stored = stored_in([each for one in nodes if isinstance(one, ast.Assign) for each in one.targets])
                stored |= stored_in([one.target for one in nodes if isinstance(one, ast.AnnAssign)])
                items = stored_in([one.target for one in nodes if isinstance(one, ast.For)])
                assert not given & (stored | items) | stored & items, text


def stored_in(targets: Sequence[ast.AST]) -> set[str]:
    names = [one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def test_no_module_is_imported_in_two_ways(texts: list[str]) -> None:
    for text in texts:
        lines = ast.parse(text.partition("\n")[2]).body
        whole = {one.name for line in lines if isinstance(line, ast.Import) for one in line.names}
        origins = [line for line in lines if isinstance(line, ast.ImportFrom)]
        whole |= {f"{line.module}.{one.name}" for line in origins for one in line.names}
        assert not whole & {str(line.module) for line in origins}, text


def test_comments_name_functions_that_exist_and_are_not_called_there(texts: list[str]) -> None:
    names, commented = set(re.findall(r"^def (\w+)", "\n".join(texts), re.MULTILINE)), 0
    for text in texts:
        for function in text.split("\n\n\n"):
            for comment in re.findall(r"# (.*)", function):
                (name,) = re.findall(r"\w+_\w+", comment)
                assert name in names, text
                assert f"{name}(" not in function, text
                commented += 1
    assert commented > 100


def test_docstrings_of_modules_are_about_what_modules_name(texts: list[str]) -> None:
    words_of_domains = {
        word for one in domains() for word in (*one.amounts, *one.labels, *(many for _, many in one.things))
    }
    plurals, found = {one: many for domain in domains() for one, many in domain.things}, Counter[bool]()
    for text in texts:
        if doc := ast.get_docstring(ast.parse(text.partition("\n")[2])):
            code = {*re.findall("[a-z]+", text.split('"""', 2)[2].lower())}
            code |= {plurals.get(word, word) for word in code} | {word.removesuffix("s") for word in code}
            found.update(word in code for word in {*re.findall("[a-z]+", doc.lower())} & words_of_domains)
    assert found.total() > 500
    assert not found[False]


def test_few_functions_and_lines_stand_twice_in_a_prompt(texts: list[str]) -> None:
    some = Random(2).sample(texts, SHARE)
    bodies = Counter(
        ast.unparse(node)
        for text in some
        for node in ast.parse(text.partition("\n")[2]).body
        if isinstance(node, ast.FunctionDef)
    )
    lines = Counter(line for text in some for line in text.split("\n")[1:] if len(line) > 30)
    for counted in (bodies, lines):
        assert sum(times for times in counted.values() if times > 1) < 0.1 * counted.total()


def test_rows_have_names_and_behaviours_of_their_own(repository: Repository) -> None:
    assert not [file.module for file in repository.files.values() if is_of_row(file.module.split(".")[0])]
    assert not [name for _, name, _ in functions(repository) if is_of_row(name) and not name.startswith("_")]
    rng = Random(1)
    assert all(is_of_row("|".join(behaviour(draw_steps(rng, 3, of_row=True)))) for _ in range(20))
    assert not any(is_of_row("|".join(behaviour(draw_steps(rng, 3, of_row=False)))) for _ in range(20))


def test_functions_do_what_their_steps_say_and_words_mean_the_same() -> None:
    rng, seen = Random(7), set[str]()
    lists = [[rng.randrange(-9, 40) for _ in range(size)] for size in (0, 1, 4, 9, 15)]
    for _ in range(150):
        steps = draw_steps(rng, rng.randrange(2, 6), of_row=False)
        seen |= {step.kind for step in steps}
        module = Module("fernloans", "fines", Namer(rng, domains()[0]))
        list_function(module, "settle_fines_now", steps)
        alone = Repository({"fernloans.fines": parse(module.text)}, {}, "")
        for values in lists:
            value = Machine(alone).call(Name("fernloans.fines", "settle_fines_now"), [*values])
            assert value == result(steps, values), (steps, module.text)
        question = f"Which function takes a list of whole numbers and does this: it {in_words(rng, steps)}?"
        assert wanted(question) == [result(steps, [*values]) for values in proof_lists()], question
    assert (
        seen
        == {kind for kinds in KINDS.values() for kind in kinds}
        == {name[4:] for name in words() if name[:4] == "say_"}
    )


def test_near_misses_do_other_things_than_what_they_are_near_to() -> None:
    rng = Random(4)
    for _ in range(20):
        steps = draw_steps(rng, 5, of_row=True)
        near = near_misses(rng, steps, 8)
        told = [behaviour(some) for some in (steps, *near)]
        assert len({*told}) == len(told)
        assert {len(some) for some in near} == {5}


def test_a_docstring_misleads_also_where_steps_have_no_near_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of two steps have none, and large pools could fail to build."""
    rng = Random(4)
    given = draw_steps(rng, 2, of_row=False)
    monkeypatch.setattr("pipeline.worlds.forge.steps.near_misses", lambda *_: [])
    assert told_in_doc(rng, given, "misleading").endswith(".")


@pytest.mark.parametrize(
    "body",
    [
        "import os\n    return 1",
        "while n:\n        n = n - 1\n    return n",
        "return eval('1')",
        "return f(n)",
        "return (lambda one: one)(n)",
        "return n.__class__",
        "return [1].__len__()",
        "return 2 ** n",
        "return n / 2",
        "return sum(range(10 ** 9))",
        "return len(range(1000000000))",
        "return 'ab'.replace('a', 'aaaa')",
        "kept = [1]\n    for one in range(60):\n        kept = kept + kept\n    return kept",
        "global n\n    return n",
        "return open('x')",
        "try:\n        return 1\n    finally:\n        n = 2",
        "return f'{n:>99999}'",
        "n = f\n    return n(1)",
        "return n if n else missing",
        "del n\n    return 1",
        "return [one for one in range(9) for other in range(9)]",
        "return " + " + ".join(["1"] * 2000),
    ],
)
def test_what_is_not_of_this_part_of_python_is_refused(body: str) -> None:
    file = parse(f"==> pkg/mod.py <==\ndef f(n: int) -> int:\n    {body}\n")
    with pytest.raises(ReadError):
        Machine(Repository({"pkg.mod": file}, {}, "")).call(Name("pkg.mod", "f"), 0)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("class Loan:\n    pass\n", "ClassDef"),
        ("from a.b import f\nfrom c.d import g as f\n", "two things"),
        ("from a.b import f\n\n\ndef f(n: int) -> int:\n    return n\n", "two things"),
        ("def f(:\n", "invalid syntax|was never closed"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(code: str, fault: str) -> None:
    with pytest.raises(ReadError, match=fault):
        parse(f"==> pkg/mod.py <==\n{code}")


def test_commits_of_the_pool_stand_alone() -> None:
    units = list(log_texts(STREAMS, "32k"))
    parts = [part.rstrip("\n") for unit in units for part in f"\n{unit}".split("\ncommit ")[1:]]
    commits = [read_commit(f"commit {part}\n") for part in parts]
    assert len({one.code for one in commits}) == len(commits)
    assert len({line for unit in units for line in unit.splitlines() if line.startswith("--- a/")}) == len(units)
    assert not any(is_of_row(one.name) for one in commits if one.name)
    for part in parts:
        taken, added = ({line[1:].strip() for line in part.splitlines() if line.startswith(sign)} for sign in "-+")
        assert not taken & added
    for unit in units:
        assert unit.isascii()
        assert unit.endswith("\n")
        assert len(unit) < 1100
