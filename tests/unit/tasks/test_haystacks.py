"""Haystacks close every budget in every profile, repeat nothing, begin anywhere, and are told from all else."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builds import SWEPT
from pipeline.assemble.cutter import CountedPool, cutter_for
from pipeline.errors import ExactError
from pipeline.profiles import base_profiles, load_profile
from pipeline.recipe import Stratum
from pipeline.rows import Row
from pipeline.streams import Streams
from pipeline.tasks.base import Filler, Key, Layout, Piece, Placed, PoolSpec, PublishedRow, Sample, Task, Turns, unit
from pipeline.tasks.haystacks.filler import (
    SENTENCES,
    addresses,
    addresses_spec,
    essays_spec,
    lines,
    noise,
    noise_spec,
    prose,
)
from pipeline.tasks.haystacks.solve import HAYSTACKS, foreign_spans
from pipeline.worlds import addresses as world
from shared_pools import pool_of

SEED = 14
HEAD, TAIL = "Find the number in the text below.\n", "Which number is it?"
NEEDLE = "The number of the locker is 3141592.\n"
LENGTHS = [2048, 4096, 8192, 16384, 32768]
KINDS = ["noise", "essay", "essay shuffled", "addresses", "addresses shuffled"]


class Found(Task):
    """A task of one needle at any depth."""

    family, subtask, title, scorer, max_new_tokens = "any", "found", "a number", "exact", 128

    def __init__(self, kind: str) -> None:
        self.kind, _, self.order = kind.partition(" ")

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return ({"noise": noise_spec, "essay": essays_spec, "addresses": addresses_spec}[self.kind](stratum),)

    def filler(self, stratum: Stratum, own: Streams) -> Filler:
        if self.kind == "noise":
            return noise(own, stratum)
        return {"essay": prose, "addresses": addresses}[self.kind](own, stratum, shuffled=bool(self.order))

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        return Sample("id", stratum, index, {}, (NEEDLE,), TAIL, Key("3141592", ("3141592",)))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        placed = (Placed(unit(NEEDLE, "relevant"), own.of("depth").random()),)
        filler = self.filler(sample.stratum, own)
        return Layout((Piece(HEAD, "instruction"),), placed, filler, (Piece(TAIL, "question"),))

    def solve(self, turns: Turns) -> tuple[str, ...]:
        return tuple(re.findall(r"\d{7}", turns[-1][1]))

    def check(self, row: PublishedRow) -> list[str]:
        return []


def tier_of(length: int) -> str:
    return "32k" if length <= 32768 else "128k" if length <= 131072 else "1m"


def streams(index: int, length: int) -> Streams:
    return Streams((SEED, "any.found@1", tier_of(length), length, index))


@cache
def counted_pool(kind: str, tier: str, profile: str) -> CountedPool:
    """Return the pool of a kind, in whichever order it is used, with its counts."""
    (spec,) = Found(kind).pools(Stratum("any", "found", tier, 2048, 1, 1))
    pool = pool_of(SEED, spec)
    counted = cutter_for(load_profile(profile), "chat").unit_tokens(list(pool))
    return CountedPool(pool, counted)


def cut(kind: str, length: int, index: int, profile: str) -> Row:
    """Cut a row; the cutter itself encodes it once, and fails if one token is missing."""
    task, cell, own = Found(kind), Stratum("any", "found", tier_of(length), length, 1, 100), streams(index, length)
    sample = task.sample(cell, index, own, own)
    counted = counted_pool(task.kind, cell.tier, profile)
    return cutter_for(load_profile(profile), "chat").cut(
        task, sample, task.layout(sample, own, own), counted, own.of("packing"), None
    )


def body(row: Row) -> list[str]:
    text: str = row["prompt"]
    return text.removeprefix(HEAD).removesuffix(TAIL).splitlines()


def is_sound(row: Row, kind: str) -> bool:
    """Prove a row again: it fills its window, has the needle once, and all else is hay, none of it twice."""
    text: str = row["prompt"]
    start, stop = len(HEAD), len(text) - len(TAIL)
    spans = foreign_spans(text, start, stop, kind.split()[0])
    hay = [line for line in body(row) if line + "\n" != NEEDLE]
    assert [text[first:last] for first, last in spans] == [NEEDLE]
    assert row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"] == row["context_tokens"]
    assert kind == "noise" or len({*hay}) == len(hay)
    return True


def test_a_prompt_that_encodes_to_another_number_of_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    counted_pool(KINDS[0], "32k", "o200k")
    cutter = cutter_for(load_profile("o200k"), "chat")
    counter = cutter._counter
    off_by_one = SimpleNamespace(count=lambda text: counter.count(text) + (len(text) > 100), counts=counter.counts)
    monkeypatch.setattr(cutter, "_counter", off_by_one)
    with pytest.raises(ExactError, match=r"planned but \d+ counted"):
        cut(KINDS[0], 2048, 0, "o200k")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "profile", [*SWEPT[::2], *(pytest.param(name, marks=pytest.mark.slow) for name in SWEPT[1::2])]
)
def test_every_budget_closes_in_every_profile(kind: str, profile: str) -> None:
    for length in LENGTHS:
        assert is_sound(cut(kind, length, 0, profile), kind)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(KINDS), st.sampled_from(LENGTHS[:3]), st.integers(0, 10**6))
def test_any_row_is_exact(kind: str, length: int, index: int) -> None:
    assert is_sound(cut(kind, length, index, "o200k"), kind)


def test_a_row_of_a_million_tokens_is_exact() -> None:
    assert is_sound(cut("addresses", 1048576, 0, "o200k"), "addresses")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("profile", base_profiles())
def test_every_long_budget_closes_in_every_profile(kind: str, profile: str) -> None:
    for length in (65536, 131072, 1048576):
        assert is_sound(cut(kind, length, 1, profile), kind)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_prompts_begin_with_other_paragraphs(kind: str) -> None:
    """Of 700 essays of a tier two prompts in 200 may begin with the same one; addresses begin at any paragraph."""
    tasks, cell = Found(kind), Stratum("any", "found", "128k", 131072, 1, 100)
    first = Counter(int(tasks.filler(cell, streams(index, 131072)).order.take(1)[0]) for index in range(200))
    assert len(first) > (150 if kind == "essay" else 180)
    assert max(first.values()) <= 5


def test_addresses_are_whole_and_in_order_but_for_the_first() -> None:
    cell = Stratum("any", "found", "1m", 1048576, 1, 100)
    every = {one.start: len(one.sizes) for one in world.addresses()}
    last = {start + count - 1 for start, count in every.items()}
    inside = 0
    for index in range(30):
        filler = addresses(streams(index, 1048576), cell)
        taken = filler.order.take(10**6).tolist()
        assert len({*taken, *filler.spares.tolist()}) == len(taken) + len(filler.spares)
        assert all(two == one + 1 or (one in last and two in every) for one, two in pairwise(taken))
        assert (filler.order.take(9000) == taken[:9000]).all()
        inside += taken[0] not in every
        assert filler.joints is not None
        assert {*filler.joints.nonzero()[0].tolist()} == {*every}
    assert inside > 20


def test_shuffled_addresses_are_the_same_paragraphs_in_no_order() -> None:
    cell, own = Stratum("any", "found", "128k", 131072, 1, 100), streams(0, 131072)
    filler = addresses(own, cell, shuffled=True)
    taken = filler.order.take(10**6)
    assert {*taken.tolist(), *filler.spares.tolist()} == {*range(len(world.paragraphs()))}
    assert abs(float((taken[1:] == taken[:-1] + 1).mean())) < 0.01
    assert filler.spares.tolist() == addresses(own, cell).spares.tolist()


def test_nothing_in_the_addresses_looks_like_a_needle() -> None:
    every = world.paragraphs()
    assert len({*every}) == len(every) == sum(len(one.sizes) for one in world.addresses())
    sizes = [len(line) + 4 * sum(map(str.isdigit, line)) for line in every]
    assert sizes == [size for one in world.addresses() for size in one.sizes]
    assert len(world.addresses()) == 233
    for line in every:
        assert line.isascii()
        assert line.isprintable()
        assert line == line.strip()
        assert "  " not in line
        assert line[0] in "\"'([" or line[0].isupper() or line[0].isdigit()
        assert line[-1] in ".?!\"')]"
        assert len(line.split()) >= 8
        assert not re.search(r"\d{6,}|[0-9a-f]{8}-|\bVAR\b|applause\)|laughter\]", line)


def test_noise_is_one_paragraph_over_and_over() -> None:
    rows = Counter(body(cut("noise", 32768, 0, "o200k")))
    whole = lines()[0]
    assert whole == " ".join(SENTENCES)
    assert rows[whole] > 700
    assert sum(rows.values()) - rows[whole] - 1 <= 12
    assert not any(map(str.isdigit, whole))


@pytest.mark.parametrize(("kind", "line"), [
    ("noise", "The kettle is on. Nobody is in a hurry.\n"),
    ("noise", "The kettle is on. \n"),
    ("noise", NEEDLE),
    ("essay", NEEDLE),
    ("addresses", NEEDLE),
    ("addresses", "1790 George Washington\n"),
    ("addresses", "\n"),
])  # fmt: skip
def test_the_readers_know_what_is_no_hay(kind: str, line: str) -> None:
    assert not HAYSTACKS[kind](line)
    assert foreign_spans(HEAD + line, len(HEAD), len(HEAD + line), kind) == [(len(HEAD), len(HEAD + line))]


def test_one_letter_more_is_no_address() -> None:
    some = Random(1).sample(world.paragraphs(), 200)
    for line in some:
        assert HAYSTACKS["addresses"](line + "\n")
        assert not HAYSTACKS["addresses"](line + ".\n")
        assert not HAYSTACKS["addresses"](line)
