"""Sentences and words of replies, and the answer that a reply settles on."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Hashable
from functools import lru_cache

from pipeline.metrics.dates import DATED, dated
from pipeline.metrics.reply import unaccented
from pipeline.metrics.scorer import Row

LONG_LINE = 2000
"""Most characters of a sentence that can be an answer, or of each part of one."""
BULLET = re.compile(r"^[ \t]*(?:\(?\d{1,3}[.):]|[-+\u2022])[ \t]+")
SENTENCE_END = re.compile(r"""(?<=[.!?])(?<!\b[A-Z]\.)(?<!\bSt\.)(?<!\bDr\.)(?<!\bvs\.)["')\]]*\s+(?=[A-Z0-9("'\[])""")
MOST = 100
"""Sentences that are read at the beginning and at the end; those in between are taken for reasoning."""


def sentences_of(text: str, longest: int = LONG_LINE, most: int = MOST) -> list[str]:
    """Return the sentences of a text; none continues on another line, and long ones are cut to their ends.

    Answers of many parts need larger limits: `longest` in characters, and `most` sentences at either end.
    """
    lines = (BULLET.sub("", line).strip() for line in text.splitlines())
    found = [each[-longest - 1 :] for line in lines for each in SENTENCE_END.split(line) if each]
    return found if len(found) <= 2 * most else found[:most] + found[-most:]


RETRACTION = re.compile(
    r"\W*(?:no[,.!]|(?:or|nor|actually|wait|hmm|sorry|correction|alternatively|maybe|perhaps|possibly"
    r"|scratch that|i mean|on second thoughts?|(?:but )?(?:it|this|that) (?:could|might|may)"
    r"|but (?:maybe|perhaps|possibly))\b)",
    re.IGNORECASE,
)
"""How a sentence begins that retracts the answer before it."""
FINITE = frozenset(
    re.findall(
        "[a-z]+",
        "i you he she it they we is are was were be been has have had do does did will would can could may might must "
        "should this that these those there his her their my your our its who which what where when because since as "
        "if so let not no cannot",
    )
)
"""Words that make a sentence: a short text without any is a bare value."""
TOKEN = re.compile(r"\x01|[^\W_]+(?:[-'][^\W_]+)*")
Read = Callable[[str], Hashable]


def settled_on(
    text: str, read: Read, leads: Callable[[str], object], *, marked: bool, bare: Callable[[str], bool] | None = None
) -> Hashable:
    """Return the value that a text settles on (see the package's docstring), None without any, SEVERAL if it wavers.

    Args:
        text: what follows the mark, or all of the reply.
        read: returns the value of a sentence, None if it has none.
        leads: whether a sentence with a value can be the answer as it stands, without a mark.
        marked: whether the first sentence with a value is the answer in any case.
        bare: whether a sentence is nothing but a value.
    """
    bare = bare or is_bare
    sentences = sentences_of(text)
    answers = [(at, what) for at, what in enumerate(map(read, sentences)) if what is not None]
    if not answers:
        return None
    at, answer = answers[0]
    if not marked and not leads(sentences[at]):
        at, answer = answers[-1]
    taken_back = any(map(RETRACTION.match, sentences[at + 1 :]))
    rival = any(what != answer and bare(sentences[other]) for other, what in answers)
    return SEVERAL if taken_back or rival else answer


def is_bare(sentence: str) -> bool:
    """Tell whether a text of a few words could be a value rather than a sentence."""
    words = TOKEN.findall(sentence.lower())
    return 0 < len(words) <= 8 and len(sentence) <= 200 and FINITE.isdisjoint(words) and not all(map(is_neutral, words))


FUNCTION = FINITE | frozenset(
    re.findall(
        "[a-z']+",
        "a about above after again all also although am among an and any anything apart at because before "
        "below best better between both but by during each either else every everything first for from "
        "further here here's him himself herself how however i'd i'll i'm i've in indeed into it's just let's "
        "like likely likes likewise me more moreover most much myself neither nor nothing now nowadays of off "
        "on once one only or other others out over own per quite rather really same second shall some soon "
        "still such than that's the them then therefore they're third three through thus to today together "
        "too two under until up us very via whenever whether while whose why with within without yes yet",
    )
)
"""Words of the closed classes: pronouns, auxiliaries, prepositions, conjunctions and the like."""
TALK = (
    "accord answer appear ask base biograph context correct current date describe document done find follow "
    "found give include indicate inform know label list mention middle name need note page passage provide "
    "question quote read repl sa said see show source specif state sure tell text turn unfortunate word"
)
"""Stems of words that present an answer."""
LIVES = (
    "academic afternoon age background belong birth born chose cit complete concentrate course degree enjoy "
    "favou?rite field fill free graduate great hobb home hour interest lecture leisure life live love major old "
    "passion person prefer pursuit relax spare speciali[sz]e specialist stud student subject time university "
    "weekend work year young"
)
"""Stems of words about what people study and like, and where they live."""
STEMS = re.compile(rf"(?:{'|'.join(f'{TALK} {LIVES}'.split())})(?:s|es|d|ed|ing|ly|y|ys|ies|ied|ion|ation)?")


@lru_cache(maxsize=1 << 14)
def is_neutral(word: str) -> bool:
    """Tell whether a lowercase word is neither a value nor part of one."""
    return word in FUNCTION or STEMS.fullmatch(word) is not None


NAMES = frozenset({"Reading", "State"})
"""Words that are neutral in lowercase, but parts of names when capitalized."""
DENIALS = frozenset({"not", "never", "isn't", "wasn't", "doesn't", "didn't"})
CHOOSING = frozenset({"or", "nor", "either", "neither"})
LINKS = frozenset({"of", "in", "at", "for", "with", "on", "from", "to"})
JOINTS = re.compile(
    r"[,;:/|+&()<>\n]| - |->|[.!?](?:\s|$)|\b(?:and|but|or|nor|then|plus|while|as well as"
    r"|(?:more|rather) than|instead of|(?:along|together) with|followed by)\b"
)
"""Separators of values in a list; they divide a text into pieces."""
EXPLAINED = re.compile(
    r"[,;(]?\s(?:because|since|given that|according to|based on|per the|which|where|who"
    r"|as (?:stated|per|mentioned|given|shown|noted|indicated|listed|described))\b.*",
    re.IGNORECASE | re.DOTALL,
)
TOLD = "said|told|stated|mentioned|given|specified|provided|described|indicated|revealed|disclosed|known|included|clear"
TELL = "say|tell|state|mention|give|specify|provide|describe|indicate|reveal|disclose|include|contain|know|answer|find"
SURE = "determine|infer|deduce|establish|conclude|identify"
REFUSAL = re.compile(
    rf"\b(?:not|never|nowhere|(?:is|are|was|were)n't) (?:\w+ ){{0,2}}(?:{TOLD}|listed|found|available|present)\b"
    rf"|\b(?:not|never|nowhere|cannot|(?:do|does|did|ca|could)n'?t) (?:\w+ ){{0,2}}(?:{TELL}|{SURE})(?:e?s|e?d)?\b"
    rf"|\b(?:unable|impossible|not possible|no way) to (?:{TELL}|{SURE})\b"
    r"|\b(?:no|not enough|insufficient|lacks?) (?:\w+ ){0,2}(?:information|mention|details?|indication|answer|record)\b"
    r"|(?:\bnot|n't) have (?:\w+ ){0,3}(?:information|details?|context)\b"
    r"|\b(?:leaves?|left) (?:\w+ ){0,3}out\b|\bomit(?:s|ted)?\b|\bis (?:missing|absent|silent|unclear)\b"
    rf"|\bno (?:\w+ ){{1,3}}(?:is|are|was|were) (?:{TOLD}|listed)\b|\b(?:{TELL}|list)(?:e?s|e?d)? no\b"
    r"|\bno idea\b|\bnot (?:sure|in the)\b"
    r"|\b(?:unknown|unspecified|unstated|unanswerable|undetermined|undisclosed)\b",
    re.IGNORECASE,
)
"""Ways to say that the text does not tell, or that one cannot answer."""
HEDGE = re.compile(
    r"\b(?:probably|perhaps|maybe|likely|possibly|presumably|guess|assume|might be|may be|could be|seems?)\b(?! not)",
    re.IGNORECASE,
)


def words_of(*texts: str) -> frozenset[str]:
    """Return the words of some texts."""
    return frozenset(word for text in texts for word in TOKEN.findall(text.lower()))


def words_asked(row: Row) -> frozenset[str]:
    """Return the words of a row's question, which never count as another value."""
    return words_of(unaccented(str(row.get("question") or "")))


@lru_cache(maxsize=4096)
def phrase(value: str) -> re.Pattern[str]:
    """Return a pattern that matches a value as whole words, with dates as numbers."""
    words = r"[^\w\n]+".join(map(re.escape, TOKEN.findall(dated(value))))
    return re.compile(rf"(?<![\w-])(?<!\w'){words}(?![\w-]|'\w)" if words else r"(?!)", re.IGNORECASE)


def may_be_value(token: str, asked: frozenset[str], *, digits: bool = True) -> bool:
    """Tell whether a word could be a value, or part of one."""
    word = token.lower().removesuffix("'s")
    if word.isdigit():
        return digits and len(word) > 3
    neutral = is_neutral(word) and token not in NAMES
    return word != "\x01" and not neutral and word not in asked and word.rstrip("s") not in asked


def alike(sentence: str, answer: str, asked: frozenset[str]) -> list[str]:
    """Return the strange words of a sentence that could be a value of the answer's kind: name, date, or neither."""
    strange = [word for word in TOKEN.findall(sentence) if may_be_value(word, asked)]
    dates = DATED(answer).isdigit()
    named = answer != answer.lower()
    return [word for word in strange if word.isdigit() == dates and (dates or word[0].isupper() == named)]


def is_neutral_line(line: str) -> bool:
    """Tell whether a line consists of neutral words."""
    return all(map(is_neutral, TOKEN.findall(line.lower())))


BESIDE = re.compile(r"\W*(?:\b(?:or|and|either|maybe|perhaps|possibly|years?|to)\b\W*)*")
"""Text between the values of a list, or between alternatives."""
DENIED_VALUE = re.compile(r"\b(?:not|never|nor|isn't|wasn't)\b(?:\W+\w+){0,2}\W*$", re.IGNORECASE)
SEVERAL = "several"
"""The value of a sentence that names several values to choose from, or denies one."""


def f1(right: int, wanted: int, given: int) -> float:
    """Return the harmonic mean of precision and recall, from counts of items."""
    if not right:
        return 0.0
    precision, recall = right / given, right / wanted
    return 2 * precision * recall / (precision + recall)


def normalised(text: str) -> str:
    """Return a text in lowercase without punctuation, articles and extra spaces, as HELMET and SQuAD do."""
    letters = text.lower().translate(PUNCTUATION)
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", letters).split())


NORMALISED = lru_cache(maxsize=4096)(normalised)
"""`normalised`, cached for answers, a few of which recur often."""
PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
