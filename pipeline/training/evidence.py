"""What a reply is asked to give beside the answer: the ids of the units that it rests on, or their words.

With ``ids`` every piece of the body, filler too, begins with an opaque id, such as ``[k7f3q] ``. All ids of an epoch
are places of one permutation, so that an id says nothing of what it stands before. A row is whole without
them: `bare` takes them off again by their pattern, and what is left is proven as in any build.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any

from pipeline.errors import RecipeError
from pipeline.recipe import Stratum
from pipeline.rows import Row, plain_json, sha256_text
from pipeline.streams import Permutation, stream
from pipeline.tasks.base import Layout, Piece, Plain, Unit

LETTERS = "bcdfghjkmnpqrstvwxz23456789"
"""No vowels, so that no id is a word, and nothing that is easily taken for something else."""
LENGTH = 5
IDS = len(LETTERS) ** LENGTH
MARK = re.compile(rf"(?m)^\[([{LETTERS}]{{{LENGTH}}})\] ")
CUE = re.compile(r"\n[A-Za-z ]{1,20}:\Z")
"""The last line of a question that a reply goes on from, such as ``Answer:``."""
ASKS = {
    "ids": "Each part of the text above begins with an id in square brackets. Whatever form is named above, reply in "
    "this one, with the ids of all parts that the answer rests on, and of no others: "
    "<evidence>id, id</evidence><answer>the answer</answer>",
    "quotes": "Whatever form is named above, reply in this one, with all that the answer rests on copied from the text "
    "above word for word, each passage on a line of its own, and nothing else: "
    "<evidence>passages</evidence><answer>the answer</answer>",
}
"""What stands behind the question, by what is asked for."""
FORMS = ("", *ASKS)
NO_MARKS = {
    ("bio", "citation"): "its answer cites labels already",
    ("bio", "icl"): "all of its examples are evidence",
    ("cite", ""): "its answer cites documents already",
    ("icl", ""): "all of its examples are evidence",
    ("latent_list", ""): "its lines recur, so that an id would stand twice",
    ("recall", "cwe"): "all of its words are counted",
    ("recall", "fwe"): "all of its words are counted",
    ("recall", "json_kv"): "its text is a JSON object, which ids would break",
    ("recall", "niah_s1"): "its filler recurs, so that an id would stand twice",
    ("rerank", ""): "its answer is a list of labels already",
}
"""Tasks whose units take no ids, and why; an empty subtask stands for the family."""


def check_form(cell: Stratum, form: str) -> None:
    """Check that evidence can be asked for in a stratum.

    Raises:
        RecipeError: in one line that names the task and the reason.
    """
    why = NO_MARKS.get((cell.family, cell.subtask)) or NO_MARKS.get((cell.family, ""))
    if cell.knob("haystack", "") == "noise":
        why = NO_MARKS["recall", "niah_s1"]
    if form and why:
        raise RecipeError(f"{cell.family}.{cell.subtask} does not ask for evidence ({why}): leave out ids and quotes")


class Ids:
    """The ids of an epoch, by their places in one permutation."""

    def __init__(self, root: str) -> None:
        self._order = Permutation(stream(root, "ids"), IDS)

    def run(self, start: int, count: int) -> list[str]:
        """Return `count` ids from a place on."""
        return list(map(_spelled, self._order.run(start, start + count).tolist()))


def _spelled(number: int) -> str:
    found = ""
    for _ in range(LENGTH):
        number, letter = divmod(number, len(LETTERS))
        found += LETTERS[letter]
    return found


def marked_units(units: Iterable[Unit], ids: Iterator[str]) -> Iterable[Unit]:
    """Yield units with an id before each of their pieces."""
    if isinstance(units, Plain):
        return Plain(f"[{name}] {text}" for text, name in zip(units.texts, ids, strict=False))
    return (replace(unit, pieces=tuple(_marked(piece, next(ids)) for piece in unit.pieces)) for unit in units)


def _marked(piece: Piece, name: str) -> Piece:
    return replace(piece, text=f"[{name}] {piece.text}")


def asking(layout: Layout, form: str, ids: Iterator[str]) -> Layout:
    """Return a layout that asks for evidence: its last words in another form and, for ids, its placed units marked."""
    last = layout.tail[-1]
    asked = replace(last, text=f"{CUE.sub('', last.text)}\n\n{ASKS[form]}")
    layout = replace(layout, tail=(*layout.tail[:-1], asked))
    if form != "ids":
        return layout
    placed = [
        replace(item, unit=replace(item.unit, pieces=tuple(_marked(piece, next(ids)) for piece in item.unit.pieces)))
        for item in layout.placed
    ]
    return replace(layout, placed=tuple(placed))


def pieces_of(layout: Layout) -> int:
    """Return how many ids the placed units of a layout take."""
    return sum(len(item.unit.pieces) for item in layout.placed)


def evidence_of(row: Row, form: str) -> list[str]:
    """Return what a reply should give as evidence: ids, or where the relevant passages stand, as ``start-end``."""
    relevant = [needle for needle in row["needles"] if needle["role"] == "relevant"]
    if form != "ids":
        return [_place(row["prompt"], needle["char_start"], needle["char_end"]) for needle in relevant]
    found = (MARK.match(row["prompt"], needle["char_start"]) for needle in relevant)
    return [mark[1] for mark in found if mark]


def _place(prompt: str, start: int, end: int) -> str:
    """Return where a passage stands, without the end of its line."""
    return f"{start}-{start + len(prompt[start:end].rstrip())}"


def bare(row: Row, layout: Layout, form: str) -> Row:
    """Return a row without its evidence, as the task itself writes it; `layout` is that of the task.

    Ids are found by their pattern in the published text, whatever was meant to stand there.
    """
    body, tail = row["prompt"][: row["question_start"]], "".join(piece.text for piece in layout.tail)
    marks = list(MARK.finditer(body)) if form == "ids" else []
    starts, taken = [mark.end() for mark in marks], [0, *accumulate(len(mark[0]) for mark in marks)]

    def moved(place: int) -> int:
        """Return where a character stands without the ids before it; one at the start of an id, that of its text."""
        return place - taken[bisect_left(starts, place + 1)]

    needles = [
        {**needle, "char_start": moved(needle["char_start"]), "char_end": moved(needle["char_end"])}
        for needle in row["needles"]
    ]
    prompt = (MARK.sub("", body) if form == "ids" else body) + tail
    metadata: dict[str, Any] = {**json.loads(row["metadata"]), "prompt_sha256": sha256_text(prompt)}
    start = moved(row["question_start"])
    return {**row, "prompt": prompt, "needles": needles, "question_start": start, "metadata": plain_json(metadata)}


def evidence_faults(row: Row, form: str) -> Iterator[str]:
    """Yield what is wrong with the ids of a row: each stands once, and the evidence is that of its relevant needles."""
    if form and not row["prompt"].endswith(ASKS[form]):
        yield "it does not ask for its evidence"
    if row["evidence"] != evidence_of(row, form):
        yield f"its evidence is {row['evidence']}, not what its relevant needles are"
    if form == "ids":
        ids = [mark[1] for mark in MARK.finditer(row["prompt"], 0, row["question_start"])]
        if len({*ids}) < len(ids):
            yield "an id stands twice in it"
        if len(row["evidence"]) < sum(needle["role"] == "relevant" for needle in row["needles"]):
            yield "a relevant needle has no id"
