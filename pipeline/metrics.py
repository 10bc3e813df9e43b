r"""Scores of replies. Standard library alone: this file is published beside the data as it is.

``score(row, prediction)`` takes a row (or its key) and a model's reply, and returns a number from 0 to 1.

``python metrics.py PREDICTIONS KEYS [--json] [--quirk mrcr=starts]`` prints mean scores by family, subtask and length,
and that of all rows, which is the headline (`headline`).
PREDICTIONS is JSON Lines with ``id`` and ``prediction``; KEYS is JSON Lines of rows, or a Parquet file or a folder of
them (which needs pyarrow). Rows without a prediction score 0, and so do rows with two different ones; both forms of
a pair must be right. Exit code 2 says that something was missing or wrong; it is named on stderr.

How the answer is found in a reply, by every scorer but ``mrcr``:

1. What is not the reply is dropped: reasoning as every family of models marks it (`OPENED`, `CHANNEL`; all that
   follows a mark without an end), tokens that end a turn and what follows them, a further question that a base model
   has put to itself (`STOPS`), and the markup of Markdown, LaTeX, XML and JSON.
2. The last marked answer wins (``\boxed{...}``, ``the answer is ...``, ``Answer: ...``, ``Output: ...``), and of what
   follows the mark its first sentence that says something.
3. Without a mark the first sentence that says something is the answer if it can be one as it stands: a bare value, or
   a sentence that gives what is asked. Else the answer is the last sentence that says something.

In either case what else is said must not take the answer back (``or ...``, ``wait, ...``), and no other bare value
may stand on a line of its own: a reply that lists values scores 0. Only where a set, a route or a ranking is asked all
that the final answer lists is taken (see `members` and `ndcg`).
"""

from __future__ import annotations

import argparse
import json
import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache, partial
from importlib import import_module
from itertools import filterfalse, groupby, islice, pairwise, takewhile
from math import fsum, log2
from pathlib import Path
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Rule = Callable[[Row, str], float]

LONGEST = 200_000
"""Characters of a reply that are looked at, from its end."""

LONG_LINE = 2000
"""Characters of a sentence that can be an answer, or of each part of one: a longer text answers nothing."""

STOPS = ("\nQuestion:", "\nQuestions:", "\nBiographies:", "\n--- Program")
"""Where a base model that has answered goes on to another question of the kind it was shown."""

END = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|<\uff5c[^<>\n]{1,40}\uff5c>|</?(?:\w{1,20}_)?s>|<(?:\w{1,20}:)?eos>|<(?:end|start)_of_turn>|<turn\|>|\[/?INST\]|\[e~\["
)
"""Tokens of chat templates that some engines leave in a reply."""


NAMED = r"(?:\w{1,20}[:_])?(?:think|thinking|thought|thoughts|reasoning)"
OPENED = re.compile(
    rf"<{NAMED}>|\[THINK\]|\u25c1think\u25b7|<\|channel>|<\|START_THINKING\|>|<\|begin_of_thought\|>|<\|inner_prefix\|>"
    r"|<\|open\|>\s?think\s?<\|sep\|>|<unused94>"
)
ENDED = re.compile(
    rf"</{NAMED}>|\[/THINK\]|\u25c1/think\u25b7|<channel\|>|<\|END_THINKING\|>|<\|end_of_thought\|>|<\|inner_suffix\|>"
    r"|<\|close\|>\s?think\s?<\|sep\|>|<unused95>"
)
"""Marks around reasoning: of DeepSeek, Qwen, GLM and most others (``<think>``), ByteDance, MiniMax and LongCat (with a
name in it), Mistral, Kimi, Gemma, Command, OpenThinker, Apertus, Kimi K3, and MedGemma."""

IN_WORDS = re.compile(
    r"\A\s*Here(?:'s| is) my thought process:(?:.*?\n[^\S\n]*Here(?:'s| is) my response:\s*|.*\Z)", re.DOTALL
)
"""The same as Granite marks it."""

CHANNEL = re.compile(r"<\|channel\|>\s*(\w{1,40})[^<>]{0,200}(?:<\|constrain\|>[^<>]{0,200})?<\|message\|>")
BARE_CHANNEL = re.compile(r"\A\s*(?:analysis|commentary)(?:.*assistantfinal|(?=[A-Z\"'\d*]).*\Z)", re.DOTALL)
"""Channels of Harmony, the format of gpt-oss, of which `final` alone is the reply; and the same where an engine has
left out the special tokens."""

FRAMED = re.compile(r"\s*(?:<response>|<\|START_RESPONSE\|>|<\|begin_of_solution\|>|<\|open\|>\s?response\s?<\|sep\|>)")
UNFRAMED = re.compile(r"</response>|<\|END_RESPONSE\|>|<\|end_of_solution\|>|<\|close\|>\s?response\s?<\|sep\|>")
"""What some families put around the reply itself, behind their reasoning."""


def score(row: Row, prediction: object, scorers: Mapping[str, Rule] | None = None) -> float:
    """Return the score of a reply to a row, from 0 to 1; anything that is no text scores 0.

    `scorers` are the defaults, or what `scorers_of` returns.

    Raises:
        KeyError: if the row names a scorer that this version does not know.
    """
    rule = (SCORERS if scorers is None else scorers)[row["scorer"]]
    return rule(row, prediction) if isinstance(prediction, str) else 0.0


def figures(row: Row, prediction: object, scorers: Mapping[str, Rule] | None = None) -> dict[str, float]:
    """Return the figures that the score of a reply is made of, by name; none where it is a single one."""
    names = facts(row["scorer"]).figures
    rule: Callable[..., float] = (scorers_of(()) if scorers is None else scorers)[row["scorer"]]
    return {name: score(row, prediction, {row["scorer"]: partial(rule, figure=name)}) for name in names}


# What is said


def spoken(prediction: str, question: str = "") -> str:
    """Return a reply without reasoning, ends of turns, code fences and further questions.

    `question` is the row's own, which a reply may repeat before it answers.
    """
    text = next((part for part in END.split(thought(prediction)) if part.strip()), "").strip()
    text = text[: min((at for stop in STOPS if (at := _stopped(text, stop, question)) >= 0), default=len(text))]
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("```", "~~~"))).strip()


def thought(prediction: str) -> str:
    """Return a reply without its reasoning, if it has any; of one that is too long the end.

    What follows the last end of reasoning is the reply, or what stands before it all where nothing follows; reasoning
    that has no end takes all that follows it along.
    """
    text = _final(prediction)
    reply = text[max((end.end() for end in ENDED.finditer(text)), default=0) :]
    if len(reply) < len(text):
        reply = reply.lstrip()
    begun = OPENED.search(reply) or (None if reply else OPENED.search(text))
    reply = (reply or text)[: begun.start()] if begun else reply
    if frame := FRAMED.match(reply):
        reply = UNFRAMED.split(reply[frame.end() :], maxsplit=1)[0].strip()
    return reply[-LONGEST:]


def _final(prediction: str) -> str:
    """Return what stands in the last final channel, or all of it where a reply has no channels."""
    if bare := BARE_CHANNEL.match(prediction) or IN_WORDS.match(prediction):
        return prediction[bare.end() :]
    channels = list(CHANNEL.finditer(prediction))
    if not channels:
        return prediction
    last = next((each for each in reversed(channels) if each[1] == "final"), None)
    return END.split(prediction[last.end() :], maxsplit=1)[0] if last else prediction[: channels[0].start()]


def _stopped(text: str, stop: str, question: str) -> int:
    """Return where a further question begins, or -1."""
    at = text.find(stop)
    own = question and text[at + len(stop) :].lstrip().startswith(question)
    return text.find(stop, at + len(stop)) if own else at


MARKUP = re.compile(r"[*`$]+|(?<!\w)_{1,3}|_{1,3}(?!\w)|\\[\[\]()!,;: ]|(?m:^[ \t]*(?:#{1,6}|>)[ \t]+)|</?\w{1,20}>")
WORDED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|operatorname)\s?\{([^{}\n]{0,2000})\}")
STRAIGHT = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2212": "-",
        "\u2010": "-",
        "\u2011": "-",
        "\u2013": "-",
        "\u2014": " - ",
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\x01": " ",
    }
)


def plain(row: Row, prediction: str) -> str:
    """Return what a reply says as plain text: without markup and accents, quotes straight, dates as numbers."""
    return dated(_undated(row, prediction))


def _undated(row: Row, prediction: str) -> str:
    """Return what a reply says as plain text, dates as they are."""
    text = unaccented(_unwrapped(spoken(prediction, str(row.get("question") or ""))))
    text = re.sub(r"<(?:final_)?answer>", "\nAnswer: ", text, flags=re.IGNORECASE)
    return MARKUP.sub("", WORDED.sub(r"\1", text.replace("</answer>", "\n")))


def unaccented(text: str) -> str:
    """Return a text with straight quotes and without accents; answers of users' own texts may have some."""
    straight = text.translate(STRAIGHT)
    if straight.isascii():
        return straight
    return "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFD", straight)))


def _unwrapped(text: str) -> str:
    """Return the answer that an object of JSON holds, or all its values; any other text as it is."""
    if not text.startswith("{"):
        return text
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return text
    answers = [held[name] for name in ("final_answer", "answer", "answers") if name in held]
    found = answers[0] if answers else list(held.values())
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if isinstance(found, list) and not all(isinstance(each, int) for each in found):
        return PART.join(map(str, found))
    return str(found)


BOXED = re.compile(r"\\boxed\s?\{((?:[^{}\n]|\{[^{}\n]{0,200}\}){0,2000})\}")
MARK = re.compile(
    r"\b(?:final answer|answers?|final output|output|final result)\b(?: to (?:the|your|this) questions?)?\s{0,3}[:=]"
    r"|\b(?:the|my|final|correct) (?:(?:final|correct|right|best|short) ){0,2}(?:answers?|option|choice|output)"
    r"(?: to (?:the|your|this) questions?)? (?:is|are|was|(?:would|must|should) be)\b(?! (?:not|never|in)\b)\s{0,3}:?",
    re.IGNORECASE,
)


def _marked(text: str) -> tuple[str, bool]:
    """Return what follows the last mark, and True; all of the text, and False, where nothing does."""
    marks = [found.end() for found in MARK.finditer(text)]
    boxes = [found.start() for found in BOXED.finditer(text)]
    if boxes and boxes[-1] > max(marks, default=-1):
        start = max(text.rfind("\n", 0, boxes[-1]) + 1, *marks, 0)
        first = next(at for at in boxes if at >= start)
        return BOXED.sub(r"\1", text[first:]), True
    behind = text[marks[-1] :] if marks else ""
    return (behind, True) if re.search(r"\w", behind) else (text, False)


BULLET = re.compile(r"^[ \t]*(?:\(?\d{1,3}[.):]|[-+\u2022])[ \t]+")
SENTENCE_END = re.compile(r"""(?<=[.!?])(?<!\b[A-Z]\.)(?<!\bSt\.)(?<!\bDr\.)["')\]]*\s+(?=[A-Z0-9("'\[])""")


