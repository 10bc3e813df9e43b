"""What the tasks about ages share: biographies that state an age, their pool, and the frame of a prompt.

The age replaces the birthdate; the other five sentences are those of the standard setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.caches import cache, lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams
from pipeline.tasks.base import Filler, Layout, Placed, PoolSpec, PublishedRow, Role, Sample, Unit, unit
from pipeline.tasks.bio import base
from pipeline.tasks.bio.base import Biographies, around_asked, flat, in_sequence, shown_people
from pipeline.tasks.bio.haystack import density, depths, others, pool_name
from pipeline.tasks.bio.solve import (
    AGE,
    ATTRIBUTES,
    NAME,
    Entry,
    Question,
    mark_faults,
    only,
    parse_question,
    people_faults,
    question_faults,
    share_faults,
    whole_faults,
)
from pipeline.tasks.bio.text import SENTENCES, fillable
from pipeline.tasks.solving import ReadError
from pipeline.worlds.people import AGES, WORLD, Person, ages, people, source_digest

POOL = "people-ages"
"""The pool contains everybody with their age, then, if it is sparse, everybody without one."""

REPLACED = "birthdate"
AGED = "{name} is {age} years old."

INTRODUCTION = """\
Below are short biographies of many people, one paragraph for each person. No two people have the same full name. \
Read all of them carefully. At the end you will be asked about the ages of some of these people.

Biographies:
"""

END = "This is the end of the biographies. Use them to answer the question below. "

Cast = Sequence[Sequence[int]]
"""People and their ages in a text."""


def biography(person: Person, age: int | None) -> str:
    """Return the paragraph of a person, with an age unless it is None."""
    return _paragraph(aged=age is not None).format(person, name=person.name, age=age)


@cache
def _paragraph(*, aged: bool) -> str:
    """Return the paragraph as a template."""
    rest = (fillable(kind, sentence) for kind, sentence in SENTENCES.items() if kind != REPLACED)
    return " ".join([*([AGED] if aged else []), *rest]) + "\n"


def make_ages(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Render everybody of a tier with their age, then, in a sparse pool, without one."""
    return aged(streams, spec, [ages(streams, spec.tier)])


def aged(streams: Streams, spec: PoolSpec, forms: Iterable[Indices]) -> Iterator[Unit]:
    """Render everybody of a tier with each of some `forms` of their ages, then, in a sparse pool, without one."""
    everybody = people(streams, spec.tier)
    for known in forms:
        for person, age in zip(everybody, known.tolist(), strict=True):
            yield unit(biography(person, age), facts=(f"age({person.name}) = {age}",))
    if spec.name.endswith(f"-sparse-{spec.tier}"):
        yield from (unit(biography(person, None)) for person in everybody)


