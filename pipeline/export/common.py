"""What most exports share: Parquet files by subtask and length, metrics.py beside them, and rows to leave out."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.artifacts.files import path_below
from pipeline.artifacts.parquet import columns_of
from pipeline.artifacts.split import Selection, Split
from pipeline.caches import cache
from pipeline.errors import ExportError
from pipeline.export.base import Tally, Written, add_line
from pipeline.metrics import SCORERS, UNKNOWN, Scorer, facts, stops_of
from pipeline.metrics.join import write_metrics
from pipeline.recipe import Stratum
from pipeline.rows import DATA_SCHEMA, Row, text_bytes
from pipeline.tasks import TASKS
from pipeline.turns import sent

CARRIED = (
    *("id", "family", "subtask", "tier", "length", "complexity", "scorer", "context_tokens", "max_new_tokens"),
    *("question", "target", "answers", "choices", "random_string_to_prepend", "messages", "prompt"),
)
"""The columns that a harness needs: the stratum, the limit of reply tokens, what the scorer reads, and the text."""

TURNS = "real turns, which this harness cannot send: it sends one string"
CALLS = "tool calls, which this export does not send: use openai-batch or carrara run"
GROUP_BYTES = 32 * 1024 * 1024
END = "<|endoftext|>"
"""The stop string if there is no other: some servers refuse an empty list, and no reply continues after this one."""


@dataclass(frozen=True, order=True, slots=True)
class Part:
    """The rows of one subtask at one length, with one window and one limit of reply tokens (`max_new_tokens`)."""

    tier: str
    length: int
    family: str
    subtask: str
    context_tokens: int
    max_new_tokens: int

    @property
    def name(self) -> str:
        """The name of its file and, after the harness's own prefix, of its task."""
        name = f"{self.family}_{self.subtask.replace('-', '_')}_{self.tier}_{self.length}"
        unusual = self.max_new_tokens in unusual_reply_limits(self.family, self.subtask)
        return f"{name}_{self.max_new_tokens}" if unusual else name


@cache
def unusual_reply_limits(family: str, subtask: str) -> frozenset[int]:
    """Return a task's limits of reply tokens besides its usual one; their rows are separate parts."""
    task = TASKS.get((family, subtask))
    if not task:
        return frozenset()
    cells = (Stratum(family, subtask, "32k", 0, complexity, 1) for complexity in task.complexities)
    return frozenset(map(task.max_new_tokens_of, cells)) - {task.max_new_tokens}


PART = tuple(each.name for each in fields(Part))


@dataclass(slots=True)
class Parts:
    """The files that were written: each part's number of rows, scorer and headings, and the rows left out."""

    rows: dict[Part, int] = field(default_factory=dict)
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    scorers: dict[Part, Scorer] = field(default_factory=dict)
    headings: dict[Part, list[str]] = field(default_factory=dict)

    @property
    def written(self) -> Written:
        """What `export` reports."""
        return Written(sum(self.rows.values()), self.left_out)

    def stops(self, split: Split) -> dict[Part, list[str]]:
        """Return the strings at which a harness may end the replies to each part; `END` alone if there are none.

        Scorers drop what follows these strings, so no score depends on whether the harness stops there.
        """
        raw = split.manifest.frame == "raw"
        return {part: (self.headings[part] if raw and self.scorers[part].stops else []) or [END] for part in self.rows}


def part_of(row: Row) -> Part:
    """Return the part that a row belongs to."""
    return Part(**{name: row[name] for name in PART})


def task_prefix(split: Split) -> str:
    """Return the prefix of the names of a harness's tasks: the release."""
    return re.sub(r"[^A-Za-z0-9]+", "_", split.manifest.release).strip("_").lower() or "carrara"


def why_not_sent(row: Row, *, turns: bool) -> str:
    """Return why a harness cannot send a row, or an empty string; `turns` is whether it can send real turns."""
    if row["messages"] is None:
        return ""
    if any(message.get("tool_calls") for message in row["messages"]):
        return CALLS
    return "" if turns else TURNS


def need_keys(split: Split, harness: str) -> None:
    """Refuse a split whose keys are withheld.

    Raises:
        ExportError: if the rows have no target.
    """
    shards = split.shards()
    if shards and "target" not in columns_of(shards[0]):
        raise ExportError(
            f"{harness} needs the keys to score, but those of {split.title} are withheld: use openai-batch"
        )


def write_parts(split: Split, selection: Selection, folder: Path, *, turns: bool) -> Parts:
    """Write the selected rows as ``<part>.parquet`` below a folder.

    With `turns`, a row that has messages keeps them and gets an empty prompt, so that no text is written twice. Without
    it such rows are left out and recorded, and so are all rows with tool calls, or with a scorer that is not known.

    Raises:
        ExportError: if rows with the same name have different limits of reply tokens.
    """
    found = Parts()
    left: dict[str, list[str]] = defaultdict(list)
    columns = [name for name in CARRIED if turns or name != "messages"]
    with ExitStack() as open_files:
        writers: dict[Part, pq.ParquetWriter] = {}
        for part, group in _groups(_carried(split.rows(list(CARRIED), selection), left, turns=turns)):
            if part not in writers:
                _need_one_reply_limit(part, writers)
                path = path_below(folder, f"{part.name}.parquet")
                path.parent.mkdir(parents=True, exist_ok=True)
                writers[part] = open_files.enter_context(
                    pq.ParquetWriter(path, _schema(columns), compression="zstd", store_schema=False)
                )
            writers[part].write_table(pa.Table.from_pylist(group, schema=_schema(columns)))
            found.scorers[part] = facts(group[0]["scorer"])
            found.headings.setdefault(part, stops_of(group[0]["prompt"]))
            found.rows[part] = found.rows.get(part, 0) + len(group)
    found.rows = dict(sorted(found.rows.items()))
    found.left_out = {reason: tuple(ids) for reason, ids in left.items()}
    return found