MOST = 100
"""Sentences that are looked at, of those at the beginning and of those at the end: what is between is reasoning."""


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, none of which goes on in another line; of a long one the end."""
    lines = (BULLET.sub("", line).strip() for line in text.splitlines())
    found = [each[-LONG_LINE - 1 :] for line in lines for each in SENTENCE_END.split(line) if each]
    return found if len(found) <= 2 * MOST else found[:MOST] + found[-MOST:]


RETRACTION = re.compile(
    r"\W*(?:no[,.!]|(?:or|nor|actually|wait|hmm|sorry|correction|alternatively|maybe|perhaps|possibly"
    r"|scratch that|i mean|on second thoughts?|(?:but )?(?:it|this|that) (?:could|might|may)"
    r"|but (?:maybe|perhaps|possibly))\b)",
    re.IGNORECASE,
)
"""How a sentence begins that takes back what was said before."""
FINITE = frozenset(
    re.findall(
        "[a-z]+",
        "i you he she it they we is are was were be been has have had do does did will would can could may might must "
        "should this that these those there his her their my your our its who which what where when because since as "
        "if so let not no cannot",
    )
)
"""Words of sentences: without any of them a short text is a bare value."""
TOKEN = re.compile(r"\x01|[^\W_]+(?:[-'][^\W_]+)*")
Read = Callable[[str], Hashable]


def _settled(
    text: str, read: Read, leads: Callable[[str], object], *, marked: bool, bare: Callable[[str], bool] | None = None
) -> Hashable:
    """Return what a text settles on, or None: see the head of this file.

    Args:
        text: what follows the mark, or all of the reply.
        read: what a sentence says, None if that is nothing.
        leads: whether a sentence that says something can be the answer as it stands, without a mark.
        marked: whether the first sentence that says something is the answer in any case.
        bare: whether a sentence is a value and no more.
    """
    bare = bare or _bare
    sentences = _sentences(text)
    said = [(at, what) for at, what in enumerate(map(read, sentences)) if what is not None]
    if not said:
        return None
    at, answer = said[0]
    if not marked and not leads(sentences[at]):
        at, answer = said[-1]
    taken_back = any(map(RETRACTION.match, sentences[at + 1 :]))
    rival = any(what != answer and bare(sentences[other]) for other, what in said)
    return None if taken_back or rival else answer


def _bare(sentence: str) -> bool:
    """Tell whether a text of a few words could be a value, and is no sentence."""
    words = TOKEN.findall(sentence.lower())
    return 0 < len(words) <= 8 and len(sentence) <= 200 and FINITE.isdisjoint(words) and not NEUTRAL.issuperset(words)


# Values in words

NEUTRAL = frozenset(
    re.findall(
        r"\S+",
        """
    a about above academic according activity actual actually additionally address adore adores after afternoon
    afternoons age aged ages all alma also although alumna alumni alumnus am among an and answer answers any
    anything apart apologies apparently appear appears are as ascending ask asked asking asks associated at attend
    attended attending award awarded baby background based be bears became been began begin begins being belong
    belongs below best better between bio biographical biographies biography bios birth birthdate birthday birthdays
    birthplace born both breath brought but by calculate calculated call called came can carefully category
    certainly certificate check checked checking child choose chose chosen city class clear clearly clinic comes
    compare compared comparing complete completed completing compute computed concentrated concluded conclusion
    confirmed confirms context correct corresponding could count counted course cradle current currently data date
    day days degree descending describe described describes desk detail details devote devoted devotes did differ
    difference diploma directly do document documents does done during each earn earned earning earns earth
    education else employed employment enjoy enjoyed enjoys enthusiast entire entry evenings every everybody
    evidently exact exactly examinations explanation explicitly fact far favorite favourite feel field fifth filled
    final finally find finished finishing first flat following follows for form former found fourth free friday
    friends from full further furthermore gave give given gives glad go goes good graduate graduated graduation
    great had hails handed happiest happy hard has have having he he's healthy hello help helpful helps hence her
    here here's higher him his hobbies hobby hold holds home hometown hope hospital hour hours however i i'd i'll
    i'm i've identified if in indeed indicate indicated indicates information input interest interested interests
    into introduce is it it's its job joy just know label labels lectures left leisure let let's letters life light
    like likely likes line lines list listed lists live lived lives living locate located look looking love loved
    loves made main major majored make makes match matches matching mater may me mention mentioned mentions middle
    moment monday more moreover morning most mother much must my myself name named namely names native need newborn
    no nor not note noted notes nothing now nowadays number obtained of off okay old older oldest on one only or
    order ordered original originally other our out overall own pair papers paragraph parents passage passed passion
    passionate passport pastime pastimes people per person place please practice practiced practices practised
    practises precisely prefer preferred prefers present primary probably profile proud provide provided provides
    pursue pursued pursues pursuit pursuits question questions quote quoted quotes rank ranked ranking read reading
    reads reason reasoning receive received record records refer reference register registered registers regrettably
    relax relevant reply reside residence resident residential resides residing respective respectively response
    result right said sat saturday saw say says seal search searched searching second see sentence sentences settled
    she she's should show shown shows sign simply so some somebody soon sorry source sources spare speaks specialise
    specialised specialist specialize specialized specifically specified specify spend spends spent state stated
    statement states step step-by-step still stood student students studied studies study studying subject such
    sunday sure surely taken takes tell tells text than thank thanks that that's the their them then there there's
    therefore these thesis they they're think third this those though through thursday thus time to today told too
    took town training tuesday turn turns two undergraduate unfortunately university up useful value verbatim want
    was we wednesday weekday weekends welcomed well went were what when whenever where which while who whom whose
    will with worded wording words work worked working workplace works world would wrote year years yes yet you
    you'd younger youngest your
    """,
    )
)
"""Words that are no value: those of function, of questions, of how biographies put things, of talk about an answer."""
NAMES = frozenset({"Reading", "State"})
"""Words that are neutral in small letters, and parts of names with a capital."""
DENIALS = frozenset({"not", "never", "isn't", "wasn't", "doesn't", "didn't"})
CHOOSING = frozenset({"or", "nor", "either", "neither"})
LINKS = frozenset({"of", "in", "at", "for", "with", "on", "from", "to"})
SLACK = 3
"""Further words that may stand beside an answer, but not next to it."""
JOINTS = re.compile(
    r"[,;:/|+&()<>\n]| - |->|[.!?](?:\s|$)|\b(?:and|but|or|nor|then|plus|while|as well as"
    r"|(?:more|rather) than|instead of|(?:along|together) with|followed by)\b"
)
"""What stands between values of a list; what it sets apart is a piece."""
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

MONTHS = re.findall("[a-z]+", "january february march april may june july august september october november december")
_MONTH = r"(?P<m>" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS) + r"|sept)\.?"
_DAY, _YEAR = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?(?: day)?", r"(?P<y>(?:1[6-9]|20)\d\d)"
DATES = [
    re.compile(rf"(?<![\w.]){form}(?!\w|[-./]\d)", re.IGNORECASE)
    for form in (
        rf"(?:the )?{_DAY}(?: of)?[ -]{{0,2}}{_MONTH},?[ -]{{0,2}}{_YEAR}",
        rf"{_MONTH}[ -](?:the )?{_DAY},?[ -]{{1,2}}{_YEAR}",
        rf"{_YEAR}[- ,]{{1,2}}{_MONTH}[- ]{_DAY}",
        rf"{_YEAR}[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})",
        rf"(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.]{_YEAR}",
    )
]
"""How dates are written, year, month and day in any order; where both others may be the month, it is no date."""


def dated(text: str) -> str:
    """Return a text with every date as one number of eight digits.

    >>> dated("born on March 20th, 2001, or 20/03/2001, or 03/20/2001, or 03/04/2001")
    'born on 20010320, or 20010320, or 20010320, or 03/04/2001'
    """
    for form in DATES:
        text = form.sub(_date, text)
    return text


def _date(found: re.Match[str]) -> str:
    year, month, day = found["y"], found["m"].lower(), int(found["d"])
    if not month.isdigit():
        number = next(at for at, name in enumerate(MONTHS, start=1) if name.startswith(month[:3]))
    elif found.start("y") == found.start():
        number = int(month)
    else:
        number, day = sorted((int(month), day)) if max(int(month), day) > 12 or int(month) == day else (0, 0)
    return f"{year}{number:02}{day:02}" if 0 < number <= 12 and 0 < day <= 31 else found[0]


DATED = lru_cache(maxsize=4096)(dated)
"""The same for answers, of which a few come again and again."""


def _words(*texts: str) -> frozenset[str]:
    """Return the words of some texts."""
    return frozenset(word for text in texts for word in TOKEN.findall(text.lower()))


def _asked(row: Row) -> frozenset[str]:
    """Return the words of a row's question, which are no rivals of its answer."""
    return _words(unaccented(str(row.get("question") or "")))


@lru_cache(maxsize=4096)
def _phrase(value: str) -> re.Pattern[str]:
    """Return a pattern of a value as whole words, and of a date as one number."""
    words = r"[^\w\n]+".join(map(re.escape, TOKEN.findall(dated(value))))
    return re.compile(rf"(?<![\w-])(?<!\w'){words}(?![\w-]|'\w)" if words else r"(?!)", re.IGNORECASE)


def _gives(sentence: str, answers: Iterable[str], asked: frozenset[str]) -> bool | None:
    """Tell whether a sentence gives one of the answers and no other value; None if it gives no value at all."""
    if len(sentence) > LONG_LINE:
        return False
    for answer in sorted(map(DATED, answers), key=len, reverse=True):
        masked, found = _phrase(answer).subn(" \x01 ", sentence)
        if found:
            head, _, behind = masked.rpartition("\x01")
            return _alone(f"{head}\x01{EXPLAINED.sub('', behind)}", answer, asked)
    strange = any(_strange(word, asked) for word in TOKEN.findall(sentence))
    return False if strange or REFUSAL.search(sentence) else None


def _alone(masked: str, answer: str, asked: frozenset[str]) -> bool:
    """Tell whether a text names no value beside the masked ones: a name, a date, a piece of strange words.

    Words that are strange, because they are neither neutral nor of the question, may only stand in the piece of a
    value, not next to it, and no more than three of them.
    """
    words = TOKEN.findall(masked.lower().replace("not far", ""))
    if not (CHOOSING | DENIALS).isdisjoint(words) or REFUSAL.search(masked):
        return False
    names, digits = answer != answer.lower(), any(map(str.isdigit, answer))
    cased = names and masked != masked.lower()
    for piece in JOINTS.split(masked):
        tokens = TOKEN.findall(piece)
        strange = [_strange(token, asked, digits=digits) for token in tokens]
        if "\x01" not in tokens:
            if any(strange):
                return False
            continue
        beside = any(
            odd and (token[0].isupper() if cased else _touches(tokens, at))
            for at, (token, odd) in enumerate(zip(tokens, strange, strict=True))
        )
        rival_number = digits and any(odd and token[0].isdigit() for token, odd in zip(tokens, strange, strict=True))
        if beside or rival_number or sum(strange) > SLACK:
            return False
    return True


def _touches(tokens: Sequence[str], at: int) -> bool:
    """Tell whether a word stands next to a masked value, or a preposition away from it: history of art."""
    for near in (tokens[:at][::-1], tokens[at + 1 :]):
        first = near[1:] if near and near[0] in LINKS else near
        if first and first[0] == "\x01":
            return True
    return False


def _strange(token: str, asked: frozenset[str], *, digits: bool = True) -> bool:
    """Tell whether a word could be a value, or part of one."""
    word = token.lower().removesuffix("'s")
    if word.isdigit():
        return digits and len(word) > 3
    neutral = word in NEUTRAL and token not in NAMES
    return word != "\x01" and not neutral and word not in asked and word.rstrip("s") not in asked


def exact(row: Row, prediction: str) -> float:
    """Score one value: the sentence that answers must give an accepted answer as whole words, and no other value.

    Another value is a name (or a date, where the answer is one) that the question does not name, or words between
    commas, ``and`` and the like that neither the question nor ordinary talk has. ``or``, ``not`` and a refusal in that
    sentence score 0; dates may be written in any way that is clear. If the answer is a UUID or a number, only another
    of its form is another value.
    """
    asked, answers = _asked(row), [unaccented(str(answer)) for answer in row["answers"]]
    if form := _form(answers):
        return shaped(row, prediction, form)
    text, marked = _marked(plain(row, prediction))

    def leads(sentence: str) -> bool:
        return bool(_gives(sentence, answers, asked) or _bare(sentence) or REFUSAL.search(sentence))

    def rival(sentence: str) -> bool:
        own = any(_phrase(answer).search(sentence) for answer in answers)
        refused = REFUSAL.search(sentence) and _idle(sentence)
        return bool(refused) or _bare(sentence) or (not own and _answers_again(sentence, answers[0], asked))

    found = _settled(text, lambda each: _gives(each, answers, asked), leads, marked=marked, bare=rival)
    return float(found is True and (marked or not _ends_otherwise(text, answers, asked)))


def _ends_otherwise(text: str, answers: Sequence[str], asked: frozenset[str]) -> bool:
    """Tell whether a text begins with a sentence and ends with another value, so that it would answer twice."""
    said = [each for each in _sentences(text) if _gives(each, answers, asked) is not None]
    other = _gives(said[-1], answers, asked) is False and bool(_alike(said[-1], answers[0], asked))
    return other and not _bare(said[0])


def _alike(sentence: str, answer: str, asked: frozenset[str]) -> list[str]:
    """Return the strange words of a sentence that could be of a value of the answer's kind: name, date, or neither."""
    strange = [word for word in TOKEN.findall(sentence) if _strange(word, asked)]
    dates = DATED(answer).isdigit()
    named = answer != answer.lower()
    return [word for word in strange if word.isdigit() == dates and (dates or word[0].isupper() == named)]


PRESENTING = _words(
    "it he she is was the answer correct right could may might also be however but i think believe read say would so"
)
"""Words that present a value and say nothing more of it."""


def _answers_again(sentence: str, answer: str, asked: frozenset[str]) -> bool:
    """Tell whether a sentence says a value of the answer's kind in words of the question, or says that it is so."""
    words = TOKEN.findall(sentence)
    strange = [word for word in words if _strange(word, asked)]
    presented = PRESENTING.issuperset(word.lower() for word in words if word not in strange and word not in LINKS)
    return bool(_alike(sentence, answer, asked)) and (presented or _in_words_of(asked, sentence))


def _in_words_of(asked: frozenset[str], sentence: str) -> bool:
    """Tell whether a sentence has a word of the question that says what is asked: born, hobby, graduate."""
    roots = tuple(word for word in asked if len(word) > 3 and word in NEUTRAL and word not in FINITE)
    return bool(roots) and any(word.startswith(roots) for word in TOKEN.findall(sentence.lower()))


def idk_pair(row: Row, prediction: str) -> float:
    """Score one form of a pair: the answer where it is stated (as `exact`), a refusal where it is not.

    A refusal is a sentence that says that the text does not tell, or that one cannot answer, without a guess
    (``probably``) or a value beside it. No reply scores in both forms; a pair is passed by who scores in both.
    """
    if not REFUSAL.search(str(row["target"])):
        return exact(row, prediction)
    asked = _asked(row)
    text, marked = _marked(plain(row, prediction))

    def leads(sentence: str) -> bool:
        return bool(REFUSAL.search(sentence) or _bare(sentence))

    def rival(sentence: str) -> bool:
        strange = any(_strange(word, asked) for word in TOKEN.findall(sentence))
        return _bare(sentence) or (strange and _in_words_of(asked, sentence) and not REFUSAL.search(sentence))

    return float(_settled(text, lambda each: _refuses(each, asked), leads, marked=marked, bare=rival) is True)


def _refuses(sentence: str, asked: frozenset[str]) -> bool | None:
    """Tell whether a sentence refuses and gives no value; None if it says nothing."""
    if len(sentence) > LONG_LINE:
        return False
    if not REFUSAL.search(sentence):
        return False if any(_strange(word, asked) for word in TOKEN.findall(sentence)) else None
    return not HEDGE.search(sentence) and not any(_names_value(piece, asked) for piece in JOINTS.split(sentence))


def _names_value(piece: str, asked: frozenset[str]) -> bool:
    """Tell whether a piece of a refusal names a value: in the piece that refuses a name or number, else any word."""
    tokens = TOKEN.findall(piece)
    if not REFUSAL.search(piece):
        return any(_strange(token, asked) for token in tokens)
    return any(_strange(token, asked) and not token[0].islower() for token in tokens[1:])


# Values of several parts

PART = "; "
"""What stands between the parts of an answer that has several."""


