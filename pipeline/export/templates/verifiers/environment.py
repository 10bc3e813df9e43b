"""The rows of this folder as a taskset for verifiers, and a harness that sends each unchanged with its own limit."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import verifiers.v1 as vf

from . import metrics as carrara

__all__ = ["RowHarness", "Rows", "load_environment"]

FOLDER = Path(__file__).resolve().parent
STRATUM = ["family", "subtask", "tier", "length", "complexity"]

PROGRAM = """
import json, sys, urllib.request
url, secret, path = sys.argv[1:]
with open(path, "rb") as file:
    body = file.read()
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + secret}
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with opener.open(urllib.request.Request(url + "/chat/completions", body, headers)) as reply:
    reply.read()
"""


class RowData(vf.TaskData):
    """A row: its text as messages, its stratum, its limit for the reply, and what its scorer reads."""

    family: str
    subtask: str
    tier: str
    length: int
    complexity: int
    context_tokens: int
    max_new_tokens: int
    scorer: str
    question: str
    target: str
    answers: list[str]
    choices: list[str] | None
    random_string_to_prepend: str | None


class Row(vf.Task[RowData, vf.State, vf.TaskConfig]):
    """One row, identified by its id."""

    @property
    def key(self) -> str:
        """The row's id; verifiers' default is a digest of all its text."""
        return str(self.data.id)

    @vf.reward
    async def row_score(self, trace: vf.Trace) -> float:
        """Score the reply by the row's rule in metrics.py, from 0 to 1."""
        return float(carrara.score(self.data.model_dump(exclude={"prompt"}), trace.last_reply))


class RowsConfig(vf.TasksetConfig):
    """Which rows to read: None selects all; `limit` is the largest number of rows per stratum."""

    family: str | None = None
    subtask: str | None = None
    tier: str | None = None
    length: int | None = None
    complexity: int | None = None
    limit: int | None = None


class Rows(vf.Taskset[Row, RowsConfig]):
    """The rows of this folder, one file in memory at a time."""

    def load(self) -> Iterable[Row]:
        """Yield the wanted rows.

        Every row's text is given as messages: a bare string would be passed on a command line, limited to 128 KiB.
        """
        for row in self.rows():
            turns = row.pop("messages") or [{"role": "user", "content": row["prompt"]}]
            yield Row(RowData(**{**row, "prompt": turns}), self.config.task)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the wanted rows as they are in the files; the text of others is not read."""
        wanted = {name: value for name in STRATUM if (value := getattr(self.config, name)) is not None}
        taken: dict[tuple[Any, ...], int] = defaultdict(int)
        for path in sorted((FOLDER / "data").glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    chosen = []
                    for at, cell in enumerate(file.read_row_group(group, columns=STRATUM).to_pylist()):
                        stratum = tuple(cell.values())
                        if cell == {**cell, **wanted} and taken[stratum] != self.config.limit:
                            taken[stratum] += 1
                            chosen.append(at)
                    if chosen:
                        yield from file.read_row_group(group).take(chosen).to_pylist()


class RowHarness(vf.Harness[vf.HarnessConfig]):
    """Sends one request per row, with the row's own `max_tokens` and temperature 0; nothing is installed."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: RowData,
        tool_interception_url: str | None = None,
    ) -> vf.ProgramResult:
        """Send the messages as they are."""
        system, _ = self.resolve_prompt(data)
        turns = [{"role": "system", "content": system}] if system else []
        turns += [{"role": turn.role, "content": turn.content} for turn in data.prompt or []]
        body = {"model": ctx.model, "messages": turns, "max_tokens": data.max_new_tokens, "temperature": 0}
        path = f".carrara-{trace.id}.json"
        await runtime.write(path, json.dumps(body).encode())
        return await runtime.run_program([sys.executable, "-c", PROGRAM, endpoint, secret, path], {})


def load_environment(**chosen: Any) -> vf.Env:
    """Return the environment of these rows with its own harness; `chosen` are fields of `RowsConfig`."""
    package = __name__.partition(".")[0]
    agent = {"harness": {"id": package}, "runtime": {"type": "subprocess"}}
    return vf.load_environment(vf.SingleAgentEnvConfig(taskset={"id": package, **chosen}, agent=agent))
