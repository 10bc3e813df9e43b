"""Variants: several ways to say the same in the same place, so that sentences of one grammar are less alike.

They are choices put into grammars when these are read: an author need not write ``(nobody|no one)`` a hundred times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from pipeline.worlds.words import pool_text
from pipeline.worlds.writing.grammar import Choice, Grammar, Phrase, Reference, Toned
from pipeline.worlds.writing.realise import base_name

FILE = "writing/variants"
EVERYWHERE, SLOTS, SPOKEN, VERSE = "everywhere", "slots", "spoken", "verse"
"""Sections of the file, and what a grammar's style may be: what is spoken is shortened, verse has its own variants."""
SLOT = re.compile(r"(?P<before>[^{]*)\{(?P<name>[a-z]+)\}(?P<behind>.*)")
BEFORE = r"\b(?<!very )(?<!almost )(?<!nearly )(?<!not )"
BEHIND = r"(?= (?:[a-z]|$))"
"""A contraction must have something behind it, and so must a variant in verse, whose ends rhyme."""
TAKEN = re.compile(r"\w|'| (?:morning|noon|afternoon|evening|night|the )")
"""What may not stand behind a slot that something is said behind."""
Part = str | Reference | Choice | Toned


def varied(grammar: Grammar) -> Grammar:
    """Return a grammar with a choice wherever one of its phrases has variants."""
    known = {SPOKEN: (SLOTS, EVERYWHERE, SPOKEN), VERSE: (VERSE,)}.get(grammar.style, (SLOTS, EVERYWHERE))
    rules = {rule: tuple(_varied(phrase, known) for phrase in phrases) for rule, phrases in grammar.rules.items()}
    return replace(grammar, rules=rules)


def _varied(phrase: Phrase, known: tuple[str, ...]) -> Phrase:
    parts: list[Part] = []
    for part in phrase:
        if isinstance(part, str):
            parts += _said(part, known)
        elif isinstance(part, Choice):
            parts.append(Choice(tuple(_varied(option, known) for option in part.options)))
        else:
            parts.append(part)
    return _around_slots(parts, known)


def _around_slots(parts: list[Part], known: tuple[str, ...]) -> Phrase:
    """Return a phrase with a choice of what stands around each of its slots that has variants."""
    slots = _slots(known)
    for at in range(len(parts) - 2, -1, -1):
        said, slot = parts[at], parts[at + 1]
        if isinstance(slot, Reference) and isinstance(said, str) and not slot.form.isalpha():
            behind = parts[at + 2] if at + 2 < len(parts) else ""
            for before, needed, options in slots.get(base_name(slot.name), ()):
                if _fits(said, before, behind, needed):
                    choice = Choice(tuple((left, slot, right) for left, right in options))
                    parts[at : at + 2] = [said.removesuffix(before), choice]
                    break
    return tuple(parts)


def _fits(said: str, before: str, behind: Part, needed: str) -> bool:
    """Tell whether a slot stands where its variants may: with the words before it, and those behind it or none."""
    word = said.endswith(before) and not said.removesuffix(before)[-1:].isalpha()
    if needed:
        return word and isinstance(behind, str) and behind.startswith(needed)
    return word and not (isinstance(behind, str) and TAKEN.match(behind))


@cache
def _slots(known: tuple[str, ...]) -> Mapping[str, list[tuple[str, str, list[tuple[str, str]]]]]:
    """Return for each slot what has to stand before it, what behind it, and what may stand before and behind it."""
    slots: dict[str, list[tuple[str, str, list[tuple[str, str]]]]] = {}
    for section, _, said in parse_variants(pool_text(FILE)):
        if section in known and "{" in said[0]:
            forms = [found for form in said if (found := SLOT.fullmatch(form))]
            needed = forms[0]["behind"]
            options = [(form["before"], "" if needed else form["behind"]) for form in forms]
            slots.setdefault(forms[0]["name"], []).append((forms[0]["before"], needed, options))
    return slots


def _said(text: str, known: tuple[str, ...]) -> list[str | Choice]:
    """Return the parts of a text, none of them empty: most texts are one."""
    pattern, variants = _table(known)
    parts: list[str | Choice] = []
    done = 0
    for found in pattern.finditer(text):
        parts += [text[done : found.start()], variants[found[0]]]
        done = found.end()
    parts.append(text[done:])
    return [part for part in parts if part != ""]


@cache
def _table(known: tuple[str, ...]) -> tuple[re.Pattern[str], Mapping[str, Choice]]:
    """Return a pattern of all that has variants, and the choice that stands in for each."""
    variants: dict[str, tuple[str, ...]] = {}
    short: set[str] = set()
    for section, asked, said in parse_variants(pool_text(FILE)):
        if section in known and "{" not in said[0]:
            for forms in _cases(said):
                variants.update(dict.fromkeys(forms[:asked], forms))
                short.update(forms[:asked] if section in (SPOKEN, VERSE) else ())
    by_letter: dict[str, list[str]] = {}  # so that at most words of a text only the first letter is looked at
    for form in sorted(variants, key=len, reverse=True):
        by_letter.setdefault(form[0], []).append(re.escape(form[1:]) + (BEHIND if form in short else r"\b"))
    pattern = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_letter.items())
    choices = {form: Choice(tuple((variant,) for variant in forms)) for form, forms in variants.items()}
    return re.compile(f"{BEFORE}(?:{pattern})"), choices


def _cases(said: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield variants as they stand within a sentence, and as they stand at its start."""
    yield said
    if all(form[0].islower() for form in said):
        yield tuple(form[0].upper() + form[1:] for form in said)


def parse_variants(text: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield the section of each line, its variants, and how many of these, from the first, the others stand in for.

    Raises:
        ValueError: naming a line without a second way to say it, or outside of a section.
    """
    section = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        said = tuple(form.strip() for form in re.split("[|>]", line))
        if line.endswith(":") and line[:-1] in (EVERYWHERE, SLOTS, SPOKEN, VERSE):
            section = line[:-1]
        elif section and len(said) > 1 and all(said):
            yield section, 1 if ">" in line else len(said), said
        else:
            raise ValueError(f"variants: {line!r}: give 'this | that' or 'this > that' below a section")
