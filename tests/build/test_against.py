"""A copy of a split is held to its manifest and its lock: every fault of bytes, rows and claims is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import builds
from frozen_releases import SHARD, carrara, error_line, published, resealed, rewritten, succeeded, withheld, written
from loopback import Hub
from loopback.client import CLIENTS_OWN
from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.split import Split
from pipeline.profiles import load_profile
from pipeline.publish.hub import release
from pipeline.publish.staging import Staged
from pipeline.release.freeze import make_lock
from pipeline.rows import sha256_text
from pipeline.tasks import TASKS
from pipeline.verify.lock import write_lock
from pipeline.version import __version__

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frozen release that no test touches."""
    home = tmp_path_factory.mktemp("against")
    builds.stages(written(home / "tiny.toml"), home / "v1.0.0").build()
    succeeded(carrara("freeze", home / "v1.0.0", "--lock", home / "tiny.lock.json"))
    return home / "v1.0.0"


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """What is published of it, to break."""
    return published(built, tmp_path / "copy")


@pytest.fixture
def shown(copy: Path) -> Path:
    """The same without answers."""
    return withheld(copy)


def faults(*words: str | Path) -> list[str]:
    """Return every fault that is listed, after the one line of the error."""
    done = carrara("verify", *words)
    first = error_line(done)
    listed = done.stdout.splitlines()
    assert any(line in first for line in listed)
    return listed


def test_a_sound_copy_holds_with_and_without_a_lock(built: Path, copy: Path) -> None:
    before = builds.stamps(built) | builds.stamps(copy)
    for words in ([], ["--lock", built.parent / "tiny.lock.json"]):
        line = succeeded(carrara("verify", "--against", copy, *words))
        assert "11 rows in 4 shards, all recounted by tiktoken" in line
        assert ("every byte as in the lock of tiny 1.0.0" if words else "every byte as its manifest says") in line
        assert ("without a lock, filler that was changed together with its digests is not seen" in line) == (not words)
    for where in (built, built / "o200k"):
        assert "as in the lock of tiny 1.0.0" in succeeded(carrara("verify", "--against", where))
    assert "as in the lock of tiny 1.0.0" in succeeded(carrara("verify", built, "--against", copy))
    assert builds.stamps(built) | builds.stamps(copy) == before, "nothing is written"


def data(copy: Path) -> Path:
    return copy / "data" / f"{SHARD}.parquet"


def first_id(copy: Path) -> str:
    return str(next(read_rows(data(copy), ["id"]))["id"])


def flipped(copy: Path) -> None:
    builds.flip(data(copy), data(copy).stat().st_size // 3)


def flipped_keys(copy: Path) -> None:
    path = copy / "keys" / f"{SHARD}.parquet"
    builds.flip(path, path.stat().st_size // 3)


def missing(copy: Path) -> None:
    data(copy).unlink()


def missing_keys(copy: Path) -> None:
    (copy / "keys" / f"{SHARD}.parquet").unlink()


def extra(copy: Path) -> None:
    shutil.copyfile(data(copy), data(copy).with_name("test-00009-of-00010.parquet"))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (flipped, f"{SHARD}: the file in data differs from the bytes that the manifest lists"),
        (flipped_keys, f"{SHARD}: the file in keys differs from the bytes that the manifest lists"),
        (missing, f"{SHARD}: the file in data is missing"),
        (missing_keys, f"{SHARD}: the file in keys is missing"),
        (extra, "data/bio/32k/test-00009-of-00010.parquet is not in the manifest"),
    ],
)
def test_a_broken_file_is_named(copy: Path, harm: Callable[[Path], None], told: str) -> None:
    harm(copy)
    assert told in faults("--against", copy)


def other_filler(rows: list[dict[str, Any]]) -> None:
    """Take one word of filler out."""
    place = rows[0]["prompt"].rindex(" ", 0, rows[0]["question_start"] - 300)
    rows[0]["prompt"] = rows[0]["prompt"][:place] + rows[0]["prompt"][place + 1 :]


