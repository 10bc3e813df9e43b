"""Fuzzed untrusted input, and checks of the command's behaviour on it in confined runs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import hostile
from confined_runs import MOST_MB, MOST_SECONDS, Ended, forks
from hostile import DEEP, ESCAPED, HOSTILE

CASES = int(os.environ.get("CARRARA_FAULT_CASES", "0"))
"""How many cases each fuzz tries; `make test-faults` sets thousands."""
few = settings(
    max_examples=CASES or 15,
    derandomize=not CASES,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def held(home: Path, *args: object, most_mb: float = MOST_MB, most_seconds: float = MOST_SECONDS) -> Ended:
    """Run a command confined, and check its exit code, limits, errors in one line, and that it writes only in `out`."""
    before, done = _files(home), forks().run(args, home)
    assert done.exit_code in (0, 1, 2, 130), done
    assert done.seconds < most_seconds, done
    assert done.mb < most_mb, done
    assert "Traceback" not in done.stderr, done
    assert "Carrara has a bug" not in done.stderr, done
    if done.exit_code == 1:
        assert done.stderr.count("\n") == 1, done
        assert done.stderr.startswith("carrara: "), done
        assert len(done.stderr) < 4000, done
    assert not set("\x1b\x07\r\u202e") & set(done.stdout + done.stderr), done
    assert _files(home) == before, done
    assert not list(ESCAPED.parent.glob(f"{ESCAPED.name}*"))
    return done


def _files(home: Path) -> dict[Path, bytes]:
    paths = (path for path in home.rglob("*") if path.is_file() and home / "out" not in path.parents)
    return {path: hashlib.sha256(path.read_bytes()).digest() for path in paths}


NASTY = st.sampled_from(
    [
        *(value for value in HOSTILE if not isinstance(value, str) or len(value) < 70_000),
        *("(a+)+$", "(" * 3000, "x{1000}{1000}{1000}", r"\p{L}+|\p{Nonsense}", "[", "(?<=a)b", "|", "a\x00b", "\x00"),
        *("/dev/zero", "/dev/stdin", "/proc/self/mem", ".", "x.tiktoken", "model", "tokenizer.json", "x.model"),
        *("tiktoken", "splintr", "tokenizers", "sentencepiece", "none", "ranks", "json", "pieces", "gemma4", "gemma3"),
        *("exact", "documented", "{% for a in [1] %}", "{{ messages }}", "{{ messages[0].content }}", "{{ x }}"),
        *({"a": float("nan")}, {"content": 1}, [{"name": "default"}], ["a", 1], 2**62, -(2**62), 1e-300, "9" * 5000),
        ...,
    ]
)  # fmt: skip


def changed(draw: Callable[..., Any], tree: Any) -> Any:
    """Return a tree of lists and dicts with one to three values replaced or removed."""
    tree = json.loads(json.dumps(tree))
    for _ in range(draw(st.integers(1, 3))):
        places = list(hostile.places(tree))
        if places:
            hostile.put(tree, draw(st.sampled_from(places)), draw(NASTY))
    return tree


def spoilt(draw: Callable[..., Any], raw: bytes) -> bytes:
    """Return bytes with some changed, removed, repeated, inserted, or cut off."""
    for _ in range(draw(st.integers(1, 4))):
        at, size = draw(st.integers(0, len(raw))), draw(st.integers(1, 64))
        new = draw(
            st.sampled_from(["flip", "cut", "end", "again", "more"])
            | st.binary(max_size=8)
            | st.sampled_from(
                [
                    DEEP.encode()[:5000],
                    b"\xff\xfe",
                    b"9" * 5000,
                    b"\r",
                    b"\x1b[2J",
                    b"\x00" * 70_000,
                    b"\na" + b".a" * 30_000,
                ]
            )
        )
        if new == "flip":
            raw = raw[:at] + bytes([raw[at] ^ (1 << size % 8)]) + raw[at + 1 :] if at < len(raw) else raw
        elif new == "cut":
            raw = raw[:at] + raw[at + size :]
        elif new == "end":
            raw = raw[:at]
        elif new == "again":
            raw = raw[:at] + raw[max(0, at - size * 20) : at] * 3 + raw[at:]
        elif new == "more":
            raw *= 2
        else:
            raw = raw[:at] + new + raw[at:]
    return raw
