"""Rankings of documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby, pairwise, takewhile
from math import log2

from pipeline.metrics.reply import MARK, without_markup, without_reasoning
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.text import BULLET

RANKED, TIED = ">", "="
"""The separators of a key: between ranks, and between the documents of a rank, which are worth the same."""
CUT, FEWEST = 10, 3
"""Places of a ranking that count; the fewest numbers that make a ranking, unless the text has fewer."""
_ID = r"\d{5,7}"
RANKING = re.compile(r"\b(?:rankings?|ranked list|order)(?: (?:is|of \w+ \w+))?\s{0,3}[:=]", re.IGNORECASE)
ENUMERATED = re.compile(rf"(?<![\w.-])(?<!\d,){_ID}(?![\w-]|[.,]\d{{1,3}}\b)")
LABEL = r"(?:\b(?:documents?|docs?|passages?|ids?|numbers?|no|nr)\b[.:#]?[ \t]*|\b(?:id|doc)[_:]?)"
LABELS = re.compile(rf"{LABEL}(?=[\[({{\"'#]{{0,2}}{_ID})|[\[\](){{}}\"'#|]", re.IGNORECASE)
"""What may surround the number of a document."""
REMARK = re.compile(r"\([^()\n]*\)|\[[^\[\]\n]*\]")
NO_REMARK = re.compile(rf"[(\[]\W*(?:{LABEL}?\W*{_ID}\W*(?:and )?)+[)\]]", re.IGNORECASE)
ABOVE = r"(?:>+|-+>|=+>|\u2192|\u21d2|\u227b|\u2265|\\(?:succ|gt|geq|to|rightarrow|Rightarrow)\b)"
CHAIN = re.compile(rf"{_ID}(?:\s{{0,3}}(?:{ABOVE}|[=~,.]|\\sim\b)\s{{0,3}}{_ID})+")
APPOSED = re.compile(r"(?:[\s,;&/|=~>.-]|\band\b|\bthen\b)*")


def ndcg(row: Row, prediction: str) -> float | None:
    """Score a ranking by NDCG at 10: the key gives the gains, and the ideal is the best possible ranking.

    A reply is read as the numbers of documents in its final answer, which is what follows a mark, or else the whole
    reply. Its last chain (``12345 > 23456``) counts, unless it is much shorter than another one; without chains,
    the numbers at the beginnings of lines count. A number that the key does not know, or that is repeated, keeps its
    place and gains nothing.

    A reply can be judged if it has a number of the documents' form; otherwise it is ``unparsed``.
    """
    worth, gains, seen, ranking = worth_of(row), list[int](), set[str](), _ranking(row, prediction)
    if not ranking:
        return None
    for number in ranking[:CUT]:
        gains.append(0 if number in seen else worth.get(number, 0))
        seen.add(number)
    return discounted(gains) / discounted(sorted(worth.values(), reverse=True)[:CUT])


def worth_of(row: Row) -> dict[str, int]:
    """Return what each document of a row's key is worth: 1 in the last rank, one more in each rank before.

    The last answer of the key names all documents that are worth anything.
    """
    ranks = str((row.get("answers") or [row["target"]])[-1]).split(RANKED)
    return {one.strip(): worth for worth, rank in enumerate(reversed(ranks), 1) for one in rank.split(TIED)}


def discounted(gains: Iterable[int]) -> float:
    """Return the discounted sum of gains in the order of their places (Jarvelin and Kekalainen 2002)."""
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, 1))


def _ranking(row: Row, prediction: str) -> list[str]:
    """Return the numbers of documents in a reply's final answer, in order."""
    text = LABELS.sub(" ", REMARK.sub(_remark, without_markup(row, prediction)))
    starts = [found.end() for mark in (MARK, RANKING) for found in mark.finditer(text)]
    last = max((found.start() for found in ENUMERATED.finditer(text)), default=-1)
    text = text[max((at for at in starts if at <= last), default=0) :]
    chains = [found[0] for found in CHAIN.finditer(text) if re.search(ABOVE, found[0])]
    numbered = list(map(ENUMERATED.findall, chains))
    longest = max(map(len, numbered), default=0)
    if numbered and longest >= min(FEWEST, len({*ENUMERATED.findall(text)})):
        return next(some for some in reversed(numbered) if 2 * len(some) >= longest)
    return _ranked_lines(text)


def _remark(found: re.Match[str]) -> str:
    """Return brackets unchanged if they contain only numbers of documents, else a space."""
    return found[0] if NO_REMARK.fullmatch(found[0]) else " "


def _ranked_lines(text: str) -> list[str]:
    """Return the first numbers of each line, or all numbers if few lines have any.

    A block of lines that only names at least half of the numbers before it again (or five) replaces the ranking so far.
    """
    lines = [BULLET.sub("", line) for line in text.splitlines() if line.strip()]
    if sum(1 for line in lines if ENUMERATED.search(line)) < FEWEST:
        return ENUMERATED.findall(text)
    ranking: list[str] = []
    for _, some in groupby(lines, lambda line: ENUMERATED.search(line) is not None):
        block = [number for line in some for number in _first_numbers(line)]
        again = len(ranking) > 0 and {*ranking}.issuperset(block) and 2 * len({*block}) >= min(CUT, len({*ranking}))
        ranking = block if again else ranking + block
    return ranking


def _first_numbers(line: str) -> list[str]:
    """Return the first number of a line, and those that follow it with only commas and the like between them."""
    found = list(ENUMERATED.finditer(line))
    joined = takewhile(lambda pair: APPOSED.fullmatch(line, pair[0].end(), pair[1].start()), pairwise(found))
    return [each[0] for each in (*found[:1], *(other for _, other in joined))]


def longest_chain(row: Row, prediction: str) -> float:
    """Score as HELMET: NDCG at 10 of the longest chain of numbers joined by ``>``, repeated ones dropped."""
    text = re.sub(r"[\[\]:]", "", without_reasoning(prediction)).lower().replace("id", "")
    chain = max((found[0] for found in re.finditer(r"\d+(?:\s*>\s*\d+)*", text)), key=len, default=text)
    worth, ranking = worth_of(row), list(dict.fromkeys(each.strip() for each in chain.split(RANKED)))
    gains = [worth.get(number, 0) for number in ranking[:CUT]]
    return discounted(gains) / discounted(sorted(worth.values(), reverse=True)[:CUT])


NDCG_SCORER = Scorer(
    ndcg,
    4,
    "ranking",
    quirks={"ids": {}, "longest": longest_chain},
    ungraded="a ranking is wanted, which may be partly right",
)
