"""The tokenizer in a GGUF file, read without a package and written as the files of a model's folder.

A GGUF file begins with a table of metadata, which includes vocabulary, merges, chat template and window; its tensors
are never read. llama.cpp only names the rule that splits a text before merging (``tokenizer.ggml.pre``); the patterns
are in its source. The common ones are repeated here, and a model with another is refused.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pipeline.errors import ProfileError
from pipeline.profiles.vocabulary import kept_in

SUFFIX = ".gguf"
MAGIC = b"GGUF"
NUMBERS = ("B", "b", "H", "h", "I", "i", "f", "?")
"""`struct` formats of value types 0 to 7; 8 is text, 9 a list, and `MORE` has the others."""
MORE = {10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9
MOST = 1 << 24
"""More list items, or bytes of a text, than any tokenizer has."""
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
BLANK = "\u2581"
"""How SentencePiece writes a space."""
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
ENDS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLIT = {"qwen2": rf"{WORDS}\p{{N}}{ENDS}", "llama-bpe": rf"{WORDS}\p{{N}}{{1,3}}{ENDS}"}
"""Patterns by name, which replace GPT-2's."""
SAME = {"llama3": "llama-bpe", "llama-v3": "llama-bpe", "smaug-bpe": "llama-bpe", "deepseek-r1-qwen": "qwen2"}
DIGITS = ("smollm", "starcoder", "refact", "command-r", "codeshell")
"""Names of GPT-2's pattern with each digit by itself."""
PLAIN = ("gpt-2", "gpt2", "phi-2", "olmo", "mpt")
"""Names of GPT-2's pattern."""


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a GGUF file.

    Raises:
        ProfileError: if it is not a GGUF file of version 2 or 3, or is damaged.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:4] != MAGIC:
                raise ProfileError(f"{str(path)!r} is not a GGUF file: it does not begin with {MAGIC.decode()}")
            version, _, count = struct.unpack_from("<IQQ", data, 4)
            if version not in (2, 3) or count > 1 << 16:
                raise ProfileError(f"{str(path)!r} has version {version} of GGUF, of which 2 and 3 are known")
            found, at = dict[str, Any](), 24
            for _ in range(count):
                name, at = _text(data, at)
                (kind,) = struct.unpack_from("<I", data, at)
                found[name], at = _value(data, at + 4, kind)
            return found
    except (OSError, ValueError, struct.error, UnicodeDecodeError) as fault:
        raise ProfileError(f"{str(path)!r} cannot be read as GGUF ({fault}): copy it again") from None


def _value(data: mmap.mmap, at: int, kind: int) -> tuple[Any, int]:
    if kind == TEXT:
        return _text(data, at)
    if kind == LIST:
        inner, count = struct.unpack_from("<IQ", data, at)
        at += 12
        if count > MOST:
            raise ValueError(f"a list of {count:,} items")
        if inner not in (TEXT, LIST):
            packed = f"<{count}{_packed(inner)}"
            return list(struct.unpack_from(packed, data, at)), at + struct.calcsize(packed)
        items = []
        for _ in range(count):
            item, at = _value(data, at, inner)
            items.append(item)
        return items, at
    packed = f"<{_packed(kind)}"
    return struct.unpack_from(packed, data, at)[0], at + struct.calcsize(packed)


def _packed(kind: int) -> str:
    if kind < len(NUMBERS):
        return NUMBERS[kind]
    if kind not in MORE:
        raise ValueError(f"a value of kind {kind}")
    return MORE[kind]


