"""Surface features of a prompt, independent of its meaning: candidates for the answer, and features of each.

Candidates are the options of a question, answers that many questions share, and values in the text with the shape of
known answers. Features are counts by place, order, first and last mention, denials nearby, rarity, words in common with
the question, and the words and form of the sentences that mention a candidate.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log, log1p

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DATE = re.compile(rf"\b(?:(\d{{1,2}}) )?({'|'.join(MONTHS)})(?: (\d{{4}}))?\b")
ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
END_OF_YEAR, YEAR = re.compile(r"end of (\d{4})\b(?!-)"), re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")
TIME = re.compile("|".join(shape.pattern for shape in (ISO, END_OF_YEAR, DATE, YEAR)))
"""A time in a question, which tells nothing of what is asked about; other numbers of the question do."""
NEGATION = re.compile(r"\b(?:no|not|nobody|nothing|none|never|neither|nor|without)\b|n't\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+")
SENTENCE = re.compile(r"(?<=[.?!])\s+")
SOURCE = re.compile(r"\[(\d{5})\]")
STOP = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "before", "by", "did", "do", "does", "for", "from", "had"),
        *("has", "have", "he", "her", "his", "how", "i", "in", "is", "it", "its", "many", "of", "on", "or", "that"),
        *("the", "their", "them", "they", "this", "to", "was", "were", "what", "when", "where", "which", "who", "whom"),
        *("whose", "will", "with"),
    )
)
STEM = 5
TAIL = 4096
"""Characters at either end of a text that have features of their own."""
NAME = r"[A-Z][A-Za-z'-]+"
SHAPES: dict[str, re.Pattern[str]] = {
    "uuid": re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    "hexadecimal": re.compile(r"\b[0-9a-f]{10}\b"),
    "code": re.compile(r"\b\d{7}\b"),
    "label": re.compile(r"\b\d{5}\b"),
    "ref": re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{5}\b"),
    "host": re.compile(r"\b[a-z]+(?:-[a-z0-9]+)+\b"),
    "date": re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b"),
    "year": YEAR,
    "number": re.compile(r"-?\b\d+\b"),
    "capitals": re.compile(r"\b[A-Z]{5}\b"),
    "month": re.compile(rf"\b(?:{'|'.join(MONTHS)})\b"),
    "three names": re.compile(rf"\b{NAME} {NAME} {NAME}\b"),
    "two names": re.compile(rf"\b{NAME} {NAME}\b"),
    "category": re.compile(r"\bCategory \d+\b"),
    "title": re.compile(rf"\b(?:the )?{NAME}(?: (?:(?:of|at|the|and|&|in|on|near|to|for) )*{NAME})*"),
    "function": re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b"),
    "line": re.compile(r"^[a-z]+$"),
    "last words": re.compile(r"\b[a-z]+(?=[.,;])|\b[a-z]+ [a-z]+(?=[.,;])"),
}
"""Shapes of answers, from the narrowest to the widest."""
PHRASE = re.compile(r"[a-z]+(?: [a-z]+)?")


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text, in lower case."""
    return [word.lower() for word in WORD.findall(text)]


def time_of(text: str) -> float | None:
    """Return the first date of a text in years, or the end of a year after "end of"; None if there is no year."""
    if match := ISO.search(text):
        return int(match[1]) + (int(match[2]) - 1) / 12 + int(match[3]) / 400
    if match := END_OF_YEAR.search(text):
        return int(match[1]) + 0.999
    if (match := DATE.search(text)) and (match[3] or match[1]):
        return int(match[3] or 0) + MONTHS.index(match[2]) / 12 + int(match[1] or 1) / 400
    return float(match[1]) if (match := YEAR.search(text)) else None


@dataclass
class Context:
    """Statistics of known rows: how often questions have a word, and texts a line."""

    questions: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    rows: int = 0

    def add(self, question: str, text: str) -> None:
        """Add a known row."""
        self.questions.update(set(words_of(question)))
        self.lines.update(set(text.splitlines()))
        self.rows += 1

    def weight(self, word: str) -> float:
        """Return the weight of a word in a question, by its rarity; 0 if most questions have it."""
        share = self.questions[word] / max(self.rows, 1)
        return 0.0 if word in STOP or share > 0.6 else log((self.rows + 1) / (self.questions[word] + 0.5))

    def is_common(self, line: str) -> bool:
        """Return whether most prompts have a line, such as instructions."""
        return self.lines[line] > 0.6 * self.rows

    def kinds(self, question: str) -> list[str]:
        """Return the words of a question that many other questions share, which indicate the kind of question."""
        return [
            word
            for word in dict.fromkeys(words_of(question))
            if 0.08 < self.questions[word] / max(self.rows, 1) < 0.9 and word not in STOP and not word.isdigit()
        ]


