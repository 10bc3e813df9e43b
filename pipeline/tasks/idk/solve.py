"""Reads prompts: finds the person asked about, and whether the story states what is asked.

`pipeline.worlds.wording` compiles the patterns of sentences from the writer's own plots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.idk.forms import LETTERS, UNKNOWN, accepted
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError, count_words
from pipeline.worlds.stories import Plot, plots, values_of
from pipeline.worlds.wording import Phrase, Slot, parse, pattern, settled

START, END = "The text begins here.\n", "The text ends here."
FULL_NAME = "[A-Z][a-z]+ [A-Z][a-z]+"
CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")


@dataclass(frozen=True, slots=True)
class Story:
    """A story as read: its person, its plot, the detail that it states of each noun, and what else it mentions.

    `near` maps both nouns of each sentence about a pair to the detail in it, whichever of the two has it.
    """

    name: str
    plot: str
    stated: dict[str, str]
    near: dict[str, str]
    mentioned: frozenset[str]


def pattern_of(phrase: Phrase, groups: Mapping[str, str]) -> re.Pattern[str]:
    """Return the pattern of a text with slots; those not in `groups` match any few words."""

    def takes(slot: Slot) -> str:
        return f"(?P<{slot.name}>{groups[slot.name]})" if slot.name in groups else "[A-Za-z ]+?"

    return re.compile(pattern(phrase, takes))


def of_side(form: str, side: int) -> Phrase:
    """Return the sentence about a pair that gives the detail to one of the two."""
    first, *rest = settled(parse(form), lambda options: options[side])
    return (_large(first) if isinstance(first, str) else first, *rest)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The patterns of a plot's stories; each of the `statements` has the name of the group that has the detail."""

    plot: Plot
    openings: tuple[re.Pattern[str], ...]
    closings: tuple[re.Pattern[str], ...]
    mentions: dict[str, str]
    statements: tuple[tuple[re.Pattern[str], str], ...]
    values: frozenset[str]


@cache
def _grammars() -> tuple[Grammar, ...]:
    return tuple(_grammar(plot) for plot in plots())


def _grammar(plot: Plot) -> Grammar:
    nouns = "|".join(re.escape(form) for slot in plot.slots for form in (slot.noun, _large(slot.noun)))
    groups = {"x": nouns, "y": nouns, "v": ".+", "first": "[A-Z][a-z]+"}
    return Grammar(
        plot,
        tuple(pattern_of(parse(opening), {"name": FULL_NAME}) for opening in plot.openings),
        tuple(pattern_of(parse(closing), groups) for closing in plot.closings),
        {clause: slot.noun for slot in plot.slots for clause in slot.clauses},
        tuple(
            (pattern_of(of_side(form, side), groups), owner) for form in plot.pairs for side, owner in enumerate("xy")
        ),
        frozenset(values_of(plot.values)),
    )


@lru_cache(maxsize=1 << 16)
def read_story(line: str) -> Story:
    """Read a story."""
    for grammar in _grammars():
        for opening in grammar.openings:
            match = opening.match(line)
            if match:
                return _read(grammar, match["name"], line[match.end() :])
    raise ReadError(f"neither a story nor letters: {line[:80]!r}")


def _read(grammar: Grammar, name: str, rest: str) -> Story:
    first = name.split(" ")[0]
    *sentences, closing = rest.strip().removesuffix(".").split(". ")
    ends = [pattern.fullmatch(f"{closing}.") for pattern in grammar.closings]
    if not any(end and end.groupdict().get("first", first) == first for end in ends):
        raise ReadError(f"the story of {name} closes in no known way: {closing[:80]!r}")
    stated: dict[str, str] = {}
    near: dict[str, str] = {}
    mentioned: set[str] = set()
    for sentence in sentences:
        clauses = [_clause(first, clause) for clause in sentence.split(", and ")]
        if all(clause in grammar.mentions for clause in clauses):
            mentioned |= {grammar.mentions[clause] for clause in clauses}
            continue
        noun, value, nouns = _statement(grammar, first, sentence)
        if len(nouns) != 2 or nouns & near.keys():
            raise ReadError(f"the story of {name} has {', '.join(sorted(nouns))} in more than one pair")
        near |= dict.fromkeys(nouns, value)
        stated[noun] = value
    return Story(name, grammar.plot.title, stated, near, frozenset(mentioned | near.keys()))


