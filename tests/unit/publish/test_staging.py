"""Published folders: byte for byte with keys; without them nothing that tells an answer."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec.structs import asdict

import builds
from builds import contents, flip
from pipeline import metrics
from pipeline.artifacts.files import file_digest
from pipeline.artifacts.split import Split, open_split
from pipeline.errors import CorruptError, StageError
from pipeline.metrics.join import joined_metrics
from pipeline.publish.staging import WITHHELD, Staged
from pipeline.recipe import is_secret
from pipeline.release.recut import new_seed
from pipeline.rows import row_digest
from pipeline.verify.statistics import key_tables
from published_build import SEED, files, rows, staged, strings

OPEN = ("prompt", "messages", "question", "choices")
"""What stays public of a question, and may hold its answer."""

LONG = ("prompt", "messages.list.element.content", "target", "answers.list.element")
"""Columns whose values are too long for a column index; their pages are still found by the offset index."""


def test_shards_with_keys_are_those_of_the_build(split: Split, inline: Path) -> None:
    for part in ("data", "keys"):
        for path in split.shards(part):
            assert file_digest(inline / path.relative_to(split.folder)) == file_digest(path)
    assert (inline / "manifest.json").read_bytes() == (split.folder / "manifest.json").read_bytes()
    assert (inline / "metrics.py").read_bytes() == joined_metrics().encode()
    assert open_split(inline).manifest == split.manifest
    assert {path.name for path in inline.iterdir()} == {
        *("LICENSE", "README.md", "SOURCES.md", "croissant.json", "data", "eval.yaml", "keys", "lite", "manifest.json"),
        *("ABOUT.md", "CHANGES.md", "HARNESSES.md", "ROWS.md", "TASKS.md", "metrics.py"),
    }


@pytest.mark.parametrize("keys", ["inline", "withhold"])
def test_the_same_split_gives_the_same_bytes(
    split: Split, inline: Path, apart: Staged, tmp_path: Path, keys: str
) -> None:
    made = staged(split, tmp_path / "o200k", keys)
    first = contents(made.folder)
    assert contents(staged(split, tmp_path / "o200k", keys).folder) == first
    if keys == "inline":
        assert first == contents(inline)
    else:
        assert made.keys
        assert apart.keys
        assert below_data(first) == below_data(contents(apart.folder))
        assert contents(made.keys) == contents(apart.keys)


def below_data(found: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in found.items() if name.endswith(".parquet")}


def test_published_shards_suit_a_network(inline: Path, apart: Staged) -> None:
    for path in [*sorted(inline.rglob("*.parquet")), *sorted(apart.folder.rglob("*.parquet"))]:
        with pq.ParquetFile(path) as file:
            footer = file.metadata
            assert [*footer.metadata] == [b"carrara.key"], "no feature metadata that an older reader trips over"
        assert footer.num_row_groups <= 2
        for group in map(footer.row_group, range(footer.num_row_groups)):
            columns = [group.column(at) for at in range(group.num_columns)]
            assert all(column.has_offset_index for column in columns)
            assert all(column.has_column_index for column in columns if column.path_in_schema not in LONG)
            assert group.total_byte_size <= 100e6
            assert {column.compression for column in columns} == {"ZSTD"}


def test_columns_that_tell_an_answer_are_dropped_everywhere(split: Split, apart: Staged) -> None:
    for path in sorted(apart.folder.rglob("*.parquet")):
        file = pq.ParquetFile(path)
        assert not {*file.schema_arrow.names} & {"target", "answers", "needles", "complexity"}
        assert file.metadata.metadata == {b"carrara.key": b"withheld"}, (
            "a digest of the seed tells whether a guess is right"
        )
        for metadata in map(json.loads, file.read(columns=["metadata"])["metadata"].to_pylist()):
            assert sorted(metadata) == ["canary", "prompt_sha256"]
    index = rows(apart.folder, "index")
    data = rows(apart.folder, "data")
    assert [{name: row[name] for name in index[0]} for row in data] == index
    own = rows(split.folder, "data")
    kept = [name for name in data[0] if name not in ("id", "metadata")]
    assert [[row[name] for name in kept] for row in data] == [[row[name] for name in kept] for row in own]


def test_no_public_part_but_the_question_holds_an_answer(split: Split, apart: Staged) -> None:
    keys = rows(split.folder, "keys", ["target", "answers"])
    answers = {answer for key in keys for answer in (key["target"], *key["answers"])}
    telling = {answer for answer in answers if not re.fullmatch(r"-?\d{1,4}|[A-D]|[a-z]{1,3}", answer)}
    telling.remove("I don't know")  # the fourth choice of every row, which the card explains
    assert len(telling) > 100
    seen = 0
    for path in sorted(apart.folder.rglob("*.parquet")):
        table = pq.ParquetFile(path).read()
        for row in table.drop_columns([name for name in OPEN if name in table.schema.names]).to_pylist():
            found = set(strings(row))
            assert not found & telling
            seen += len(found)
    assert seen > 1000
    for path in files(apart.folder):
        if path.suffix == ".json":
            assert not set(strings(json.loads(path.read_text()))) & answers - numbers(answers)
        if (
            path.suffix != ".parquet" and path.name != "LICENSE"
        ):  # whose words are its own: "transfer" is a request, too
            text = without_examples(path.read_text(encoding="utf-8"))
            long = [answer for answer in telling if len(answer) > 7]
            assert not [answer for answer in long if answer in text], path.name


def numbers(answers: set[str]) -> set[str]:
    return {answer for answer in answers if re.fullmatch(r"-?\d+", answer)}


def without_examples(text: str) -> str:
    return re.sub(r"^````text\n.*?^````\n", "", text, flags=re.MULTILINE | re.DOTALL)


def test_no_public_part_holds_the_seed_or_what_is_made_from_it(split: Split, apart: Staged) -> None:
    made = split.manifest.tiers["32k"]
    secrets = {str(SEED), f"{SEED:x}", str(made.recipe_digest)}
    secrets |= {pool.key for pool in (made.pools or {}).values()} | {str(shard.key) for shard in made.shards}
    secrets |= {str(digest) for shard in made.shards for digest in (shard.row_digest, shard.keys_sha256)}
    for path in files(apart.folder):
        raw = path.read_bytes()
        assert not [secret for secret in secrets if secret.encode() in raw], path.name
    told = json.loads((apart.folder / "manifest.json").read_text())
    assert told["withheld"] == list(WITHHELD)
    assert not {"seed", "recipe_digest", "pools", "chance", "depths"} & told["tiers"]["32k"].keys()
    assert not any({"complexity", "knobs"} & cell.keys() for cell in told["tiers"]["32k"]["strata"])
    assert sum(cell["rows"] for cell in told["tiers"]["32k"]["strata"]) == told["totals"]["rows"]
    assert list(told["tiers"]["32k"])[-3:] == ["budgets", "totals", "shards"], "a second publishing changes no byte"
    assert {list(cell)[-1] for cell in told["tiers"]["32k"]["strata"]} == {"rows"}


def test_ids_of_pairs_tell_places_and_not_classes(split: Split, apart: Staged) -> None:
    assert apart.keys
    own = [row for row in rows(split.folder, "keys", ["id", "complexity"]) if "-idk-" in row["id"]]
    keys = [row for row in rows(apart.keys, "keys", ["id", "complexity"]) if "bio-idk-" in row["id"]]
    assert [row["complexity"] for row in keys] == [row["complexity"] for row in own]
    assert [re.sub(r"[ab](?=-)", "", row["id"]) for row in keys] == [re.sub(r"[ab](?=-)", "", row["id"]) for row in own]
    assert [row["id"].split("-")[4][-1] for row in keys] == ["a", "b"] * (len(keys) // 2)


def test_the_keys_score_the_public_rows(apart: Staged) -> None:
    assert apart.keys
    keys = open_split(apart.keys)
    found = {key["id"]: key for key in keys.key_rows()}
    public = list(open_split(apart.folder).rows(["id", "question", "scorer", "random_string_to_prepend"]))
    assert sorted(found) == sorted(row["id"] for row in public)
    for row in public:
        assert row["question"] == found[row["id"]]["question"]
        assert metrics.score(found[row["id"]], found[row["id"]]["target"]) == 1
    for shard, path in zip(keys.manifest.tiers["32k"].shards, keys.shards("keys"), strict=True):
        assert shard.file("keys") == (path.stat().st_size, file_digest(path))
        assert shard.row_digest == row_digest(pq.ParquetFile(path).read().to_pylist())
        data = apart.folder / "data" / f"{shard.shard}.parquet"
        assert shard.file("data") == (data.stat().st_size, file_digest(data))


def test_public_digests_are_those_of_the_files(apart: Staged) -> None:
    for made in json.loads((apart.folder / "manifest.json").read_text())["tiers"].values():
        for shard in made["shards"]:
            for part in ("data", "index"):
                path = apart.folder / part / f"{shard['shard']}.parquet"
                assert (shard[f"{part}_bytes"], shard[f"{part}_sha256"]) == (path.stat().st_size, file_digest(path))


RANDOM = 0xD1B54A32D192ED03AAF51CB1E0F2C6B7
GUESSABLE = {
    "small": 7,
    "a date": 20261121,
    "64 bits": (1 << 64) - 1,
    "negative": -5,
    "2^64": 1 << 64,
    "10^30": 10**30,
    "2^128": 1 << 128,
    "10^60": 10**60,
    "all nines": 10**45 - 1,
    "counted": int("1234567890" * 5),
    "127 bits": RANDOM >> 1,
}


def test_random_seeds_are_secret() -> None:
    assert is_secret(RANDOM)
    assert all(is_secret(new_seed("random")) for _ in range(2000))


@pytest.mark.parametrize("seed", GUESSABLE.values(), ids=GUESSABLE)
def test_keys_of_a_guessable_seed_are_not_withheld(split: Split, tmp_path: Path, seed: int) -> None:
    def guessed(manifest: dict[str, Any]) -> None:
        manifest["tiers"]["32k"]["seed"] = seed

    guessable = builds.retold(split, guessed)
    with pytest.raises(StageError, match=r"can be guessed.*recut --seed random"):
        staged(guessable, tmp_path / "o200k", "withhold")
    assert not list(tmp_path.iterdir())


def test_rows_that_shots_tell_apart_are_not_withheld(split: Split, tmp_path: Path) -> None:
    def shown(manifest: dict[str, Any]) -> None:
        for cell in manifest["tiers"]["32k"]["strata"]:
            cell["shots"] = 2 if cell["complexity"] == 0 else cell["shots"]

    told = builds.retold(split, shown)
    with pytest.raises(StageError, match=r"idk.letters length 2048: .* gives them away"):
        staged(told, tmp_path / "x", "withhold")


@pytest.mark.parametrize("part", ["data", "keys"])
@pytest.mark.parametrize("fault", ["missing", "flipped", "longer"])
def test_a_split_that_does_not_hold_is_not_published(split: Split, tmp_path: Path, part: str, fault: str) -> None:
    copy = Split(tmp_path / "o200k", split.manifest)
    for path in (*split.shards("data"), *split.shards("keys")):
        target = copy.folder / path.relative_to(split.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, target)
    victim = copy.shards(part)[1]
    raw = victim.read_bytes()
    victim.unlink()
    if fault != "missing":
        victim.write_bytes(raw + b"x" * (fault == "longer"))
    if fault == "flipped":
        flip(victim, len(raw) // 2)
    with pytest.raises(CorruptError, match=re.escape(str(victim))):
        staged(copy, tmp_path / "published" / "o200k")
    assert not (tmp_path / "published").exists()


def test_rows_counted_once_where_two_encoders_exist_are_not_published(split: Split, tmp_path: Path) -> None:
    def once(manifest: dict[str, Any]) -> None:
        manifest["tiers"]["32k"]["proven"]["recounted"] = 9

    with pytest.raises(
        StageError, match=f"9 of {builds.SMOKE_ROWS} rows of tier 32k were counted twice: run `carrara verify`"
    ):
        staged(builds.retold(split, once), tmp_path / "x")


def test_what_is_published_is_not_published_again(apart: Staged, tmp_path: Path) -> None:
    with pytest.raises(StageError, match="is a folder made for publishing"):
        staged(open_split(apart.folder), tmp_path / "x")


def test_another_folder_is_not_overwritten(split: Split, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine.txt").write_text("mine")
    with pytest.raises(StageError, match="holds other files than"):
        staged(split, tmp_path / "x")
    assert (tmp_path / "x" / "mine.txt").read_text() == "mine"


def test_an_unknown_way_of_keys_is_named(split: Split, tmp_path: Path) -> None:
    with pytest.raises(StageError, match="did you mean 'withhold'"):
        staged(split, tmp_path / "x", "withheld")


def test_the_manifest_counts_depths_and_windows(split: Split) -> None:
    made, keys = split.manifest.tiers["32k"], rows(split.folder, "keys")
    assert made.depths
    assert made.budgets
    assert set(made.depths) == {key["family"] for key in keys}
    assert made.depths == key_tables(lambda columns: iter(keys))["depths"]
    found = [n for key in keys if key["family"] == "bio" for n in key["needles"] if n["role"] in ("relevant", "match")]
    depths = [needle["depth"] for needle in found if needle["depth"] is not None]
    assert sum(made.depths["bio"]) == len(depths) > 50
    assert made.depths["bio"][9] == sum(depth >= 0.9 for depth in depths)
    for length, parts in made.budgets.items():
        own = [key for key in keys if key["length"] == int(length)]
        assert sum(asdict(parts).values()) == sum(key["context_tokens"] for key in own)
