"""Summaries, scored by the people and years that they name."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice

from pipeline.metrics.dates import MONTH, MONTHS
from pipeline.metrics.reply import TABLE_HEAD, after_mark, reply_text, without_markup
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.sources import (
    ID,
    MOST_IDS,
    NUMBERS,
    SQUARE,
    TITLE_LINE,
    cut_statements,
    joined_pieces,
    with_ids_apart,
)
from pipeline.metrics.text import LONG_LINE, MOST, TOKEN, f1, is_neutral_line, may_be_value, words_asked

POINT = re.compile(r"([A-Z][\w'-]* [A-Z][\w'-]*), (\d{4})(?: ((?:\[\d{5}\])+))?")
"""A key point of an answer: a person, a year, and the ids of the entries that state it."""
POINT_FIGURES = ("recall", "precision", "sources")
"""What `key_points` measures: key points given, pairs that are key points, key points with a right id."""
FIVE_DIGITS = re.compile(r"\[[^\[\]\n]{0,60}?\d{5}[^\[\]\n]{0,200}\]|(?<![\w.-])\d{5}(?![\w-]|[.,]\d)")
SPAN = re.compile(r"(?<!\d)(1\d{3}) ?(?:-|/|to|until|till|through) ?(?:1\d{3}|\d\d)(?!\d)")
"""A span of years; the first counts, in which it began."""
BOUND = re.compile(
    r"\b(?:until|till|before|by|after|up to|as of|end of|beyond) (?:the end of )?(?:late |early |mid-?)?1\d{3}s?\b"
    r"|\b1\d{3}s\b|\bbetween 1\d{3} and 1\d{3}\b",
    re.IGNORECASE,
)
"""A time that is not the year of an event."""
YEAR = re.compile(r"(?:(?<![\w.,])|(?<=\b\d\d\.\d\d\.))1\d{3}(?!\w|[.,]\d| (?:pounds|guineas)\b)")
OMITTED = re.compile(
    r"\b(?:omit(?:s|ted|ting)?|exclud(?:e|es|ed|ing)|le(?:ft|ave|aves|aving)\b(?: \w+){0,3} (?:out|aside)"
    r"|skipp(?:ed|ing)|disregard(?:ed|ing)?|ignor(?:ed|ing)"
    r"|(?:not|n't|never) (?:be |been )?(?:count(?:ed|s)?|included?|listed|part of|belong)"
    r"|(?:after|beyond|outside|past) (?:of )?(?:the|this|that) (?:\w+ )?(?:cut-?off|period|range|scope|time ?frame)"
    r"|out of (?:range|scope)|too late)\b",
    re.IGNORECASE,
)
"""Statements that something is left out of the summary."""
ANNULLED = re.compile(
    r"\b(?:(?:set|setting) aside|annul\w*|str(?:uc|i)k(?:e|ing)? (?:out|down)|cancel\w*|void(?:ed)?|undone|overturn\w*"
    r"|rescind\w*|invalid\w*|nullif\w*|revers(?:ed|al)|revok\w*|(?:no longer|not) st(?:oo|an)d)\b",
    re.IGNORECASE,
)
"""Statements that a purchase was annulled."""
PURCHASES = re.compile(r"\b(?:purchases|sales|acquisitions)\b", re.IGNORECASE)
EVERY_ONE = re.compile(r"\b(?:were|both|all)\b", re.IGNORECASE)
UNDONE = re.compile(
    r"\W*(?:(?:the|those|these|all|purchases?|sales?|buyers?|owners?|that|which|who|were|was|had|been|later|then|did)\W+)*"
    rf"{ANNULLED.pattern}(?:\W+(?:purchases?|sales?|buyers?|owners?|later))?\W*",
    re.IGNORECASE,
)
"""A heading that only announces annulled purchases."""
NEVER = re.compile(r"\b(?:did(?: not|n't)|never)\b", re.IGNORECASE)
RESTORED = re.compile(
    r"\b(?:restor\w*|reinstat\w*|revived?|upheld|allowed after all|st(?:oo|an)ds? again)\b", re.IGNORECASE
)
OTHER_SIDE = re.compile(
    r"\b(?:from|than|replac(?:ing|ed)|succeed(?:ing|ed)|follow(?:ing|ed)|in (?:the )?(?:place|room) of) $",
    re.IGNORECASE,
)
"""Words before the name of the other party, who did not act."""
GOES_ON = re.compile(
    r"(?:and |then |later )*"
    r"(?:he|she|they|it|this|that|the (?:purchase|sale|lease|loan|mortgage|repairs?|post|tenancy|date|year))\b",
    re.IGNORECASE,
)
"""How a sentence begins that is still about the person named last."""
CLAUSE = re.compile(r"[()]|,(?! [A-Z][a-z]+\b(?! [A-Z]))|\b(?=(?:but|although|though|whereas|while|after)\b)")
SOMEBODY = re.compile(r"(?<!\bthe )(?<!\bThe )\b[A-Z][a-z]+ [A-Z][a-z]+\b")
STYLE = r"(?:Mr|Mrs|Ms|Miss|Master|Widow|Dame|Sir|Madam)"
DOTTED = re.compile(rf"\b({STYLE}|ca?|no|nos|approx)\. (?=[A-Z\d])")
DATE_PARTS = re.compile(rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?|1\d{{3}}|{MONTH})\b", re.IGNORECASE)
"""A year, month or day: the parts of a date."""
LONG_HEAD = 100
"""Characters of a heading that are read."""
HEADING = 2
"""Words allowed beside a name or year that belongs to the lines below it: "Buyer", "Lease of"."""
WRAPPED = re.compile(r"(?<=[a-z,])\n(?=[a-z])")
"""Where a sentence continues on the next line."""
CLOSING = re.compile(r"</\w{1,20}>")
Pair = tuple[str, str]


def key_points(row: Row, prediction: str, *, sourced: bool = False, figure: str = "f1") -> float | None:
    """Score a summary by its key points, which are pairs of a person and a year: their F1, or one of `POINT_FIGURES`.

    This follows SummHay (Laban et al. 2024, section 3), where it is known in advance what belongs in a summary and
    which documents support it. There, a model judges what a reply covers; here, names and years do. A reply is read by
    sentences and list items. In each of them, a person is paired with the year that belongs to the name or, if names
    and years do not alternate, with every year. People who are said to be left out, or whose purchase is said to be
    void, are ignored. Neither style nor other statements are judged. With the quirk `sourced`, a key point counts only
    if it is given with the id of an entry that states it.

    - recall: key points that are given, as a share of all.
    - precision: key points that are given, as a share of all pairs given.
    - sources: key points given with the id of an entry that states them, as a share of the key points given.

    A reply can be judged if a sentence, a list item or a table row has a person and a year; otherwise it is
    ``unparsed``.
    """
    sources, people = points_of(row)
    points = _points_of(row, prediction, people)
    if not points:
        return None
    right = [one for one in points if one in sources]
    backed = [one for one in right if not sources[one].isdisjoint(points[one])]
    if figure == "sources":
        return len(backed) / max(1, len(right))
    counted = len(backed if sourced else right)
    if figure in POINT_FIGURES:
        return counted / max(1, len(sources) if figure == "recall" else len(points))
    return f1(counted, len(sources), len(points))


def points_of(row: Row) -> tuple[dict[Pair, frozenset[str]], tuple[str, ...]]:
    """Return a row's key points with the ids of their entries, and all people in its last answer."""
    found = POINT.finditer(str(row["target"]))
    points = {(one[1], one[2]): frozenset(NUMBERS.findall(one[3] or "")) for one in found}
    return points, tuple(dict.fromkeys(one[1] for one in POINT.finditer(str(row["answers"][-1]))))


