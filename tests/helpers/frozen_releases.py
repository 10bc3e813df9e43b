"""Small frozen releases, to copy, extend and break."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner, Result
from msgspec import to_builtins

import builds
from pipeline.artifacts.files import file_digest
from pipeline.artifacts.parquet import read_rows
from pipeline.cli import cli
from pipeline.rows import Row, row_digest
from pipeline.verify.statistics import key_tables

TOP = 'release = "tiny"\nversion = "{version}"\nseed = {seed}\ntier = "{tier}"\n'
STRATA = """
[[strata]]
family = "{family}"
subtasks = ["{subtask}"]
complexity = {complexity}
lengths = {lengths}
rows = {rows}
"""
CELLS = (("bio", "standard", [1], [2048, 4096], 3), ("bio", "idk", [0, 1], [2048], 2), ("mrcr", "chat", [2], [8192], 1))
"""Plain rows, pairs, and real turns."""
SHARD = "bio/32k/test-00001-of-00003"


def written(
    path: Path, cells: Sequence[tuple[Any, ...]] = CELLS, version: str = "1.0.0", seed: int = 7, tier: str = "32k"
) -> Path:
    names = ("family", "subtask", "complexity", "lengths", "rows")
    tables = [STRATA.format(**dict(zip(names, cell, strict=True))) for cell in cells]
    path.write_text("\n".join([TOP.format(version=version, seed=seed, tier=tier), *tables]), encoding="ascii")
    return path


def carrara(*words: str | Path | int) -> Result:
    """Run the command in this process, with empty caches."""
    builds.forget()
    engine = ("--workers", "1") if words[0] in ("build", "extend", "verify") else ()
    return CliRunner().invoke(cli, [*map(str, words), *engine])


def error_line(done: Result) -> str:
    """Return the single line of an error."""
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("carrara: ")
    return line


def succeeded(done: Result) -> str:
    """Return the output of a command that succeeded."""
    assert done.exit_code == 0, done.output
    return done.stdout


def published(built: Path, folder: Path, profile: str = "o200k") -> Path:
    """Copy a profile's folder as it is published, with answers."""
    folder.mkdir()
    for part in ("data", "keys"):
        shutil.copytree(built / profile / part, folder / part)
    shutil.copyfile(built / profile / "manifest.json", folder / "manifest.json")
    return folder


def rewritten(path: Path, change: Callable[[list[Row]], None]) -> None:
    """Write a shard again with changed rows, as a valid file."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def resealed(folder: Path, *, retold: bool = False) -> None:
    """Update a manifest to the digests of the present files, like somebody who tampers with both.

    With `retold`, also update row digests and the tier's tables.
    """
    manifest = json.loads((folder / "manifest.json").read_text(encoding="ascii"))
    for made in manifest["tiers"].values():
        for shard in made["shards"]:
            shard |= digests(folder, shard["shard"], [part for part in PARTS if f"{part}_sha256" in shard])
        made["totals"]["bytes"] = sum(shard["data_bytes"] for shard in made["shards"])
        for shard in made["shards"] if retold else ():
            shard["row_digest"] = row_digest(read_rows(folder / "data" / f"{shard['shard']}.parquet"))
        if retold:
            paths = [folder / "keys" / f"{shard['shard']}.parquet" for shard in made["shards"]]
            tables = key_tables(lambda names, paths=paths: (row for each in paths for row in read_rows(each, names)))
            made |= to_builtins(tables)
    manifest["totals"]["bytes"] = sum(made["totals"]["bytes"] for made in manifest["tiers"].values())
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="ascii")


def digests(folder: Path, shard: str, parts: Iterable[str]) -> Row:
    paths = {part: folder / part / f"{shard}.parquet" for part in parts}
    sizes = {f"{part}_bytes": path.stat().st_size for part, path in paths.items()}
    return sizes | {f"{part}_sha256": file_digest(path) for part, path in paths.items()}


PARTS = ("data", "index", "keys")
DROPPED = ("complexity", "target", "answers", "needles")


def withheld(folder: Path) -> Path:
    """Remove the answers from a published folder, as `publish` does when keys are withheld."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="ascii"))
    for made in manifest["tiers"].values():
        made["strata"] = list(_merged(made["strata"]))
        made["shards"] = [_public(folder, shard) for shard in made["shards"]]
        made["totals"]["bytes"] = sum(shard["data_bytes"] for shard in made["shards"])
        for name in ("seed", "recipe_digest", "pools", "chance"):
            del made[name]
    manifest["totals"]["bytes"] = sum(made["totals"]["bytes"] for made in manifest["tiers"].values())
    manifest["withheld"] = list(DROPPED)
    shutil.rmtree(folder / "keys")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="ascii")
    return folder


def _merged(strata: Iterable[Row]) -> Iterable[Row]:
    """Return strata merged where the remaining columns cannot tell them apart."""
    cells: dict[str, Row] = {}
    for cell in strata:
        kept = {name: value for name, value in cell.items() if name not in ("complexity", "knobs")}
        cells.setdefault(f"{cell['subtask']} {cell['length']}", {**kept, "rows": 0})["rows"] += cell["rows"]
    return cells.values()


def _public(folder: Path, shard: Row) -> Row:
    """Remove the answers from a shard, and write an index of the rest."""
    path, index = (folder / part / f"{shard['shard']}.parquet" for part in ("data", "index"))
    table = _shown(pq.read_table(path))
    pq.write_table(table, path)
    index.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.drop_columns(["prompt", "messages"]), index)
    kept = {name: shard[name] for name in ("shard", "rows", "tokens", "prompt_tokens", "fewest_tokens", "most_tokens")}
    return kept | digests(folder, shard["shard"], ("data", "index"))


def _shown(table: pa.Table) -> pa.Table:
    """Drop what gives away an answer, and change the ids of pairs."""
    rows = table.to_pylist()
    for row in rows:
        kept = json.loads(row["metadata"])
        row["metadata"] = json.dumps({name: kept[name] for name in ("canary", "prompt_sha256")})
        row["id"] = row["id"].replace("b-", "c-")
    schema = pa.schema([field for field in table.schema if field.name not in DROPPED])
    return pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema=schema)
