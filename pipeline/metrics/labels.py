"""Categories and labels."""

from __future__ import annotations

import re

from pipeline.metrics.numbers import NUMERAL, numbered, numeral
from pipeline.metrics.published import labelled
from pipeline.metrics.reply import plain, unaccented
from pipeline.metrics.scorer import NUMBER, Row, Scorer
from pipeline.metrics.text import DENIED_VALUE, EXPLAINED, LONG_LINE, SEVERAL, TOKEN, settled_on

CATEGORY = re.compile(
    r"(?P<denied>\b(?:not|never|isn't|nor|or) )?"
    r"\b(?:(?:categor(?:y|ies)|class|labels?)\b(?: (?:of|for) [a-z' -]{1,60}? (?=is\b))?[ #:(]{0,3}"
    r"|(?<=, )|(?<=and )|(?<=& )|(?<=or ))(?:(?:is|are) )?"
    r"(?P<number>\d{1,3})\b(?![/.-]\d)"
)
BARE_CATEGORY = re.compile(r"(?:the )?(?:category|class|label)?[ #:(]{0,3}(\d{1,3})[).]*")
"""An answer that is a category and nothing else."""
SEVERAL_NUMBERS = re.compile(r"\W*(?:either )?\d{1,3}(?:\W+(?:(?:or|and|to) )?\d{1,3}){1,20}\W*")
CONTINUED = re.compile(r"(?P<first>[^\n]{1,200})\n{1,3}(?!label\b)[^\n]{1,2000}\nlabel:", re.IGNORECASE)
"""A label, followed by another message with its label: how a base model goes on."""
WORDED_LABEL = re.compile(r"(?<![a-z-])[a-z]{1,40}(?:-[a-z]{1,40}){1,5}(?![a-z-])")
"""A label in words."""
LABEL_CUE = re.compile(
    r"\W*(?:(?:so|thus|therefore),? )?(?:the )?(?:(?:right|correct|final) )?(?:label|category|class|answer)\b"
    r"(?: (?:of|for) [^:\n]{1,60}?(?= (?:is|would be)\b))?[ \"':=]{0,3}(?:\b(?:is|would be|should be)\b)?\W*",
    re.IGNORECASE,
)


def label(row: Row, prediction: str) -> float | None:
    """Score one category, like ``Category 7`` or ``7``, or a label in words, like ``renew-gym``.

    A number counts after ``category``, ``class`` or ``label``, or if it is all there is. The answering sentence must
    name the target and no other: two numbers, or one after ``not`` or ``or``, score 0. Without a mark, the first
    sentence that names one is the answer if it consists of nothing else, or contains a name that the question asks
    about; otherwise the last one is. If a label is followed by another message and its label, the first one is the
    answer.

    Other labels come from users' own texts, like ``card_arrival``: the line that gives the label must contain nothing
    else; only letters and digits are compared.

    A reply can be judged if it names a category or a label; for labels from users' own texts, any reply can be.
    Otherwise it is ``unparsed``.
    """
    asked = str(row.get("question") or "")
    names = {word for word in TOKEN.findall(asked) if word[0].isupper()} if asked.startswith("Which ") else set()
    text, marked = numbered(plain(row, prediction))
    target = str(row["answers"][-1])
    if not target.isdigit() and not WORDED_LABEL.fullmatch(target):
        given = _given_label(text)
        return float(given == _letters(unaccented(target))) if given else None
    read, bare = (_category, _bare_category) if target.isdigit() else (_worded_label, _bare_label)
    continued = CONTINUED.match(text.lstrip())
    text = continued["first"] if continued and bare(continued["first"]) else text

    def leads(sentence: str) -> bool:
        return bare(sentence) or not (names - {"Which"}).isdisjoint(TOKEN.findall(sentence))

    wanted = int(target) if target.isdigit() else target
    found = settled_on(text, read, leads, marked=marked, bare=bare)
    return None if found is None else float(found == wanted)


def _given_label(text: str) -> str:
    """Return the label that a reply gives on a line of its own: after the last cue, or on the first line."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)] or [""]
    continued = CONTINUED.match(text.lstrip())
    alone = LABEL_CUE.match(lines[0]) or (continued and not re.search(r"[.!?]\W*$", lines[0]))
    cued = [] if alone else [line for line in lines if LABEL_CUE.match(line)]
    line = cued[-1] if cued else lines[0]
    return _letters(LABEL_CUE.sub("", line, count=1) if LABEL_CUE.match(line) else line)


def _letters(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))


def _worded_label(sentence: str) -> str | None:
    """Return the worded label in a sentence, SEVERAL for more than one or a denied one, None for none."""
    lowered = sentence[-LONG_LINE:].lower().replace("_", "-")
    found = list(WORDED_LABEL.finditer(lowered))
    if not found:
        return None
    several = len({each[0] for each in found}) > 1 or DENIED_VALUE.search(lowered[: found[-1].start()])
    return SEVERAL if several else found[-1][0]


def _bare_label(sentence: str) -> bool:
    return re.fullmatch(rf"(?:label\W{{0,3}})?{WORDED_LABEL.pattern}\W*", sentence.lower().strip(" \"'")) is not None


def _bare_category(sentence: str) -> bool:
    return BARE_CATEGORY.fullmatch(sentence.lower().strip(" \"'")) is not None


def _category(sentence: str) -> int | str | None:
    """Return the category in a sentence, SEVERAL for more than one or a denied one, None for none."""
    lowered = NUMERAL.sub(numeral, sentence[-LONG_LINE:]).lower()
    short = EXPLAINED.sub("", lowered)
    lowered = short if CATEGORY.search(short) else lowered
    alone = BARE_CATEGORY.fullmatch(lowered.strip(" \"'"))
    if alone:
        return int(alone[1])
    if SEVERAL_NUMBERS.fullmatch(lowered):
        return SEVERAL
    named = list(CATEGORY.finditer(lowered))
    numbers = {int(found["number"]) for found in named}
    if not re.search(r"categor|class|label", lowered) or not numbers:
        return None
    return SEVERAL if len(numbers) > 1 or any(found["denied"] for found in named) else numbers.pop()


LABEL_SCORER = Scorer(label, 4, "number", quirks={"alone": {}, "em": labelled}, ungraded=NUMBER)