def _text(data: mmap.mmap, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", data, at)
    if length > MOST or at + 8 + length > len(data):
        raise ValueError(f"a text of {length:,} bytes")
    return data[at + 8 : at + 8 + length].decode(), at + 8 + length


def unpacked(path: Path) -> Path:
    """Write the tokenizer of a GGUF file as a model's folder in the cache, and return the folder.

    Raises:
        ProfileError: if the file cannot be read, or its kind of vocabulary or its split is not known.
    """
    files = _files(path, read_metadata(path))
    texts = {name: json.dumps(value, sort_keys=True) for name, value in files.items()}
    digest = sha256("\n".join(texts[name] for name in sorted(texts)).encode()).hexdigest()
    folder = kept_in() / f"gguf-{digest[:16]}" / path.name.removesuffix(SUFFIX)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _files(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a model's files, by name."""
    metadata = {name.removeprefix("tokenizer.ggml."): value for name, value in data.items()}
    kind, tokens = metadata.get("model"), metadata.get("tokens", [])
    if kind not in ("gpt2", "llama"):
        raise ProfileError(
            f"{str(path)!r} has a vocabulary of kind {kind!r}, which is not read from GGUF: give the model's own "
            "folder or name"
        )
    vocabulary = {text: number for number, text in enumerate(tokens)}
    special = [
        {"id": number, "content": tokens[number], "special": kind == CONTROL, **dict.fromkeys(FLAGS, False)}
        for number, kind in enumerate(metadata.get("token_type") or [])
        if kind in (CONTROL, USER_DEFINED)
    ]
    bos = tokens[metadata["bos_token_id"]] if "bos_token_id" in metadata else None
    eos = tokens[metadata["eos_token_id"]] if "eos_token_id" in metadata else None
    model = _bytewise(path, metadata, vocabulary) if kind == "gpt2" else _pieces(metadata, vocabulary)
    added = bos if metadata.get("add_bos_token", kind == "llama") else None
    tokenizer = {"version": "1.0", "added_tokens": special, "post_processor": _begun(added, vocabulary), **model}
    window = data.get(f"{data.get('general.architecture')}.context_length")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": bos, "eos_token": eos}
    config |= {"chat_template": data.get("tokenizer.chat_template"), "clean_up_tokenization_spaces": False}
    return {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": {name: value for name, value in config.items() if value is not None},
        "config.json": {"max_position_embeddings": window},
    }


def _bytewise(path: Path, metadata: Mapping[str, Any], vocabulary: dict[str, int]) -> dict[str, Any]:
    """Return byte-level BPE as tokenizers reads it: a split, then the merges as they are."""
    pre = metadata.get("pre", "")
    merges = [merge.split(" ", 1) for merge in metadata.get("merges", ())]
    model = {"type": "BPE", "vocab": vocabulary, "merges": merges, "ignore_merges": SAME.get(pre, pre) == "llama-bpe"}
    return {"normalizer": None, "pre_tokenizer": _split(path, pre), "decoder": _bytes(own=True), "model": model}


def _pieces(metadata: Mapping[str, Any], vocabulary: dict[str, int]) -> dict[str, Any]:
    """Return SentencePiece's BPE: any two pieces that form a third may merge, the best score first."""
    scores, kinds = metadata["scores"], metadata.get("token_type") or []
    merges = list[tuple[float, int, int, str, str]]()
    for text, number in vocabulary.items():
        if number < len(kinds) and kinds[number] != NORMAL:
            continue
        for at in range(1, len(text)):
            first, second = vocabulary.get(text[:at]), vocabulary.get(text[at:])
            if first is not None and second is not None:
                merges.append((-scores[number], first, second, text[:at], text[at:]))
    blank = {"type": "Replace", "pattern": {"String": " "}, "content": BLANK}
    front = [{"type": "Prepend", "prepend": BLANK}] if metadata.get("add_space_prefix", True) else []
    unknown = metadata["tokens"][metadata.get("unknown_token_id", 0)]
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*front, blank]},
        "pre_tokenizer": None,
        "decoder": {"type": "Replace", "pattern": {"String": BLANK}, "content": " "},
        "model": {
            "type": "BPE", "vocab": vocabulary, "merges": [[one, two] for *_, one, two in sorted(merges)],
            "unk_token": unknown, "fuse_unk": True, "byte_fallback": True,
        },
    }  # fmt: skip


FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def _split(path: Path, pre: str) -> dict[str, Any]:
    name = SAME.get(pre, pre)
    if name in SPLIT:
        split = {"type": "Split", "pattern": {"Regex": SPLIT[name]}, "behavior": "Isolated", "invert": False}
        return {"type": "Sequence", "pretokenizers": [split, _bytes(own=False)]}
    if name in DIGITS:
        return {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _bytes(own=True)]}
    if name in PLAIN:
        return _bytes(own=True)
    known = ", ".join(sorted((*SPLIT, *SAME, *DIGITS, *PLAIN)))
    raise ProfileError(
        f"{str(path)!r} splits texts as {pre!r}, of which no pattern is known here (known: {known}): give the model's "
        "own folder or name"
    )


def _bytes(*, own: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": own}


def _begun(token: str | None, vocabulary: Mapping[str, int]) -> dict[str, Any]:
    """Return the post-processor that adds a token in front of a text, or one that adds nothing."""
    if token is None:
        return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    front = {"SpecialToken": {"id": token, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [front, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [front, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {token: {"id": token, "ids": [vocabulary[token]], "tokens": [token]}},
    }
