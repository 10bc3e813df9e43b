"""Grammar rules for the texts in pools, independent of the code that writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from pipeline.worlds.words import pool
from pipeline.worlds.writing.realise import DAYS
from pipeline.worlds.writing.topics import Topic, topics

DETERMINERS = "a|an|the|my|your|his|its|our|their|some|any|no|every|another"
PARTICLES = "bring|call|fold|give|hand|hang|lock|pack|pick|put|send|set|take|throw|tie|turn|use|wake|wear|write"
SPEAKERS = "|".join(sorted({line[2:] for line in pool("writing/people")}))
WEATHERS = "drizzle|fog|wind|frost|sunshine|rain|sleet|heat|thunder|mist"
NOT_A_SUBJECT = "".join(f"(?<!(?:along|.hand), and on {day} )" for day in DAYS)
"""A lookbehind for phrases where "it" is the text's subject, which may be weather: "and on Tuesday it was rain"."""
SAYING = "asked|called|cried|said|whispered"
RULES = {
    "a word twice": r"(?i)\b(?!had\b|that\b)([a-z]+) \1\b",
    "a wrong article": r"(?i)\ba (?!(?:u(?:[snt][ei]|ku|n[iy])|eu|ewe|one\b|once))[aeiou]\w"
    r"|\ba (?:hour|heir|honest|honour)|\ban (?!hour|heir|honest|honour)[bcdfghjklmnpqrstvwxyz]\w",
    "two determiners": rf"(?i)(?<!, )\b(?:{DETERMINERS}) (?:a|an|the|my|your|our|their|every|each)\b(?! of)(?! wiser)",
    "an article behind its adjective": r"(?<!the )(?<!so )\b(?:new|old|fresh|other|real) an? ",
    "a noun is missing": r"\b(?:a|an|the) (?:of|and|or|to|in|at|is|are|was|were|with|has|had|by|from|for)\b(?!-)"
    r"|\b(?:a|an|the|my|your|our|their) ?[.,;:!?](?!\.)",
    "a word is missing": r"(?i)\b(?:of|from|with|into) (?:of|to|with|are|were)\b|\b(?:it|this|them) about with\b",
    "a verb is wrong": r"(?i)(?<!-)\bto (?:is|was|are|were|has|had|does|did)\b"
    r"|\b(?:did|does|do|will|would|can|could|must)(?: not|n't) (?:was|are|were|has|had|does)\b",
    "there is with a plural": r"(?i)\bthere (?:is|was) (?:no |some |only )?"
    r"(?:two|three|four|many|several|few|[a-z]+ (?:feet|teeth))\b(?!-)",
    "a pronoun and its verb": r"(?i)(?<!of )(?<!to )(?<!with )(?<!near )\b(?:they|we|you)"
    r" (?:is|was|has|does|goes|needs|wants)\b"
    r"|(?<!if )(?<!though )(?<!and )(?<!wish )\b(?:he|she) (?:are|have|go|need|want|were)\b",
    "a particle before its pronoun": rf"(?i)\b(?:{PARTICLES})(?:s|ed|ing)? (?:up|off|away|out|back|down)"
    r" (?:it|them|him|me|us)\b",
    "a wrong plural": r"(?i)\b\w+(?:x|sh|ch|ss|fe|[^aeiou']y)s\b(?<!cafes)(?<!safes)(?<!giraffes)"
    r"|\b(?!humans|talismans|germans|romans|shamans)\w+mans\b|\b(?:childs|foots|tooths|mouses|gooses|loafs|leafs)\b",
    "a loose stop": r"(?m) [,.;:!?](?!\w)|[,;:][,.;:!?]|[.!?][,;]|(?<!\.)\.\.(?!\.)|\( | \)|^[,.;:]",
    "a small letter after a stop": r"(?m)[a-z][.!?]\"? (?!(?:\w+ |the \w+ )?(?:"
    rf"{SAYING})\b)[a-z]|^(?:- )?[a-z]",
    "something unresolved": r"[{}|\\<>\x01\x02]|\bNone\b|  |\n\n\n",
    "an American spelling": r"(?i)\b(?:colors?|favor\w*|neighbor\w*|honor|labor|humor|harbor\w*|flavor\w*|parlor|rumor"
    r"|center\w*|theater\w*|liters?|gray\w*|plow\w*|mustache|pajamas|cozy|skeptic\w*|mom|jewelry|gotten|travel(?:er|ing)"
    r"|catalog|aluminum|curb|molds?|moldy|checkbook|sidewalk|\w+(?:gani|cogni|ogi|ali|imi|ari)z(?:e[sd]?|ing))\b",
    "another spelling": r"(?i)\b(?:learnt|dreamed|spelled|toward|amongst|whilst|leaped|spoilt|burned|leant|smelled)\b",
    "as without its partner": r"(?i)(?<!as )(?<!so )\bfar as\b",
    "a capital after a question": rf"[!?]\" (?:(?:He|She|They) (?:{SAYING})|{SAYING.title()})\b",
    "a small letter after a speaker": rf"(?m)^(?:{SPEAKERS}|(?!WANTED)[A-Z]{{3,}}): [a-z]",
    "somebody who calls himself": r"(?m)^([A-Z][a-z]{2,}): (?:[^\n]*, )\1[.!?]",
    "a comma between a name and its verb": r"(?m)(?:^|[.!?] )[A-Z][a-z]+ [A-Z][a-z]+, (?:can|has|holds|is|keeps|says"
    r"|waits|was|will)\b",
    "a thing that is a who": r"\b(?:hotels?|museums?|newsrooms?|offices?|papers?|shops?|stations?) who\b",
    "weather that somebody is": rf"{NOT_A_SUBJECT}\b(?:[Ii]t is|[Ii]t was|[Ii]t's) (?:{WEATHERS})\b"
    r"(?! that| and| who| at| on|, and nothing else, that)",
    "a comma that cuts": r"\bbut, and\b|\b(?:been|was) given, an?\b|\bpoint, at\b(?! [^,.]+, at which)"
    r"|\bmore [a-z]+, than\b",
    "a capital behind a comma": r", (?:But|He|In|It|On|She|That|The|There|They|This|We|When|You)\b(?! [A-Z])(?!\")",
    "a participle is wrong": r"(?<!Whoever it )\b(?:are|be|been|has|have|is|was|were) (?:became|began|came|did"
    r"|gave|knew|took|went|wrote)\b",
    "an amount of things that are counted": r"\b(?:good|great) deal of (?!its\b|this\b)[a-z]+s\b(?<!ss)",
    "weather that is told by the clock": r"\b(?:just|right|straight|well|long) (?:before|after) [a-z]+"
    rf" and (?:{WEATHERS})\b",
    "a verb that waits for itself": r"(?i)\b(come|go|get|seem|start|begin|try)s? to \1\b",
}
COMPILED = {name: re.compile(pattern) for name, pattern in RULES.items()}
OF_WORLDS = {
    "a word twice": r"(?i)\b(?!had\b|that\b)([a-z]{2,}) \1\b",
    "a word twice in a clause": r"(?i)\bthe (mill|school|museum|bridge) was (?:built|opened|founded) as an? \1\b",
    "a wrong article": RULES["a wrong article"],
    "a thing that acts with another": r"\bIt and (?:the )?[A-Z]|\bof it and (?:the )?[A-Z]",
    "clauses with that in a row": r"\bthat (?:has|had) (?:an? |the )?(?:[a-z]+ )+that (?:was|were)\b",
    "no where not belongs": r"\b(?:is|are) no (?:number|multiples?|part)\b",
    "an ordinal in figures and letters": r"\b\d+-th\b",
    "something unresolved": r"[{}]|\bNone\b",
    "a granary with an architect": r"\bformer granary\b",
    "given free": r"\bgiven (?:them|it) free\b",
}
"""Rules for documents, notes, traces and code, which contain names and codes besides prose."""
COMPILED_OF_WORLDS = {name: re.compile(pattern) for name, pattern in OF_WORLDS.items()}
MARKS = re.compile(r"(?m)^\(?[A-Za-z0-9]{1,3}[.)] ?|\([a-z0-9]\)")
"""List numbers, whose brackets have no partners."""
SHOWN = 35
"""Characters shown on either side of a fault."""


