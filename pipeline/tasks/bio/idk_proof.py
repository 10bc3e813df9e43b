"""Reads a prompt of `idk`, and proves of a published row that it is what it says, from its text alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf, log

from pipeline.tasks.base import Published
from pipeline.tasks.bio.citation_proof import mark_faults, people_faults
from pipeline.tasks.bio.citation_reader import Query, read_asked
from pipeline.tasks.bio.haystack import density
from pipeline.tasks.bio.partial import REFUSALS, SHORT
from pipeline.tasks.bio.reader import FIXED_WORDS, Entry, read_biographies
from pipeline.tasks.bio.text import accepted

BY_CHANCE = 1e9
"""A share that is off by chance in fewer than one of so many prompts is off by fault."""
NAMES = tuple(attribute for attribute, _, _ in FIXED_WORDS)


def answers(query: Query, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return every accepted answer to a question, or the accepted refusals.

    Raises:
        ValueError: if the person is not there just once.
    """
    (attribute,), (name,) = query.attributes, query.names
    found = [entry.stated.get(attribute) for entry in entries if entry.name == name]
    if len(found) != 1:
        raise ValueError(f"{name} has {len(found)} biographies")
    return REFUSALS if found[0] is None else accepted(found[0], attribute)


def solve(text: str) -> tuple[str, ...]:
    """Return the accepted answers to a prompt's last question.

    Raises:
        ValueError: if the text cannot be read.
    """
    return answers(read_asked(text)[-1], read_biographies(text))


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    entries, (*shown, asked) = read_biographies(row.text), read_asked(row.text)
    if not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
        yield f"the prompt does not end in the question {row.question!r}"
    stated = answers(asked, entries)
    if row.key.target != stated[0] or row.key.answers != stated:
        yield f"the prompt states {stated[0]!r}, the key {row.key.target!r}"
    yield from mark_faults(row, asked.names, shown, entries)
    yield from people_faults(entries)
    table = {entry.name: entry for entry in entries}
    gap = () if row.stratum.complexity else asked.attributes
    if set(NAMES) - set(table[asked.names[0]].stated) != set(gap):
        yield f"the biography of {asked.names[0]} does not lack just {gap}"
    for query in shown:
        if query.reply != answers(query, entries)[0]:
            yield f"the demonstration about {query.names[0]} is wrong"
    reserved = {name for query in (*shown, asked) for name in query.names}
    yield from _gap_faults(row, asked.attributes[0], [entry for entry in entries if entry.name not in reserved])


def _gap_faults(row: Published, asked: str, others: Sequence[Entry]) -> Iterator[str]:
    """Hold the gaps of other people to their shares: any gap, and one where the question asks."""
    if any(len(entry.stated) < len(NAMES) - 1 for entry in others):
        yield "a biography lacks more than one sentence"
    share = density(row.stratum)
    lacking = Counter(name for entry in others for name in NAMES if name not in entry.stated)
    full = share * (1 - SHORT)
    stating = share * (1 - SHORT / len(NAMES))
    yield from _off(len(others) - lacking.total(), len(others), full, "are without a gap")
    yield from _off(len(others) - lacking[asked], len(others), stating, "state what is asked")


def _off(found: int, count: int, share: float, what: str) -> Iterator[str]:
    """Hold a share to what each person is drawn for alone: no seed may fail by chance, whatever its number of rows."""
    if count * _divergence(found / max(count, 1), share) > log(BY_CHANCE):
        yield f"{found} of {count} other people {what}: a share of {share:.3f} was promised"


def _divergence(found: float, share: float) -> float:
    """Return the divergence of two shares in nats: `count` times it bounds -log of the chance to find so many."""
    pairs = ((found, share), (1 - found, 1 - share))
    return sum(mine * log(mine / theirs) if theirs else inf for mine, theirs in pairs if mine)