class Prompt:
    """A text in lines, with each line's overlap with the question, and its date."""

    def __init__(self, text: str, question: str, context: Context) -> None:
        self.question, self.context = question, context
        end = max(text.rfind(question), 0) or len(text)
        self.size = max(end, 1)
        self.lines: list[str] = []
        self.starts: list[int] = []
        place = 0
        for line in text[:end].splitlines(keepends=True):
            if line.strip() and not context.is_common(line.rstrip("\n")):
                self.lines.append(line.rstrip("\n"))
                self.starts.append(place)
            place += len(line)
        self.words = [words_of(line) for line in self.lines]
        self.asked_time = time_of(question)
        asked = question if self.asked_time is None else TIME.sub(" ", question)
        weights = {word: context.weight(word) for word in words_of(asked)}
        self.asked = {word: weight for word, weight in weights.items() if weight}
        self.total = sum(self.asked.values()) or 1.0
        stems: dict[str, float] = defaultdict(float)
        for word, weight in self.asked.items():
            stems[word[:STEM]] = max(stems[word[:STEM]], weight)
        self.stems, self.stems_total = stems, sum(stems.values()) or 1.0
        bags = [set(self.around(number)) for number in range(len(self.lines))]
        self.overlaps = [self.overlap(bag) for bag in bags]
        self.stem_overlaps = [self.stem_overlap(bag) for bag in bags]
        best = max(self.overlaps, default=0.0)
        self.about = [0 < 0.7 * best <= overlap for overlap in self.overlaps]
        self.frequency = Counter(word for bag in bags for word in bag)

    def around(self, number: int) -> list[str]:
        """Return the words of a line, and if it is short, of the line before it."""
        own = self.words[number]
        return own if len(own) > 3 or not number else [*self.words[number - 1], *own]

    def overlap(self, bag: Collection[str]) -> float:
        """Return the weight of the question's words in a bag, as a share of their total weight."""
        return sum(weight for word, weight in self.asked.items() if word in bag) / self.total

    def stem_overlap(self, bag: Iterable[str]) -> float:
        """Return the same for the first STEM letters of words."""
        stems = {word[:STEM] for word in bag}
        return sum(weight for stem, weight in self.stems.items() if stem in stems) / self.stems_total

    @cached_property
    def times(self) -> list[float]:
        """The date of each line; a line without a date has that of the line before."""
        dates, last = [], 0.0
        for line in self.lines:
            last = last if (time := time_of(line[:60])) is None else time
            dates.append(last)
        return dates

    @cached_property
    def before(self) -> list[int]:
        """The lines about what is asked, up to the time asked about, in order of time."""
        asked = self.asked_time
        lines = [number for number, about in enumerate(self.about) if about]
        return sorted((n for n in lines if asked is None or self.times[n] <= asked), key=lambda n: (self.times[n], n))

    @cached_property
    def last_before(self) -> str:
        """The sentences of the last line about what is asked, up to the time asked about, that are about it."""
        return self.said_in(self.before[-1]) if self.before else ""

    def said_in(self, number: int) -> str:
        """Return the sentences of a line that share words with the question, or the whole line if none does."""
        sentences = [each for each in SENTENCE.split(self.lines[number]) if self.overlap(words_of(each)) >= 0.3]
        return " ".join(sentences) or self.lines[number]

    @cached_property
    def denied(self) -> list[str]:
        """All sentences with a negation."""
        return [each for line in self.lines for each in SENTENCE.split(line) if NEGATION.search(each)]

    @cached_property
    def ending(self) -> list[str]:
        """The lines in the last TAIL characters of the text."""
        return self.lines[bisect_right(self.starts, self.size - TAIL) :]

    def views(self) -> dict[str, Counter[str]]:
        """Return the counts of words in several parts of the text, by part."""
        late = [each for line in self.ending for each in SENTENCE.split(line) if NEGATION.search(each)]
        about = [self.said_in(number) for number, is_about in enumerate(self.about) if is_about]
        parts = {
            "denials": self.denied,
            "denials near the end": late,
            "the end": self.ending,
            "the whole": self.lines,
            "about it": about if len(about) < 200 else [],
            "the last about it": [self.last_before],
        }
        return {name: Counter(word for text in texts for word in words_of(text)) for name, texts in parts.items()}


