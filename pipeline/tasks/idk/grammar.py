"""What stories are made of, read from their text: who they are about, and what they state and mention.

It shares the plots with the world of stories, but none of its code: openings and closings become patterns, and every
clause must be one that the plot has. Prompts of one build share stories, so one that is read is remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from pipeline.worlds.plots import Plot, plots, values_of

FULL_NAME = "[A-Z][a-z]+ [A-Z][a-z]+"
CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")
BETWEEN_CLAUSES = re.compile(r", and |, while |; ")


@dataclass(frozen=True, slots=True)
class Told:
    """A story as read: whom it is about, its plot, what it states, and what else it mentions."""

    name: str
    plot: str
    stated: dict[str, str]
    mentioned: frozenset[str]


def pattern_of(template: str, groups: dict[str, str]) -> re.Pattern[str]:
    """Return the pattern of a text in which names stand in braces; those not in `groups` stand for any few words."""
    parts = re.split(r"\{(\w+)\}", template)
    for place in range(0, len(parts), 2):
        parts[place] = re.escape(parts[place])
    for place in range(1, len(parts), 2):
        inner = groups.get(parts[place])
        parts[place] = f"(?P<{parts[place]}>{inner})" if inner else "[A-Za-z ]+?"
    return re.compile("".join(parts))


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a plot's stories are made of: `statements` as the text before the value, the text after it, and the noun."""

    plot: Plot
    openings: tuple[re.Pattern[str], ...]
    closings: tuple[re.Pattern[str], ...]
    mentions: dict[str, str]
    statements: tuple[tuple[str, str, str], ...]
    values: frozenset[str]


@cache
def _grammars() -> tuple[Grammar, ...]:
    return tuple(_grammar(plot) for plot in plots())


def _grammar(plot: Plot) -> Grammar:
    return Grammar(
        plot,
        tuple(pattern_of(opening, {"name": FULL_NAME}) for opening in plot.openings),
        tuple(pattern_of(closing, {"first": "[A-Z][a-z]+"}) for closing in plot.closings),
        {clause: slot.noun for slot in plot.slots for clause in slot.mentions},
        tuple(_cut(said, slot.noun) for slot in plot.slots for said in slot.statements),
        frozenset(values_of(plot.values)),
    )


def _cut(statement: str, noun: str) -> tuple[str, str, str]:
    before, after = statement.split("{v}")
    return before, after, noun


@lru_cache(maxsize=1 << 16)
def read_story(line: str) -> Told:
    """Take a story apart.

    Raises:
        ValueError: if it opens like no plot, or holds a clause that its plot has not.
    """
    for grammar in _grammars():
        for opening in grammar.openings:
            match = opening.match(line)
            if match:
                return _read(grammar, match["name"], line[match.end() :])
    raise ValueError(f"neither a story nor letters: {line[:80]!r}")


def _read(grammar: Grammar, name: str, rest: str) -> Told:
    first = name.split(" ")[0]
    *sentences, closing = rest.strip().removesuffix(".").split(". ")
    ends = [pattern.fullmatch(f"{closing}.") for pattern in grammar.closings]
    if not any(end and end.groupdict().get("first", first) == first for end in ends):
        raise ValueError(f"the story of {name} closes in no known way: {closing[:80]!r}")
    stated: dict[str, str] = {}
    mentioned = set()
    for clause in (clause for sentence in sentences for clause in BETWEEN_CLAUSES.split(sentence)):
        noun, value = _clause(grammar, first, clause)
        mentioned.add(noun)
        if value is not None and stated.setdefault(noun, value) != value:
            raise ValueError(f"the story of {name} states two details of {noun}")
    return Told(name, grammar.plot.title, stated, frozenset(mentioned))


def _clause(grammar: Grammar, first: str, clause: str) -> tuple[str, str | None]:
    """Return the noun of a clause, and the value it states."""
    plain = CAPITALISED.sub(lambda word: "{first}" if word[0] == first else word[0], clause)
    plain = plain[0].lower() + plain[1:]
    if plain in grammar.mentions:
        return grammar.mentions[plain], None
    for before, after, noun in grammar.statements:
        value = plain[len(before) : len(plain) - len(after)]
        if plain.startswith(before) and plain.endswith(after) and value in grammar.values:
            return noun, value
    raise ValueError(f"no clause of {grammar.plot.title!r}: {clause[:80]!r}")
