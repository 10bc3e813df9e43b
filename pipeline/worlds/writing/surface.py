"""Surface forms: articles, capitals, spaces, numbers and verb endings of realized phrases."""

from __future__ import annotations

import re

from pipeline.caches import lru_cache

SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ARTICLE = re.compile(r"([Aa])(?<!\w.)n? (?:(?=[\"'(]?([A-Za-z0-9][\w-]*))|)")
"""An article, and the word after it, if any. The lookbehind follows the letter, which makes the search faster."""
SPEECH = r"(?:(?:he|she|they|the [a-z]+|a [a-z]+) )?(?:asked|asks|called|cried|said|says|whispered)\b"
"""What continues a sentence after a question or an exclamation in quotation marks."""
OPENING = re.compile(r"[\"'(]?[a-z]")
SENTENCE = re.compile(rf"([\n.!?](?:(?<=\n)(?:- )?[\"'(]?|(?<!\n)['\")]* [\"'(]?(?!(?<=[!?]\" ){SPEECH})))([a-z])")
SPACES = re.compile(r" {2,}")
EMPTY = re.compile(r"\n{3,}")
HEARD = re.compile(r"\b([Tt])he sound of the (?=[a-z-]+ )")
"""Matches what is superfluous before a sound that names itself, such as the slap of oars."""
LOOSE = (" \n", "\n"), ("\n ", "\n"), *((f" {stop}", stop) for stop in ",.;:!?")
"""Spaces at line ends and before punctuation, and their replacements."""
CONSONANT = re.compile(r"(?:uni(?!m|n)|use|usu|uti|euro|ewe|one\b|once|ukulele|u-|ubiq)", re.IGNORECASE)
VOWEL = re.compile(r"(?:[aeiou]|8|11\b|18\b|hour|honest|honou?r|heir|x-ray|mp3|lp\b|mri\b|sos\b)", re.IGNORECASE)
OPEN, SHUT = "\x01", "\x02"
"""Marks around a plural noun phrase that verbs have to agree with."""
REGULAR = (
    "come stop need mean keep make bring belong follow sound seem stay rise say tell begin start "
    "end fill settle put lie get distract delight decide ask"
)
MANY_VERBS = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "goes": "go",
    "carries": "carry",
    "reaches": "reach",
    **{f"{verb}s": verb for verb in REGULAR.split()},
}
MANY = re.compile(
    rf"(?P<before>\b(?:[Tt]here(?:'s| is| was) (?:no )?|of ))?{OPEN}(?P<value>[^{OPEN}{SHUT}]*){SHUT}"
    rf"(?: (?P<verb>{'|'.join(MANY_VERBS)})\b)?"
)
COUNTED = re.compile(r"(?:an?|one|two|three|too (?:much|little|many|few)) ")
ONE = ("a ", "an ", "one ", "too much ", "too little ")
AFTER_HEAD = re.compile(r" (?:of|in|on|at|to|up|with|under|against|over|from|among|without|down|for|by|the|past|into) ")
PLURALS = frozenset({"teeth", "feet", "mice", "children", "deer", "larvae", "geese"})
IRREGULAR = {"be": "is", "have": "has", "do": "does", "go": "goes"}
SMALL_WORDS = frozenset(re.findall("[a-z]+", "a an and as at but by for from in nor of off on or over the to up with"))


def tidy(text: str) -> str:
    """Return a realized text with single spaces, correct articles, and a capital at each sentence's start.

    >>> tidy("a  hour ago , a unicorn came. it was an one-off")
    'An hour ago, a unicorn came. It was a one-off'
    >>> tidy("the sound of the slap of oars carries further")
    'The slap of oars carries further'
    """
    # Most texts have nothing that the slower patterns match, which a search for a substring shows faster.
    if "  " in text:
        text = SPACES.sub(" ", text)
    for loose, tight in LOOSE:
        text = text.replace(loose, tight)
    if "\n\n\n" in text:
        text = EMPTY.sub("\n\n", text)
    text = text.strip()
    if "he sound of the " in text:
        text = HEARD.sub(r"\1he ", text)
    if OPEN in text:
        text = MANY.sub(_agreed, text)
    text = ARTICLE.sub(_article, text)
    if opening := OPENING.match(text):
        text = text[: opening.end()].upper() + text[opening.end() :]
    return SENTENCE.sub(_begun, text)


def capital(text: str) -> str:
    """Return a phrase with an initial capital.

    >>> capital("the slap of wet feet")
    'The slap of wet feet'
    """
    return re.sub(rf"^{OPEN}?[a-z]", lambda match: match[0].upper(), text)


def _begun(match: re.Match[str]) -> str:
    return match[1] + match[2].upper()


def _article(match: re.Match[str]) -> str:
    return f"{match[1]}n " if match[2] and starts_with_vowel(match[2]) else f"{match[1]} "


def _agreed(match: re.Match[str]) -> str:
    before, value, verb = match["before"] or "", match["value"], match["verb"]
    if before and not before.endswith("of "):
        before = re.sub(r"\b(is|was)\b", lambda word: MANY_VERBS[word[0]], before.replace("'s ", " is "))
    if verb and not before.endswith("of "):
        verb = MANY_VERBS[verb]
    return f"{before}{value} {verb}" if verb else f"{before}{value}"


