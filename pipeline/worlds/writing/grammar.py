r"""Phrase grammars: readable text files, one for each format.

A file is a list of rules. A rule is a name and a colon, and its alternatives are the indented lines below it::

    name: postcard
    long:
      {greeting} / {arrival} {seen} {wish} // {close}
    arrival:
      We (reached|got to) {town} [late] on {day}, and {trouble} was waiting.

``{rule}`` is one of the rule's alternatives, ``(this|that)`` one of the two, ``[maybe]`` is left out half of the time,
`` / `` starts a line and `` // `` a paragraph. ``{x=rule}`` remembers what it gave as ``{x}``; ``{rule:cap}`` and
``{rule:upper}`` change its letters, ``{sound:bare}`` leaves the article out; ``{n:3-40}`` is a number and ``{v:need}``
a verb that agrees with the topic. A backslash makes the next character an ordinary one, and at the end of a line goes
on with the next. ``#`` starts a comment line. Articles, capitals and spaces are put right later.

A rule ``dish_fruit`` stands in for ``dish`` where the topic is of the domain ``fruit``.

``{mood}``, ``{moodly}`` and ``{aside}`` are the words of a tone. What is in angle brackets, as in
``said {first}< {moodly}>``, is said only where a tone is asked for, and an alternative with a tone's words outside of
such brackets is used only there: nothing of a tone is in a text that was asked for none.

The line ``secret: yes`` below the name keeps every value with the topic's name out of the texts of a format, and
``style: spoken`` or ``style: verse`` determines which variants its phrases may have.
A rule ``stanza`` gives five lines of a limerick, which are rewritten until they scan.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import is_

from pipeline.worlds.wording import PHRASES, Choice, Phrase, Slot, Toned, leaves, parse

HEAD = re.compile(r"([a-z]\w*):(.*)")
TONED = ("mood", "moodly", "aside")
"""The rules of a tone."""


Rules = Mapping[str, tuple[Phrase, ...]]


@dataclass(frozen=True)
class Grammar:
    """A parsed file: the name of the format in requests, and the alternatives of each rule.

    A text of a `secret` format must not name its topic. `style` determines which variants of its phrases may be used.
    """

    name: str
    rules: Rules
    secret: bool = False
    style: str = ""

    @cached_property
    def plain(self) -> Rules:
        """The alternatives that need no tone, without the parts that are for a tone only."""
        return toneless(self.rules)

    def references(self) -> Iterator[tuple[str, Slot]]:
        """Yield every reference with the rule that contains it."""
        for rule, phrases in self.rules.items():
            for phrase in phrases:
                yield from ((rule, part) for part in leaves(phrase) if isinstance(part, Slot))


def toneless(rules: Rules) -> Rules:
    """Return the alternatives of rules that need no tone, without the parts that are for a tone only."""
    lost = set(TONED)
    while (
        empty := {name for name, phrases in rules.items() if not any(_is_plain(each, lost) for each in phrases)} - lost
    ):
        lost |= empty
    plain = {name: [_toneless(phrase, lost) for phrase in phrases] for name, phrases in rules.items()}
    kept = {name: tuple(each for each in phrases if each is not None) for name, phrases in plain.items()}
    return {name: phrases for name, phrases in kept.items() if phrases}


def _is_plain(phrase: Phrase, lost: Container[str]) -> bool:
    """Return whether a phrase can be written without the `lost` rules."""
    for part in phrase:
        if isinstance(part, Slot):
            if part.name in lost:
                return False
        elif isinstance(part, Choice) and not any(_is_plain(option, lost) for option in part.options):
            return False
    return True


def _toneless(phrase: Phrase, lost: Container[str]) -> Phrase | None:
    """Return a phrase without the parts for a tone only: the phrase itself if there are none, None if it needs one."""
    parts: list[str | Slot | Choice | Toned] = []
    for part in phrase:
        if isinstance(part, Slot) and part.name in lost:
            return None
        if isinstance(part, Choice):
            options = [_toneless(option, lost) for option in part.options]
            if all(map(is_, options, part.options)):
                parts.append(part)
            elif kept := tuple(option for option in options if option is not None):
                parts.append(Choice(kept))
            else:
                return None
        elif not isinstance(part, Toned):
            parts.append(part)
    return phrase if all(map(is_, parts, phrase)) and len(parts) == len(phrase) else tuple(parts)


def parse_grammar(text: str, where: str) -> Grammar:
    """Parse a grammar file.

    Raises:
        ValueError: naming the file, the line and what is wrong with it.
    """
    heads, rules, rule = {"name": "", "secret": "", "style": ""}, dict[str, list[Phrase]](), ""
    for number, line in _lines(text):
        try:
            if line.startswith(" "):
                rules[rule].append(parse(line.strip(), PHRASES))
                continue
            match = HEAD.fullmatch(line)
            if not match or match[1] in rules:
                raise ValueError("neither a new rule, nor an indented alternative of one")
            if match[1] in heads:
                heads[match[1]] = match[2].strip()
            else:
                rule = match[1]
                rules[rule] = []
        except (KeyError, ValueError) as fault:
            raise ValueError(f"{where}, line {number}: {line[:60]!r}: {fault}") from None
    empty = [rule for rule, phrases in rules.items() if not phrases]
    name = heads["name"]
    if empty or not name:
        raise ValueError(f"{where}: no alternatives in {empty}" if empty else f"{where} has no name")
    parsed = {rule: tuple(phrases) for rule, phrases in rules.items()}
    return Grammar(name, parsed, heads["secret"] == "yes", heads["style"])


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments, continued ones joined, with their last line's number."""
    started = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = started + (raw.strip() if started else raw.rstrip())
        started = line[:-1].rstrip() + " " if line.endswith("\\") else ""
        if not started and line.strip() and not line.startswith("#"):
            yield number, line
