"""The rows are already in ``test.jsonl``, so there is nothing to prepare."""

from pathlib import Path

if __name__ == "__main__":
    assert (Path(__file__).resolve().parent / "test.jsonl").is_file()
