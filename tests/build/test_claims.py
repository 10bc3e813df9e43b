"""Manifests edited by hand: what a field says is derived again before it is frozen, published or believed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import builds
import hostile
from frozen_releases import carrara, error_line, succeeded, written
from pipeline.artifacts.manifest import shard_faults
from pipeline.artifacts.split import open_split
from pipeline.errors import CarraraError
from pipeline.profiles import load_profile
from pipeline.publish.staging import check_claims, check_split
from pipeline.release.freeze import make_lock
from pipeline.verify.claims import first_claim_fault

pytestmark = pytest.mark.usefixtures("small_shards")
CASES = int(os.environ.get("CARRARA_FAULT_CASES", "0"))
FEW = 12
"""Edits that are tried on whole commands, unless thousands of cases are asked for."""
UNSEEN = frozenset({"carrara"})
"""Fields that follow from nothing that a folder holds."""
LOCKED = frozenset({"counter", "second", "recounted", "version", "recipe_digest", "blocks"})
"""... and that of a copy only a lock shows, or its rows when they are drawn and counted again."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("claims")
    builds.stages(written(home / "tiny.toml"), home / "v1.0.0").build()
    return home / "v1.0.0"


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "v1.0.0")


def other(value: Any) -> Any:
    """Return another value of the same form."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if len(value) == 64:
            return f"{value[:-1]}{'01'[value[-1] == '0']}"
        case str():
            return f"{value[:-1]}{'xy'[value[-1:] == 'x']}"
        case None:
            return 1
    return None


def edits(manifest: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every place of a manifest with another value for it; `...` takes out a list or a table."""
    for place in hostile.places(manifest):
        value = manifest
        for step in place:
            value = value[step]
        if (changed := other(value)) is not None:
            yield place, changed
        else:
            yield place, ...


def field_of(place: tuple[Any, ...]) -> str:
    return next(str(step) for step in reversed(place) if isinstance(step, str))


def edited(folder: Path, place: tuple[Any, ...], value: Any) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="ascii"))
    hostile.put(manifest, place, value)
    path.write_text(json.dumps(manifest), encoding="ascii")


def told(folder: Path) -> str:
    """Return what is said of a manifest before it is believed."""
    try:
        split = open_split(folder)
        for each in (shard for made in split.manifest.tiers.values() for shard in made.shards):
            for part, _, fault in shard_faults(folder, each):
                return f"{part}_bytes {part}_sha256 shard: {fault}"
        return first_claim_fault(split, load_profile("o200k"), ())
    except CarraraError as fault:
        return str(fault)


def test_every_edit_of_a_manifest_is_named(built: Path, home: Path) -> None:
    """Without recipe and proofs, as a copy is; there are more than 200 places."""
    for name in ("recipes", "o200k/proofs"):
        shutil.rmtree(home / name)
    folder, sound = home / "o200k", (built / "o200k" / "manifest.json").read_bytes()
    assert told(folder) == ""
    tried = list(edits(json.loads(sound)))
    assert len(tried) > 200
    unseen = []
    for place, value in tried:
        edited(folder, place, value)
        if not told(folder):
            unseen.append(place)
        (folder / "manifest.json").write_bytes(sound)
    assert {field_of(place) for place in unseen} <= UNSEEN | LOCKED, unseen


def published(folder: Path) -> None:
    split = open_split(folder)
    check_split(split)
    check_claims(split)


def test_with_recipe_and_proofs_nothing_is_left_unseen(built: Path, home: Path) -> None:
    folder, sound = home / "o200k", (built / "o200k" / "manifest.json").read_bytes()
    split = open_split(folder)
    check_claims(split)
    tried = [edit for edit in edits(json.loads(sound)) if field_of(edit[0]) not in UNSEEN]
    for place, value in Random(8).sample(tried, min(len(tried), CASES or FEW)):
        edited(folder, place, value)
        for act in (lambda: published(folder), lambda: make_lock(home)):
            with pytest.raises(CarraraError) as caught:
                act()
            assert "\n" not in str(caught.value), place
            assert "KeyError" not in str(caught.value), place
        (folder / "manifest.json").write_bytes(sound)


EDITS: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "canary": (("canary",), "none", "canary is"),
    "models": (("tokenizer", "models", 0), "gpt-9", "tokenizer.models[0] is"),
    "windows": (("tokenizer", "windows", "131072"), 4096, "tokenizer.windows.131072 is"),
    "task version": (("tiers", "32k", "strata", 0, "task_version"), 99, "version"),
    "best constant": (("tiers", "32k", "chance", 0, "best_constant"), 0.99, "chance[0].best_constant is"),
    "seed": (("tiers", "32k", "seed"), 8, "seed"),
    "stratum": (("tiers", "32k", "strata", 0, "complexity"), 7, "strata[0].complexity"),
    "rows": (("tiers", "32k", "proven", "rows"), 12, "proven.rows is"),
    "counter": (("tiers", "32k", "proven", "counter", 0), "abacus", "proven.counter[0] is"),
    "totals": (("totals", "tokens"), 1, "totals.tokens is"),
    "solved": (("tiers", "32k", "shards", 0, "solved"), 0, "solved is"),
}


@pytest.mark.parametrize("name", EDITS)
def test_freeze_and_publish_name_the_field(name: str, home: Path, tmp_path: Path) -> None:
    place, value, words = EDITS[name]
    edited(home / "o200k", place, value)
    publish = ("publish", home / "o200k", "--repo", "org/x", "--dry-run", "--out", tmp_path / "out")
    for command in (("freeze", home), publish, ("verify", "--against", home / "o200k")):
        line = error_line(carrara(*command))
        assert words in line or (name in ("seed", "stratum") and "32k" in line), line
    assert not (tmp_path / "out").exists()


def test_a_lock_names_who_counted(home: Path) -> None:
    succeeded(carrara("freeze", home))
    path = home / "o200k" / "manifest.json"
    path.write_text(path.read_text(encoding="ascii").replace('"tiktoken ', '"abacus '), encoding="ascii")
    shutil.rmtree(home / "o200k" / "proofs")
    assert "abacus" in error_line(carrara("verify", "--against", home / "o200k"))