def _points_of(row: Row, prediction: str, people: tuple[str, ...]) -> dict[Pair, list[str]]:
    """Return the pairs of a person and a year that a reply gives, each with its ids.

    If a line gives only a name or only a year, the lines below it give the other one.
    """
    found, asked = dict[Pair, list[str]](), words_asked(row)
    last, names, year, held, alone = list[Pair](), list[str](), "", list[str](), False
    for sentence, ids in _summary_sentences(row, prediction):
        mentions = _named_in(sentence, people, asked)
        own, years = ([text for is_year, text in mentions if is_year is kind] for kind in (False, True))
        bare, pairs = bool(years) and _is_heading(DATE_PARTS.sub("", sentence)), list[Pair]()
        if own and years:
            pairs, names, year = _paired(mentions, sentence), [], ""
        elif own:
            pairs, names = [(name, year) for name in own if year], [] if year else own
            alone = len(TOKEN.findall(sentence)) <= (2 + HEADING) * len(own)
        elif years and names and (bare or alone or GOES_ON.match(sentence)):
            pairs, names = [(name, years[0]) for name in names], []
        elif bare:
            year, held = years[0], []
        if own and not pairs:
            held = []
        if pairs:
            last, ids, held = pairs, [*held, *ids], []
        elif names or bare:
            held += ids
        elif not years:
            pairs = [pair for pair in last if not found[pair]]
        for pair in pairs:
            found.setdefault(pair, []).extend(ids[: MOST_IDS * len(pairs)])
    return found


def _is_heading(rest: str) -> bool:
    """Tell whether the words beside a year are neutral, or so few that they only head what follows."""
    return is_neutral_line(rest) or len(TOKEN.findall(rest)) <= HEADING


