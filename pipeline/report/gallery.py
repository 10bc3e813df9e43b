"""The gallery: a short prompt of every subtask, marked for reading, with two replies and their scores."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from pipeline.artifacts.manifest import TierStratum
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import SplitError, unknown
from pipeline.metrics import SCORERS, score
from pipeline.report.builds import release_facts
from pipeline.report.failures import MAX_TEXT_CHARACTERS, cut, folded
from pipeline.report.page import Answer, Example, Examples, Needle, Note, Page, Section
from pipeline.rows import Row, kilo
from pipeline.terminal.text import percent

CHANCE = ("uniform", "any_reply", "best_constant")
"""Baselines that serve as chance; the first in a row counts."""

FIRST = ("longqa", "trace", "code", "rag", "mrcr")
"""The families that the page opens with, as their prompts show most of what is asked; others follow in their order."""

ACCEPTED = 6
"""Most accepted answers that are shown."""

HOW_TO_READ = (
    "Each example is a row of its task's shortest length. The strip above a prompt shows its window from the first "
    "token to the last, with every marked piece in its place; depth 0 is before all filler, 1 after it. Long filler is "
    "folded."
)


def gallery_page(split: Split) -> Page:
    """Return a page with an example of every subtask of a split.

    Raises:
        SplitError: if the split is published without keys.
        CorruptError: if a shard cannot be read.
    """
    chosen = _chosen(split)
    families: dict[str, list[Sequence[Row]]] = {}
    for (family, _), rows in chosen.items():
        families.setdefault(family, []).append(rows)
    order = sorted(families, key=lambda family: FIRST.index(family) if family in FIRST else len(FIRST))
    return Page(
        title=f"Gallery: {split.title}",
        subtitle="What each task asks, where the answer is found, and how replies are scored.",
        facts=release_facts([split]),
        sections=[
            Section(
                family,
                family,
                [*([Note(HOW_TO_READ)] if not at else []), Examples([_example(*r) for r in families[family]])],
            )
            for at, family in enumerate(order)
        ],
    )


def _chosen(split: Split) -> dict[tuple[str, str], list[Row]]:
    """Return two rows of each subtask at its shortest length: the one to show, and one with another answer."""
    strata: dict[tuple[str, str], list[TierStratum]] = {}
    for cell in split.strata:
        strata.setdefault((cell.family, cell.subtask), []).append(cell)
    return {place: list(_rows(split, *place, _shown(cells))) for place, cells in strata.items()}


def _shown(cells: Sequence[TierStratum]) -> TierStratum:
    """Return the stratum to show: the shortest length, and a middle complexity there."""
    shortest = min(cell.length for cell in cells)
    own = sorted((cell for cell in cells if cell.length == shortest), key=lambda cell: cell.complexity or 0)
    return own[len(own) // 2]


def _rows(split: Split, family: str, subtask: str, cell: TierStratum) -> Iterator[Row]:
    wanted = Selection((family,), (subtask,), (cell.tier,), (cell.length,))
    shown = next(split.rows(selection=replace(wanted, complexities=(cell.complexity or 0,))), None)
    if shown is None:
        raise SplitError(f"{split.title} has no row of {family}.{subtask} at length {cell.length}: build it again")
    yield shown
    yield from islice((row for row in split.rows(selection=wanted) if row["target"] != shown["target"]), 1)


def _example(row: Row, other: Row | None = None) -> Example:
    metadata, rule = json.loads(row["metadata"]), _rule(row["scorer"])
    named = {name: value for name, value in metadata.get("baselines", {}).items() if name in CHANCE}
    chance = next(
        (f"{percent(named[name], 1)} ({name.replace('_', ' ')})" for name in CHANCE if name in named), "not stated"
    )
    return Example(
        name=f"{row['family']}.{row['subtask']}",
        facts=f"{kilo(row['length'])}, complexity {row['complexity']}, demonstrations: {row['shots']}",
        question=cut(row["question"], MAX_TEXT_CHARACTERS),
        accepted=[cut(answer, 400) for answer in row["answers"][:ACCEPTED]],
        more=max(0, len(row["answers"]) - ACCEPTED),
        chance=chance,
        rule=rule,
        answers=list(_answers(row, other)),
        needles=list(_needles(row)),
        parts=list(folded(row)),
    )


def _rule(scorer: str) -> str:
    """Return the rule of a scorer, which is its docstring.

    Raises:
        SplitError: if this version does not know the scorer.
    """
    if scorer not in SCORERS:
        raise SplitError(f"{unknown('scorer', scorer, SCORERS)}: use the version of Carrara that built the split")
    text = inspect.getdoc(SCORERS[scorer].rule) or ""
    return " ".join(text.replace("``", "`").split())


def _needles(row: Row) -> Iterator[Needle]:
    """Yield the marked pieces, with places and sizes as shares of the window."""
    window = row["context_tokens"]
    for needle in row["needles"]:
        start, end = needle["token_start"] / window, needle["token_end"] / window
        yield Needle(needle["role"], start, max(end - start, 0.004))


def _answers(row: Row, other: Row | None) -> Iterator[Answer]:
    """Yield a right reply, in a chat's words, and one that gives another row's answer."""
    code = row["random_string_to_prepend"]
    yield _answer(row, row["target"] if code else f"The answer is {row['target']}.", "the target")
    if other is not None:
        reply = (code or "") + other["target"].removeprefix(other["random_string_to_prepend"] or "")
        yield _answer(row, reply, "the answer of another row")


def _answer(row: Row, reply: str, what: str) -> Answer:
    given = score(row, reply)
    return Answer(cut(reply, 800), f"{given:.2f}", f"{what}: {_why(given)}")


def _why(given: float) -> str:
    if given == 1:
        return "it is accepted"
    return "it is not an accepted answer" if given == 0 else "it is partly right, by the rule"
