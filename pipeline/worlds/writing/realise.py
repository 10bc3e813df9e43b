"""Turns a grammar, a topic and a tone into a text: alternatives are dealt, not drawn, so that texts do not repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from pipeline.caches import cache
from pipeline.worlds.wording import Choice, Phrase, Slot, Toned, write
from pipeline.worlds.words import pool, pool_digest, pool_text, pools_in
from pipeline.worlds.writing.grammar import TONED, Grammar, Rules, parse_grammar
from pipeline.worlds.writing.surface import brief, capital, many, marked, number, scans, third_person, tidy, title
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
"""Words that agree with the topic, for mass nouns and for plurals."""
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
"""Names that keep their value throughout a text, and may be numbered to distinguish several."""

ARTICLE = re.compile("^(\x01?)(?:an?|the) ")
NOUNS = ("trouble", "sound")
"""Attributes that may be singular or plural."""
DEPTH = 40
STANZA = "stanza"
"""The rule of limericks, whose lines have to scan."""
TRIES = 200
"""How often a stanza is rewritten until it scans."""
Value = TypeVar("Value")
Deck = tuple[tuple[str, str | bool], tuple[Phrase, ...]]
"""The name of a rule's deck, and its alternatives."""


def base_name(name: str) -> str:
    """Return a variable's name without its number: ``first2`` is the first name of the second person."""
    return name.rstrip("0123456789")


class Decks:
    """Decks of alternatives: each is dealt to its end before any alternative recurs."""

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
    """Return a number below `count` as `Random.randrange` draws it from `Random.getrandbits`, in half the time."""
    size = count.bit_length()
    while (at := bits(size)) >= count:
        pass
    return at


def shuffled(rng: Random, count: int) -> list[int]:
    """Return the numbers below `count` as `Random.shuffle` orders them, in half the time."""
    left, bits = list(range(count)), rng.getrandbits
    for last in range(count - 1, 0, -1):
        size = (last + 1).bit_length()
        while (at := bits(size)) > last:
            pass
        left[last], left[at] = left[at], left[last]
    return left


class Realiser:
    """Writes texts of one format about one topic; a text avoids what earlier ones used."""

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
        """Return one text from the alternatives of a rule, in a tone if one is given.

        Raises:
            ValueError: for a rule that never ends, or verse that does not scan.
        """
        self._tone = tone.name if tone else ""
        if self._tone not in self._of_tone:
            rules = {**self._grammar.rules, **tone.rules} if tone else self._grammar.plain
            self._of_tone[self._tone] = {**self._shared, **rules}, {}
        self._rules, self._named_decks = self._of_tone[self._tone]
        self._bound, self._used, self._asides = {}, {}, 0
        return tidy(self._phrase(self._dealt(rule), DEPTH))

    def _dealt(self, rule: str) -> Phrase:
        deck = self._named_decks.get(rule)
        if deck is None:
            of_domain = f"{rule}_{self._topic.domain}"
            chosen = of_domain if of_domain in self._rules else rule
            name = (chosen, self._tone if chosen in TONED else bool(self._tone))
            deck = self._named_decks[rule] = name, self._rules[chosen]
        return self._decks.deal(*deck)

    def _phrase(self, phrase: Phrase, depth: int) -> str:
        return write(phrase, lambda slot: self._reference(slot, depth), self._pick)

    def _pick(self, options: tuple[Phrase, ...]) -> Phrase:
        return options[below(self._bits, len(options))]

    def _reference(self, reference: Slot, depth: int) -> str:
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
        deck = "do" if name in VERBS else name  # one deck, so that a text does not soon return to one of them
        value = str(values[self._decks.deal(deck, range(len(values)))])
        return marked(value) if name in NOUNS else value

    def _number(self, name: str, form: str) -> str:
        low, high = map(int, form.split("-"))
        value = self._rng.randint(low, high)
        return number(value) if name == "n" else f"{value:,}"

    def _named(self, name: str) -> str:
        """Return a name, day or time, the same throughout a text; a number distinguishes several."""
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
        """Draw a value that this text has not used yet."""
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


