"""Faults of disks and keyboards: named in one line, nothing half-written stays in place, and the next run goes on."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import builds
import forked_commands
from pipeline import tasks
from pipeline.artifacts import parquet
from pipeline.artifacts.parquet import content_key, read_rows, write_rows
from pipeline.assemble import plan as plans
from pipeline.assemble.jobs import FileJob, PackJob, count_job, render_job, sample_job
from pipeline.cli import cli
from pipeline.errors import BuildError, CarraraError, CorruptError
from pipeline.executors import processes
from pipeline.tasks.bio.standard import Standard
from pipeline.verify.shard import ProveJob, run_prove

DATA = "o200k/data/bio/32k/test-00002-of-00005.parquet"
KEYS = "o200k/keys/bio/32k/test-00002-of-00005.parquet"
PROOF = "o200k/proofs/bio/32k/test-00002-of-00005.json"
MANIFEST = "o200k/manifest.json"
slow = pytest.mark.slow
SAMPLES = "samples/bio/32k/test-00002-of-00005.parquet"
SEGMENTS = "segments/people-standard-32k.parquet"
COUNTS = "o200k/counts/people-standard-32k.parquet"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.recipe_file(tmp_path_factory.mktemp("recipe") / "tiny.toml")


@pytest.fixture(scope="module")
def pristine(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build that no test touches."""
    out = tmp_path_factory.mktemp("pristine") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
        builds.stages(recipe, out).build()
    return out


@pytest.fixture
def whole(pristine: Path) -> dict[str, str]:
    return builds.contents(pristine)


@pytest.fixture
def built(pristine: Path, tmp_path: Path) -> Path:
    """A build to break."""
    shutil.copytree(pristine, tmp_path / "out")
    return tmp_path / "out"


def one_line(ended: subprocess.CompletedProcess[str]) -> str:
    """Return the one line that a failed command says."""
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("carrara: ")
    return line


def fault_of(work: Callable[[], object]) -> str:
    """Return what a user is told is wrong; nothing if it went well."""
    try:
        work()
    except CarraraError as fault:
        return str(fault)
    return ""