def other_answer(rows: list[dict[str, Any]]) -> None:
    rows[0]["target"] = "Oslo"


def other_window(rows: list[dict[str, Any]]) -> None:
    rows[0]["context_tokens"] += 1


def other_id(rows: list[dict[str, Any]]) -> None:
    rows[0]["id"] = rows[0]["id"][:-6] + "abcdef"


def twice(rows: list[dict[str, Any]]) -> None:
    rows[0] = rows[1]


def fewer(rows: list[dict[str, Any]]) -> None:
    del rows[0]


def unreadable(rows: list[dict[str, Any]]) -> None:
    rows[0]["metadata"] = "[]"


def no_canary(rows: list[dict[str, Any]]) -> None:
    metadata = json.loads(rows[0]["metadata"])
    rows[0]["metadata"] = json.dumps({**metadata, "canary": ""})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other_filler, "the SHA-256 of its prompt is wrong; "),
        (other_answer, "the key 'Oslo'"),
        (other_window, "context_tokens is "),
        (other_id, "its id does not end in "),
        (unreadable, "it cannot be read as a row"),
        (no_canary, "it has no canary"),
    ],
)
def test_a_changed_row_is_named_whatever_manifest_comes_with_it(
    copy: Path, change: Callable[[list[dict[str, Any]]], None], told: str
) -> None:
    rewritten(data(copy), change)
    resealed(copy)
    name = first_id(copy)
    found = [fault for fault in faults("--against", copy) if fault.startswith(f"{SHARD}: row {name!r}: ")]
    assert len(found) == 1
    assert told in found[0]


def moved_depth(rows: list[dict[str, Any]]) -> None:
    needle = next(needle for needle in rows[0]["needles"] if needle["depth"] is not None)
    needle["depth"] = needle["depth"] / 2 + 0.25


def better_chance(rows: list[dict[str, Any]]) -> None:
    metadata = json.loads(rows[0]["metadata"])
    metadata["baselines"] = dict.fromkeys(metadata["baselines"], 0.5)
    rows[0]["metadata"] = json.dumps(metadata)


def other_fact(rows: list[dict[str, Any]]) -> None:
    """Change an answer wherever it stands, in text and key alike, by a letter of which no count depends."""
    old = rows[0]["target"]
    new = {"a": "e", "e": "a"}.get(old[-1], "a")
    new = old[:-1] + new
    for name in ("prompt", "target"):
        rows[0][name] = rows[0][name].replace(old, new)
    rows[0]["answers"] = [new]
    metadata = json.loads(rows[0]["metadata"])
    metadata["prompt_sha256"] = sha256_text(rows[0]["prompt"])
    rows[0]["metadata"] = json.dumps(metadata)


def swapped(rows: list[dict[str, Any]]) -> None:
    rows[0], rows[1] = rows[1], rows[0]


@pytest.mark.parametrize("change", [moved_depth, better_chance, other_fact, swapped], ids=lambda each: each.__name__)
def test_what_text_keys_and_manifest_agree_upon_is_held_to_the_seed(
    copy: Path, change: Callable[[list[dict[str, Any]]], None]
) -> None:
    """No lock is there, and every digest fits."""
    for part in ("data", "keys"):
        rewritten(copy / part / f"{SHARD}.parquet", change if part == "data" else keyed(change, copy))
    resealed(copy, retold=True)
    found = faults("--against", copy)
    assert any(fault.startswith(f"{SHARD}: row ") for fault in found), found
    assert not any("differ from those" in fault or "its key differs" in fault for fault in found), found


def keyed(change: Callable[[list[dict[str, Any]]], None], copy: Path) -> Callable[[list[dict[str, Any]]], None]:
    """Return what gives keys what the changed rows say."""

    def followed(keys: list[dict[str, Any]]) -> None:
        keys[:] = [{name: row[name] for name in keys[0]} for row in read_rows(data(copy))]

    return followed