def _statement(grammar: Grammar, first: str, sentence: str) -> tuple[str, str, set[str]]:
    """Return the noun that a sentence gives a detail to, the detail, and both nouns."""
    for statement, owner in grammar.statements:
        match = statement.fullmatch(sentence)
        if match and match["v"] in grammar.values and match.groupdict().get("first", first) == first:
            return _small(match[owner]), match["v"], {_small(match["x"]), _small(match["y"])}
    raise ReadError(f"no sentence of {grammar.plot.title!r}: {sentence[:80]!r}")


def _clause(first: str, clause: str) -> str:
    """Return a clause in the form in which plots have it."""
    return _small(CAPITALISED.sub(lambda word: "{first}" if word[0] == first else word[0], clause))


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _large(text: str) -> str:
    return text[:1].upper() + text[1:]


RANDOM_LETTERS = re.compile(r"[A-Z](?: [A-Z])*")
BLOCK = re.compile(r"Question: (.+)\nChoices:\n\(A\) (.+)\n\(B\) (.+)\n\(C\) (.+)\n\(D\) (.+)\nAnswer:(?: ([A-D]))?")


class Line(NamedTuple):
    """A line of the body: its span, its text, and its story as read, or None for random letters."""

    start: int
    end: int
    text: str
    story: Story | None


@dataclass(frozen=True, slots=True)
class Query:
    """A question as read: its person, plot, noun and choices, and the letter that follows it, or ""."""

    name: str
    plot: str
    noun: str
    choices: tuple[str, ...]
    reply: str


def solve(text: str) -> tuple[str, ...]:
    """Return the accepted answers of a prompt's last question."""
    asked = read_question(text)
    letter = answer(asked, [line.story for line in read_body(text) if line.story])
    return accepted(letter, asked.choices[LETTERS.index(letter)])


def answer(asked: Query, stories: list[Story]) -> str:
    """Return the letter that answers a question about one of some stories."""
    own = [story for story in stories if story.name == asked.name]
    if len(own) != 1 or own[0].plot != asked.plot:
        raise ReadError(f"{asked.name} has {len(own)} stories, of {[story.plot for story in own]}")
    if asked.noun not in own[0].mentioned:
        raise ReadError(f"the story of {asked.name} does not mention {asked.noun}")
    value = own[0].stated.get(asked.noun)
    if value is None:
        return LETTERS[-1]
    if value not in asked.choices:
        raise ReadError(f"the story of {asked.name} states {value!r}, which is not a choice")
    return LETTERS[asked.choices.index(value)]


@PROMPT.cached
def read_body(text: str) -> tuple[Line, ...]:
    """Return every line of the body."""
    start = text.find("\n" + START) + 1 + len(START)
    end = text.rfind("\n" + END) + 1
    if start <= len(START) or end <= start:
        raise ReadError("the prompt has no body")
    lines = Lines(text, start, end)
    stories = (one or None for one in _read_line(lines.texts))
    return tuple(
        Line(*lines.span(number), line, story)
        for number, (line, story) in enumerate(zip(lines.texts, stories, strict=True))
    )


@LINES.cached_map
def _read_line(line: str) -> Story | Literal[False]:
    return False if RANDOM_LETTERS.fullmatch(line) else read_story(line)


def read_question(text: str) -> Query:
    """Return the question that a prompt ends in."""
    asked = read_blocks(text[text.rfind("\n" + END) :])
    if len(asked) != 1 or asked[0].reply:
        raise ReadError("the prompt does not end in one question")
    return asked[0]


def read_blocks(text: str) -> list[Query]:
    """Return every question in a text."""
    return [Query(*_understood(found[1]), found.groups()[1:5], found[6] or "") for found in BLOCK.finditer(text)]


def _understood(question: str) -> tuple[str, str, str]:
    for plot, asked in _questions():
        match = asked.fullmatch(question)
        if match:
            return match["name"], plot, match["it"]
    raise ReadError(f"no question: {question[:80]!r}")


@cache
def _questions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    found = []
    for plot in plots():
        nouns = "|".join(re.escape(slot.noun) for slot in plot.slots)
        found.append((plot.title, pattern_of(parse(plot.ask), {"name": FULL_NAME, "it": nouns})))
    return tuple(found)