def made_again(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


# Broken shards


def flipped(path: Path) -> None:
    """Change one byte in the middle of the pages."""
    raw = path.read_bytes()
    builds.flip(path, builds.footer(raw).start // 2)


def flipped_key(path: Path) -> None:
    """Change the first byte of the content key, so that it is not even text."""
    key = content_key(path)
    assert key
    builds.flip(path, path.read_bytes().rindex(key.encode()), 0x80)


def flipped_footer_length(path: Path) -> None:
    builds.flip(path, path.stat().st_size - 8)


def flipped_mark(path: Path) -> None:
    builds.flip(path, path.stat().st_size - 1)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def shortened(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def grown(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def deleted(path: Path) -> None:
    path.unlink()


def exchanged(path: Path) -> None:
    """Put the next shard in its place."""
    shutil.copyfile(path.with_name(path.name.replace("00002-of", "00003-of")), path)


HARMS = (
    flipped, flipped_key, flipped_footer_length, flipped_mark, truncated, shortened, emptied, grown, deleted, exchanged,
)  # fmt: skip
UNSEEN_BY_BUILD = (flipped,)
"""Sizes and footer are right: only `verify` reads the bytes."""


@pytest.mark.parametrize("name", [DATA, KEYS], ids=["data", "keys"])
@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_verify_names_a_broken_shard_and_build_makes_only_it(
    harm: Callable[[Path], None], name: str, recipe: Path, built: Path, whole: dict[str, str]
) -> None:
    before = builds.stamps(built)
    harm(built / name)
    with pytest.raises(CorruptError) as caught:
        builds.stages(recipe, built).verify()
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (built / MANIFEST).exists()
    verified = builds.stamps(built)
    (manifest,) = builds.stages(recipe, built).build()
    assert manifest is not None
    assert builds.contents(built) == whole
    after = builds.stamps(built)
    assert {name for name in made_again(before, after) if "/proofs/" not in name} == {DATA, KEYS, MANIFEST}
    assert {name for name in made_again(verified, after) if name in after} == {DATA, KEYS, PROOF, MANIFEST}
    builds.stages(recipe, built).verify()
    assert builds.contents(built) == whole


@pytest.mark.parametrize("name", [DATA, KEYS], ids=["data", "keys"])
@pytest.mark.parametrize(
    "harm", [harm for harm in HARMS if harm not in UNSEEN_BY_BUILD], ids=lambda harm: harm.__name__
)
def test_build_sees_what_sizes_and_footers_show(
    harm: Callable[[Path], None], name: str, recipe: Path, built: Path, whole: dict[str, str]
) -> None:
    before = builds.stamps(built)
    harm(built / name)
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole
    assert made_again(before, builds.stamps(built)) <= {DATA, KEYS, PROOF, MANIFEST}


@pytest.mark.parametrize(
    "harm",
    [flipped, *(pytest.param(harm, marks=slow) for harm in (flipped_key, deleted))],
    ids=lambda harm: harm.__name__,
)
def test_the_command_says_it_in_one_line(harm: Callable[[Path], None], recipe: Path, built: Path) -> None:
    harm(built / DATA)
    assert DATA in one_line(forked_commands.run("verify", built, "--workers", 1))
    ended = forked_commands.run("build", recipe, "--out", built, "--tokenizer", "o200k", "--workers", 1, "--quiet")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_all_broken_shards_are_found_in_one_run(recipe: Path, built: Path, whole: dict[str, str]) -> None:
    flipped(built / DATA)
    truncated(built / KEYS.replace("00002-of", "00004-of"))
    with pytest.raises(CorruptError, match=r"and 1 more"):
        builds.stages(recipe, built, engine=processes(2)).verify()
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole


def test_any_flip_in_a_footer_is_no_key_or_another_or_harmless(built: Path) -> None:
    """A reader of a broken footer gets an answer, never an error that no one catches."""
    path = built / KEYS
    raw, key = path.read_bytes(), content_key(path)
    for at in builds.footer(raw):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0x80]) + raw[at + 1 :])
        found = content_key(path)
        assert found in (None, key) or isinstance(found, str)


def test_any_flip_in_an_unproven_shard_is_a_named_fault_or_harmless(recipe: Path, built: Path) -> None:
    """Without a proof there is no digest to compare: rows are read, and whatever they turn into is judged."""
    planned = builds.planned(recipe, built)
    pack = PackJob(planned, planned.all_shards()[2])
    job = ProveJob(pack)
    raw, keys = (built / DATA).read_bytes(), (built / KEYS).read_bytes()
    wanted = list(read_rows(built / DATA))
    for at in range(4, len(raw), 97):
        pack.keys.write_bytes(keys)
        pack.data.write_bytes(raw[:at] + bytes([raw[at] ^ 0x20]) + raw[at + 1 :])
        job.path.unlink(missing_ok=True)
        said = fault_of(lambda: run_prove(job))
        if said:
            assert DATA in said
            assert not pack.data.exists() or content_key(pack.data) != pack.shard.key, "what has no key is packed again"
        else:
            assert list(read_rows(pack.data)) == wanted


# Broken records


@pytest.mark.parametrize("name", ["rows", "row_digest", "data_sha256", "keys_bytes", "key"])
def test_a_tampered_proof_does_not_last(name: str, recipe: Path, built: Path, whole: dict[str, str]) -> None:
    path = built / PROOF
    proof = json.loads(path.read_text(encoding="ascii"))
    proof[name] = proof[name] + 1 if isinstance(proof[name], int) else "0" * len(proof[name])
    path.write_text(json.dumps(proof, indent=1, sort_keys=True) + "\n", encoding="ascii")
    said = fault_of(builds.stages(recipe, built).verify)
    if said:
        assert any(name in said for name in (DATA, KEYS, PROOF))
        builds.stages(recipe, built).build()
    assert builds.contents(built) == whole


@pytest.mark.parametrize("text", ["{", "[]", '{"rows": 1}', "\u00e9"])
@pytest.mark.parametrize("name", [PROOF, MANIFEST], ids=["proof", "manifest"])
def test_a_broken_record_is_written_again(
    name: str, text: str, recipe: Path, built: Path, whole: dict[str, str]
) -> None:
    before = builds.stamps(built)
    (built / name).write_text(text, encoding="utf-8")
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole
    assert made_again(before, builds.stamps(built)) <= {PROOF, MANIFEST}


def edited(path: Path, *place: str | int) -> None:
    """Change one value in a JSON file: a number by one, the first digit of a text."""
    table = json.loads(path.read_text(encoding="ascii"))
    inner = table
    for name in place[:-1]:
        inner = inner[name]
    old = inner[place[-1]]
    inner[place[-1]] = old + 1 if isinstance(old, int) else str((int(old[0], 16) + 1) % 10) + old[1:]
    path.write_text(json.dumps(table, indent=1, sort_keys="/proofs/" in str(path)) + "\n", encoding="ascii")


EDITS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "total": (MANIFEST, ("totals", "rows")),
    "proven": (MANIFEST, ("tiers", "32k", "proven", "solved")),
    "profile": (MANIFEST, ("tokenizer", "digest")),
    "seed": (MANIFEST, ("tiers", "32k", "seed")),
    "task version": (MANIFEST, ("tiers", "32k", "strata", 0, "task_version")),
    "constant": (MANIFEST, ("tiers", "32k", "chance", 0, "rows")),
    "digest": (MANIFEST, ("tiers", "32k", "shards", 2, "data_sha256")),
    "recounted": (MANIFEST, ("tiers", "32k", "shards", 2, "recounted")),
    "digest of proof": (PROOF, ("data_sha256",)),
    "rows of proof": (PROOF, ("rows",)),
}


