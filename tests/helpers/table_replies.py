"""Pseudorandom tables and replies to them, right and wrong in every way that a grader may encounter."""

from __future__ import annotations

from random import Random

from pipeline.streams import stream

REPLIES = 1000
WORDS = (
    "Alder",
    "the Anvil",
    "a Bell",
    "Cross & Sons",
    "St. Ann's",
    "N/A",
    "An Oak",
    "Green",
    "o'Hara",
    "Theatre",
    "-",
    "e\u0301clair",
)
LETTERS = "abcdefghij"


def table_and_reply(number: int) -> tuple[str, str]:
    """Return the target of a row, including its header, and a reply."""
    rng = stream("table replies", number)
    width, height = rng.choice((1, 2, 3, 4, 4, 4, 4, 4)), rng.choice((1, 2, 3, 5, 8, 16))
    head = rng.sample(("name", "builder", "year", "cost", "The kind"), width)
    rows = [[_cell(rng) for _ in head] for _ in range(height)]
    target = "\n".join("\t".join(cells) for cells in (head, *rows))
    replied = [list(cells) for cells in rows]
    for change in rng.sample(CHANGES, rng.choice((0, 0, 1, 1, 2, 3))):
        replied = change(rng, replied) or replied
    shown = [head, *replied]
    if rng.random() < 0.2:
        shown = rng.choice(
            (
                [*replied],
                [[*head[:-1], "other"], *replied],
                [head, head, *replied],
                [head * 2, *replied],
                [["x"] * width, *replied],
            )
        )
    lines = ["\t".join(cells) for cells in shown]
    for blank in range(rng.choice((0, 0, 0, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), " " * blank)
    return target, rng.choice(FRAMES).replace("TABLE", rng.choice(("\n", "\n", "\n", "\r\n")).join(lines))


FRAMES = (
    *("TABLE", "TABLE\n", "```tsv\nTABLE\n```", "```tsv\nTABLE\n```", "Here it is:\n```tsv\nTABLE\n```\nThat is all."),
    *("```tsv\nTABLE", "```\nTABLE\n```", "Here is the table:\nTABLE", "TABLE\nThe above is my table.", "\t TABLE \t"),
    *(
        "```tsv\nTABLE\n```\nor\n```tsv\nTABLE\n```",
        "```tsv```",
        "",
        "I cannot tell.",
        "```tsv\nname\tyear\n```\nTABLE",
        "TSV:\nTABLE",
    ),
)
"""Texts around a table."""


def _cell(rng: Random) -> str:
    return rng.choice(
        (
            str(rng.randrange(1, 3000)),
            rng.choice(LETTERS),
            f"{rng.choice(WORDS)} {rng.choice(WORDS)}",
            rng.choice(WORDS),
        )
    )


def _other(rng: Random, cell: str) -> str:
    return rng.choice(
        (
            cell.upper(),
            f" {cell}",
            f"{cell}.",
            f'"{cell}"',
            f'"{cell}',
            f"the {cell}",
            f"{cell}x",
            "",
            "N/A",
            f"**{cell}**",
            cell.replace(" ", ""),
        )
    )


def _alter(rng: Random, rows: list[list[str]]) -> None:
    for cells in rows:
        if cells and rng.random() < 0.3:
            at = rng.randrange(len(cells))
            cells[at] = _other(rng, cells[at])


def _double(rng: Random, rows: list[list[str]]) -> list[list[str]]:
    return [*rows, *(rows[rng.randrange(len(rows))] for _ in range(rng.randrange(1, 4)))] if rows else rows


def _drop(rng: Random, rows: list[list[str]]) -> list[list[str]]:
    return [cells for cells in rows if rng.random() < 0.6]


def _shuffle(rng: Random, rows: list[list[str]]) -> None:
    rng.shuffle(rows)


def _widen(rng: Random, rows: list[list[str]]) -> list[list[str]]:
    return [[*cells, "more"] if rng.random() < 0.2 else cells for cells in rows]


def _narrow(rng: Random, rows: list[list[str]]) -> list[list[str]]:
    return [cells[:-1] if rng.random() < 0.2 else cells for cells in rows]


def _add(rng: Random, rows: list[list[str]]) -> list[list[str]]:
    width = len(rows[0]) if rows else 2
    return [*rows, *([_cell(rng) for _ in range(width)] for _ in range(rng.randrange(1, 5)))]


CHANGES = (_alter, _double, _drop, _shuffle, _widen, _narrow, _add)
"""Functions that return changed rows, or change them in place."""
