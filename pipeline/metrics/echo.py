"""A copy of a text that repeats one word, with another word in one place."""

from __future__ import annotations

import re
from collections import Counter

from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.tables import FENCE, FENCE_LINE, first_answer

ECHO_FIGURES = ("place", "count", "changed", "written", "exact")
"""What `echo` measures."""
COPY_WORD = re.compile(r"[^\W\d_]+")
COPY_PASSAGE = re.compile(r"[\n.:!?]+")
"""What separates the copy from what a reply says about it."""


def echo(row: Row, prediction: str, *, figure: str = "score") -> float | None:
    """Score a copy of a text by the mean of ``place`` and ``count``, or by one of `ECHO_FIGURES`.

    - place: 1 if the changed word occurs once, and as many words precede it as in the text.
    - count: the smaller number of words, of the text or of the copy, divided by the larger.
    - changed: 1 if the changed word occurs once, in any place.
    - written: words of the copy, divided by those of the text, at most 1.
    - exact: 1 if the copy has all words of the text in their order, and no other.

    Words are runs of letters; case counts only if the two words of the text differ in nothing else. The copy is the
    last code block with either of them, or else the whole reply, from the first of the two to the last. Passages
    (up to the end of a line, a full stop or a colon) in which at least half of the words are neither of the two do not
    count.

    A reply can be judged if it has a passage most of whose words are one of the two; otherwise it is ``unparsed``.
    """
    wanted = COPY_WORD.findall(str(row["target"]))
    usual, changed = (word for word, _ in Counter(wanted).most_common())
    copy = copied(prediction, usual, changed)
    if not copy:
        return None
    if usual.casefold() != changed.casefold():
        folded = {word: word.casefold() for word in {*wanted, *copy}}
        wanted, copy = ([folded[word] for word in words] for words in (wanted, copy))
        changed = folded[changed]
    once = copy.count(changed) == 1
    place = float(once and copy.index(changed) == wanted.index(changed))
    count = min(len(copy), len(wanted)) / max(len(copy), len(wanted))
    measured = {
        "score": (place + count) / 2,
        "place": place,
        "count": count,
        "changed": float(once),
        "written": min(1.0, len(copy) / len(wanted)),
        "exact": float(copy == wanted),
    }
    return measured[figure]


def copied(prediction: str, *known: str) -> list[str]:
    """Return the words of the copy in a reply, given the two words of the text; empty if there is none."""
    reply = first_answer(prediction)
    blocks = [found[1] for found in FENCE.finditer(reply)]
    texts = (*reversed(blocks), FENCE_LINE.sub("", reply))
    return next((words for text in texts if (words := words_copied(text, {word.casefold() for word in known}))), [])


def words_copied(text: str, known: set[str]) -> list[str]:
    """Return the words of all passages of a text that consist mostly of known words, from the first to the last."""
    words = list[str]()
    for passage in COPY_PASSAGE.split(text):
        found = COPY_WORD.findall(passage)
        right = sum(times for word, times in Counter(found).items() if word.casefold() in known)
        words += found if 2 * right > len(found) else ()
    start = next((place for place, word in enumerate(words) if word.casefold() in known), len(words))
    stop = next((place for place in range(len(words), start, -1) if words[place - 1].casefold() in known), start)
    return words[start:stop]


ECHO_SCORER = Scorer(
    echo,
    1,
    "words",
    ungraded="the words of the copy are counted, and most replies are right in part",
    figures=ECHO_FIGURES,
)