@pytest.mark.parametrize(("name", "at"), EDITS.values(), ids=EDITS)
def test_verify_names_a_record_that_was_edited(
    name: str, at: tuple[str | int, ...], recipe: Path, built: Path, whole: dict[str, str]
) -> None:
    """It accuses no shard, moves none, and writes nothing over; the remedy that it names works."""
    edited(built / name, *at)
    before = builds.contents(built)
    for _ in range(2):
        said = fault_of(builds.stages(recipe, built).verify)
        assert name in said
        assert "edited" in said
        assert "\n" not in said
        assert builds.contents(built) == before
    (built / name).unlink()
    builds.stages(recipe, built).verify()
    assert builds.contents(built) == whole


def test_verify_names_what_no_manifest_has(recipe: Path, built: Path) -> None:
    table = json.loads((built / MANIFEST).read_text(encoding="ascii"))
    table["tiers"]["32k"]["note"] = "all is well"
    (built / MANIFEST).write_text(json.dumps(table), encoding="ascii")
    before = builds.contents(built)
    said = fault_of(builds.stages(recipe, built).verify)
    assert MANIFEST in said
    assert 'tiers.32k.note is "all is well", where the bytes give null' in said
    assert builds.contents(built) == before


# Faults of the machine, and of what is not a shard: sound files are not moved


def denied(monkeypatch: pytest.MonkeyPatch, built: Path, recipe: Path) -> str:
    """A shard that may not be read, as its owner's mask has it."""
    (built / DATA).rename(built / "elsewhere")
    (built / DATA).mkdir()
    return "Is a directory"


def starved(monkeypatch: pytest.MonkeyPatch, built: Path, recipe: Path) -> str:
    """A limit on memory that the rows of a shard exceed."""

    def read(*args: object, **more: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 1048576 failed")

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read)
    return "not enough memory"


def starved_later(monkeypatch: pytest.MonkeyPatch, built: Path, recipe: Path) -> str:
    """A limit on memory that a reader of the text exceeds."""

    def solve(*args: object) -> None:
        raise MemoryError

    monkeypatch.setitem(tasks.TASKS, ("bio", "standard"), builds.altered(Standard, solve=solve))
    return "not enough memory"


def newer(monkeypatch: pytest.MonkeyPatch, built: Path, recipe: Path) -> str:
    """The next version of Carrara, in which a task makes other rows."""
    newer = builds.altered(Standard, version=Standard.version + 1)
    monkeypatch.setitem(tasks.TASKS, ("bio", "standard"), newer)
    return "another profile or version of Carrara"


def stricter(monkeypatch: pytest.MonkeyPatch, built: Path, recipe: Path) -> str:
    """A checker with a fault of its own."""
    monkeypatch.setitem(tasks.TASKS, ("bio", "standard"), builds.altered(Standard, solve=lambda *args: ("Oslo",)))
    return "the text gives ['Oslo']"


