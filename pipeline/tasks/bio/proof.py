"""What must hold of a prompt that asks for stated attributes: judged from the published row alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.bio.haystack import density, share_faults
from pipeline.tasks.bio.reader import FIXED_WORDS, Entry, read_lists, read_questions


def looked_up(entries: Sequence[Entry], name: str, attribute: str) -> str:
    """Return what the one biography of a person states.

    Raises:
        ValueError: if there are no such biography or two, or it does not state the attribute.
    """
    found = [entry for entry in entries if entry.name == name]
    if len(found) != 1:
        raise ValueError(f"{name} has {len(found)} biographies")
    if attribute not in found[0].stated:
        raise ValueError(f"the biography of {name} states no {attribute}")
    return found[0].stated[attribute]


def faults(row: Published, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield what is wrong with a row that asks for one attribute of one person."""
    *shown, (attribute, name, _) = read_questions(row.text)
    own = [entry for entry in entries if entry.name == name]
    if not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
        yield f"the prompt does not end in the question {row.question!r}"
    if spans(row, "relevant") != [(entry.start, entry.end) for entry in own]:
        yield "the needle is not the paragraph of the asked person"
    if [entry.stated.get(attribute) for entry in own] != [row.key.target]:
        yield f"the prompt states {[entry.stated.get(attribute) for entry in own]}, the key {row.key.target!r}"
    yield from people_faults(entries, [name])
    yield from example_faults(row, entries, shown)
    yield from whole_faults(row, entries)
    named = {name, *(other for _, other, _ in shown)}
    yield from share_faults(row.stratum, (attribute in entry.stated for entry in entries if entry.name not in named))


def whole_faults(row: Published, entries: Sequence[Entry]) -> Iterator[str]:
    """Hold biographies to all six attributes, or, where some lack the asked one, to five at least."""
    least = len(FIXED_WORDS) - (density(row.stratum) < 1)
    short = [entry.name for entry in entries if len(entry.stated) < least]
    if short:
        yield f"{len(short)} biographies state fewer than {least} attributes, that of {short[0]} first"


def spans(row: Published, role: str) -> list[tuple[int, int]]:
    """Return the characters that the needles of a role span."""
    return [(needle.char_start, needle.char_end) for needle in row.needles if needle.role == role]


def people_faults(entries: Sequence[Entry], asked: Sequence[str]) -> Iterator[str]:
    """Hold people to be distinct, and the first and last name of each who is asked about to stand once."""
    if len({entry.name for entry in entries}) != len(entries):
        yield "two biographies have the same full name"
    pairs = Counter((entry.name.split(" ")[0], entry.name.split(" ")[-1]) for entry in entries)
    for name in asked:
        if pairs[name.split(" ")[0], name.split(" ")[-1]] != 1:
            yield f"first and last name of {name} stand twice"


def example_faults(row: Published, entries: Sequence[Entry], shown: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Hold demonstrations to the text: each reply is right, and the marked biographies are theirs."""
    table = {entry.name: entry for entry in entries}
    for attribute, name, reply in shown:
        if name not in table or table[name].stated.get(attribute) != reply:
            yield f"the demonstration about {name} is wrong"
    yield from mark_faults(row, table, [name for _, name, _ in shown])


def mark_faults(row: Published, table: Mapping[str, Entry], firsts: Sequence[str]) -> Iterator[str]:
    """Hold the marks of demonstrations to the biographies of those whom they ask about first."""
    wanted = sorted((table[name].start, table[name].end) for name in firsts if name in table)
    if sorted(spans(row, "demo")) != wanted:
        yield "the marks of demonstrations are not on the biographies that they ask about"


def list_faults(row: Published, entries: Sequence[Entry], part: str) -> Iterator[str]:
    """Yield what is wrong with a row that asks for several attributes, each of another person."""
    *shown, (asked, _) = read_lists(row.text)
    table, names = {entry.name: entry for entry in entries}, [name for _, name in asked]
    yield from whole_faults(row, entries)
    own = [entry for entry in entries if entry.name in names]
    if not row.text.endswith(f"\nQuestions:\n{row.question}\nAnswers:"):
        yield f"the prompt does not end in the questions {row.question[:80]!r}"
    if len(set(names)) != row.stratum.complexity or len(asked) != len(set(names)):
        yield f"{len(asked)} questions about {len(set(names))} people in place of {row.stratum.complexity}"
    if spans(row, "relevant") != [(entry.start, entry.end) for entry in own]:
        yield "the needles are not the paragraphs of the people asked about"
    if (said := _replies(table, asked, part)) != row.key.target:
        yield f"the prompt states {said!r}, the key {row.key.target!r}"
    yield from people_faults(entries, names)
    for questions, reply in shown:
        if _replies(table, questions, part) != reply:
            yield f"the demonstration about {questions[0][1]} is wrong"
    yield from mark_faults(row, table, [questions[0][1] for questions, _ in shown])
    named = {*names, *(name for questions, _ in shown for _, name in questions)}
    stating = (asked[0][0] in entry.stated for entry in entries if entry.name not in named)
    yield from share_faults(row.stratum, stating)


def _replies(table: Mapping[str, Entry], asked: Sequence[tuple[str, str]], part: str) -> str | None:
    """Return what the biographies state, joined; nothing where one is wanting or does not state it."""
    found = [table[name].stated.get(kind) if name in table else None for kind, name in asked]
    return part.join(value for value in found if value) if all(found) else None
