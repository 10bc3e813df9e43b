"""Reads linked biographies and checks them, from the published row alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.bio.base import alike, kind_faults
from pipeline.tasks.bio.haystack import density
from pipeline.tasks.bio.solve import (
    ATTRIBUTES,
    Entry,
    Question,
    mark_faults,
    parse_biographies,
    parse_question,
    people_faults,
    question_faults,
    share_faults,
    whole_faults,
)
from pipeline.tasks.solving import PROMPT, ReadError

Table = Mapping[str, Sequence[Entry]]
Chain = list[Entry]


def table_of(entries: Iterable[Entry]) -> Table:
    """Return biographies by full name."""
    table: dict[str, list[Entry]] = {}
    for entry in entries:
        table.setdefault(entry.name, []).append(entry)
    return table


@PROMPT.cached
def table_in(text: str) -> Table:
    """Return the biographies of a prompt by full name."""
    return table_of(parse_biographies(text))


def follow(table: Table, name: str, attribute: str) -> tuple[Chain, str]:
    """Return the biographies that lead from a person to the value of an attribute, and the value."""
    chain: Chain = []
    while True:
        found = table.get(name, [])
        if len(found) != 1:
            raise ReadError(f"{name} has {len(found)} biographies")
        if found[0] in chain:
            raise ReadError(f"the links from {chain[0].name} go in a circle")
        chain.append(found[0])
        if attribute in found[0].stated:
            return chain, found[0].stated[attribute]
        if attribute not in found[0].linked:
            raise ReadError(f"the biography of {name} does not tell the {attribute}")
        name = found[0].linked[attribute]


def faults(row: PublishedRow, decoys: int, count: int) -> Iterator[str]:
    """Yield what is wrong with a row that promises `decoys` decoy chains, `count` of them of namesakes."""
    entries, (*shown, asked) = parse_biographies(row.text), parse_question(row.text)
    table, ((attribute, name),) = table_in(row.text), asked.about
    yield from people_faults(entries)
    yield from question_faults(row)
    chain, value = follow(table, name, attribute)
    if value != row.key.target:
        yield f"the prompt states {value!r}, the key {row.key.target!r}"
    yield from _chain_faults(row, chain, "the asked chain")
    yield from mark_faults(row, "relevant", chain, "the asked chain")
    demos = [follow(table, query.about[0][1], query.about[0][0])[0] for query in shown]
    yield from mark_faults(row, "demo", [demo[0] for demo in demos], "demonstrations, each its first person,")
    yield from _example_faults(row, table, shown, attribute)
    yield from _decoy_faults(row, entries, [chain, *demos], decoys, attribute)
    yield from _alike_faults(row, entries, chain, attribute, count)
    marked = {needle.char_start for needle in row.needles} | {entry.start for demo in demos for entry in demo}
    yield from _other_faults(row, [entry for entry in entries if entry.start not in marked], attribute)
    yield from whole_faults(entries, ATTRIBUTES, attribute if density(row.stratum) < 1 else "")


def _chain_faults(row: PublishedRow, chain: Chain, which: str) -> Iterator[str]:
    if len(chain) != row.stratum.complexity:
        yield f"expected {row.stratum.complexity} biographies in {which}, found {len(chain)}"
    ordered = row.stratum.knob("order", "later") == "later"
    if ordered and any(after.start < before.start for before, after in pairwise(chain)):
        yield f"{which} refers back to an earlier biography"


def _example_faults(row: PublishedRow, table: Table, shown: Sequence[Question], attribute: str) -> Iterator[str]:
    for query in shown:
        ((kind, name),) = query.about
        chain, value = follow(table, name, kind)
        steps = query.reasoning
        if query.final != value or any(entry.name not in steps for entry in chain) or value not in steps:
            yield f"the demonstration about {name} is wrong"
        if kind != attribute:
            yield f"the demonstration about {name} asks for something else"
        yield from _chain_faults(row, chain, f"the demonstration about {name}")


def _decoy_faults(
    row: PublishedRow, entries: Sequence[Entry], kept: Sequence[Chain], count: int, asked: str
) -> Iterator[str]:
    """Check the number and length of decoy chains, and that they meet none of the `kept` chains."""
    table, starts = table_in(row.text), {needle.char_start for needle in row.needles if needle.role == "decoy"}
    named = {name for entry in entries if entry.linked for name in entry.linked.values()}
    heads = [entry for entry in entries if entry.start in starts and entry.name not in named]
    chains = {
        (head.name, attribute): follow(table, head.name, attribute)[0] for head in heads for attribute in head.linked
    }
    chained = [entry for chain in chains.values() for entry in chain]
    yield from mark_faults(row, "decoy", chained, "decoys, whole chains,")
    if len(chains) != count:
        yield f"expected {count} decoy chains, found {len(chains)}"
    if count and not any(attribute == asked for _, attribute in chains):
        yield f"no decoy chain is about the {asked}"
    for (name, _), chain in chains.items():
        yield from _chain_faults(row, chain, f"the decoy chain from {name}")
    every = [entry.start for entry in [*chained, *(entry for chain in kept for entry in chain)]]
    if len(set(every)) != len(every):
        yield "two chains meet"
    if any(len(entry.linked) > 1 for entry in entries):
        yield "a biography names two persons"


def _alike_faults(row: PublishedRow, entries: Sequence[Entry], chain: Chain, asked: str, count: int) -> Iterator[str]:
    """Check that each person in the chain has `count` namesakes, all decoys, and the first one's lead elsewhere."""
    table, decoys = table_in(row.text), set(row.spans("decoy"))
    for entry in chain:
        found = alike(entries, entry.name)
        yield from kind_faults(entry.name, [kind for kind, _ in found], count)
        if any((other.start, other.end) not in decoys for _, other in found):
            yield f"a namesake of {entry.name} is in no decoy chain"
    if any(follow(table, other.name, asked)[1] == row.key.target for _, other in alike(entries, chain[0].name)):
        yield f"a namesake of {chain[0].name} leads to {row.key.target!r} too"


def _other_faults(row: PublishedRow, others: Sequence[Entry], asked: str) -> Iterator[str]:
    yield from share_faults(row.stratum, (asked in entry.stated for entry in others))
    if any(entry.linked for entry in others):
        yield "a filler biography names another person"