def _passages(text: str, parts: int, *, marked: bool) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield where an answer of several parts may stand, with the lines before and behind it.

    At the beginning, or without a mark at the end: a sentence, a line, as many lines as there are parts, or twice as
    many, a paragraph; and all of the text. Lines of neutral words alone do not count.
    """
    shown = [line for line in re.sub(r"\n\s*\n", "\n\n", text).splitlines() if not line or not _idle(line)]
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


def _idle(line: str) -> bool:
    """Tell whether a line holds neutral words alone."""
    return NEUTRAL.issuperset(TOKEN.findall(line.lower()))


def _listed(
    row: Row,
    prediction: str,
    parts: int,
    judge: Callable[[str], bool],
    lists: Callable[[str], bool],
    strays: Callable[[str], bool],
) -> bool:
    """Tell whether a reply gives an answer of several parts in one place, and no other.

    Other lines may not list values, nor may lines behind the answer have what `strays` finds: values of another one.
    """
    text, marked = _marked(plain(row, prediction))
    for passage, before, behind in _passages(text, parts, marked=marked):
        if len(passage) <= LONG_LINE + 500 * parts and judge(passage):
            others = [line for line in (*before, *behind) if not judge(line)]
            taken_back = any(map(RETRACTION.match, behind))
            return not (taken_back or any(map(lists, others)) or (not marked and any(map(strays, behind))))
    return False


LISTING = re.compile(r"[,;/&]|\band\b")


def _lists_values(line: str, known: frozenset[str]) -> bool:
    """Tell whether a line, and no sentence, sets values beside each other, or says one that is not known."""
    words = TOKEN.findall(line.lower())
    values = [word for word in words if word not in NEUTRAL and not re.fullmatch(r"\d{1,3}", word)]
    fresh = any(_strange(word, known) for word in words)
    return bool(values) and FINITE.isdisjoint(words) and (fresh or LISTING.search(line) is not None)


def all_in_order(row: Row, prediction: str) -> float:
    """Score several values: every part of the answer in order, each in any accepted wording, and no other value.

    Parts are separated by ``; ``; several answers of a row are other wordings of the same parts. They stand in one
    place of the reply, one after the other, none of them twice, and what stands between them is judged as by `exact`;
    numbering and ages do not count, and ``than`` compares and lists nothing.
    """
    wordings = [str(answer).split(PART) for answer in row["answers"]]
    parts = [tuple(dict.fromkeys(forms)) for forms in zip(*wordings, strict=True)]
    asked = _asked(row)
    known = asked | _words(*map(DATED, row["answers"]))

    def judge(text: str) -> bool:
        return _lists_only(text, parts, asked)

    def strays(line: str) -> bool:
        places = [_first_of(line, [_phrase(form) for form in forms]) for forms in parts]
        starts = [place.start() for place in places if place]
        turned = len(starts) == len(parts) and starts != sorted(starts)
        return turned or bool(_alike(line, parts[0][0], known))

    return float(_listed(row, prediction, len(parts), judge, lambda line: _lists_values(line, known), strays))


def _lists_only(text: str, parts: Sequence[Sequence[str]], asked: frozenset[str]) -> bool:
    """Tell whether a text lists the parts in order, each in one of its forms, and no other value."""
    rest, masked = "\n".join(BULLET.sub("", line) for line in text.splitlines()), ""
    patterns = [[_phrase(form) for form in forms] for forms in parts]
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
    return not said_again and "than" not in TOKEN.findall(masked.lower()) and _alone(masked, DATED(parts[0][0]), asked)


def _first_of(text: str, forms: Iterable[re.Pattern[str]]) -> re.Match[str] | None:
    """Return the first place where one of the forms stands; of two that begin there, the longer."""
    found = [match for form in forms if (match := form.search(text))]
    return min(found, key=lambda match: (match.start(), -match.end()), default=None)


PAIR = " and "
"""What stands between the two names of a pair."""


def pair(row: Row, prediction: str) -> float:
    """Score two names, in any order, of people whose ages differ as asked.

    Judged as by `all_in_order`; a name may lack its middle name, and no third person may be named. Where any pair that
    fits is right, the first answer is one, and all answers after the second are people of the text with their ages,
    ``name, age``: the two named must be among them, and as far apart as those of the first answer.
    """
    target = str(row["answers"][0]).split(PAIR)
    known = dict(entry.rsplit(", ", 1) for entry in row["answers"][2:])
    asked = _asked(row)

    def judge(text: str) -> bool:
        named = _named(text, known) if known else target
        fits = len(named) == 2 and (not known or _apart(named, known) == _apart(target, known))
        orders = ([_name_forms(name) for name in order] for order in (named, named[::-1]))
        return fits and any(_lists_only(text, parts, asked) for parts in orders)

    people = asked | _words(*row["answers"])

    def strays(line: str) -> bool:
        return bool(_alike(line, target[0], people)) or len(_named(line, known)) > 1

    return float(_listed(row, prediction, 2, judge, lambda line: _lists_values(line, people), strays))


def _named(final: str, known: Mapping[str, str]) -> list[str]:
    """Return who of the people known is named."""
    said = final.lower()
    return [name for name in known if any(form.lower() in said for form in _name_forms(name))]


def _apart(names: list[str], known: Mapping[str, str]) -> int:
    one, other = (int(known[name]) for name in names)
    return abs(one - other)


def _name_forms(name: str) -> tuple[str, ...]:
    """Return a name in full, and first and last name alone."""
    return name, f"{name.split()[0]} {name.split()[-1]}"


CITED = re.compile(r"\[[^\[\]\d]{0,12}(\d{1,6}(?:\.\d\d){0,2})\]|(?<![\w.,-])(\d{5})(?![\w-]|[.,]\d)")
"""A label: a number in square brackets, its digits maybe in pairs, or one of five digits."""


def citation(row: Row, prediction: str) -> float:
    """Score values with their sources: every value, each with the label of its biography, in order.

    A label is a number in square brackets or one of five digits; a place of the reply must have just as many as the
    answer has parts. What stands before a label (behind it, if the text starts with one) is the part's value and judged
    as by `exact`: neither values nor labels can be listed.
    """
    answers = [[_sourced(part)[0] for part in str(answer).split(PART)] for answer in row["answers"]]
    wanted = list(zip(*answers, strict=True))
    asked = _asked(row)

    def judge(text: str) -> bool:
        given = _sourced(text)
        return len(given) == len(wanted) and all(map(matches, given, wanted))

    def matches(given: tuple[str, int], forms: tuple[tuple[str, int], ...]) -> bool:
        said, number = given
        return number == forms[0][1] and bool(_gives(said, [value for value, _ in forms], asked))

    def lists(line: str) -> bool:
        return CITED.search(line) is not None and FINITE.isdisjoint(TOKEN.findall(line.lower()))

    labels = {forms[0][1] for forms in wanted}

    def strays(line: str) -> bool:
        return any(number not in labels for _, number in _sourced(line))

    return float(_listed(row, prediction, len(wanted), judge, lists, strays))


def _sourced(text: str) -> list[tuple[str, int]]:
    """Return each label of a text with what stands before it, or behind it where the text starts with a label."""
    labels = list(CITED.finditer(text))
    if not labels:
        return []
    numbers = [int((label[1] or label[2]).replace(".", "")) for label in labels]
    edges = [0, *(edge for label in labels for edge in label.span()), len(text)]
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    leads = TOKEN.search(gaps[0]) is None
    said = gaps[1:] if leads else [*gaps[:-2], f"{gaps[-2]} {gaps[-1]}"]
    return list(zip((one.strip(" \t\n;,.") for one in said), numbers, strict=True))


# Numbers, lists and categories

INTEGER = re.compile(r"(?<![\d.])[-+]?\d{1,30}(?![\d.]*\d)")
GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
PRINTED = re.compile(r"(?<!\[)\[\s{0,3}(?:[-+]?\d{1,9}(?:\s{0,3},\s{0,3}[-+]?\d{1,9}){0,2000})?\s{0,3}\](?!\])")
SUM = re.compile(r"(?<![\w.])-?\d{1,9}(?:\s{0,2}[-+]\s{0,2}\(?-?\d{1,9}\)?){1,200}(?![\d.]*\d)")
"""Arithmetic, of which only the result is an answer."""
CALL = re.compile(r"\b[a-z]\w{0,20}(?:\([^()\n]{0,100}\)|\[[^\[\]\n]{0,100}\])")
"""Python repeated, like ``sum(a[1:3])``."""
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
"""A number in words below a hundred; `one` is one only where it counts years or is all there is."""
BESIDE = re.compile(r"\W*(?:\b(?:or|and|either|maybe|perhaps|possibly|years?|to)\b\W*)*")
"""What stands between the values of a list, or between alternatives."""
DENIED_VALUE = re.compile(r"\b(?:not|never|nor|isn't|wasn't)\b(?:\W+\w+){0,2}\W*$", re.IGNORECASE)
SEVERAL = "several"
"""What a sentence says that names values to choose from, or denies one."""
ASKED_NUMBER = re.compile(
    r"\b(?:differ(?:s|ence)?|apart|(?:older|younger) than|sum|total|min(?:imum)?|max(?:imum)?|smallest|largest|lowest"
    r"|highest|len|length|elements|items|result|outputs?|prints?|returns?)\b",
    re.IGNORECASE,
)


def _numeral(found: re.Match[str]) -> str:
    tens, unit, small = ((each or "").lower() for each in found.groups())
    if tens:
        return str(10 * TENS.index(tens) + 20 + (SMALL.index(unit) if unit else 0))
    return str(SMALL.index(small) if small else 1)


def _integer(sentence: str) -> int | str | None:
    """Return the number that a sentence gives, SEVERAL for alternatives and a denied one, None for none.

    Of several it is the last, without explanations, arithmetic, and what brackets hold beside it.
    """
    text = GROUPING.sub("", NUMERAL.sub(_numeral, CALL.sub("", sentence[-LONG_LINE:])))
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


def _bare_number(sentence: str) -> bool:
    """Tell whether a sentence is a number, perhaps of years, and no more."""
    words = set(TOKEN.findall(INTEGER.sub("", NUMERAL.sub(_numeral, BRACKETS.sub("", sentence))).lower()))
    return words <= {"year", "years", "about", "exactly"} and "=" not in sentence


def _number(row: Row, prediction: str) -> int | None:
    """Return the whole number that a reply settles on."""
    text, marked = _marked(plain(row, prediction))

    def leads(sentence: str) -> bool:
        return _bare_number(sentence) or bool(ASKED_NUMBER.search(sentence))

    found = _settled(text, _integer, leads, marked=marked, bare=_bare_number)
    return found if isinstance(found, int) else None


def last_integer(row: Row, prediction: str) -> float:
    """Score a whole number: the one that the answering sentence gives must be the target.

    Without a mark the first sentence answers if it is the number alone, or says what it is (``the difference is 11``).
    Of several numbers of the sentence the last one counts, without explanations, arithmetic and brackets; one after
    ``not``, and alternatives like ``14 or 10``, score 0. Numbers may be grouped by commas or written in words.
    """
    return float(_number(row, prediction) == int(row["target"]))


def latent_list(row: Row, prediction: str, *, values: bool = False) -> float:
    """Score a view of a latent list (Michelangelo, section 2.1).

    ``print``: the list that the answering sentence gives (the last one, not one of alternatives) must be the target,
    character for character, or with `values` in its numbers alone. Other views: the number g that the answering
    sentence gives (as in `last_integer`) against the target t, as ``1 - min(1, |t - g| / (1e-10 + |t|))``.
    """
    if row["subtask"] != "print":
        given = _number(row, prediction)
        return 0.0 if given is None else closeness(int(row["target"]), given)
    text, marked = _marked(plain(row, prediction))
    found = _settled(text, _printed, _bare_list, marked=marked, bare=_bare_list)
    wanted = str(row["target"])
    if values and isinstance(found, str):
        found, wanted = (",".join(INTEGER.findall(each)) for each in (found, wanted))
    return float(found == wanted)


def _printed(sentence: str) -> str | None:
    """Return the last list of a sentence, SEVERAL if it is one of alternatives, None if there is none."""
    found = list(PRINTED.finditer(sentence))
    if len(found) > 1 and found[-2][0] != found[-1][0]:
        between = sentence[found[-2].end() : found[-1].start()]
        if BESIDE.fullmatch(between) and not re.search(r"[=>:]", between):
            return SEVERAL
    denied = found and DENIED_VALUE.search(sentence[: found[-1].start()])
    return SEVERAL if denied else found[-1][0] if found else None


def _bare_list(sentence: str) -> bool:
    """Tell whether a sentence is a list and no more."""
    return not TOKEN.search(PRINTED.sub("", sentence))


def closeness(target: int, given: int) -> float:
    """Return 1 less the error relative to the target, and no less than 0."""
    return 1.0 - min(1.0, abs(target - given) / (1e-10 + abs(target)))


CATEGORY = re.compile(
    r"(?P<denied>\b(?:not|never|isn't|nor|or) )?"
    r"\b(?:(?:categor(?:y|ies)|class|labels?)\b(?: (?:of|for) [a-z' -]{1,60}? (?=is\b))?[ #:(]{0,3}"
    r"|(?<=, )|(?<=and )|(?<=& )|(?<=or ))(?:(?:is|are) )?"
    r"(?P<number>\d{1,3})\b(?![/.-]\d)"
)
BARE_CATEGORY = re.compile(r"(?:the )?(?:category|class|label)?[ #:(]{0,3}(\d{1,3})[).]*")
"""A category that is all of an answer."""
SEVERAL_NUMBERS = re.compile(r"\W*(?:either )?\d{1,3}(?:\W+(?:(?:or|and|to) )?\d{1,3}){1,20}\W*")


CONTINUED = re.compile(r"(?P<first>[^\n]{1,200})\n{1,3}(?!label\b)[^\n]{1,2000}\nlabel:", re.IGNORECASE)
"""A label, and behind it another message with its label, as a base model goes on."""
WORDED_LABEL = re.compile(r"(?<![a-z-])[a-z]{1,40}(?:-[a-z]{1,40}){1,5}(?![a-z-])")
"""A label in words."""
LABEL_CUE = re.compile(
    r"\W*(?:(?:so|thus|therefore),? )?(?:the )?(?:(?:right|correct|final) )?(?:label|category|class|answer)\b"
    r"(?: (?:of|for) [^:\n]{1,60}?(?= (?:is|would be)\b))?[ \"':=]{0,3}(?:\b(?:is|would be|should be)\b)?\W*",
    re.IGNORECASE,
)


def label(row: Row, prediction: str) -> float:
    """Score one category, like ``Category 7`` or ``7``, or a label in words, like ``renew-gym``.

    A number counts behind ``category``, ``class`` or ``label``, or if it is all there is. The sentence that answers
    must name exactly the target's: two numbers, or one after ``not`` or ``or``, score 0. Without a mark the first
    sentence answers if it is the category alone, or has a name that the question asks about. Where a label is followed
    by another message and its label, the first one is the answer.

    Other labels are of a user's own texts, like ``card_arrival``: the line that gives the label must be it and no more,
    letters and digits compared.
    """
    asked = str(row.get("question") or "")
    names = {word for word in TOKEN.findall(asked) if word[0].isupper()} if asked.startswith("Which ") else set()
    text, marked = _marked(plain(row, prediction))
    target = str(row["answers"][-1])
    if not target.isdigit() and not WORDED_LABEL.fullmatch(target):
        return float(_given_label(text) == _letters(unaccented(target)))
    read, bare = (_category, _bare_category) if target.isdigit() else (_worded_label, _bare_label)
    continued = CONTINUED.match(text.lstrip())
    text = continued["first"] if continued and bare(continued["first"]) else text

    def leads(sentence: str) -> bool:
        return bare(sentence) or not (names - {"Which"}).isdisjoint(TOKEN.findall(sentence))

    wanted = int(target) if target.isdigit() else target
    return float(_settled(text, read, leads, marked=marked, bare=bare) == wanted)


def _given_label(text: str) -> str:
    """Return the label that a reply gives in a line of its own: behind the last cue, or in the first line."""
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
    """Return the label in words that a sentence names, SEVERAL for more than one or a denied one, None for none."""
    said = sentence[-LONG_LINE:].lower().replace("_", "-")
    found = list(WORDED_LABEL.finditer(said))
    if not found:
        return None
    several = len({each[0] for each in found}) > 1 or DENIED_VALUE.search(said[: found[-1].start()])
    return SEVERAL if several else found[-1][0]


def _bare_label(sentence: str) -> bool:
    return re.fullmatch(rf"(?:label\W{{0,3}})?{WORDED_LABEL.pattern}\W*", sentence.lower().strip(" \"'")) is not None


def _bare_category(sentence: str) -> bool:
    return BARE_CATEGORY.fullmatch(sentence.lower().strip(" \"'")) is not None


def _category(sentence: str) -> int | str | None:
    """Return the category that a sentence names, SEVERAL for more than one or a denied one, None for none."""
    said = NUMERAL.sub(_numeral, sentence[-LONG_LINE:]).lower()
    short = EXPLAINED.sub("", said)
    said = short if CATEGORY.search(short) else said
    alone = BARE_CATEGORY.fullmatch(said.strip(" \"'"))
    if alone:
        return int(alone[1])
    if SEVERAL_NUMBERS.fullmatch(said):
        return SEVERAL
    named = list(CATEGORY.finditer(said))
    numbers = {int(found["number"]) for found in named}
    if not re.search(r"categor|class|label", said) or not numbers:
        return None
    return SEVERAL if len(numbers) > 1 or any(found["denied"] for found in named) else numbers.pop()


# Sets and routes

MEMBERS = ", "
"""What stands between the members of a target, which is `NO_MEMBERS` where there are none."""
NO_MEMBERS = "none"
GROUPED = re.compile(r"(?<![\w.])\d{1,3}(,|\{,\}|[. _'])\d{3}(?:\1\d{3})+(?!\w|\1\d{3}(?!\d))")
"""A number of seven digits and more with its digits in groups."""
UUID = re.compile(
    r"(?<![\w-])(?:[0-9a-f]{6,10}(?:-[0-9a-f]{2,6}){3}-[0-9a-f]{10,14}|[0-9a-f]{30,34})(?![\w-])", re.IGNORECASE
)
HEX = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE)
EMPTY = re.compile(r"\[\s*\]|\{\s*\}|\\(?:emptyset|varnothing)\b|\u2205|\bset\(\)")
"""A set without members, as it is written."""
NONE = re.compile(r"\b(?:none|no|nothing|empty|zero|0|(?:not|n't) (?:\w+ )?any)\b", re.IGNORECASE)
CLAUSES = re.compile(r"; |,? (?:but|while|whereas)\b")
UNABLE = re.compile(
    r"\b(?:cannot|can't|could(?: not|n't)|unable|impossible|not possible|do(?: not|n't) (?:know|have)|no idea|unsure"
    r"|not sure|not enough|insufficient|no (?:\w+ )?(?:information|answer|way))\b",
    re.IGNORECASE,
)
COUNTING = _words(
    "appearance assigned assignment code coded common commonest count counting direct directly distance each equal "
    "frequency frequent frequently initially item level member node none number occur occurrence occurring often once "
    "reach reachable reached respectively set step time top total transitively twice value var variable via word",
    *SMALL,
    *TENS,
)
"""Words of talk about members of sets, in the singular, beside those that are neutral everywhere."""
TABLE_HEAD = re.compile(r"^.*\|.*\n[ \t|]*:?-+:?[ \t]*\|[-:| \t]*$", re.MULTILINE)
COPULA = re.compile(r"\b(?:is|are|was|were|be|includes?|namely|as follows)\b", re.IGNORECASE)
CONCLUSION = re.compile(
    r"(?:so|thus|hence|therefore|consequently|overall|altogether|in (?:conclusion|summary|total|all|short))\b",
    re.IGNORECASE,
)
"""How a sentence begins that says what came out."""
GROUNDS = re.compile(r"explanation\b|(?:reasoning|working|derivation|details?|notes?|steps) ?:", re.IGNORECASE)
"""How a sentence begins that says why."""
ASIDE = re.compile(r"\([^()\n]*\)")
WORKING = re.compile(r"->|=|\u2192|\u21d2")
SPLIT = re.compile(f"({JOINTS.pattern})")
GLOSSES = frozenset({":", "-", "(", ")", "<", ">", "->"})
"""Joints behind which something is said of what stands before them."""
GLOSS = re.compile(
    r"(?:\s-{1,2}|\s?[\u2013\u2014:])\s(?:[a-z]|.*\b(?:is|are|was|were|has|had|says?|states?|stands?)\b).*$"
)
"""What is said of a name behind a dash."""
CAPITALS = re.compile(r"(?<![\w\x02])[A-Z][\w'-]*(?:(?: (?:of|the|at|near|in|on|&))* [A-Z][\w'-]*)*")
"""Words with capitals that make one name."""
SERVING = FINITE | _words("the a an also sure thus hence therefore however finally consequently overall altogether")
"""Words that are no item even where they stand alone."""
WITHOUT = DENIALS | {"except", "excluded", "excluding", "nor"}


def members(row: Row, prediction: str) -> float:
    """Score a set by the F1 of the items of the final answer, in any order, an item said twice counting once.

    The final answer is what follows a mark, else a sentence that begins with ``so`` or the like, else all of the reply;
    of it the lines that are lists, if there are any. An item is what has the form of the row's members (UUIDs; numbers
    or hexadecimal names of about their length; words in capitals; names of several words), else a word that stands
    alone or that ordinary talk does not have; what the question names or ``not`` denies is none. An empty set must be
    said to be empty.
    """
    wanted = set(_members(row))
    given, said = _given(row, prediction)
    if not wanted:
        return float(not given and NONE.search(said) is not None and not UNABLE.search(said))
    return _f1(len(wanted.intersection(given)), len(wanted), len(set(given)))


def route(row: Row, prediction: str) -> float:
    """Score a route by the share of its nodes that are right, from the first one to the first wrong one.

    Nodes are the items of `members` in their order; one that stands next to itself counts once, and those of the
    question do not count. Whoever gives more nodes than the route has is measured by the number given.
    """
    wanted, given = ([node for node, _ in groupby(nodes)] for nodes in (_members(row), _given(row, prediction)[0]))
    pairs = zip(given, wanted, strict=False)
    right = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return right / max(len(given), len(wanted))


COUNTED = re.compile(
    r"\b(?:there (?:are|were|is|was)|number of|total|altogether|in all|exactly|count(?:ed)?)\b"
    r"|\b(?:received|found|handled) \d|\d (?:of (?:the|these|those|its|their|them) |such )?(?:messages?\b|ask)",
    re.IGNORECASE,
)
"""How a sentence speaks that gives a number of messages."""


MONTH = rf"(?:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)}|sept)"
DAY = re.compile(rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH}\b|\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b", re.IGNORECASE)
PART_OF = re.compile(r"[.;]\s{1,3}(?=(?:of|among) (?:these|those|them)\b)", re.IGNORECASE)


def count(row: Row, prediction: str) -> float:
    """Score a number of things that were to be counted: the one that the answering sentence gives must be the target.

    Numbers that the question names, as those of people, do not count, nor do days. Without a mark the first sentence
    answers if it is the number alone or speaks of how many there are, else the last one; ``of these`` goes on with a
    sentence, and the rest is as in `last_integer`.
    """
    asked = str(row.get("question") or "")
    named = "|".join(
        rf"\b{noun} {{1,3}}\d+|(?<!\d){number}(?!\d)" for noun, number in re.findall(r"(\w+) (\d+)", asked)
    )
    text, marked = _marked(PART_OF.sub(", ", DAY.sub("", plain(row, prediction))))
    text = re.sub(named, "", text, flags=re.IGNORECASE) if named else text

    def leads(sentence: str) -> bool:
        return _bare_number(sentence) or bool(COUNTED.search(sentence))

    found = _settled(text, _integer, leads, marked=marked, bare=_bare_number)
    return float(isinstance(found, int) and found == int(row["target"]))


def near_count(row: Row, prediction: str) -> float:
    """Score a number as OOLONG does (section 3): ``0.75 ** abs(target - given)``.

    The number is what follows the last colon, without asterisks and square brackets; in a reply without colons it is a
    short reply as a whole, or the last word.
    """
    reply = thought(prediction)
    given = reply if len(reply) < SHORT else reply.split()[-1:]
    if ":" in reply:
        given = re.sub(r"[*\[\]]", "", reply.rpartition(":")[2].strip())
    try:
        return float(0.75 ** abs(int(row["target"]) - int("".join(given))))
    except (ValueError, OverflowError):
        return 0.0


SHORT = 20
"""Characters below which OOLONG takes a reply without colons for an answer."""


def choice(row: Row, prediction: str) -> float:
    """Score a choice among (A) to (D), none of which is that the text does not tell: see `choice_or_refusal`."""
    return choice_or_refusal(row, prediction, refuses=False)


def shaped(row: Row, prediction: str, form: re.Pattern[str]) -> float:
    """Score one UUID or number: the sentence that answers must give it, and no other that has its form.

    Without a mark the first clause answers if it says a value in words of the question and of ordinary talk alone, else
    the last one; no other clause may say another value in such words. ``or`` and a refusal score 0.
    """
    talk = _asked(row) | COUNTING

    def read(sentence: str) -> Hashable:
        items = frozenset(_shaped(form, sentence, talk))
        unsure = not CHOOSING.isdisjoint(TOKEN.findall(sentence.lower())) or REFUSAL.search(sentence)
        return SEVERAL if (items and unsure) or UNABLE.search(sentence) else items or None

    def presents(sentence: str) -> bool:
        return all(_talks(token, talk) for token in TOKEN.findall(form.sub(" ", sentence).lower()))

    text, marked = _marked(_ungrouped(_undated(row, prediction)))
    found = _settled(CLAUSES.sub("\n", text), read, presents, marked=marked, bare=presents)
    return float(found in [frozenset({_compared(str(answer))}) for answer in row["answers"]])


def listed(row: Row) -> list[str]:
    """Return the members of a row's target as they are written."""
    return [] if row["target"] == NO_MEMBERS else str(row["target"]).split(MEMBERS)


