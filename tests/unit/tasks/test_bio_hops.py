from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from pipeline.metrics import score
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, PublishedRow, Sample, Task
from pipeline.tasks.bio import icl_solve
from pipeline.tasks.bio.icl import LABELS, SPARES_EACH, WORLDS, Icl, grouped, initial, world
from pipeline.tasks.bio.multihop import LINKS, Multihop, decoy_chains, linked_biography
from pipeline.tasks.bio.multihop_solve import follow, table_of
from pipeline.tasks.bio.solve import Entry, parse_biographies, parse_biography, parse_question
from pipeline.tasks.bio.text import QUESTIONS
from pipeline.worlds.people import ATTRIBUTES, people
from shared_pools import pool_of

MULTIHOP, ICL = Multihop(), Icl()
SEED = 5
TWO = Stratum("bio", "multihop", "32k", 4096, 2, 24)
FIVE = Stratum("bio", "multihop", "32k", 8192, 5, 24)
CASES = Stratum("bio", "icl", "32k", 4096, 1, 40)
MARKED = ("demo", "relevant", "decoy", "anchor")


def drawn(task: Task, cell: Stratum, index: int) -> tuple[Sample, Streams, Streams]:
    path = (SEED, f"bio.{task.subtask}@1", cell.tier, cell.length, cell.complexity)
    row, shared = Streams((*path, index)), Streams(path)
    return task.sample(cell, index, row, shared), row, shared


def published(task: Task, cell: Stratum, index: int, count: int = 20) -> PublishedRow:
    """Assemble a row from its layout and the first `count` units of its filler."""
    sample, row, shared = drawn(task, cell, index)
    layout = task.layout(sample, row, shared)
    spec = next(spec for spec in task.pools(cell) if spec.name == layout.filler.pool)
    pool = pool_of(SEED, spec)
    taken, ranks = layout.filler.order.take(count).tolist(), layout.filler.ranks
    taken = taken if ranks is None else sorted(taken, key=lambda at: int(ranks[at]))
    body = [((place + 0.5) / count, -1, one) for place, one in enumerate(pool.take(np.array(taken)))]
    body += [(item.depth, item.rank or 0, item.unit) for item in layout.placed]
    body.sort(key=lambda item: item[:2])
    pieces = [*layout.head, *(piece for _, _, each in body for piece in each.pieces), *layout.tail]
    needles, at = [], 0
    for piece in pieces:
        if piece.role in MARKED:
            needles.append(Needle(piece.role, at, at + len(piece.text), 0.5))
        at += len(piece.text)
    text = "".join(piece.text for piece in pieces)
    return PublishedRow(cell, (("user", text),), text, sample.question, tuple(needles), sample.key)


@cache
def rows(subtask: str, complexity: int = 1) -> list[PublishedRow]:
    """Several hundred rows of a stratum."""
    task, cell, count = {"multihop2": (MULTIHOP, TWO, 24), "multihop5": (MULTIHOP, FIVE, 50)}.get(
        f"{subtask}{complexity}", (ICL, CASES, 19)
    )
    wide = replace(cell, rows=240)
    return [published(task, wide, index, count) for index in range(wide.rows)]


def edited(row: PublishedRow, old: str, new: str) -> PublishedRow:
    """Replace words of a prompt, marks moving along."""
    assert row.text.count(old) == 1, old
    at, shift = row.text.index(old), len(new) - len(old)
    needles = tuple(
        replace(
            needle,
            char_start=needle.char_start + shift * (needle.char_start > at),
            char_end=needle.char_end + shift * (needle.char_end > at),
        )
        for needle in row.needles
    )
    text = row.text.replace(old, new)
    return replace(row, turns=(("user", text),), prompt=text, needles=needles)


