"""What the tasks of the family share: their defaults, and the frame of their prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Shuffled, Streams, deal
from pipeline.tasks.base import CorpusKnob, Filler, Layout, Placed, PublishedRow, Task
from pipeline.tasks.bio import haystack
from pipeline.tasks.bio.solve import Entry, mark_faults
from pipeline.worlds.people import CLAN, NAMES, ROUNDS, apart, namesakes, people

NAMESAKE_COUNTS = (1, 0, 3)
NAMESAKE_KNOBS: dict[str, tuple[Any, ...]] = haystack.KNOBS | {"namesakes": NAMESAKE_COUNTS}
"""The family's knobs, and the number of namesakes of each kind."""
TOKENS_PER_BIOGRAPHY = 110
"""About the mean number of tokens in a biography, in the profile where it is highest."""
TOKENS_PER_PERSON_ASKED = 40
"""About the number of tokens that a person takes in a question or demonstration."""
FRAME_TOKENS = 300
"""The most tokens of an introduction and instruction."""
FEWEST_OTHERS = 4
"""The fewest biographies that are neither asked about nor of namesakes."""
LENGTH_WITH_SHARED_NAMES = 4096
"""The length from which every part of an asked name occurs at least three times."""


def room(stratum: Stratum, people: int, reply: int) -> int:
    """Return how many biographies of namesakes fit beside those of `people` needed and `reply` tokens for the reply."""
    free = stratum.length - reply - FRAME_TOKENS - people * (TOKENS_PER_BIOGRAPHY + TOKENS_PER_PERSON_ASKED)
    return max(0, free // TOKENS_PER_BIOGRAPHY - FEWEST_OTHERS)


def promised(stratum: Stratum, asked: int, shots: int, reply: int) -> int:
    """Return the number of namesakes, of all kinds together, of each of `asked` people in a stratum's texts."""
    wanted = len(NAMES) * int(stratum.knob("namesakes", NAMESAKE_COUNTS[0]))
    return min(wanted, room(stratum, asked * (1 + shots), reply) // asked)


def near(people: Iterable[int]) -> set[int]:
    """Return all namesakes of some people; those who are not placed may not be in the text."""
    return {one for person in people for kind in namesakes(person) for one in kind}


def drawn(row_streams: Streams, people: Sequence[int], count: int) -> list[list[int]]:
    """Draw `count` namesakes for each of some people, at random from all kinds in turn."""
    return [_drawn(row_streams, person, place, count) for place, person in enumerate(people)]


def _drawn(row_streams: Streams, person: int, place: int, count: int) -> list[int]:
    rng, kinds = row_streams.of("namesakes", place), namesakes(person)
    orders = [rng.sample(kind, len(kind)) for kind in kinds]
    turns = [rng.sample(orders, len(orders)) for _ in orders[0]]
    return [kind[turn] for turn, mixed in enumerate(turns) for kind in mixed][:count]


def alike(entries: Sequence[Entry], name: str) -> list[tuple[int, Entry]]:
    """Return the biographies of a person's namesakes, each with the index of the name that differs."""
    parts, found = name.split(" "), []
    first, last = f"{parts[0]} ", f" {parts[-1]}"
    for entry in [one for one in entries if one.name.startswith(first) or one.name.endswith(last)]:
        same = [one == other for one, other in zip(parts, entry.name.split(" "), strict=True)]
        if sum(same) == len(parts) - 1:
            found.append((same.index(False), entry))
    return found


def faults(row: PublishedRow, entries: Sequence[Entry], asked: Mapping[str, str], count: int) -> Iterator[str]:
    """Check that each of the `asked` (name to attribute) has `count` namesakes, marked, who state other values."""
    marked: list[Entry] = []
    times = Counter(" ".join(entry.name for entry in entries).split(" "))
    for name, attribute in asked.items():
        found = alike(entries, name)
        marked += [entry for _, entry in found]
        yield from kind_faults(name, [kind for kind, _ in found], count)
        yield from _value_faults(name, attribute, entries, [entry for _, entry in found])
        least = min(times[part] for part in name.split(" "))
        if row.stratum.length >= LENGTH_WITH_SHARED_NAMES and count >= len(NAMES) and least < len(NAMES):
            yield f"a part of {name} stands {least} times"
    yield from mark_faults(row, "decoy", marked, "namesakes")


def kind_faults(name: str, kinds: Sequence[int], count: int) -> Iterator[str]:
    """Check the number of a person's namesakes, and that kinds are equally frequent to within one."""
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
    """A task about biographies. `complexity` is by default the number of biographies that the answer needs.

    Its knobs are the policy of depths, the share of other people whose biographies state the asked attribute, and the
    number of namesakes of each kind that each asked person has.
    """

    __slots__ = ()

    family = "bio"
    version: int = 3
    most_shots: int = 2
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = NAMESAKE_KNOBS

    def namesakes_of(self, stratum: Stratum) -> int:
        """Return how many namesakes each asked person has."""
        asked = max(1, stratum.complexity)
        return promised(stratum, asked, self.shots_of(stratum), self.max_new_tokens)

    def decoys_of(self, stratum: Stratum) -> int:
        """Return the number of decoy biographies in a text: here those of namesakes."""
        return max(1, stratum.complexity) * self.namesakes_of(stratum)


Kind = TypeVar("Kind")


def dealt_kinds(stratum_streams: Streams, index: int, kinds: Sequence[Kind], *thing: str | int) -> Kind:
    """Return the kind of a thing that row `index` is dealt; kinds are dealt in rounds, each in random order.

    A row's kind does not depend on the number of rows, so that a subtask among essays gets the same as the plain one.
    """
    return kinds[deal(stratum_streams.of(*thing), 1, index, len(kinds))]


def kind_of(value: Kind, kinds: Sequence[Kind]) -> tuple[int, int]:
    """Return the index of a dealt kind, and the number of kinds."""
    return kinds.index(value), len(kinds)


def asked_people(stratum_streams: Streams, stratum: Stratum, index: int, count: int) -> list[int]:
    """Return whom a row asks about; a stratum asks about nobody twice until it has asked about everybody.

    All people of the world are equally likely. People who are asked about together share no namesakes.
    """
    size = len(people(stratum_streams, stratum.tier))
    if count == 1:
        turn, place = divmod(index, size)
        return [Permutation(stratum_streams.of("asked", turn), size)[place]]
    everybody = around_asked(stratum_streams, stratum, index // (size // ROUNDS // count))
    start = index % (len(everybody) // count) * count
    return everybody[start : start + count]


def around_asked(stratum_streams: Streams, stratum: Stratum, turn: int) -> list[int]:
    """Return people who may be asked about together, in random order; `ROUNDS` turns cover everybody."""
    return _round(stratum_streams, turn, len(people(stratum_streams, stratum.tier)))


@lru_cache(maxsize=256)
def _round(stratum_streams: Streams, turn: int, size: int) -> list[int]:
    which = Permutation(stratum_streams.of("rounds", turn // ROUNDS), ROUNDS)[turn % ROUNDS]
    found = apart(which, size // CLAN)
    return [int(one) for one in found[Shuffled(stratum_streams.of("asked", turn), len(found)).take(len(found))]]


def shown_people(row_streams: Streams, tier: str, asked: Iterable[int], count: int) -> list[int]:
    """Draw people for demonstrations, other than the asked and their namesakes."""
    asked = set(asked)
    out = frozenset(asked | near(asked))
    return [int(one) for one in Shuffled(row_streams.of("shown"), len(people(row_streams, tier)), out).take(count)]


def scattered(row_streams: Streams, texts: Iterable[str]) -> list[Placed]:
    """Place the biographies of namesakes at random."""
    places = row_streams.of("namesakes depth")
    return [Placed.line(line, "decoy", places.random()) for line in texts]


def framed(
    introduction: str,
    placed: Iterable[Placed],
    filler: Filler,
    instruction: str,
    shown: Iterable[tuple[str, str]],
    question: str,
    asks: str = "Question: ",
) -> Layout:
    """Return a layout that ends in the instruction, any demonstrations (question and reply), and the question."""
    answer = asks.split(":")[0].replace("Question", "Answer")
    examples = "".join(f"\n{asks}{asked}\n{answer}: {reply}\n" for asked, reply in shown)
    lead = EXAMPLES if examples else ""
    return Layout.haystack(introduction, placed, filler, f"{instruction}{lead}{examples}\n{asks}{question}\n{answer}:")


def in_sequence(placed: Iterable[Placed]) -> tuple[Placed, ...]:
    """Return placed units with ranks in the order of their depths; equal depths keep the given order."""
    ordered = sorted(placed, key=lambda item: item.depth)
    return tuple(replace(item, rank=rank) for rank, item in enumerate(ordered))


def flat(groups: Iterable[Sequence[int]]) -> list[int]:
    """Return the members of all groups."""
    return [one for group in groups for one in group]