def test_a_row_of_another_seed_is_named(copy: Path, tmp_path: Path) -> None:
    builds.stages(written(tmp_path / "other.toml", seed=8), tmp_path / "other").build()
    (stranger,) = list(read_rows(tmp_path / "other/o200k/data" / f"{SHARD}.parquet"))[:1]

    def change(rows: list[dict[str, Any]]) -> None:
        rows[0] = {**stranger, "id": rows[0]["id"]}

    rewritten(data(copy), change)
    rewritten(copy / "keys" / f"{SHARD}.parquet", keyed(change, copy))
    resealed(copy, retold=True)
    assert any(fault.startswith(f"{SHARD}: row ") for fault in faults("--against", copy))


@pytest.mark.parametrize("name", ["chance", "depths", "budgets"])
def test_a_table_that_its_keys_do_not_give_is_named(name: str, copy: Path) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text(encoding="ascii"))
    manifest["tiers"]["32k"][name] = type(manifest["tiers"]["32k"][name])()
    path.write_text(json.dumps(manifest), encoding="ascii")
    (found, *_) = faults("--against", copy)
    assert found.startswith(f"manifest.json: tier 32k says {name}")


@pytest.mark.parametrize("name", ["keys/bio/32k/more.parquet", "index/x.parquet", "data/bio/32k/read_me.py"])
def test_any_file_beside_the_shards_is_named(name: str, copy: Path) -> None:
    (copy / name).parent.mkdir(parents=True, exist_ok=True)
    (copy / name).write_bytes(b"PAR1")
    assert f"{name} is not in the manifest" in faults("--against", copy)


@pytest.mark.parametrize(
    ("change", "told"), [(fewer, " rows, expected "), (twice, "its rows differ from those that the manifest lists")]
)
def test_rows_that_come_or_go_are_seen(copy: Path, change: Callable[[list[dict[str, Any]]], None], told: str) -> None:
    for part in ("data", "keys"):
        rewritten(copy / part / f"{SHARD}.parquet", change)
    resealed(copy)
    assert any(told in fault for fault in faults("--against", copy))


def test_a_forged_copy_with_a_manifest_that_fits_differs_from_the_lock(built: Path, copy: Path) -> None:
    """The same rows written by another writer are sound by themselves, and not what was published."""
    rewritten(data(copy), lambda rows: None)
    resealed(copy)
    succeeded(carrara("verify", "--against", copy))
    assert faults("--against", copy, "--lock", built.parent / "tiny.lock.json") == [
        f"{SHARD}: the file in data differs from the bytes that were frozen"
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": "2.0.0"}, "manifest.json: version is '2.0.0', but was frozen as '1.0.0'"),
        ({"frame": "raw"}, "manifest.json: frame is 'raw', but was frozen as 'chat'"),
    ],
)
def test_a_manifest_with_other_claims_is_named(built: Path, copy: Path, change: dict[str, Any], told: str) -> None:
    path = copy / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="ascii")) | change), encoding="ascii")
    assert told in faults("--against", copy, "--lock", built.parent / "tiny.lock.json")


def test_strata_with_fewer_rows_than_said_are_named(copy: Path) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text(encoding="ascii"))
    manifest["tiers"]["32k"]["strata"][0]["rows"] += 1
    manifest["tiers"]["32k"]["totals"]["rows"] += 1
    path.write_text(json.dumps(manifest), encoding="ascii")
    assert "manifest.json: tier 32k says 12 rows, but its shards add up to 11" in faults("--against", copy)
    manifest["tiers"]["32k"]["totals"]["rows"] -= 1
    path.write_text(json.dumps(manifest), encoding="ascii")
    assert "manifest.json: tier 32k, bio standard 2048 1: 3 rows, expected 4" in faults("--against", copy)


