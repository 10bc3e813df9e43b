"""Topics of texts, each with typed attributes that every format can build on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from math import fsum
from random import Random

from pipeline.caches import cache
from pipeline.worlds.words import pool_text, pools_in

PLURAL, MASS = "plural", "mass"
VERBS = ("do", "doing", "did")
"""Forms of the same activities."""
SINGLE = frozenset({"name", "domain", "number", "one", "ones", "doer", "doers"})


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as in ``about {name}``, and its attributes.

    Attributes:
        name: plural or mass noun in lower case: ``penguins``, ``jazz``.
        domain: the file that it is in.
        number: ``plural`` or ``mass``, for agreement.
        one: a single thing of it, without article: ``penguin``, ``jazz record``; `ones` its plural.
        doer: somebody who deals with it, without article; `doers` the plural.
        do: what doers do, as base verb phrases; `doing` and `did` the same in the same order.
        tool: things used for it, singular, without article.
        part: what is seen of it, plural, without article.
        place: where it is found, with preposition: ``on the ice shelf``.
        trait: adjectives that suit it.
        fact: short true clauses in lower case, of at most seven words.
        trouble: what goes wrong, with article or in the plural.
        sound: what is heard, as a subject or object: ``braying``, ``the slap of oars``.
    """

    name: str
    domain: str
    number: str
    one: str
    ones: str
    doer: str
    doers: str
    do: tuple[str, ...]
    doing: tuple[str, ...]
    did: tuple[str, ...]
    tool: tuple[str, ...]
    part: tuple[str, ...]
    place: tuple[str, ...]
    trait: tuple[str, ...]
    fact: tuple[str, ...]
    trouble: tuple[str, ...]
    sound: tuple[str, ...]


ATTRIBUTES = tuple(field.name for field in fields(Topic) if field.name not in ("name", "domain", "number"))


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics, by domain and file order."""
    files = pools_in("writing/topics")
    return tuple(topic for name in files for topic in parse_topics(pool_text(name), name.rpartition("/")[2]))


def parse_topics(text: str, domain: str) -> Iterator[Topic]:
    """Yield the topics of a file: blocks of lines ``attribute: value; value``, the first of them ``topic: name``.

    Raises:
        ValueError: naming the topic and what it lacks.
    """
    for block in text.strip().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            yield _topic(dict(_line(line, domain) for line in lines), domain)


def _line(line: str, domain: str) -> tuple[str, str]:
    name, mark, value = line.partition(":")
    if not mark or not value.strip():
        raise ValueError(f"topics of {domain}: {line!r}: give 'attribute: value; value'")
    return name.strip(), value.strip()


def _topic(entries: dict[str, str], domain: str) -> Topic:
    name = entries.pop("topic", "")
    wanted = set(ATTRIBUTES) | {"number"}
    if not name or set(entries) != wanted or entries["number"] not in (PLURAL, MASS):
        raise ValueError(f"topic {name!r} of {domain}: lacks or has too much: {sorted(wanted ^ set(entries))}")
    values = {
        key: value if key in SINGLE else tuple(part.strip() for part in value.split(";"))
        for key, value in entries.items()
    }
    return Topic(name=name, domain=domain, **values)  # type: ignore[arg-type]


def unnamed(topic: Topic) -> Topic:
    """Return a topic without the values that have a word of its name, or of the name of one of it.

    Verbs keep their forms together. A list that would become empty is left as it is: secret formats do not use it.
    """
    telling = re.compile("|".join(sorted(map(re.escape, _stems(f"{topic.name} {topic.one}")))), re.IGNORECASE)
    kept: dict[str, tuple[str, ...]] = {
        name: tuple(value for value in getattr(topic, name) if not telling.search(value))
        for name in ATTRIBUTES
        if name not in SINGLE and name not in VERBS
    }
    forms = [
        forms for forms in zip(*(getattr(topic, verb) for verb in VERBS), strict=True) if not telling.search(forms[0])
    ]
    kept.update(zip(VERBS, zip(*forms, strict=True), strict=False))
    return replace(topic, **{name: values for name, values in kept.items() if values})  # type: ignore[arg-type]


def _stems(name: str) -> Iterator[str]:
    """Yield the distinctive words of a name, without endings."""
    for word in re.findall("[a-z]+", name.lower()):
        if len(word) > 2 and word not in ("and", "the", "set", "cup", "jug", "pot", "can", "bar", "air", "hot"):
            yield re.sub("(?<=...)(?:ies|es|s|y|ing|e)$", "", word)


ANYTHING = "anything"
"""What formats require of their topic if every topic suits them."""
FILE = "writing/pairings"


def fits(form: str, topic: str) -> bool:
    """Return whether a text of a format can sensibly be about a topic.

    Raises:
        KeyError: for a format that the table lacks.
    """
    needed = needs()[form]
    return needed == ANYTHING or topic in kinds()[needed]


@cache
def topics_for(form: str) -> tuple[str, ...]:
    """Return the names of all topics that suit a format, in the order of `topics`."""
    return tuple(topic.name for topic in topics() if fits(form, topic.name))


@cache
def needs() -> Mapping[str, str]:
    """Return what each format requires of its topic: a kind, or ANYTHING."""
    return parse_pairings(pool_text(FILE))[1]


@cache
def kinds() -> Mapping[str, frozenset[str]]:
    """Return the topics of each kind.

    Raises:
        ValueError: naming a kind with an unknown domain or topic, or a needless exception.
    """
    pairings = parse_pairings(pool_text(FILE))[0]
    return {kind: frozenset(_members(kind, *parts)) for kind, parts in pairings.items()}


Parts = tuple[list[str], list[str], list[str]]
"""A kind's domains, its additional topics, and its excluded topics."""