def _members(row: Row) -> list[str]:
    """Return the members of a row's target as they are compared."""
    return list(map(_compared, listed(row)))


def _compared(item: str) -> str:
    """Return an item as it is compared: in small letters, without hyphens."""
    return item.lower().replace("-", "")


def _ungrouped(text: str) -> str:
    """Return a text with numbers of seven digits and more in one piece, however their digits are grouped."""
    return GROUPED.sub(lambda found: re.sub(r"\D", "", found[0]), text)


def _f1(right: int, wanted: int, given: int) -> float:
    """Return the harmonic mean of precision and recall, from numbers of items."""
    if not right:
        return 0.0
    precision, recall = right / given, right / wanted
    return 2 * precision * recall / (precision + recall)


def _given(row: Row, prediction: str) -> tuple[list[str], str]:
    """Return the items of a reply's final answer, in order, and the text of that answer."""
    question = str(row.get("question") or "")
    text, marked = _marked(_ungrouped(TABLE_HEAD.sub("", EMPTY.sub(" none ", _undated(row, prediction)))))
    form = _form(listed(row) or [found[0] for kind in (UUID, HEX) for found in kind.finditer(question)][:1], text)
    talk = _words(question) | COUNTING

    names = listed(row) if " " in row["target"].replace(MEMBERS, "") else []

    def read(text: str) -> list[str]:
        return _titled(names, text, talk) if names else _shaped(form, text, talk) if form else _worded(text, talk)

    forms = (GLOSS, EXPLAINED, ASIDE) if names else (EXPLAINED, ASIDE)
    sentences = [_told(sentence, read, forms) for sentence in _sentences(text)]
    sentences = sentences[_span(sentences, list(map(read, sentences)), marked=marked)]
    passages = [(lists, read("\n".join(some))) for lists, some in groupby(sentences, _lists)]
    listing = any(items for lists, items in passages if lists)
    return [item for lists, items in passages if lists or not listing for item in items], "\n".join(sentences)


