"""Measure how much of a prompt is repeated: ``python tools/measure_repeats.py outputs/v3.0.0/o200k``.

A sentence is repeated if it occurs more than once in its prompt, word for word. The table has the share of repeated
sentences, as a mean over the prompts of a subtask, by length. Lists, programs, graphs and noise are left out, since
their lines are not sentences or are repeated on purpose.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import fmean

import click

from carrara import open_split
from pipeline.artifacts.split import Selection, Split

LISTS = {
    *("latent_list.print", "latent_list.sum", "latent_list.min", "latent_list.max", "latent_list.len"),
    *("graph.bfs", "graph.parents", "graph.route", "idk.letters"),
    *(
        "recall.json_kv",
        "recall.niah_s1",
        "recall.niah_mk2",
        "recall.niah_mk3",
        "recall.vt",
        "recall.cwe",
        "recall.fwe",
    ),
}
"""Subtasks whose texts are not prose."""
SENTENCE, HEADING = re.compile(r"(?<=[.?!])[\"')]*\s+"), re.compile(r"^[^:]*\d[^:]*: ")
LETTERS = re.compile(r"[A-Za-z]{2,}")
LEAST = 3
"""The fewest words of a sentence; fewer are a date, a name or a heading."""
K = 1024


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text; a line's part before a colon is left out if it has a digit."""
    for line in text.splitlines():
        for sentence in SENTENCE.split(HEADING.sub("", line)):
            if len(LETTERS.findall(sentence)) >= LEAST:
                yield sentence.strip()


def repeated(text: str) -> float:
    """Return the share of a text's sentences that occur in it more than once.

    >>> repeated("It was a dry May. The cat slept all day. It was a dry May. Nobody came to tea.")
    0.5
    """
    counted = Counter(sentences_of(text))
    return sum(times for times in counted.values() if times > 1) / max(counted.total(), 1)


def shares(split: Split, selection: Selection) -> dict[str, dict[int, float]]:
    """Return the mean share of repeated sentences before the question, by subtask and length."""
    repeats: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in split.rows(["family", "subtask", "length", "prompt", "question_start"], selection):
        name = f"{row['family']}.{row['subtask']}"
        if name not in LISTS:
            repeats[name][row["length"]].append(repeated(row["prompt"][: row["question_start"]]))
    return {name: {length: fmean(each) for length, each in sorted(own.items())} for name, own in repeats.items()}


@click.command()
@click.argument("split")
@click.option("--limit", type=int, default=8, show_default=True, help="prompts of each stratum")
def main(split: str, limit: int) -> None:
    """Print the share of repeated sentences in the prompts of SPLIT, by subtask and length."""
    by_subtask = shares(open_split(split), Selection(limit=limit))
    lengths = sorted({length for own in by_subtask.values() for length in own})
    head = ("subtask", *(f"{length // K}K" for length in lengths))
    lines = [
        (f"`{name}`", *(f"{own[at]:.0%}" if at in own else "-" for at in lengths)) for name, own in by_subtask.items()
    ]
    for line in (head, ("---", *["--:"] * len(lengths)), *lines):
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    sys.exit(main())
