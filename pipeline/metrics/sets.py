"""Sets and routes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby, takewhile

from pipeline.metrics.forms import (
    COUNTING,
    EMPTY_LIST,
    HEX,
    MEMBERS,
    UNABLE,
    UUID,
    WITHOUT,
    compared,
    form_of,
    is_talk,
    listed,
    named_in,
    shaped_in,
    ungrouped,
)
from pipeline.metrics.reply import TABLE_HEAD, after_mark, without_markup, without_reasoning
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.text import (
    EXPLAINED,
    FINITE,
    JOINTS,
    LONG_LINE,
    MOST,
    TOKEN,
    f1,
    is_neutral,
    phrase,
    sentences_of,
    words_of,
)

EMPTY = re.compile(r"\[\s*\]|\{\s*\}|\\(?:emptyset|varnothing)\b|\u2205|\bset\(\)")
"""Notations of an empty set."""
NONE = re.compile(r"\b(?:none|no|nothing|empty|zero|0|(?:not|n't) (?:\w+ )?any)\b", re.IGNORECASE)
COPULA = re.compile(r"\b(?:is|are|was|were|be|includes?|namely|as follows)\b", re.IGNORECASE)
CONCLUSION = re.compile(
    r"(?:so|thus|hence|therefore|consequently|overall|altogether|in (?:conclusion|summary|total|all|short))\b",
    re.IGNORECASE,
)
"""How a conclusion begins."""
GROUNDS = re.compile(r"explanation\b|(?:reasoning|working|derivation|details?|notes?|steps) ?:", re.IGNORECASE)
"""How an explanation begins."""
ASIDE = re.compile(r"\([^()\n]*\)")
WORKING = re.compile(r"->|=|\u2192|\u21d2")
SPLIT = re.compile(f"({JOINTS.pattern})")
GLOSSES = frozenset({":", "-", "(", ")", "<", ">", "->"})
"""Joints that introduce a remark on the item before them."""
GLOSS = re.compile(
    r"(?:\s-{1,2}|\s?[\u2013\u2014:])\s(?:[a-z]|.*\b(?:is|are|was|were|has|had|says?|states?|stands?)\b).*$"
)
"""A remark on a name, after a dash or a colon."""
CAPITALS = re.compile(r"(?<![\w\x02])[A-Z][\w'-]*(?:(?: (?:of|the|at|near|in|on|&))* [A-Z][\w'-]*)*")
"""Capitalized words that form one name."""
LONG_MEMBER = 30
"""Characters allowed in a sentence for each member of a long list."""
SERVING = FINITE | words_of("the a an also sure thus hence therefore however finally consequently overall altogether")
"""Words that are never an item, even alone."""


def members(row: Row, prediction: str) -> float | None:
    """Score a set by the F1 of the items in the final answer, in any order; repeated items count once.

    The final answer is what follows a mark; without one, it starts at the last sentence that begins with ``so`` or the
    like, or else it is the whole reply. If some of its lines are lists, only these count. An item is anything that has
    the form of the row's members (UUIDs; numbers or hexadecimal names of about their length; words in capitals; names
    of several words); for members without such a form, it is a word that stands alone or is not ordinary. Words of the
    question, and what ``not`` denies, do not count as items. A reply must say that an empty set is empty, by ``[]`` if
    that is the target.

    A reply can be judged if its final answer has items of the members' form, or says that there are none; otherwise it
    is ``unparsed``.
    """
    wanted = set(_members(row))
    given, text = _given(row, prediction)
    if row["target"] == EMPTY_LIST and not given:
        return 1.0 if EMPTY.search(after_mark(without_markup(row, prediction))[0]) else None
    if not given and not (NONE.search(text) and not UNABLE.search(text)):
        return 0.0 if _repeats_question(row, text) else None
    if not wanted:
        return float(not given)
    return f1(len(wanted.intersection(given)), len(wanted), len(set(given)))


def route(row: Row, prediction: str) -> float | None:
    """Score a route by the share of its nodes that are right, up to the first wrong one.

    Nodes are the items of `members`, in order; a node that directly repeats the one before counts once, and nodes of
    the question do not count. If a reply gives more nodes than the route has, the share is of those it gives.

    A reply can be judged if its final answer has items of the nodes' form; otherwise it is ``unparsed``.
    """
    nodes, text = _given(row, prediction)
    wanted, given = ([node for node, _ in groupby(some)] for some in (_members(row), nodes))
    if not given:
        return 0.0 if _repeats_question(row, text) else None
    pairs = zip(given, wanted, strict=False)
    right = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return right / max(len(given), len(wanted))


def _members(row: Row) -> list[str]:
    """Return the members of a row's target as they are compared."""
    return list(map(compared, listed(row)))


