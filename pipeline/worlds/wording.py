r"""Wordings: texts with slots and alternatives, which one engine parses, writes and turns into patterns.

A sentence of a world has slots in braces and alternatives in brackets::

    {It} was sold to {person} [at auction|by private treaty|without much haggling].

Phrase grammars (`pipeline.worlds.writing`) have a richer syntax: ``(this|that)`` are alternatives, ``[maybe]`` is left
out half of the time, what is in ``<angle brackets>`` is said only in a tone, `` / `` starts a line and `` // `` a
paragraph, ``{x=rule:form}`` remembers what it gave as ``{x}`` and changes its form, and a backslash makes the next
character an ordinary one.

A parsed wording is a `Phrase`. The order of draws belongs to the caller: `write` takes alternatives and slots in order;
for alternatives before slots, `settled` settles the alternatives first. `pattern` returns the regular expression of all
that a phrase can say. A solver that uses it depends on its writer for what sentences look like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.caches import cache
from pipeline.worlds.words import pool


@dataclass(frozen=True, slots=True)
class Slot:
    """What a value or another rule fills; `form` changes the result, `bind` names it for later."""

    name: str
    form: str = ""
    bind: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several phrases."""

    options: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Toned:
    """A phrase that is said only if a tone is asked for."""

    phrase: Phrase


Phrase = tuple[str | Slot | Choice | Toned, ...]


class Syntax(NamedTuple):
    """The marks of a language: its tokens, and the opening bracket of its alternatives."""

    tokens: re.Pattern[str]
    alternatives: str


SENTENCES = Syntax(re.compile(r"(?P<slot>\{\w+\})|(?P<mark>[\[\]])|(?P<bar>\|)|(?P<text>[^{}\[\]|]+)"), "[")
PHRASES = Syntax(
    re.compile(
        r"\\(?P<escaped>.)|(?P<slot>\{[^{}]*\})|(?P<mark>[()\[\]<>])|(?P<bar>\|)|(?P<break> ?//? ?)"
        r"|(?P<text>[^\\{}()\[\]<>|/]+)"
    ),
    "(",
)
NAMED = re.compile(r"\{(?:(?P<bind>[a-z]\w*)=)?(?P<name>[a-z]\w*)(?::(?P<form>[a-z]+|\d+-\d+))?\}")
CLOSING = {"(": ")", "[": "]", "<": ">"}


@cache
def parse(text: str, syntax: Syntax = SENTENCES) -> Phrase:
    """Parse a wording.

    >>> parse("{Name} [was|had been] sold")
    (Slot(name='Name', form='', bind=''), ' ', Choice(options=(('was',), ('had been',))), ' sold')

    Raises:
        ValueError: for a bracket without its partner, or a slot that cannot be read.
    """
    tokens = list(syntax.tokens.finditer(text))
    if "".join(token[0] for token in tokens) != text:
        raise ValueError("a brace or backslash without its partner")
    options, at = _options(tokens, 0, "", syntax)
    if at != len(tokens) or len(options) > 1:
        raise ValueError(f"{tokens[min(at, len(tokens) - 1)][0]!r} without its partner")
    return options[0]


def _options(tokens: list[re.Match[str]], at: int, closing: str, syntax: Syntax) -> tuple[list[Phrase], int]:
    options: list[list[str | Slot | Choice | Toned]] = [[]]
    while at < len(tokens) and tokens[at][0] != closing:
        token, at = tokens[at], at + 1
        mark, kind = token[0], token.lastgroup
        if kind == "bar" and closing == CLOSING[syntax.alternatives]:
            options.append([])
        elif kind == "mark" and mark in CLOSING:
            inner, at = _options(tokens, at, CLOSING[mark], syntax)
            if at == len(tokens):
                raise ValueError(f"{mark!r} without its partner")
            at += 1
            maybe = () if mark == syntax.alternatives else ((),)
            options[-1].append(Toned(inner[0]) if mark == "<" else Choice((*inner, *maybe)))
        elif kind in ("mark", "bar"):
            raise ValueError(f"{mark!r} without its partner")
        else:
            options[-1].append(_leaf(token, syntax))
    return [tuple(option) for option in options], at


def _leaf(token: re.Match[str], syntax: Syntax) -> str | Slot:
    if token.lastgroup == "break":
        return "\n" * token[0].count("/")
    if token.lastgroup != "slot":
        return token[token.lastgroup or 0]
    if syntax is SENTENCES:
        return Slot(token[0][1:-1])
    match = NAMED.fullmatch(token[0])
    if not match:
        raise ValueError(f"{token[0]} is not a reference")
    return Slot(match["name"], match["form"] or "", match["bind"] or "")


def leaves(phrase: Phrase) -> Iterator[str | Slot]:
    """Yield the fixed texts and the slots of a phrase and of all its alternatives."""
    for part in phrase:
        if isinstance(part, Choice):
            for option in part.options:
                yield from leaves(option)
        elif isinstance(part, Toned):
            yield from leaves(part.phrase)
        else:
            yield part


@cache
def slots(text: str) -> tuple[str, ...]:
    """Return the names of the slots of a sentence, in order.

    >>> slots("{It} was sold to {person} for {count} pounds.")
    ('It', 'person', 'count')
    """
    return tuple(part.name for part in leaves(parse(text)) if isinstance(part, Slot))


