"""Topics: what texts are about, each with typed attributes that every format can build on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache

from pipeline.worlds.words import pool_text, pools_in

PLURAL, MASS = "plural", "mass"
VERBS = ("do", "doing", "did")
"""Forms of the same things to do."""
SINGLE = frozenset({"name", "domain", "number", "one", "ones", "doer", "doers"})


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as ``about {name}`` has it, and what goes with it.

    Attributes:
        name: plural or mass noun in lower case: ``penguins``, ``jazz``.
        domain: the file that it stands in.
        number: ``plural`` or ``mass``, for agreement.
        one: a single thing of it, without article: ``penguin``, ``jazz record``; `ones` its plural.
        doer: somebody who deals with it, without article; `doers` the plural.
        do: what doers do, as base verb phrases; `doing` and `did` the same in the same order.
        tool: things used for it, singular, without article.
        part: what is seen of it, plural, without article.
        place: where it is found, with preposition: ``on the ice shelf``.
        trait: adjectives that suit it.
        fact: short true clauses in lower case, of seven words at the most.
        trouble: what goes wrong, with article or in the plural.
        sound: what is heard, as a subject or object has it: ``braying``, ``the slap of oars``.
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


def _topic(given: dict[str, str], domain: str) -> Topic:
    name = given.pop("topic", "")
    wanted = set(ATTRIBUTES) | {"number"}
    if not name or set(given) != wanted or given["number"] not in (PLURAL, MASS):
        raise ValueError(f"topic {name!r} of {domain}: lacks or has too much: {sorted(wanted ^ set(given))}")
    values = {
        key: value if key in SINGLE else tuple(part.strip() for part in value.split(";"))
        for key, value in given.items()
    }
    return Topic(name=name, domain=domain, **values)  # type: ignore[arg-type]


def unnamed(topic: Topic) -> Topic:
    """Return a topic without the values that hold a word of its name, or of the name of one of it.

    Verbs keep their forms together. A list that would be empty stays as it is: it is not for secret formats.
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
    """Yield the words of a name that tell it, without endings."""
    for word in re.findall("[a-z]+", name.lower()):
        if len(word) > 2 and word not in ("and", "the", "set", "cup", "jug", "pot", "can", "bar", "air", "hot"):
            yield re.sub("(?<=...)(?:ies|es|s|y|ing|e)$", "", word)
