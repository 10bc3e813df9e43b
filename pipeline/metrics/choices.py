"""Choices by letter."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

from pipeline.metrics.reply import after_mark, plain
from pipeline.metrics.scorer import LETTER_ALONE, LETTERED, Row, Scorer
from pipeline.metrics.text import CHOOSING, DENIALS, EXPLAINED, LONG_LINE, REFUSAL, TOKEN, settled_on


def choice(row: Row, prediction: str) -> float | None:
    """Score a choice among (A) to (D), none of which means that the text does not say: see `choice_or_refusal`.

    A reply can be judged if it names a letter or the words of a choice, or refuses; otherwise it is ``unparsed``.
    """
    return choice_or_refusal(row, prediction, refuses=False)


LETTERS = "ABCD"
LETTER = re.compile(
    r"\(([A-Da-d])\)"
    r"|^([A-Da-d])(?=[).:;!,]|\s*$|\s-)"
    r"|(?<![A-Za-z0-9_'-])(A)(?![\w'-]| (?!(?:is|was|because|as|since|or|and|but|would|seems|for|given|per)\b)[a-z])"
    r"|(?<![A-Za-z0-9_'-])([BCD])(?![\w'-])"
)
"""A letter that names a choice; an A only where it cannot be the article."""
DENIED = re.compile(r"\b(not|never|isn't|nor|or|anything but|except) (?:option |choice )?\(?$", re.IGNORECASE)
DENIED_BEHIND = re.compile(r"\)? (?:is|was)(?:n't| not| never| incorrect| wrong| false)\b", re.IGNORECASE)
CONCEDED = re.compile(r",? (?:(?:even )?though|although|even if)\b.*", re.IGNORECASE)
"""A concession after a choice, which does not retract it: *A, although it is not stated*."""


def choice_or_refusal(row: Row, prediction: str, *, refuses: bool = True) -> float | None:
    """Score a choice among (A) to (D), where (D) means that the text does not say (Michelangelo, section 2.3).

    A sentence chooses by letters or, if it has none, by the words of the choices; a refusal in words
    (``the text does not say``) chooses (D). The first sentence that chooses is the answer if it begins with a letter, a
    choice or a refusal; otherwise the last one is. It must choose the target alone: a second choice, a guess with a
    refusal, ``or``, words after ``not``, and a letter after ``not`` unless another is chosen, score 0. For the scorer
    `choice`, (D) is a choice like the others, and a refusal chooses nothing.

    A reply can be judged if it names a letter or the words of a choice, or refuses; otherwise it is ``unparsed``.
    """
    choices = [_without_article(str(choice)) for choice in row["choices"]]
    refusal = LETTERS[-1] if refuses else "?"
    text, marked = after_mark(plain(row, prediction))

    def read(sentence: str) -> Hashable:
        return "".join(sorted(_chosen(sentence[-LONG_LINE:].strip(" \t\"'"), choices, refusal))) or None

    def leads(sentence: str) -> bool:
        start = _without_article(sentence.strip(" \t\"'"))
        lettered = re.match(r"\(?[A-Da-d](?:\)|[.:;,!]|$)", sentence.strip(" \t\"'"))
        return bool(lettered or _said(re.match, start, choices) or read(sentence) == refusal)

    found = settled_on(text, read, leads, marked=marked, bare=leads)
    return None if found is None else float(found == row["target"])


def _chosen(sentence: str, choices: list[str], refusal: str) -> set[str]:
    """Return the letters that a sentence chooses: none, one, or, if it does not commit, several or ``?``.

    A refusal in words chooses the letter `refusal`.
    """
    first = LETTER.search(sentence)
    conceded = CONCEDED.sub("", sentence)
    if LETTER.search(conceded) or _said(re.search, conceded.lower(), choices):
        sentence = conceded
    if first:
        sentence = sentence[: first.end()] + EXPLAINED.sub("", sentence[first.end() :])
    refused = {refusal} if REFUSAL.search(sentence) else set()
    letters = list(LETTER.finditer(sentence))
    if letters:
        return _lettered(sentence, letters, choices) | refused
    named = _said(re.search, sentence.lower(), choices)
    words = TOKEN.findall(sentence.lower())
    denied = not DENIALS.isdisjoint(words) or not CHOOSING.isdisjoint(words)
    return named | refused | ({"?"} if named and denied else set())


def _lettered(line: str, letters: Sequence[re.Match[str]], choices: list[str]) -> set[str]:
    """Return the letters of a line, except denied ones beside others, and the choice that the words after them name."""
    named: dict[bool, set[str]] = {True: set(), False: set()}
    doubt = False
    for found in letters:
        denied = DENIED.search(line[: found.start()]) or DENIED_BEHIND.match(line, found.end())
        named[bool(denied)].add(str(found[found.lastindex or 0]).upper())
        doubt = doubt or re.search(r"\bor (?:option |choice )?\(?$", line[: found.start()]) is not None
    if not named[False] or doubt or named[True] & named[False]:
        return {*named[True], *named[False], "?"}
    last = next(found for found in reversed(letters) if str(found[found.lastindex or 0]).upper() in named[False])
    return named[False] | _said(re.match, _without_article(line[last.end() :].lstrip(" ).:,-")), choices)


def _said(find: Callable[[str, str], object], text: str, choices: list[str]) -> set[str]:
    """Return the letters of the choices that a text contains as whole words."""
    return {
        letter
        for letter, choice in zip(LETTERS, choices, strict=False)
        if find(rf"(?<![\w:]){re.escape(choice)}(?![\w:])", text)
    }


def _without_article(choice: str) -> str:
    """Return a choice in lowercase, without its article."""
    return re.sub(r"^(?:an?|the) ", "", choice.lower().replace("\u2019", "'"))


CHOICE_OR_REFUSAL_SCORER = Scorer(
    choice_or_refusal,
    5,
    "letter",
    refuses=True,
    aggregate="balanced",
    ungraded=LETTERED,
    pattern=LETTER_ALONE,
)
CHOICE_SCORER = Scorer(choice, 5, "letter", ungraded=LETTERED, pattern=LETTER_ALONE)