def test_a_changed_vocabulary_is_named(copy: Path) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text(encoding="ascii"))
    manifest["tokenizer"]["vocabulary_sha256"] = "0" * 64
    path.write_text(json.dumps(manifest), encoding="ascii")
    (found,) = faults("--against", copy)
    assert "the vocabulary of profile o200k has SHA-256 446a9538cb6c, expected 000000000000" in found


def test_a_copy_without_answers_holds_and_its_answers_are_those_of_the_keys(built: Path, shown: Path) -> None:
    assert "answers withheld; every byte as its manifest says" in succeeded(carrara("verify", "--against", shown))
    line = succeeded(carrara("verify", "--against", shown, "--lock", built.parent / "tiny.lock.json"))
    assert "answers withheld" in line
    assert "answers match the keys" in succeeded(carrara("verify", built, "--against", shown))


def test_a_prompt_changed_in_a_copy_without_answers_is_named(built: Path, shown: Path) -> None:
    rewritten(data(shown), other_filler)
    resealed(shown)
    name = first_id(shown)
    (found,) = faults("--against", shown)
    assert found.startswith(f"{SHARD}: row {name!r}: ")
    assert "the SHA-256 of its prompt is wrong" in found
    assert any("its prompt is not the one that was built" in fault for fault in faults(built, "--against", shown))


def test_a_copy_without_answers_is_held_to_the_seed_of_the_lock(built: Path, shown: Path) -> None:
    """A fact is another wherever it stands, and every digest fits."""
    unseen = "without the frozen folder, a {} that was changed together with its digests is not seen"
    lock = ("--lock", built.parent / "tiny.lock.json")
    assert unseen.format("question or text") in succeeded(carrara("verify", "--against", shown))
    line = succeeded(carrara("verify", "--against", shown, *lock))
    assert "answers withheld, questions and answers drawn again from the seed of the lock; every byte" in line
    assert unseen.format("text") in line
    assert "is not seen" not in succeeded(carrara("verify", built, "--against", shown))
    number, prompt = retold(built)

    def change(rows: list[dict[str, Any]]) -> None:
        metadata = json.loads(rows[number]["metadata"])
        rows[number]["metadata"] = json.dumps({**metadata, "prompt_sha256": sha256_text(prompt)})
        if "prompt" in rows[number]:
            rows[number]["prompt"] = prompt

    for part in ("data", "index"):
        rewritten(shown / part / f"{SHARD}.parquet", change)
    resealed(shown)
    succeeded(carrara("verify", "--against", shown))
    (found,) = faults("--against", shown, *lock)
    assert found.endswith(": the answer in its text differs from the one that was drawn")


def retold(built: Path) -> tuple[int, str]:
    """Return a row and its prompt with another answer of as many tokens."""
    counter, digits, letters = load_profile("o200k").counter(), "0123456789", "abcdefghijklmnopqrstuvwxyz"
    for number, row in enumerate(read_rows(built / "o200k/data" / f"{SHARD}.parquet")):
        target = row["target"]
        marks = [(place, mark) for place, old in enumerate(target) for mark in (digits if old.isdigit() else letters)]
        for place, mark in marks:
            other = row["prompt"].replace(target, target[:place] + mark + target[place + 1 :])
            same = counter.count(other) == counter.count(row["prompt"])
            if row["subtask"] == "standard" and other != row["prompt"] and same:
                return number, other
    raise AssertionError("every other answer has another number of tokens")


def test_what_publish_withholds_is_drawn_again_from_the_lock(split: Split, apart: Staged, tmp_path: Path) -> None:
    """Of every task."""
    write_lock(tmp_path / "x.lock.json", make_lock(split.folder.parent))
    line = succeeded(carrara("verify", "--against", apart.folder, "--lock", tmp_path / "x.lock.json"))
    assert "answers withheld, questions and answers drawn again from the seed of the lock; every byte" in line


