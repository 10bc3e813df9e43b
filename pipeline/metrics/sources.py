"""Facts with the ids of documents that state them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.metrics.reply import TABLE_HEAD, after_mark, without_markup, without_reasoning
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.text import (
    BULLET,
    CHOOSING,
    LONG_LINE,
    MOST,
    NORMALISED,
    REFUSAL,
    SENTENCE_END,
    TOKEN,
    is_neutral_line,
    may_be_value,
    normalised,
    words_asked,
)
from pipeline.metrics.values import gives

FIGURES = ("correctness", "recall", "precision")
"""What `cited` measures: facts stated, statements that their ids support, ids that support a fact."""
SOURCED = re.compile(r"\s?([^\n]+?) ((?:\[\d{1,8}\])+)(?:[.,] ?|$)")
"""A fact in a target: a value, and the ids of all documents that state it."""
NUMBERS = re.compile(r"(?<![\w.,])\d{1,8}(?![\w]|[.,]\d)")
SOURCE = re.compile(r"\[[^\[\]\n]{0,200}\]|(?<![\w.,-])\d{5}(?![\w-]|[.,]\d)")
"""Where an id may be: in square brackets, or a bare number of five digits."""
NAMING_IDS = re.compile(
    r"(?:\W|_|\d|\b(?:and|or|docs?|documents?|ids?|sources?|refs?|references?|passages?|cit(?:e|ation)s?|see|no|nr)\b)*",
    re.IGNORECASE,
)
"""Brackets that only name ids: without a number of five digits, all numbers in them are ids."""
ID = "\x02"
"""The character that replaces each id while a text is split."""
BEHIND_STOP = re.compile(rf"([.!?]{{1,3}})((?:[ \t,;()]{{0,8}}{ID})+[ \t]?\)?)")
BEFORE_ID = re.compile(rf"(?<=[.!?])\s+(?=\(?{ID})")
BEHIND_ID = re.compile(rf"(?<={ID}[.!?])\s+")
ITEM_END = re.compile(rf"[,;]|(?<={ID})\)?\s+(?:and|&)\s|^and\s")
CONJUNCTION = re.compile(r"\s(?:and|&)\s")
MOST_IDS = 3
"""Ids of a statement that count: the first ones."""


class Statement(NamedTuple):
    """A sentence or list item: the indices of the facts that it claims, and its ids."""

    facts: frozenset[int]
    ids: tuple[str, ...]

    @property
    def counted(self) -> tuple[str, ...]:
        """The ids that may support it."""
        return self.ids[:MOST_IDS]


class Fact(NamedTuple):
    """A fact that is asked for: every wording of its value, and the ids that support it, any one of which is enough."""

    forms: tuple[str, ...]
    ids: frozenset[str]


def cited(row: Row, prediction: str, *, alce: bool = False, figure: str = "mean") -> float | None:
    """Score facts with the ids of documents that state them: the mean of three figures, or one of `FIGURES`.

    This follows ALCE (Gao et al. 2023, section 3), where a model judges whether documents support a statement; here the
    key does. A target like ``Oslo [24404][31337]. 1803 [11223].`` asks for sentences, ``Oslo [24404], Lima [11223]``
    for a list; further answers are other wordings of the same facts. A statement is a sentence or a list item, unless
    it says nothing and has no id. It claims the facts whose values it contains, and none if it leaves alternatives
    open; a list item must give one value and no other. Only its first three ids count.

    - correctness: facts that are claimed, as a share of those asked for; for a list, five are enough.
    - recall: statements that claim facts and give a supporting id for each of them, as a share of all statements.
    - precision: ids that support a claimed fact, in such statements, as a share of all ids given.

    With the quirk `alce`, a reply is read as by ALCE: only the first line, split at full stops or commas, with ids only
    directly after a bracket and values as substrings; ids that are not needed do not count.

    A reply can be judged unless it consists of ordinary words alone and has no id; then it is ``unparsed``.
    """
    facts, listing = _sourced_facts(row), "], " in str(row["target"])
    if alce:
        statements, claimed = _alce_statements(prediction, facts, listing=listing)
    else:
        statements = _statements(row, prediction, facts, listing=listing)
        claimed = frozenset[int]().union(*(one.facts for one in statements))
    if not statements:
        return None
    right = [one for one in statements if one.facts and _supported(one.facts, one.counted, facts)]
    most = min(5, len(facts)) if listing else len(facts)
    given = sum(len(one.counted if alce else one.ids) for one in statements)
    needed = _needed if alce else _supporting
    figures = (
        min(most, len(claimed)) / max(1, most),
        len(right) / max(1, len(statements)),
        sum(needed(one, facts) for one in right) / max(1, given),
    )
    return sum(figures) / len(figures) if figure == "mean" else figures[FIGURES.index(figure)]


def _sourced_facts(row: Row) -> list[Fact]:
    """Return the facts that a row asks for."""
    worded = [list(SOURCED.finditer(str(answer))) for answer in row["answers"]]
    return [
        Fact(tuple(dict.fromkeys(one[1] for one in forms)), frozenset(NUMBERS.findall(forms[0][2])))
        for forms in zip(*worded, strict=True)
    ]


def _supported(claimed: Iterable[int], ids: Sequence[str], facts: Sequence[Fact]) -> bool:
    """Tell whether ids support every fact that is claimed."""
    return all(not facts[one].ids.isdisjoint(ids) for one in claimed)


def _supporting(one: Statement, facts: Sequence[Fact]) -> int:
    """Return how many of a statement's ids support a fact that it claims."""
    return sum(any(each in facts[at].ids for at in one.facts) for each in one.counted)


