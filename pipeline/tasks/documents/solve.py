"""Reads passages of the gazetteer from a prompt's text alone.

The form of sentences is not proven independently: `pipeline.worlds.wording` compiles their patterns from the writer's
own wordings. What follows from the sentences is worked out by separate code in this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.caches import cache
from pipeline.tasks.solving import LINES, PROMPT, ReadError, whole_lines
from pipeline.worlds.gazetteer.things import Form, forms, words_of
from pipeline.worlds.wording import any_of, core, parse, pattern

DOCUMENTS, END = "\nDocuments:\n", "\nThis is the end of the documents."
LINE = re.compile(r"Document(?: \[(?P<id>[1-9]\d{4})\])?(?: \(title: (?P<title>[^()]+)\)|:) (?P<text>.+)")
SENTENCE = re.compile(r"(?<=\.) ")
NAME = r"[A-Z]\w+(?: [A-Z]\w+)?"
"""A surname, or a first name with one."""
WHO = {
    "surname": {"It": rf"(?:She|He|{NAME})", "it": rf"(?:she|he|{NAME})", "him": rf"(?:her|him|{NAME})",
                "Its": rf"(?:Her|His|{NAME}'s)", "its": rf"(?:her|his|{NAME}'s)"},
}  # fmt: skip
"""How later sentences refer to a person whom the first one names."""


@dataclass(slots=True, eq=False)
class Entry:
    """A document as read: its span, form, subject, facts and text, and its id, if any."""

    start: int
    end: int
    form: Form
    name: str
    facts: Mapping[str, str]
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Wording:
    """A sentence as a pattern, with the relation it states and the type of its values, both "" for a mere detail."""

    pattern: re.Pattern[str]
    relation: str
    kind: str


def plain(name: str) -> str:
    """Return a name without its article, for comparison: titles have none, and sentences capitalize it."""
    return name[4:] if name[:4] in ("the ", "The ") else name


@PROMPT.cached
def read(text: str) -> Sequence[Entry]:
    """Return every document of a prompt, in order."""
    start = text.find(DOCUMENTS) + len(DOCUMENTS)
    end = text.rfind(END) + 1
    if start < len(DOCUMENTS) or end <= start:
        raise ReadError("the prompt has no documents")
    return tuple(entries(text[start:end], start))


def entries(body: str, start: int = 0) -> Iterator[Entry]:
    """Yield the documents in some lines, which begin at `start` in the prompt."""
    lines = body.splitlines(keepends=True)
    for line, (form, name, facts, number) in zip(lines, _taken_apart(lines), strict=True):
        stop = start + len(line)
        yield Entry(start, stop, form, name, facts, line, number)
        start = stop


@LINES.cached_map
def _taken_apart(line: str) -> tuple[Form, str, dict[str, str], str]:
    form, name, facts, number = take_apart(line.rstrip("\n"))
    return forms()[form], name, facts, number


def take_apart(line: str) -> tuple[str, str, dict[str, str], str]:
    """Return the form of a document, the name of its subject, its facts, and its id or ""."""
    found = LINE.fullmatch(line)
    if not found:
        raise ReadError(f"no document: {line[:80]!r}")
    first, *rest = SENTENCE.split(found["text"])
    form, relation, name, value = _lead(first)
    if found["title"] and plain(found["title"]) != plain(name):
        raise ReadError(f"a document about {name!r} has the title {found['title']!r}")
    facts = {relation: value}
    whole, wordings = _sentences(form)
    for sentence in rest:
        match = whole.fullmatch(sentence)
        if not match or match.lastgroup is None:
            raise ReadError(f"the document about {name!r} says what cannot be read: {sentence[:80]!r}")
        wording = wordings[int(match.lastgroup[1:])]
        if wording.relation:
            stated = wording.pattern.fullmatch(sentence)
            if wording.relation in facts or not stated:
                raise ReadError(f"the document about {name!r} states its {wording.relation} twice")
            facts[wording.relation] = _uncapitalised(stated["value"], wording.kind)
    return form, plain(name), {relation: plain(value) for relation, value in facts.items()}, found["id"] or ""


def _uncapitalised(value: str, kind: str) -> str:
    """Return a value without the capital that begins a sentence, if it is a word of its type's list."""
    small = value[0].lower() + value[1:]
    return small if small in words_of().get(kind, ()) else value


def _lead(sentence: str) -> tuple[str, str, str, str]:
    """Return form, relation, name and value of the first sentence of a document."""
    for form, relation, words, wording in _leads():
        if words in sentence and (found := wording.fullmatch(sentence)):
            return form, relation, found["name"], found["value"]
    raise ReadError(f"no document begins so: {sentence[:80]!r}")


@cache
def _leads() -> list[tuple[str, str, str, re.Pattern[str]]]:
    """Return form, relation, fixed words and pattern of every first sentence; a quick test looks for the words."""
    found = []
    for form in forms().values():
        for wording in form.relations[0].lines["-"]:
            found.append((form.name, form.relations[0].name, core(parse(wording)), re.compile(_pattern(wording, form))))
    return found


@cache
def _sentences(form: str) -> tuple[re.Pattern[str], list[Wording]]:
    """Return one pattern for all later sentences of a form, and their wordings in the order of its groups."""
    one = forms()[form]
    texts = [(text, relation.name, relation.type) for relation in one.relations[1:] for text in relation.lines["-"]]
    texts += [(text, "", "") for text in one.colour]
    patterns = [_pattern(text, one) for text, _, _ in texts]
    wordings = [Wording(re.compile(each), *which) for each, (_, *which) in zip(patterns, texts, strict=True)]
    return any_of(patterns), wordings


def _pattern(wording: str, form: Form) -> str:
    """Return a sentence's pattern; its slots take any words."""
    return pattern(parse(wording), lambda slot: _slot(slot.name, form), articles=True)


def _slot(slot: str, form: Form) -> str:
    if slot == "Name":
        return "(?P<name>.+)"
    if slot in ("It", "it", "him", "Its", "its"):
        if form.subject in WHO:
            return WHO[form.subject][slot]
        mark = "'s" if slot in ("Its", "its") else ""
        one = {"It": "It", "it": "it", "him": "it", "Its": "Its", "its": "its"}[slot]
        return f"(?:{one}|[Tt]he {form.noun}{mark})"
    if slot == "a_value":
        return "an? (?P<value>.+)"
    return "(?P<value>.+)" if slot.lower() == "value" else "(?:.+)"


ASKED = re.compile(r"\nQuestion: ([^\n]+)\nAnswer:\Z")
SHOWN = re.compile(
    r"^Example \d+, with documents of its own:\n((?:Document.+\n)+)Question: (.+)\nAnswer: (.+)\n", re.MULTILINE
)


def demonstrations(text: str) -> list[tuple[str, str, str]]:
    """Return the documents of each demonstration in a prompt, its question and its answer."""
    return [(found[1], found[2], found[3]) for found in whole_lines(SHOWN, "Example ", text)]


@PROMPT.cached
def question(text: str) -> str:
    """Return the question that a prompt ends in."""
    found = ASKED.search(text, max(0, text.rfind("\nQuestion: ")))
    if not found:
        raise ReadError("the prompt does not end in a question")
    return found[1]