def faults(text: str, topic: Topic | None = None) -> Iterator[tuple[str, str]]:
    """Yield each fault of a text: the rule's name, and the words around it."""
    rules = (*COMPILED.items(), *(_about(topic) if topic else ()))
    yield from ((name, _around(text, match)) for name, rule in rules for match in rule.finditer(text))
    if text.count('"') % 2:
        yield "a quotation mark without its partner", text[:60]
    plain = MARKS.sub("", text)
    if plain.count("(") != plain.count(")"):
        yield "a bracket without its partner", text[:60]


def world_faults(text: str) -> Iterator[tuple[str, str]]:
    """Yield each fault of a text of the worlds other than `writing`, by the rules OF_WORLDS."""
    yield from (
        (name, _around(text, match)) for name, rule in COMPILED_OF_WORLDS.items() for match in rule.finditer(text)
    )


def _around(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - SHOWN) : match.end() + SHOWN].replace("\n", " / ")


@cache
def _about(topic: Topic) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return rules for the words of a topic: the verbs of its plurals, and the article before its sounds."""
    names = (topic.name,) if topic.number == "plural" else ()
    ones = () if topic.ones == topic.name else (topic.ones,)
    plurals = _either((*ones, topic.doers, *topic.part, *names))
    clause = r"(?:^|[.!?;]\"? |[,\"] |\b(?:that|when|where|if|why|how) )"
    rules = [
        ("a plural and its verb", rf"(?im){clause}(?:{plurals}) (?:is|was|has|does|means)\b"),
        ("there is with a plural", rf"(?i)\bt?here(?: is|'s| was) (?:no |some )?(?:{plurals})\b"),
    ]
    if not names:
        rules.append(("a mass noun and its verb", rf"(?im){clause}{re.escape(topic.name)} (?:are|were|have|do)\b"))
    sounds = [sound.removeprefix("the ") for sound in topic.sound if sound.startswith("the ")]
    if sounds:
        bare = r"(?:the|no|real|this|that|old|more|such|any|some|your|his|her|our|their|a|an|striped|[a-z]+'s)"
        rules.append(
            ("a sound without its article", rf"(?im)(?:^|[^\w\s\"] |\b(?!{bare} )[a-z]+ )(?:{_either(sounds)})\b")
        )
    return tuple((name, re.compile(rule)) for name, rule in rules)


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@cache
def topic_named(name: str) -> Topic:
    return next(topic for topic in topics() if topic.name == name)
