"""A quick look at a model: rows go out as they are, replies stay, and a run goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import builds
import made
from pipeline.ask.endpoint import Endpoint
from pipeline.ask.predictions import Predictions
from pipeline.ask.run import run_rows
from pipeline.cli import cli
from pipeline.errors import BuildError

KEY = "sk-test-0123456789abcdef"
Reply = tuple[int, dict[str, Any]]
Script = Callable[[dict[str, Any]], Reply]


def says(text: str | None, prompt_tokens: int = 107, form: str = "message") -> Reply:
    choice = {"finish_reason": "stop", **({"message": {"content": text}} if form == "message" else {"text": text})}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": prompt_tokens}}


def refuses(status: int, message: str) -> Reply:
    return status, {"error": {"message": message}}


class Server:
    """A server on the loopback that answers by a script, and remembers what it was sent and how much at a time."""

    def __init__(self, script: Script) -> None:
        self.sent: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.most = self._now = 0
        self._script, self._lock = script, threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def enter(self, path: str, key: str | None, payload: dict[str, Any]) -> None:
        with self._lock:
            self.sent.append(payload)
            self.paths.append(path)
            self.keys.append(key)
            self._now += 1
            self.most = max(self.most, self._now)

    def leave(self) -> None:
        with self._lock:
            self._now -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.enter(self.path, self.headers["Authorization"], payload)
                status, body = server._script(payload)
                server.leave()
                raw = json.dumps(body).encode()
                with suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(raw)))
                    self.end_headers()
                    self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def serve() -> Iterator[Callable[[Script], Server]]:
    servers: list[Server] = []

    def start(script: Script) -> Server:
        servers.append(Server(script))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


ROWS = [made.row(number, length=length) for length in (2048, 4096) for number in range(6)]
TARGETS = {row["prompt"]: row["target"] for row in ROWS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.split(tmp_path_factory.mktemp("made") / "o200k", ROWS)


def right(payload: dict[str, Any]) -> Reply:
    return says(TARGETS[payload["messages"][0]["content"]])


def ran(folder: Path, server: Server, out: Path, *more: object, **env: str) -> Result:
    line = ["run", folder, "--endpoint", server.url, "--model", "m", "--out", out, *more]
    return CliRunner().invoke(cli, [str(each) for each in line], env={"OPENAI_API_KEY": KEY, **env})


def kept(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_rows_are_sent_and_scored(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    server, out = serve(right), tmp_path / "m.jsonl"
    done = ran(folder, server, out)
    assert done.exit_code == 0, done.output
    assert "12 of 12 rows have a prediction, 12 of them new" in done.output
    assert sorted(each["id"] for each in kept(out)) == sorted(row["id"] for row in ROWS)
    assert set(server.paths) == {"/v1/chat/completions"}
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert server.most <= 4
    first = server.sent[0]
    assert {name: first[name] for name in ("model", "temperature", "max_tokens")} == {
        "model": "m",
        "temperature": 0,
        "max_tokens": 64,
    }
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out), "--json"])
    assert scored.exit_code == 0
    assert json.loads(scored.stdout)["overall"]["mean"] == 1.0
    assert KEY not in done.output + out.read_text(encoding="ascii")


@pytest.mark.parametrize("count", [10**4299, 1 << 63, -1, True, 1.5, "x", [1]], ids=lambda count: str(count)[:9])
def test_a_count_of_tokens_that_is_none_is_passed_over(
    count: Any, folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    done = ran(folder, serve(lambda payload: says("x", count)), tmp_path / "m.jsonl", "--limit", 1)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "differs" not in done.stdout
    assert {each["prompt_tokens"] for each in kept(tmp_path / "m.jsonl")} == {None}


def test_a_run_goes_on_where_it_stopped(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    server, out = serve(right), tmp_path / "m.jsonl"
    assert ran(folder, server, out, "--limit", 2).exit_code == 0
    assert len(server.sent) == 4
    with out.open("ab") as file:
        file.write(b'{"id": "bio-standard-32k-2048-0003-0a1b2c", "predic')
    done = ran(folder, server, out)
    assert "12 of 12 rows have a prediction, 8 of them new" in done.output
    assert len(server.sent) == len(kept(out)) == 12
    assert ran(folder, server, out).exit_code == 0
    assert len(server.sent) == 12


def test_a_line_that_only_lacks_its_end_is_kept(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    server, out = serve(right), tmp_path / "m.jsonl"
    ran(folder, server, out)
    out.write_bytes(out.read_bytes().rstrip(b"\n"))
    assert "0 of them new" in ran(folder, server, out).output
    assert len(kept(out)) == 12


def test_a_killed_run_loses_nothing(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    def slow(payload: dict[str, Any]) -> Reply:
        time.sleep(0.1)
        return right(payload)

    server, out = serve(slow), tmp_path / "m.jsonl"
    line = ["run", folder, "--endpoint", server.url, "--model", "m", "--out", out, "--workers", 2]
    with builds.Running(*line, small=False) as running:
        running.when(lambda: out.exists() and out.read_bytes().count(b"\n") >= 4)
        running.process.send_signal(signal.SIGKILL)
    before = kept(out)
    assert 4 <= len(before) < 12
    assert ran(folder, server, out).exit_code == 0
    assert len(kept(out)) == 12
    assert kept(out)[: len(before)] == before


def test_a_row_that_is_refused_is_named_and_asked_again(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    long = {"on": True}

    def refusing(payload: dict[str, Any]) -> Reply:
        if long["on"] and payload["messages"][0]["content"] == "Prompt 3?":
            return refuses(400, "maximum context length is 4096 tokens")
        return right(payload)

    server, out = serve(refusing), tmp_path / "m.jsonl"
    done = ran(folder, server, out)
    assert done.exit_code == 2
    assert "10 of 12 rows have a prediction" in done.output
    assert f"{ROWS[3]['id']}: " in done.stderr
    assert "maximum context length" in done.stderr
    assert sum(each["prediction"] is None for each in kept(out)) == 2
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out), "--json"])
    assert scored.exit_code == 2
    assert {fault["kind"] for fault in json.loads(scored.stdout)["faults"]} == {"failed"}
    long["on"] = False
    assert ran(folder, server, out).exit_code == 0
    assert CliRunner().invoke(cli, ["score", str(folder), str(out)]).exit_code == 0


def test_a_server_that_refuses_all_ends_the_run(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    server = serve(lambda payload: refuses(401, "bad key"))
    done = ran(folder, server, tmp_path / "a.jsonl", "--workers", 1)
    assert done.exit_code == 1
    assert len(server.sent) == 1
    assert "refuses the key" in done.stderr
    server = serve(lambda payload: refuses(400, f"unknown field, {KEY}"))
    done = ran(folder, server, tmp_path / "b.jsonl", "--workers", 1)
    assert done.exit_code == 1
    assert len(server.sent) == 9
    assert "9 consecutive rows without a reply" in done.stderr
    assert KEY not in done.output + (tmp_path / "b.jsonl").read_text(encoding="ascii")


def test_raw_rows_and_real_turns_go_as_they_are(serve: Callable[[Script], Server], tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "?"},
    ]
    rows = [made.row(0, frame="raw"), made.row(1, messages=turns)]
    server = serve(lambda payload: says("x", form="text" if "prompt" in payload else "message"))
    folder = made.split(tmp_path / "o200k", rows)
    assert ran(folder, server, tmp_path / "m.jsonl", "--workers", 1).exit_code == 0
    assert server.paths == ["/v1/completions", "/v1/chat/completions"]
    assert server.sent[0]["prompt"] == "Prompt 0?"
    assert server.sent[1]["messages"] == turns


def test_what_is_sent_can_be_changed(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    server = serve(right)
    more = ["--completion-tokens", "--option", "temperature=null", "--option", 'stop=["END"]', "--limit", 1]
    assert ran(folder, server, tmp_path / "m.jsonl", *more).exit_code == 0
    assert server.sent[0]["max_completion_tokens"] == 64
    assert server.sent[0]["stop"] == ["END"]
    assert not {"temperature", "max_tokens"} & server.sent[0].keys()
    assert ran(folder, server, tmp_path / "m.jsonl", "--option", "stop=END").exit_code == 1


def test_other_counts_of_tokens_are_said(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    server = serve(lambda payload: says("x", 107 - 9 * (payload["messages"][0]["content"] == "Prompt 0?")))
    done = ran(folder, server, tmp_path / "m.jsonl")
    assert "count of prompt tokens differs from the split's in 2 of 12 rows, by -9 to +0" in done.output


def test_a_reply_without_text_is_an_empty_prediction(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    ran(folder, serve(lambda payload: says(None)), tmp_path / "m.jsonl", "--limit", 1)
    assert [each["prediction"] for each in kept(tmp_path / "m.jsonl")] == ["", ""]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": ROWS[0]["id"], "prediction": "x", "model": "other"}, "has predictions of 'other', not 'm'"),
        ({"id": made.row(0, tag="ffffff")["id"], "prediction": "x", "model": "m"}, "for another split"),
        ({"question": "x"}, "line 1 is not a prediction"),
    ],
)
def test_a_file_of_something_else_is_left_alone(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path, line: dict[str, str], said: str
) -> None:
    out = made.lines(tmp_path / "m.jsonl", [line])
    before = out.read_bytes()
    server = serve(right)
    done = ran(folder, server, out)
    assert done.exit_code == 1
    assert said in done.stderr
    assert out.read_bytes() == before
    assert not server.sent


def test_memory_holds_the_rows_under_way(serve: Callable[[Script], Server], tmp_path: Path) -> None:
    """No more rows are read than are asked: a slow server keeps the split on disk."""
    read = []

    def rows() -> Iterator[made.Row]:
        for row in ROWS:
            read.append(row["id"])
            yield row

    ahead = []

    def counted(payload: dict[str, Any]) -> Reply:
        time.sleep(0.01)
        ahead.append(len(read) - len(replied))
        return right(payload)

    replied: list[str] = []
    server = serve(counted)
    with Predictions(tmp_path / "m.jsonl", "m", frozenset({made.TAG})) as kept:
        endpoint = Endpoint(server.url, "m")
        found = run_rows(endpoint, rows(), kept, workers=3, on_done=lambda row: replied.append(row["id"]))
    assert found.replies == 12
    assert max(ahead) <= 4


def test_a_device_is_not_read_as_predictions() -> None:
    with pytest.raises(BuildError, match="is a device or a pipe"):
        Predictions(Path(os.devnull), "m", frozenset()).__enter__()
