"""Answers of several parts: in order, as a pair, or each with its source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pipeline.metrics.dates import DATED
from pipeline.metrics.glosses import unglossed
from pipeline.metrics.reply import PART, after_mark, plain
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.text import (
    BULLET,
    FINITE,
    LONG_LINE,
    RETRACTION,
    SENTENCE_END,
    TOKEN,
    alike,
    is_neutral,
    is_neutral_line,
    may_be_value,
    phrase,
    words_asked,
    words_of,
)
from pipeline.metrics.values import gives, stands_alone


def _passages(text: str, parts: int, *, marked: bool) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each passage that may be an answer of several parts, with the lines before and after it.

    Passages begin the text or, without a mark, may also end it. They are a sentence, a line, as many lines as parts,
    twice as many, a paragraph, or all of the text. Lines of neutral words alone are dropped first.
    """
    shown = [line for line in re.sub(r"\n\s*\n", "\n\n", text).splitlines() if not line or not is_neutral_line(line)]
    paragraphs = "\n".join(shown).strip().split("\n\n")
    lines = [line for line in shown if line]
    for size in dict.fromkeys((1, parts, 2 * parts, len(paragraphs[0].splitlines()), len(lines))):
        yield "\n".join(lines[:size]), [], lines[size:]
    first = SENTENCE_END.split(lines[0]) if lines else [""]
    yield first[0], [], [*first[1:], *lines[1:]]
    if marked:
        return
    for size in dict.fromkeys((1, parts, 2 * parts, len(paragraphs[-1].splitlines()))):
        yield "\n".join(lines[-size:]), lines[:-size], []
    last = SENTENCE_END.split(lines[-1]) if lines else [""]
    yield last[-1], [*lines[:-1], *last[:-1]], []


def _listed(
    row: Row,
    prediction: str,
    parts: int,
    judge: Callable[[str], bool],
    lists: Callable[[str], bool],
    strays: Callable[[str], bool],
) -> float | None:
    """Return 1 if a reply gives an answer of several parts in one passage, and no other, else 0; None if it is neutral.

    No other line may list values (`lists`), and without a mark none after the passage may give stray ones (`strays`).
    """
    text, marked = after_mark(plain(row, prediction))
    for passage, before, behind in _passages(text, parts, marked=marked):
        if len(passage) <= LONG_LINE + 500 * parts and judge(passage):
            others = [line for line in (*before, *behind) if not judge(line)]
            taken_back = any(map(RETRACTION.match, behind))
            return float(not (taken_back or any(map(lists, others)) or (not marked and any(map(strays, behind)))))
    return None if is_neutral_line(text) else 0.0


LISTING = re.compile(r"[,;/&]|\band\b")


def _lists_values(line: str, known: frozenset[str]) -> bool:
    """Tell whether a line that is no sentence lists values, or gives one that is not `known`."""
    words = TOKEN.findall(line.lower())
    values = [word for word in words if not is_neutral(word) and not re.fullmatch(r"\d{1,3}", word)]
    fresh = any(may_be_value(word, known) for word in words)
    return bool(values) and FINITE.isdisjoint(words) and (fresh or LISTING.search(line) is not None)


def all_in_order(row: Row, prediction: str) -> float | None:
    """Score several values: all parts of the answer in order, each in an accepted wording, and no other value.

    Parts are separated by ``; ``; further answers of a row are other wordings of the same parts. All parts must be in
    one passage of the reply, none of them twice, and the text between them is judged as by `exact`. Numbering and ages
    are ignored, and a passage with ``than`` is a comparison, not a list.

    A reply can be judged unless it consists of ordinary words alone; then it is ``unparsed``.
    """
    wordings = [str(answer).split(PART) for answer in row["answers"]]
    parts = [tuple(dict.fromkeys(forms)) for forms in zip(*wordings, strict=True)]
    asked = words_asked(row)
    known = asked | words_of(*map(DATED, row["answers"]))

    def judge(text: str) -> bool:
        return _lists_only(text, parts, asked)

    def strays(line: str) -> bool:
        places = [_first_of(line, [phrase(form) for form in forms]) for forms in parts]
        starts = [place.start() for place in places if place]
        turned = len(starts) == len(parts) and starts != sorted(starts)
        return turned or bool(alike(line, parts[0][0], known))

    return _listed(row, prediction, len(parts), judge, lambda line: _lists_values(line, known), strays)


def _lists_only(text: str, parts: Sequence[Sequence[str]], asked: frozenset[str]) -> bool:
    """Tell whether a text lists the parts in order, each in one of its forms, and no other value."""
    rest, masked = "\n".join(BULLET.sub("", line) for line in text.splitlines()), ""
    for each in parts:
        rest = unglossed(rest, each)
    patterns = [[phrase(form) for form in forms] for forms in parts]
    gaps = []
    for forms in patterns:
        found = _first_of(rest, forms)
        if found is None:
            return False
        gaps.append(rest[: found.start()])
        rest = rest[found.end() :]
    gaps.append(rest)
    said_again = any(_first_of(gap, forms) for gap in gaps for forms in patterns)
    masked = " \x01 ".join(gaps)
    return (
        not said_again
        and "than" not in TOKEN.findall(masked.lower())
        and stands_alone(masked, DATED(parts[0][0]), asked)
    )