@cache
def variants(text: str) -> tuple[str, ...]:
    """Return all that a sentence can say, each with its slots still open.

    >>> variants("{It} was [sold|let][| at once].")
    ('{It} was sold.', '{It} was sold at once.', '{It} was let.', '{It} was let at once.')
    """
    return tuple(_variants(parse(text)))


def _variants(phrase: Phrase) -> list[str]:
    texts = [""]
    for part in phrase:
        if isinstance(part, Choice):
            ends = [variant for option in part.options for variant in _variants(option)]
        else:
            assert not isinstance(part, Toned)
            ends = [part if isinstance(part, str) else f"{{{part.name}}}"]
        texts = [before + after for before in texts for after in ends]
    return texts


def core(phrase: Phrase) -> str:
    """Return the longest fixed text that all of a phrase's sayings have: a quick test before its pattern is tried."""
    return max((part for part in phrase if isinstance(part, str)), key=len, default="").strip()


Pick = Callable[[tuple[Phrase, ...]], Phrase]
"""Chooses one of several alternatives."""


def settled(phrase: Phrase, pick: Pick) -> tuple[str | Slot, ...]:
    """Return a phrase with its alternatives settled from left to right: only texts and slots are left."""
    parts: list[str | Slot] = []
    for part in phrase:
        if isinstance(part, str | Slot):
            parts.append(part)
        else:
            parts += settled(pick(part.options) if isinstance(part, Choice) else part.phrase, pick)
    return tuple(parts)


def write(
    phrase: Phrase,
    fill: Callable[[Slot], str],
    pick: Pick | None = None,
    vowel: Callable[[str], bool] | None = None,
) -> str:
    """Return what a phrase says, with slots and alternatives settled from left to right.

    Args:
        phrase: the wording.
        fill: gives the text of a slot.
        pick: settles alternatives; needed where there are some.
        vowel: whether a text begins with a vowel; if given, ``a`` before such a slot value becomes ``an``.
    """
    texts: list[str] = []
    for part in phrase:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Slot):
            value = fill(part)
            if vowel and texts and texts[-1].endswith((" a ", "A ")) and vowel(value):
                texts[-1] = texts[-1][:-1] + "n "
            texts.append(value)
        else:
            assert pick
            inner = pick(part.options) if isinstance(part, Choice) else part.phrase
            if len(inner) == 1 and isinstance(plain := inner[0], str):  # as most alternatives are
                texts.append(plain)
            elif inner:
                texts.append(write(inner, fill, pick, vowel))
    return "".join(texts)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a sentence without alternatives, with values in its slots.

    >>> filled("the {noun} of {first}", {"noun": "mill", "first": "Ann"})
    'the mill of Ann'
    """
    return write(parse(text), lambda slot: values[slot.name])


ARTICLE = re.compile(r"(?<![^ ])([aA])\\ $")
GROUP = re.compile(r"\(\?P<(\w+)>")


def pattern(phrase: Phrase, takes: Callable[[Slot], str], *, articles: bool = False) -> str:
    r"""Return a regular expression of all that a phrase can say.

    Args:
        phrase: the wording.
        takes: gives the expression of what a slot may hold, with a named group where it is to be captured; of several
            groups of one name only the first captures.
        articles: whether ``a`` before a slot is ``an`` where its value begins with a vowel.

    >>> pattern(parse("{a} [met|saw] {b}"), lambda slot: f"(?P<{slot.name}>.+)")
    '(?P<a>.+)\\ (?:met|saw)\\ (?P<b>.+)'
    """
    seen: set[str] = set()

    def capture(group: re.Match[str]) -> str:
        first = group[1] not in seen
        seen.add(group[1])
        return group[0] if first else "(?:"

    def compiled(phrase: Phrase) -> str:
        parts: list[str] = []
        for part in phrase:
            if isinstance(part, str):
                parts.append(re.escape(part))
            elif isinstance(part, Slot):
                if articles and parts:
                    parts[-1] = ARTICLE.sub(r"\1n?\\ ", parts[-1])
                parts.append(GROUP.sub(capture, takes(part)))
            elif isinstance(part, Choice):
                parts.append(f"(?:{'|'.join(map(compiled, part.options))})")
            else:
                parts.append(f"(?:{compiled(part.phrase)})?")
        return "".join(parts)

    return compiled(phrase)


def anything(slot: Slot) -> str:
    """Return the expression of a slot that matches any words and captures them under its name."""
    return f"(?P<{slot.name}>.+)"


@cache
def reader(text: str) -> re.Pattern[str]:
    """Return the pattern of a sentence whose slots take any words.

    >>> reader("Who designed {name}?").fullmatch("Who designed the Walton Bridge?")["name"]
    'the Walton Bridge'
    """
    return re.compile(pattern(parse(text), anything))


def any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches whatever one of some patterns matches; group ``w3`` is the fourth's."""
    bare = (GROUP.sub("(?:", each) for each in patterns)
    return re.compile("|".join(f"(?P<w{number}>{each})" for number, each in enumerate(bare)))


SECTION = re.compile(r"\[(\w+)\]")


@cache
def sections(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of a pool by section; a section begins with a line that has its name in brackets."""
    by_name: dict[str, tuple[str, ...]] = {}
    kind = ""
    for line in filter(None, pool(name)):
        if section := SECTION.fullmatch(line):
            kind = section[1]
            by_name[kind] = ()
        else:
            by_name[kind] = (*by_name.get(kind, ()), line)
    return by_name
