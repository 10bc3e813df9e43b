"""Untrusted input: splits, locks and recipes, harmful values, and checks of the command's behaviour on them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner, Result

import handmade
from pipeline.cli import cli
from pipeline.export import EXPORTS
from pipeline.recipe import Recipe, Stratum
from pipeline.verify.lock import Lock, PoolLock, ProfileLock, ShardLock, SplitLock, TaskLock, TierLock, write_lock
from time_bounds import within

ESCAPED = Path("/tmp/carrara-escaped")
"""Where a path with ``..`` leads; nothing may ever be there."""
CLIMBING = f"../../../../../../../../../..{ESCAPED}"
CODE = f'x"\nimport pathlib; pathlib.Path("{ESCAPED}").touch()  #'
DEEP = "[" * 100_000
HOSTILE: tuple[Any, ...] = (
    *(None, "", " ", ".", "..", "\n", "a\nb: !!python/object/apply:os.system [id]", "\x1b[2J\x1b[1;31m", "\u202egnp"),
    *("x" * 70_000,),
    *(CLIMBING, f"/{CLIMBING}", CODE, '"]\n[tool.x]\n"', "{{ 1/0 }}", "#", "null", "None", "nan", "-1", "\ud7ff", "é"),
    *(-1, 0, 1, 10**9, 2**31, 2**63, 10**40, -(10**40), 0.5, 1e308, True, False),
    *([], {}, [None], {"": None}, [[]], {"32k": None}, {"../x": {}}, ["a"] * 300),
)  # fmt: skip
ASKED = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--max-retries", "0", "--timeout", "1")
"""Options of `carrara run` for a server that does not exist."""
MOST_SECONDS = 10
ROWS = [handmade.row(number) for number in range(3)] + handmade.pair(3)


def split(folder: Path) -> Path:
    """Write a valid split of a few rows."""
    return handmade.split(folder, ROWS)


def lock(path: Path, rows: int = 6, **changed: Any) -> Path:
    """Write a lock; `changed` are fields of its recipe."""
    top = {"release": "made", "version": "1.0.0", "seed": 7, "tier": "32k", **changed}
    recipe = Recipe(**top, strata=(Stratum("bio", "standard", "32k", 2048, 1, rows),))
    tier = TierLock(
        recipe,
        "0a1b2c",
        {"bio.standard": TaskLock(1, "exact", 64)},
        {"people": PoolLock(1, "", handmade.DIGEST)},
        (),
        {},
    )
    shard = ShardLock(handmade.DIGEST, rows, handmade.DIGEST, 1, handmade.DIGEST, 1, handmade.DIGEST)
    shards = SplitLock({}, {"bio/32k/test-00000-of-00001": shard})
    profile = ProfileLock(handmade.DIGEST, handmade.DIGEST, ("a",), ("b",), {"32k": shards})
    write_lock(path, Lock("made", "1.0.0", "", "chat", "2.0.0", 1, {}, {"32k": tier}, {"o200k": profile}))
    return path


def change_manifest(folder: Path, change: Callable[[Any], Any]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="ascii"))
    path.write_text(json.dumps(change(manifest) or manifest), encoding="ascii")


def put(tree: Any, place: tuple[Any, ...], value: Any) -> None:
    """Put a value into a tree of lists and dicts; `...` removes the present value."""
    *way, last = place
    for step in way:
        tree = tree[step]
    if value is ...:
        del tree[last]
    else:
        tree[last] = copy.deepcopy(value)


def places(tree: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value in a tree of lists and dicts."""
    for step, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield (*way, step)
        yield from places(value, (*way, step))


def recast(folder: Path, column: str, value: Any) -> None:
    """Set a column of all rows of a split, in data and keys, to a value of any type."""
    for path in folder.glob("*/*/*/*.parquet"):
        table = pq.ParquetFile(path).read()
        at = table.schema.get_field_index(column)
        if at < 0:
            continue
        field, rows = table.schema.field(at), len(table)
        for make in (lambda: pa.array([value] * rows, field.type), lambda: pa.array([value] * rows), lambda: None):  # noqa: B023
            try:
                pq.write_table(table.set_column(at, column, make() or pa.array([ascii(value)] * rows)), path)
                break
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                continue


def commands(folder: Path, out: Path, predictions: Path) -> dict[str, list[str]]:
    """Return every command that reads a split."""
    where = str(folder)
    return {
        **{f"export {name}": ["export", name, where, "--out", str(out / "made")] for name in EXPORTS},
        "score": ["score", where, str(predictions)],
        "gallery": ["gallery", where, "--out", str(out / "page.html")],
        "report": ["report", where, "--out", str(out / "page.html")],
        "report scores": ["report", where, str(predictions), "--out", str(out / "page.html")],
        "readers": ["baselines", where, "--out", str(out / "readings"), "--workers", "1"],
        "show": ["show", where],
        "show row": ["show", where, f"bio-standard-32k-2048-0001-{handmade.TAG}"],
        "chance": ["baselines", where],
        "verify": ["verify", "--against", where, "--workers", "1", "--quiet"],
        "publish": ["publish", where, "--repo", "org/x", "--dry-run", "--out", str(out / "published")],
        "run": ["run", where, *ASKED, "--out", str(out / "o.jsonl")],
    }


def held(args: list[str], home: Path, out: Path) -> Result:
    """Run a command; check that it ends soon, with a known exit code and one-line errors, and writes only in `out`."""
    before = _files(home, out)
    with within(MOST_SECONDS, args):
        done = CliRunner().invoke(cli, args)
    assert done.exception is None or isinstance(done.exception, SystemExit), (args, done.exception)
    assert done.exit_code in (0, 1, 2, 130), (args, done.exit_code)
    assert "Carrara has a bug" not in done.stderr, (args, done.stderr)
    if done.exit_code == 1:
        assert done.stderr.count("\n") == 1, (args, done.stderr)
        assert done.stderr.startswith("carrara: "), done.stderr
    assert not set("\x1b\x07\r\u202e") & set(done.stdout + done.stderr), args
    assert _files(home, out) == before, args
    assert not ESCAPED.exists()
    assert not list(ESCAPED.parent.glob(f"{ESCAPED.name}*"))
    return done


def _files(home: Path, out: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in home.rglob("*") if path.is_file() and out not in path.parents}