@dataclass
class Candidate:
    """A possible reply, and where its value is mentioned: line, start and end."""

    value: str
    reply: str
    kind: str
    mentions: list[tuple[int, int, int]]
    place: int = 0
    """Its place among the options, or in the question; 0 if it has none."""


def shapes_of(items: Sequence[str], least: float = 0.1) -> list[str]:
    """Return up to five of the narrowest shapes that each fit at least a share of the answers (by default a tenth)."""
    left, names = list(items), []
    for name, shape in SHAPES.items():
        fitting = [item for item in left if (PHRASE if name == "last words" else shape).fullmatch(item)]
        if len(fitting) >= max(least * len(items), 1):
            names.append(name)
            left = [item for item in left if item not in fitting]
    return names[:5]


def harvested(prompt: Prompt, shapes: Sequence[str], limit: int) -> list[Candidate]:
    """Return values of some shapes in the text, beginning with those in lines most like the question."""
    places: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    kinds: dict[str, str] = {}
    for name in shapes:
        shape = SHAPES[name]
        for number, line in enumerate(prompt.lines):
            if name == "last words" and not prompt.overlaps[number]:
                continue
            for one in shape.finditer(line):
                places[one[0]].append((number, one.start(), one.end()))
                kinds.setdefault(one[0], name)
    best = sorted(
        places, key=lambda value: (-max(prompt.overlaps[at[0]] for at in places[value]), -min(len(places[value]), 9))
    )
    return [Candidate(value, value, kinds[value], places[value]) for value in best[:limit]]


def mentioned(prompt: Prompt, value: str) -> list[tuple[int, int, int]]:
    """Return where an answer is mentioned; a single lower-case word also by words with the same beginning."""
    if re.fullmatch("[a-z]{4,}", value):
        shape = re.compile(rf"\b{value[: max(4, len(value) - 4)]}\w*", re.IGNORECASE)
    else:
        shape = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
    return [(n, one.start(), one.end()) for n, line in enumerate(prompt.lines) for one in shape.finditer(line)]


def numbers_of(prompt: Prompt, one: Candidate) -> dict[str, float]:
    """Return the numerical features of a candidate."""
    lines = sorted({at[0] for at in one.mentions})
    own = set(lines)
    places = [(prompt.starts[n] + start) / prompt.size for n, start, _ in one.mentions]
    late = sum(place * prompt.size > prompt.size - TAIL for place in places)
    about = [n for n in lines if prompt.about[n]]
    last = max((at for at, n in enumerate(prompt.before) if n in own), default=-1)
    first = min((at for at, n in enumerate(prompt.before) if n in own), default=len(prompt.before))
    denied = [at for at in one.mentions if NEGATION.search(_sentence(prompt, at))]
    bag = Counter(word for n in lines[:150] for word in prompt.around(n))
    size = sum(bag.values()) + 20
    likeness = sum(
        weight * log((bag[word] + 0.2) / size) / (1 + log1p(prompt.frequency[word]))
        for word, weight in prompt.asked.items()
    )
    overlaps = [prompt.overlaps[n] for n in lines]
    sentences = [_sentence(prompt, at) for at in sorted(one.mentions, key=lambda at: -prompt.overlaps[at[0]])[:8]]
    value = float(one.value) if re.fullmatch(r"-?\d{1,6}", one.value) else 0.0
    return {
        "mentions": float(len(one.mentions)),
        "lines": float(len(lines)),
        "mentions in the last 4K": float(late),
        "mentions in the first 4K": float(sum(place * prompt.size < TAIL for place in places)),
        "lines about what is asked": float(len(about)),
        "other lines": float(len(lines) - len(about)),
        "lines before the time asked about": float(sum(n in own for n in prompt.before)),
        "denials": float(len(denied)),
        "denials in the last 4K": float(sum(prompt.starts[at[0]] > prompt.size - TAIL for at in denied)),
        "first mention": min(places, default=1.0),
        "last mention": max(places, default=0.0),
        "first about it": about[0] / len(prompt.lines) if about else 1.0,
        "last about it": about[-1] / len(prompt.lines) if about else -1.0,
        "last before the time": float(last - len(prompt.before) if last >= 0 else -99),
        "first before the time": float(first),
        "words in common": max(overlaps, default=0.0),
        "mean words in common": sum(overlaps) / len(overlaps) if overlaps else 0.0,
        "stems in common": max((prompt.stem_overlaps[n] for n in lines), default=0.0),
        "words in common in a sentence": max((prompt.overlap(words_of(each)) for each in sentences), default=0.0),
        "stems in common in a sentence": max((prompt.stem_overlap(words_of(each)) for each in sentences), default=0.0),
        "likeness of its lines": likeness if bag else -99.0,
        "distance from asked words": min((_distance(prompt, at) for at in one.mentions[:40]), default=9.0),
        "place in its line": min((start / max(len(prompt.lines[n]), 1) for n, start, _ in one.mentions), default=1.0),
        "length": float(len(one.value)),
        "number": value,
        "place in the question": float(one.place),
        "own words in common": prompt.stem_overlap(words_of(one.value)),
    }