def _span(sentences: Sequence[str], said: Sequence[object], *, marked: bool) -> slice:
    """Return where the final answer stands: from the last conclusion on, or up to where grounds begin."""
    places = [at for at, items in enumerate(said) if items] or [0]
    ends = [at for at, each in enumerate(sentences[: places[-1] + 1]) if CONCLUSION.match(each)]
    if ends and not marked:
        return slice(ends[-1], None)
    return slice(0, next((at for at, each in enumerate(sentences) if at > places[0] and GROUNDS.match(each)), None))


def _form(values: Sequence[str], text: str = "") -> re.Pattern[str] | None:
    """Return a pattern of what has the form of some values: UUIDs, numbers, hexadecimal names; None for words.

    Words in capitals are a form too, where a text holds any.
    """
    if not values or min(map(len, values)) < 2:
        return None
    least, most = min(map(len, values)), max(map(len, values))
    same, about = f"{{{least},{most}}}", f"{{{max(2, least - 2)},{most + 2}}}"
    if all(map(UUID.fullmatch, values)):
        return UUID
    if least > 4 and all(map(str.isdigit, values)):
        return re.compile(rf"(?<![\w.-])\d{about}(?![\w-]|[.,]\d{{1,3}}\b)")
    if least > 4 and any(map(HEX.fullmatch, values)) and re.fullmatch("[0-9a-f]+", "".join(values)):
        return re.compile(rf"(?<![\w-])(?:[0-9a-f]{same}|(?=[a-f]*\d)[0-9a-f]{about})(?![\w-])", re.IGNORECASE)
    capitals = re.compile(rf"(?<![\w-])[A-Z]{about}(?![\w-])")
    return capitals if all(map(capitals.fullmatch, values)) and capitals.search(text) else None


def _shaped(form: re.Pattern[str], text: str, talk: frozenset[str]) -> list[str]:
    """Return what has a form in a text, as it is compared, but for what is denied, neutral or of talk."""
    pieces = (piece for piece in JOINTS.split(text) if WITHOUT.isdisjoint(TOKEN.findall(piece.lower())))
    found = (found[0] for piece in pieces for found in form.finditer(piece))
    return [_compared(item) for item in found if item.lower() not in NEUTRAL and item.lower() not in talk]


def _titled(names: Sequence[str], text: str, talk: frozenset[str]) -> list[str]:
    """Return the names of several words in a text, as they are compared: those that are known, and runs of capitals."""
    known = sorted(names, key=len, reverse=True)
    for number, name in enumerate(known):
        for form in {name, name.replace(" & ", " and ")}:
            text = _phrase(form).sub(f"\x02{number}\x02", text)
    items = []
    for piece in JOINTS.split(text):
        if WITHOUT.isdisjoint(TOKEN.findall(piece.lower())):
            items += [known[int(number)] for number in re.findall("\x02(\\d+)\x02", piece)]
            runs = (TOKEN.findall(run) for run in CAPITALS.findall(piece))
            kept = ([word for word in run if not _talks(word.lower(), talk | SERVING)] for run in runs)
            items += [" ".join(run) for run in kept if run]
            small = text == text.lower() and "\x02" not in piece
            items += [piece] if small and not all(_talks(word, talk | SERVING) for word in TOKEN.findall(piece)) else []
    return list(map(_compared, items))


def _worded(text: str, talk: frozenset[str]) -> list[str]:
    """Return the words of a text that are items, as they are compared.

    Between commas and the like they are words alone, if there are several, a row of words most of which are strange, or
    the one strange word of talk.
    """
    head, colon, rest = text.partition(":")
    if colon and "\n" not in head and all(_talks(token, talk) for token in TOKEN.findall(head.lower())):
        return _worded(rest, talk)
    pieces = _pieces(text)
    alone = [len(words) == 1 and not gloss and words[0] not in SERVING for words, gloss in pieces]
    items = []
    for (words, _), single in zip(pieces, alone, strict=True):
        kept = [word for word in words if talk.isdisjoint((word, word.rstrip("s"))) and word not in SERVING]
        strange = [word for word in kept if word not in NEUTRAL]
        row = 2 * len(strange) > len(kept) and FINITE.isdisjoint(words)
        if single and sum(alone) > 1:
            items += words
        elif WITHOUT.isdisjoint(words) and (row or len(strange) == 1):
            items += kept if row else strange
    return list(map(_compared, items))


def _pieces(text: str) -> list[tuple[list[str], bool]]:
    """Return the words between the joints of a text, numbers left out, and whether they gloss what stands before."""
    first, *rest = SPLIT.split(COPULA.sub("\n", text))
    parts = [("\n", first), *zip(rest[::2], rest[1::2], strict=True)]
    return [
        ([word for word in TOKEN.findall(part.lower()) if not word.isdigit()], joint.strip() in GLOSSES)
        for joint, part in parts
    ]


def _talks(token: str, talk: frozenset[str]) -> bool:
    """Tell whether a word is a number, neutral, or of talk about sets or of the question."""
    return token.isdigit() or token in NEUTRAL or not talk.isdisjoint((token, token.rstrip("s")))


def _told(sentence: str, read: Callable[[str], object], forms: Sequence[re.Pattern[str]]) -> str:
    """Return a sentence without explanations and asides, if it names items without them."""
    for form in forms:
        without = form.sub(" ", sentence)
        sentence = without if read(without) else sentence
    return sentence


def _lists(sentence: str) -> bool:
    """Tell whether a text is a list, and neither a sentence, a heading nor working."""
    headed = sentence.endswith(":") or WORKING.search(sentence) is not None
    return not headed and FINITE.isdisjoint(TOKEN.findall(sentence.lower()))


# Facts with the ids of documents that state them

FIGURES = ("correctness", "recall", "precision")
"""What `cited` measures: facts stated, statements that ids support, ids that support."""
SOURCED = re.compile(r"\s?([^\n]+?) ((?:\[\d{1,8}\])+)(?:[.,] ?|$)")
"""A fact of a target: a value, and the ids of all documents that state it."""
NUMBERS = re.compile(r"(?<![\w.,])\d{1,8}(?![\w]|[.,]\d)")
SOURCE = re.compile(r"\[[^\[\]\n]{0,200}\]|(?<![\w.,-])\d{5}(?![\w-]|[.,]\d)")
"""What may be an id: brackets with numbers, or a number of five digits."""
NAMING_IDS = re.compile(
    r"(?:\W|_|\d|\b(?:and|or|docs?|documents?|ids?|sources?|refs?|references?|passages?|cit(?:e|ation)s?|see|no|nr)\b)*",
    re.IGNORECASE,
)
"""What brackets may hold beside ids of fewer than five digits."""
ID = "\x02"
"""What stands for an id in a text that is taken apart."""
BEHIND_STOP = re.compile(rf"([.!?]{{1,3}})((?:[ \t,;()]{{0,8}}{ID})+[ \t]?\)?)")
BEFORE_ID = re.compile(rf"(?<=[.!?])\s+(?=\(?{ID})")
BEHIND_ID = re.compile(rf"(?<={ID}[.!?])\s+")
ITEM_END = re.compile(rf"[,;]|(?<={ID})\)?\s+(?:and|&)\s|^and\s")
CONJUNCTION = re.compile(r"\s(?:and|&)\s")
MOST_IDS = 3
"""Ids of a statement that may support it."""


class Statement(NamedTuple):
    """A sentence, or an item of a list: the numbers of the facts it claims, its ids, and those that count."""

    facts: frozenset[int]
    ids: tuple[str, ...]

    @property
    def counted(self) -> tuple[str, ...]:
        """The ids that may support it."""
        return self.ids[:MOST_IDS]


class Fact(NamedTuple):
    """A fact that is asked for: every wording of its value, and the ids that support it, any one of which will do."""

    forms: tuple[str, ...]
    ids: frozenset[str]


def cited(row: Row, prediction: str, *, alce: bool = False, figure: str = "mean") -> float:
    """Score facts with the ids of documents that state them: the mean of three figures, or one of `FIGURES`.

    After ALCE (Gao et al. 2023, section 3), which asks a model whether documents support a statement; here the key
    tells. A target like ``Oslo [24404][31337]. 1803 [11223].`` asks for sentences, ``Oslo [24404], Lima [11223]`` for
    a list; other answers are other wordings of the same facts. A statement is a sentence, or an item of a list, but for
    those that say nothing and have no id. It claims the facts whose values stand in it, and none where it leaves a
    choice; an item must be one value and no other. Of its ids the first three count.

    - correctness: facts that are claimed, of those that are asked for; of a list five are enough.
    - recall: statements that claim facts, each of them with an id that supports it, of all statements.
    - precision: ids that support a claimed fact, in such statements, of all ids that are given.

    With `alce` the reply is taken apart as by ALCE's own code: its first line alone, by full stops or commas, ids only
    right behind a bracket, values as substrings, and an id that is not needed does not count.
    """
    facts, listing = _sourced_facts(row), "], " in str(row["target"])
    if alce:
        statements, claimed = _alce_statements(prediction, facts, listing=listing)
    else:
        statements = _statements(row, prediction, facts, listing=listing)
        claimed = frozenset[int]().union(*(one.facts for one in statements))
    right = [one for one in statements if one.facts and _supported(one.facts, one.counted, facts)]
    most = min(5, len(facts)) if listing else len(facts)
    given = sum(len(one.counted if alce else one.ids) for one in statements)
    needed = _needed if alce else _supporting
    figures = (
        min(most, len(claimed)) / max(1, most),
        len(right) / max(1, len(statements)),
        sum(needed(one, facts) for one in right) / max(1, given),
    )
    return sum(figures) / len(figures) if figure == "mean" else figures[FIGURES.index(figure)]


def _sourced_facts(row: Row) -> list[Fact]:
    """Return the facts that a row asks for."""
    worded = [list(SOURCED.finditer(str(answer))) for answer in row["answers"]]
    return [
        Fact(tuple(dict.fromkeys(one[1] for one in forms)), frozenset(NUMBERS.findall(forms[0][2])))
        for forms in zip(*worded, strict=True)
    ]


def _supported(claimed: Iterable[int], ids: Sequence[str], facts: Sequence[Fact]) -> bool:
    """Tell whether ids support every fact that is claimed."""
    return all(not facts[one].ids.isdisjoint(ids) for one in claimed)


def _supporting(one: Statement, facts: Sequence[Fact]) -> int:
    """Return how many of a statement's ids support a fact that it claims."""
    return sum(any(each in facts[at].ids for at in one.facts) for each in one.counted)


def _needed(one: Statement, facts: Sequence[Fact]) -> int:
    """Return how many of a statement's ids support all of it, or are needed so that all together do."""
    alone = [_supported(one.facts, [each], facts) for each in one.counted]
    without = [[*one.counted[:at], *one.counted[at + 1 :]] for at in range(len(alone))]
    return sum(
        is_enough or not _supported(one.facts, rest, facts) for is_enough, rest in zip(alone, without, strict=True)
    )


def _statements(row: Row, prediction: str, facts: Sequence[Fact], *, listing: bool) -> list[Statement]:
    """Return what a reply states, in sentences or items; what only presents or ends it is left out."""
    text = TABLE_HEAD.sub("", _undated(row, TITLE_LINE.sub(r"\1:", prediction)).translate(SQUARE))
    behind, marked = _marked(text)
    text, ids = _with_ids_apart(behind if marked and SOURCE.search(behind) else text)
    asked, found, numbers = _asked(row), list[Statement](), iter(ids)
    for place, piece in enumerate(_joined(_cut(text, listing=listing), facts, listing=listing)):
        own = tuple(dict.fromkeys(number for _, number in zip(range(piece.count(ID)), numbers, strict=False)))
        said = piece.replace(ID, " ").strip()
        claimed = frozenset(_claimed(said, facts, asked, listing=listing)) if place < MOST else frozenset[int]()
        if claimed or own or not (said.endswith(":") or _empty(said, asked)):
            found.append(Statement(claimed, own))
    return found


TITLE_LINE = re.compile(
    r"^[ \t]{0,9}(?:#{1,6} |\*\*(?=[^*\n]{1,99}\*\*:?[ \t]{0,9}$))([^*\n:]{1,99})(?:\*\*)?:?[ \t]{0,9}$", re.MULTILINE
)
"""A line that is marked as a heading, or bold as a whole."""
SQUARE = str.maketrans({"\u3010": "[", "\u3011": "]"})


def _with_ids_apart(text: str, source: re.Pattern[str] = SOURCE) -> tuple[str, list[str]]:
    """Return a text with a mark in place of each id, and the ids in order."""
    ids = list[str]()

    def mark(found: re.Match[str]) -> str:
        numbers = NUMBERS.findall(found[0])
        own = [one for one in numbers if len(one) == 5] or (numbers if NAMING_IDS.fullmatch(found[0]) else [])
        ids.extend(own)
        return ID * len(own) or found[0]

    return source.sub(mark, text.replace(ID, " ")), ids


def _cut(text: str, *, listing: bool) -> Iterator[str]:
    """Yield the sentences of a text, or the items of its lists; ids belong to what they end, or begin in each line."""
    for line in text.splitlines():
        bare = BULLET.sub("", line).strip()
        leads = bare.lstrip("( ").startswith(ID)
        sentences = BEFORE_ID.split(bare) if leads else [BEHIND_STOP.sub(r" \2\1 ", bare)]
        sentences = [each for one in sentences for each in BEHIND_ID.split(one)]
        for sentence in (each for one in sentences for each in SENTENCE_END.split(one)):
            yield from ITEM_END.split(sentence) if listing else [sentence]


