"""What must hold of linked biographies: judged from the published row alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from pipeline.tasks.base import Published
from pipeline.tasks.bio.haystack import share_faults
from pipeline.tasks.bio.hops_reader import FINAL, Entry, Query, follow, read_queries, read_table

Table = Mapping[str, list[Entry]]


def faults(row: Published, decoys: int) -> Iterator[str]:
    """Yield what is wrong with a row that promises so many decoy chains.

    Raises:
        ValueError: if the prompt cannot be read, or what is asked has no answer.
    """
    table, (*shown, asked) = read_table(row.text), read_queries(row.text)
    yield from _people_faults(table)
    if not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
        yield f"the prompt does not end in the question {row.question!r}"
    chain, value = follow(table, asked.name, asked.attribute)
    if value != row.key.target:
        yield f"the prompt states {value!r}, the key {row.key.target!r}"
    yield from _chain_faults(row, chain, "the asked chain")
    yield from _mark_faults(row, "relevant", chain, "the needles are not the asked chain")
    demos = [follow(table, query.name, query.attribute)[0] for query in shown]
    firsts = [demo[0] for demo in demos]
    yield from _mark_faults(row, "demo", firsts, "a demonstration is not marked at its first person")
    yield from _example_faults(row, table, shown, asked)
    yield from _decoy_faults(row, table, [chain, *demos], decoys, asked.attribute)
    marked = {needle.char_start for needle in row.needles} | {entry.start for demo in demos for entry in demo}
    others = [entry.told for entries in table.values() for entry in entries if entry.start not in marked]
    yield from share_faults(row.stratum, (asked.attribute in told.stated for told in others))
    if any(told.linked for told in others):
        yield "a filler biography names another person"


def _people_faults(table: Table) -> Iterator[str]:
    if any(len(entries) > 1 for entries in table.values()):
        yield "two biographies have the same full name"
    pairs = [(first, last) for first, _, last in (name.split(" ") for name in table)]
    if len(set(pairs)) != len(pairs):
        yield "two biographies have the same first and last name"


def _chain_faults(row: Published, chain: list[Entry], which: str) -> Iterator[str]:
    if len(chain) != row.stratum.complexity:
        yield f"{which} has {len(chain)} biographies in place of {row.stratum.complexity}"
    ordered = row.stratum.knob("order", "later") == "later"
    if ordered and any(after.start < before.start for before, after in pairwise(chain)):
        yield f"{which} refers back to an earlier biography"


def _mark_faults(row: Published, role: str, entries: list[Entry], said: str) -> Iterator[str]:
    marked = [(needle.char_start, needle.char_end) for needle in row.needles if needle.role == role]
    if marked != sorted((entry.start, entry.end) for entry in entries):
        yield said


def _example_faults(row: Published, table: Table, shown: list[Query], asked: Query) -> Iterator[str]:
    for query in shown:
        chain, value = follow(table, query.name, query.attribute)
        steps, _, final = query.reply.partition(FINAL)
        told = [entry.told.name for entry in chain]
        if final != value or any(name not in steps for name in told) or value not in steps:
            yield f"the demonstration about {query.name} is wrong"
        if query.attribute != asked.attribute:
            yield f"the demonstration about {query.name} asks for something else"
        yield from _chain_faults(row, chain, f"the demonstration about {query.name}")


def _decoy_faults(row: Published, table: Table, kept: list[list[Entry]], count: int, asked: str) -> Iterator[str]:
    """Hold the decoys to their number and length, and away from the chains that are kept apart."""
    entries = {entry.start: entry for found in table.values() for entry in found}
    marked = [entries[n.char_start] for n in row.needles if n.role == "decoy" and n.char_start in entries]
    named = {name for entry in entries.values() for name in entry.told.linked.values()}
    chains = {}
    for head in [entry for entry in marked if entry.told.name not in named]:
        for attribute in head.told.linked:
            chains[head.told.name, attribute] = follow(table, head.told.name, attribute)[0]
    told = [entry.start for chain in chains.values() for entry in chain]
    yield from _mark_faults(row, "decoy", [entries[start] for start in told], "the decoys are not whole chains")
    if len(chains) != count:
        yield f"{len(chains)} decoy chains in place of {count}"
    if count and not any(attribute == asked for _, attribute in chains):
        yield f"no decoy chain is about the {asked}"
    for (name, _), chain in chains.items():
        yield from _chain_faults(row, chain, f"the decoy chain from {name}")
    every = told + [entry.start for chain in kept for entry in chain]
    if len(set(every)) != len(every):
        yield "two chains meet"
    if any(len(entry.told.linked) > 1 for entry in entries.values()):
        yield "a biography names two persons"