def swapped(row: PublishedRow, one: Needle, other: Needle) -> PublishedRow:
    """Change the places of two paragraphs and their marks."""
    parts = [row.text[needle.char_start : needle.char_end] for needle in (one, other)]
    text = row.text
    assert one.char_end <= other.char_start
    text = text[: one.char_start] + parts[1] + text[one.char_end : other.char_start] + parts[0] + text[other.char_end :]
    return replace(row, turns=(("user", text),), prompt=text)


def needle(row: PublishedRow, role: str, number: int = 0) -> tuple[Needle, str]:
    found = [needle for needle in row.needles if needle.role == role][number]
    return found, row.text[found.char_start : found.char_end]


def without(row: PublishedRow, gone: Needle) -> PublishedRow:
    return edited(row, row.text[gone.char_start : gone.char_end], "")


def read(line: str) -> Entry:
    return Entry(0, 0, *parse_biography(line))


def bare(row: PublishedRow, role: str) -> PublishedRow:
    """Take all paragraphs of a role out of a prompt, and their marks."""
    for gone in reversed([needle for needle in row.needles if needle.role == role]):
        row = without(row, gone)
    return replace(row, needles=tuple(each for each in row.needles if each.role != role))


# multihop


@pytest.mark.parametrize("complexity", [2, 5])
def test_chains_are_solved_and_checked(complexity: int) -> None:
    for row in rows("multihop", complexity):
        assert MULTIHOP.solve(row.turns) == row.key.answers
        assert MULTIHOP.check(row) == []
        assert sum(needle.role == "relevant" for needle in row.needles) == complexity


@pytest.mark.parametrize(
    "knobs",
    [
        *({"depth": depth} for depth in ("grid", "first", "last")),
        *({"density": share} for share in (0.75, 0.5, 0.25, 0.0)),
        {"order": "mixed"},
        {"order": "mixed", "density": 0.5, "depth": "last"},
    ],
)
@pytest.mark.parametrize("cell", [TWO, FIVE])
def test_every_knob_gives_proven_rows(cell: Stratum, knobs: dict[str, Any]) -> None:
    turned = replace(cell, knobs=tuple(sorted(knobs.items())))
    for index in range(12):
        row = published(MULTIHOP, turned, index, 48)
        assert MULTIHOP.solve(row.turns) == row.key.answers
        assert MULTIHOP.check(row) == []
    if knobs.get("density", 1) != 1:
        assert MULTIHOP.check(replace(row, stratum=cell)) != []


def test_without_any_of_its_biographies_a_chain_has_no_answer() -> None:
    for row in (*rows("multihop", 2)[:12], *rows("multihop", 5)[:12]):
        for gone in [needle for needle in row.needles if needle.role == "relevant"]:
            with pytest.raises(ValueError, match="has 0 biographies"):
                MULTIHOP.solve(without(row, gone).turns)


def test_without_its_decoys_a_chain_keeps_its_answer() -> None:
    for row in rows("multihop", 5)[:12]:
        assert MULTIHOP.solve(bare(row, "decoy").turns) == row.key.answers