def _joined(pieces: Iterable[str], facts: Sequence[Fact] = (), *, listing: bool) -> Iterator[str]:
    """Yield pieces that say something, each with the ids that stand alone behind it if it has none, or is an item.

    A value may consist of ordinary words alone (*The Cradle and the Well*): its ids do not stand alone.
    """
    held = list[str]()
    for piece in pieces:
        bare = NAMING_IDS.fullmatch(piece.replace(ID, " ")) and not any(map(str.isdigit, piece))
        alone = ID in piece and (bare or (_idle(piece) and not _states(piece.replace(ID, " "), facts)))
        if held and alone and (listing or not any(ID in one for one in held)):
            held.append(ID * piece.count(ID))
        elif TOKEN.search(piece) or ID in piece:
            if held:
                yield " ".join(held)
            held = [piece]
    if held:
        yield " ".join(held)


def _states(said: str, facts: Sequence[Fact]) -> bool:
    """Tell whether a value of a fact stands in a text."""
    words = f" {normalised(said)} "
    return any(_stands(fact, words) for fact in facts)


def _stands(fact: Fact, words: str) -> bool:
    """Tell whether a form of a fact stands in a normalised text, which begins and ends with a space."""
    return any(f" {NORMALISED(form)} " in words for form in fact.forms)


def _claimed(said: str, facts: Sequence[Fact], asked: frozenset[str], *, listing: bool) -> Iterator[int]:
    """Yield the numbers of the facts that a statement claims: none if it leaves a choice, or refuses."""
    if len(said) > LONG_LINE or REFUSAL.search(said) or not (CHOOSING - asked).isdisjoint(TOKEN.findall(said.lower())):
        return
    words = f" {normalised(said)} | {normalised(POSSESSIVE.sub('', said))} "
    for at, fact in enumerate(facts):
        if _stands(fact, words) and (not listing or _is_item(said, fact, asked)):
            yield at


POSSESSIVE = re.compile(r"(?<=\w)'s\b")


def _is_item(said: str, fact: Fact, asked: frozenset[str]) -> bool:
    """Tell whether an item is a value, perhaps with words that present it, and no other value."""
    forms = [NORMALISED(form) for form in fact.forms]
    parts = [normalised(part) for part in (said, said.rpartition(": ")[2], *CONJUNCTION.split(said))]
    return any(form in parts for form in forms) or bool(_gives(said, fact.forms, asked))


def _empty(said: str, asked: frozenset[str]) -> bool:
    """Tell whether a text says nothing but ordinary words and those of the question."""
    return not any(_strange(word, asked) for word in TOKEN.findall(said))


def _alce_statements(
    prediction: str, facts: Sequence[Fact], *, listing: bool
) -> tuple[list[Statement], frozenset[int]]:
    """Return the statements of a reply as ALCE's code takes it apart, and the facts that all of it claims."""
    line = thought(prediction).strip().split("\n")[0].replace("<|im_end|>", "")
    if listing:
        pieces = line.rstrip().rstrip(".").rstrip(",").split(",")
    else:
        pieces = [piece for piece in STOP.split(line) if len(piece.strip()) >= SHORTEST]
    ids = [tuple(each[1:] for each in re.findall(r"\[\d+", piece)) for piece in pieces]
    claimed = [_alce_claimed(piece, facts, listing=listing) for piece in pieces]
    whole = frozenset[int]().union(*claimed) if listing else _alce_claimed(line, facts, listing=False)
    return list(map(Statement, claimed, ids)), whole


def _alce_claimed(text: str, facts: Sequence[Fact], *, listing: bool) -> frozenset[int]:
    """Return the facts of which a value is a text, or for sentences stands in it, as ALCE compares them."""
    bare = normalised(re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", text)).replace(" |", "").replace("]", ""))
    forms = [[NORMALISED(form) for form in fact.forms] for fact in facts]
    return frozenset(
        at for at, some in enumerate(forms) if any(form == bare if listing else form in bare for form in some)
    )


STOP = re.compile(r"""(?<=[.?!])\s+|(?<=[.?!]["')\]])\s+""")
SHORTEST = 5
"""Characters of the shortest sentence that HELMET's copy of ALCE looks at."""


# Rankings

RANKED, TIED = ">", "="
"""What stands between the ranks of a key, and between the members of a rank: those are worth the same."""
CUT, FEWEST = 10, 3
"""Places of a ranking that count; numbers that are a ranking at the least, beside other ones."""
_ID = r"\d{5,7}"
RANKING = re.compile(r"\b(?:rankings?|ranked list|order)(?: (?:is|of \w+ \w+))?\s{0,3}[:=]", re.IGNORECASE)
ENUMERATED = re.compile(rf"(?<![\w.-])(?<!\d,){_ID}(?![\w-]|[.,]\d{{1,3}}\b)")
LABEL = r"(?:\b(?:documents?|docs?|passages?|ids?|numbers?|no|nr)\b[.:#]?[ \t]*|\b(?:id|doc)[_:]?)"
LABELS = re.compile(rf"{LABEL}(?=[\[({{\"'#]{{0,2}}{_ID})|[\[\](){{}}\"'#|]", re.IGNORECASE)
"""What may stand round the number of a document."""
REMARK = re.compile(r"\([^()\n]*\)|\[[^\[\]\n]*\]")
NO_REMARK = re.compile(rf"[(\[]\W*(?:{LABEL}?\W*{_ID}\W*(?:and )?)+[)\]]", re.IGNORECASE)
ABOVE = r"(?:>+|-+>|=+>|\u2192|\u21d2|\u227b|\u2265|\\(?:succ|gt|geq|to|rightarrow|Rightarrow)\b)"
CHAIN = re.compile(rf"{_ID}(?:\s{{0,3}}(?:{ABOVE}|[=~,.]|\\sim\b)\s{{0,3}}{_ID})+")
APPOSED = re.compile(r"(?:[\s,;&/|=~>.-]|\band\b|\bthen\b)*")


def ndcg(row: Row, prediction: str) -> float:
    """Score a ranking by NDCG at 10: gains are as the key has them, the ideal is the best ranking there is.

    A reply is read for numbers of documents in the order of its final answer: of what follows a mark, or of all, the
    last chain (``12345 > 23456``), unless it is much shorter than another one; without chains, the numbers that lines
    begin with. A number that the key does not know, or that stood before, keeps its place and gains nothing.
    """
    worth, gains, seen = worth_of(row), list[int](), set[str]()
    for number in _ranking(row, prediction)[:CUT]:
        gains.append(0 if number in seen else worth.get(number, 0))
        seen.add(number)
    return _discounted(gains) / _discounted(sorted(worth.values(), reverse=True)[:CUT])


def worth_of(row: Row) -> dict[str, int]:
    """Return what each document of a row's key is worth: 1 in the last rank, one more in each rank before.

    The last answer of the key is the one that names all documents that are worth anything.
    """
    ranks = str((row.get("answers") or [row["target"]])[-1]).split(RANKED)
    return {one.strip(): worth for worth, rank in enumerate(reversed(ranks), 1) for one in rank.split(TIED)}


def _discounted(gains: Iterable[int]) -> float:
    """Return the discounted sum of gains in the order of their places (Jarvelin and Kekalainen 2002)."""
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, 1))


def _ranking(row: Row, prediction: str) -> list[str]:
    """Return the numbers of documents in a reply's final answer, in order."""
    text = LABELS.sub(" ", REMARK.sub(_remark, _undated(row, prediction)))
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
    """Return brackets that hold numbers of documents as they are, and no others."""
    return found[0] if NO_REMARK.fullmatch(found[0]) else " "


def _ranked_lines(text: str) -> list[str]:
    """Return the numbers that lines begin with; all of them, if few lines have any.

    Lines that stand together and name again what stood before them take its place.
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
    """Return the first number of a line, and those that follow it with nothing between but commas and the like."""
    found = list(ENUMERATED.finditer(line))
    joined = takewhile(lambda pair: APPOSED.fullmatch(line, pair[0].end(), pair[1].start()), pairwise(found))
    return [each[0] for each in (*found[:1], *(other for _, other in joined))]


def longest_chain(row: Row, prediction: str) -> float:
    """Score as HELMET: NDCG at 10 of the longest chain of numbers with ``>`` between, each where it first stands."""
    text = re.sub(r"[\[\]:]", "", thought(prediction)).lower().replace("id", "")
    chain = max((found[0] for found in re.finditer(r"\d+(?:\s*>\s*\d+)*", text)), key=len, default=text)
    worth, ranking = worth_of(row), list(dict.fromkeys(each.strip() for each in chain.split(RANKED)))
    gains = [worth.get(number, 0) for number in ranking[:CUT]]
    return _discounted(gains) / _discounted(sorted(worth.values(), reverse=True)[:CUT])


# Summaries: who, and in which year

POINT = re.compile(r"([A-Z][\w'-]* [A-Z][\w'-]*), (\d{4})(?: ((?:\[\d{5}\])+))?")
"""A key point of an answer: a person, a year, and the ids of the entries that tell of it."""
POINT_FIGURES = ("recall", "precision", "sources")
"""What `key_points` measures: points told, pairs told that are points, and told points with a right id."""
FIVE_DIGITS = re.compile(r"\[[^\[\]\n]{0,60}?\d{5}[^\[\]\n]{0,200}\]|(?<![\w.-])\d{5}(?![\w-]|[.,]\d)")
SPAN = re.compile(r"(?<!\d)(1\d{3}) ?(?:-|/|to|until|till|through) ?(?:1\d{3}|\d\d)(?!\d)")
"""From one year to another: the first is when it began."""
BOUND = re.compile(
    r"\b(?:until|till|before|by|after|up to|as of|end of|beyond) (?:the end of )?(?:late |early |mid-?)?1\d{3}s?\b"
    r"|\b1\d{3}s\b|\bbetween 1\d{3} and 1\d{3}\b",
    re.IGNORECASE,
)
"""A time that is no year of an event."""
YEAR = re.compile(r"(?:(?<![\w.,])|(?<=\b\d\d\.\d\d\.))1\d{3}(?!\w|[.,]\d| (?:pounds|guineas)\b)")
OMITTED = re.compile(
    r"\b(?:omit(?:s|ted|ting)?|exclud(?:e|es|ed|ing)|le(?:ft|ave|aves|aving)\b(?: \w+){0,3} (?:out|aside)"
    r"|skipp(?:ed|ing)|disregard(?:ed|ing)?|ignor(?:ed|ing)"
    r"|(?:not|n't|never) (?:be |been )?(?:count(?:ed|s)?|included?|listed|part of|belong)"
    r"|(?:after|beyond|outside|past) (?:of )?(?:the|this|that) (?:\w+ )?(?:cut-?off|period|range|scope|time ?frame)"
    r"|out of (?:range|scope)|too late)\b",
    re.IGNORECASE,
)
"""That something is no part of the summary."""
ANNULLED = re.compile(
    r"\b(?:(?:set|setting) aside|annul\w*|str(?:uc|i)k(?:e|ing)? (?:out|down)|cancel\w*|void(?:ed)?|undone|overturn\w*"
    r"|rescind\w*|invalid\w*|nullif\w*|revers(?:ed|al)|revok\w*|(?:no longer|not) st(?:oo|an)d)\b",
    re.IGNORECASE,
)
"""That a purchase does not stand."""
PURCHASES = re.compile(r"\b(?:purchases|sales|acquisitions)\b", re.IGNORECASE)
EVERY_ONE = re.compile(r"\b(?:were|both|all)\b", re.IGNORECASE)
UNDONE = re.compile(
    r"\W*(?:(?:the|those|these|all|purchases?|sales?|buyers?|owners?|that|which|who|were|was|had|been|later|then|did)\W+)*"
    rf"{ANNULLED.pattern}(?:\W+(?:purchases?|sales?|buyers?|owners?|later))?\W*",
    re.IGNORECASE,
)
"""What stands before a list of purchases that do not stand, and says nothing else."""
NEVER = re.compile(r"\b(?:did(?: not|n't)|never)\b", re.IGNORECASE)
RESTORED = re.compile(
    r"\b(?:restor\w*|reinstat\w*|revived?|upheld|allowed after all|st(?:oo|an)ds? again)\b", re.IGNORECASE
)
OTHER_SIDE = re.compile(
    r"\b(?:from|than|replac(?:ing|ed)|succeed(?:ing|ed)|follow(?:ing|ed)|in (?:the )?(?:place|room) of) $",
    re.IGNORECASE,
)
"""What stands before the name of somebody else than who did it."""
GOES_ON = re.compile(
    r"(?:and |then |later )*"
    r"(?:he|she|they|it|this|that|the (?:purchase|sale|lease|loan|mortgage|repairs?|post|tenancy|date|year))\b",
    re.IGNORECASE,
)
"""How a sentence begins that goes on about who was named last."""
CLAUSE = re.compile(r"[()]|,(?! [A-Z][a-z]+\b(?! [A-Z]))|\b(?=(?:but|although|though|whereas|while|after)\b)")
SOMEBODY = re.compile(r"(?<!\bthe )(?<!\bThe )\b[A-Z][a-z]+ [A-Z][a-z]+\b")
STYLE = r"(?:Mr|Mrs|Ms|Miss|Master|Widow|Dame|Sir|Madam)"
DOTTED = re.compile(rf"\b({STYLE}|ca?|no|nos|approx)\. (?=[A-Z\d])")
DATE_PARTS = re.compile(rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?|1\d{{3}}|{MONTH})\b", re.IGNORECASE)
"""A year, and what may stand with it in a date."""
LONG_HEAD = 100
"""Letters of a heading that are read."""
HEADING = 2
"""Words that may stand beside a name or a year which is to go with the lines that follow: "Buyer", "Lease of"."""
WRAPPED = re.compile(r"(?<=[a-z,])\n(?=[a-z])")
"""Where a sentence goes on in the next line."""
CLOSING = re.compile(r"</\w{1,20}>")
Pair = tuple[str, str]


def key_points(row: Row, prediction: str, *, sourced: bool = False, figure: str = "f1") -> float:
    """Score a summary by its key points, which are pairs of a person and a year: their F1, or one of `POINT_FIGURES`.

    After SummHay (Laban et al. 2024, section 3), where it is known beforehand what belongs in a summary and which
    documents tell of it. There a model judges what a reply covers; here names and years do. A reply is read sentence by
    sentence, item by item. A sentence tells of everybody whom it names, with the year that goes with the name; where
    names and years do not take turns, of everybody with every year. Who is said to be left out, or whose purchase is
    said not to stand, is not told of. How well a summary reads is not judged, nor what else it says of somebody. With
    `sourced` a key point counts only if the id of an entry that tells of it stands with it.

    - recall: key points that are told, of all.
    - precision: key points, of all pairs that are told.
    - sources: those with the id of an entry that tells of them, of the key points that are told.
    """
    sources, people = points_of(row)
    told = _told_points(row, prediction, people)
    right = [one for one in told if one in sources]
    backed = [one for one in right if not sources[one].isdisjoint(told[one])]
    if figure == "sources":
        return len(backed) / max(1, len(right))
    counted = len(backed if sourced else right)
    if figure in POINT_FIGURES:
        return counted / max(1, len(sources) if figure == "recall" else len(told))
    return _f1(counted, len(sources), len(told))


def points_of(row: Row) -> tuple[dict[Pair, frozenset[str]], tuple[str, ...]]:
    """Return the key points with the ids of their entries, and everybody who is named beside the property."""
    found = POINT.finditer(str(row["target"]))
    points = {(one[1], one[2]): frozenset(NUMBERS.findall(one[3] or "")) for one in found}
    return points, tuple(dict.fromkeys(one[1] for one in POINT.finditer(str(row["answers"][-1]))))


def _told_points(row: Row, prediction: str, people: tuple[str, ...]) -> dict[Pair, list[str]]:
    """Return the pairs of a person and a year that a reply tells of, each with the ids that go with it.

    Where a line holds a name or a year alone, the other one stands in the lines that follow.
    """
    found, asked = dict[Pair, list[str]](), _asked(row)
    last, names, year, held, alone = list[Pair](), list[str](), "", list[str](), False
    for sentence, ids in _summary_sentences(row, prediction):
        said = _named_in(sentence, people, asked)
        own, years = ([text for is_year, text in said if is_year is kind] for kind in (False, True))
        bare, pairs = bool(years) and _is_heading(DATE_PARTS.sub("", sentence)), list[Pair]()
        if own and years:
            pairs, names, year = _paired(said, sentence), [], ""
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
    """Tell whether what stands beside a year says nothing, or no more than what kind of thing it was the year of."""
    return _idle(rest) or len(TOKEN.findall(rest)) <= HEADING


def _summary_sentences(row: Row, prediction: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what a summary says, in sentences and items, each with its ids; not what it says it leaves out."""
    spaced = CLOSING.sub(" ", spoken(prediction, str(row.get("question") or "")))
    flat = _flattened(WRAPPED.sub(" ", spaced))
    text = TABLE_HEAD.sub("", _undated(row, TITLE_LINE.sub(r"\1:", flat)).translate(SQUARE))
    behind, marked = _marked(text)
    text, ids = _with_ids_apart(DOTTED.sub(r"\1 ", behind if marked and YEAR.search(behind) else text), FIVE_DIGITS)
    numbers, left_out = iter(ids), False
    for piece in _joined(_cut(text, listing=False), listing=False):
        undone = ":" in piece and UNDONE.fullmatch(piece.partition(":")[0][:LONG_HEAD])
        if piece.rstrip().endswith(":"):
            left_out = bool(undone or OMITTED.search(piece)) and "summary" not in piece.lower()
        silent = left_out or undone or OMITTED.search(piece) or len(piece) > LONG_LINE
        for part in piece.split(";"):
            own = [number for _, number in zip(range(part.count(ID)), numbers, strict=False)]
            said = part.replace(ID, " ").strip()
            if not silent and (own or TOKEN.search(said)):
                yield said, own


