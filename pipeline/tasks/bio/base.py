"""What the tasks of the family share: their defaults, and the frame of their prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Shuffled, Streams, deal
from pipeline.tasks.base import CorpusKnob, Filler, Layout, Placed, Published, Task
from pipeline.tasks.bio import haystack
from pipeline.tasks.bio.solve import Entry, mark_faults
from pipeline.worlds.people import CLAN, NAMES, ROUNDS, apart, namesakes, people

KNOB = (1, 0, 3)
NAMESAKE_KNOBS: dict[str, tuple[Any, ...]] = haystack.KNOBS | {"namesakes": KNOB}
"""The family's knobs, and the number of namesakes of each kind."""
TOKENS = 110
"""About as many tokens has a biography where it has most, on average."""
ASKING = 40
"""About as many tokens a person takes in question or demonstration."""
FRAME = 300
"""Tokens of introduction and instruction, at the most."""
REST = 4
"""So many biographies at least are other people's."""
THRICE = 4096
"""The length from which every part of an asked name stands three times."""


def room(stratum: Stratum, people: int, reply: int) -> int:
    """Return how many biographies of namesakes a text has room for beside those of `people` who are needed in it.

    `reply` is the number of tokens kept for the reply.
    """
    free = stratum.length - reply - FRAME - people * (TOKENS + ASKING)
    return max(0, free // TOKENS - REST)


def promised(stratum: Stratum, asked: int, shots: int, reply: int) -> int:
    """Return how many namesakes of each of `asked` people stand in the texts of a stratum, of all kinds together."""
    wanted = len(NAMES) * int(stratum.knob("namesakes", KNOB[0]))
    return min(wanted, room(stratum, asked * (1 + shots), reply) // asked)


def near(people: Iterable[int]) -> set[int]:
    """Return all namesakes of some people: those who are not placed may not be in the text."""
    return {one for person in people for kind in namesakes(person) for one in kind}


def drawn(row_streams: Streams, people: Sequence[int], count: int) -> list[list[int]]:
    """Draw `count` namesakes for each of some people: kinds by turns, in random order, and of each kind anybody."""
    return [_drawn(row_streams, person, place, count) for place, person in enumerate(people)]


def _drawn(row_streams: Streams, person: int, place: int, count: int) -> list[int]:
    rng, kinds = row_streams.of("namesakes", place), namesakes(person)
    orders = [rng.sample(kind, len(kind)) for kind in kinds]
    turns = [rng.sample(orders, len(orders)) for _ in orders[0]]
    return [kind[turn] for turn, mixed in enumerate(turns) for kind in mixed][:count]


def alike(entries: Sequence[Entry], name: str) -> list[tuple[int, Entry]]:
    """Return the biographies of a person's namesakes, each with the number of the name that is another."""
    parts, found = name.split(" "), []
    first, last = f"{parts[0]} ", f" {parts[-1]}"
    for entry in [one for one in entries if one.name.startswith(first) or one.name.endswith(last)]:
        same = [one == other for one, other in zip(parts, entry.name.split(" "), strict=True)]
        if sum(same) == len(parts) - 1:
            found.append((same.index(False), entry))
    return found


def faults(row: Published, entries: Sequence[Entry], asked: Mapping[str, str], count: int) -> Iterator[str]:
    """Hold the asked (each with what is asked of them) to `count` namesakes, who are marked and state other values."""
    marked: list[Entry] = []
    times = Counter(" ".join(entry.name for entry in entries).split(" "))
    for name, attribute in asked.items():
        found = alike(entries, name)
        marked += [entry for _, entry in found]
        yield from kind_faults(name, [kind for kind, _ in found], count)
        yield from _value_faults(name, attribute, entries, [entry for _, entry in found])
        least = min(times[part] for part in name.split(" "))
        if row.stratum.length >= THRICE and count >= len(NAMES) and least < len(NAMES):
            yield f"a part of {name} stands {least} times"
    yield from mark_faults(row, "decoy", marked, "namesakes")


def kind_faults(name: str, kinds: Sequence[int], count: int) -> Iterator[str]:
    """Hold somebody's namesakes to their number, and to be of each kind equally often, within one."""
    times = [kinds.count(kind) for kind in range(len(NAMES))]
    if sum(times) != count or max(times) - min(times) > 1:
        yield f"{name} has {times} namesakes by kind, {count} were promised"


def _value_faults(name: str, attribute: str, entries: Sequence[Entry], found: Sequence[Entry]) -> Iterator[str]:
    own = {entry.stated.get(attribute, "") for entry in entries if entry.name == name}
    if any(entry.stated.get(attribute) is None or entry.stated[attribute] in own for entry in found):
        yield f"a namesake of {name} states no {attribute} of their own"


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
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = NAMESAKE_KNOBS

    def namesakes_of(self, stratum: Stratum) -> int:
        """Return how many namesakes each asked person has."""
        asked = max(1, stratum.complexity)
        return promised(stratum, asked, self.shots_of(stratum), self.max_new_tokens)

    def decoys_of(self, stratum: Stratum) -> int:
        """Return how many biographies of decoys stand in a text: here those of namesakes."""
        return max(1, stratum.complexity) * self.namesakes_of(stratum)


Kind = TypeVar("Kind")


def dealt_kinds(stratum_streams: Streams, index: int, kinds: Sequence[Kind], *thing: str | int) -> Kind:
    """Return which of several kinds of a thing row `index` gets: they are dealt in rounds, each in random order.

    No row's kind depends on the number of rows, so that a subtask among essays gets what the plain one gets.
    """
    return kinds[deal(stratum_streams.of(*thing), 1, index, len(kinds))]


def kind_of(value: Kind, kinds: Sequence[Kind]) -> tuple[int, int]:
    """Return the number of a kind that was dealt, and how many there are."""
    return kinds.index(value), len(kinds)


def asked_people(stratum_streams: Streams, stratum: Stratum, index: int, count: int) -> list[int]:
    """Return whom a row asks about: nobody is in two rows of a stratum while there are people.

    All people of the world are drawn alike; several who are asked about together share no namesake.
    """
    size = len(people(stratum_streams, stratum.tier))
    if count == 1:
        turn, place = divmod(index, size)
        return [Permutation(stratum_streams.of("asked", turn), size)[place]]
    everybody = around_asked(stratum_streams, stratum, index // (size // ROUNDS // count))
    start = index % (len(everybody) // count) * count
    return everybody[start : start + count]


def around_asked(stratum_streams: Streams, stratum: Stratum, turn: int) -> list[int]:
    """Return people who may be asked about together, in random order: in `ROUNDS` turns everybody."""
    return _round(stratum_streams, turn, len(people(stratum_streams, stratum.tier)))


@lru_cache(maxsize=256)
def _round(stratum_streams: Streams, turn: int, size: int) -> list[int]:
    which = Permutation(stratum_streams.of("rounds", turn // ROUNDS), ROUNDS)[turn % ROUNDS]
    found = apart(which, size // CLAN)
    return [int(one) for one in found[Shuffled(stratum_streams.of("asked", turn), len(found)).take(len(found))]]


def shown_people(row_streams: Streams, tier: str, asked: Iterable[int], count: int) -> list[int]:
    """Draw people for demonstrations: none of the asked, and none of their namesakes."""
    asked = set(asked)
    out = frozenset(asked | near(asked))
    return [int(one) for one in Shuffled(row_streams.of("shown"), len(people(row_streams, tier)), out).take(count)]


def scattered(row_streams: Streams, texts: Iterable[str]) -> list[Placed]:
    """Place the biographies of namesakes anywhere."""
    places = row_streams.of("namesakes depth")
    return [Placed.line(said, "decoy", places.random()) for said in texts]


def framed(
    introduction: str,
    placed: Iterable[Placed],
    filler: Filler,
    instruction: str,
    shown: Iterable[tuple[str, str]],
    question: str,
    asks: str = "Question: ",
) -> Layout:
    """Return a layout that ends in the instruction, demonstrations (question and reply), if any, and the question."""
    said = asks.split(":")[0].replace("Question", "Answer")
    examples = "".join(f"\n{asks}{asked}\n{said}: {reply}\n" for asked, reply in shown)
    lead = EXAMPLES if examples else ""
    return Layout.haystack(introduction, placed, filler, f"{instruction}{lead}{examples}\n{asks}{question}\n{said}:")


def in_sequence(placed: Iterable[Placed]) -> tuple[Placed, ...]:
    """Return placed units with ranks that follow their depths: equal depths keep the order in which they are given."""
    ordered = sorted(placed, key=lambda item: item.depth)
    return tuple(replace(item, rank=rank) for rank, item in enumerate(ordered))


def flat(groups: Iterable[Sequence[int]]) -> list[int]:
    """Return the members of groups one after another."""
    return [one for group in groups for one in group]