FILE = "writing/variants"
EVERYWHERE, SLOTS, SPOKEN, VERSE = "everywhere", "slots", "spoken", "verse"
"""Sections of the file, and styles of a grammar: spoken texts use contractions, verse has its own variants."""
SLOT = re.compile(r"(?P<before>[^{]*)\{(?P<name>[a-z]+)\}(?P<after>.*)")
DEGREES = ("very", "almost", "nearly", "not")
FIXED = ("at", "At", "all", "both", "them")
"""Words that change the sense of what follows: "at large", "at the moment", "all at once"."""
BARE = ("as", "As", "where", "than", "what", "whose")
"""Words whose clause may end with its verb, which then is not contracted: "where they are", "as I am to this"."""
BEFORE = r"\b" + "".join(rf"(?<!\b{word} )" for word in (*DEGREES, *FIXED, *BARE))
PREPOSITIONS = ("about", "for", "from", "of", "to", "with")
"""Words whose pronoun is not contracted with the verb after it: "the cost of it is", "most of you will"."""
AFTER = r"(?= (?:[a-z]|$))"
"""A contraction needs a word after it, as does a variant in verse, where line ends rhyme."""
TAKEN = re.compile(r"\w|'| (?:morning|noon|afternoon|evening|night|the )")
"""What may not follow a slot whose variant adds words after it."""
Part = str | Slot | Choice | Toned


def varied(grammar: Grammar) -> Grammar:
    """Return a grammar with a choice wherever one of its phrases has variants."""
    known = {SPOKEN: (SLOTS, EVERYWHERE, SPOKEN), VERSE: (VERSE,)}.get(grammar.style, (SLOTS, EVERYWHERE))
    rules = {rule: tuple(_varied(phrase, known) for phrase in phrases) for rule, phrases in grammar.rules.items()}
    return replace(grammar, rules=rules)


def _varied(phrase: Phrase, known: tuple[str, ...]) -> Phrase:
    parts: list[Part] = []
    for part in phrase:
        if isinstance(part, str):
            parts += _parts(part, known)
        elif isinstance(part, Choice):
            parts.append(Choice(tuple(_varied(option, known) for option in part.options)))
        else:
            parts.append(part)
    return _around_slots(parts, known)


def _around_slots(parts: list[Part], known: tuple[str, ...]) -> Phrase:
    """Return a phrase with a choice of surroundings for each of its slots that has variants."""
    slots = _slots(known)
    for at in range(len(parts) - 2, -1, -1):
        text, slot = parts[at], parts[at + 1]
        if isinstance(slot, Slot) and isinstance(text, str) and not slot.form.isalpha():
            after = parts[at + 2] if at + 2 < len(parts) else ""
            name = base_name(slot.name)
            for before, needed, options in slots.get(name if name in NAMED else slot.name, ()):
                if _fits(text, before, after, needed):
                    choice = Choice(tuple((left, slot, right) for left, right in options))
                    parts[at : at + 2] = [text.removesuffix(before), choice]
                    break
    return tuple(parts)


def _fits(text: str, before: str, after: Part, needed: str) -> bool:
    """Return whether a slot has the surroundings of its variants: the words before, and those after, if any."""
    word = text.endswith(before) and not text.removesuffix(before)[-1:].isalpha()
    if needed:
        return word and isinstance(after, str) and after.startswith(needed)
    return word and not (isinstance(after, str) and TAKEN.match(after))


@cache
def _slots(known: tuple[str, ...]) -> Mapping[str, list[tuple[str, str, list[tuple[str, str]]]]]:
    """Return, by slot, the words needed before and after it, and the words that may be there instead."""
    slots: dict[str, list[tuple[str, str, list[tuple[str, str]]]]] = {}
    for section, _, variants in parse_variants(pool_text(FILE)):
        if section in known and "{" in variants[0]:
            forms = [match for form in variants if (match := SLOT.fullmatch(form))]
            needed = forms[0]["after"]
            options = [(form["before"], "" if needed else form["after"]) for form in forms]
            slots.setdefault(forms[0]["name"], []).append((forms[0]["before"], needed, options))
    return slots