def _flattened(text: str) -> str:
    """Return a text in which every object of JSON, and every list that holds more than numbers, is lines of values."""
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
    """Yield the values of JSON as lines, an object of plain values as one, with names that are values."""
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
        said = " ".join(map(str, held)) if isinstance(held, list) else str(held)
        yield f"{name} {said}".strip()


NAME_OR_NUMBER = re.compile(r"\d|[A-Z]\w* [A-Z]")


def _worth_a_line(held: object) -> bool:
    """Tell whether a value of a list is an object, a list or a text of several words."""
    return isinstance(held, dict | list) or (isinstance(held, str) and " " in held)


@lru_cache(maxsize=256)
def _named_in(sentence: str, people: tuple[str, ...], asked: frozenset[str]) -> tuple[tuple[bool, str], ...]:
    """Return the people and years that a sentence names, in order, each with whether it is a year.

    What it says of purchases that do not stand is left out, and of a purchase that was restored all but its first year.
    Replies that do not end say the same again and again.
    """
    restored, kept = RESTORED.search(sentence), list[list[tuple[bool, str]]]()
    plural: int | None = None  # where several purchases begin, of which it may be said that none stands
    for clause in CLAUSE.split(sentence):
        plural = len(kept) if PURCHASES.search(clause) else plural
        said = _scanned(clause, people, asked)
        names, years = ([one for one in said if one[0] is kind] for kind in (False, True))
        undone = ANNULLED.search(clause)
        if restored and (undone or RESTORED.search(clause)):
            kept.append([one for one in said if one in (*names, *years[:1])] if names else [])
        elif undone and not names and plural is not None and EVERY_ONE.search(clause):
            del kept[plural:]
        elif undone and not names:
            while kept and all(is_year for is_year, _ in kept.pop()):
                pass
        elif not undone and not (names and NEVER.search(clause)):
            kept.append(said)
    return tuple(one for some in kept for one in some)


def _scanned(clause: str, people: tuple[str, ...], asked: frozenset[str]) -> list[tuple[bool, str]]:
    """Return the people and years of a clause in order; the other side of a bargain only where nobody else is named."""
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
    """Return where a clause names people who are known, and whom.

    A pattern is slow to compile: it is one of those alone whose surname the clause holds, and a full name by itself, as
    keys have it, needs none.
    """
    folded = text.lower()
    near = tuple(at for at, last in enumerate(_surnames(people)) if last in folded or not text.isascii())
    if len(near) == 1 and text == people[near[0]] and text[-1].isalnum():
        return [(0, len(text), text)]
    found = _forms_of(people, asked, near).finditer(text) if near else ()
    return [(one.start(), one.end(), _whom(text, one, people, asked)) for one in found]


@lru_cache(maxsize=256)
def _surnames(people: tuple[str, ...]) -> tuple[str, ...]:
    """Return what stands in every form of a name, in small letters; what is not ASCII may be written in more ways."""
    return tuple(name.split(" ")[1].lower() if name.isascii() else "" for name in people)


@lru_cache(maxsize=1 << 10)
def _forms_of(people: tuple[str, ...], asked: frozenset[str], near: tuple[int, ...]) -> re.Pattern[str]:
    """Return a pattern of some people: full names, in either order, and what only one of all can be called."""
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
    """Return whom a name means: by a surname alone nobody who is known, if another first name stands before it."""
    name = people[int((found.lastgroup or "n0")[1:])]
    first = re.search(r"([A-Z][a-z]+) $", text[: found.start()])
    alone = found[0] == name.split(" ")[1] and first and _is_somebody(first[1], asked)
    return f"{first[1]} {found[0]}" if first and alone else name


def _is_somebody(name: str, asked: frozenset[str]) -> bool:
    """Tell whether words that begin with capitals could name somebody: none of them is of ordinary talk."""
    return all(_strange(word, asked) and word.lower() not in MONTHS for word in TOKEN.findall(name))


def _paired(said: Sequence[tuple[bool, str]], sentence: str) -> list[Pair]:
    """Return the pairs that a sentence with people and years makes: in turns if they take turns, else all with all."""
    runs = [[text for _, text in some] for _, some in groupby(said, key=lambda one: one[0])]
    by_year = said[0][0]
    if len(runs) == 2 and len(runs[0]) == len(runs[1]) and "respectively" in sentence.lower():
        groups = [([one], [other]) for one, other in zip(*runs, strict=True)]
    else:
        groups = [(runs[at], runs[at + 1]) for at in range(0, len(runs) - 1, 2)]
        if len(runs) % 2:  # the last run is of the kind of the first, and goes with the one before it
            groups.append((runs[-1], runs[-2]))
    pairs = [
        (name, year)
        for one, other in groups
        for name in (other if by_year else one)
        for year in (one if by_year else other)
    ]
    return list(dict.fromkeys(pairs))


# Choices

LETTERS = "ABCD"
LETTER = re.compile(
    r"\(([A-Da-d])\)"
    r"|^([A-Da-d])(?=[).:;!,]|\s*$|\s-)"
    r"|(?<![A-Za-z0-9_'-])(A)(?![\w'-]| (?!(?:is|was|because|as|since|or|and|but|would|seems|for|given|per)\b)[a-z])"
    r"|(?<![A-Za-z0-9_'-])([BCD])(?![\w'-])"
)
"""A letter that is meant as one; an A only where it cannot be the article."""
DENIED = re.compile(r"\b(not|never|isn't|nor|or|anything but|except) (?:option |choice )?\(?$", re.IGNORECASE)
DENIED_BEHIND = re.compile(r"\)? (?:is|was)(?:n't| not| never| incorrect| wrong| false)\b", re.IGNORECASE)


def choice_or_refusal(row: Row, prediction: str, *, refuses: bool = True) -> float:
    """Score a choice among (A) to (D), (D) being that the text does not tell (Michelangelo, section 2.3).

    A sentence chooses by letters, else by the words of choices; a refusal in words (``the text does not say``) chooses
    (D). The first sentence that chooses answers if it begins with a letter, a choice or a refusal, else the last one.
    It must choose the target alone: another choice beside it, a guess beside a refusal, ``or``, and a letter or words
    after ``not`` score 0; letters after ``not`` beside another letter do not count. Unless it `refuses`,
    (D) is a choice as the others are, and a refusal chooses nothing.
    """
    choices = [_without_article(str(choice)) for choice in row["choices"]]
    refusal = LETTERS[-1] if refuses else "?"
    text, marked = _marked(plain(row, prediction))

    def read(sentence: str) -> Hashable:
        return "".join(sorted(_chosen(sentence[-LONG_LINE:].strip(" \t\"'"), choices, refusal))) or None

    def leads(sentence: str) -> bool:
        start = _without_article(sentence.strip(" \t\"'"))
        lettered = re.match(r"\(?[A-Da-d](?:\)|[.:;,!]|$)", sentence.strip(" \t\"'"))
        return bool(lettered or _said(re.match, start, choices) or read(sentence) == refusal)

    return float(_settled(text, read, leads, marked=marked, bare=leads) == row["target"])


def _chosen(sentence: str, choices: list[str], refusal: str) -> set[str]:
    """Return the letters that a sentence chooses: one, or more (``?`` among them) if it does not commit, or none.

    A refusal chooses what is given.
    """
    first = LETTER.search(sentence)
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
    """Return the letters of a line, but for those it denies beside another; and what the words behind the last say."""
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
    """Return the letters of the choices whose words are found in a text, as whole words."""
    return {
        letter
        for letter, choice in zip(LETTERS, choices, strict=False)
        if find(rf"(?<![\w:]){re.escape(choice)}(?![\w:])", text)
    }


def _without_article(choice: str) -> str:
    """Return a choice in lower case, without its article."""
    return re.sub(r"^(?:an?|the) ", "", choice.lower().replace("\u2019", "'"))


# Long texts


def mrcr(row: Row, prediction: str, *, anywhere: bool = True, autojunk: bool = True) -> float:
    """Score a reply that gives a text back behind a code (Michelangelo, section 2.2).

    The difflib ratio of the text behind the last code in the reply to the text behind it in the target, 0 without the
    code (as MRCR v2 has it). With `anywhere` off the very first characters must be the code, and difflib gets both
    texts the other way round, which may move the ratio a little (as openai/mrcr has it). `autojunk` is difflib's own
    default, as in both published metrics; without it chance is ten times as high. Unlike both, reasoning is dropped.
    """
    reply = thought(prediction)
    code = str(row["random_string_to_prepend"])
    wanted = str(row["target"]).removeprefix(code)
    if not anywhere:
        return similarity(reply.removeprefix(code), wanted, autojunk=autojunk) if reply.startswith(code) else 0.0
    _, found, given = reply.rpartition(code)
    return similarity(wanted.strip(), given.strip(), autojunk=autojunk) if found else 0.0


def similarity(one: str, other: str, *, autojunk: bool = True) -> float:
    """Return difflib's ratio of two texts; what is junk is told from the second."""
    return SequenceMatcher(None, one, other, autojunk=autojunk).ratio()


# Published graders. They judge a reply without its reasoning, and reward one that lists all that was read.


def substring(row: Row, prediction: str) -> float:
    """Score as HELMET's substring exact match: a normalised answer is held by the normalised reply."""
    replies = list(map(normalised, _parsed(thought(prediction))))
    return float(any(normalised(str(answer)) in reply for answer in row["answers"] for reply in replies))


def labelled(row: Row, prediction: str) -> float:
    """Score as HELMET's ICL: what follows ``label:`` in its line, or the first line, is the label once normalised."""
    _, given = _parsed(thought(prediction), "label:")
    return float(any(normalised(str(answer)) == normalised(given) for answer in row["answers"]))


def token_f1(row: Row, prediction: str) -> float:
    """Score as HELMET's F1: that of the words of the normalised reply and an answer, the best of several."""
    return max(
        _overlap(normalised(reply), normalised(str(answer)))
        for reply in _parsed(thought(prediction))
        for answer in row["answers"]
    )


def normalised(text: str) -> str:
    """Return a text in small letters without punctuation, articles and needless blanks, as HELMET and SQuAD have it."""
    letters = text.lower().translate(PUNCTUATION)
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", letters).split())