def faults(row: PublishedRow, subtask: str) -> Iterator[str]:
    """Yield what is wrong with a row."""
    lines, asked = read_body(row.text), read_question(row.text)
    own = [line for line in lines if line.story and line.story.name == asked.name]
    if row.spans("relevant") != [(line.start, line.end) for line in own]:
        yield "the needle is not the story of the asked person"
    if count_words(asked.name, row.text) != len(own) + 1:
        yield f"{asked.name} is named outside of one story"
    if f"\nQuestion: {row.question}\n" not in row.text or row.key.choices != asked.choices:
        yield "the prompt does not end in the row's question and choices"
    yield from _filler_faults(lines, own, subtask)
    yield from _choice_faults(row, asked, own)
    yield from _namesake_faults(row, asked, lines)
    yield from _example_faults(row, lines)


def _filler_faults(lines: tuple[Line, ...], own: list[Line], subtask: str) -> Iterator[str]:
    if subtask == "letters" and sum(line.story is not None for line in lines) != len(own):
        yield "there is another story among the letters"
    if subtask == "stories" and not all(line.story for line in lines):
        yield "there are letters among the stories"
    names = [line.story.name for line in lines if line.story]
    if len(set(names)) != len(names):
        yield "two stories are about the same person"
    if len({line.text for line in lines}) != len(lines):
        yield "two lines are equal"


def _choice_faults(row: PublishedRow, asked: Query, own: list[Line]) -> Iterator[str]:
    """Check the choices against the story: it answers only if the row says so, and states as many as the row says."""
    *others, last = asked.choices
    if last != UNKNOWN or len(set(asked.choices)) != len(LETTERS):
        yield f"the choices are {asked.choices}"
    for line in own:
        if line.story is None:
            continue
        stated = line.story.stated
        if (asked.noun in stated) != (row.stratum.complexity == 1):
            yield f"the story states {stated}, which does not go with complexity {row.stratum.complexity}"
        if stated != row.metadata["latent"]["details"]:
            yield "the story states other details than the row says"
        near, place = line.story.near.get(asked.noun), row.metadata["latent"]["place"]
        if near != asked.choices[place]:
            yield f"the sentence about {asked.noun} states {near!r}, which is not choice {LETTERS[place]}"
        found = sum(choice in stated.values() for choice in others)
        if found != row.metadata["latent"]["stated"]:
            yield f"the story states {found} of the choices, not {row.metadata['latent']['stated']}"


def _namesake_faults(row: PublishedRow, asked: Query, lines: tuple[Line, ...]) -> Iterator[str]:
    """Check that there is a marked namesake of each kind, who has one of the wrong choices; none among letters."""
    found = [_with(lines, place, name, asked) for place, name in enumerate(asked.name.split(" "))]
    if row.stratum.subtask == "stories" and [len(each) for each in found] != [1, 1]:
        yield f"expected one namesake of each kind for {asked.name}, found {len(found[0])} and {len(found[1])}"
    both = sorted(found[0] + found[1], key=lambda line: line.start)
    marked = row.spans("decoy")
    if marked != [(line.start, line.end) for line in both]:
        yield "the decoys are not the stories of namesakes"
    known = {(line.story.plot, line.story.stated.get(asked.noun)) for line in both if line.story}
    place = row.metadata["latent"]["place"]
    if known and known != {(asked.plot, choice) for at, choice in enumerate(asked.choices[:-1]) if at != place}:
        yield f"the namesakes of {asked.name} are not told the other choices of {asked.noun}"


def _with(lines: tuple[Line, ...], place: int, name: str, asked: Query) -> list[Line]:
    """Return the stories of others with `name` as their first (0) or last (1) name."""
    others = [line for line in lines if line.story and line.story.name != asked.name]
    return [line for line in others if line.story and line.story.name.split(" ")[place] == name]


def _example_faults(row: PublishedRow, lines: tuple[Line, ...]) -> Iterator[str]:
    in_text = {line.story.name for line in lines if line.story}
    for shown in (row.text[start:end] for start, end in row.spans("demo")):
        story = read_story(shown.partition(": ")[2].partition("\n")[0])
        (asked,) = read_blocks(shown)
        if answer(asked, [story]) != asked.reply:
            yield f"the demonstration about {asked.name} is wrong"
        if asked.name in in_text:
            yield f"the demonstration about {asked.name} is about somebody in the text"
