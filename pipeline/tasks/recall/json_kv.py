"""json_kv: look one key up in a JSON object of random pairs (HELMET, sections 2.1 and B.5; Liu et al. 2023)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from random import Random
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks import grid
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, PublishedRow, Sample, Task, unit
from pipeline.tasks.recall import base
from pipeline.tasks.solving import PROMPT, ReadError, whole_lines
from pipeline.worlds.needles import draw_uuid, stem_of

KNOBS = {"asks": ("value", "key"), "stem": (8, 0, 24), **grid.DEPTH, **grid.CROSSED}
NEAR = 16
"""How many other keys (or values) begin with the same digits as the asked one, unless the knob ``stem`` is 0."""
FIRST = 8
"""Digits of a UUID before its first hyphen."""
INTRODUCTION = """\
Below is a JSON object that holds many pairs of a key and a value. You will be asked for the {wanted} that belongs to \
one {shown}.
"""
EXAMPLE = "Example: the {wanted} that belongs to the {shown} {one} is {other}.\n"
START, END = "JSON object:\n{\n", "}\n"
TAIL = "Reply with the {wanted} alone.\n\nQuestion: {question}\nAnswer:"
QUESTION = "Which {wanted} belongs to the {shown} {one}?"

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
BODY = re.compile(r"^JSON object:\n(\{\n.*?^\}\n)", re.MULTILINE | re.DOTALL)
ASKED = re.compile(rf"^Question: Which (?:value|key) belongs to the (key|value) ({UUID})\?$", re.MULTILINE)
SHOWN = re.compile(
    rf"^Example: the (?:value|key) that belongs to the (?:key|value) ({UUID}) is ({UUID})\.\n", re.MULTILINE
)
ROLES = ("relevant", "decoy", "anchor")

SIDES = ("key", "value")
Pair = tuple[str, str]


class JsonKV(Task):
    """The value of a key of a JSON object is asked for, or the key of a value."""

    family = "recall"
    subtask = "json_kv"
    title = "the value of one key of a JSON object of random pairs"
    scorer = "exact"
    max_new_tokens = 100
    shots = 2
    most_shots = 5
    knobs = KNOBS

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (base.spec("pairs", stratum.tier),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw the asked pair, pairs that resemble it, those of the examples and the last one."""
        row_streams = grid.shared_by_six(stratum, index, row_streams, stratum_streams)
        rng, side = row_streams.of("pairs"), _side(stratum)
        asked = _draw(rng)
        latent = {
            "depth": grid.depth(stratum, index, stratum_streams),
            "near": [list(pair) for pair in _near_pairs(stratum, asked[side], row_streams.of("near"))],
            "examples": [list(_draw(rng)) for _ in range(self.shots_of(stratum))],
            "last": list(_draw(rng)),
        }
        asking = self._question(side, asked[side])
        return Sample("", stratum, index, latent, (_line(asked),), asking, Key.accepting(asked[1 - side]))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the asked pair at its depth, and those that resemble it or are shown as examples anywhere."""
        row_streams = grid.shared_by_six(sample.stratum, sample.index, row_streams, stratum_streams)
        latent, rng, side = sample.latent, row_streams.of("depths"), _side(sample.stratum)
        placed = [Placed.line(sample.relevant[0], "relevant", latent["depth"])]
        placed += [Placed.line(_line(pair), "decoy", rng.random()) for pair in latent["near"]]
        placed += [Placed.line(_line(pair), "anchor", rng.random()) for pair in latent["examples"]]
        last = _line(latent["last"]).replace(",", "") + END
        return Layout(
            head=tuple(self._head(side, latent["examples"])),
            placed=(*placed, Placed(unit(last), 1.0, rank=1)),
            filler=base.filler("pairs", sample.stratum.tier, row_streams),
            tail=(Piece(self._tail(side, sample.question), "question"),),
        )

    def _question(self, side: int, shown: str) -> str:
        return QUESTION.format(**_names(side), one=shown)

    def _head(self, side: int, examples: Sequence[Sequence[str]]) -> Iterator[Piece]:
        """Yield what precedes the pairs."""
        yield Piece(INTRODUCTION.format(**_names(side)), "instruction")
        for pair in examples:
            yield Piece(EXAMPLE.format(**_names(side), one=pair[side], other=pair[1 - side]), "demo")
        yield Piece(START, "instruction")

    def _tail(self, side: int, question: str) -> str:
        """Return what follows them."""
        return TAIL.format(**_names(side), question=question)

    def answers(self, text: str) -> tuple[str, ...]:
        return (answer(read(text), *question(text)),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        shown = {match.groups() for match in whole_lines(SHOWN, "Example: ", row.text)}
        return faults(row, read(row.text), question(row.text), shown)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, of one among the pairs that begin alike, and of the first line."""
        alike = len(sample.latent["near"])
        first = grid.first_line(sample.latent["depth"])
        return {"uniform": 0.0, "any_near": 1 / (1 + alike) if alike else 0.0, "first_line": first}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        return grid.dealt(sample.latent["depth"], sample.stratum)