def _parts(text: str, known: tuple[str, ...]) -> list[str | Choice]:
    """Return the nonempty parts of a text: most texts are one part."""
    pattern, variants = _table(known)
    parts: list[str | Choice] = []
    done = 0
    for match in pattern.finditer(text):
        parts += [text[done : match.start()], variants[match[0]]]
        done = match.end()
    parts.append(text[done:])
    return [part for part in parts if part != ""]


@cache
def _table(known: tuple[str, ...]) -> tuple[re.Pattern[str], Mapping[str, Choice]]:
    """Return a pattern of all that has variants, and the choice that replaces each."""
    variants: dict[str, tuple[str, ...]] = {}
    short: set[str] = set()
    spoken: set[str] = set()
    for section, asked, listed in parse_variants(pool_text(FILE)):
        if section in known and "{" not in listed[0]:
            for forms in _cases(listed):
                variants.update(dict.fromkeys(forms[:asked], forms))
                short.update(forms[:asked] if section in (SPOKEN, VERSE) else ())
                spoken.update(forms[:asked] if section == SPOKEN else ())
    by_letter: dict[str, list[str]] = {}  # so that for most words of a text only the first letter is examined
    for form in sorted(variants, key=len, reverse=True):
        first = re.escape(form[0])
        apart = "".join(rf"(?<!\b{word} {first})" for word in PREPOSITIONS) if form in spoken else ""
        rest = apart + re.escape(form[1:]) + (AFTER if form in short else r"\b")
        by_letter.setdefault(form[0], []).append(rest)
    pattern = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_letter.items())
    choices = {form: Choice(tuple((variant,) for variant in forms)) for form, forms in variants.items()}
    return re.compile(f"{BEFORE}(?:{pattern})"), choices


def _cases(forms: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield variants as used within a sentence, and as used at its start."""
    yield forms
    if all(form[0].islower() for form in forms):
        yield tuple(form[0].upper() + form[1:] for form in forms)


def parse_variants(text: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield each line's section, how many of its variants, from the first, may be replaced, and all its variants.

    Raises:
        ValueError: naming a line without a second variant, or outside of a section.
    """
    section = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        variants = tuple(form.strip() for form in re.split("[|>]", line))
        if line.endswith(":") and line[:-1] in (EVERYWHERE, SLOTS, SPOKEN, VERSE):
            section = line[:-1]
        elif section and len(variants) > 1 and all(variants):
            yield section, 1 if ">" in line else len(variants), variants
        else:
            raise ValueError(f"variants: {line!r}: give 'this | that' or 'this > that' below a section")


NAMES = ("last", "writing/people", "writing/streets", "writing/towns", "writing/pairings", "writing/variants")


@cache
def formats() -> Mapping[str, Grammar]:
    """Return the grammars by the format's name in requests, in file order.

    Raises:
        ValueError: naming the file, the line and what is wrong with it.
    """
    return _by_name("writing/formats")


@cache
def tones() -> Mapping[str, Grammar]:
    """Return the rules of each tone, by the tone's name in requests, in file order."""
    return _by_name("writing/tones")


@cache
def common() -> Grammar:
    """Return the rules that all formats share."""
    return parse_grammar(pool_text("writing/common"), "common.txt")


def _by_name(folder: str) -> Mapping[str, Grammar]:
    parsed = (parse_grammar(pool_text(name), f"{name}.txt") for name in pools_in(folder))
    return {grammar.name: varied(grammar) for grammar in parsed}


@cache
def source_digest() -> str:
    """Return the digest of all files that texts are written from."""
    folders = ("writing/formats", "writing/tones", "writing/topics")
    return pool_digest(
        *NAMES, "writing/common", "writing/pairings", *(name for folder in folders for name in pools_in(folder))
    )


def unknown_references(grammar: Grammar) -> Iterator[str]:
    """Yield each rule and reference of a grammar that does not resolve."""
    tone = next(iter(tones().values()))
    known = {*grammar.rules, *common().rules, *tone.rules, *BUILT_IN, *(ref.bind for _, ref in grammar.references())}
    for rule, reference in grammar.references():
        if reference.name not in known and base_name(reference.name) not in NAMED:
            yield f"{rule}: {{{reference.name}}}"