@pytest.mark.parametrize("cell", [TWO, FIVE])
def test_what_is_asked_is_balanced_and_nobody_is_asked_twice(cell: Stratum) -> None:
    samples = [drawn(MULTIHOP, cell, index)[0] for index in range(cell.rows)]
    assert set(Counter(sample.latent["asked"] for sample in samples).values()) == {cell.rows // len(ATTRIBUTES)}
    assert len({sample.question for sample in samples}) == cell.rows
    assert len({sample.latent["chain"][0] for sample in samples}) == cell.rows


def test_later_is_later_and_mixed_is_mixed() -> None:
    assert all(drawn(MULTIHOP, FIVE, index)[0].latent["places"] == [0, 1, 2, 3, 4] for index in range(24))
    mixed = replace(FIVE, rows=25, knobs=(("order", "mixed"),))
    ends = Counter(drawn(MULTIHOP, mixed, index)[0].latent["places"].index(4) for index in range(25))
    assert set(ends.values()) == {5}
    row = published(MULTIHOP, mixed, 1)
    assert any("refers back" in fault for fault in MULTIHOP.check(replace(row, stratum=FIVE)))


def test_key_facts_are_stratified_in_their_sections() -> None:
    for cell in (TWO, FIVE):
        found: dict[int, list[float]] = {}
        for index in range(cell.rows):
            placed = MULTIHOP.layout(*drawn(MULTIHOP, cell, index)).placed
            assert [item.rank for item in placed] == list(range(len(placed)))
            assert [item.depth for item in placed] == sorted(item.depth for item in placed)
            own = [item.depth for item in placed if item.unit.pieces[0].role == "relevant"]
            for section, depth in enumerate(own):
                found.setdefault(section, []).append(depth * cell.complexity - section)
        for depths in found.values():
            assert sorted(int(depth * cell.rows) for depth in depths) == list(range(cell.rows))


def test_decoy_chains_follow_the_rate() -> None:
    wanted = {2048: (1, 1), 4096: (4, 1), 8192: (8, 3), 32768: (8, 3), 131072: (32, 12), 1048576: (256, 102)}
    for length, numbers in wanted.items():
        assert tuple(decoy_chains(replace(TWO, length=length, complexity=count)) for count in (2, 5)) == numbers
    long = replace(TWO, length=32768)
    roles = Counter(needle.role for needle in published(MULTIHOP, long, 3, 200).needles)
    assert roles == {"relevant": 2, "decoy": 16, "demo": 2}


def test_links_never_give_somebody_one_place_for_both() -> None:
    wide = replace(TWO, length=32768, rows=240)
    everybody = people(Streams((SEED,)), "32k")
    for index in range(wide.rows):
        latent = drawn(MULTIHOP, wide, index)[0].latent
        if latent["asked"] in ("birthplace", "city"):
            other = "city" if latent["asked"] == "birthplace" else "birthplace"
            for chain in (latent["chain"], *latent["shown"]):
                value = everybody[chain[-1]].value(latent["asked"])
                assert all(everybody[one].value(other) != value for one in chain)


def test_planted_faults_of_chains_are_found() -> None:
    row = rows("multihop", 5)[0]
    attribute = parse_question(row.text)[-1].about[0][0]
    (first, _), (second, said) = needle(row, "relevant"), needle(row, "relevant", 1)
    names = [read(needle(row, "relevant", at)[1].rstrip()).name for at in range(5)]
    decoy, demo = needle(row, "decoy", 1)[1], needle(row, "demo")[1]
    decoy_name, demo_name = (read(text.rstrip()).name for text in (decoy, demo))
    filler = next(line for line in row.text.splitlines(keepends=True) if plain(line) and not marked(row, line))
    filler_name = read(filler.rstrip()).name
    link = LINKS[attribute].format(name=names[0], other=names[1])
    faults = {
        "refers back": swapped(row, first, second),
        "the needles of the asked chain": replace(row, needles=moved(row)),
        "the key 'wrong'": replace(row, key=replace(row.key, target="wrong")),
        "expected 5 biographies": edited(row, link, LINKS[attribute].format(name=names[0], other=names[2])),
        "needles of decoys": unmarked(row, "decoy"),
        "needles of demonstrations": unmarked(row, "demo"),
        ", found 4": without(row, needle(row, "decoy")[0]),
        "expected 3 decoy chains, found 0": bare(row, "decoy"),
        "same full name": edited(row, filler, filler + filler.replace(" was born", " was born", 1)),
        "3 were promised": edited(row, filler, filler + filler.replace(filler_name, middled(names[1]))),
        "a filler biography names": edited(row, filler, relinked(filler, filler_name, demo_name, attribute)),
        "two chains meet": edited(row, decoy, relinked(decoy, decoy_name, names[4], attribute)),
        "names two persons": edited(row, said, relinked(said, names[1], filler_name, rival(attribute))),
        "does not end in the question": replace(row, question="Who?"),
    }
    for expected, faulty in faults.items():
        assert any(expected in fault for fault in MULTIHOP.check(faulty)), (expected, MULTIHOP.check(faulty))


def plain(line: str) -> bool:
    return " was born on " in line and "the same " not in line


def marked(row: PublishedRow, line: str) -> bool:
    """Tell whether a paragraph is in a chain: its person is named in another one, or a needle."""
    name = read(line.rstrip()).name
    return row.text.count(name) != line.count(name)


def moved(row: PublishedRow) -> tuple[Needle, ...]:
    return tuple(replace(each, char_end=each.char_end - 1) for each in row.needles)


def unmarked(row: PublishedRow, role: str) -> PublishedRow:
    gone = needle(row, role)[0]
    return replace(row, needles=tuple(each for each in row.needles if each != gone))


def middled(name: str) -> str:
    first, _, last = name.split(" ")
    return f"{first} Xenia {last}"


def rival(attribute: str) -> str:
    return next(other for other in ATTRIBUTES if other != attribute)


def relinked(paragraph: str, name: str, other: str, attribute: str) -> str:
    """Return a paragraph whose sentence about an attribute names another person."""
    opening = LINKS[attribute].format(name=name, other="\0").partition("the same ")[0]
    assert opening in paragraph
    start = paragraph.index(opening)
    stop = re.compile(r"\.(?= |\n)").search(paragraph, start)
    assert stop is not None
    return paragraph[:start] + LINKS[attribute].format(name=name, other=other) + paragraph[stop.end() :]


def test_a_circle_or_a_missing_person_has_no_answer() -> None:
    row = rows("multihop", 2)[0]
    attribute = parse_question(row.text)[-1].about[0][0]
    (_, first), (_, second) = needle(row, "relevant"), needle(row, "relevant", 1)
    names = [read(text.rstrip()).name for text in (first, second)]
    with pytest.raises(ValueError, match="in a circle"):
        MULTIHOP.solve(edited(row, second, relinked(second, names[1], names[0], attribute)).turns)
    with pytest.raises(ValueError, match="Nobody At All has 0 biographies"):
        MULTIHOP.solve(edited(row, first, relinked(first, names[0], "Nobody At All", attribute)).turns)


def test_demonstrations_reason_are_right_and_checked() -> None:
    row = rows("multihop", 5)[1]
    *shown, asked = parse_question(row.text)
    assert len(shown) == 2
    assert {query.about[0][0] for query in shown} == {asked.about[0][0]}
    for query in shown:
        steps, _, final = query.reply.partition("\nFinal answer: ")
        assert steps.count(". ") == 4
        assert score({"scorer": "exact", "question": query.question, "answers": [final]}, query.reply) == 1
        wrong = edited(row, query.reply, query.reply.replace(f"Final answer: {final}", "Final answer: nothing"))
        assert any("demonstration" in fault for fault in MULTIHOP.check(wrong))
    bare = published(MULTIHOP, replace(FIVE, shots=0), 1)
    assert bare.text.count("\nQuestion: ") == 1
    assert MULTIHOP.check(bare) == []


def test_chains_never_share_anybody_with_filler() -> None:
    for index in range(12):
        sample, row, shared = drawn(MULTIHOP, FIVE, index)
        layout = MULTIHOP.layout(sample, row, shared)
        taken = [*layout.filler.spares.tolist(), *layout.filler.order.take(900).tolist()]
        everybody = people(row, "32k")
        placed = {item.unit.pieces[0].text.split(" was born", maxsplit=1)[0] for item in layout.placed}
        assert len(set(taken)) == len(taken)
        assert not placed & {everybody[one].name for one in taken}


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_every_link_is_read_as_one(attribute: str) -> None:
    one, other = people(Streams((SEED,)), "32k")[:2]
    told = read(linked_biography(one, attribute, other).rstrip())
    assert told.linked == {attribute: other.name}
    assert told.stated == {key: one.value(key) for key in ATTRIBUTES if key != attribute}
    assert read(linked_biography(one, attribute, None).rstrip()).linked == {}
    assert QUESTIONS[attribute].format(name=one.name)


@pytest.mark.parametrize(
    "line",
    [
        "Ann Bea Clay was born on 1 May 1970",
        "Ann Bea Clay sings.",
        "Ann Bea Clay was born on 1 May 1970. Ann Bea Clay was born on 2 May 1970.",
        "Ann Bea Clay was born on . The birthplace of Ann Bea Clay is Oslo.",
        "The birthplace of Ann Bea Clay is Oslo. Ann Bea Clay was born on 1 May 1970.",
        "nobody",
    ],
)
def test_what_is_no_biography_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no biography"):
        parse_biography(line)


def test_questions_alone_tell_nothing_of_chains() -> None:
    """The best constant answer of each attribute, over 1,800 draws."""
    wide, told = replace(TWO, tier="128k", length=131072, rows=60, shots=0), Counter[tuple[str, str]]()
    for start in range(30):
        cell = replace(wide, length=4096 + start)
        told.update((s.latent["asked"], s.key.target) for s in (drawn(MULTIHOP, cell, i)[0] for i in range(60)))
    every = Counter[str]()
    for (attribute, _), times in told.items():
        every[attribute] += times
    best = {attribute: max(times for (a, _), times in told.items() if a == attribute) for attribute in every}
    assert sum(every.values()) == 1800
    assert all(best[attribute] / every[attribute] <= 0.03 for attribute in every)


def chain_solvers(row: PublishedRow, rng: Random) -> Iterator[tuple[str, str]]:
    """Yield the answers of naive solvers, by name."""
    table, asked = table_of(parse_biographies(row.text)), parse_question(row.text)[-1]
    ((attribute, name),) = asked.about
    entries = sorted((entry for found in table.values() for entry in found), key=lambda entry: entry.start)
    stating = [entry for entry in entries if attribute in entry.stated]
    values = [entry.stated[attribute] for entry in stating]
    times = Counter(values)
    place = next(at for at, entry in enumerate(entries) if entry.name == name)
    yield "first match", values[0]
    yield "last match", values[-1]
    yield "rarest", min(values, key=lambda value: (times[value], rng.random()))
    yield "most frequent", max(values, key=lambda value: (times[value], rng.random()))
    yield "shortest biography", min(stating, key=lambda entry: entry.end - entry.start).stated[attribute]
    near = min(stating, key=lambda entry: abs(entries.index(entry) - place))
    yield "nearest biography", near.stated[attribute]
    words = set(asked.question.split())
    alike = max(stating, key=lambda e: (len(words & set(row.text[e.start : e.end].split())), rng.random()))
    yield "most words of the question", alike.stated[attribute]


def test_naive_solvers_do_not_follow_chains() -> None:
    rng, right = Random(1), Counter[str]()
    made = [row for complexity in (2, 5) for row in rows("multihop", complexity)]
    for row in made:
        right.update(name for name, value in chain_solvers(row, rng) if value == row.key.target)
    # About 30 to 60 biographies state the attribute, one of them the answer's; what two of them state counts twice.
    assert all(times / len(made) <= 0.08 for times in right.values()), right


def test_without_the_answers_biography_values_tell_nothing() -> None:
    rng, right = Random(6), Counter[str]()
    made = [row for complexity in (2, 5) for row in rows("multihop", complexity)]
    for row in made:
        last = row.stratum.complexity - 1
        left = without(row, needle(row, "relevant", last)[0])
        right.update(name for name, value in chain_solvers(left, rng) if value == row.key.target)
    assert all(times / len(made) <= 0.03 for times in right.values()), right


def test_the_end_of_any_chain_is_as_good_as_stated() -> None:
    rng = Random(2)
    for complexity, chains in ((2, 4), (5, 3)):
        found = []
        for row in rows("multihop", complexity):
            table, (*shown, asked) = table_of(parse_biographies(row.text)), parse_question(row.text)
            ((kind, _),) = asked.about
            named = {e.linked.get(kind) for found_ in table.values() for e in found_} - {None}
            known = {entry.name for query in shown for entry in follow(table, query.about[0][1], kind)[0]}
            ends = [n for n in sorted(map(str, named)) if kind in table[n][0].stated and n not in known]
            found.append(table[rng.choice(ends)][0].stated[kind] == row.key.target)
        sample = drawn(MULTIHOP, TWO if complexity == 2 else FIVE, 0)[0]
        stated = MULTIHOP.baselines(sample, sample.key)["any_chain"]
        assert stated == 1 / chains
        assert abs(sum(found) / len(found) - stated) < 0.11


# icl


def test_examples_are_solved_and_checked() -> None:
    for row in rows("icl"):
        assert ICL.solve(row.turns) == row.key.answers
        assert ICL.check(row) == []
        assert Counter(needle.role for needle in row.needles) == {"anchor": 1, "relevant": 1}


def test_categories_are_balanced_in_keys_and_nobody_is_asked_twice() -> None:
    for number in (10, 40, 120):
        samples = [drawn(ICL, replace(CASES, rows=number), index)[0] for index in range(number)]
        assert set(Counter(sample.key.target for sample in samples).values()) == {number // LABELS}
        assert len({sample.question for sample in samples}) == number
        if number > 10:
            assert set(Counter(sample.latent["world"] for sample in samples).values()) == {number // WORLDS}


def test_categories_are_balanced_among_examples() -> None:
    for number in range(WORLDS):
        made = world(Streams((SEED,)), "32k", number)
        assert set(np.bincount(made.labels)[1:].tolist()) <= {25, 26}
        others = [one.people[1 - one.asked].university for one in made.examples]
        labels = {initial(one.university): one.label for one in made.examples}
        assert max(Counter(labels[initial(other)] for other in others if initial(other) in labels).values()) <= 26
        assert abs(sum(one.asked for one in made.examples) * 2 - len(made.examples)) <= 1


def test_rounds_hold_every_category_once_and_the_anchor_stands_for_its_own() -> None:
    for index in range(20):
        sample, row, shared = drawn(ICL, CASES, index)
        latent, layout = sample.latent, ICL.layout(sample, row, shared)
        made = world(row, "32k", latent["world"])
        order = made.labels[layout.filler.order.take(100)].tolist()
        own = int(made.labels[latent["example"]])
        assert set(Counter(made.labels[layout.filler.spares].tolist()).values()) == {SPARES_EACH}
        assert sorted([*order[:9], own]) == list(range(1, LABELS + 1))
        assert all(sorted(order[at : at + 10]) == list(range(1, LABELS + 1)) for at in range(9, 99, 10))
        taken = [*layout.filler.spares.tolist(), *layout.filler.order.take(400).tolist()]
        assert len(set(taken)) == len(taken)
        assert not {latent["example"], latent["anchor"]} & set(taken)


def test_initials_decide_and_are_spread_about_evenly() -> None:
    for seed in range(20):
        groups = grouped(Random(seed))
        letters = [{initial(university) for university in group} for group in groups]
        assert len(groups) == LABELS
        assert sum(map(len, letters)) == len(set.union(*letters))
        sizes = sorted(map(len, groups))
        assert sizes[-1] == 344
        assert sizes[-2] <= 1.3 * sizes[0]
    assert len({tuple(map(len, grouped(Random(seed)))) for seed in range(20)}) > 10
    assert initial("the University of Oslo") == "U"
    assert initial("Theo College") == "T"


def test_both_mappings_of_a_tier_differ() -> None:
    told = [{one.initial: one.label for one in world(Streams((SEED,)), "32k", which).examples} for which in (0, 1)]
    assert sum(told[0][letter] == told[1].get(letter) for letter in told[0]) < 10


def test_the_anchor_is_stratified_and_follows_the_policy() -> None:
    depths = [ICL.layout(*drawn(ICL, CASES, index)).placed[0].depth for index in range(CASES.rows)]
    assert sorted(int(depth * CASES.rows) for depth in depths) == list(range(CASES.rows))
    for policy, wanted in {"first": {0.0}, "last": {1.0}, "grid": {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}}.items():
        cell = replace(CASES, knobs=(("depth", policy),))
        found = {round(ICL.layout(*drawn(ICL, cell, index)).placed[0].depth, 6) for index in range(CASES.rows)}
        assert found == wanted


def test_planted_faults_of_examples_are_found() -> None:
    row = rows("icl")[0]
    shown = icl_solve.read_examples(row.text)
    anchor, asked = needle(row, "anchor")[0], needle(row, "relevant")[0]
    start, stop, case = next(each for each in shown.cases if each[2].initial != shown.last.initial)
    other, idle = row.text[start:stop], case.people[1 - case.asked]
    lines = other.splitlines(keepends=True)
    held = lines[2 - case.asked].replace(f"from {idle.stated['university']}.", f"from {shown.last.university}.")
    faults = {
        "an example holds": edited(row, lines[2 - case.asked], held),
        "the key 'Category 11'": replace(
            row, key=replace(row.key, target="Category 11", answers=("Category 11", "11"))
        ),
        "have the categories": edited(row, other, other + twin(other, case, case.label % LABELS + 1)),
        "the categories stand": edited(row, other, "".join(twin(other, case, case.label, at) for at in "ABCDEFGH")),
        "same full name": edited(row, other, other + other),
        "do not share two names": edited(row, other, other.replace(idle.name, "Zeno Zara Zorn")),
        "not about two people": edited(row, lines[2 - case.asked], ""),
        "the marked example": replace(row, needles=(replace(anchor, char_start=start, char_end=stop), asked)),
        "the needle is not": replace(row, needles=(anchor, replace(asked, char_start=asked.char_start + 1))),
        "does not end in the question": replace(row, question="Which?"),
    }
    for expected, faulty in faults.items():
        assert any(expected in fault for fault in ICL.check(faulty)), (expected, ICL.check(faulty))


def twin(block: str, case: icl_solve.Case, label: int, mark: str = "X") -> str:
    """Return an example about other people of the same universities."""
    for told in case.people:
        first, middle, last = told.name.split(" ")
        block = block.replace(told.name, f"{first}{mark.lower()} {middle} {last}")
    return block.replace(f"Category {case.label}", f"Category {label}")


def test_examples_that_do_not_tell_are_refused() -> None:
    row = rows("icl")[0]
    shown = icl_solve.read_examples(row.text)
    start, stop, case = next(each for each in shown.cases if each[2].initial == shown.last.initial)
    block, asked = row.text[start:stop], needle(row, "relevant")[1]
    alone = row
    for first, last, each in reversed(shown.cases):
        if each.initial == shown.last.initial:
            alone = edited(alone, row.text[first:last], "")
    refused = {
        "tell 0 categories": alone,
        "tell 2 categories": edited(row, block, block + twin(block, case, case.label % LABELS + 1)),
        "does not stand in the example": edited(row, asked, ""),
        "no example": edited(row, block, block.replace("Answer: ", "Reply: ")),
        "not all examples are answered": edited(row, block, block.replace(f" Category {case.label}\n", "")),
    }
    for expected, faulty in refused.items():
        with pytest.raises(ValueError, match=expected):
            ICL.solve(faulty.turns)


def label_solvers(row: PublishedRow, rng: Random) -> Iterator[tuple[str, int]]:
    """Yield the categories that naive solvers choose, by name."""
    shown = icl_solve.read_examples(row.text)
    cases = [case for _, _, case in shown.cases]
    times = Counter(case.label for case in cases)
    yield "first", cases[0].label
    yield "last", cases[-1].label
    yield "most frequent", max(times, key=lambda label: (times[label], rng.random()))
    yield "rarest", min(times, key=lambda label: (times[label], rng.random()))
    early = Counter(case.label for case in cases[: LABELS - 1])
    yield "rarest at first", min(times, key=lambda label: (early[label], rng.random()))
    late = Counter(case.label for case in cases[1 - LABELS :])
    yield "rarest at last", min(times, key=lambda label: (late[label], rng.random()))
    own = shown.last.people[shown.last.asked]
    for value in ("major", "city", "birthplace", "hobby"):
        words = set(own.stated[value].split())

        def shared(case: icl_solve.Case, value: str = value, words: set[str] = words) -> tuple[int, float]:
            return len(words & set(case.people[case.asked].stated[value].split())), rng.random()

        yield f"same {value}", max(cases, key=shared).label
    names = set(own.name.split())
    yield "alike name", max(cases, key=lambda c: (len(names & set(c.people[c.asked].name.split())), rng.random())).label


def test_naive_solvers_do_not_learn_categories() -> None:
    rng, right = Random(3), Counter[str]()
    for row in rows("icl"):
        right.update(name for name, label in label_solvers(row, rng) if label == int(row.key.answers[-1]))
    assert all(0.04 <= times / 240 <= 0.16 for times in right.values()), right


def test_words_of_the_university_tell_what_is_stated() -> None:
    """The example whose university has most words in common: better than chance by the many Universities of X."""
    rng, right = Random(4), Counter[bool]()
    for row in rows("icl"):
        shown = icl_solve.read_examples(row.text)
        words = set(shown.last.university.split())
        cases = [case for _, _, case in shown.cases]
        best = max(cases, key=lambda case: (len(words & set(case.university.split())), rng.random()))
        right[best.label == int(row.key.answers[-1])] += 1
    assert right[True] / 240 <= 0.3


def test_without_the_asked_biography_the_other_one_tells_nothing() -> None:
    right = 0
    for row in rows("icl"):
        shown = icl_solve.read_examples(row.text)
        beside = shown.last.people[1 - shown.last.asked].stated["university"]
        labels = {case.initial: case.label for _, _, case in shown.cases}
        right += labels.get(initial(beside)) == int(row.key.answers[-1])
    assert right / 240 <= 0.15


LABEL_ROW = {"scorer": "label", "answers": ["Category 7", "7"], "target": "Category 7", "question": "Which category?"}


@pytest.mark.parametrize(
    "reply",
    [
        *("Category 7", "7", "**Category 7**", "category: 7", "(7)", "7.", "Category #7", "\\boxed{7}"),
        *("The answer is Category 7.", "Answer: Category 7", "University of Paris 8 is in Category 7."),
        "It starts with U, so not Category 3.\nFinal answer: Category 7",
        "<think>Category 3</think>Category 7",
        "Category seven",
    ],
)
def test_a_named_category_scores(reply: str) -> None:
    assert score(LABEL_ROW, reply) == 1.0


@pytest.mark.parametrize(
    "reply",
    [
        *(
            "",
            "Category 17",
            "Category 3\nCategory 7",
            "not Category 7",
            "Category 7 or 8",
            "Category 7, 8",
            "Categories 7 and 8",
        ),
        *("Category 7 and Category 8", "Category 1 to Category 10", "the University of Paris 7", "77"),
        "Category " + ", ".join(map(str, range(1, 11))),
        "Category 7\nFinal answer: Category 3",
        "<think>Category 7</think>Category 3",
        "It is Category 7, not Category 8.",
    ],
)
def test_other_replies_score_nothing(reply: str) -> None:
    assert score(LABEL_ROW, reply) == 0.0