def _given(row: Row, prediction: str) -> tuple[list[str], str]:
    """Return the items of a reply's final answer, in order, and the text of that answer."""
    question = str(row.get("question") or "")
    text, marked = after_mark(ungrouped(TABLE_HEAD.sub("", EMPTY.sub(" none ", without_markup(row, prediction)))))
    form = _members_form(row, text)
    talk = words_of(question) | COUNTING | named_in(question, form)

    names = listed(row) if " " in row["target"].replace(MEMBERS, "") else []

    def read(text: str) -> list[str]:
        return _titled(names, text, talk) if names else shaped_in(form, text, talk) if form else _worded(text, talk)

    forms = (GLOSS, EXPLAINED, ASIDE) if names else (EXPLAINED, ASIDE)
    many = len(listed(row))
    every = sentences_of(text, max(LONG_LINE, LONG_MEMBER * many), max(MOST, many))
    sentences = [_answering_part(sentence, read, forms) for sentence in every]
    sentences = sentences[_span(sentences, list(map(read, sentences)), marked=marked)]
    passages = [(lists, read("\n".join(some))) for lists, some in groupby(sentences, _lists)]
    listing = any(items for lists, items in passages if lists)
    return [item for lists, items in passages if lists or not listing for item in items], "\n".join(sentences)


def _members_form(row: Row, text: str) -> re.Pattern[str] | None:
    """Return the form of a row's members, or of what its question names if there are none."""
    named = [found[0] for kind in (UUID, HEX) for found in kind.finditer(str(row.get("question") or ""))][:1]
    return form_of(listed(row) or named, text)


def _repeats_question(row: Row, answer: str) -> bool:
    """Tell whether an answer is nothing but values of the members' form that the question names."""
    form = _members_form(row, answer)
    values = named_in(answer, form)
    asked = named_in(str(row.get("question") or ""), form)
    return form is not None and bool(values) and values <= asked and not re.search(r"\w", form.sub("", answer))


def _span(sentences: Sequence[str], items_by_sentence: Sequence[object], *, marked: bool) -> slice:
    """Return the slice of sentences that is the final answer: from the last conclusion on, or up to the explanation."""
    places = [at for at, items in enumerate(items_by_sentence) if items] or [0]
    ends = [at for at, each in enumerate(sentences[: places[-1] + 1]) if CONCLUSION.match(each)]
    if ends and not marked:
        return slice(ends[-1], None)
    return slice(0, next((at for at, each in enumerate(sentences) if at > places[0] and GROUNDS.match(each)), None))


def _titled(names: Sequence[str], text: str, talk: frozenset[str]) -> list[str]:
    """Return the multi-word names in a text, as they are compared: known ones, capitalized runs, lowercase pieces."""
    known = sorted(names, key=len, reverse=True)
    for number, name in enumerate(known):
        for form in {name, name.replace(" & ", " and ")}:
            text = phrase(form).sub(f"\x02{number}\x02", text)
    items = []
    for piece in JOINTS.split(text):
        if WITHOUT.isdisjoint(TOKEN.findall(piece.lower())):
            items += [known[int(number)] for number in re.findall("\x02(\\d+)\x02", piece)]
            runs = (TOKEN.findall(run) for run in CAPITALS.findall(piece))
            kept = ([word for word in run if not is_talk(word.lower(), talk | SERVING)] for run in runs)
            items += [" ".join(run) for run in kept if run]
            small = text == text.lower() and "\x02" not in piece
            items += (
                [piece] if small and not all(is_talk(word, talk | SERVING) for word in TOKEN.findall(piece)) else []
            )
    return list(map(compared, items))


