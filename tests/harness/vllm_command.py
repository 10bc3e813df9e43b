"""`vllm run-batch`: the replies to a file of requests, from a key, in the form in which vLLM writes them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from answering import answer

if __name__ == "__main__":
    told = argparse.ArgumentParser(allow_abbrev=False)
    told.add_argument("command", choices=["run-batch"])
    told.add_argument("-i", type=Path)
    told.add_argument("-o", type=Path)
    told.add_argument("--model")
    told.add_argument("--max-model-len", type=int)
    told.add_argument("--max-log-len", type=int)
    args = told.parse_args()
    replies = []
    for line in args.i.read_text(encoding="ascii").splitlines():
        request = json.loads(line)
        body = request["body"]
        assert body["model"] == args.model, "vLLM refuses a model that it does not serve"
        turns = [(turn["role"], turn["content"]) for turn in body["messages"]]
        message = {"role": "assistant", "content": answer(turns, body["max_completion_tokens"])}
        made = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        replies.append({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": made}})
    args.o.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="ascii")
