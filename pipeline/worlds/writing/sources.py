"""The grammar files, parsed once in a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from pipeline.worlds.words import pool_digest, pool_text, pools_in
from pipeline.worlds.writing.grammar import Grammar, parse_grammar
from pipeline.worlds.writing.realise import BUILT_IN, NAMED, base_name
from pipeline.worlds.writing.variants import varied

NAMES = ("last", "writing/people", "writing/streets", "writing/towns", "writing/pairings", "writing/variants")


@cache
def formats() -> Mapping[str, Grammar]:
    """Return the grammars by the format's name in requests, in file order.

    Raises:
        ValueError: naming the file, the line and what is wrong with it.
    """
    return _by_name("writing/formats")


@cache
def tones() -> Mapping[str, Grammar]:
    """Return the rules of each tone, by its name in requests, in file order."""
    return _by_name("writing/tones")


@cache
def common() -> Grammar:
    """Return the rules that all formats share."""
    return parse_grammar(pool_text("writing/common"), "common.txt")


def _by_name(folder: str) -> Mapping[str, Grammar]:
    parsed = (parse_grammar(pool_text(name), f"{name}.txt") for name in pools_in(folder))
    return {grammar.name: varied(grammar) for grammar in parsed}


@cache
def source_digest() -> str:
    """Return the digest of all files that texts are written from."""
    folders = ("writing/formats", "writing/tones", "writing/topics")
    return pool_digest(
        *NAMES, "writing/common", "writing/pairings", *(name for folder in folders for name in pools_in(folder))
    )


def unknown_references(grammar: Grammar) -> Iterator[str]:
    """Yield each rule and reference of a grammar that leads nowhere."""
    tone = next(iter(tones().values()))
    known = {*grammar.rules, *common().rules, *tone.rules, *BUILT_IN, *(ref.bind for _, ref in grammar.references())}
    for rule, reference in grammar.references():
        if reference.name not in known and base_name(reference.name) not in NAMED:
            yield f"{rule}: {{{reference.name}}}"