def _first_of(text: str, forms: Iterable[re.Pattern[str]]) -> re.Match[str] | None:
    """Return the first match of any form; of matches that begin together, the longest."""
    found = [match for form in forms if (match := form.search(text))]
    return min(found, key=lambda match: (match.start(), -match.end()), default=None)


PAIR = " and "
"""The separator of the two names of a pair."""


def pair(row: Row, prediction: str) -> float | None:
    """Score the names of two people whose ages differ as asked, in either order.

    They are judged as by `all_in_order`; middle names may be left out, and no third person may be named. Where any
    fitting pair is right, the first answer is one such pair, and all answers after the second are the people of the
    text with their ages, as ``name, age``: both people named must be among them, and as far apart in age as those of
    the first answer.

    A reply can be judged unless it consists of ordinary words alone; then it is ``unparsed``.
    """
    target = str(row["answers"][0]).split(PAIR)
    known = dict(entry.rsplit(", ", 1) for entry in row["answers"][2:])
    asked = words_asked(row)

    def judge(text: str) -> bool:
        named = _named(text, known) if known else target
        fits = len(named) == 2 and (not known or _apart(named, known) == _apart(target, known))
        orders = ([_name_forms(name) for name in order] for order in (named, named[::-1]))
        return fits and any(_lists_only(text, parts, asked) for parts in orders)

    people = asked | words_of(*row["answers"])

    def strays(line: str) -> bool:
        return bool(alike(line, target[0], people)) or len(_named(line, known)) > 1

    return _listed(row, prediction, 2, judge, lambda line: _lists_values(line, people), strays)


def _named(final: str, known: Mapping[str, str]) -> list[str]:
    """Return the known people whom a text names."""
    lowered = final.lower()
    return [name for name in known if any(form.lower() in lowered for form in _name_forms(name))]


def _apart(names: list[str], known: Mapping[str, str]) -> int:
    one, other = (int(known[name]) for name in names)
    return abs(one - other)


def _name_forms(name: str) -> tuple[str, ...]:
    """Return a full name, and the same without middle names."""
    return name, f"{name.split()[0]} {name.split()[-1]}"


CITED = re.compile(r"\[[^\[\]\d]{0,12}(\d{1,6}(?:\.\d\d){0,2})\]|(?<![\w.,-])(\d{5})(?![\w-]|[.,]\d)")
"""A label: a number in square brackets, its digits perhaps grouped as in 1.23.45, or a number of five digits."""


def citation(row: Row, prediction: str) -> float | None:
    """Score values with their sources: all values in order, each with the label of its biography.

    A label is a number in square brackets, or one of five digits. The passage that answers must have exactly as many
    labels as the answer has parts. The text before a label (or after it, if the passage begins with a label) is the
    value of that part and is judged as by `exact`, so neither values nor labels can be listed.

    A reply can be judged unless it consists of ordinary words alone; then it is ``unparsed``.
    """
    answers = [[_sourced(part)[0] for part in str(answer).split(PART)] for answer in row["answers"]]
    wanted = list(zip(*answers, strict=True))
    asked = words_asked(row)

    def judge(text: str) -> bool:
        given = _sourced(text)
        return len(given) == len(wanted) and all(map(matches, given, wanted))

    def matches(given: tuple[str, int], forms: tuple[tuple[str, int], ...]) -> bool:
        name, number = given
        return number == forms[0][1] and bool(gives(name, [value for value, _ in forms], asked))

    def lists(line: str) -> bool:
        return CITED.search(line) is not None and FINITE.isdisjoint(TOKEN.findall(line.lower()))

    labels = {forms[0][1] for forms in wanted}

    def strays(line: str) -> bool:
        return any(number not in labels for _, number in _sourced(line))

    return _listed(row, prediction, len(wanted), judge, lists, strays)


def _sourced(text: str) -> list[tuple[str, int]]:
    """Return each label of a text as a number, with the text before it (after it, if the text starts with a label)."""
    labels = list(CITED.finditer(text))
    if not labels:
        return []
    numbers = [int((label[1] or label[2]).replace(".", "")) for label in labels]
    edges = [0, *(edge for label in labels for edge in label.span()), len(text)]
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    leads = TOKEN.search(gaps[0]) is None
    names = gaps[1:] if leads else [*gaps[:-2], f"{gaps[-2]} {gaps[-1]}"]
    return list(zip((one.strip(" \t\n;,.") for one in names), numbers, strict=True))


CITATION_SCORER = Scorer(
    citation,
    5,
    "cited",
    unnormalised="HELMET's own words for several values do not say how to cite",
)
ALL_IN_ORDER_SCORER = Scorer(all_in_order, 5, "parts")
PAIR_SCORER = Scorer(pair, 5, "pair")
