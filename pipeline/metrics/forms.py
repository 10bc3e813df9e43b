"""Values that are recognised by their form: UUIDs, numbers, hexadecimal names, words in capitals."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from pipeline.metrics.numbers import SMALL, TENS
from pipeline.metrics.reply import after_mark, without_markup
from pipeline.metrics.scorer import Row
from pipeline.metrics.text import (
    CHOOSING,
    DENIALS,
    JOINTS,
    REFUSAL,
    SEVERAL,
    TOKEN,
    is_neutral,
    settled_on,
    words_asked,
    words_of,
)

MEMBERS = ", "
"""The separator of a target's members. The target of an empty set is `NO_MEMBERS` or `EMPTY_LIST`."""
NO_MEMBERS = "none"
EMPTY_LIST = "[]"
"""The target of an empty set in languages other than English, where no word for it is read."""
GROUPED = re.compile(r"(?<![\w.])\d{1,3}(,|\{,\}|[. _'])\d{3}(?:\1\d{3})+(?!\w|\1\d{3}(?!\d))")
"""A number of at least seven digits, grouped in threes."""
UUID = re.compile(
    r"(?<![\w-])(?:[0-9a-f]{6,10}(?:-[0-9a-f]{2,6}){3}-[0-9a-f]{10,14}|[0-9a-f]{30,34})(?![\w-])", re.IGNORECASE
)
HEX = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE)
FUNCTION_NAME = re.compile(r"(?<![A-Za-z0-9_])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![A-Za-z0-9_]|\.[a-z_])")
"""A function name of several words, perhaps with its module's name before it."""
ARGUMENTS = re.compile(r"(?<=\w)\([^()\n]*\)")
CLAUSES = re.compile(r"; |,? (?:but|while|whereas)\b")
UNABLE = re.compile(
    r"\b(?:cannot|can't|could(?: not|n't)|unable|impossible|not possible|do(?: not|n't) (?:know|have)|no idea|unsure"
    r"|not sure|not enough|insufficient|no (?:\w+ )?(?:information|answer|way))\b",
    re.IGNORECASE,
)
COUNTING = words_of(
    "appearance assigned assignment code coded common commonest count counting direct directly distance each equal "
    "frequency frequent frequently initially item level member node none number occur occurrence occurring often once "
    "reach reachable reached respectively set step time top total transitively twice value var variable via word",
    *SMALL,
    *TENS,
)
"""Words, in the singular, that are neutral in answers about sets and counts, besides those neutral everywhere."""
WITHOUT = DENIALS | {"except", "excluded", "excluding", "nor"}


def shaped(row: Row, prediction: str, form: re.Pattern[str]) -> float | None:
    """Score one UUID or number: the answering clause must give it, and no other value of its form.

    Without a mark, the first clause with a value answers if all its other words are neutral or from the question, else
    the last clause with a value. No other clause of such words may give another value. ``or`` and a refusal score 0.
    """
    talk = words_asked(row) | COUNTING | named_in(str(row.get("question") or ""), form)

    def read(sentence: str) -> Hashable:
        items = frozenset(shaped_in(form, sentence, talk))
        unsure = not CHOOSING.isdisjoint(TOKEN.findall(sentence.lower())) or REFUSAL.search(sentence)
        return SEVERAL if (items and unsure) or UNABLE.search(sentence) else items or None

    def presents(sentence: str) -> bool:
        return all(is_talk(token, talk) for token in TOKEN.findall(form.sub(" ", sentence).lower()))

    text, marked = after_mark(ungrouped(without_markup(row, prediction)))
    found = settled_on(CLAUSES.sub("\n", text), read, presents, marked=marked, bare=presents)
    wanted = [frozenset({compared(str(answer))}) for answer in row["answers"]]
    return None if found is None else float(found in wanted)


def named_in(text: str, form: re.Pattern[str] | None) -> frozenset[str]:
    """Return the values of a form in a question, as they are compared: a reply may repeat them."""
    return frozenset(compared(found[0]) for found in form.finditer(text)) if form else frozenset()


def listed(row: Row) -> list[str]:
    """Return the members of a row's target as they are written."""
    return [] if row["target"] in (NO_MEMBERS, EMPTY_LIST) else str(row["target"]).split(MEMBERS)


def compared(item: str) -> str:
    """Return an item as it is compared: in lowercase, without hyphens."""
    return item.lower().replace("-", "")


def ungrouped(text: str) -> str:
    """Return a text whose numbers of at least seven digits have no separators between digits."""
    return GROUPED.sub(lambda found: re.sub(r"\D", "", found[0]), text)


def form_of(values: Sequence[str], text: str = "") -> re.Pattern[str] | None:
    """Return a pattern of the form that some values share, such as UUIDs, numbers or hexadecimal names; None for words.

    Words in capitals are a form too if `text` contains any.
    """
    if not values or min(map(len, values)) < 2:
        return None
    least, most = min(map(len, values)), max(map(len, values))
    same, about = f"{{{least},{most}}}", f"{{{max(2, least - 2)},{most + 2}}}"
    for whole in (UUID, FUNCTION_NAME):
        if all(map(whole.fullmatch, values)):
            return whole
    if least > 4 and all(map(str.isdigit, values)):
        return re.compile(rf"(?<![\w.-])\d{about}(?![\w-]|[.,]\d{{1,3}}\b)")
    if least > 4 and any(map(HEX.fullmatch, values)) and re.fullmatch("[0-9a-f]+", "".join(values)):
        return re.compile(rf"(?<![\w-])(?:[0-9a-f]{same}|(?=[a-f]*\d)[0-9a-f]{about})(?![\w-])", re.IGNORECASE)
    capitals = re.compile(rf"(?<![\w-])[A-Z]{about}(?![\w-])")
    return capitals if all(map(capitals.fullmatch, values)) and capitals.search(text) else None


def shaped_in(form: re.Pattern[str], text: str, talk: frozenset[str]) -> list[str]:
    """Return the values of a form in a text, as compared, except denied or neutral ones and those in `talk`."""
    if form is FUNCTION_NAME:
        text = ARGUMENTS.sub("", text)
    pieces = (piece for piece in JOINTS.split(text) if WITHOUT.isdisjoint(TOKEN.findall(piece.lower())))
    found = (found[0] for piece in pieces for found in form.finditer(piece))
    return [compared(item) for item in found if not is_neutral(item.lower()) and item.lower() not in talk]


def is_talk(token: str, talk: frozenset[str]) -> bool:
    """Tell whether a word is a number, neutral, or in `talk`, in the singular or plural."""
    return token.isdigit() or is_neutral(token) or not talk.isdisjoint((token, token.rstrip("s")))
