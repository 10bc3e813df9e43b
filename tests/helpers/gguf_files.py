"""Handmade GGUF files, with metadata and no tensors."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any


def metadata(files: dict[str, bytes], pre: str, **more: Any) -> dict[str, Any]:
    """Return the metadata that llama.cpp's converter makes from a model's files."""
    made = json.loads(files["tokenizer.json"])
    vocabulary, special = made["model"]["vocab"], {each["content"] for each in made["added_tokens"]}
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    merges = [each if isinstance(each, str) else " ".join(each) for each in made["model"]["merges"]]
    return {
        "general.architecture": "llama",
        "llama.context_length": 8192,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in special else 1 for token in tokens],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": vocabulary["<s>"],
        "tokenizer.ggml.eos_token_id": vocabulary["</s>"],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": files["chat_template.jinja"].decode(),
        "general.quantized_by": 0.5,
        **more,
    }


def write(path: Path, data: dict[str, Any]) -> Path:
    """Write a GGUF file with only metadata."""
    body = b"".join(_text(name) + struct.pack("<I", _kind(value)) + _packed(value) for name, value in data.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(data)) + body)
    return path


def _kind(value: Any) -> int:
    return {bool: 7, int: 5, float: 6, str: 8, list: 9}[type(value)]


def _packed(value: Any) -> bytes:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return struct.pack("<IQ", _kind(value[0]), len(value)) + b"".join(map(_packed, value))
    return struct.pack({7: "<?", 5: "<i", 6: "<f"}[_kind(value)], value)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()
