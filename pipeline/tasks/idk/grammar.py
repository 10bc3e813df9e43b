"""What stories are made of, read from their text: who they are about, and what they state and mention.

It shares the plots with the world of stories, but none of its code: openings, closings and both wordings of every
sentence about a pair become patterns, and every other clause must be one that the plot has. Prompts of one build share
stories, so one that is read is remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from pipeline.worlds.plots import Plot, plots, values_of

FULL_NAME = "[A-Z][a-z]+ [A-Z][a-z]+"
CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")
BRACKETS = re.compile(r"\[(.*?)\|(.*?)\]")


@dataclass(frozen=True, slots=True)
class Told:
    """A story as read: whom it is about, its plot, what it states of which noun, and what else it mentions.

    `near` holds for every noun of a sentence about a pair the detail that it states, whichever of the two has it.
    """

    name: str
    plot: str
    stated: dict[str, str]
    near: dict[str, str]
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
    """What a plot's stories are made of: its `statements` each with the name of the group whose detail it states."""

    plot: Plot
    openings: tuple[re.Pattern[str], ...]
    closings: tuple[re.Pattern[str], ...]
    mentions: dict[str, str]
    statements: tuple[tuple[re.Pattern[str], str], ...]
    values: frozenset[str]


@cache
def _grammars() -> tuple[Grammar, ...]:
    return tuple(_grammar(plot) for plot in plots())


def _grammar(plot: Plot) -> Grammar:
    nouns = "|".join(re.escape(form) for slot in plot.slots for form in (slot.noun, _large(slot.noun)))
    groups = {"x": nouns, "y": nouns, "v": ".+", "first": "[A-Z][a-z]+"}
    return Grammar(
        plot,
        tuple(pattern_of(opening, {"name": FULL_NAME}) for opening in plot.openings),
        tuple(pattern_of(closing, groups) for closing in plot.closings),
        {clause: slot.noun for slot in plot.slots for clause in slot.clauses},
        tuple(
            (pattern_of(_large(BRACKETS.sub(rf"\{number}", form)), groups), owner)
            for form in plot.pairs
            for number, owner in ((1, "x"), (2, "y"))
        ),
        frozenset(values_of(plot.values)),
    )


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
    near: dict[str, str] = {}
    mentioned: set[str] = set()
    for sentence in sentences:
        clauses = [_clause(first, clause) for clause in sentence.split(", and ")]
        if all(clause in grammar.mentions for clause in clauses):
            mentioned |= {grammar.mentions[clause] for clause in clauses}
            continue
        noun, value, nouns = _statement(grammar, first, sentence)
        if len(nouns) != 2 or nouns & near.keys():
            raise ValueError(f"the story of {name} has {', '.join(sorted(nouns))} in more than one pair")
        near |= dict.fromkeys(nouns, value)
        stated[noun] = value
    return Told(name, grammar.plot.title, stated, near, frozenset(mentioned | near.keys()))


def _statement(grammar: Grammar, first: str, sentence: str) -> tuple[str, str, set[str]]:
    """Return whose detail a sentence states, the detail, and whom it names."""
    for pattern, owner in grammar.statements:
        match = pattern.fullmatch(sentence)
        if match and match["v"] in grammar.values and match.groupdict().get("first", first) == first:
            return _small(match[owner]), match["v"], {_small(match["x"]), _small(match["y"])}
    raise ValueError(f"no sentence of {grammar.plot.title!r}: {sentence[:80]!r}")


def _clause(first: str, clause: str) -> str:
    """Return a clause as its plot has it, if it has."""
    return _small(CAPITALISED.sub(lambda word: "{first}" if word[0] == first else word[0], clause))


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _large(text: str) -> str:
    return text[:1].upper() + text[1:]