def _worded(text: str, talk: frozenset[str]) -> list[str]:
    """Return the words of a text that are items, as they are compared.

    An item is a word alone between commas and the like, if several are; a word of a run that is mostly strange words;
    or the only strange word of other text.
    """
    head, colon, rest = text.partition(":")
    if colon and "\n" not in head and all(is_talk(token, talk) for token in TOKEN.findall(head.lower())):
        return _worded(rest, talk)
    pieces = _pieces(text)
    alone = [len(words) == 1 and not gloss and words[0] not in SERVING for words, gloss in pieces]
    items = []
    for (words, _), single in zip(pieces, alone, strict=True):
        kept = [word for word in words if talk.isdisjoint((word, word.rstrip("s"))) and word not in SERVING]
        strange = [word for word in kept if not is_neutral(word)]
        row = 2 * len(strange) > len(kept) and FINITE.isdisjoint(words)
        if single and sum(alone) > 1:
            items += words
        elif WITHOUT.isdisjoint(words) and (row or len(strange) == 1):
            items += kept if row else strange
    return list(map(compared, items))


def _pieces(text: str) -> list[tuple[list[str], bool]]:
    """Return the words of each piece of a text, without numbers, and whether they gloss the piece before."""
    first, *rest = SPLIT.split(COPULA.sub("\n", text))
    parts = [("\n", first), *zip(rest[::2], rest[1::2], strict=True)]
    return [
        ([word for word in TOKEN.findall(part.lower()) if not word.isdigit()], joint.strip() in GLOSSES)
        for joint, part in parts
    ]


def _answering_part(sentence: str, read: Callable[[str], object], forms: Sequence[re.Pattern[str]]) -> str:
    """Return a sentence without explanations and asides, unless no items remain."""
    for form in forms:
        without = form.sub(" ", sentence)
        sentence = without if read(without) else sentence
    return sentence


def _lists(sentence: str) -> bool:
    """Tell whether a text is a list rather than a sentence, a heading or working."""
    headed = sentence.endswith(":") or WORKING.search(sentence) is not None
    return not headed and FINITE.isdisjoint(TOKEN.findall(sentence.lower()))


def held(row: Row, prediction: str) -> float | None:
    """Score as RULER's string_match_all: the share of members that the reply contains, ignoring case.

    RULER has no empty sets; they are judged by `members`.
    """
    wanted, reply = listed(row), without_reasoning(prediction).lower()
    return sum(member.lower() in reply for member in wanted) / len(wanted) if wanted else members(row, prediction)


def last_line(row: Row, prediction: str) -> float | None:
    """Score as openai/graphwalks: F1 of a list after ``Final Answer:`` in the last line; 1 if both sets are empty.

    Two faults of the card's code are mended: it leaves these words on the first node, and scores 1 if no node is right.
    """
    line = without_reasoning(prediction).split("\n")[-1]
    found = re.search(r"Final Answer: ?(\[.*\])", line)
    if not found:
        return None
    wanted = set(listed(row))
    given = {item.strip() for item in found[1].strip("[]").split(",")} - {""}
    return f1(len(wanted & given), len(wanted), len(given)) if wanted or given else 1.0


MEMBERS_SCORER = Scorer(members, 7, "members", quirks={"f1": {}, "recall": held, "last_line": last_line})
ROUTE_SCORER = Scorer(route, 7, "route", ungraded="the order of the nodes counts, which the rule cannot see")