def group(stratum: Stratum, index: int, stratum_streams: Streams) -> list[list[int]]:
    """Return people of different ages to ask about, with their ages; nobody is in two rows of a stratum.

    A round of people makes two groups fewer than it could, as some people of one age may be left over.
    """
    size = stratum.complexity
    turn, place = divmod(index, len(around_asked(stratum_streams, stratum, 0)) // size - 2)
    return with_ages(stratum_streams, stratum.tier, _groups(stratum_streams, stratum, turn, size)[place])


@lru_cache(maxsize=64)
def _groups(stratum_streams: Streams, stratum: Stratum, turn: int, size: int) -> list[list[int]]:
    return list(apart(around_asked(stratum_streams, stratum, turn), ages(stratum_streams, stratum.tier), size))


def apart(order: Iterable[int], known: Indices, size: int) -> Iterator[list[int]]:
    """Yield groups of `size` people of different ages, in the given order; people who do not fit wait for the next.

    Each group is distributed like any draw of people of different ages, as nobody is left out for their age.
    """
    waiting: list[int] = []
    chosen: list[int] = []
    for person in order:
        waiting.append(person)
        for one in list(waiting):
            if len(chosen) < size and all(known[one] != known[other] for other in chosen):
                chosen.append(one)
                waiting.remove(one)
        if len(chosen) == size:
            yield chosen
            chosen = []


@dataclass(frozen=True, slots=True)
class Ages(Biographies):
    """A task about ages: the knob `density` is the share of people who state an age, and demonstrations reason."""

    shots = 2
    max_new_tokens = 512

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        source = f"{WORLD}:{AGES}:{source_digest()}"
        return (PoolSpec(pool_name(stratum, POOL), 1, stratum.tier, source, make_ages),)


def biographies_of(row_streams: Streams, tier: str, cast: Cast) -> tuple[str, ...]:
    """Return the biographies of a cast."""
    everybody = people(row_streams, tier)
    return tuple(biography(everybody[person], age) for person, age in cast)


def with_ages(row_streams: Streams, tier: str, group: Iterable[int]) -> list[list[int]]:
    """Return people with the ages that the world gives them."""
    known = ages(row_streams, tier)
    return [[person, int(known[person])] for person in group]


def examples(row_streams: Streams, tier: str, taken: Iterable[int], count: int, size: int) -> list[list[list[int]]]:
    """Draw the casts of demonstrations: groups of people of different ages, none of them taken."""
    if not count:
        return []
    found = apart(shown_people(row_streams, tier, taken, 8 * count * size), ages(row_streams, tier), size)
    return [with_ages(row_streams, tier, next(found)) for _ in range(count)]


def placed(
    sample: Sample, row_streams: Streams, stratum_streams: Streams, role: Role = "relevant"
) -> tuple[Placed, ...]:
    """Place a sample's people at the wanted depths, and those of demonstrations and decoys at random.

    The first biography of each demonstration is marked as one; the others count as filler.
    """
    stratum, latent, places = sample.stratum, sample.latent, row_streams.of("shown depth")
    spots = depths(stratum, sample.index, stratum_streams, len(latent["people"]))
    wanted = [(depth, role, one) for depth, one in zip(spots, latent["people"], strict=True)]
    for cast in latent["shown"]:
        wanted += [(places.random(), "filler" if number else "demo", one) for number, one in enumerate(cast)]
    wanted += [(places.random(), "decoy", one) for one in latent.get("decoys", ())]
    texts = biographies_of(row_streams, stratum.tier, [one for _, _, one in wanted])
    return in_sequence(
        Placed.line(text, said_as, depth) for text, (depth, said_as, _) in zip(texts, wanted, strict=True)
    )


def taken(latent: Mapping[str, Any]) -> set[int]:
    """Return everybody who is placed in the text."""
    casts = [latent["people"], *latent["shown"], latent.get("decoys", ())]
    return {person for cast in casts for person, _ in cast}


def namesakes_drawn(row_streams: Streams, tier: str, asked: Sequence[int], count: int) -> list[list[int]]:
    """Draw `count` namesakes of each asked person, with their ages."""
    return with_ages(row_streams, tier, flat(base.drawn(row_streams, asked, count)))


def alike(row: PublishedRow, entries: Sequence[Entry], names: Iterable[str], count: int) -> Iterator[str]:
    """Check that each asked person has `count` namesakes, with other ages."""
    return base.faults(row, entries, dict.fromkeys(names, AGE), count)


def anybody(sample: Sample, row_streams: Streams, without: Iterable[int]) -> Filler:
    """Return filler of other people with their ages."""
    stratum = sample.stratum
    return others(row_streams, stratum, POOL, len(people(row_streams, stratum.tier)), without, 0)


def framed(
    placed: tuple[Placed, ...], filler: Filler, instruction: str, shown: Iterable[tuple[str, str]], asked: str
) -> Layout:
    """Return the layout of a prompt about ages."""
    return base.framed(INTRODUCTION, placed, filler, f"{END}{instruction}\n", shown, asked)


def reasoned(reasoning: str, final: str) -> str:
    """Return the reply of a demonstration: reasoning, and the final answer on a line of its own."""
    return f"{reasoning}\nFinal answer: {final}"


Answer = Callable[[str, Sequence[Entry]], tuple[str, ...]]
"""A function that answers a question from biographies."""
STATED = re.compile(rf"({NAME}) is (\d+) years old")
"""How biographies, and replies of demonstrations, state an age."""
STATING = (AGE, *ATTRIBUTES[1:])
"""What biographies with an age state."""


def ages_of(entries: Sequence[Entry], names: Sequence[str]) -> dict[str, int]:
    """Return the ages of some people, who must each have one biography that states it."""
    known = {name: only(entries, name).stated.get(AGE) for name in names}
    if None in known.values():
        raise ReadError(f"an age is not stated: {known}")
    return {name: int(age) for name, age in known.items() if age}


def understood(pattern: re.Pattern[str], question: str) -> re.Match[str]:
    """Return the match of a question, or raise an error."""
    match = pattern.fullmatch(question)
    if not match:
        raise ReadError(f"no question: {question[:80]!r}")
    return match


def faults(
    row: PublishedRow, entries: Sequence[Entry], names: Sequence[str], answer: Answer, role: str = "relevant"
) -> Iterator[str]:
    """Yield what is wrong with a row whose answer needs the biographies of the people named."""
    *shown, _ = parse_question(row.text)
    yield from question_faults(row)
    if len(set(names)) != row.stratum.complexity:
        yield f"expected {row.stratum.complexity} biographies that the answer needs, found {len(set(names))}"
    yield from mark_faults(row, role, [entry for entry in entries if entry.name in names], "people needed")
    yield from people_faults(entries)
    yield from whole_faults(entries, STATING, AGE if density(row.stratum) < 1 else "")
    yield from _example_faults(row, entries, shown, names, answer)
    decoys = set(row.spans("decoy"))
    apart = {*names, *(name for example in shown for name, _ in STATED.findall(example.reasoning))}
    rest = (entry for entry in entries if entry.name not in apart and (entry.start, entry.end) not in decoys)
    yield from share_faults(row.stratum, (AGE in entry.stated for entry in rest))


def _example_faults(
    row: PublishedRow, entries: Sequence[Entry], shown: Sequence[Question], names: Sequence[str], answer: Answer
) -> Iterator[str]:
    """Check the ages, answer and mark of each demonstration, and that it is about people who occur nowhere else."""
    seen, firsts = set(names), []
    for number, example in enumerate(shown, start=1):
        stated = {name: int(age) for name, age in STATED.findall(example.reasoning)}
        own = [entry for entry in entries if entry.name in stated]
        if ages_of(entries, list(stated)) != stated or example.final != answer(example.question, own)[0]:
            yield f"demonstration {number} is wrong"
        if seen.intersection(stated) or len(stated) != row.stratum.complexity:
            yield f"demonstration {number} is about {len(stated)} people, or about some who are needed elsewhere"
        seen.update(stated)
        firsts += [entry for entry in own if entry.name == next(iter(stated))]
    yield from mark_faults(row, "demo", firsts, "demonstrations")
