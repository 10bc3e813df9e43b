"""What the tasks of the family share: their defaults, and the frame of their prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Shuffled, Streams, deal
from pipeline.tasks.base import Digest, Piece, Placed, Task, unit
from pipeline.tasks.bio import namesakes
from pipeline.tasks.bio.namesakes import KNOBS
from pipeline.worlds.people import CLAN, ROUNDS, apart, people

EXAMPLES = """
Here is how questions about other people in these biographies are answered:
"""


class Biographies(Task):
    """A task about biographies. `complexity` is the number of biographies that the answer needs, unless it says so.

    Its knobs are the policy of depths, the share of other people whose biography states what is asked, and the number
    of namesakes of each kind that the asked have.
    """

    __slots__ = ()

    family = "bio"
    version: int = 2
    most_shots: int = 2
    knobs: Mapping[str, tuple[Any, ...] | Digest] = KNOBS

    def namesakes_of(self, stratum: Stratum) -> int:
        """Return how many namesakes everybody has who is asked about."""
        asked = max(1, stratum.complexity)
        return namesakes.promised(stratum, asked, self.shots_of(stratum), self.max_new_tokens)

    def decoys_of(self, stratum: Stratum) -> int:
        """Return how many biographies of decoys stand in a text: here those of namesakes."""
        return max(1, stratum.complexity) * self.namesakes_of(stratum)


Kind = TypeVar("Kind")


def dealt(shared: Streams, index: int, kinds: Sequence[Kind], *thing: str | int) -> Kind:
    """Return which of several kinds of a thing row `index` gets: they are dealt in rounds, each in random order.

    No row's kind depends on the number of rows, so that a subtask among essays gets what the plain one gets.
    """
    return kinds[deal(shared.of(*thing), 1, index, len(kinds))]


def kind_of(value: Kind, kinds: Sequence[Kind]) -> tuple[int, int]:
    """Return the number of a kind that was dealt, and how many there are."""
    return kinds.index(value), len(kinds)


def asked_people(shared: Streams, stratum: Stratum, index: int, count: int) -> list[int]:
    """Return whom a row asks about: nobody is in two rows of a stratum while there are people.

    All people of the world are drawn alike; several who are asked about together share no namesake.
    """
    size = len(people(shared, stratum.tier))
    if count == 1:
        turn, place = divmod(index, size)
        return [Permutation(shared.of("asked", turn), size)[place]]
    everybody = asked_round(shared, stratum, index // (size // ROUNDS // count))
    start = index % (len(everybody) // count) * count
    return everybody[start : start + count]


def asked_round(shared: Streams, stratum: Stratum, turn: int) -> list[int]:
    """Return people who may be asked about together, in random order: in `ROUNDS` turns everybody."""
    return _round(shared, turn, len(people(shared, stratum.tier)))


@lru_cache(maxsize=256)
def _round(shared: Streams, turn: int, size: int) -> list[int]:
    which = Permutation(shared.of("rounds", turn // ROUNDS), ROUNDS)[turn % ROUNDS]
    found = apart(which, size // CLAN)
    return [int(one) for one in found[Shuffled(shared.of("asked", turn), len(found)).take(len(found))]]


def shown_people(own: Streams, tier: str, asked: Iterable[int], count: int) -> list[int]:
    """Draw people for demonstrations: none of the asked, and none of their namesakes."""
    asked = set(asked)
    out = frozenset(asked | namesakes.near(asked))
    return [int(one) for one in Shuffled(own.of("shown"), len(people(own, tier)), out).take(count)]


def scattered(own: Streams, texts: Iterable[str]) -> list[Placed]:
    """Place the biographies of namesakes anywhere."""
    places = own.of("namesakes depth")
    return [Placed(unit(said, "decoy"), places.random()) for said in texts]


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
