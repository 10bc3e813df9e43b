"""Small folders to publish."""

from __future__ import annotations

import hashlib
from pathlib import Path

CARD = "---\nlicense: cc-by-4.0\npretty_name: Small\n---\n\n# Small\n"
SHARDS = 4


def staged(folder: Path, *, shards: int = SHARDS, card: str = CARD, size: int = 2000) -> Path:
    """Write a folder with a card, a text, an empty file and some different large files."""
    (folder / "data" / "bio").mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(card, encoding="utf-8")
    (folder / "metrics.py").write_text("def score():\n    return 1.0\n", encoding="utf-8")
    (folder / "empty.txt").touch()
    for number in range(shards):
        (folder / "data" / "bio" / f"test-{number:05}.parquet").write_bytes(noise(number, size))
    return folder


def noise(seed: int, size: int) -> bytes:
    return hashlib.shake_256(str(seed).encode()).digest(size)


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
