"""A server on the loopback that answers chat completions from a key; what it was asked stays in ``asked``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from answering import answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.say({"object": "list", "data": [{"id": "key", "object": "model", "created": 0, "owned_by": "key"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turns = [(turn["role"], _text(turn["content"])) for turn in body["messages"]]
        self.server.asked.append(turns)
        room = body.get("max_tokens", body.get("max_completion_tokens"))
        message = {"role": "assistant", "content": answer(turns, room)}
        self.say(
            {
                "id": "reply",
                "object": "chat.completion",
                "created": 0,
                "model": "key",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )

    def say(self, what: dict[str, Any]) -> None:
        raw = json.dumps(what).encode()
        self.send_response(200)
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
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", server.asked
    finally:
        server.shutdown()
        server.server_close()