def _needed(one: Statement, facts: Sequence[Fact]) -> int:
    """Return how many of a statement's ids support it alone, or are needed for all of them together to support it."""
    alone = [_supported(one.facts, [each], facts) for each in one.counted]
    without = [[*one.counted[:at], *one.counted[at + 1 :]] for at in range(len(alone))]
    return sum(
        is_enough or not _supported(one.facts, rest, facts) for is_enough, rest in zip(alone, without, strict=True)
    )


def _statements(row: Row, prediction: str, facts: Sequence[Fact], *, listing: bool) -> list[Statement]:
    """Return the statements of a reply, sentences or items, without those that only introduce or close it."""
    text = TABLE_HEAD.sub("", without_markup(row, TITLE_LINE.sub(r"\1:", prediction)).translate(SQUARE))
    behind, marked = after_mark(text)
    text, ids = with_ids_apart(behind if marked and SOURCE.search(behind) else text)
    asked, found, numbers = words_asked(row), list[Statement](), iter(ids)
    for place, piece in enumerate(joined_pieces(cut_statements(text, listing=listing), facts, listing=listing)):
        own = tuple(dict.fromkeys(number for _, number in zip(range(piece.count(ID)), numbers, strict=False)))
        words = piece.replace(ID, " ").strip()
        claimed = frozenset(_claimed(words, facts, asked, listing=listing)) if place < MOST else frozenset[int]()
        if claimed or own or not (words.endswith(":") or _empty(words, asked)):
            found.append(Statement(claimed, own))
    return found


TITLE_LINE = re.compile(
    r"^[ \t]{0,9}(?:#{1,6} |\*\*(?=[^*\n]{1,99}\*\*:?[ \t]{0,9}$))([^*\n:]{1,99})(?:\*\*)?:?[ \t]{0,9}$", re.MULTILINE
)
"""A line that is marked as a heading, or all bold."""
SQUARE = str.maketrans({"\u3010": "[", "\u3011": "]"})


def with_ids_apart(text: str, source: re.Pattern[str] = SOURCE) -> tuple[str, list[str]]:
    """Return a text with a mark in place of each id, and the ids in order."""
    ids = list[str]()

    def mark(found: re.Match[str]) -> str:
        numbers = NUMBERS.findall(found[0])
        own = [one for one in numbers if len(one) == 5] or (numbers if NAMING_IDS.fullmatch(found[0]) else [])
        ids.extend(own)
        return ID * len(own) or found[0]

    return source.sub(mark, text.replace(ID, " ")), ids


def cut_statements(text: str, *, listing: bool) -> Iterator[str]:
    """Yield the sentences or list items of a text, each with the ids after it, or before it if its line begins so."""
    for line in filter(str.strip, text.splitlines()):
        bare = BULLET.sub("", line).strip()
        leads = bare.lstrip("( ").startswith(ID)
        sentences = BEFORE_ID.split(bare) if leads else [BEHIND_STOP.sub(r" \2\1 ", bare)]
        sentences = [each for one in sentences for each in BEHIND_ID.split(one)]
        for sentence in (each for one in sentences for each in SENTENCE_END.split(one)):
            yield from ITEM_END.split(sentence) if listing else [sentence]