def parse_pairings(text: str) -> tuple[dict[str, Parts], dict[str, str]]:
    """Return the parts of each kind, and what each format requires.

    A line ``kind: domain, domain`` gives the domains of a kind, the lines ``+ topic, topic`` and ``- topic, topic``
    below it give exceptions, and ``format: kind`` is what a format requires.

    Raises:
        ValueError: naming a line that is none of these.
    """
    parts, formats, kind = dict[str, Parts](), dict[str, str](), ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        head, mark, values = line.partition(":")
        exception = line.lstrip()
        if exception[0] in "+-" and kind:
            parts[kind]["+-".index(exception[0]) + 1].extend(_listed(exception[1:]))
        elif mark and (values.strip() == ANYTHING or values.strip() in parts):
            formats[head] = values.strip()
        elif mark and values.strip():
            kind = head
            parts.setdefault(kind, ([], [], []))[0].extend(_listed(values))
        else:
            raise ValueError(f"pairings: {line!r}: give 'kind: domain, domain', '+ topic', '- topic' or 'format: kind'")
    return parts, formats


def _listed(text: str) -> Iterator[str]:
    return (value.strip() for value in text.split(","))


def _members(kind: str, domains: list[str], more: list[str], less: list[str]) -> set[str]:
    home = {topic.name for topic in topics() if topic.domain.replace("_", " ") in domains}
    known = {topic.domain.replace("_", " ") for topic in topics()} | {topic.name for topic in topics()}
    odd = [name for name in (*domains, *more, *less) if name not in known]
    odd += [name for name in more if name in home] + [name for name in less if name not in home]
    if odd:
        raise ValueError(f"pairings: {kind!r} has what is unknown, or excepted for nothing: {odd}")
    return (home | set(more)) - set(less)


ROUNDS = 60
"""Rescalings; a pairing in which most pairs fit converges in about ten."""
WHOLE = 10**9
"""The sum of each format's shares, up to rounding. Integers are the same on every machine."""


def shares(forms: Sequence[str], about: Sequence[str], fits: Callable[[str, str], bool]) -> list[list[int]]:
    """Return the share of each pair, a row for each format and a column for each topic; 0 where they do not fit.

    Rows and columns are rescaled in turn (Sinkhorn and Knopp 1967, Concerning nonnegative matrices and doubly
    stochastic matrices).

    Raises:
        ValueError: naming a format or topic that fits nothing.
    """
    table = [[1.0 if fits(form, topic) else 0.0 for topic in about] for form in forms]
    lonely = [form for form, line in zip(forms, table, strict=True) if not any(line)]
    lonely += [topic for topic, *column in zip(about, *table, strict=True) if not any(column)]
    if lonely:
        raise ValueError(f"no pair has {lonely[0]!r}: give formats and topics that suit each other")
    for _ in range(ROUNDS):
        columns = [fsum(column) * len(about) / len(forms) for column in zip(*table, strict=True)]
        table = [_scaled([share / column for share, column in zip(line, columns, strict=True)]) for line in table]
    return [[round(share * WHOLE) for share in line] for line in table]


def _scaled(line: Sequence[float]) -> list[float]:
    total = fsum(line)
    return [share / total for share in line]


def place_of(level: float, line: Sequence[int]) -> int:
    """Return the place in a row of shares for a level in [0, 1)."""
    sums = list(accumulate(line))
    return bisect_right(sums, int(level * sums[-1]))


def matched(rng: Random, forms: Sequence[str], about: Sequence[str], fits: Callable[[str, str], bool]) -> list[str]:
    """Return a random topic for each of some formats: distinct ones as far as enough of them fit.

    A format whose topics are all taken takes one from another format that can have a free one (augmenting paths: Kuhn
    1955, The Hungarian method for the assignment problem).
    """
    free, holders = list(about), dict[str, int]()
    rng.shuffle(free)

    def placed(row: int, seen: set[str]) -> bool:
        if (fitting := next((topic for topic in free if fits(forms[row], topic)), None)) is not None:
            free.remove(fitting)
            holders[fitting] = row
            return True
        for topic in [topic for topic in holders if fits(forms[row], topic)]:
            if topic not in seen:
                seen.add(topic)
                if placed(holders[topic], seen):
                    holders[topic] = row
                    return True
        return False

    rows = list(range(len(forms)))
    rng.shuffle(rows)
    again = [row for row in rows if not placed(row, set())]
    chosen = {row: topic for topic, row in holders.items()}
    for row in again:
        chosen[row] = rng.choice([topic for topic in about if fits(forms[row], topic)])
    return [chosen[row] for row in range(len(forms))]


def sample(rng: Random, line: Sequence[int], count: int) -> list[int]:
    """Return up to `count` distinct places of a row, each drawn in proportion to the remaining shares."""
    left, drawn = list(line), list[int]()
    while len(drawn) < count and any(left):
        drawn.append(place_of(rng.random(), left))
        left[drawn[-1]] = 0
    return drawn