NORMALISED = lru_cache(maxsize=4096)(normalised)
"""The same for answers, of which a few come again and again."""
PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
CLOSED = frozenset({"yes", "no", "noanswer"})
"""Normalised texts that HELMET's F1 compares as wholes alone."""


def _parsed(reply: str, cue: str = "answer:") -> tuple[str, str]:
    """Return a reply, and the rest of the first line with a cue like ``Answer:`` in it, or else the first line."""
    found = re.search(rf"{cue}(.*)(?:\n|$)", reply, re.IGNORECASE) or re.match(r"(.*)(?:\n|$)", reply)
    line = found[1].strip() if found else ""
    return reply, line[len(cue) :].strip() if line.lower().startswith(cue) else line


def _overlap(reply: str, answer: str) -> float:
    if reply != answer and not CLOSED.isdisjoint((reply, answer)):
        return 0.0
    given, wanted = Counter(reply.split()), Counter(answer.split())
    return _f1((given & wanted).total(), wanted.total(), given.total())


def held(row: Row, prediction: str) -> float:
    """Score as RULER's string_match_all: the share of members that the reply holds, whatever their case.

    RULER has no empty sets: one is judged as by `members`, since there is nothing to look for.
    """
    wanted, reply = listed(row), thought(prediction).lower()
    return sum(member.lower() in reply for member in wanted) / len(wanted) if wanted else members(row, prediction)


def last_line(row: Row, prediction: str) -> float:
    """Score as openai/graphwalks: F1 of a list behind ``Final Answer:`` in the last line; 1 if both sets are empty.

    The card's code leaves those words on the first node, and scores 1 where nothing is right: here neither is so.
    """
    line = thought(prediction).split("\n")[-1]
    found = re.search(r"Final Answer: ?(\[.*\])", line)
    if not found:
        return 0.0
    wanted = set(listed(row))
    given = {item.strip() for item in found[1].strip("[]").split(",")} - {""}
    return _f1(len(wanted & given), len(wanted), len(given)) if wanted or given else 1.0


NUMBER = "a number is asked, which the rule also finds within another number"
LETTERED = "a letter is asked, which the rule finds in any reply"
LETTER_ALONE = r"""(?s)^(?:.*[\s(\[*"'])?([A-D])(?:[\])*"']|[.:]?\s*$|[.:]\s)"""


class Scorer(NamedTuple):
    """A scorer, and what exports, cards and reports have to know of it.

    Attributes:
        rule: the function that scores.
        shape: what an answer is: ``value``, ``parts``, ``cited``, ``sourced``, ``pair``, ``view``, ``letter``,
            ``number``, ``text``.
        quirks: rules of published graders by name, as arguments of `rule` or in its place; the first is the default.
        refuses: whether a refusal is right for rows of complexity 0.
        paired: whether rows come in pairs, both forms of which must be right.
        aggregate: the second mean that harnesses show: ``pairs`` (of `paired`), ``balanced`` (over complexities), none.
        ungraded: why no rule that looks for strings in a reply tells a right one; empty where it can.
        unnormalised: why such a rule cannot if it drops brackets, signs and commas; empty where it can.
        pattern: a pattern whose first group is the answer, for harnesses that know patterns alone; empty if none is.
        stops: whether what follows one of `STOPS` does not count, so that harnesses may stop there.
        figures: what the score is made of, by the values of the rule's argument ``figure``; empty where it is one.
    """

    rule: Rule
    shape: str
    quirks: Mapping[str, Mapping[str, bool | str] | Rule] = {}
    refuses: bool = False
    paired: bool = False
    aggregate: str = ""
    ungraded: str = ""
    unnormalised: str = ""
    pattern: str = ""
    stops: bool = True
    figures: tuple[str, ...] = ()

    def __call__(self, row: Row, prediction: str) -> float:
        """Return the score of a reply to a row under the default rule."""
        return self.rule(row, prediction)


SCORERS: dict[str, Scorer] = {
    "mrcr": Scorer(
        mrcr,
        "text",
        quirks={"anywhere": {"anywhere": True}, "starts": {"anywhere": False}, "no-autojunk": {"autojunk": False}},
        ungraded="the score is the likeness of two texts",
        stops=False,
    ),
    "latent_list": Scorer(
        latent_list,
        "view",
        quirks={"characters": {"values": False}, "values": {"values": True}},
        unnormalised="a list of numbers is asked, and HELMET drops brackets, commas and signs before it compares",
    ),
    "exact": Scorer(exact, "value", quirks={"alone": {}, "subem": substring, "f1": token_f1}),
    "choice_or_refusal": Scorer(
        choice_or_refusal,
        "letter",
        refuses=True,
        aggregate="balanced",
        ungraded=LETTERED,
        pattern=LETTER_ALONE,
    ),
    "citation": Scorer(
        citation,
        "cited",
        unnormalised="HELMET asks for several values in words that have no place for how to cite",
    ),
    "idk_pair": Scorer(
        idk_pair,
        "value",
        refuses=True,
        paired=True,
        aggregate="pairs",
        ungraded="a row of a pair, of which one is to be refused: refusals have no fixed wording",
    ),
    "all_in_order": Scorer(all_in_order, "parts"),
    "last_integer": Scorer(last_integer, "number", ungraded=NUMBER),
    "pair": Scorer(pair, "pair"),
    "members": Scorer(members, "members", quirks={"f1": {}, "recall": held, "last_line": last_line}),
    "route": Scorer(route, "route", ungraded="the order of the nodes counts, which the rule cannot see"),
    "label": Scorer(label, "number", quirks={"alone": {}, "em": labelled}, ungraded=NUMBER),
    "cited": Scorer(
        cited,
        "sourced",
        quirks={"mean": {}, "alce": {"alce": True}, **{name: {"figure": name} for name in FIGURES}},
        ungraded="facts are asked for together with the ids of documents that state them",
        figures=FIGURES,
    ),
    "ndcg": Scorer(
        ndcg,
        "ranking",
        quirks={"ids": {}, "longest": longest_chain},
        ungraded="an order of documents is asked, which is right in part",
    ),
    "count": Scorer(count, "number", quirks={"exact": {}, "oolong": near_count}, ungraded=NUMBER),
    "choice": Scorer(choice, "letter", ungraded=LETTERED, pattern=LETTER_ALONE),
    "key_points": Scorer(
        key_points,
        "points",
        quirks={"f1": {}, "sourced": {"sourced": True}, **{name: {"figure": name} for name in POINT_FIGURES}},
        ungraded="a summary is asked, which is right in part",
        figures=POINT_FIGURES,
    ),
}
"""Every scorer by the name that rows give it."""

JUDGED = ("scorer", "subtask", "question", "target", "answers", "choices", "random_string_to_prepend")
"""The columns of a row that scorers look at."""


def _unknown(row: Row, prediction: str) -> float:
    raise KeyError(row["scorer"])


UNKNOWN = Scorer(_unknown, "", ungraded="this version does not know its scorer", stops=False)


def facts(scorer: str) -> Scorer:
    """Return what is known of a scorer; of one that this version does not know, that nothing is."""
    return SCORERS.get(scorer, UNKNOWN)


def scorers_of(quirks: Iterable[str]) -> dict[str, Rule]:
    """Return the scorers under quirks like ``mrcr=starts``; several of one scorer add up.

    Raises:
        ValueError: for a quirk that is not known, naming those that are.
    """
    chosen: dict[str, Rule] = {name: scorer.rule for name, scorer in SCORERS.items()}
    for quirk in quirks:
        name, _, value = quirk.partition("=")
        if value not in facts(name).quirks:
            known = ", ".join(f"{other}={each}" for other, scorer in SCORERS.items() for each in scorer.quirks)
            raise ValueError(f"unknown quirk {quirk!r} (known: {known})")
        rule = SCORERS[name].quirks[value]
        chosen[name] = partial(chosen[name], **rule) if isinstance(rule, Mapping) else rule
    return chosen


# The command. `carrara score` does more: intervals, depth, other formats.


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of scores; return 0, 1 if nothing could be scored, or 2 if something was missing or wrong."""
    parser = argparse.ArgumentParser(prog="metrics.py", description="Score predictions against keys.")
    parser.add_argument("predictions", type=Path, help="JSON Lines with id and prediction")
    parser.add_argument("keys", type=Path, help="JSON Lines or Parquet of keys, or a folder of such files")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--quirk", action="append", default=[], metavar="mrcr=starts", help="another published rule")
    given = parser.parse_args(arguments)
    try:
        scorers = scorers_of(given.quirk)
        keys = {str(row["id"]): row for row in read_keys(given.keys)}
        faults: list[str] = []
        replies = read_replies(given.predictions, keys, faults)
    except (OSError, ValueError, KeyError, ImportError) as fault:
        sys.stderr.write(f"metrics.py: {type(fault).__name__}: {fault}\n")
        return 1
    faults += [f"{row_id}: no prediction" for row_id in keys if row_id not in replies]
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    lines = summary(keys, replies, scorers)
    sys.stdout.write(json.dumps(lines, indent=1) + "\n" if given.json else _table(lines))
    return 2 if faults else 0


def read_keys(path: Path) -> Iterator[Row]:
    """Yield the rows of a file of keys, or of all files of a folder.

    Raises:
        ValueError: if a line is no object of JSON.
        ImportError: for Parquet without pyarrow.
    """
    for file in sorted(path.rglob("*.parquet")) or sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]:
        if file.suffix == ".parquet":
            yield from import_module("pyarrow.parquet").ParquetFile(file).read().to_pylist()
        else:
            with file.open(encoding="utf-8") as lines:
                yield from map(json.loads, filter(str.strip, lines))


def read_replies(path: Path, keys: Mapping[str, Row], faults: list[str]) -> dict[str, str]:
    """Return the one text that was given for each id; all that is wrong is added to `faults`, with its line."""
    replies: dict[str, str] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if fault := _take(line, keys, replies):
                faults.append(f"{path}:{number}: {fault}")
    return {row_id: text for row_id, text in replies.items() if text != CONFLICT}


def _take(line: bytes, keys: Mapping[str, Row], replies: dict[str, str]) -> str:
    """Add a line's text to the replies; return what is wrong with the line, if anything is."""
    try:
        said = json.loads(line.strip() or b'{"error": "empty"}')
    except (ValueError, RecursionError):
        return "no line of JSON"
    row_id, text = (said.get("id"), said.get("prediction")) if isinstance(said, dict) else (None, None)
    if isinstance(said, dict) and (said.get("error") or said.get("refused")):
        return ""
    if not isinstance(row_id, str) or row_id not in keys:
        return f"no row has the id {row_id!r}"
    if not isinstance(text, str):
        return f"{row_id}: the prediction is no text"
    if replies.setdefault(row_id, text) != text:
        replies[row_id] = CONFLICT
        return f"{row_id}: another answer than before, none counts"
    return ""


CONFLICT = "\0two answers"


def summary(
    keys: Mapping[str, Row], replies: Mapping[str, str], scorers: Mapping[str, Rule]
) -> list[dict[str, str | int | float]]:
    """Return rows, answered rows and `headline`, over all and by family, subtask and length."""
    scores = counted(keys, {row_id: score(row, replies.get(row_id), scorers) for row_id, row in keys.items()})
    groups: dict[tuple[str, str, int], list[str]] = {}
    for row_id, row in keys.items():
        for subtask, length in ((row["subtask"], row["length"]), (row["subtask"], 0), ("", row["length"]), ("", 0)):
            groups.setdefault((row["family"], subtask, length), []).append(row_id)
        groups.setdefault(("", "", 0), []).append(row_id)
    return [
        {
            "family": family or "all",
            "subtask": subtask or "all",
            "length": length or "all",
            "rows": len(ids),
            "answered": sum(row_id in replies for row_id in ids),
            "score": round(headline({row_id: keys[row_id] for row_id in ids}, scores), 6),
        }
        for (family, subtask, length), ids in sorted(groups.items())
    ]


def counted(rows: Mapping[str, Row], scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores that count, by id: both forms of a pair have the lower of their two."""
    found = dict(scores)
    for row_id in scores:
        if facts(rows[row_id]["scorer"]).paired:
            found[row_id] = min(scores[row_id], scores.get(_other_form(row_id), 1.0))
    return found


def headline(rows: Mapping[str, Row], scores: Mapping[str, float]) -> float:
    """Return the one score of some rows: the mean over families of the mean over their subtasks of that over lengths.

    So no task weighs more than another of its family because it has more rows, and no family because it has more tasks;
    HELMET averages its categories alike. Both are by id; `scores` are what `counted` returns; nan without rows.
    """
    tree: dict[str, dict[str, dict[int, list[float]]]] = {}
    for row_id, row in rows.items():
        subtasks = tree.setdefault(row["family"], {}).setdefault(row["subtask"], {})
        subtasks.setdefault(row["length"], []).append(scores[row_id])
    return _mean(
        _mean(_mean(map(_mean, lengths.values())) for lengths in subtasks.values()) for subtasks in tree.values()
    )


def _mean(values: Iterable[float]) -> float:
    """Return a mean that does not depend on the order of its values."""
    found = list(values)
    return fsum(found) / len(found) if found else float("nan")


def _other_form(row_id: str) -> str:
    """Return the id of the other form of a pair: a for b, b for a."""
    head, dash, tag = row_id.rpartition("-")
    return head[:-1] + {"a": "b", "b": "a"}.get(head[-1:], head[-1:]) + dash + tag


def _table(lines: Sequence[Mapping[str, object]]) -> str:
    head = ["family", "subtask", "length", "rows", "answered", "score"]
    cells = [head, *([f"{v:.3f}" if isinstance(v, float) else str(v) for v in line.values()] for line in lines)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(head))]
    pad = [str.ljust, str.ljust, str.rjust, str.rjust, str.rjust, str.rjust]
    return "".join("  ".join(f(c, w) for f, c, w in zip(pad, line, widths, strict=True)) + "\n" for line in cells)


if __name__ == "__main__":
    sys.exit(main())