def joined_pieces(pieces: Iterable[str], facts: Sequence[Fact] = (), *, listing: bool) -> Iterator[str]:
    """Yield pieces with words, each with any lone ids after it if it has none itself, or is an item.

    Ids with ordinary words are lone too, unless these are a value (*The Cradle and the Well*).
    """
    held = list[str]()
    for piece in pieces:
        bare = NAMING_IDS.fullmatch(piece.replace(ID, " ")) and not any(map(str.isdigit, piece))
        alone = ID in piece and (bare or (is_neutral_line(piece) and not _states(piece.replace(ID, " "), facts)))
        if held and alone and (listing or not any(ID in one for one in held)):
            held.append(ID * piece.count(ID))
        elif TOKEN.search(piece) or ID in piece:
            if held:
                yield " ".join(held)
            held = [piece]
    if held:
        yield " ".join(held)


def _states(sentence: str, facts: Sequence[Fact]) -> bool:
    """Tell whether a text contains the value of a fact."""
    words = f" {normalised(sentence)} "
    return any(_stands(fact, words) for fact in facts)


def _stands(fact: Fact, words: str) -> bool:
    """Tell whether a normalised text, with a space at either end, contains a form of a fact."""
    return any(f" {NORMALISED(form)} " in words for form in fact.forms)


def _claimed(sentence: str, facts: Sequence[Fact], asked: frozenset[str], *, listing: bool) -> Iterator[int]:
    """Yield the indices of the facts that a statement claims: none if it leaves a choice, refuses or is too long."""
    choosing = not (CHOOSING - asked).isdisjoint(TOKEN.findall(sentence.lower()))
    if len(sentence) > LONG_LINE or REFUSAL.search(sentence) or choosing:
        return
    words = f" {normalised(sentence)} | {normalised(POSSESSIVE.sub('', sentence))} "
    for at, fact in enumerate(facts):
        if _stands(fact, words) and (not listing or _is_item(sentence, fact, asked)):
            yield at


POSSESSIVE = re.compile(r"(?<=\w)'s\b")


def _is_item(sentence: str, fact: Fact, asked: frozenset[str]) -> bool:
    """Tell whether an item is the value of a fact, perhaps with an introduction, and no other value."""
    forms = [NORMALISED(form) for form in fact.forms]
    parts = [normalised(part) for part in (sentence, sentence.rpartition(": ")[2], *CONJUNCTION.split(sentence))]
    return any(form in parts for form in forms) or bool(gives(sentence, fact.forms, asked))


def _empty(sentence: str, asked: frozenset[str]) -> bool:
    """Tell whether a text consists of ordinary words and those of the question."""
    return not any(may_be_value(word, asked) for word in TOKEN.findall(sentence))


def _alce_statements(
    prediction: str, facts: Sequence[Fact], *, listing: bool
) -> tuple[list[Statement], frozenset[int]]:
    """Return the statements of a reply as ALCE's code splits it, and the indices of all facts that it claims."""
    line = without_reasoning(prediction).strip().split("\n")[0].replace("<|im_end|>", "")
    if listing:
        pieces = line.rstrip().rstrip(".").rstrip(",").split(",")
    else:
        pieces = [piece for piece in STOP.split(line) if len(piece.strip()) >= SHORTEST]
    ids = [tuple(each[1:] for each in re.findall(r"\[\d+", piece)) for piece in pieces]
    claimed = [_alce_claimed(piece, facts, listing=listing) for piece in pieces]
    whole = frozenset[int]().union(*claimed) if listing else _alce_claimed(line, facts, listing=False)
    return list(map(Statement, claimed, ids)), whole


def _alce_claimed(text: str, facts: Sequence[Fact], *, listing: bool) -> frozenset[int]:
    """Return the indices of the facts whose value equals an item, or is within a sentence, as ALCE compares them."""
    bare = normalised(re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", text)).replace(" |", "").replace("]", ""))
    forms = [[NORMALISED(form) for form in fact.forms] for fact in facts]
    return frozenset(
        at for at, some in enumerate(forms) if any(form == bare if listing else form in bare for form in some)
    )


STOP = re.compile(r"""(?<=[.?!])\s+|(?<=[.?!]["')\]])\s+""")
SHORTEST = 5
"""Characters of the shortest sentence that HELMET's copy of ALCE reads."""
CITED_SCORER = Scorer(
    cited,
    5,
    "sourced",
    quirks={"mean": {}, "alce": {"alce": True}, **{name: {"figure": name} for name in FIGURES}},
    ungraded="facts are asked for together with the ids of documents that state them",
    figures=FIGURES,
)