def _summary_sentences(row: Row, prediction: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences and items of a summary, each with its ids, except what it says that it leaves out."""
    spaced = CLOSING.sub(" ", reply_text(prediction, str(row.get("question") or "")))
    flat = _flattened(WRAPPED.sub(" ", spaced))
    text = TABLE_HEAD.sub("", without_markup(row, TITLE_LINE.sub(r"\1:", flat)).translate(SQUARE))
    behind, marked = after_mark(text)
    text, ids = with_ids_apart(DOTTED.sub(r"\1 ", behind if marked and YEAR.search(behind) else text), FIVE_DIGITS)
    numbers, left_out = iter(ids), False
    for piece in joined_pieces(cut_statements(text, listing=False), listing=False):
        undone = ":" in piece and UNDONE.fullmatch(piece.partition(":")[0][:LONG_HEAD])
        if piece.rstrip().endswith(":"):
            left_out = bool(undone or OMITTED.search(piece)) and "summary" not in piece.lower()
        silent = left_out or undone or OMITTED.search(piece) or len(piece) > LONG_LINE
        for part in piece.split(";"):
            own = [number for _, number in zip(range(part.count(ID)), numbers, strict=False)]
            words = part.replace(ID, " ").strip()
            if not silent and (own or TOKEN.search(words)):
                yield words, own


def _flattened(text: str) -> str:
    """Return a text with each JSON object, and each list of more than numbers, turned into lines of values."""
    found, at = list[str](), 0
    for start in islice((one.start() for one in re.finditer(r"^[ \t]*[\[{]", text, re.MULTILINE)), MOST):
        if start < at:
            continue
        try:
            held, end = json.JSONDecoder().raw_decode(text[start:].lstrip())
        except (ValueError, RecursionError):
            continue
        if isinstance(held, dict) or any(isinstance(one, str | dict) for one in held):
            end += len(text[start:]) - len(text[start:].lstrip())
            found += [text[at:start], "\n".join(_lines_of(held)), "\n"]
            at = start + end
    return "".join([*found, text[at:]])


def _lines_of(held: object, name: str = "") -> Iterator[str]:
    """Yield JSON values as lines, an object of plain values as one line; keys are kept if they are names or numbers."""
    if isinstance(held, dict):
        cells = [list(_lines_of(one, key if NAME_OR_NUMBER.search(key) else "")) for key, one in held.items()]
        if any(
            isinstance(one, dict) or (isinstance(one, list) and any(map(_worth_a_line, one))) for one in held.values()
        ):
            yield from (f"{name} {line}".strip() for cell in cells for line in cell)
        else:
            yield " | ".join(filter(None, [name, *(" ".join(cell) for cell in cells)]))
    elif isinstance(held, list) and any(map(_worth_a_line, held)):
        for one in held:
            yield from _lines_of(one, name)
    else:
        words = " ".join(map(str, held)) if isinstance(held, list) else str(held)
        yield f"{name} {words}".strip()


NAME_OR_NUMBER = re.compile(r"\d|[A-Z]\w* [A-Z]")


def _worth_a_line(held: object) -> bool:
    """Tell whether a list's element is an object, a list or a text of several words."""
    return isinstance(held, dict | list) or (isinstance(held, str) and " " in held)


@lru_cache(maxsize=256)
def _named_in(sentence: str, people: tuple[str, ...], asked: frozenset[str]) -> tuple[tuple[bool, str], ...]:
    """Return the people and years in a sentence, in order, each with whether it is a year.

    Annulled purchases are left out, and so are all years but the first of a restored one. The cache serves endless
    replies, which repeat themselves.
    """
    restored, kept = RESTORED.search(sentence), list[list[tuple[bool, str]]]()
    plural: int | None = None  # where a plural ("the purchases") begins, all of which may turn out to be annulled
    for clause in CLAUSE.split(sentence):
        plural = len(kept) if PURCHASES.search(clause) else plural
        mentions = _scanned(clause, people, asked)
        names, years = ([one for one in mentions if one[0] is kind] for kind in (False, True))
        undone = ANNULLED.search(clause)
        if restored and (undone or RESTORED.search(clause)):
            kept.append([one for one in mentions if one in (*names, *years[:1])] if names else [])
        elif undone and not names and plural is not None and EVERY_ONE.search(clause):
            del kept[plural:]
        elif undone and not names:
            while kept and all(is_year for is_year, _ in kept.pop()):
                pass
        elif not undone and not (names and NEVER.search(clause)):
            kept.append(mentions)
    return tuple(one for some in kept for one in some)


def _scanned(clause: str, people: tuple[str, ...], asked: frozenset[str]) -> list[tuple[bool, str]]:
    """Return the people and years in a clause, in order; the other party only if nobody else is named."""
    text = BOUND.sub(lambda found: " " * len(found[0]), SPAN.sub(lambda found: f"{found[1]:<{len(found[0])}}", clause))
    found = [(one.start(), True, one[0]) for one in YEAR.finditer(text)]
    known = _known_in(text, people, asked)
    masked = text
    for start, end, _ in known:
        masked = f"{masked[:start]}{'_' * (end - start)}{masked[end:]}"
    others = [(one.start(), one.end(), one[0]) for one in SOMEBODY.finditer(masked) if _is_somebody(one[0], asked)]
    named = [(start, name) for start, _, name in (*known, *others)]
    doing = [(start, name) for start, name in named if not OTHER_SIDE.search(text[:start])]
    return [one[1:] for one in sorted([*found, *((start, False, name) for start, name in doing or named)])]


def _known_in(text: str, people: tuple[str, ...], asked: frozenset[str]) -> list[tuple[int, int, str]]:
    """Return the start and end of each mention of a known person in a clause, with the person's name.

    Patterns are slow to compile. So the pattern covers only people whose surname is in the clause, and a text that is
    just a full name, as in keys, needs none.
    """
    folded = text.lower()
    near = tuple(at for at, last in enumerate(_surnames(people)) if last in folded or not text.isascii())
    if len(near) == 1 and text == people[near[0]] and text[-1].isalnum():
        return [(0, len(text), text)]
    found = _forms_of(people, asked, near).finditer(text) if near else ()
    return [(one.start(), one.end(), _whom(text, one, people, asked)) for one in found]


@lru_cache(maxsize=256)
def _surnames(people: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lowercase surnames, which every form of a name contains; "" for names not in ASCII, which may vary."""
    return tuple(name.split(" ")[1].lower() if name.isascii() else "" for name in people)


@lru_cache(maxsize=1 << 10)
def _forms_of(people: tuple[str, ...], asked: frozenset[str], near: tuple[int, ...]) -> re.Pattern[str]:
    """Return a pattern of the people at `near`: full names in either order, and shorter ones that are unambiguous."""
    initials = Counter((name[0], name.split(" ")[1]) for name in people)
    surnames = Counter(name.split(" ")[1] for name in people)
    forms = []
    for at, name in ((at, people[at]) for at in near):
        first, last = map(re.escape, name.split(" "))
        own = [rf"(?i:{first} (?:[a-z]\.? )?{last})", rf"(?i:{last}, {first})"]
        if initials[name[0], name.split(" ")[1]] == 1:
            own.append(rf"{first[0]}\.? ?{last}")
        if surnames[name.split(" ")[1]] == 1 and last.lower() not in asked:
            own += [rf"{STYLE} {last}", rf"(?<!\bthe )(?<!\bThe ){last}(?! [A-Z])"]
        forms.append(rf"(?P<n{at}>\b(?:{'|'.join(own)})\b)")
    return re.compile("|".join(forms))


def _whom(text: str, found: re.Match[str], people: tuple[str, ...], asked: frozenset[str]) -> str:
    """Return whom a name means; a surname after another first name is a person who is not known."""
    name = people[int((found.lastgroup or "n0")[1:])]
    first = re.search(r"([A-Z][a-z]+) $", text[: found.start()])
    alone = found[0] == name.split(" ")[1] and first and _is_somebody(first[1], asked)
    return f"{first[1]} {found[0]}" if first and alone else name


def _is_somebody(name: str, asked: frozenset[str]) -> bool:
    """Tell whether capitalized words could name a person: none is neutral, a month or from the question."""
    return all(may_be_value(word, asked) and word.lower() not in MONTHS for word in TOKEN.findall(name))


def _paired(mentions: Sequence[tuple[bool, str]], sentence: str) -> list[Pair]:
    """Return the pairs of people and years in a sentence: in order if they alternate, else all with all."""
    runs = [[text for _, text in some] for _, some in groupby(mentions, key=lambda one: one[0])]
    by_year = mentions[0][0]
    if len(runs) == 2 and len(runs[0]) == len(runs[1]) and "respectively" in sentence.lower():
        groups = [([one], [other]) for one, other in zip(*runs, strict=True)]
    else:
        groups = [(runs[at], runs[at + 1]) for at in range(0, len(runs) - 1, 2)]
        if len(runs) % 2:  # the last run is of the same kind as the first, and goes with the run before it
            groups.append((runs[-1], runs[-2]))
    pairs = [
        (name, year)
        for one, other in groups
        for name in (other if by_year else one)
        for year in (one if by_year else other)
    ]
    return list(dict.fromkeys(pairs))


KEY_POINTS_SCORER = Scorer(
    key_points,
    5,
    "points",
    quirks={"f1": {}, "sourced": {"sourced": True}, **{name: {"figure": name} for name in POINT_FIGURES}},
    ungraded="a summary is wanted, which may be partly right",
    figures=POINT_FIGURES,
)