def recipe_of_another_seed(monkeypatch: pytest.MonkeyPatch, built: Path, recipe: Path) -> str:
    edited(built / "recipes/32k.json", "seed")
    recipe.write_text(recipe.read_text(encoding="ascii").replace("seed = 7", "seed = 8"), encoding="ascii")
    return "recipes/32k.json"


def recipe_of_another_length(monkeypatch: pytest.MonkeyPatch, built: Path, recipe: Path) -> str:
    edited(built / "recipes/32k.json", "strata", 0, "length")
    recipe.write_text(recipe.read_text(encoding="ascii").replace("[2048, ", "[2049, "), encoding="ascii")
    return "recipes/32k.json"


@pytest.mark.parametrize("proofs", ["proofs there", "proofs gone"])
@pytest.mark.parametrize(
    "harm",
    [denied, starved, starved_later, newer, stricter, recipe_of_another_seed, recipe_of_another_length],
    ids=lambda harm: harm.__name__,
)
def test_verify_moves_nothing_for_a_fault_of_the_machine(
    harm: Callable[[pytest.MonkeyPatch, Path, Path], str],
    proofs: str,
    recipe: Path,
    built: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = tmp_path / "own.toml"
    shutil.copyfile(recipe, own)
    if proofs == "proofs gone":
        shutil.rmtree(built / "o200k/proofs")
    told = harm(monkeypatch, built, own)
    before = builds.stamps(built)
    said = fault_of(builds.stages(own, built).verify)
    assert told in said
    assert "moved aside" not in said
    assert "\n" not in said
    assert builds.stamps(built) == before


def test_the_recipe_is_held_to_the_manifest_before_its_names_are_read(built: Path) -> None:
    edited(built / "recipes/32k.json", "strata", 0, "complexity")
    before = builds.stamps(built)
    line = one_line(forked_commands.run("verify", built, "--workers", 1))
    assert "recipes/32k.json" in line
    assert "nothing was moved" in line
    assert builds.stamps(built) == before


HELPERS = Path(builds.__file__).parent
SEVERAL = """
import json, sys
from click.testing import CliRunner
import builds
from pipeline.cli import cli

builds.make_small()
ended = [CliRunner().invoke(cli, args) for args in json.loads(sys.argv[1])]
print(json.dumps([[each.exit_code, each.stdout, each.stderr] for each in ended]))
"""
"""Runs command lines one after another, as one process may lack a right that this one has."""


@pytest.mark.parametrize(
    "name",
    [MANIFEST, "o200k", *(pytest.param(name, marks=slow) for name in (PROOF, "recipes/32k.json", "recipes", "."))],
)
def test_what_may_not_be_read_is_named_and_nothing_is_touched(name: str, recipe: Path, built: Path) -> None:
    """An administrator may read all, so the commands run without that right."""
    head = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if head and subprocess.run([*head, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no way to give up the right to read all")
    kept, before = (built / name).stat().st_mode, builds.stamps(built)
    (built / name).chmod(0)
    lines = {
        "verify": ["verify", built, "--workers", 1],
        "build": ["build", recipe, "--out", built, "--tokenizer", "o200k", "--workers", 1],
        "score": ["score", built / "o200k", recipe],
        "freeze": ["freeze", built],
        "publish": ["publish", built, "--repo", "org/x", "--dry-run", "--out", built.parent / "staged"],
        "against": ["verify", "--against", built / "o200k", "--workers", 1],
    }
    words = {MANIFEST: tuple(lines), ".": ("verify", "freeze", "publish")}.get(
        name, ("verify", "freeze") if (built / name).is_dir() else ("verify", "build")
    )
    asked = json.dumps([[str(arg) for arg in lines[word]] for word in words])
    ended = subprocess.run(
        [*head, sys.executable, "-c", SEVERAL, asked],
        cwd=HELPERS,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    for word, (code, stdout, stderr) in zip(words, json.loads(ended.stdout), strict=True):
        line = one_line(subprocess.CompletedProcess([word], code, stdout, stderr))
        assert str(built / name) in line, word
        assert re.search("Permission denied|is not readable", line), word
    (built / name).chmod(kept)
    assert builds.stamps(built) == before


def test_a_real_limit_on_memory_moves_nothing(tmp_path: Path) -> None:
    """However little memory there is, the command ends and the folder is as it was."""
    recipe, built = builds.recipe_file(tmp_path / "two.toml", rows=2), tmp_path / "out"
    recipe.write_text(recipe.read_text(encoding="ascii").replace("[2048, 4096]", "[2048]"), encoding="ascii")
    builds.stages(recipe, built).build()
    before = builds.stamps(built)
    for more in (1, 24, 64):

        def limited(more: int = more) -> None:
            resource.setrlimit(resource.RLIMIT_DATA, ((200 + more) << 20, (200 + more) << 20))

        subprocess.run(**builds.command("verify", built, "--workers", 1), preexec_fn=limited, timeout=60, check=False)
        assert builds.stamps(built) == before


@pytest.mark.parametrize("proofs", ["proofs there", "proofs gone"])
def test_verify_works_on_a_read_only_copy(
    proofs: str, recipe: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proofs are kept in memory."""
    if proofs == "proofs gone":
        shutil.rmtree(built / "o200k/proofs")

    def refused(*args: object, **more: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    opened = os.open

    def only_read(path: str, flags: int, *more: int, **named: int) -> int:
        return opened(path, flags, *more, **named) if flags & os.O_ACCMODE == os.O_RDONLY else refused()

    before = builds.stamps(built)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", only_read)
        for name in ("mkdir", "replace", "rename", "unlink", "write_text"):
            patch.setattr(Path, name, refused)
        patch.setattr(os, "replace", refused)
        (manifest,) = builds.stages(recipe, built).verify()
        assert manifest is not None
        flipped_in_place(built / DATA)
        said = fault_of(builds.stages(recipe, built).verify)
        assert DATA in said
        assert "Read-only" in said
    flipped_in_place(built / DATA)
    assert builds.stamps(built).keys() == before.keys()


def flipped_in_place(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        byte = file.read(1)[0]
        file.seek(100)
        file.write(bytes([byte ^ 0xFF]))


def test_verify_names_a_file_beyond_the_manifest(recipe: Path, built: Path) -> None:
    shutil.copyfile(built / DATA, built / DATA.replace("00002-of", "00009-of"))
    before = builds.stamps(built)
    assert "00009-of" in fault_of(builds.stages(recipe, built).verify)
    assert builds.stamps(built) == before


def test_a_broken_recipe_record_is_named(built: Path) -> None:
    (built / "recipes/32k.json").write_text("{", encoding="ascii")
    assert "recipes/32k.json" in one_line(forked_commands.run("verify", built, "--workers", 1))


def test_build_mends_a_broken_recipe_record(recipe: Path, built: Path, whole: dict[str, str]) -> None:
    """Its own error says to build the tier again."""
    (built / "recipes/32k.json").write_text("{", encoding="ascii")
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole


# Broken or foreign inputs of packing


@pytest.mark.parametrize("name", [SAMPLES, SEGMENTS, COUNTS])
@pytest.mark.parametrize("harm", [flipped, flipped_key, truncated, emptied, deleted], ids=lambda harm: harm.__name__)
def test_a_broken_input_is_made_again_once_with_a_line(
    harm: Callable[[Path], None],
    name: str,
    recipe: Path,
    built: Path,
    whole: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    harm(built / name)
    (built / DATA).unlink()
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole
    line = "" if harm is deleted else f"carrara: {str(built / name)!r} is not as it was written, and is made again\n"
    assert capsys.readouterr().err == line
    (built / DATA).unlink()
    builds.stages(recipe, built).build()
    assert capsys.readouterr().err == ""


MASKS = (0x01, 0x20, 0x80, 0xFF)


@pytest.mark.parametrize(
    "masks", [pytest.param(MASKS, id="in turn"), *(pytest.param((mask,), id=hex(mask), marks=slow) for mask in MASKS)]
)
@pytest.mark.parametrize("name", [SAMPLES, SEGMENTS, COUNTS])
def test_no_flip_in_the_footer_of_an_input_stops_a_build(
    name: str, masks: tuple[int, ...], recipe: Path, built: Path, whole: dict[str, str]
) -> None:
    """Page checksums do not cover it, and Arrow raises almost anything for it."""
    raw = (built / name).read_bytes()
    flipped_at = (*range(0, len(raw), len(raw) // 9), *(places := builds.footer(raw))[:: len(places) // 40])
    for at, mask in zip(flipped_at, cycle(masks), strict=False):
        (built / name).write_bytes(raw[:at] + bytes([raw[at] ^ mask]) + raw[at + 1 :])
        jobs = planned_inputs(recipe, built)
        (broken,) = [job for job in jobs if not job.is_done()]
        assert broken.path == built / name
        broken.run()
        assert (built / name).read_bytes() == raw, at
    assert builds.contents(built) == whole


def planned_inputs(recipe: Path, built: Path) -> list[FileJob]:
    builds.forget()
    plan = builds.planned(recipe, built)
    (spec,), (profile,) = plan.all_pools(), plan.profiles
    return [
        *[sample_job(plan, row_range) for row_range in plan.row_ranges("bio")],
        render_job(plan, spec),
        count_job(plan, spec, profile),
    ]


@pytest.mark.parametrize("name", [SAMPLES, SEGMENTS, COUNTS])
def test_an_input_that_breaks_while_it_is_needed_is_named_and_removed(name: str, recipe: Path, built: Path) -> None:
    (built / DATA).unlink()
    made = builds.stages(recipe, built)
    flipped(built / name)
    with pytest.raises(CorruptError, match=r"is missing or broken, and was removed: run the command again"):
        PackJob(made.plan, made.plan.all_shards()[2]).run()
    assert not (built / name).exists()


@pytest.mark.parametrize("name", [SAMPLES, SEGMENTS, COUNTS])
def test_no_flip_of_an_input_reaches_a_shard(name: str, recipe: Path, built: Path, whole: dict[str, str]) -> None:
    """A changed byte that still can be read is text, too: it must not be packed as if it had been drawn."""
    raw = (built / name).read_bytes()
    for at in range(4, len(raw), len(raw) // 6):
        (built / name).write_bytes(raw[:at] + bytes([raw[at] ^ 0x20]) + raw[at + 1 :])
        (built / DATA).unlink(missing_ok=True)
        if fault_of(builds.stages(recipe, built).build):
            builds.stages(recipe, built).build()
        assert builds.below(builds.contents(built), "o200k/data") == builds.below(whole, "o200k/data"), at


@pytest.mark.parametrize("longer", ["", "!"], ids=["same size", "other size"])
def test_a_changed_sample_with_the_right_key_is_not_packed(longer: str, recipe: Path, built: Path) -> None:
    """Someone opened the samples, corrected an answer and wrote them back, footer and all.

    Where the new shard is as long as the old one, the proof of the old must not speak for it.
    """
    path, first = built / SAMPLES, built / DATA
    key, table = content_key(path), pq.read_table(path)
    target, *others = table.column("target").to_pylist()
    wrong = target[::-1] + longer
    assert wrong != target
    at = table.schema.get_field_index("target")
    changed = table.set_column(at, table.schema.field(at), pa.array([wrong, *others], pa.string()))
    parquet.write_with_checksum(path, changed, str(key))
    first.unlink()
    said = fault_of(builds.stages(recipe, built).build)
    assert first.name in said
    assert wrong in said
    assert not first.exists()


def test_samples_of_another_recipe_are_not_packed(
    recipe: Path, built: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    other = builds.recipe_file(tmp_path / "other.toml", seed=8)
    builds.stages(other, tmp_path / "other").sample()
    shutil.copyfile(tmp_path / "other" / SAMPLES, built / SAMPLES)
    (built / DATA).unlink()
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole


def test_a_shard_of_another_recipe_is_no_shard_of_this(
    recipe: Path, built: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    other = builds.recipe_file(tmp_path / "other.toml", seed=8)
    builds.stages(other, tmp_path / "other").build()
    for name in (DATA, KEYS, PROOF):
        shutil.copyfile(tmp_path / "other" / name, built / name)
    with pytest.raises(CorruptError) as caught:
        builds.stages(recipe, built).verify()
    assert DATA in str(caught.value)
    builds.stages(recipe, built).build()
    assert builds.contents(built) == whole


# Folders that cannot take the build


@pytest.mark.parametrize("theirs", ["32k", "128k"], ids=["same tier", "other tier"])
@pytest.mark.parametrize("changed", [{"release": "other"}, {"variant": "smoke"}], ids=["release", "variant"])
def test_a_folder_of_another_release_is_left_alone(
    changed: dict[str, str], theirs: str, recipe: Path, built: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    other = builds.recipe_file(tmp_path / "other.toml", tier=theirs, **changed)
    line = one_line(forked_commands.run("build", other, "--out", built, "--tokenizer", "o200k", "--workers", 1))
    assert "tiny 1.0.0" in line
    assert f"{changed.get('release', 'tiny')} 1.0.0" in line
    assert changed.get("variant", "") in line
    assert "--out" in line
    assert builds.contents(built) == whole


@pytest.mark.parametrize("folder", ["taken", "taken/below/it"])
def test_a_file_where_the_folder_should_be(folder: str, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="ascii")
    out = tmp_path / folder
    line = one_line(forked_commands.run("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", 1))
    assert str(out) in line
    assert "--out" in line
    assert (tmp_path / "taken").read_text(encoding="ascii") == "mine"


@pytest.mark.parametrize("taken", ["o200k", "samples", "o200k/data/bio", "o200k/manifest.json/x"])
def test_something_else_where_a_file_should_be(taken: str, recipe: Path, tmp_path: Path) -> None:
    """Files where folders should be, and a folder where a file should be."""
    out = tmp_path / "out"
    (out / taken).parent.mkdir(parents=True)
    (out / taken).write_text("mine", encoding="ascii")
    with pytest.raises(BuildError) as caught:
        builds.stages(recipe, out).build()
    assert str(out / taken.removesuffix("/x")) in str(caught.value)
    assert builds.halves(out) == []
    assert (out / taken).read_text(encoding="ascii") == "mine"


@pytest.mark.parametrize("name", ["recipes/32k.json", SAMPLES, SEGMENTS, COUNTS, DATA, KEYS, PROOF, MANIFEST])
def test_a_full_disk_is_named_and_the_next_run_goes_on(
    name: str, recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    """What this process writes aside leads to a device that is always full, so the kernel itself refuses."""
    out = tmp_path / "out"
    aside = out / f"{name}.part-0"
    aside.parent.mkdir(parents=True)
    aside.symlink_to("/dev/full")
    # A symlink that stands there already counts as half-written, so nothing may clear it before its turn.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.artifacts.files.temporary_path", lambda path: path.with_name(f"{path.name}.part-0"))
        patch.setattr("pipeline.verify.seal.remove_temporary", lambda *where: None)
        for module in ("stages", "verify.seal"):
            patch.setattr(f"pipeline.{module}.remove", lambda *where: None)
        with pytest.raises(BuildError) as caught:
            builds.stages(recipe, out).build()
    assert str((out / name).parent) in str(caught.value)
    assert "full" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (out / name).exists()
    assert not aside.is_symlink()
    builds.stages(recipe, out).build()
    assert builds.contents(out) == whole


def test_a_disk_that_fills_between_row_groups(tmp_path: Path, pristine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(read_rows(pristine / DATA))
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1)
    wrote: list[int] = []

    class Filling(pq.ParquetWriter):  # type: ignore[misc]
        def write_table(self, *args: Any, **more: Any) -> None:
            if wrote:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            wrote.append(1)
            super().write_table(*args, **more)

    monkeypatch.setattr(pq, "ParquetWriter", Filling)
    with pytest.raises(BuildError, match=r"is full"):
        write_rows(tmp_path / "x.parquet", rows, parquet.pq.read_schema(pristine / DATA), "key")
    assert wrote
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_limit_on_file_sizes(workers: int, recipe: Path, whole: dict[str, str], tmp_path: Path) -> None:
    """A quota that only the larger files meet, in a real run with real workers."""
    out = tmp_path / "out"
    args = ("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", workers)

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    ended = subprocess.run(**builds.command(*args), preexec_fn=limited, timeout=60, check=False)
    assert str(out) in one_line(ended)
    assert builds.halves(out) == []
    assert all(path.stat().st_size < 12_000 for path in builds.files(out))
    builds.stages(recipe, out).build()
    assert builds.contents(out) == whole


# Interrupts

MOMENTS: dict[str, Callable[[Path], object]] = {
    "workers starting": lambda out: (out / "recipes/32k.json").exists(),
    "samples there": lambda out: (out / SAMPLES).exists(),
    "counts there": lambda out: (out / COUNTS).exists(),
    "in a shard": lambda out: list(out.glob("o200k/data/bio/32k/*.part-*")),
    "shards there": lambda out: len(list(out.glob("o200k/data/bio/32k/*.parquet"))) >= 2,
}


@pytest.mark.parametrize(
    ("workers", "moment"),
    [
        *(pytest.param(2, MOMENTS[name], id=name) for name in ("workers starting", "in a shard")),
        *(
            pytest.param(2, MOMENTS[name], id=name, marks=slow)
            for name in ("samples there", "counts there", "shards there")
        ),
        pytest.param(1, MOMENTS["in a shard"], id="in a shard, one worker"),
    ],
)
def test_an_interrupt_is_one_line_and_the_next_run_goes_on(
    workers: int, moment: Callable[[Path], object], recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    """As a terminal does it: Ctrl-C goes to every process of the foreground at once."""
    out = tmp_path / "out"
    args = ("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", workers)
    with builds.Running(*args, pause=0.05) as running:
        running.when(lambda: moment(out) and (workers == 1 or running.workers()))
        os.killpg(running.process.pid, signal.SIGINT)
        code, stderr = running.ended()
        assert running.gone(2), "workers are still there"
    assert code == 130
    assert builds.lines(stderr) == ["carrara: interrupted: run the same command again to continue"]
    assert not (out / MANIFEST).exists()
    builds.stages(recipe, out).build()
    assert builds.contents(out) == whole


def test_an_interrupt_of_the_command_alone_ends_its_workers(
    recipe: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    """As `kill -INT` or a notebook does it."""
    out = tmp_path / "out"
    args = ("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", 2)
    with builds.Running(*args, pause=0.05) as running:
        running.when(lambda: MOMENTS["in a shard"](out) and running.workers())
        os.kill(running.process.pid, signal.SIGINT)
        code, stderr = running.ended()
        assert running.gone(2), "workers are still there"
    assert code == 130
    assert len(builds.lines(stderr)) == 1
    builds.stages(recipe, out).build()
    assert builds.contents(out) == whole


# Pipes and devices in the place of files


PLACES = ("recipe", "profile", "vocabulary", "lock", "manifest", "kept recipe", "shard", "keys")


@pytest.mark.parametrize(
    ("what", "where"),
    [
        *(("fifo", where) for where in PLACES),
        *(pytest.param("device", where, marks=() if where == "shard" else slow) for where in PLACES),
    ],
)
def test_a_pipe_or_a_device_never_hangs(what: str, where: str, recipe: Path, built: Path, tmp_path: Path) -> None:
    def stands(path: Path) -> Path:
        path.unlink(missing_ok=True)
        os.mkfifo(path) if what == "fifo" else path.symlink_to("/dev/zero")
        return path

    words: tuple[object, ...]
    if where == "recipe":
        words = ("plan", stands(tmp_path / "x.toml"))
    elif where == "profile":
        words = ("plan", recipe, "--tokenizer", stands(tmp_path / "x.toml"))
    elif where == "vocabulary":
        own = tmp_path / "own.toml"
        stands(tmp_path / "x.tiktoken")
        own.write_text(OWN_PROFILE, encoding="ascii")
        words = ("plan", recipe, "--tokenizer", own)
    elif where == "lock":
        words = ("verify", "--against", built, "--lock", stands(tmp_path / "x.json"))
    elif where == "manifest":
        stands(built / MANIFEST)
        words = ("score", built / "o200k", recipe)
    elif where == "kept recipe":
        stands(built / "recipes/32k.json")
        words = ("verify", built)
    else:
        stands(built / (DATA if where == "shard" else KEYS))
        words = ("verify", built, "--workers", 1) if where == "shard" else ("show", built / "o200k", "none")
    one_line(in_thirty_seconds(*words) if what == "fifo" else builds.run(*words))


def in_thirty_seconds(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, and interrupt it if it hangs."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(30)
    try:
        ended = CliRunner().invoke(cli, list(map(str, words)))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return subprocess.CompletedProcess(words, ended.exit_code, ended.stdout, ended.stderr)


OWN_PROFILE = """
name = "own"
title = "Own"
models = ["own"]

[vocabulary]
file = "x.tiktoken"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
"""