def _side(stratum: Stratum) -> int:
    """Return the side of a pair that the question shows: 0 for the key, 1 for the value."""
    return int(stratum.knob("asks", KNOBS["asks"][0]) == "key")


def _names(side: int) -> dict[str, str]:
    return {"shown": SIDES[side], "wanted": SIDES[1 - side]}


def _digits(stratum: Stratum) -> int:
    return int(stratum.knob("stem", KNOBS["stem"][0]))


def _draw(rng: Random) -> Pair:
    return draw_uuid(rng), draw_uuid(rng)


def _near_pairs(stratum: Stratum, shown: str, rng: Random) -> Iterator[Pair]:
    """Yield pairs that begin like the asked one on the side that the question shows."""
    digits = _digits(stratum)
    for _ in range(NEAR if digits else 0):
        pair = draw_uuid(rng, stem_of(shown, digits)), draw_uuid(rng)
        yield (pair[1], pair[0]) if _side(stratum) else pair


def _line(pair: Sequence[str]) -> str:
    return base.PAIR.format(key=pair[0], value=pair[1])


@PROMPT.cached
def read(text: str) -> Sequence[Pair]:
    """Return the pairs of the object in a prompt, in order, with duplicates."""
    body = next(whole_lines(BODY, "JSON object:\n", text), None)
    if not body:
        raise ReadError("the prompt holds no JSON object")
    pairs: list[Pair] = json.loads(body[1], object_pairs_hook=list)
    return pairs


def question(text: str) -> tuple[int, str]:
    """Return the side that is asked about (0 for a key, 1 for a value), and the key or value."""
    asked = [match.groups() for match in whole_lines(ASKED, "Question: ", text)]
    if len(asked) != 1:
        raise ReadError(f"{len(asked)} questions are asked")
    return SIDES.index(asked[0][0]), asked[0][1]


def answer(pairs: Sequence[Pair], side: int, sought: str) -> str:
    """Return what belongs to a key (side 0) or to a value (side 1).

    Raises:
        ReadError: if not exactly one pair has it.
    """
    answers = [pair[1 - side] for pair in pairs if pair[side] == sought]
    if len(answers) != 1:
        raise ReadError(f"{len(answers)} pairs hold {sought}")
    return answers[0]


def faults(
    row: PublishedRow, pairs: Sequence[Pair], asked: tuple[int, str], examples: AbstractSet[tuple[str | Any, ...]]
) -> Iterator[str]:
    """Yield what is wrong with a row, given its pairs, its question and its examples as read."""
    (side, sought), digits = asked, _digits(row.stratum)
    if len({*chain.from_iterable(pairs)}) != 2 * len(pairs):
        yield "two keys or values are the same"
    marked = {role: {*row.marked(role)} for role in ROLES}
    if marked["relevant"] != {_line(pair) for pair in pairs if pair[side] == sought}:
        yield "the marked pair is not the asked one"
    first = [pair for pair in pairs if pair[side].startswith(sought[: min(digits, FIRST)]) and pair[side] != sought]
    alike = [pair for pair in first if stem_of(pair[side], digits) == stem_of(sought, digits)]
    if digits and (len(alike) < NEAR or not marked["decoy"] <= {*map(_line, alike)}):
        yield f"{len(alike)} pairs begin as the asked one does, but {NEAR} are promised"
    anchors = marked["anchor"]
    shown = {(pair[side], pair[1 - side]) for pair in pairs if f'"{pair[0]}": "{pair[1]}",\n' in anchors}
    if shown != examples:
        yield "the examples are not marked pairs of the object"
