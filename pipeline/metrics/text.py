"""Sentences and words, and the one that a reply settles on."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Hashable
from functools import lru_cache

from pipeline.metrics.dates import DATED, dated
from pipeline.metrics.reply import unaccented
from pipeline.metrics.scorer import Row

LONG_LINE = 2000
"""Characters of a sentence that can be an answer, or of each part of one: a longer text answers nothing."""
BULLET = re.compile(r"^[ \t]*(?:\(?\d{1,3}[.):]|[-+\u2022])[ \t]+")
SENTENCE_END = re.compile(r"""(?<=[.!?])(?<!\b[A-Z]\.)(?<!\bSt\.)(?<!\bDr\.)["')\]]*\s+(?=[A-Z0-9("'\[])""")
MOST = 100
"""Sentences that are looked at, of those at the beginning and of those at the end: what is between is reasoning."""


def sentences_of(text: str) -> list[str]:
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


def settled_on(
    text: str, read: Read, leads: Callable[[str], object], *, marked: bool, bare: Callable[[str], bool] | None = None
) -> Hashable:
    """Return what a text settles on (see the head of the package): None if it says nothing, SEVERAL if more than one.

    Args:
        text: what follows the mark, or all of the reply.
        read: what a sentence says, None if that is nothing.
        leads: whether a sentence that says something can be the answer as it stands, without a mark.
        marked: whether the first sentence that says something is the answer in any case.
        bare: whether a sentence is a value and no more.
    """
    bare = bare or is_bare
    sentences = sentences_of(text)
    said = [(at, what) for at, what in enumerate(map(read, sentences)) if what is not None]
    if not said:
        return None
    at, answer = said[0]
    if not marked and not leads(sentences[at]):
        at, answer = said[-1]
    taken_back = any(map(RETRACTION.match, sentences[at + 1 :]))
    rival = any(what != answer and bare(sentences[other]) for other, what in said)
    return SEVERAL if taken_back or rival else answer


def is_bare(sentence: str) -> bool:
    """Tell whether a text of a few words could be a value, and is no sentence."""
    words = TOKEN.findall(sentence.lower())
    return 0 < len(words) <= 8 and len(sentence) <= 200 and FINITE.isdisjoint(words) and not NEUTRAL.issuperset(words)


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


def words_of(*texts: str) -> frozenset[str]:
    """Return the words of some texts."""
    return frozenset(word for text in texts for word in TOKEN.findall(text.lower()))


def words_asked(row: Row) -> frozenset[str]:
    """Return the words of a row's question, which are no rivals of its answer."""
    return words_of(unaccented(str(row.get("question") or "")))


@lru_cache(maxsize=4096)
def phrase(value: str) -> re.Pattern[str]:
    """Return a pattern of a value as whole words, and of a date as one number."""
    words = r"[^\w\n]+".join(map(re.escape, TOKEN.findall(dated(value))))
    return re.compile(rf"(?<![\w-])(?<!\w'){words}(?![\w-]|'\w)" if words else r"(?!)", re.IGNORECASE)


def is_strange(token: str, asked: frozenset[str], *, digits: bool = True) -> bool:
    """Tell whether a word could be a value, or part of one."""
    word = token.lower().removesuffix("'s")
    if word.isdigit():
        return digits and len(word) > 3
    neutral = word in NEUTRAL and token not in NAMES
    return word != "\x01" and not neutral and word not in asked and word.rstrip("s") not in asked


def alike(sentence: str, answer: str, asked: frozenset[str]) -> list[str]:
    """Return the strange words of a sentence that could be of a value of the answer's kind: name, date, or neither."""
    strange = [word for word in TOKEN.findall(sentence) if is_strange(word, asked)]
    dates = DATED(answer).isdigit()
    named = answer != answer.lower()
    return [word for word in strange if word.isdigit() == dates and (dates or word[0].isupper() == named)]


def is_idle(line: str) -> bool:
    """Tell whether a line holds neutral words alone."""
    return NEUTRAL.issuperset(TOKEN.findall(line.lower()))


BESIDE = re.compile(r"\W*(?:\b(?:or|and|either|maybe|perhaps|possibly|years?|to)\b\W*)*")
"""What stands between the values of a list, or between alternatives."""
DENIED_VALUE = re.compile(r"\b(?:not|never|nor|isn't|wasn't)\b(?:\W+\w+){0,2}\W*$", re.IGNORECASE)
SEVERAL = "several"
"""What a sentence says that names values to choose from, or denies one."""


def f1(right: int, wanted: int, given: int) -> float:
    """Return the harmonic mean of precision and recall, from numbers of items."""
    if not right:
        return 0.0
    precision, recall = right / given, right / wanted
    return 2 * precision * recall / (precision + recall)


def normalised(text: str) -> str:
    """Return a text in small letters without punctuation, articles and needless blanks, as HELMET and SQuAD have it."""
    letters = text.lower().translate(PUNCTUATION)
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", letters).split())


NORMALISED = lru_cache(maxsize=4096)(normalised)
"""The same for answers, of which a few come again and again."""
PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
