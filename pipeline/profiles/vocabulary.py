"""Vocabularies: where the bytes of every token come from, and the proof that they are the ones meant.

Vocabularies of the base install come out of the one wheel that holds them all, token by token, and are written as
rank text: a line of base64 and rank for each token, in order. Byte for byte that is how OpenAI, Meta and Qwen publish
theirs, so the digest pinned in a profile is the published file's own SHA-256 wherever there is such a file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import importlib
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pipeline.errors import ProfileError, adding
from pipeline.paths import checked_file, place
from pipeline.profiles.packaged import packaged_bytes
from pipeline.profiles.spec import Vocabulary

SPARE = 1 << 16
"""Ranks that a vocabulary may leave out."""


def optional_module(name: str, extra: str) -> ModuleType:
    """Import a module of an extra; a missing one is a `ProfileError` that says what to install."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        module = None
    # From the root of a checkout the folder of profiles answers to the name of Hugging Face's package.
    if module is None or module.__spec__ is None or module.__spec__.origin is None:
        raise ProfileError(f"{name} is not installed: {adding(extra)}")
    return module


@lru_cache(maxsize=4)
def vocabulary_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the vocabulary's file, or its rank text, having checked its digest."""
    data = stored_bytes(vocabulary)
    found = hashlib.sha256(data).hexdigest()
    if found != vocabulary.sha256:
        raise ProfileError(f"{source_of(vocabulary)}: its sha256 is {found}, but the profile says {vocabulary.sha256}")
    return data


def stored_bytes(vocabulary: Vocabulary) -> bytes:
    """Return what is there, unchecked."""
    if vocabulary.entry:
        return _entry_bytes(vocabulary)
    if vocabulary.package:
        return packaged_bytes(vocabulary)
    path = vocabulary_file(vocabulary)
    try:
        return checked_file(path).read_bytes()
    except FileNotFoundError:
        raise ProfileError(f"no such vocabulary file: {path}") from None
    except OSError as fault:
        raise ProfileError(f"vocabulary file {str(path)!r} cannot be read: {fault.strerror}") from None


def source_of(vocabulary: Vocabulary) -> str:
    """Return a few words that tell a person where a vocabulary is from."""
    where = f"{vocabulary.hub}@{vocabulary.revision[:8]}" if vocabulary.hub else vocabulary.entry or vocabulary.package
    return f"vocabulary {where or vocabulary.file}"


def vocabulary_file(vocabulary: Vocabulary, name: str = "") -> Path:
    """Return the path of the vocabulary's file, or of its neighbour `name`, fetched from the Hub if need be."""
    path = place(vocabulary.file)
    if vocabulary.hub and not path.is_absolute():
        return _hub_file(vocabulary, name or vocabulary.file)
    folder = path if path.is_dir() else path.parent
    if name:
        return folder / name
    return path / "tokenizer.json" if path.is_dir() else path


def _hub_file(vocabulary: Vocabulary, name: str) -> Path:
    hub = optional_module("huggingface_hub", "hub")
    try:
        return Path(hub.hf_hub_download(vocabulary.hub, name, revision=vocabulary.revision))
    except Exception as error:  # the Hub client raises many kinds, and none of them is ours to tell apart
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ProfileError(f"{source_of(vocabulary)}: cannot get {name}: {reason}") from None


def _entry_bytes(vocabulary: Vocabulary) -> bytes:
    tokens = builtin(vocabulary.entry)
    ids = range(vocabulary.first_id, vocabulary.first_id + vocabulary.size)
    try:
        listed = [base64.b64encode(tokens.decode_token_bytes(number)) for number in ids]
    except (ValueError, OverflowError):
        raise ProfileError(f"{source_of(vocabulary)}: ids {ids.start} to {ids.stop - 1} are not complete") from None
    return b"".join(b"%b %d\n" % (token, rank) for rank, token in enumerate(listed))


def builtin(entry: str) -> Any:
    """Return a tokenizer of the base install by name."""
    import splintr

    try:
        return splintr.Tokenizer.from_pretrained(entry)
    except ValueError:
        raise ProfileError(f"the base install has no vocabulary {entry!r}") from None


def _pairs(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return the two words of each line.

    Raises:
        ValueError: if a line has another number of them.
    """
    words = data.split()
    tokens, ranks = words[::2], words[1::2]
    if b"\n".join(map(b" ".join, zip(tokens, ranks, strict=True))) == data.rstrip(b"\n"):
        return list(zip(tokens, ranks, strict=True))
    return [(token, rank) for line in data.splitlines() if line for token, rank in [line.split()]]


def ranks_of(vocabulary: Vocabulary) -> dict[bytes, int]:
    """Return the merge rank of every token's bytes.

    Raises:
        ProfileError: if it is no list of ranks, a byte has none, or two tokens have the same.
    """
    try:
        lines = _pairs(vocabulary_bytes(vocabulary))
        ranks = {binascii.a2b_base64(token, strict_mode=True): int(rank) for token, rank in lines}
    except ValueError:
        raise ProfileError(f"{source_of(vocabulary)}: not a list of base64 and rank") from None
    values = set(ranks.values())
    if len(values) < len(lines) or min(values, default=0) < 0 or max(values, default=0) >= len(lines) + SPARE:
        raise ProfileError(f"{source_of(vocabulary)}: its ranks are not numbers from 0 up, each of one token")
    if missing := [byte for byte in range(256) if bytes([byte]) not in ranks]:
        raise ProfileError(f"{source_of(vocabulary)}: it has no token for the byte {missing[0]:#04x}")
    return ranks