def is_many(phrase: str) -> bool:
    """Return whether a noun phrase takes a plural verb.

    >>> [is_many(phrase) for phrase in ("a pair of gloves", "calls of grouse", "too many deer", "damp air", "the hiss")]
    [False, True, True, False, False]
    """
    if COUNTED.match(phrase):
        return not phrase.startswith(ONE)
    head = AFTER_HEAD.split(phrase, maxsplit=1)[0].rpartition(" ")[2]
    return head in PLURALS or (head.endswith("s") and not head.endswith(("ss", "us", "is")))


AFTER_NOUN = re.compile(r"( (?:of|for|on|in|with|to|at|from) )")
"""Begins what a noun phrase says after its noun."""


def many(noun: str) -> str:
    """Return the plural of a noun.

    >>> [many(noun) for noun in ("tin", "shoebox", "ferryman", "bus", "party", "cup of tea", "gong on a stand")]
    ['tins', 'shoeboxes', 'ferrymen', 'buses', 'parties', 'cups of tea', 'gongs on a stand']
    """
    head, *rest = AFTER_NOUN.split(noun, maxsplit=1)
    return "".join((head[:-3] + "men" if head.endswith("man") else third_person(head), *rest))


def marked(phrase: str) -> str:
    """Return a noun phrase, marked if it is plural, so that `tidy` makes adjacent verbs agree."""
    return f"{OPEN}{phrase}{SHUT}" if is_many(phrase) else phrase


@lru_cache(maxsize=1 << 12)
def starts_with_vowel(word: str) -> bool:
    """Return whether a word begins with a vowel sound, so that its article is ``an``."""
    return bool(VOWEL.match(word)) and not CONSONANT.match(word)


def number(value: int) -> str:
    """Return a count as in prose: in words up to twelve."""
    return SMALL[value] if value < len(SMALL) else f"{value:,}"


def third_person(verb: str) -> str:
    """Return the third-person singular of a verb.

    >>> [third_person(verb) for verb in ("need", "carry", "catch", "stay", "have")]
    ['needs', 'carries', 'catches', 'stays', 'has']
    """
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


def title(text: str) -> str:
    """Return a phrase in title case.

    >>> title("the slap of wet feet")
    'The Slap of Wet Feet'
    >>> title(marked("wet feet")).strip(OPEN + SHUT)
    'Wet Feet'
    """
    words = text.split(" ")
    return " ".join(word if place and word in SMALL_WORDS else capital(word) for place, word in enumerate(words))


BRIEF = 3
"""The most syllables of a name in a line of three beats."""
VOWELS = re.compile(r"[aeiouy]+")
LONG_LINE, SHORT_LINE = range(6, 11), range(4, 8)
"""Syllables of lines of three beats, and of two."""
APART = re.compile(r"ia(?!l)|io(?!u|n)|eo(?!u)|ua|uo(?!y)|iu|[aeiou]ing|yo$|oe(?=t)|creat|quiet")
"""Adjacent vowels that are two syllables."""
MUTE = re.compile(r"(?:[^aeiouyl]|[aeiou][lr])es?$|[^aeiouytd]ed$|(?<=dg)e(?=h)")
SIBILANT = re.compile(r"(?:s|x|z|ch|sh|c|g)es$")
EXCEPTIONS = {"chocolate": 3, "every": 2, "evening": 2, "favourite": 2, "macrame": 3}


def syllables(text: str) -> int:
    """Return about how many syllables a text has when read aloud, judging by its letters.

    >>> [syllables(text) for text in ("kites", "penguins", "hot-air balloons", "a wandering plumber from Crewe")]
    [1, 2, 4, 8]
    """
    return sum(map(_of_word, re.findall(r"[a-z]+", re.sub(r"'[a-z]+\b", "", text.lower()))))


def _of_word(word: str) -> int:
    if word in EXCEPTIONS:
        return EXCEPTIONS[word]
    loud = len(VOWELS.findall(word)) + len(APART.findall(word))
    silent = len(word) > 2 and MUTE.search(word) and not SIBILANT.search(word)
    return max(1, loud - bool(silent))


def brief(name: str) -> str:
    """Return a topic's name short enough for a line: all of it, its last word, or nothing if that is long too.

    >>> [brief(name) for name in ("penguins", "double-decker buses", "thermometers")]
    ['penguins', 'buses', '']
    """
    fitting = (form for form in (name, name.rpartition(" ")[2]) if syllables(form) <= BRIEF)
    return next(fitting, "")


def scans(stanza: str) -> bool:
    """Return whether a limerick has five lines of the right length, no two of which end in the same word."""
    lines = stanza.split("\n")
    sizes = [syllables(line) for line in lines]
    ends = {re.findall("[a-z]+", line.lower())[-1] for line in lines}
    wanted = (LONG_LINE, LONG_LINE, SHORT_LINE, SHORT_LINE, LONG_LINE)
    return len(lines) == len(ends) == len(wanted) and all(map(range.__contains__, wanted, sizes))