def _carried(rows: Iterable[Row], left: dict[str, list[str]], *, turns: bool) -> Iterator[Row]:
    for row in rows:
        if row["scorer"] not in SCORERS:
            left[UNKNOWN.ungraded].append(row["id"])
        elif why := why_not_sent(row, turns=turns):
            left[why].append(row["id"])
        else:
            yield row if row["messages"] is None else row | {"prompt": ""}


def _groups(rows: Iterable[Row]) -> Iterator[tuple[Part, list[Row]]]:
    """Yield runs of rows of one part, none with much more than GROUP_BYTES of text."""
    group: list[Row] = []
    part, size = None, 0
    for row in rows:
        if part is not None and (part != part_of(row) or size > GROUP_BYTES):
            yield part, group
            group, size = [], 0
        part = part_of(row)
        group.append(row)
        size += text_bytes(row)
    if part is not None:
        yield part, group


def _need_one_reply_limit(part: Part, others: Iterable[Part]) -> None:
    for other in others:
        if other.name == part.name:
            raise ExportError(
                f"rows of {part.name} leave {other.max_new_tokens} and {part.max_new_tokens} tokens for the reply: "
                "export them apart with --complexity"
            )


def _schema(columns: Iterable[str]) -> pa.Schema:
    return pa.schema([DATA_SCHEMA.field(name) for name in columns])


def copy_metrics(folder: Path) -> None:
    """Write the published metrics.py into a folder."""
    write_metrics(folder / "metrics.py")


def write_card(folder: Path, parts: Iterable[Part]) -> None:
    """Write the README.md that makes each part a configuration in `datasets`, with one split, ``test``."""
    files = ({"split": "test", "path": f"{part.name}.parquet"} for part in parts)
    configs = [{"config_name": file["path"].removesuffix(".parquet"), "data_files": [file]} for file in files]
    (folder / "README.md").write_text(f"---\n{as_yaml({'configs': configs})}---\n", encoding="ascii")


def as_yaml(value: Mapping[str, object]) -> str:
    """Return a table as YAML, a line for each key; values are JSON, which is valid YAML and safely quoted."""
    return "".join(f"{name}: {json.dumps(each)}\n" for name, each in value.items())


def template(name: str) -> str:
    """Return the text of a file in ``templates``."""
    return (files("pipeline.export") / "templates" / name).read_text(encoding="utf-8")


KEY = ("family", "subtask", "scorer", "question", "target", "answers", "choices", "random_string_to_prepend")
PLACE = ("id", "tier", "length", "complexity", "context_tokens", "max_new_tokens")
COLUMNS = (*PLACE, *KEY, "messages", "prompt")


def write_by_reply_limit(
    split: Split, selection: Selection, file: Callable[[int], Path], text: Callable[[Row], Row], *, turns: bool
) -> tuple[Tally, list[int]]:
    """Write each row as a line of JSON into the file of its reply limit; return a tally of rows, and the limits.

    Args:
        split: a sealed split with its keys.
        selection: which rows.
        file: returns the file for a limit, in tokens.
        text: returns what is sent for a row, under the harness's own names.
        turns: whether the harness can send real turns; if not, such rows are left out, as rows with tool calls always
            are.
    """
    tally, limits = Tally(), set[int]()
    for row in split.rows(COLUMNS, selection):
        if row["scorer"] not in SCORERS:
            tally.leave(row, UNKNOWN.ungraded)
        elif why := why_not_sent(row, turns=turns):
            tally.leave(row, why)
        else:
            add_line(file(row["max_new_tokens"]), {name: row[name] for name in (*PLACE, *KEY)} | text(row))
            limits.add(row["max_new_tokens"])
            tally.rows += 1
    return tally, sorted(limits)


def reply_limits_of(rows: Sequence[Row]) -> list[int]:
    """Return the limits of reply tokens of rows, in ascending order."""
    return sorted({row["max_new_tokens"] for row in rows})


def benchmarks(prefix: str, limits: Iterable[int]) -> dict[str, int]:
    """Return the limit of reply tokens of each benchmark, by name."""
    return {f"{prefix}_{limit}": limit for limit in limits}


def messages_of(row: Row) -> Row:
    """Return what is sent for a row as messages: its real turns, or one user turn."""
    return {"messages": sent(row["messages"] or [{"role": "user", "content": row["prompt"]}])}


def put(folder: Path, name: str, text: str) -> None:
    """Write an ASCII file below a folder."""
    path = path_below(folder, *name.split("/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")
