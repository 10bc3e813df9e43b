"""What the tasks of the family share: their defaults, and the frame of their prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Digest, Piece, Placed, Task
from pipeline.tasks.bio.haystack import KNOBS
from pipeline.worlds.people import people

EXAMPLES = """
Here is how questions about other people in these biographies are answered:
"""


class Biographies(Task):
    """A task about biographies. `complexity` is the number of biographies that the answer needs, unless it says so.

    Its knobs are the policy of depths, and the share of other people whose biography states what is asked.
    """

    __slots__ = ()

    family = "bio"
    most_shots: int = 2
    knobs: Mapping[str, tuple[Any, ...] | Digest] = KNOBS


def asked_people(shared: Streams, stratum: Stratum, index: int, count: int) -> list[int]:
    """Return whom a row asks about: nobody is in two rows of a stratum while there are people."""
    size = len(people(shared, stratum.tier))
    turn = index % (size // count)
    return [int(one) for one in Shuffled(shared.of("asked"), size).take((turn + 1) * count)[turn * count :]]


def tail(instruction: str, shown: Iterable[tuple[str, str]], question: str, asks: str = "Question: ") -> Piece:
    """Return the end of a prompt: instruction, demonstrations (question and reply) and question."""
    said = asks.split(":")[0].replace("Question", "Answer")
    examples = "".join(f"\n{asks}{asked}\n{said}: {reply}\n" for asked, reply in shown)
    lead = EXAMPLES if examples else ""
    return Piece(f"{instruction}{lead}{examples}\n{asks}{question}\n{said}:", "question")


def in_sequence(placed: Iterable[Placed]) -> tuple[Placed, ...]:
    """Return placed units with ranks that follow their depths: equal depths keep the order in which they are given."""
    ordered = sorted(placed, key=lambda item: item.depth)
    return tuple(replace(item, rank=rank) for rank, item in enumerate(ordered))


def flat(groups: Iterable[Sequence[int]]) -> list[int]:
    """Return the members of groups one after another."""
    return [one for group in groups for one in group]
