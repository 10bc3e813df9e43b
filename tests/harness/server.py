"""A server on the loopback that answers completions and batches from a key.

What it was asked stays in ``asked``, what it said in ``said``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler
from typing import Any

from answering import answer
from loopback.threads import LoopbackServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if "/files/" in self.path:
            self.send(self.server.files[self.path.split("/")[-2]])
        elif "/batches/" in self.path:
            self.say(self.server.batches[self.path.rpartition("/")[2]])
        elif self.path.endswith("/models"):
            self.say({"object": "list", "data": [{"id": "key", "object": "model", "created": 0, "owned_by": "key"}]})
        else:
            self.say({"error": {"message": "no such page"}}, 404)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/files"):
            self.say(self.file(raw))
        elif self.path.endswith("/batches"):
            self.say(self.batch(json.loads(raw)))
        elif json.loads(raw).get("stop") == []:
            self.say({"error": {"message": "[] is too short - 'stop'", "type": "invalid_request_error"}}, 400)
        else:
            self.say(self.completed(json.loads(raw)))

    def completed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the completion of a prompt, of a list of them, or of a conversation."""
        room = body.get("max_tokens", body.get("max_completion_tokens"))
        if "messages" in body:
            turns = [(turn["role"], _text(turn["content"])) for turn in body["messages"]]
            choices = [{"message": {"role": "assistant", "content": self.reply(turns, room)}}]
        else:
            prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
            choices = [{"text": self.reply([("user", prompt)], room)} for prompt in prompts]
        return {
            "id": "reply",
            "object": "chat.completion" if "messages" in body else "text_completion",
            "created": 0,
            "model": body.get("model", "key"),
            "choices": [{"index": at, "finish_reason": "stop", **choice} for at, choice in enumerate(choices)],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def reply(self, turns: list[tuple[str, str]], room: int | None) -> str:
        self.server.asked.append(turns)
        self.server.said.append(answer(turns, room))
        return self.server.said[-1]

    def file(self, raw: bytes) -> dict[str, Any]:
        """Keep a file that is sent as part of a form."""
        form = message_from_bytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\n\n" + raw)
        (held,) = (part.get_payload(decode=True) for part in form.get_payload() if part.get_filename())
        name = f"file-{len(self.server.files)}"
        self.server.files[name] = held
        return {"id": name, "object": "file", "bytes": len(held), "created_at": 0, "filename": name, "purpose": "batch"}

    def batch(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer all requests of a file at once."""
        lines = [json.loads(line) for line in self.server.files[body["input_file_id"]].splitlines()]
        assert {line["url"] for line in lines} == {body["endpoint"]}
        answers = [
            {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": self.completed(line["body"])}}
            for line in lines
        ]
        name, out = f"batch-{len(self.server.batches)}", f"file-{len(self.server.files)}"
        self.server.files[out] = "".join(json.dumps(each) + "\n" for each in answers).encode()
        told = {"object": "batch", "created_at": 0, "completion_window": "24h", "status": "completed"}
        self.server.batches[name] = {**told, **body, "id": name, "output_file_id": out}
        return dict(self.server.batches[name])

    def say(self, what: dict[str, Any], status: int = 200) -> None:
        self.send(json.dumps(what).encode(), status)

    def send(self, raw: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@contextmanager
def serving() -> Iterator[tuple[str, list[Any]]]:
    """Serve while the block runs; give the address of the API and what is asked."""
    with server() as served:
        yield f"{served.address}/v1", served.asked


class Server(LoopbackServer):
    """What was asked, what was said, and the files and batches that are kept."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[Any] = []
        self.said: list[str] = []
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}


@contextmanager
def server() -> Iterator[Server]:
    """Serve while the block runs."""
    served = Server()
    try:
        yield served
    finally:
        served.stop()
