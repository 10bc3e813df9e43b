"""From a grammar, a topic and a tone to a text: alternatives are dealt, not drawn, so that texts do not repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from pipeline.worlds.words import pool
from pipeline.worlds.writing.grammar import TONED, Choice, Grammar, Phrase, Reference, Rules
from pipeline.worlds.writing.metre import brief, scans
from pipeline.worlds.writing.surface import capital, many, marked, number, third_person, tidy, title
from pipeline.worlds.writing.topics import ATTRIBUTES, MASS, VERBS, Topic, unnamed

AGREEMENT = {
    "is": ("is", "are"),
    "was": ("was", "were"),
    "has": ("has", "have"),
    "does": ("does", "do"),
    "it": ("it", "they"),
    "them": ("it", "them"),
    "its": ("its", "their"),
    "this": ("this", "these"),
    "that": ("that", "those"),
}
"""Words that agree with the topic: mass nouns, plurals."""
PRONOUNS = {"he": ("she", "he"), "him": ("her", "him"), "his": ("her", "his"), "himself": ("herself", "himself")}
PERSON = ("name", "first", "last", *PRONOUNS)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
POOLS = {"people": "writing/people", "last": "last", "town": "writing/towns", "street": "writing/streets"}
BUILT_IN = frozenset({"topic", "brief", "n", "d", "v", *ATTRIBUTES, *AGREEMENT})
NAMED = frozenset({*PERSON, "town", "street", "day", "month", "year", "clock"})
"""What keeps its value through a text, and may be numbered to tell several apart."""

ARTICLE = re.compile("^(\x01?)(?:an?|the) ")
NOUNS = ("trouble", "sound")
"""Attributes that may be singular or plural."""
DEPTH = 40
STANZA = "stanza"
"""The rule of limericks: what it gives has to scan."""
TRIES = 200
"""How often a stanza is written anew until it does."""
Value = TypeVar("Value")
Deck = tuple[tuple[str, str | bool], tuple[Phrase, ...]]
"""The alternatives of a rule, and the name of their deck."""


def base_name(name: str) -> str:
    """Return a variable's name without its number: ``first2`` is the first name of the second person."""
    return name.rstrip("0123456789")


