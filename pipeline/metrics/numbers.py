"""Numbers: years, views of a latent list, counts."""

from __future__ import annotations

import re
from collections.abc import Hashable

from pipeline.metrics.dates import DAY
from pipeline.metrics.reply import after_mark, plain, without_reasoning
from pipeline.metrics.scorer import NUMBER, Row, Scorer
from pipeline.metrics.text import BESIDE, DENIED_VALUE, EXPLAINED, LONG_LINE, SEVERAL, TOKEN, settled_on

INTEGER = re.compile(r"(?<![\d.])[-+]?\d{1,30}(?![\d.]*\d)")
GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
PRINTED = re.compile(r"(?<!\[)\[\s{0,3}(?:[-+]?\d{1,9}(?:\s{0,3},\s{0,3}[-+]?\d{1,9}){0,2000})?\s{0,3}\](?!\])")
SUM = re.compile(r"(?<![\w.])-?\d{1,9}(?:\s{0,2}[-+]\s{0,2}\(?-?\d{1,9}\)?){1,200}(?![\d.]*\d)")
"""Arithmetic; only its result is an answer."""
CALL = re.compile(r"\b[a-z]\w{0,20}(?:\([^()\n]{0,100}\)|\[[^\[\]\n]{0,100}\])")
"""Python repeated from the prompt, like ``sum(a[1:3])``."""
BRACKETS = re.compile(r"\([^()\n]*\)|\[[^\[\]\n]*\]")
SMALL = re.findall(
    "[a-z]+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
)
TENS = re.findall("[a-z]+", "twenty thirty forty fifty sixty seventy eighty ninety")
NUMERAL = re.compile(
    rf"\b(?:({'|'.join(TENS)})(?:[- ]({'|'.join(SMALL[1:10])}))?|one(?= years?\b|\W*$)|"
    rf"({'|'.join(name for name in reversed(SMALL) if name != 'one')}))\b",
    re.IGNORECASE,
)
"""A number in words below a hundred. `one` is a number only if it counts years or ends the text."""
ASKED_NUMBER = re.compile(
    r"\b(?:differ(?:s|ence)?|apart|(?:older|younger) than|sum|total|min(?:imum)?|max(?:imum)?|smallest|largest|lowest"
    r"|highest|len|length|elements|items|result|outputs?|prints?|returns?)\b",
    re.IGNORECASE,
)


def numeral(found: re.Match[str]) -> str:
    """Return the digits of a match of `NUMERAL`."""
    tens, unit, small = ((each or "").lower() for each in found.groups())
    if tens:
        return str(10 * TENS.index(tens) + 20 + (SMALL.index(unit) if unit else 0))
    return str(SMALL.index(small) if small else 1)


def integer_of(sentence: str) -> int | str | None:
    """Return the number that a sentence gives, SEVERAL for alternatives and a denied one, None for none.

    Of several numbers the last counts. Those in explanations, arithmetic and brackets are ignored if others remain.
    """
    text = GROUPING.sub("", NUMERAL.sub(numeral, CALL.sub("", sentence[-LONG_LINE:])))
    text = text.replace(" minus ", " - ").replace(" plus ", " + ")
    for form in (EXPLAINED, BRACKETS, SUM):
        without = form.sub(" ", text)
        text = without if INTEGER.search(without) else text
    found = list(INTEGER.finditer(text))
    if not found or (SUM.search(text) and not SUM.sub("", text).strip(" .=")):
        return None
    between = text[found[-2].end() : found[-1].start()] if len(found) > 1 else "-"
    others = len(found) > 1 and int(found[-2][0]) != int(found[-1][0])
    listed = others and ((BESIDE.fullmatch(between) and "=" not in between) or re.search(r"\bor\b", between))
    return SEVERAL if listed or DENIED_VALUE.search(text[: found[-1].start()]) else int(found[-1][0])


def is_bare_number(sentence: str) -> bool:
    """Tell whether a sentence is nothing but a number, perhaps of years."""
    words = set(TOKEN.findall(INTEGER.sub("", NUMERAL.sub(numeral, BRACKETS.sub("", sentence))).lower()))
    return words <= {"year", "years", "about", "exactly"} and "=" not in sentence


ENDS_SENTENCE = re.compile(r"\A\s*(\d{1,3}[.)])[ \t]+(?=[A-Z]\D*\Z)")
"""A number that ends a sentence, with no number after it: "23. Let me know" begins no list."""


def numbered(text: str) -> tuple[str, bool]:
    """Return what follows the last mark, as `after_mark`, with a line break after a number that ends a sentence."""
    behind, marked = after_mark(text)
    return (ENDS_SENTENCE.sub(r"\1\n", behind) if marked else behind), marked


def _number(row: Row, prediction: str) -> Hashable:
    """Return the whole number that a reply settles on, SEVERAL for more than one, None for none."""
    text, marked = numbered(plain(row, prediction))

    def leads(sentence: str) -> bool:
        return is_bare_number(sentence) or bool(ASKED_NUMBER.search(sentence))

    return settled_on(text, integer_of, leads, marked=marked, bare=is_bare_number)