def test_a_split_is_rebuilt_from_its_lock_alone(built: Path, copy: Path, tmp_path: Path) -> None:
    shutil.copyfile(built.parent / "tiny.lock.json", tmp_path / "alone.lock.json")
    line = succeeded(
        carrara("verify", "--against", copy, "--lock", tmp_path / "alone.lock.json", "--into", tmp_path / "again")
    )
    assert "tiny 1.0.0: 4 shards rebuilt from the lock to the same bytes" in line
    assert builds.below(builds.contents(tmp_path / "again"), "o200k/data", "o200k/keys") == builds.below(
        builds.contents(built), "o200k/data", "o200k/keys"
    )


def test_a_rebuilt_split_gives_the_keys_of_a_copy_without_answers(built: Path, shown: Path) -> None:
    line = succeeded(carrara("verify", "--against", shown, "--lock", built.parent / "tiny.lock.json", "--rebuild"))
    assert "rebuilt from the lock to the same bytes" in line
    assert "answers match the keys" in line


def test_other_libraries_may_write_other_bytes_and_no_other_row(
    built: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.artifacts.parquet.GROUP_BYTES", 4096)
    words = ["verify", built, "--against", copy, "--rebuild"]
    assert "when rebuilt from the lock with the same libraries, its bytes differ" in carrara(*words).stdout
    monkeypatch.setattr("pipeline.release.rebuild.version", lambda name: "99.0")
    line = succeeded(carrara(*words))
    assert "to the same rows but different bytes (numpy 99.0 here, " in line


def test_what_cannot_be_made_again_says_why(built: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = TASKS["bio", "idk"]
    monkeypatch.setattr(type(task), "version", task.version + 1)
    line = error_line(carrara("verify", built, "--against", copy, "--rebuild"))
    assert "tiny 1.0.0 cannot be rebuilt here: task bio.idk changed (version " in line
    assert f"install carrara {__version__}, which froze it" in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to verify: give FOLDER, or --against SPLIT"),
        (["outputs", "--rebuild"], "nothing to verify: give FOLDER, or --against SPLIT"),
        (
            ["--against", "nowhere"],
            "no folder 'nowhere': give the folder of a split, or a published set with its tag, such as org/name@v1.0.0",
        ),
        (["--against", "{copy}", "--rebuild"], "--rebuild needs a lock: give --lock FILE"),
        (["--against", "{copy}", "--into", "{copy}"], "is the folder being checked: give another one"),
        (["--against", "{copy}", "--tokenizer", "llama3.1"], "has no split for llama3.1: leave out --tokenizer"),
        (["--against", "{copy}", "--part", "1/2"], "a copy is checked as a whole"),
    ],
)
def test_what_cannot_be_meant_is_one_line(copy: Path, words: list[str], told: str) -> None:
    assert told in error_line(carrara("verify", *(word.format(copy=copy) for word in words)))


@CLIENTS_OWN
def test_a_data_set_is_held_to_the_lock_at_its_tag(hub: Hub, built: Path, copy: Path) -> None:
    release(copy, "org/tiny", "1.0.0")
    assert "11 rows in 4 shards" in succeeded(carrara("verify", built, "--against", "org/tiny@v1.0.0", "--rebuild"))
    rewritten(data(copy), lambda rows: None)
    resealed(copy)
    release(copy, "org/tiny", "1.0.1")
    assert faults(built, "--against", "org/tiny@v1.0.1") == [
        f"{SHARD}: the file in data differs from the bytes that were frozen"
    ]
    assert "give a tag, such as org/tiny@v1.0.1" in error_line(carrara("verify", "--against", "org/tiny@v2.0.0"))
    assert "org/none" in error_line(carrara("verify", "--against", "org/none@v1.0.0"))


def test_a_profile_that_is_not_shipped_is_asked_for(copy: Path) -> None:
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text(encoding="ascii"))
    manifest["tokenizer"]["name"] = "mine"
    path.write_text(json.dumps(manifest), encoding="ascii")
    assert "is cut for profile 'mine', which is not a shipped one: give its TOML with --tokenizer" in error_line(
        carrara("verify", "--against", copy)
    )
