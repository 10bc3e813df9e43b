"""Print the mean tokens of a register's entry, by profile and language: ``python tools/measure_languages.py``.

The entries have the same content in all languages: the first of a pool, with the same days and values. The table gives
tokens for English, and ratios to English for the others.
"""

from __future__ import annotations

import sys

from pipeline.languages import CODES
from pipeline.profiles import load_profile
from pipeline.streams import Streams
from pipeline.tasks import known_task
from pipeline.tasks.recall.register import InRegister, make_entries
from write_tables import table

PROFILES = ("o200k", "qwen3", "llama3.1", "gemma3", "deepseek-v3", "glm4", "mistral-tekken", "cl100k")
ENTRIES = 2000


def texts(code: str) -> list[str]:
    """Return the first entries of a register in a language."""
    task = known_task("recall", f"niah_mk1-{code}")
    assert isinstance(task, InRegister)
    (spec,) = task.pools(task.golden_stratum(1))
    made = make_entries(Streams((20261121,)), spec)
    return [next(made).pieces[0].text for _ in range(ENTRIES)]


def main() -> None:
    """Count with every profile, and print the table."""
    rows = []
    for name in PROFILES:
        counter = load_profile(name).counter()
        mean = {code: float(counter.counts(texts(code)).mean()) for code in CODES}
        english = mean[CODES[0]]
        rows.append((f"`{name}`", f"{english:.1f}", *(f"{mean[code] / english:.2f}" for code in CODES[1:])))
        print(f"counted in {name}", file=sys.stderr)
    print(table(("profile", "en, tokens", *CODES[1:]), rows))


if __name__ == "__main__":
    main()
