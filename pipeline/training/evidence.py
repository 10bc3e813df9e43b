"""Evidence: rows that ask, besides the answer, for the ids of the units that it rests on, or for quotes from them.

With ``ids``, every piece of the body, including filler, begins with an opaque id, such as ``[k7f3q] ``. All ids of an
epoch come from one permutation, so that an id reveals nothing about its piece. `bare` removes the ids by their pattern,
and the remaining row is proven as in any build.
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
"""No vowels, so that no id is a word, and no characters that are easily confused."""
LENGTH = 5
IDS = len(LETTERS) ** LENGTH
ID_MARK = re.compile(rf"(?m)^\[([{LETTERS}]{{{LENGTH}}})\] ")
CUE = re.compile(r"\n[A-Za-z ]{1,20}:\Z")
"""The last line of a question if a reply continues it, such as ``Answer:``."""
ASKS = {
    "ids": "Each part of the text above begins with an id in square brackets. Whatever form is named above, reply in "
    "this one, with the ids of all parts that the answer rests on, and of no others: "
    "<evidence>id, id</evidence><answer>the answer</answer>",
    "quotes": "Whatever form is named above, reply in this one, with all that the answer rests on copied from the text "
    "above word for word, each passage on a line of its own, and nothing else: "
    "<evidence>passages</evidence><answer>the answer</answer>",
}
"""The instructions after the question, by form of evidence."""
FORMS = ("", *ASKS)
NO_EVIDENCE = {
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
"""Tasks that cannot ask for evidence, and why; an empty subtask stands for the whole family."""


def check_form(cell: Stratum, form: str) -> None:
    """Check that evidence can be asked for in a stratum.

    Raises:
        RecipeError: if it cannot, with the reason.
    """
    why = NO_EVIDENCE.get((cell.family, cell.subtask)) or NO_EVIDENCE.get((cell.family, ""))
    if cell.knob("haystack", "") == "noise":
        why = NO_EVIDENCE["recall", "niah_s1"]
    if form and why:
        raise RecipeError(f"{cell.family}.{cell.subtask} does not ask for evidence ({why}): leave out ids and quotes")


class Ids:
    """The ids of an epoch, by place in a permutation."""

    def __init__(self, root: str) -> None:
        self._order = Permutation(stream(root, "ids"), IDS)

    def run(self, start: int, count: int) -> list[str]:
        """Return `count` ids, beginning at a place."""
        return list(map(_spelled, self._order.run(start, start + count).tolist()))


def _spelled(number: int) -> str:
    spelled = ""
    for _ in range(LENGTH):
        number, letter = divmod(number, len(LETTERS))
        spelled += LETTERS[letter]
    return spelled


def marked_units(units: Iterable[Unit], ids: Iterator[str]) -> Iterable[Unit]:
    """Yield units with an id before each of their pieces."""
    if isinstance(units, Plain):
        return Plain(f"[{name}] {text}" for text, name in zip(units.texts, ids, strict=False))
    return (replace(unit, pieces=tuple(_marked(piece, next(ids)) for piece in unit.pieces)) for unit in units)


def _marked(piece: Piece, name: str) -> Piece:
    return replace(piece, text=f"[{name}] {piece.text}")


def asking(layout: Layout, form: str, ids: Iterator[str]) -> Layout:
    """Return a layout that asks for evidence after the question and, with ``ids``, marks its placed units."""
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
    """Return how many ids the placed units of a layout need."""
    return sum(len(item.unit.pieces) for item in layout.placed)


def evidence_of(row: Row, form: str) -> list[str]:
    """Return a row's evidence: ids, or the positions of relevant passages in characters, as ``start-end``."""
    relevant = [needle for needle in row["needles"] if needle["role"] == "relevant"]
    if form != "ids":
        return [_place(row["prompt"], needle["char_start"], needle["char_end"]) for needle in relevant]
    marks = (ID_MARK.match(row["prompt"], needle["char_start"]) for needle in relevant)
    return [mark[1] for mark in marks if mark]


def _place(prompt: str, start: int, end: int) -> str:
    """Return the position of a passage, without trailing white space."""
    return f"{start}-{start + len(prompt[start:end].rstrip())}"


def bare(row: Row, layout: Layout, form: str) -> Row:
    """Return a row without its evidence, as the task itself writes it; `layout` is the task's own.

    Ids are found by their pattern in the row's text, whatever ids were assigned.
    """
    body, tail = row["prompt"][: row["question_start"]], "".join(piece.text for piece in layout.tail)
    marks = list(ID_MARK.finditer(body)) if form == "ids" else []
    starts, taken = [mark.end() for mark in marks], [0, *accumulate(len(mark[0]) for mark in marks)]

    def moved(place: int) -> int:
        """Return a character's place once ids are removed; the start of an id maps to the start of its text."""
        return place - taken[bisect_left(starts, place + 1)]

    needles = [
        {**needle, "char_start": moved(needle["char_start"]), "char_end": moved(needle["char_end"])}
        for needle in row["needles"]
    ]
    prompt = (ID_MARK.sub("", body) if form == "ids" else body) + tail
    metadata: dict[str, Any] = {**json.loads(row["metadata"]), "prompt_sha256": sha256_text(prompt)}
    start = moved(row["question_start"])
    return {**row, "prompt": prompt, "needles": needles, "question_start": start, "metadata": plain_json(metadata)}


def evidence_faults(row: Row, form: str) -> Iterator[str]:
    """Yield what is wrong with a row's evidence: it must be that of its relevant needles, and its ids unique."""
    if form and not row["prompt"].endswith(ASKS[form]):
        yield "it does not ask for its evidence"
    if row["evidence"] != evidence_of(row, form):
        yield f"its evidence is {row['evidence']}, not what its relevant needles are"
    if form == "ids":
        ids = [mark[1] for mark in ID_MARK.finditer(row["prompt"], 0, row["question_start"])]
        if len({*ids}) < len(ids):
            yield "an id stands twice in it"
        if len(row["evidence"]) < sum(needle["role"] == "relevant" for needle in row["needles"]):
            yield "a relevant needle has no id"
