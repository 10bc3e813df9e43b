"""A build goes on where it stopped, makes again what a change touches and only that, and survives being killed."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import builds
from forked_commands import ForkedRun
from frozen_releases import carrara, error_line, succeeded
from pipeline import metrics, tasks
from pipeline import stages as stage_module
from pipeline.artifacts.files import atomic_folder, atomic_write, remove_temporary
from pipeline.artifacts.holds import hold_for_verify
from pipeline.artifacts.manifest import read_manifest
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble import plan as plans
from pipeline.cli.tables import spent_lines
from pipeline.errors import BuildError
from pipeline.executors import Inline
from pipeline.storage import temporary_path
from pipeline.tasks.bio.standard import Standard
from pipeline.terminal.progress import Spent
from pipeline.verify import seal

PAIRS = 40 if int(os.environ.get("CARRARA_FAULT_CASES", "0")) else 1
"""Builds that are made twice at once; `make test-faults` makes more, some with workers."""
STANDARD = ("bio", "standard")
SHARD_FOLDERS = ("o200k/data", "o200k/keys", "o200k/proofs")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the usual recipe that no test touches."""
    folder = tmp_path_factory.mktemp("pristine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
        builds.stages(builds.recipe_file(folder / "tiny.toml"), folder / "out").build()
    return folder / "out"


@pytest.fixture
def whole(pristine: Path) -> dict[str, str]:
    """The contents of the usual recipe's build."""
    return builds.contents(pristine)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return builds.recipe_file(tmp_path / "tiny.toml")


@pytest.fixture
def built(pristine: Path, tmp_path: Path) -> Path:
    """A build of the usual recipe, to go on with."""
    shutil.copytree(pristine, tmp_path / "out")
    return tmp_path / "out"


# Resuming


def test_a_second_build_changes_nothing_and_does_nothing(
    recipe: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = builds.stamps(built)
    ran: list[Any] = []
    monkeypatch.setattr(stage_module, "run", lambda fn, jobs, engine: iter(ran.extend(jobs) or ()))
    started = time.monotonic()
    (manifest,) = builds.stages(recipe, built).build()
    assert manifest is not None
    assert time.monotonic() - started < 0.5
    assert ran == []
    assert builds.stamps(built) == before


def test_the_command_says_the_same_the_second_time(recipe: Path, tmp_path: Path) -> None:
    args = ("build", recipe, "--out", tmp_path / "out", "--tokenizer", "o200k")
    first = succeeded(carrara(*args))
    before = builds.stamps(tmp_path / "out")
    second = carrara(*args)
    assert (second.exit_code, second.stdout, second.stderr) == (0, first, "")
    assert builds.stamps(tmp_path / "out") == before


def test_the_time_of_each_stage_is_told(recipe: Path, built: Path, tmp_path: Path) -> None:
    fresh, again = builds.stages(recipe, tmp_path / "fresh"), builds.stages(recipe, built)
    fresh.build()
    again.build()
    assert list(fresh.spent) == ["render", "fit", "sample", "count", "balance", "pack", "prove", "seal"]
    assert min(fresh.spent.values()) > 0
    assert list(again.spent) == ["seal"]
    (line,) = spent_lines(fresh.spent)
    assert re.fullmatch(r"carrara: \d+ s of CPU time: (\w+ \d+%, )*\w+ \d+%", line)
    assert spent_lines(again.spent) == []


def test_time_within_a_stage_is_told_once_and_all_other_time_at_the_end() -> None:
    spent = Spent()
    with spent.on("outer"):
        started = time.process_time()
        with spent.on("inner"):
            while time.process_time() - started < 0.05:
                pass
    assert spent["outer"] < 0.03 < spent["inner"]
    spent.settle("start")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = time.process_time() + children.ru_utime + children.ru_stime
    assert sum(spent.values()) == pytest.approx(whole, rel=0.02)


def test_stages_that_are_done_write_nothing(recipe: Path, built: Path) -> None:
    before = builds.stamps(built)
    made = builds.stages(recipe, built)
    assert (made.sample(), made.render(), made.count(), made.pack()) == (0, 0, 0, 0)
    assert builds.stamps(built) == before


def test_what_is_missing_is_made_and_nothing_else(recipe: Path, built: Path, whole: dict[str, str]) -> None:
    before = builds.stamps(built)
    gone = [
        "o200k/data/bio/32k/test-00001-of-00005.parquet",
        "o200k/keys/bio/32k/test-00003-of-00005.parquet",
        "o200k/counts/people-standard-32k.parquet",
        "segments/people-standard-32k.parquet",
        "samples/bio/32k/test-00001-of-00005.parquet",
        "o200k/manifest.json",
    ]
    for name in gone:
        (built / name).unlink()
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole
    after = builds.stamps(built)
    again = {name for name in after if after[name] != before[name]}
    touched = {name for name in before if "test-00001" in name or "test-00003" in name}
    assert again <= {*gone, *touched}


CHANGES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "seed": ({"seed": 8}, ()),
    "fewer rows": ({"rows": 3}, ("segments", "o200k/counts")),
    "more rows": ({"rows": 9}, ("segments", "o200k/counts")),
    "major version": ({"version": "2.0.0"}, ("segments", "o200k/counts")),
    "reserve": ({"reserve": 100}, ("samples", "segments", "o200k/counts")),
    "frame": ({"frame": "raw"}, ("samples", "segments")),
}
"""What is changed in a recipe, and which folders that does not concern."""


@pytest.mark.parametrize(("changed", "kept"), CHANGES.values(), ids=CHANGES)
def test_a_changed_recipe_is_made_as_if_from_nothing(
    changed: dict[str, Any], kept: tuple[str, ...], recipe: Path, built: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    other = builds.recipe_file(tmp_path / "other.toml", **changed)
    builds.stages(other, tmp_path / "fresh").build()
    fresh = builds.contents(tmp_path / "fresh")
    before = builds.stamps(built)
    builds.stages(other, built).build()
    assert builds.contents(built) == fresh
    assert builds.below(builds.stamps(built), *kept) == builds.below(before, *kept)
    for folder in SHARD_FOLDERS:
        stale = builds.below(whole, folder).items() & builds.below(fresh, folder).items()
        assert not stale
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole


def test_a_minor_version_changes_no_row(recipe: Path, built: Path, tmp_path: Path) -> None:
    other = builds.recipe_file(tmp_path / "other.toml", version="1.1.0")
    builds.stages(other, tmp_path / "fresh").build()
    before = builds.stamps(built)
    builds.stages(other, built).build()
    assert builds.contents(built) == builds.contents(tmp_path / "fresh")
    kept = ("samples", "segments", "o200k/counts", *SHARD_FOLDERS)
    assert builds.below(builds.stamps(built), *kept) == builds.below(before, *kept)
    assert json.loads((built / "o200k" / "manifest.json").read_text())["version"] == "1.1.0"


def test_a_raised_task_version_makes_its_rows_again(
    recipe: Path, built: Path, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = builds.stamps(built)
    monkeypatch.setitem(tasks.TASKS, STANDARD, builds.altered(Standard, version=Standard.version + 1))
    builds.stages(recipe, tmp_path / "fresh").build()
    builds.stages(recipe, built).build()
    assert builds.contents(built) == builds.contents(tmp_path / "fresh")
    after = builds.stamps(built)
    assert builds.below(after, "segments") == builds.below(before, "segments")
    for folder in ("samples", *SHARD_FOLDERS):
        assert not builds.below(builds.contents(built), folder).items() & builds.below(whole, folder).items()
    rows = [row for path in sorted(built.glob("o200k/data/bio/32k/*")) for row in read_rows(path)]
    assert {row["task_version"] for row in rows} == {Standard.version + 1}


@pytest.mark.parametrize("changed", [{"max_new_tokens": 96}, {"scorer": "stricter"}], ids=str)
def test_a_changed_rule_of_a_task_packs_again(
    changed: dict[str, Any], recipe: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = builds.stamps(built)
    monkeypatch.setitem(metrics.SCORERS, "stricter", metrics.SCORERS["exact"])
    monkeypatch.setitem(tasks.TASKS, STANDARD, builds.altered(Standard, **changed))
    builds.stages(recipe, tmp_path / "fresh").build()
    builds.stages(recipe, built).build()
    assert builds.contents(built) == builds.contents(tmp_path / "fresh")
    kept = ("samples", "segments", "o200k/counts")
    assert builds.below(builds.stamps(built), *kept) == builds.below(before, *kept)


def test_a_changed_window_cuts_the_profile_again(recipe: Path, root: Path, tmp_path: Path) -> None:
    shipped = (root / "tokenizers/o200k.toml").read_text(encoding="utf-8")
    own = tmp_path / "o200k.toml"
    own.write_text(shipped, encoding="utf-8")
    out = tmp_path / "out"
    builds.stages(recipe, out, (str(own),)).build()
    before, old = builds.stamps(out), builds.contents(out)
    own.write_text(shipped + "4096 = 4000\n", encoding="utf-8")
    builds.stages(recipe, tmp_path / "fresh", (str(own),)).build()
    builds.stages(recipe, out, (str(own),)).build()
    assert builds.contents(out) == builds.contents(tmp_path / "fresh")
    assert builds.below(builds.stamps(out), "samples", "segments") == builds.below(before, "samples", "segments")
    assert not builds.below(old, *SHARD_FOLDERS).items() & builds.below(builds.contents(out), *SHARD_FOLDERS).items()
    rows = [row for path in sorted(out.glob("o200k/data/bio/32k/*")) for row in read_rows(path)]
    assert {(row["length"], row["context_tokens"]) for row in rows} == {(2048, 2048), (4096, 4000)}


def test_a_family_that_leaves_the_recipe_leaves_the_folder(
    recipe: Path, tmp_path: Path, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers find shards by pattern, so what the manifest does not list must not lie beside what it does."""
    monkeypatch.setitem(tasks.TASKS, ("tales", "standard"), builds.altered(Standard, family="tales"))
    both = builds.recipe_file(tmp_path / "both.toml", families=("bio", "tales"))
    builds.stages(both, tmp_path / "out").build()
    assert builds.below(builds.contents(tmp_path / "out"), "o200k/data/tales")
    builds.stages(recipe, tmp_path / "out").build()
    left = builds.contents(tmp_path / "out")
    assert builds.below(left, "o200k") == builds.below(whole, "o200k")


def test_one_family_alone_leaves_the_others(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tasks.TASKS, ("tales", "standard"), builds.altered(Standard, family="tales"))
    both = builds.recipe_file(tmp_path / "both.toml", families=("bio", "tales"))
    builds.stages(both, tmp_path / "out").build()
    before = builds.stamps(tmp_path / "out")
    alone = replace(builds.planned(both, tmp_path / "out"), families=("bio",))
    (manifest,) = stage_module.Stages(alone, Inline, quiet=True).build()
    assert manifest is not None
    assert builds.stamps(tmp_path / "out") == before


def test_another_profile_leaves_all_that_was_there(recipe: Path, built: Path) -> None:
    before = builds.stamps(built)
    builds.stages(recipe, built, ("o200k", "cl100k")).build()
    after = builds.stamps(built)
    assert {name: after[name] for name in before} == before
    assert {name.split("/")[0] for name in after.keys() - before.keys()} == {"cl100k"}
    assert len(builds.below(after, "cl100k/data")) == builds.SHARDS


def test_profiles_differ_in_nothing_but_filler(recipe: Path, built: Path) -> None:
    builds.stages(recipe, built, ("o200k", "llama3.1")).build()
    ours, theirs = (
        [row for path in sorted(built.glob(f"{name}/data/bio/32k/*")) for row in read_rows(path)]
        for name in ("o200k", "llama3.1")
    )
    assert len(ours) == len(theirs) == 12
    for one, two in zip(ours, theirs, strict=True):
        for name in ("id", "family", "subtask", "length", "complexity", "question", "target", "answers", "choices"):
            assert one[name] == two[name]
        assert relevant(one) == relevant(two)
        assert one["tokenizer"] != two["tokenizer"]
        assert one["prompt"] != two["prompt"]


def relevant(row: dict[str, Any]) -> list[str]:
    """Return the text that changes the answer, as it stands in the prompt."""
    return [row["prompt"][at["char_start"] : at["char_end"]] for at in row["needles"] if at["role"] == "relevant"]


# Killed builds


def arguments(recipe: Path, out: Path, workers: int) -> tuple[object, ...]:
    return "build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", workers, "--quiet"


MOMENTS: dict[str, tuple[int, Callable[[Path], object]]] = {
    "recipe kept": (1, lambda out: (out / "recipes/32k.json").exists()),
    "samples there": (1, lambda out: (out / "samples/bio/32k").exists()),
    "segments there": (1, lambda out: (out / "segments/people-standard-32k.parquet").exists()),
    "first shard half-written": (1, lambda out: list(out.glob("o200k/data/bio/32k/*.part-*"))),
    "first shard there": (2, lambda out: list(out.glob("o200k/data/bio/32k/*.parquet"))),
    "third shard proven": (1, lambda out: len(list(out.glob("o200k/proofs/bio/32k/*.json"))) >= 3),
}
"""When the whole build is killed, and how many workers it has."""


@pytest.mark.parametrize(("workers", "moment"), MOMENTS.values(), ids=MOMENTS)
def test_a_killed_build_goes_on(
    workers: int, moment: Callable[[Path], object], recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with ForkedRun(*arguments(recipe, out, workers), pause=0.05) as running:
        running.when(lambda: moment(out))
        for pid in running.group():
            os.kill(pid, signal.SIGKILL)
        assert running.ended()[0] == -signal.SIGKILL
    assert not (out / "o200k/manifest.json").exists()
    proven = builds.below(builds.stamps(out), "o200k/proofs")
    builds.stages(recipe, out).build()
    assert builds.contents(out) == whole
    assert builds.halves(out) == []
    assert {name: builds.stamps(out)[name] for name in proven} == proven


def test_what_any_stage_left_half_written_is_gone_in_the_end(
    recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    """A killed process can have been writing any of these files."""
    out = tmp_path / "out"
    for name in whole:
        half = out / f"{name}.part-4194305"
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(b"PAR1 and no more")
    builds.stages(recipe, out).build()
    assert [str(path.relative_to(out)) for path in builds.halves(out)] == []
    assert builds.contents(out) == whole


def test_a_part_leaves_what_another_part_is_writing(recipe: Path, tmp_path: Path) -> None:
    """Parts run at the same time, on different machines: what looks half-written may be in work."""
    out = tmp_path / "out"
    work = [out / f"o200k/{part}/bio/32k/test-00000-of-00005.{end}.part-4194305" for part, end in PARTS]
    for half in work:
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(b"PAR1 and more to come")
    assert builds.stages(recipe, out, part=(2, 2)).build() == [None]
    assert builds.halves(out) == sorted(work)
    builds.stages(recipe, out, part=(1, 2)).build()
    assert builds.halves(out) == []


PARTS = (("data", "parquet"), ("keys", "parquet"), ("proofs", "json"))


def test_two_parts_at_the_same_time_make_the_whole(recipe: Path, whole: dict[str, str], tmp_path: Path) -> None:
    args = arguments(recipe, tmp_path / "out", 1)
    with (
        ForkedRun(*args, "--part", "1/2", pause=0.05) as one,
        ForkedRun(*args, "--part", "2/2", pause=0.05) as two,
    ):
        ends = [one.ended(), two.ended()]
    assert ends == [(0, ""), (0, "")]
    builds.stages(recipe, tmp_path / "out").build()
    assert builds.contents(tmp_path / "out") == whole


def test_a_build_outlives_a_killed_worker(recipe: Path, whole: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ForkedRun(*arguments(recipe, out, 2), pause=0.05) as running:
        os.kill(running.when(lambda: writer(out, set(running.workers()))), signal.SIGKILL)
        assert running.ended() == (0, "")
    assert builds.contents(out) == whole
    assert builds.halves(out) == []


def writer(out: Path, workers: set[int]) -> int | None:
    """Return a worker that is writing a shard."""
    for path in sorted(out.glob("o200k/data/bio/32k/*.part-*")):
        if (pid := int(path.name.rpartition("-")[2])) in workers:
            return pid
    return None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: signal.Signals(number).name)
def test_no_worker_outlives_a_killed_build(number: signal.Signals, recipe: Path, tmp_path: Path) -> None:
    """A scheduler or the out-of-memory killer ends the parent alone; its workers must not stay."""
    out = tmp_path / "out"
    with ForkedRun(*arguments(recipe, out, 2), pause=0.05) as running:
        running.when(lambda: list(out.glob("o200k/data/bio/32k/*.part-*")) and len(running.workers()) == 2)
        os.kill(running.process.pid, number)
        assert running.process.wait(10) == -number
        assert running.gone(5), "workers are still there"


# Neighbours in one folder


def test_two_recipes_at_once_do_not_spoil_each_other(recipe: Path, whole: dict[str, str], tmp_path: Path) -> None:
    other, out = builds.recipe_file(tmp_path / "other.toml", seed=8), tmp_path / "out"
    with ForkedRun(*arguments(recipe, out, 1), pause=0.2) as running:
        running.when(lambda: list(out.glob("o200k/data/bio/32k/*")))
        for more in (["--tokenizer", "o200k"], ["--until", "sample"]):
            line = error_line(carrara("build", other, "--out", out, *more))
            assert line.startswith(f"carrara: another recipe is being built in {str(out)!r} (process ")
            assert str(running.process.pid) in line
        assert running.ended() == (0, "")
    assert builds.contents(out) == whole
    builds.stages(other, out).build()
    builds.stages(other, tmp_path / "fresh").build()
    assert builds.contents(out) == builds.contents(tmp_path / "fresh")


def test_recipes_that_start_at_the_same_time_end_well_or_say_why(
    recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    other, out = builds.recipe_file(tmp_path / "other.toml", seed=8), tmp_path / "out"
    builds.stages(other, tmp_path / "fresh").build()
    with ForkedRun(*arguments(recipe, out, 1)) as one, ForkedRun(*arguments(other, out, 1)) as two:
        ends = [one.ended(), two.ended()]
    for code, stderr in ends:
        if code:
            assert (code, "another recipe is being built" in stderr) == (1, True)
        else:  # one may have ended before the other began
            assert not stderr or "was sealed for another recipe" in stderr
    for each, alone in ((recipe, whole), (other, builds.contents(tmp_path / "fresh"))):
        builds.stages(each, out).build()
        assert builds.contents(out) == alone


def test_a_killed_build_holds_no_other_recipe_up(recipe: Path, tmp_path: Path) -> None:
    other, out = builds.recipe_file(tmp_path / "other.toml", seed=8), tmp_path / "out"
    with ForkedRun(*arguments(recipe, out, 1), pause=0.05) as running:
        running.when(lambda: list(out.glob("o200k/data/bio/32k/*")))
        os.kill(running.process.pid, signal.SIGKILL)
        assert running.ended()[0] == -signal.SIGKILL
    assert list(out.glob(".building-*"))
    builds.stages(other, out).build()
    builds.stages(other, tmp_path / "fresh").build()
    assert builds.contents(out) == builds.contents(tmp_path / "fresh")


def test_verify_and_build_do_not_meet(recipe: Path, whole: dict[str, str], tmp_path: Path) -> None:
    """Whoever comes second is told who came first, and what he could do."""
    out = tmp_path / "out"
    with ForkedRun(*arguments(recipe, out, 1), pause=0.2) as running:
        running.when(lambda: list(out.glob("o200k/data/bio/32k/*.parquet")))
        before = {name: builds.contents(out / name) for name in ("recipes", "samples")}
        line = error_line(ended := carrara("verify", out, "--tokenizer", "o200k"))
        assert ended.stdout == ""
        assert line.startswith(f"carrara: {str(out)!r} is being built (process {running.process.pid} on ")
        assert line.endswith("): verify it when that has ended")
        assert {name: builds.contents(out / name) for name in before} == before
        assert running.ended() == (0, "")
    assert builds.contents(out) == whole
    plan = builds.planned(recipe, out)
    with hold_for_verify(out, plan.recipe), hold_for_verify(out, plan.recipe), pytest.raises(BuildError) as caught:
        builds.stages(recipe, out).build()
    assert str(caught.value).startswith(f"another command is verifying tier 32k of {str(out)!r}: wait for it")
    (manifest,) = builds.stages(recipe, out).verify()
    assert manifest is not None
    assert builds.contents(out) == whole


def test_what_is_being_written_is_not_cleared_away(tmp_path: Path) -> None:
    """A build that ends clears away what killed ones left, but not what its neighbour is writing."""
    path, left = tmp_path / "x.parquet", tmp_path / "x.parquet.part-host-00000000-1"
    left.touch()
    with atomic_write(path) as aside:
        aside.write_bytes(b"half")
        remove_temporary([path])
        assert aside.read_bytes() == b"half"
        assert not left.exists()
        aside.write_bytes(b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.faults
def test_two_builds_of_a_recipe_in_namespaces_of_their_own(recipe: Path, whole: dict[str, str], tmp_path: Path) -> None:
    """As in two containers on one folder: the same process number, and neither sees the other's processes."""
    head = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*head, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespaces here")
    for number in range(PAIRS):
        out, pair = tmp_path / str(number), []
        for workers in (1, 1 + number % 2):
            how = builds.command(*arguments(recipe, out, workers), pause=0.03)
            pair.append(subprocess.Popen(**{**how, "args": [*head, *how["args"]]}))
            time.sleep(0.02 * (number % 13))
        ends = [(process.communicate(timeout=120)[1], process.returncode) for process in pair]
        assert ends == [("", 0), ("", 0)], number
        assert builds.contents(out) == whole, number


@pytest.mark.parametrize("tiers", [("32k", "128k")])
def test_two_tiers_that_end_at_once_are_both_sealed(tiers: tuple[str, ...], tmp_path: Path) -> None:
    """A manifest is read and written again: what the neighbour has added meanwhile stays in it."""
    out, plans = tmp_path / "out", {}
    for tier in tiers:
        recipe = builds.recipe_file(tmp_path / f"{tier}.toml", tier=tier)
        plans[tier] = builds.planned(recipe, out)
        builds.stages(recipe, out).build()
    (out / "o200k/manifest.json").unlink()
    before, seen = seal.read_manifest, threading.Barrier(2, timeout=0.5)

    def slow(*args: Any) -> Any:
        found = before(*args)
        with suppress(threading.BrokenBarrierError):
            seen.wait()  # both have read, unless one of them waits for the other
        return found

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(seal, "read_manifest", slow)
        both = [partial(seal.seal_if_proven, plan, plan.profiles[0], {}, lambda: None) for plan in plans.values()]
        assert all(pool.map(lambda sealed: sealed(), both))
    manifest = read_manifest(out, "o200k")
    assert manifest is not None
    assert set(manifest.tiers) == set(tiers)


def test_names_written_aside_are_of_one_process_on_one_host() -> None:
    """Two containers on one folder have the same process numbers, and perhaps the same host name."""
    names = {temporary_path(Path("x.parquet")).name for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith("x.parquet.part-") and name.endswith(f"-{os.getpid()}") for name in names)


def test_a_folder_that_a_killed_process_was_filling_is_cleared_by_the_next(tmp_path: Path) -> None:
    stale = [tmp_path / f"o200k.part-{name}" for name in ("4194305", "host-0-1")]
    for each in stale:
        each.mkdir()
        (each / "README.md").write_text("half", encoding="ascii")
    with atomic_folder(tmp_path / "o200k") as first:
        assert not any(each.exists() for each in stale)
        with atomic_folder(tmp_path / "o200k") as second:
            assert first.is_dir(), "one that is being filled stays"
            (second / "x").write_text("", encoding="ascii")
        shutil.rmtree(tmp_path / "o200k")
    assert not list(tmp_path.glob("*.part-*"))