def last_integer(row: Row, prediction: str) -> float | None:
    """Score a whole number: the one in the answering sentence must be the target.

    Without a mark, the first sentence with a number is the answer if it is just the number or says what the number is
    (``the difference is 11``); otherwise the last one is. Of several numbers in the sentence, the last one counts,
    leaving aside explanations, arithmetic and brackets. A number after ``not``, and alternatives like ``14 or 10``,
    score 0. Numbers may be grouped by commas or written in words.

    A reply can be judged if it has a whole number, in digits or, below a hundred, in words; otherwise it is
    ``unparsed``.
    """
    found = _number(row, prediction)
    return None if found is None else float(found == int(row["target"]))


def latent_list(row: Row, prediction: str, *, values: bool = False) -> float | None:
    """Score a view of a latent list (Michelangelo, section 2.1).

    For ``print``, the list in the answering sentence must equal the target character for character, or with the quirk
    `values` only in its numbers. The last list of the sentence counts, and it must not be one of several alternatives.
    For other views, the number g in the answering sentence (see `last_integer`) is compared with the target t:
    ``1 - min(1, |t - g| / (1e-10 + |t|))``.

    A reply can be judged if it has a whole number or, for ``print``, a list of whole numbers in square brackets;
    otherwise it is ``unparsed``.
    """
    if row["subtask"].partition("-")[0] != "print":
        given = _number(row, prediction)
        if isinstance(given, int):
            return closeness(int(row["target"]), given)
        return None if given is None else 0.0
    text, marked = after_mark(plain(row, prediction))
    found = settled_on(text, _printed, _bare_list, marked=marked, bare=_bare_list)
    wanted = str(row["target"])
    if values and isinstance(found, str):
        found, wanted = (",".join(INTEGER.findall(each)) for each in (found, wanted))
    return None if found is None else float(found == wanted)


def _printed(sentence: str) -> str | None:
    """Return the last list in a sentence, SEVERAL if it is denied or one of alternatives, None if there is none."""
    found = list(PRINTED.finditer(sentence))
    if len(found) > 1 and found[-2][0] != found[-1][0]:
        between = sentence[found[-2].end() : found[-1].start()]
        if BESIDE.fullmatch(between) and not re.search(r"[=>:]", between):
            return SEVERAL
    denied = found and DENIED_VALUE.search(sentence[: found[-1].start()])
    return SEVERAL if denied else found[-1][0] if found else None


def _bare_list(sentence: str) -> bool:
    """Tell whether a sentence is nothing but a list."""
    return not TOKEN.search(PRINTED.sub("", sentence))


def closeness(target: int, given: int) -> float:
    """Return 1 minus the error relative to the target, at least 0."""
    return 1.0 - min(1.0, abs(target - given) / (1e-10 + abs(target)))


COUNTED = re.compile(
    r"\b(?:there (?:are|were|is|was)|number of|total|altogether|in all|exactly|count(?:ed)?)\b"
    r"|\b(?:received|found|handled) \d|\d (?:of (?:the|these|those|its|their|them) |such )?(?:messages?\b|ask)",
    re.IGNORECASE,
)
"""Phrases of a sentence that gives a number of messages."""
PART_OF = re.compile(r"[.;]\s{1,3}(?=(?:of|among) (?:these|those|them)\b)", re.IGNORECASE)


def count(row: Row, prediction: str) -> float | None:
    """Score a count of things: the number in the answering sentence must be the target.

    Numbers from the question, such as those of people, do not count, nor do days of the month (``14 March``). Without a
    mark, the first sentence with a number is the answer if it is just the number or says how many there are; otherwise
    the last one is. ``of these`` joins two sentences; all else is as in `last_integer`.

    A reply can be judged if it has a whole number that is neither in the question nor a day of the month; otherwise it
    is ``unparsed``.
    """
    asked = str(row.get("question") or "")
    named = "|".join(
        rf"\b{noun} {{1,3}}\d+|(?<!\d){number}(?!\d)" for noun, number in re.findall(r"(\w+) (\d+)", asked)
    )
    text, marked = numbered(PART_OF.sub(", ", DAY.sub("", plain(row, prediction))))
    text = re.sub(named, "", text, flags=re.IGNORECASE) if named else text

    def leads(sentence: str) -> bool:
        return is_bare_number(sentence) or bool(COUNTED.search(sentence))

    found = settled_on(text, integer_of, leads, marked=marked, bare=is_bare_number)
    return None if found is None else float(found == int(row["target"]))


def near_count(row: Row, prediction: str) -> float | None:
    """Score a number as OOLONG does (section 3): ``0.75 ** abs(target - given)``.

    The number is what follows the last colon, without asterisks and square brackets. Without a colon it is the whole of
    a short reply, or the last word.
    """
    reply = without_reasoning(prediction)
    given = reply if len(reply) < SHORT else reply.split()[-1:]
    if ":" in reply:
        given = re.sub(r"[*\[\]]", "", reply.rpartition(":")[2].strip())
    try:
        return float(0.75 ** abs(int(row["target"]) - int("".join(given))))
    except (ValueError, OverflowError):
        return None


SHORT = 20
"""Characters below which OOLONG takes a whole reply without colons as the answer."""
LATENT_LIST_SCORER = Scorer(
    latent_list,
    4,
    "view",
    quirks={"characters": {"values": False}, "values": {"values": True}},
    unnormalised="a list of numbers is wanted, and HELMET drops brackets, commas and signs before it compares",
)
LAST_INTEGER_SCORER = Scorer(last_integer, 4, "number", ungraded=NUMBER)
COUNT_SCORER = Scorer(count, 4, "number", quirks={"exact": {}, "oolong": near_count}, ungraded=NUMBER)
