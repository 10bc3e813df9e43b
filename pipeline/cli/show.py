"""Commands that show what exists: show, recipes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.artifacts.parquet import opened
from pipeline.artifacts.split import Selection, Split, no_build, open_split
from pipeline.cli.group import cli
from pipeline.cli.options import WHERE
from pipeline.errors import CarraraError, CorruptError, unknown
from pipeline.profiles.hub import safe_name
from pipeline.publish.splits import fetched
from pipeline.recipe import load_recipe, shipped_recipes
from pipeline.report.page import parts_of
from pipeline.rows import Row, check_metadata, check_rows
from pipeline.terminal.printing import plain, say, say_styled
from pipeline.terminal.text import table

KEPT = 600
"""Characters of filler shown on either side of a marked segment."""

COLORS = {"relevant": "green", "match": "green", "decoy": "yellow", "demo": "cyan", "anchor": "magenta"}


def find_row(folder: Path, row_id: str) -> Row:
    """Return a row of a profile's folder by id; besides ids, only its row group is read.

    Raises:
        CarraraError: if there is no such row, suggesting the nearest id, or a shard cannot be read.
    """
    seen: list[str] = []
    parts = row_id.split("-")
    hint = f"{parts[0]}/*" if len(parts) > 3 else "*/*"
    for path in sorted((folder / "data").glob(f"{hint}/test-*.parquet")):
        try:
            found, ids = _in_shard(path, row_id)
        except (OSError, ValueError, pa.ArrowException):
            raise CorruptError(f"{str(path)!r} cannot be read: verify the folder, then build it again") from None
        if found:
            return found
        seen += ids
    if not seen:
        raise CarraraError(
            f"there are no shards in {str(folder / 'data')!r}: build them first, or give another --tokenizer"
        )
    raise CarraraError(unknown("row", row_id, seen).split(" (known:")[0] + f" (there are {len(seen):,} rows)")


def _in_shard(path: Path, row_id: str) -> tuple[Row | None, list[str]]:
    seen: list[str] = []
    with opened(path) as file:
        for group in range(file.num_row_groups):
            ids = file.read_row_group(group, columns=["id"]).column("id")
            at = pc.index(ids, row_id).as_py()
            if at >= 0:
                row = file.read_row_group(group).slice(at, 1)
                check_rows(row)
                check_metadata(row)
                return row.to_pylist()[0], []
            seen += ids.to_pylist()
    return None, seen


def shown(row: Row, *, full: bool) -> str:
    """Return a row as text for a terminal: facts, the prompt with its segments marked, and the key."""
    return "\n".join([*_above(row), "", *_body(row, full=full), "", *_below(row)])


def _above(row: Row) -> Iterator[str]:
    yield click.style(row["id"], bold=True)
    complexity = f", complexity {row['complexity']}" if "complexity" in row else ""
    yield f"{row['family']}.{row['subtask']}, length {row['length']:,}{complexity}, {row['shots']} shots"
    yield (
        f"{row['tokenizer']}: {row['prompt_tokens']:,} prompt + {row['template_tokens']:,} template "
        f"+ {row['max_new_tokens']:,} reply = {row['context_tokens']:,} tokens"
    )


def _body(row: Row, *, full: bool) -> Iterator[str]:
    """Yield the prompt in pieces: marked segments, each after a note, with folded filler between them."""
    for part in parts_of(row, None if full else KEPT):
        if part.kind == "folded":
            yield click.style(f"[... {part.note} of filler ...]", dim=True)
        elif part.kind == "filler":
            yield plain(part.text)
        else:
            yield click.style(plain(f"[{part.note}]"), dim=True)
            yield click.style(plain(part.text), fg=COLORS.get(part.kind), bold=part.kind == "question" or None)


def _below(row: Row) -> Iterator[str]:
    if "answers" not in row:
        yield click.style("accepted: ", dim=True) + "withheld"
        return
    metadata = json.loads(row["metadata"])
    yield click.style("accepted: ", dim=True) + plain(" | ".join(row["answers"]))
    baselines = ", ".join(f"{name} {value:.3f}" for name, value in metadata.get("baselines", {}).items())
    yield click.style("baselines: ", dim=True) + plain(baselines)


@cli.command()
@click.argument("where", metavar=WHERE)
@click.argument("row_id", metavar="[ID]", required=False)
@click.option("--tokenizer", metavar="NAME", help="Profile, if SPLIT is a release folder.  [default: its first]")
@click.option("--full", is_flag=True, help="Show the whole prompt, without folding filler.")
def show(*, where: str, row_id: str | None, tokenizer: str | None, full: bool) -> None:
    """Print the prompt of row ID with needles marked and long filler folded, then its key and baselines.

    SPLIT is the folder of one tokenizer, a release folder, or a published set, org/name@tag. Without an ID, one id per
    stratum is listed.
    """
    folder = profile_folder(fetched(where), tokenizer)
    if row_id:
        say_styled(shown(find_row(folder, row_id), full=full))
        return
    say(table(list(first_rows(open_split(folder)))))
    say(f"carrara show {where} ID prints one of them", err=True)


def profile_folder(root: Path, tokenizer: str | None) -> Path:
    """Return the folder of a profile: `root` itself, or inside it that of `tokenizer`, or else the first one.

    Raises:
        CarraraError: if `root` has no such folder.
    """
    if any((root / part).is_dir() for part in ("data", "keys")):
        if tokenizer not in (None, root.name):
            raise CarraraError(f"{str(root)!r} is one tokenizer's folder: leave out --tokenizer {tokenizer}")
        return root
    names = sorted(path.parent.name for path in root.glob("*/data"))
    if not names:
        raise CarraraError(no_build(root))
    if tokenizer and tokenizer not in names and safe_name(tokenizer) in names:  # a model's own name
        tokenizer = safe_name(tokenizer)
    if tokenizer and tokenizer not in names:
        raise CarraraError(unknown(f"tokenizer in {str(root)!r}:", tokenizer, names))
    return root / (tokenizer or names[0])


def first_rows(split: Split) -> Iterator[Row]:
    """Return the id and stratum of the first row of every stratum; if keys are withheld, without complexity."""
    columns = ["family", "subtask", "length", "complexity", "id"]
    if (split.folder / "keys").is_dir():
        return split.key_rows(columns, Selection(limit=1))
    return split.rows([name for name in columns if name != "complexity"], Selection(limit=1))


@cli.command()
def recipes() -> None:
    """List the recipes that come with Carrara."""
    for name in shipped_recipes():
        loaded = load_recipe(name)
        rows = sum(cell.total for cell in loaded.strata)
        tokens = sum(cell.total * cell.length for cell in loaded.strata)
        say(f"{name:<14} tier {loaded.tier:<5} {rows:>6,} rows  {tokens / 1e6:>7,.1f}M tokens per profile")