class Decks:
    """Decks of alternatives: each is dealt to its end before any alternative comes again."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._left: dict[object, list[int]] = {}

    def deal(self, name: object, values: Sequence[Value]) -> Value:
        """Return the next value of a deck."""
        left = self._left.get(name)
        if not left:
            left = self._left[name] = shuffled(self.rng, len(values))
        return values[left.pop()]


def below(bits: Callable[[int], int], count: int) -> int:
    """Return a number below `count` as `Random.randrange` draws it from `Random.getrandbits`, in half of its time."""
    size = count.bit_length()
    while (at := bits(size)) >= count:
        pass
    return at


def shuffled(rng: Random, count: int) -> list[int]:
    """Return the numbers below `count` as `Random.shuffle` orders them, in half of its time."""
    left, bits = list(range(count)), rng.getrandbits
    for last in range(count - 1, 0, -1):
        size = (last + 1).bit_length()
        while (at := bits(size)) > last:
            pass
        left[last], left[at] = left[at], left[last]
    return left


class Realiser:
    """Writes texts of one format about one topic; what one text used, the next does without."""

    def __init__(self, grammar: Grammar, shared: Rules, topic: Topic, rng: Random) -> None:
        self._topic, self._rng, self._decks = unnamed(topic) if grammar.secret else topic, rng, Decks(rng)
        self._grammar, self._shared, self._bits = grammar, shared, rng.getrandbits
        self._of_tone: dict[str, tuple[Rules, dict[str, Deck]]] = {}
        self._rules: Rules = {}
        self._named_decks: dict[str, Deck] = {}
        self._bound: dict[str, str] = {}
        self._used: dict[str, set[str]] = {}
        self._tone, self._asides = "", 0

    def write(self, rule: str, tone: Grammar | None = None) -> str:
        """Return one text from the alternatives of a rule, in a tone or in none.

        Raises:
            ValueError: for a rule that never ends, or verse that does not scan.
        """
        self._tone = tone.name if tone else ""
        if self._tone not in self._of_tone:
            own = {**self._grammar.rules, **tone.rules} if tone else self._grammar.plain
            self._of_tone[self._tone] = {**self._shared, **own}, {}
        self._rules, self._named_decks = self._of_tone[self._tone]
        self._bound, self._used, self._asides = {}, {}, 0
        return tidy(self._phrase(self._dealt(rule), DEPTH))

    def _dealt(self, rule: str) -> Phrase:
        deck = self._named_decks.get(rule)
        if deck is None:
            own = f"{rule}_{self._topic.domain}"
            chosen = own if own in self._rules else rule
            name = (chosen, self._tone if chosen in TONED else bool(self._tone))
            deck = self._named_decks[rule] = name, self._rules[chosen]
        return self._decks.deal(*deck)

    def _phrase(self, phrase: Phrase, depth: int) -> str:
        said: list[str] = []
        for part in phrase:
            if isinstance(part, str):
                said.append(part)
            elif isinstance(part, Reference):
                said.append(self._reference(part, depth))
            else:
                inner = part.options[below(self._bits, len(part.options))] if isinstance(part, Choice) else part.phrase
                if len(inner) == 1 and isinstance(plain := inner[0], str):  # as most variants are
                    said.append(plain)
                elif inner:
                    said.append(self._phrase(inner, depth))
        return "".join(said)

    def _reference(self, reference: Reference, depth: int) -> str:
        value = self._bound.get(reference.name)
        if value is None:
            value = self._value(reference.name, reference.form, depth)
        if reference.bind:
            self._bound[reference.bind] = value
        if not reference.form:
            return value
        if reference.form in ("bare", "many"):
            return many(value) if reference.form == "many" else ARTICLE.sub(r"\1", value)
        if reference.form == "title":
            return title(value)
        if reference.form == "cap":
            return capital(value)
        return value.upper() if reference.form == "upper" else value

    def _value(self, name: str, form: str, depth: int) -> str:
        """Return the value of a name that is not bound."""
        if name == "aside":
            self._asides += 1
            if self._asides > 1:
                return ""
        if name in self._rules:
            if not depth:
                raise ValueError(f"rule {name!r} calls itself without an end")
            return self._stanza(depth) if name == STANZA else self._phrase(self._dealt(name), depth - 1)
        if name in AGREEMENT:
            return AGREEMENT[name][self._topic.number != MASS]
        if name in ("topic", "brief"):
            return self._topic.name if name == "topic" else brief(self._topic.name) or self._value("them", "", depth)
        if name in ATTRIBUTES:
            return self._attribute(name)
        if name == "v":
            return third_person(form) if self._topic.number == MASS else form
        if name in ("n", "d"):
            return self._number(name, form)
        return self._named(name)

    def _stanza(self, depth: int) -> str:
        for _ in range(TRIES):
            lines = self._phrase(self._dealt(STANZA), depth - 1)
            if scans(lines):
                return lines
        raise ValueError(f"no stanza about {self._topic.name} scans in {TRIES} tries")

    def _attribute(self, name: str) -> str:
        values = getattr(self._topic, name)
        if isinstance(values, str):
            return values
        deck = "do" if name in VERBS else name  # one deck, so that a text does not come back to one of them soon
        value = str(values[self._decks.deal(deck, range(len(values)))])
        return marked(value) if name in NOUNS else value

    def _number(self, name: str, form: str) -> str:
        low, high = map(int, form.split("-"))
        value = self._rng.randint(low, high)
        return number(value) if name == "n" else f"{value:,}"

    def _named(self, name: str) -> str:
        """Return a name, day or time, the same in the whole text; a number tells several apart."""
        base, which = base_name(name), name[len(base_name(name)) :]
        if base in PERSON:
            self._meet(which)
        else:
            self._bound[name] = self._fresh(base)
        return self._bound[name]

    def _meet(self, which: str) -> None:
        first = self._fresh("people")
        sex, first = int(first[0] == "m"), first[2:]
        while (last := self._fresh("last")) == first:
            pass
        self._bound.update({f"name{which}": f"{first} {last}", f"first{which}": first, f"last{which}": last})
        self._bound.update({f"{word}{which}": forms[sex] for word, forms in PRONOUNS.items()})

    def _fresh(self, base: str) -> str:
        """Draw a value that this text has not had yet."""
        taken = self._used.setdefault(base, set())
        while (value := self._drawn(base)) in taken:
            pass
        taken.add(value)
        return value

    def _drawn(self, base: str) -> str:
        rng = self._rng
        if base == "year":
            return str(rng.randrange(1952, 2020))
        if base == "clock":
            return f"{rng.randrange(1, 13)}:{rng.randrange(60):02}"
        known = {"day": DAYS, "month": MONTHS}.get(base) or pool(POOLS[base])
        return known[rng.randrange(len(known))]
