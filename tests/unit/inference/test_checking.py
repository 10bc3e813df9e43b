"""A server is checked before a long run: what it does with prompts is named by every means that it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import handmade
from loopback.threads import LoopbackServer
from pipeline.cli import cli
from pipeline.inference.checking import Finding, check_server
from pipeline.inference.endpoint import Endpoint
from pipeline.profiles import Profile, load_profile

PROMPT = "List 3 towns.\n\nQuestion: Which is first?\nAnswer:"


@dataclass
class Model:
    """A server of one model, with the paths that llama.cpp or vLLM has, and what may be wrong with it."""

    profile: Profile
    window: int = 4096
    kind: str = "llama.cpp"
    bos: bool = False
    words: str = ""
    thinks: bool = False
    vocabulary: int = 1

    def sent(self, messages: list[dict[str, str]]) -> str:
        text = self.profile.render([(each["role"], each["content"]) for each in messages], "chat")
        return text.replace("You are", f"{self.words}You are") if self.words else text

    def ids(self, text: str) -> list[int]:
        counter = self.profile.counter()
        return list(range(2, 2 + counter.count(text) * self.vocabulary))

    def chat_ids(self, messages: list[dict[str, str]]) -> list[int]:
        pairs = [(each["role"], each["content"]) for each in messages]
        more = self.profile.counter().count(self.words) if self.words else 0
        count = self.profile.sent_tokens(pairs, "chat", self.profile.counter()) + more
        return [1, 1, *range(2, count + 1)] if self.bos else list(range(1, count + 1))

    def answer(self, path: str, asked: dict[str, Any] | None) -> dict[str, Any] | None:
        if path.endswith("/completions") and asked:
            ids = self.chat_ids(asked["messages"])
            message = {"content": "Yes.", **({"reasoning_content": "The user"} if self.thinks else {})}
            usage = {"prompt_tokens": len(ids)}
            return {"choices": [{"message": message, "finish_reason": "length"}], "usage": usage}
        if self.kind == "silent":
            return None
        if self.kind == "vLLM":
            return self._vllm(path, asked)
        if path == "/props":
            return {"default_generation_settings": {"n_ctx": self.window}}
        if path == "/apply-template" and asked:
            return {"prompt": self.sent(asked["messages"])}
        if path == "/tokenize" and asked:
            return {"tokens": self.ids(asked.get("content", ""))}
        return None

    def _vllm(self, path: str, asked: dict[str, Any] | None) -> dict[str, Any] | None:
        if path == "/v1/models":
            return {"data": [{"id": "m", "max_model_len": self.window}]}
        if path == "/tokenize" and asked:
            ids = self.chat_ids(asked["messages"]) if "messages" in asked else self.ids(asked["prompt"])
            return {"tokens": ids, "count": len(ids), "max_model_len": self.window}
        if path == "/detokenize":
            return {"prompt": self.sent([{"role": "user", "content": PROMPT}])}
        return None


@pytest.fixture
def serve() -> Iterator[Callable[[Model], Endpoint]]:
    servers: list[LoopbackServer] = []

    def start(model: Model) -> Endpoint:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.say(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def do_GET(self) -> None:
                self.say(None)

            def say(self, asked: dict[str, Any] | None) -> None:
                found = model.answer(self.path, asked)
                raw = json.dumps(found or {"error": "no such path"}).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

        servers.append(LoopbackServer(Handler))
        return Endpoint(f"http://127.0.0.1:{servers[-1].server_port}/v1", "m", tries=1)

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="module")
def profile() -> Profile:
    return load_profile("qwen2.5")


def found(
    serve: Callable[[Model], Endpoint], model: Model, *, told: bool = True, reply: int = 64
) -> dict[str, Finding]:
    counter = model.profile.counter()
    alone = counter.count(PROMPT)
    whole = model.profile.sent_tokens([("user", PROMPT)], "chat", counter)
    row = handmade.row(0, prompt=PROMPT, prompt_tokens=alone, template_tokens=whole - alone, max_new_tokens=reply)
    return {each.check: each for each in check_server(serve(model), [row], model.profile if told else None, 2048)}


def test_a_first_token_that_the_server_adds_itself_is_no_other_template(
    serve: Callable[[Model], Endpoint], profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, first = Model(profile), "<|im_start|>"
    sent = model.sent
    assert sent([{"role": "user", "content": PROMPT}]).startswith(first)
    monkeypatch.setattr(Model, "sent", lambda self, messages: sent(messages).removeprefix(first))
    assert found(serve, model)["chat template"].verdict == "right"
    monkeypatch.setattr(Model, "sent", lambda self, messages: sent(messages).removeprefix(first + "s"))
    assert found(serve, model)["chat template"].verdict == "wrong"


@pytest.mark.parametrize("kind", ["llama.cpp", "vLLM"])
def test_a_server_that_does_as_the_split_says_is_right(
    serve: Callable[[Model], Endpoint], profile: Profile, kind: str
) -> None:
    made = found(serve, Model(profile, kind=kind))
    assert {name: each.verdict for name, each in made.items()} == dict.fromkeys(
        ("window", "tokens of bare prompts", "tokens as sent", "chat template", "BOS", "thinking"), "right"
    )
    assert made["window"].means == {"llama.cpp": "/props", "vLLM": "/v1/models"}[kind]


@pytest.mark.parametrize(
    ("kind", "wrong", "named"),
    [
        ("vLLM", {"bos": True}, {"BOS": "twice", "tokens as sent": "+1"}),
        ("silent", {"bos": True}, {"BOS": "one token more", "tokens as sent": "+1"}),
        ("llama.cpp", {"words": "Hello. "}, {"chat template": "Hello.", "tokens as sent": "+"}),
        ("vLLM", {"words": "Hello. "}, {"chat template": "Hello."}),
        ("llama.cpp", {"thinks": True}, {"thinking": "on"}),
        ("llama.cpp", {"window": 1024}, {"window": "1,024"}),
        ("llama.cpp", {"vocabulary": 2}, {"tokens of bare prompts": "+"}),
    ],
)
def test_what_is_wrong_is_named(
    serve: Callable[[Model], Endpoint], profile: Profile, kind: str, wrong: dict[str, Any], named: dict[str, str]
) -> None:
    made = found(serve, Model(profile, kind=kind, **wrong))
    for check, words in named.items():
        assert words in made[check].found
        assert made[check].fault
    others = {each.check for each in made.values() if each.fault} - named.keys()
    assert others <= {"tokens as sent"}


def test_a_model_may_think_where_rows_have_room_for_it(serve: Callable[[Model], Endpoint], profile: Profile) -> None:
    made = found(serve, Model(profile, kind="llama.cpp", thinks=True), reply=16384)
    assert made["thinking"] == Finding("thinking", "a reply", "on or off, there is room", "on")


def test_what_a_server_does_not_tell_is_not_guessed(serve: Callable[[Model], Endpoint], profile: Profile) -> None:
    made = found(serve, Model(profile, kind="silent"))
    assert {name for name, each in made.items() if each.verdict == "-"} == {
        "window", "tokens of bare prompts", "chat template",
    }  # fmt: skip
    assert found(serve, Model(profile), told=False)["chat template"].verdict == "-"


def test_the_command_prints_a_table_and_says_what_to_do(
    serve: Callable[[Model], Endpoint], profile: Profile, tmp_path: Path
) -> None:
    rows = [handmade.row(at, length=length) for length in (2048, 8192) for at in (0, 1)]
    folder = handmade.split(tmp_path / "o200k", [*rows, handmade.row(0, subtask="pronoun", length=8192)])
    url = serve(Model(profile)).url
    line = ["check-server", str(folder), "--base-url", url, "--model", "m"]
    done = CliRunner().invoke(cli, line)
    assert done.exit_code == 2, done.output
    assert "window: the server's window is 4,096 tokens: serve the model with 8,192" in done.output
    assert done.output.splitlines()[0].split() == ["check", "reported", "by", "expected", "found", "verdict"]
    assert "at least 2,048" in CliRunner().invoke(cli, [*line, "--length", "2048"]).output
    none = CliRunner().invoke(cli, [*line, "--subtask", "pronoun", "--length", "2048"])
    assert "no row matches" in none.stderr


def test_a_run_warns_of_a_window_that_is_too_small(
    serve: Callable[[Model], Endpoint], profile: Profile, tmp_path: Path
) -> None:
    rows = [handmade.row(at, length=length) for length in (2048, 8192) for at in (0, 1)]
    folder = handmade.split(tmp_path / "o200k", rows)
    line = [
        "run",
        str(folder),
        "--base-url",
        serve(Model(profile)).url,
        "--model",
        "m",
        "--out",
        str(tmp_path / "m.jsonl"),
    ]
    told = CliRunner().invoke(cli, line).stderr
    assert (
        "window is 4,096 tokens (/props), so it will reject 2 rows of 4: leave them out with --max-length 4096" in told
    )
    line[-1] = str(tmp_path / "n.jsonl")
    assert "window" not in CliRunner().invoke(cli, [*line, "--max-length", "4096"]).stderr
