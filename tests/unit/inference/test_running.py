"""A quick look at a model: rows go out as they are, replies stay, and a run goes on where it stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import builds
import handmade
from loopback.threads import LoopbackServer
from pipeline.cli import cli
from pipeline.errors import BuildError
from pipeline.inference.endpoint import Endpoint
from pipeline.inference.run import Predictions, run_rows
from pipeline.terminal import progress
from pipeline.terminal.printing import below_bar, say

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
        self._http = LoopbackServer(self._handler())
        self.stop = self._http.stop
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

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


ROWS = [handmade.row(number, length=length) for length in (2048, 4096) for number in range(6)]
TARGETS = {row["prompt"]: row["target"] for row in ROWS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handmade.split(tmp_path_factory.mktemp("made") / "o200k", ROWS)


def right(payload: dict[str, Any]) -> Reply:
    return says(TARGETS[payload["messages"][0]["content"]])


def ran(folder: Path, server: Server, out: Path, *more: object, **env: str) -> Result:
    line = ["run", folder, "--base-url", server.url, "--model", "m", "--out", out, *more]
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
    line = ["run", folder, "--base-url", server.url, "--model", "m", "--out", out, "--max-concurrency", 2]
    with builds.Running(*line, small=False) as running:
        running.when(lambda: out.exists() and out.read_bytes().count(b"\n") >= 4)
        running.process.send_signal(signal.SIGKILL)
    before = kept(out)
    assert 4 <= len(before) < 12
    assert ran(folder, server, out).exit_code == 0
    assert len(kept(out)) == 12
    assert kept(out)[: len(before)] == before


# What servers say of a request that does not fit, each in the shape of its time

TOO_LONG: dict[str, tuple[int, Any]] = {
    "OpenAI": (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, your messages resulted in "
                "5000 "
                "tokens. Please reduce the length of the messages.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
    "OpenAI by its code alone": (400, {"error": {"message": "Bad request", "code": "context_length_exceeded"}}),
    "a limit a minute that is less than the request": (
        429,
        {"error": {"message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 120000."}},
    ),
    "vLLM": (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, your request has 5000 input "
                "tokens. Please reduce the length of the input messages.",
                "type": "BadRequestError",
                "code": 400,
            }
        },
    ),
    "vLLM before 0.11": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5064 tokens "
            "(5000 in "
            "the messages, 64 in the completion).",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "vLLM on the room": (
        400,
        {
            "error": {
                "message": "'max_tokens' or 'max_completion_tokens' is too large: 64. This model's maximum context "
                "length is 4096 tokens and your request has 4090 input tokens (64 > 4096 - 4090).",
                "type": "BadRequestError",
            }
        },
    ),
    "vLLM's engine": (
        400,
        {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", "code": 400},
    ),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size. try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 5000,
                "n_ctx": 4096,
            }
        },
    ),
    "llama.cpp with counts": (
        400,
        {"error": {"code": 400, "message": "request (5000 tokens) exceeds the available context size (4096 tokens)"}},
    ),
    "TGI": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` "
            "tokens and 64 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "TGI on the prompt": (
        422,
        {"error": "Input validation error: `inputs` must have less than 4032 tokens. Given: 5000"},
    ),
    "SGLang": (
        400,
        {
            "object": "error",
            "message": "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "SGLang on the sum": (
        400,
        {"message": "Requested token count exceeds the model's maximum context length of 4096 tokens.", "code": 400},
    ),
    "Anthropic": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 210000 tokens > 200000 maximum",
            },
        },
    ),
    "Anthropic on the sum": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "input length and `max_tokens` exceed context limit: 199000 + 2000 > 200000",
            },
        },
    ),
    "a proxy": (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds 32 MB"}}),
    "Gemini": (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (5000) exceeds the maximum number of tokens (4096).",
                }
            }
        ],
    ),
    "Mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt contains 5000 tokens and 0 draft tokens, too large for model with 4096 maximum context",
            "type": "invalid_request_message",
            "code": "3051",
        },
    ),
    "FastAPI": (400, {"detail": "the prompt is too long"}),
    "an error in a reply": (200, {"error": {"message": "This endpoint's maximum context length is 4096 tokens."}}),
}
AGAIN: dict[str, tuple[int, Any]] = {
    "a limit a minute": (429, {"error": {"message": "Rate limit reached on tokens per min (TPM): Limit 30000."}}),
    "a wrong field": (400, {"error": {"message": "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"}}),
    "out of memory": (500, {"error": {"message": "CUDA out of memory. Tried to allocate 2 GiB"}}),
    "an unknown model": (404, {"error": {"message": "The model `context-length-8b` does not exist"}}),
    "a wrong temperature": (400, {"error": {"message": "temperature must be in [0, 2]"}}),
}


@pytest.mark.parametrize("kind", TOO_LONG)
def test_a_row_that_does_not_fit_is_refused_for_good(
    kind: str, folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    server, out = serve(lambda payload: TOO_LONG[kind]), tmp_path / "m.jsonl"
    done = ran(folder, server, out, "--limit", 1, "--max-retries", 2)
    assert (done.exit_code, len(server.sent)) == (2, 2), done.output
    assert all(each["prediction"] is None and each["refused"] for each in kept(out))
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out), "--json"])
    assert json.loads(scored.stdout)["counts"]["refused"] == 2


@pytest.mark.parametrize("kind", AGAIN)
def test_a_fault_that_may_pass_is_no_refusal(
    kind: str, folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    out = tmp_path / "m.jsonl"
    done = ran(folder, serve(lambda payload: AGAIN[kind]), out, "--limit", 1, "--max-retries", 0)
    assert done.exit_code in (1, 2)
    assert not any(each.get("refused") for each in kept(out))


def test_a_run_finishes_on_a_smaller_window(serve: Callable[[Script], Server], tmp_path: Path) -> None:
    """A server with a window of 32K, over rows up to 128K: more are refused in a row than failures end a run."""
    lengths = (8192, 16384, 32768, 65536, 131072)
    rows = [
        handmade.row(at, tier="128k", length=length, prompt=f"{length} {at}?") for length in lengths for at in range(15)
    ]
    targets = {row["prompt"]: row["target"] for row in rows}
    folder, out = handmade.split(tmp_path / "o200k", rows), tmp_path / "m.jsonl"

    def small(payload: dict[str, Any]) -> Reply:
        prompt = payload["messages"][0]["content"]
        return TOO_LONG["vLLM"] if int(prompt.split()[0]) > 32768 else says(targets[prompt])

    server = serve(small)
    done = ran(folder, server, out)
    assert done.exit_code == 2
    assert len(server.sent) == len({payload["messages"][0]["content"] for payload in server.sent}) == 75
    assert "45 of 75 rows have a prediction, 45 of them new" in done.stdout
    assert "rejected for good, resent only with --again: 30 rows (15 of length 65536, 15 of length 131072)" in (
        done.stdout
    )
    assert "headline 0.600000" in done.stdout
    assert "maximum context length is 4096" in done.stderr
    assert "(and 29 like it)" in done.stderr
    again = ran(folder, server, out)
    assert (again.exit_code, len(server.sent)) == (2, 75), "the second run asks nothing"
    assert "45 of 75 rows have a prediction, 0 of them new" in again.stdout
    assert "30 rows" in again.stdout
    found = json.loads(CliRunner().invoke(cli, ["score", str(folder), str(out), "--json"]).stdout)
    assert {name: found["counts"][name] for name in ("rows", "answered", "refused", "missing")} == {
        "rows": 75, "answered": 45, "refused": 30, "missing": 0,
    }  # fmt: skip
    assert found["overall"]["refused"] == 30
    assert found["overall"]["answered_mean"] == 1.0
    assert ran(folder, server, out, "--again").exit_code == 2
    assert len(server.sent) == 75 + 30
    large = serve(lambda payload: says(targets[payload["messages"][0]["content"]]))
    assert ran(folder, large, out, "--again").exit_code == 0
    assert len(large.sent) == 30
    assert "headline 1.000000" in ran(folder, large, out).stdout


def test_rows_beyond_a_window_are_left_out_by_name(serve: Callable[[Script], Server], tmp_path: Path) -> None:
    rows = [handmade.row(at, length=length, prompt=f"{length} {at}?") for length in (4096, 8192) for at in range(3)]
    server, out = serve(lambda payload: says("Town0")), tmp_path / "m.jsonl"
    folder = handmade.split(tmp_path / "o200k", rows)
    done = ran(folder, server, out, "--max-length", 4096)
    assert (done.exit_code, len(server.sent)) == (0, 3)
    assert f"left out by --max-length 4096, named in {tmp_path / 'm.left_out.tsv'}: 3 rows (3 of length 8192)" in (
        done.stdout
    )
    named = (tmp_path / "m.left_out.tsv").read_text(encoding="ascii").splitlines()
    assert named == [f"{row['id']}\tlonger than --max-length 4096" for row in rows[3:]]
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out)])
    assert scored.exit_code == 0, "what was left out is not missing"
    assert "never asked: 3 rows (longer than --max-length 4096)" in scored.stdout
    assert ran(folder, server, out).exit_code == 0
    assert len(server.sent) == 6
    assert not (tmp_path / "m.left_out.tsv").exists()
    assert "never asked" not in CliRunner().invoke(cli, ["score", str(folder), str(out)]).stdout


def test_what_was_not_selected_was_never_asked(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    ran(folder, serve(right), out, "--length", 2048)
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out)])
    assert scored.exit_code == 0
    assert "never asked: 6 rows (not selected by carrara run)" in scored.stdout
    ran(folder, serve(right), out, "--length", 4096, "--limit", 2)
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out)])
    assert "never asked: 4 rows" in scored.stdout


def test_what_a_run_sent_and_got_is_noted(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    def counting(payload: dict[str, Any]) -> Reply:
        status, body = says("Town", 107)
        body["usage"]["completion_tokens"] = 64
        body["choices"][0]["finish_reason"] = "length"
        return status, body

    server, out = serve(counting), tmp_path / "m.jsonl"
    done = ran(folder, server, out, "--limit", 1, "--temperature", "0.5", "--seed", 7, "--extra-body", "top_p=0.9")
    assert done.exit_code == 0
    assert "cut off at max_new_tokens: 2 rows" in done.stdout
    assert {name: server.sent[0][name] for name in ("temperature", "seed", "top_p")} == {
        "temperature": 0.5, "seed": 7, "top_p": 0.9,
    }  # fmt: skip
    first = kept(out)[0]
    assert (first["finish_reason"], first["completion_tokens"], first["prompt_tokens"]) == ("length", 64, 107)
    assert 0 <= first["seconds"] < 60
    assert len(first["prompt_sha256"]) == 64
    noted = json.loads((tmp_path / "m.asked.json").read_text(encoding="ascii"))
    assert noted["settings"] | {"date": ""} == {
        "model": "m", "temperature": "0.5", "seed": "7", "top_p": "0.9", "endpoint": server.url, "date": "",
    }  # fmt: skip
    scored = json.loads(CliRunner().invoke(cli, ["score", str(folder), str(out), "--json"]).stdout)
    assert (scored["counts"]["cut"], scored["overall"]["cut"]) == (2, 2)
    assert scored["settings"]["temperature"] == "0.5"
    other = ran(folder, server, out, "--temperature", "0")
    assert other.exit_code == 1
    assert "was made with seed 7, not none" in other.stderr
    assert ran(folder, server, tmp_path / "n.jsonl", "--temperature", "hot").exit_code == 1


def test_a_row_that_failed_is_named_and_asked_again(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    broken = {"on": True}

    def failing(payload: dict[str, Any]) -> Reply:
        if broken["on"] and payload["messages"][0]["content"] == "Prompt 3?":
            return refuses(400, "the worker of this request has died")
        return right(payload)

    server, out = serve(failing), tmp_path / "m.jsonl"
    done = ran(folder, server, out)
    assert done.exit_code == 2
    assert "10 of 12 rows have a prediction" in done.output
    assert "failed, resent by the next run: 2 rows" in done.output
    assert f"{ROWS[3]['id']}: " in done.stderr
    assert "has died" in done.stderr
    assert sum(each["prediction"] is None for each in kept(out)) == 2
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out), "--json"])
    assert scored.exit_code == 2
    assert {fault["kind"] for fault in json.loads(scored.stdout)["faults"]} == {"failed"}
    broken["on"] = False
    assert ran(folder, server, out).exit_code == 0
    assert CliRunner().invoke(cli, ["score", str(folder), str(out)]).exit_code == 0


def test_a_server_that_refuses_all_ends_the_run(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    server = serve(lambda payload: refuses(401, "bad key"))
    done = ran(folder, server, tmp_path / "a.jsonl", "--max-concurrency", 1)
    assert done.exit_code == 1
    assert len(server.sent) == 1
    assert "rejected the API key" in done.stderr
    server = serve(lambda payload: refuses(400, f"unknown field, {KEY}"))
    done = ran(folder, server, tmp_path / "b.jsonl", "--max-concurrency", 1)
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
    rows = [handmade.row(0, frame="raw"), handmade.row(1, messages=turns)]
    server = serve(lambda payload: says("x", form="text" if "prompt" in payload else "message"))
    folder = handmade.split(tmp_path / "o200k", rows)
    assert ran(folder, server, tmp_path / "m.jsonl", "--max-concurrency", 1).exit_code == 0
    assert server.paths == ["/v1/completions", "/v1/chat/completions"]
    assert server.sent[0]["prompt"] == "Prompt 0?"
    assert "stop" not in server.sent[0]
    assert server.sent[1]["messages"] == turns


def test_replies_to_bare_prompts_end_at_the_headings_of_their_prompt(
    serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    """A base model that has answered goes on to a further question, to the end of its room if nothing stops it."""
    prompt = "Read.\n\nAnnals:\n12 May: rain.\nThis is the end of the annals.\n\nQuestion: Rain?\nAnswer:"
    rows = [
        handmade.row(0, frame="raw", prompt=prompt),
        handmade.row(1, frame="raw", prompt=prompt, scorer="mrcr"),
        handmade.row(2, prompt=prompt),
    ]
    folder = handmade.split(tmp_path / "o200k", rows)
    server = serve(lambda payload: says("x", form="text" if "prompt" in payload else "message"))
    ran(folder, server, tmp_path / "m.jsonl", "--max-concurrency", 1)
    assert [payload.get("stop") for payload in server.sent] == [["\nQuestion:", "\nAnnals:\n"], None, None]
    ran(folder, server, tmp_path / "n.jsonl", "--max-concurrency", 1, "--extra-body", "stop=null")
    assert "stop" not in server.sent[3]


def test_the_headline_is_that_of_score(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    """Of a file that several runs have written, `run` and `score` print the same, whatever the last run selected."""
    out = tmp_path / "m.jsonl"
    ran(folder, serve(lambda payload: says("zebra")), out, "--length", 2048)
    done = ran(folder, serve(right), out, "--length", 4096)
    assert "headline 0.500000" in done.stdout
    assert f"over all 12 rows that were sent ({out})" in done.stdout
    assert "headline 0.500000" in CliRunner().invoke(cli, ["score", str(folder), str(out)]).stdout


def test_progress_is_told_where_there_is_no_terminal(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    lines = ran(folder, serve(right), tmp_path / "m.jsonl", "--length", 2048).stderr.splitlines()
    assert lines[0].startswith("run: 17%, 1 row, ")
    assert re.fullmatch(r"run: 100%, 6 rows, [1-9][\d,.]*M? tokens/s", lines[-1])
    assert not ran(folder, serve(right), tmp_path / "n.jsonl", "--quiet").stderr


def test_what_is_sent_can_be_changed(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    server = serve(right)
    more = ["--completion-tokens", "--temperature", "none", "--extra-body", 'stop=["END"]', "--limit", 1]
    assert ran(folder, server, tmp_path / "m.jsonl", *more).exit_code == 0
    assert server.sent[0]["max_completion_tokens"] == 64
    assert server.sent[0]["stop"] == ["END"]
    assert not {"temperature", "max_tokens"} & server.sent[0].keys()
    assert ran(folder, server, tmp_path / "m.jsonl", "--extra-body", "stop=END").exit_code == 1


def test_other_counts_of_tokens_are_said(folder: Path, serve: Callable[[Script], Server], tmp_path: Path) -> None:
    server = serve(lambda payload: says("x", 107 - 9 * (payload["messages"][0]["content"] == "Prompt 0?")))
    done = ran(folder, server, tmp_path / "m.jsonl")
    assert "count of prompt tokens differs from the split's in 2 of 12 rows, by -9 to +0" in done.output
    assert "check-server" not in done.output, "some of the first rows are as they should be"
    other = ran(folder, serve(lambda payload: says("x", 108)), tmp_path / "n.jsonl")
    assert (
        other.stderr.count(
            "in the first 3 rows, the server's count of prompt tokens differs from the split's by +1 to +1"
        )
        == 1
    )


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_reply_without_text_is_no_answer(
    text: str | None, folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    server, out = serve(lambda payload: says(text)), tmp_path / "m.jsonl"
    done = ran(folder, server, out, "--limit", 1)
    assert done.exit_code == 2
    assert "0 of 2 rows have a prediction, 0 of them new" in done.stdout
    assert "an empty reply, resent only with --again: 2 rows" in done.stdout
    assert [each["prediction"] for each in kept(out)] == [text or None] * 2
    assert (ran(folder, server, out, "--limit", 1).exit_code, len(server.sent)) == (2, 2)
    scored = CliRunner().invoke(cli, ["score", str(folder), str(out), "--json"])
    assert scored.exit_code == 2
    assert json.loads(scored.stdout)["counts"]["empty"] == 2
    assert ran(folder, serve(right), out, "--limit", 1, "--again").exit_code == 0


def test_a_row_is_counted_once_whatever_it_had_before(tmp_path: Path) -> None:
    """A refusal, then an empty reply that was cut off, then a whole one: what came last counts, also for who reads it
    again."""
    lines = (("refused", None), ("empty", ""), ("answered", "B"))
    for at, (state, text) in enumerate(lines):
        with Predictions(tmp_path / "m.jsonl", "m", frozenset(["t"]), again=True) as kept:
            if text is None:
                kept.keep_refusal("r-t", "too long")
            else:
                kept.keep("r-t", text, {"finish_reason": "stop" if text else "length"})
            assert kept.is_done("r-t")
        with Predictions(tmp_path / "m.jsonl", "m", frozenset(["t"]), again=True) as kept:
            assert {name for name in ("refused", "empty", "answered") if "r-t" in getattr(kept, name)} == {state}
            assert ("r-t" in kept.cut, kept.is_done("r-t")) == (state == "empty", at == 2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": ROWS[0]["id"], "prediction": "x", "model": "other"}, "has predictions of 'other', not 'm'"),
        ({"id": handmade.row(0, tag="ffffff")["id"], "prediction": "x", "model": "m"}, "for another split"),
        ({"question": "x"}, "line 1 is not a prediction"),
    ],
)
def test_a_file_of_something_else_is_left_alone(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path, line: dict[str, str], said: str
) -> None:
    out = handmade.lines(tmp_path / "m.jsonl", [line])
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

    def rows() -> Iterator[handmade.Row]:
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
    with Predictions(tmp_path / "m.jsonl", "m", frozenset({handmade.TAG})) as kept:
        endpoint = Endpoint(server.url, "m")
        found = run_rows(endpoint, rows(), kept, workers=3, on_done=lambda row, _: replied.append(row["id"]))
    assert found.replies == 12
    assert max(ahead) <= 4


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_selection_of_no_rows_is_an_error(
    more: tuple[str, ...], folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    done = ran(folder, serve(right), tmp_path / "m.jsonl", "--length", 2048, "--limit", 2, "--complexity", 9, *more)
    assert (done.exit_code, done.stdout) == (1, "")
    done = ran(folder, serve(right), tmp_path / "m.jsonl", "--size", "lite", "--length", 4096, *more)
    assert done.exit_code == 0, done.output


def test_only_replies_count_for_the_speed_and_lines_come_below_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    shown = progress.Meter(None, "run", 100)
    shown.advance(1, 50, worked=False)
    assert str(shown) == "1 row"
    shown.started = time.monotonic() - 10
    shown.advance(1, 50)
    assert str(shown) == "2 rows, 5 tokens/s"
    with below_bar():
        say("a warning", err=True)
        say("a result")
    say("another", err=True)
    assert capsys.readouterr() == ("a result\n", "\na warning\nanother\n")


def test_a_device_is_not_read_as_predictions() -> None:
    with pytest.raises(BuildError, match="is a device or a pipe"):
        Predictions(Path(os.devnull), "m", frozenset()).__enter__()


def test_a_run_of_lite_is_noted_and_scored_as_such(
    folder: Path, serve: Callable[[Script], Server], tmp_path: Path
) -> None:
    server, out = serve(right), tmp_path / "m.jsonl"
    assert ran(folder, server, out, "--size", "lite").exit_code == 0
    noted = json.loads((tmp_path / "m.asked.json").read_text(encoding="ascii"))
    assert [each["size"] for each in noted["selections"]] == ["lite"]
    done = CliRunner().invoke(cli, ["score", str(folder), str(out)])
    assert done.exit_code == 0, done.output
    assert ", size lite: " in done.stdout
    assert ran(folder, server, out).exit_code == 0  # the rest, of which there is none
    assert ", size lite: " not in CliRunner().invoke(cli, ["score", str(folder), str(out)]).stdout