def _sentence(prompt: Prompt, at: tuple[int, int, int]) -> str:
    """Return the sentence of a mention."""
    number, start, end = at
    line = prompt.lines[number]
    begins = max(line.rfind(mark, 0, start) for mark in (". ", "? ", "! ")) + 1
    ends = [place for mark in (". ", "? ", "! ") if (place := line.find(mark, end)) >= 0]
    return line[begins : min(ends, default=len(line)) + 1].strip()


def _distance(prompt: Prompt, at: tuple[int, int, int]) -> float:
    """Return the logarithm of the characters between a mention and the nearest asked word in its line."""
    number, start, end = at
    line = prompt.lines[number].lower()
    near = [9.0]
    for word in prompt.asked:
        before, behind = line.rfind(word, 0, start), line.find(word, end)
        near += [log1p(start - before)] if before >= 0 else []
        near += [log1p(behind - end)] if behind >= 0 else []
    return min(near)


def words_around(prompt: Prompt, one: Candidate, kinds: Sequence[str]) -> dict[str, float]:
    """Return the words and forms around a candidate's best mention, as features by name."""
    features: dict[str, float] = {f"is {one.kind}": 1.0}
    if not one.mentions:
        return features
    best = max(one.mentions, key=lambda at: (prompt.overlaps[at[0]], at[0]))
    sentence = _sentence(prompt, best)
    number, start, end = best
    line = prompt.lines[number]
    left, right = words_of(line[max(start - 40, 0) : start]), words_of(line[end : end + 40])
    for side, words in (("left", left[::-1]), ("right", right)):
        for place, word in enumerate(words[:3]):
            features[f"{side} {place}: {word}"] = 1.0
    words_beside = _plain(sentence)
    features |= {f"in its sentence: {word}": 1.0 for word in words_beside}
    features |= {f"asked {kind}, said {word}": 1.0 for kind in kinds for word in words_beside}
    features[f"form: {_form(sentence, one.value)}"] = 1.0
    own = {at[0] for at in one.mentions}
    places = [at for at, n in enumerate(prompt.before) if n in own]
    if places:
        last = places[-1]
        features |= {f"last before: {word}": 1.0 for word in _plain(prompt.said_in(prompt.before[last]))}
        after = [*prompt.before[last + 1 : last + 3]]
        for step, number in enumerate(after):
            features |= {f"next {step}: {word}": 1.0 for word in _plain(prompt.said_in(number))}
    return features


def _plain(text: str) -> list[str]:
    """Return the words of a text that are neither capitalized nor numbers."""
    return list(dict.fromkeys(word for word in re.findall(r"(?<![\w'])[a-z][a-z']*", text)))


def _form(sentence: str, value: str) -> str:
    """Return a sentence with its names and numbers masked."""
    masked = re.sub(r"\b[A-Z][A-Za-z'-]*\b", "X", re.sub(r"\d+", "0", sentence.replace(value, "@")))
    return re.sub(r"X(?: X)+", "X", masked)[:80]
