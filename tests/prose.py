"""A reader of the texts that the pools give: rules of its own, by which each text is right or has a fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from pipeline.worlds.writing.topics import Topic, topics

DETERMINERS = "a|an|the|my|your|his|her|its|our|their|some|any|no|every|each|another"
PARTICLES = "bring|call|fold|give|hand|hang|lock|pack|pick|put|send|set|take|throw|tie|turn|use|wake|wear|write"
BE_MANY = "is|was|has|does"
RULES = {
    "a word twice": r"(?i)\b(?!had\b|that\b)([a-z]+) \1\b",
    "a wrong article": r"(?i)\ba (?!(?:u(?:[snt][ei]|ku|n[iy])|eu|ewe|one\b|once))[aeiou]\w|\ba (?:hour|heir|honest)"
    r"|\ban (?!hour|heir|honest)[bcdfghjklmnpqrstvwxyz]\w",
    "two determiners": rf"(?i)(?<!, )\b(?:{DETERMINERS}) (?:a|an|the|my|your|our|their|every|each)\b(?! of)(?<!her the)",
    "an article behind its adjective": r"(?i)(?<!so )(?<!too )(?<!how )(?<!as )\b(?:new|old|fresh|other|real) an? ",
    "a noun is missing": r"(?i)\b(?:a|an|the) (?:of|and|or|to|in|at|is|are|was|were|with|has|had|by|from|for)\b(?!-)"
    r"|\b(?:a|an|the|my|your|our|their) ?[.,;:!?](?!\.)",
    "a word is missing": r"(?i)\b(?:of|from|with|into) (?:of|to|with|is|are|was|were|and|or)\b|\babout with\b",
    "a verb is wrong": r"(?i)\bto (?:is|was|are|were|has|had|does|did)\b|\b(?:did|does|do|will|would|can|could|must) not? ?"
    r"(?:is|was|are|were|has|had|does)\b",
    "there is with a plural": r"(?i)\bthere (?:is|was) (?:no |some |only )?(?:two|three|four|many|several|few|[a-z]+ (?:feet|teeth))\b",
    "a pronoun and its verb": r"(?i)\b(?:they|we|you) (?:is|was|has|does|goes|needs|wants)\b"
    r"|(?<!if )(?<!though )(?<!and )(?<!wish )\b(?:he|she) (?:are|have|go|need|want|were)\b|\b(?:I|we|they) am? is\b",
    "a particle before its pronoun": rf"(?i)\b(?:{PARTICLES})(?:s|ed|ing)? (?:up|off|away|out|back|down) (?:it|them|him|me|us)\b",
    "a wrong plural": r"(?i)\b\w+(?:x|sh|ch|ss|[^aeiou']y)s\b|\b(?!humans|talismans|germans|romans|shamans)\w+mans\b"
    r"|\b(?:childs|foots|tooths|mouses|gooses|knifes|loafs|leafs|shelfs|halfs)\b",
    "a loose stop": r" [,.;:!?](?!\w)|[,;:][,.;:!?]|[.!?][,;]|(?<!\.)\.\.(?!\.)|\( | \)",
    "a small letter after a stop": r"[a-z][.!?]\"? [a-z]|^[a-z]|\n[a-z]",
    "something unresolved": r"[{}|\\<>\x01\x02]|\bNone\b|  |\n\n\n",
    "an American spelling": r"(?i)\b(?:\w*(?:colo|favo|neighbo|hono|labo|humo|harbo|flavo|vapo|parlo|odo|rumo|splendo|savio)r(?:s|ed|ing|ful|able|ite|hood)?"
    r"|center\w*|theater\w*|meters?|liters?|gray\w*|plow\w*|mustache|pajamas|cozy|skeptic\w*|mom|jewelry|gotten|traveler\w*|traveling"
    r"|catalog|program|aluminum|curb|molds?|moldy|check(?:book)|\w+(?:gani|cogni|ogi|ali|imi|ari)z(?:e[sd]?|ing)|analyze\w*)\b",
    "a spelling that is used for another": r"(?i)\b(?:learnt|dreamed|spelled|toward|amongst|whilst|leaped|spoilt|burned|leant|smelled)\b",
    "as without its partner": r"(?i)\bfar as (?!I\b|we\b|the\b|a\b|an\b|my\b|one\b|that\b|it\b|he\b|she\b|they\b|you\b|anyone\b|possible|[A-Z])\w+",
}
ALLOWED = re.compile(
    r"(?i)\b(?:harbour|colour|parlour|savour)\w*|\bhumor(?:ous|ist)|\bvapor|\b(?:honor|labor)(?:ary|at|io)\w*|thermometers?|"
    r"\b(?:exercise|promise|advise)\w*"
)
COMPILED = {name: re.compile(pattern, re.MULTILINE) for name, pattern in RULES.items()}
SHOWN = 35
"""Characters beside a fault, in what is shown of it."""


def faults(text: str, topic: Topic | None = None) -> Iterator[tuple[str, str]]:
    """Yield each fault of a text, by name, with the words around it."""
    for name, rule in COMPILED.items():
        yield from (
            (name, _around(text, found)) for found in rule.finditer(text) if not ALLOWED.match(found[0].strip())
        )
    if text.count('"') % 2:
        yield "a quotation mark without its partner", text[:60]
    if text.count("(") > text.count(")") + len(re.findall(r"\([a-z0-9]$", text)) or len(re.findall(r"\(", text)) != len(
        re.findall(r"(?<![a-z0-9]\b)\)|(?<=\w)\)", text)
    ) - len(re.findall(r"(?m)^[a-z0-9]\)", text)):
        yield "a bracket without its partner", text[:60]
    if topic:
        yield from ((name, _around(text, found)) for name, rule in _about(topic) for found in rule.finditer(text))


def _around(text: str, found: re.Match[str]) -> str:
    return text[max(0, found.start() - SHOWN) : found.end() + SHOWN].replace("\n", " / ")


@cache
def _about(topic: Topic) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return rules about the words of a topic: verbs of its plurals, and the article before its sounds."""
    plurals = _either((topic.ones, topic.doers, *topic.part, *((topic.name,) if topic.number == "plural" else ())))
    single = "" if topic.number == "plural" else _either((topic.name,))
    sounds = [sound.removeprefix("the ") for sound in topic.sound if sound.startswith("the ")]
    rules = [
        (
            "a plural and its verb",
            rf"(?i)(?:^|[.!?:;]\"? |[,\"] |\b(?:that|when|where|if|why|how) )(?:{plurals}) (?:{BE_MANY})\b",
        ),
        ("there is with a plural", rf"(?i)\bthere (?:is|was) (?:no |some )?(?:{plurals})\b"),
    ]
    if single:
        rules.append(
            (
                "a mass noun and its verb",
                rf"(?i)(?:^|[.!?:;]\"? |[,\"] |\b(?:that|when|where|if) )(?:{single}) (?:are|were|have|do)\b",
            )
        )
    if sounds:
        before = r"\b(?:the|no|real|this|that|old|more|such|soft|loud|any|some|your|his|her|our|their|a|an|\w+'s) "
        rules.append(
            ("a sound without its article", rf"(?i)(?:^|[^\w ] ?|\b(?!{before[2:]})\w+ )(?:{_either(sounds)})\b")
        )
    return tuple((name, re.compile(rule, re.MULTILINE)) for name, rule in rules)


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@cache
def topic_named(name: str) -> Topic:
    """Return a topic by its name."""
    return next(topic for topic in topics() if topic.name == name)
