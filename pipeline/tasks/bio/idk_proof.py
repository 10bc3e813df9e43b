"""Answers prompts of `idk`, and proves of a published row that it is what it says, from its text alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf, log

from pipeline.tasks.base import Published
from pipeline.tasks.bio import proof
from pipeline.tasks.bio.haystack import density
from pipeline.tasks.bio.reader import ATTRIBUTES, Asked, Entry, read_asked, read_biographies
from pipeline.tasks.bio.text import accepted

SHORT = 0.5
"""Share of people with a gap: that of rows whose asked person has one."""
BY_CHANCE = 1e9
"""A share that is off by chance in fewer than one of so many prompts is off by fault."""
REFUSALS = (
    "Not stated",
    "The biography does not state it",
    "It is not mentioned",
    "Not specified",
    "Unknown",
    "I don't know",
)
"""Accepted wordings of a refusal, the one that the prompt asks for first."""


def answers(asked: Asked, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return every accepted answer to a question, or the accepted refusals.

    Raises:
        ValueError: if the person is not there just once.
    """
    ((attribute, name),) = asked.about
    stated = proof.only(entries, name).stated.get(attribute)
    return REFUSALS if stated is None else accepted(stated, attribute)


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    entries, questions = read_biographies(row.text), read_asked(row.text)
    yield from proof.faults(row, entries, answers)
    ((asked, name),) = questions[-1].about
    gap = set() if row.stratum.complexity else {asked}
    if set(ATTRIBUTES) - proof.only(entries, name).stated.keys() != gap:
        yield f"the biography of {name} does not lack just {sorted(gap)}"
    reserved, apart = {name for each in questions for name in each.names}, set(proof.spans(row, "decoy"))
    others = [entry for entry in entries if entry.name not in reserved and (entry.start, entry.end) not in apart]
    yield from _gap_faults(row, asked, others)


def _gap_faults(row: Published, asked: str, others: Sequence[Entry]) -> Iterator[str]:
    """Hold the gaps of other people to their shares: any gap, and one where the question asks."""
    if any(len(entry.stated) < len(ATTRIBUTES) - 1 for entry in others):
        yield "a biography lacks more than one sentence"
    share = density(row.stratum)
    lacking = Counter(name for entry in others for name in ATTRIBUTES if name not in entry.stated)
    full = share * (1 - SHORT)
    stating = share * (1 - SHORT / len(ATTRIBUTES))
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
